"""What a page says that no decision of the crawl needs: addresses outside, languages of its versions, its headings.

A mention is a kind, an address, a text and a number:

    h1         the first <h1> of the page; the number counts all of them, 0 for a page without one
    canonical  an address that the page names as its own; the text is the address as the page writes it
    hreflang   a version of the page in another language; the text is the language, in lower case
    external   a link to a host out of scope; the text is that of the link
    part       a script or the like from a host out of scope; an image or the like by http on a page by https

Every HTML page has the mention `h1`: a page without it was gathered by a version that recorded none. The others are in
the order of the page, at most `MOST` of them. In a result they are lines of four fields behind those of the counted
links (`links.py`), so that a class of links can never have the name of a kind.

Invariant: `mentions_are_lines_of_four_fields`, whatever the page says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.base.model import LinkFlag, LinkKind, Mentioned
from gossamer.urls import spelled

if TYPE_CHECKING:
    from gossamer.gatherer.links import Found
    from gossamer.gatherer.read import Read

MOST: Final = 1_000
"""Mentions of a page."""
_LONGEST_URL: Final = 2_048
_LONGEST_REFERENCE: Final = 16_384
_LONGEST_TEXT: Final = 300
_WWW: Final = int(LinkFlag.WWW)
_H1, _CANONICAL, _HREFLANG, _EXTERNAL, _PART = (kind.name.lower() for kind in Mentioned)
_KIND_OF: Final = {
    LinkKind.ANCHOR: _EXTERNAL,
    LinkKind.FRAME: _EXTERNAL,
    LinkKind.REDIRECT: _EXTERNAL,
    LinkKind.EMBEDDED: _PART,
}
_KINDS: Final = frozenset((_H1, _CANONICAL, _HREFLANG, _EXTERNAL, _PART))


class Mention(NamedTuple):
    """Something that a page mentions."""

    kind: str
    text: str
    url: str
    number: int = 1


def mentions(
    found: Read, beside: Read, outside: Iterable[tuple[str, Found]], join: Callable[[str], str | None]
) -> list[Mention]:
    """The mentions of a page. `beside`: what its header fields have; `outside`: its links to hosts out of scope."""
    made = [Mention(_H1, found.heading, "", found.headings)]
    for raw in (*found.canonicals[:MOST], *beside.canonicals[:MOST]):
        made.append(Mention(_CANONICAL, _plain(raw), _joined(raw, join)))
    for raw, language in (*found.versions[:MOST], *beside.versions[:MOST]):
        made.append(Mention(_HREFLANG, _plain(language).lower(), _joined(raw, join)))
    new, kind_of = tuple.__new__, _KIND_OF.get  # `Mention(...)` takes twice as long
    for url, link in outside:
        kind = kind_of(link[0])
        if kind and len(url) < _LONGEST_URL:
            made.append(new(Mention, (kind, link[2], spelled(url, True) if link[1] & _WWW else url, 1)))
    return made[:MOST]


def lines(made: Sequence[Mention]) -> bytes:
    """The lines of the result."""
    return "".join([f"{kind}\t{text}\t{url}\t{number}\n" for kind, text, url, number in made]).encode(errors="replace")


def mentioned(seen: bytes) -> list[Mention]:
    """The mentions among the lines of a result."""
    rows = (line.split("\t") for line in seen.decode().split("\n")[:-1])
    return [Mention(kind, text, url, int(number)) for kind, text, url, number in rows if kind in _KINDS]


def withheld(seen: bytes) -> bytes:
    """The lines of a result without the content of the page: its heading, and the texts of its links."""
    counts = b"".join(
        line for line in seen.splitlines(keepends=True) if line.partition(b"\t")[0].decode() not in _KINDS
    )
    made = mentioned(seen)
    return counts + lines([each if each.kind in (_CANONICAL, _HREFLANG) else each._replace(text="") for each in made])


def _joined(raw: str, join: Callable[[str], str | None]) -> str:
    url = join(raw) if len(raw) < _LONGEST_REFERENCE else None
    return url if url and len(url) < _LONGEST_URL else ""


def _plain(text: str) -> str:
    return " ".join(text[: 10 * _LONGEST_TEXT].split())[:_LONGEST_TEXT]
