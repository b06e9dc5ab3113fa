"""The table of all behaviours, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.webs.hostile.behaviour import Behaviour
from gossamer.webs.hostile.bodies import BODIES
from gossamer.webs.hostile.connections import CONNECTIONS
from gossamer.webs.hostile.heads import HEADS, REDIRECTS
from gossamer.webs.hostile.mazes import MAZES
from gossamer.webs.hostile.owners import OWNERS
from gossamer.webs.hostile.pages import PAGES

BEHAVIOURS: Final[dict[str, Behaviour]] = {
    behaviour.name: behaviour
    for group in (CONNECTIONS, HEADS, BODIES, REDIRECTS, PAGES, MAZES, OWNERS)
    for behaviour in group
}


def chosen(only: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[str, ...]:
    """Names of behaviours: all, or those of `only`, minus those of `without`."""
    wanted, refused = list(only) or list(BEHAVIOURS), set(without)
    for name in (*wanted, *refused):
        if name not in BEHAVIOURS:
            near = difflib.get_close_matches(name, BEHAVIOURS, 1)
            cure = f"Did you mean {near[0]}?" if near else "`gossamer web --hostile --list` lists them all."
            raise UsageError(f"The hostile Web has no behaviour {name!r}.", cure)
    return tuple(name for name in dict.fromkeys(wanted) if name not in refused)


def as_json(names: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {"name": b.name, "what": b.what, "section": b.section, "ends": b.words, "pages": b.ends}
        for b in map(BEHAVIOURS.__getitem__, names)
    ]


def lines(names: Iterable[str]) -> Iterator[str]:
    """The table for people, one line per behaviour."""
    rows = [("behaviour", "thesis", "ends as", "what it is")]
    rows += [(b.name, b.section, ", ".join(b.words), b.what) for b in map(BEHAVIOURS.__getitem__, names)]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for *cells, what in rows:
        yield "  ".join([*(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)), what])


def markdown() -> str:
    """The table for the manual."""
    rows = (
        f"| `{b.name}` | {b.what} | {', '.join(f'`{word}`' for word in b.words)} | {b.section} |"
        for b in BEHAVIOURS.values()
    )
    return "\n".join(("| site | what it does | its pages end as | thesis |", "|---|---|---|---|", *rows))
