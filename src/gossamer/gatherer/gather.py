"""Gather: turns the headers and the decoded body of a page into a `Gathered`.

It is a pure function, bounded by the bytes of the body, by nesting and by the number of links.

Links are in the order of the setting `gatherer.links`, and within one entry in the order of the page. A target that
occurs several times keeps its first kind and its first text that is not empty; it is nofollow only if all its links
are. Links of a page to itself and mere fragments are left out. Targets that cannot become pages are only counted.

The digest covers the text without white space and all resolved targets, including the counted ones (ERRATA: "same
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
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.language import LEAST, language
from gossamer.gatherer.links import Link, Seen, judged, resolved
from gossamer.gatherer.markup.limits import bounded
from gossamer.gatherer.read import HTML, SILENT, folded, read
from gossamer.gatherer.sketch import sketch
from gossamer.gatherer.text import page_lines, plain_lines, visible_text, without_white
from gossamer.robots.parse import product_token
from gossamer.urls import Scope, canonical

ALMOST_EMPTY: Final = 32
"""Characters of cleaned text. A page with fewer is never treated as a duplicate."""
LONGEST_TITLE: Final = 300

_NOFOLLOW, _NOFOLLOW_LINK = int(VisitFlag.NOFOLLOW), int(LinkFlag.NOFOLLOW)
_EMPTY: Final = int(VisitFlag.EMPTY)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was gathered from a page. `Gathered()` is that of a response without content to read."""

    charset: str = ""
    title: str = ""
    text_length: int = 0
    """Characters of the cleaned text, without white space."""
    digest: int = 0
    """64 bits; 0 if the page is almost empty."""
    flags: int = 0
    """VisitFlag: NOINDEX, NOFOLLOW, NOARCHIVE, UNAVAILABLE, EMPTY, MANY_LINKS."""
    out_degree: int = 0
    """Distinct targets except the page itself, including the counted ones."""
    links: list[Link] = field(default_factory=list)
    counted: list[int] = field(default_factory=lambda: [0] * len(Counted))
    """Number of counted links, by `Counted`."""
    seen: bytes = b""
    """The counted links by class, extension and domain: see `links.py`."""
    language: str = ""
    """ISO 639-1 code; "" if there is too little text or the language is uncertain."""
    description: str = ""
    sketch: int = 0
    """64 bits; 0 if the page is almost empty."""
    text: bytes | None = None
    """Cleaned text in UTF-8, if the settings ask for it."""
    preferences: list[tuple[str, str]] = field(default_factory=list)
    """Preferences for the use of the content, from meta elements: names and values."""

    def withheld(self) -> Gathered:
        """The same for a page that must not be indexed: without its content, but with its links."""
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
    """Gather a page. `url` is in canonical form; `content_type`, `robots_tag` and `content_language` are values of
    headers; `body` is decoded; `now` is the wall time that dates in directives are compared with."""
    mime, _, _ = content_type.partition(";")
    text, charset = decode(body, charset_of(content_type))
    flags = of_header(robots_tag, agent, now) if robots_tag else 0
    if mime.strip().lower() not in HTML and mime.strip():
        told = _of_text(text, (), content_language, settings)
        cleaned = plain_lines(text, settings.keep) if settings.text else None
        return replace(told, charset=charset, flags=flags | told.flags, text=cleaned)
    markup, tags = bounded(text)
    del text  # do not hold a large page three times
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
    drop = [name for name in settings.drop if name not in SILENT]  # `read` has already removed the silent ones
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
    """What was gathered from a redirect: one link, judged like a link of a page."""
    seen = Seen()
    targets = resolved({location: (LinkKind.REDIRECT, 0, "", 0, Tag.HEADER)}, own, scope, seen)
    links = judged(targets, own, scope, seen)
    return Gathered(out_degree=len(links) + sum(seen.counted), links=links, counted=seen.counted, seen=seen.lines())


def _of_text(text: str, targets: Iterable[str], declared: str, settings: GathererSettings) -> Gathered:
    """Length, digest, sketch and language of a text; the flag EMPTY if it is almost empty."""
    whole = text.encode(errors="replace")
    cleaned, length = without_white(text, whole)
    if length < ALMOST_EMPTY:
        return Gathered(text_length=length, flags=_EMPTY)
    spoken = language(text, declared) if settings.language and length >= LEAST else ""
    return Gathered(text_length=length, digest=_digest(cleaned, targets), sketch=sketch(whole), language=spoken)


def charset_of(content_type: str) -> str:
    """The charset that a Content-Type header declares, or ""."""
    _, found, value = content_type.partition(";")[2].lower().partition("charset=")
    return value.partition(";")[0].strip().strip("\"'") if found else ""


def _digest(cleaned: bytes, targets: Iterable[str]) -> int:
    state = xxh3_64(cleaned)
    state.update("\n".join(("", *targets)).encode())
    return state.intdigest() or 1
