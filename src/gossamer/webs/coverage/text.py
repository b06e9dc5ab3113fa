"""Prints a comparison for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gossamer.base.units import thousands
from gossamer.webs.coverage.compare import Coverage, Part

_REPEATS: Final = {
    "duplicates": "text and links of another page, recognised as duplicates",
    "soft": "soft 404 after the first of its site, recognised as duplicates",
    "mirrors": "bytes of a page of another site, recognised as equal",
}
_SHOWN: Final = 4
_EXAMPLES: Final = 3


def lines(coverage: Coverage) -> Iterator[str]:
    yield f"{'':<14}{'there':>9}{'found':>9}{'':>8}  what became of the others"
    yield _line("URLs known", coverage.known)
    yield _line("pages fetched", coverage.fetched)
    yield _line("pages stored", coverage.stored)
    yield "by kind (found: as it should be; `gossamer web --list` describes the kinds)"
    for kind, part in coverage.kinds.items():
        if part.there:
            yield f"  {_line(kind, part, 12)}"
    yield "pages that repeat others"
    for kind, part in coverage.repeats.items():
        yield f"  {_line(kind, part, 12, _REPEATS[kind])}"
    yield "what was read from the stored pages"
    for name, part in coverage.texts.items():
        yield f"  {_line(name, part, 12)}"
    yield from _examples("wrongly taken for duplicates", coverage.not_repeats)
    yield from _examples("known, but not there", coverage.not_there)


def _line(name: str, part: Part, width: int = 14, otherwise: str = "") -> str:
    share = f"{100 * part.found / part.there:.1f} %" if part.there else ""
    most = sorted(part.others.items(), key=lambda one: -one[1])[:_SHOWN]
    others = [f"{word} {thousands(n)}" for word, n in most]
    if len(part.others) > _SHOWN:
        others.append("…")
    row = f"{name:<{width}}{thousands(part.there):>9}{thousands(part.found):>9}{share:>8}"
    return f"{row}  {', '.join(others) or otherwise}".rstrip()


def _examples(what: str, urls: list[str]) -> Iterator[str]:
    yield f"{what}: {thousands(len(urls)) if urls else 'none'}"
    for url in urls[:_EXAMPLES]:
        yield f"  {url}"
    if len(urls) > _EXAMPLES:
        yield "  …"
