"""Answers that ask for a person or for a log-in, in place of the page. They are recognised, recorded and left alone.

By header, where the service in front of the server says so; else by the body, if that is small: the marks of a known
service and little else to read or follow, or a widget that wants to see a person and hardly anything else. Marks that
ordinary pages behind the service have as well are believed only if the status is not 200. A page that has a CAPTCHA in
a form to fill in or at a button, or loads its script, is a page. When in doubt it is a page, too: that costs a useless
copy, and the other mistake costs a page.

A log-in is told by its one password field on a page with next to nothing else. It is a refusal like 401, and says
nothing about how busy the server is; a challenge does, and slows the whole site.

Cost: of bodies above `SMALL` none; of one with more than `FEW` links 1 to 3 µs; a dozen searches in the bytes of the
rest, 10 µs a kilobyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.base.model import Outcome

SMALL: Final = 16 * 1024
"""Bytes above which a body is not looked at."""
LITTLE: Final = 500
"""Characters of text, white space left out, that such a page has at most."""
HARDLY_ANY: Final = 150
"""Likewise, of a page that is told by nothing but its widget."""
FEW: Final = 5
"""Links that it has at most."""

_STATUSES: Final = frozenset((200, 202, 403, 405, 429, 503))
_HEADERS: Final = (
    ("cf-mitigated", ("challenge",)),
    ("x-amzn-waf-action", ("challenge", "captcha")),
    ("x-vercel-mitigated", ("challenge",)),
)
_SERVICES: Final = (
    b"_cf_chl_opt",
    b"captcha-delivery.com/",
    b"px-captcha",
    b"Incapsula incident ID",
    b"anubis_challenge",
    b"sucuri_cloudproxy_js",
)
"""What only the page of such a service has."""
_SCRIPTS: Final = (b"_Incapsula_Resource", b".awswaf.com/")
"""What every page behind such a service may have."""
_SEEN: Final = ":not(button, input, [data-size=invisible])"
"""At a button, or invisible, a widget guards what the reader does next: the page is there."""
_WIDGETS: Final = f".g-recaptcha{_SEEN}, .h-captcha{_SEEN}, .cf-turnstile, .frc-captcha, form img[src*=captcha i]"
_WORDS: Final = (b"captcha", b"turnstile", b"password")
_UNSEEN: Final = ["script", "style", "template", "noscript", "head"]
_FILLED: Final = frozenset(("", "text", "email", "tel", "url", "number", "search", "date", "file"))
"""Types of input that a person writes into."""


class Asks(NamedTuple):
    outcome: Outcome
    detail: str


def challenged(status: int, headers: Mapping[str, str], body: bytes) -> Asks | None:
    """What an answer for a page asks for; `body` decoded. None: nothing of the kind."""
    if status not in _STATUSES:
        return None
    for name, values in _HEADERS:
        if name in headers and headers[name].strip().lower() in values:
            return Asks(Outcome.CHALLENGED, f"{name}: {headers[name]}")
    if len(body) > SMALL or "html" not in headers.get("content-type", "html").lower():
        return None
    if len(body.split(b"<a ", FEW + 1)) > FEW + 1:
        return None
    marks = [mark for mark in (_SERVICES if status == 200 else _SERVICES + _SCRIPTS) if mark in body]
    if not marks and not any(word in body for word in _WORDS):
        return None
    return _by_content(LexborHTMLParser(body.decode(errors="replace")), marks, status)


def _by_content(tree: LexborHTMLParser, marks: list[bytes], status: int) -> Asks | None:
    widget = tree.css_first(_WIDGETS)
    tree.strip_tags(_UNSEEN)
    root = tree.body
    text = "" if root is None else root.text()
    length = len("".join(text.split()))
    if length > LITTLE or len(tree.css("a[href]")) > FEW:
        return None
    if marks:
        return Asks(Outcome.CHALLENGED, f"the answer has {marks[0].decode()}")
    types = [(node.attributes.get("type") or "").lower() for node in tree.css("input")]
    fields = sum(kind in _FILLED for kind in types) + len(tree.css("select"))
    fields += sum("captcha" not in (node.attributes.get("name") or "") for node in tree.css("textarea"))
    alone = length <= HARDLY_ANY and "password" not in types
    if widget is not None and alone and fields <= (widget.tag == "img"):
        return Asks(Outcome.CHALLENGED, "the answer is a CAPTCHA")
    if status == 200 and types.count("password") == 1 and fields <= 2:
        return Asks(Outcome.REFUSED, "the answer is a log-in")
    return None
