"""Gather: turns the headers and the decoded body of a page into a `Gathered`.

It is a pure function, bounded by the bytes of the body, by nesting and by the number of links.

Links are in the order of the setting `gatherer.links`, and within one entry in the order of the page. A target that
occurs several times keeps its first kind and its first text that is not empty; it is nofollow only if all its links
are. Links of a page to itself and mere fragments are left out. Targets that cannot become pages are only counted. Links
of header fields (`Refresh`, `Link`) come last.

The digest covers the text without white space and all resolved targets of the page itself, including the counted ones
(ERRATA: "same cleaned text, same resolved links, and not almost empty"). The sketch covers the text alone.

Cost for 25 KB and 75 links: `bench/gather.py` prints it, part by part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser
from xxhash import xxh3_64

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag, VisitFlag
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.charset import decode
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.language import LEAST, language
from gossamer.gatherer.links import Kinds, Link, Seen, based, judged, resolved
from gossamer.gatherer.markup.limits import bounded
from gossamer.gatherer.read import HTML, SILENT, folded, read, read_headers
from gossamer.gatherer.sketch import sketch
from gossamer.gatherer.text import page_lines, plain_lines, visible_text, without_white
from gossamer.robots.parse import product_token
from gossamer.urls import Scope, host

ALMOST_EMPTY: Final = 32
"""Characters of cleaned text. A page with fewer is never treated as a duplicate."""
LONGEST_TITLE: Final = 300

_NOFOLLOW, _NOFOLLOW_LINK = int(VisitFlag.NOFOLLOW), int(LinkFlag.NOFOLLOW)
_EMPTY: Final = int(VisitFlag.EMPTY)
_LINKING: Final = frozenset(("link", "refresh"))
"""Header fields that may have links."""


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
    headers: Mapping[str, str] | None = None,
    proven: int = 0,
) -> Gathered:
    """Gather a page. `url` is in canonical form; `content_type`, `robots_tag` and `content_language` are values of
    headers; `body` is decoded; `now` is the wall time that dates in directives are compared with; `headers`: all of
    them by lower-case name, for the links that they have; `proven` has the session parameters of the page's site, as
    `Scope.proving` takes them."""
    mime, _, _ = content_type.partition(";")
    beside = read_headers(headers, settings) if headers and not _LINKING.isdisjoint(headers) else {}
    text, charset = decode(body, charset_of(content_type))
    flags = of_header(robots_tag, agent, now) if robots_tag else 0
    if mime.strip().lower() not in HTML and mime.strip():
        told = _of_text(text, (), content_language, settings)
        cleaned = plain_lines(text, settings.keep) if settings.text else None
        if beside:
            told = _with_links(told, beside, url, flags, settings, scope, proven)
        return replace(told, charset=charset, flags=flags | told.flags, text=cleaned)
    markup, tags = bounded(text)
    del text  # do not hold a large page three times
    tree = LexborHTMLParser(markup)
    found = read(tree, tags, settings, product_token(agent), now)
    seen, base, references = Seen(), url, found.references
    if found.base:
        base, references = based(found.base, url, references, scope, seen)
    targets = resolved(references, scope.proving(scope.joiner(base, charset), url, proven), seen)
    of_page: Iterable[str] = targets
    if beside:
        of_page = list(targets)
        room = settings.max_links - len(found.references)
        join = scope.proving(scope.joiner(url), url, proven)
        resolved(dict(islice(beside.items(), room)), join, seen, targets)
    out_degree = len(targets) - (url in targets) + sum(seen.counted)
    flags |= found.flags
    links = _followed(targets, url, flags, settings, scope, seen)
    titles = tree.tags("title") if tags.may_have("title") else []
    title = folded(titles[0].text(), LONGEST_TITLE) if titles else ""
    drop = [name for name in settings.drop if name not in SILENT]  # `read` has already removed the silent ones
    visible = visible_text(tree, [name for name in drop if tags.may_have(name)])
    told = _of_text(visible, of_page, found.declared or content_language, settings)
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


def redirected(location: str, own: str, scope: Scope, proven: int = 0) -> Gathered:
    """What was gathered from a redirect: one link, judged like a link of a page."""
    seen, join = Seen(), scope.proving(scope.joiner(own), own, proven)
    targets = resolved({location: (LinkKind.REDIRECT, 0, "", 0, Tag.HEADER)}, join, seen)
    links = judged(targets, own, scope, seen)
    return Gathered(out_degree=len(links) + sum(seen.counted), links=links, counted=seen.counted, seen=seen.lines())


def _with_links(
    told: Gathered, references: Kinds, url: str, flags: int, settings: GathererSettings, scope: Scope, proven: int
) -> Gathered:
    """The same with the links of header fields: all that a page of plain text has."""
    seen = Seen()
    targets = resolved(references, scope.proving(scope.joiner(url), url, proven), seen)
    out_degree = len(targets) - (url in targets) + sum(seen.counted)
    links = _followed(targets, url, flags, settings, scope, seen)
    return replace(told, out_degree=out_degree, links=links, counted=seen.counted, seen=seen.lines())


def _followed(targets: Kinds, url: str, flags: int, settings: GathererSettings, scope: Scope, seen: Seen) -> list[Link]:
    """Links to the targets that may become pages. If the page says nofollow (`flags`), so do all of them; if the
    settings say so, a link inside the site does not by itself."""
    links = judged(targets, url, scope, seen)
    if not settings.nofollow_inside:
        home, inside = host(url), ~_NOFOLLOW_LINK
        links = [link._replace(flags=link.flags & inside) if host(link.url) == home else link for link in links]
    if flags & _NOFOLLOW:
        links = [link._replace(flags=link.flags | _NOFOLLOW_LINK) for link in links]
    return links


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
