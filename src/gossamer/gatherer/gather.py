"""Gather: headers and bytes in, a gathered page out. Pure; bounded by bytes (the body), nesting and number of links.

Links come in the order of their kinds (`LinkKind`), within a kind in the order of the page; a target found again keeps
its first kind, and is nofollow only if it is so every time. Links of a page to itself are left out, and so are mere
fragments. Targets that can't become pages are counted by class and do not appear.

The digest covers the text without white space and all resolved targets, the counted ones included (ERRATA: "same
cleaned text, same resolved links, and not almost empty").

Cost for 25 KB and 75 links: `bench/gather.py` prints it; a fifth is lexbor's parse. A walk per tag name (3 to 6 µs
each, 14 of them) costs the same as one union selector (84 µs) and gives the links in the order of their kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborHTMLParser
from xxhash import xxh3_64

from gossamer.config.settings import GathererSettings
from gossamer.gatherer.bounds import bounded
from gossamer.gatherer.charset import decode
from gossamer.gatherer.directives import of_header, of_meta, refresh_target
from gossamer.gatherer.links import Kinds, Link, judged, note, resolved
from gossamer.model import Counted, LinkFlag, LinkKind, VisitFlag
from gossamer.robots.parse import product_token
from gossamer.urls import Scope, canonical

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
GATHERED: Final = HTML | {"text/plain"}
"""Types of which more is read than the headers."""
ALMOST_EMPTY: Final = 32
"""Characters of cleaned text below which a page is never taken for a duplicate."""
LONGEST_TITLE: Final = 300

_WHITE: Final = b" \t\n\r\f\v"
_NO_TEXT: Final = ["script", "style", "template"]
_REFERRING: Final = (
    ("a", "href", LinkKind.ANCHOR), ("area", "href", LinkKind.ANCHOR),
    ("frame", "src", LinkKind.FRAME), ("iframe", "src", LinkKind.FRAME), ("img", "src", LinkKind.EMBEDDED),
    ("script", "src", LinkKind.EMBEDDED), ("source", "src", LinkKind.EMBEDDED), ("video", "src", LinkKind.EMBEDDED),
    ("audio", "src", LinkKind.EMBEDDED), ("embed", "src", LinkKind.EMBEDDED), ("object", "data", LinkKind.EMBEDDED),
)  # fmt: skip
"""Element, attribute, kind; the elements that need a closer look are not here."""
_NOFOLLOW: Final = int(VisitFlag.NOFOLLOW)
_EMPTY: Final = int(VisitFlag.EMPTY)
_MANY_LINKS: Final = int(VisitFlag.MANY_LINKS)
_NOFOLLOW_LINK: Final = int(LinkFlag.NOFOLLOW)
_UNFOLLOWED: Final = frozenset({"nofollow", "ugc", "sponsored"})


@dataclass(frozen=True, slots=True)
class Gathered:
    charset: str
    title: str
    text_length: int
    """Characters of the cleaned text that are not white space."""
    digest: int
    """64 bits; 0 if the page is almost empty."""
    flags: int
    """VisitFlag: NOINDEX, NOFOLLOW, NOARCHIVE, EMPTY, MANY_LINKS."""
    out_degree: int
    """Distinct targets but for the page itself, the counted ones included."""
    links: list[Link]
    counted: list[int]
    """By `Counted`."""


def gather(
    url: str, content_type: str, robots_tag: Sequence[str], body: bytes, settings: GathererSettings, scope: Scope,
    agent: str,
) -> Gathered:  # fmt: skip
    """`url` in canonical form; `content_type` and `robots_tag` as the headers have them; `body` decoded."""
    mime, _, parameters = content_type.partition(";")
    text, charset = decode(body, _declared(parameters))
    flags = of_header(robots_tag, agent) if robots_tag else 0
    if mime.strip().lower() not in HTML and mime.strip():
        return _without_links(text, charset, flags)
    tree = LexborHTMLParser(bounded(text))
    read = _read(tree, settings.max_links, product_token(agent))
    flags |= read.flags
    base = canonical(read.base, url, ()) or url if read.base else url
    targets, others = resolved(read.references, base, scope.session_ids)
    counted = [0] * len(Counted)
    counted[Counted.NOT_HTTP] = others
    links = judged(targets, url, scope, counted)
    if flags & _NOFOLLOW:
        links = [Link(link.url, link.kind, link.flags | _NOFOLLOW_LINK) for link in links]
    title = _title(tree)
    cleaned, length = _cleaned(visible_text(tree))
    digest = _digest(cleaned, targets)
    if length < ALMOST_EMPTY:
        flags, digest = flags | _EMPTY, 0
    out_degree = len(targets) - (url in targets) + others
    return Gathered(charset, title, length, digest, flags, out_degree, links, counted)


def _without_links(text: str, charset: str, flags: int) -> Gathered:
    cleaned, length = _cleaned(text)
    if length < ALMOST_EMPTY:
        return Gathered(charset, "", length, 0, flags | int(VisitFlag.EMPTY), 0, [], [0] * len(Counted))
    return Gathered(charset, "", length, _digest(cleaned, ()), flags, 0, [], [0] * len(Counted))


def _declared(parameters: str) -> str:
    """The charset of a Content-Type header."""
    _, found, value = parameters.lower().partition("charset=")
    return value.partition(";")[0].strip().strip("\"'") if found else ""


@dataclass(slots=True)
class _Read:
    """What the elements of a page say."""

    most: int
    references: Kinds = field(default_factory=dict)
    flags: int = 0
    base: str = ""

    def add(self, raw: str | None, kind: LinkKind, nofollow: bool = False) -> None:
        if not raw or raw[0] == "#":
            return
        references = self.references
        if raw in references:
            note(references, raw, kind, nofollow)
        elif len(references) < self.most:
            references[raw] = (kind, nofollow)
        else:
            self.flags |= _MANY_LINKS


def _read(tree: LexborHTMLParser, most: int, token: str) -> _Read:
    read = _Read(most)
    add = read.add
    for name, attribute, kind in _REFERRING:
        for node in tree.tags(name):
            attributes = node.attributes
            rel = attributes.get("rel")
            add(attributes.get(attribute), kind, rel is not None and not _UNFOLLOWED.isdisjoint(rel.lower().split()))
    for node in tree.tags("link"):
        _read_link(node.attributes, read)
    for node in tree.tags("meta"):
        _read_meta(node.attributes, read, token)
    for node in tree.tags("base"):
        read.base = read.base or node.attributes.get("href") or ""
    return read


def _read_link(attributes: Mapping[str, str | None], read: _Read) -> None:
    raw, rel = attributes.get("href"), (attributes.get("rel") or "").lower().split()
    if "canonical" in rel:
        read.add(raw, LinkKind.CANONICAL)
    elif "stylesheet" in rel:
        read.add(raw, LinkKind.EMBEDDED)
    elif "alternate" in rel and ("hreflang" in attributes or (attributes.get("type") or "").lower() in HTML):
        read.add(raw, LinkKind.ALTERNATE)


def _read_meta(attributes: Mapping[str, str | None], read: _Read, token: str) -> None:
    content = attributes.get("content") or ""
    name = (attributes.get("name") or "").strip().lower()
    if name in ("robots", token):
        read.flags |= of_meta(content)
    elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
        read.add(refresh_target(content), LinkKind.REDIRECT)


def _title(tree: LexborHTMLParser) -> str:
    found = tree.tags("title")
    return " ".join(found[0].text()[: 20 * LONGEST_TITLE].split())[:LONGEST_TITLE].rstrip() if found else ""


def visible_text(tree: LexborHTMLParser) -> str:
    """Takes the elements without text out of the tree: the last thing done with it."""
    tree.strip_tags(_NO_TEXT)
    return tree.body.text() if tree.body else ""


def _cleaned(text: str) -> tuple[bytes, int]:
    """Text without white space, and its length in characters. Splitting it at white space costs five times more."""
    whole = text.encode(errors="replace")
    cleaned = whole.translate(None, _WHITE)
    return cleaned, len(text) - (len(whole) - len(cleaned))


def _digest(cleaned: bytes, targets: Iterable[str]) -> int:
    state = xxh3_64(cleaned)
    state.update("\n".join(("", *targets)).encode())
    return state.intdigest() or 1
