"""Gather: headers and bytes in, a gathered page out. Pure; bounded by bytes (the body), nesting and number of links.

Links come in the order of `gatherer.links`, within an entry in the order of the page; a target found again keeps its
first kind, and is nofollow only if it is so every time; its text is the first that is not empty. Links of a page to
itself are left out, and so are mere fragments. Targets that can't become pages are counted and do not appear.

The digest covers the text without white space and all resolved targets, the counted ones included (ERRATA: "same
cleaned text, same resolved links, and not almost empty"). The sketch covers the text alone.

Cost for 25 KB and 75 links: `bench/gather.py` prints it, part by part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from selectolax.lexbor import LexborHTMLParser
from xxhash import xxh3_64

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag, VisitFlag
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.charset import decode
from gossamer.gatherer.counted import Seen
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.language import LEAST, language
from gossamer.gatherer.links import Link, judged, resolved
from gossamer.gatherer.markup.limits import bounded
from gossamer.gatherer.read import HTML, SILENT, folded, read
from gossamer.gatherer.sketch import sketch
from gossamer.gatherer.text import page_lines, plain_lines, visible_text, without_white
from gossamer.robots.parse import product_token
from gossamer.urls import Scope, canonical

ALMOST_EMPTY: Final = 32
"""Characters of cleaned text below which a page is never taken for a duplicate."""
LONGEST_TITLE: Final = 300

_NOFOLLOW: Final = int(VisitFlag.NOFOLLOW)
_EMPTY: Final = int(VisitFlag.EMPTY)
_NOFOLLOW_LINK: Final = int(LinkFlag.NOFOLLOW)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a page says. Without arguments: that of an answer that is not read."""

    charset: str = ""
    title: str = ""
    text_length: int = 0
    """Characters of the cleaned text that are not white space."""
    digest: int = 0
    """64 bits; 0 if the page is almost empty."""
    flags: int = 0
    """VisitFlag: NOINDEX, NOFOLLOW, NOARCHIVE, UNAVAILABLE, EMPTY, MANY_LINKS."""
    out_degree: int = 0
    """Distinct targets but for the page itself, the counted ones included."""
    links: list[Link] = field(default_factory=list)
    counted: list[int] = field(default_factory=lambda: [0] * len(Counted))
    """By `Counted`."""
    seen: bytes = b""
    """The counted ones by class, extension and domain: see `seen.py`."""
    language: str = ""
    """ISO 639-1; "" if there is too little text, or it is unsure."""
    description: str = ""
    sketch: int = 0
    """64 bits; 0 if the page is almost empty."""
    text: bytes | None = None
    """Cleaned, in UTF-8, if the settings ask for it."""
    preferences: list[tuple[str, str]] = field(default_factory=list)
    """For the use of the content, of meta elements: names and values."""

    def withheld(self) -> Gathered:
        """Of a page that is not to be indexed: what it is about is left out, its links stay."""
        links = [link._replace(text="") if link.text else link for link in self.links]
        return replace(self, title="", description="", text=None, links=links)


def gather(
    url: str,
    content_type: str,
    robots_tag: Sequence[str],
    body: bytes,
    settings: GathererSettings,
    scope: Scope,
    agent: str,
    content_language: str = "",
    now: float = 0.0,
) -> Gathered:
    """`url` in canonical form; `content_type`, `robots_tag`, `content_language` as the headers have them; `body`
    decoded; `now`: wall time, by which dates in directives have passed."""
    mime, _, _ = content_type.partition(";")
    text, charset = decode(body, charset_of(content_type))
    flags = of_header(robots_tag, agent, now) if robots_tag else 0
    if mime.strip().lower() not in HTML and mime.strip():
        told = _of_text(text, (), content_language, settings)
        cleaned = plain_lines(text, settings.keep) if settings.text else None
        return replace(told, charset=charset, flags=flags | told.flags, text=cleaned)
    markup, tags = bounded(text)
    del text  # a large page need not be there three times
    tree = LexborHTMLParser(markup)
    found = read(tree, tags, settings, product_token(agent), now)
    seen = Seen()
    base = canonical(found.base, url) or url if found.base else url
    targets = resolved(found.references, base, scope, seen)
    out_degree = len(targets) - (url in targets) + seen.counted[Counted.NOT_HTTP]
    links = judged(targets, url, scope, seen)
    flags |= found.flags
    if flags & _NOFOLLOW:
        links = [link._replace(flags=link.flags | _NOFOLLOW_LINK) for link in links]
    titles = tree.tags("title") if tags.may_have("title") else []
    title = folded(titles[0].text(), LONGEST_TITLE) if titles else ""
    drop = [name for name in settings.drop if name not in SILENT]  # `read` took these out
    visible = visible_text(tree, [name for name in drop if tags.may_have(name)])
    told = _of_text(visible, targets, found.declared or content_language, settings)
    return Gathered(
        charset,
        title,
        told.text_length,
        told.digest,
        flags | told.flags,
        out_degree,
        links,
        seen.counted,
        seen.lines(),
        told.language,
        found.description,
        told.sketch,
        page_lines(tree, settings.keep, title) if settings.text else None,
        found.preferences,
    )


def redirected(location: str, own: str, scope: Scope) -> Gathered:
    """Of a redirect: one link, judged like those of a page."""
    seen = Seen()
    targets = resolved({location: (LinkKind.REDIRECT, 0, "", 0, Tag.HEADER)}, own, scope, seen)
    links = judged(targets, own, scope, seen)
    return Gathered(out_degree=len(links) + sum(seen.counted), links=links, counted=seen.counted, seen=seen.lines())


def _of_text(text: str, targets: Iterable[str], declared: str, settings: GathererSettings) -> Gathered:
    """Length, digest, sketch, language, and the flag of those that have next to no text."""
    whole = text.encode(errors="replace")
    cleaned, length = without_white(text, whole)
    if length < ALMOST_EMPTY:
        return Gathered(text_length=length, flags=_EMPTY)
    spoken = language(text, declared) if settings.language and length >= LEAST else ""
    return Gathered(text_length=length, digest=_digest(cleaned, targets), sketch=sketch(whole), language=spoken)


def charset_of(content_type: str) -> str:
    """As a Content-Type header declares it, or ""."""
    _, found, value = content_type.partition(";")[2].lower().partition("charset=")
    return value.partition(";")[0].strip().strip("\"'") if found else ""


def _digest(cleaned: bytes, targets: Iterable[str]) -> int:
    state = xxh3_64(cleaned)
    state.update("\n".join(("", *targets)).encode())
    return state.intdigest() or 1
