"""Detects responses that ask for a human or a log-in instead of giving the page. They are recorded, not circumvented.

A challenge is recognised by its header, if the service in front of the server sends one. Otherwise a small body is
searched for the marks of a known service with little else to read or follow, or for a CAPTCHA widget with hardly
anything else. Marks that ordinary pages behind the service also have count only if the status is not 200. A page with a
CAPTCHA in a form to fill in or at a button, or that only loads its script, is a page. When in doubt it is a page: that
mistake costs a useless copy, the opposite one costs a page.

A log-in is recognised by a single password field on a page with almost nothing else. It is a refusal like status 401
and says nothing about the load of the server. A challenge does, and slows down the whole site.

Cost: nothing for bodies above `SMALL`; 1 to 3 µs for a body with more than `FEW` links; a dozen searches in the bytes
of the rest, 10 µs per kilobyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from gossamer.base.model import Outcome
from gossamer.gatherer.markup.limits import bounded

SMALL: Final = 16 * 1024
"""Bytes. Larger bodies are not checked."""
LITTLE: Final = 500
"""Maximum characters of text on a challenge page, without white space."""
HARDLY_ANY: Final = 150
"""The same limit for a page that is recognised by its widget alone."""
FEW: Final = 5
"""Maximum number of links on a challenge page."""

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
"""Marks that only the challenge page of a service has."""
_SCRIPTS: Final = (b"_Incapsula_Resource", b".awswaf.com/")
"""Marks that any page behind a service may have."""
_SEEN: Final = ":not(button, input, [data-size=invisible])"
"""An invisible widget, or one at a button, guards the reader's next action: the page itself is there."""
_WIDGETS: Final = f".g-recaptcha{_SEEN}, .h-captcha{_SEEN}, .cf-turnstile, .frc-captcha, form img[src*=captcha i]"
_WORDS: Final = (b"captcha", b"turnstile", b"password")
_UNSEEN: Final = ["script", "style", "template", "noscript", "head"]
_FILLED: Final = frozenset(("", "text", "email", "tel", "url", "number", "search", "date", "file"))
"""Types of input elements that a person types into."""


class Asks(NamedTuple):
    """What a response asks for: CHALLENGED or REFUSED, and the reason."""

    outcome: Outcome
    detail: str


def challenged(status: int, headers: Mapping[str, str], body: bytes) -> Asks | None:
    """What a response asks for instead of giving the page; None if it asks for nothing. `body` is decoded."""
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
    return _by_content(LexborHTMLParser(bounded(body.decode(errors="replace"))[0]), marks, status)


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
