"""Link scores that strategies have computed anew every so many pages, on the graph known so far. One table.

Each is a function of what is known and of the scores of the time before, to a number for each known page. The crawl
computes them beside it (`scores`), the simulator between two steps, with the same functions.

    pagerank     see `pagerank`
    completed    see `completed`
    rankmass     what flows from the start pages: x = (1 - d) t + d x P; pages that were not fetched keep what they get
    opic         the same without loss (d = 1), as far as `TURNS` steps carry it: cash that fetched pages hand on again
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.rank.completed import completed
from gossamer.rank.graph import F64, U32, Graph, spread
from gossamer.rank.pagerank import DAMPING, pagerank

TURNS: Final = 50
TOLERANCE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Known:
    """What a crawl knows: all by known page."""

    graph: Graph
    """The links of the pages that were fetched; the others have none."""
    site: U32
    fetched: npt.NDArray[np.bool_]
    start: U32
    """Start pages, by number."""


@dataclass(frozen=True, slots=True)
class Prepared:
    values: F64
    """By known page."""
    base: float = 0.0
    """Of pages that are found later, until it is computed anew."""


def _pagerank(known: Known, before: F64 | None) -> Prepared:
    return Prepared(pagerank(known.graph, before, tolerance=TOLERANCE).values)


def _completed(known: Known, before: F64 | None) -> Prepared:
    found = completed(known.graph, known.site, known.fetched, known.start, before)
    return Prepared(found.values, found.base)


def _rankmass(known: Known, before: F64 | None) -> Prepared:
    return Prepared(flow(known.graph, known.start, before, DAMPING))


def _opic(known: Known, before: F64 | None) -> Prepared:
    return Prepared(flow(known.graph, known.start, None, 1.0))


def flow(graph: Graph, start: U32, before: F64 | None, damping: float) -> F64:
    """What reaches each page from the start pages."""
    source = np.zeros(graph.pages)
    source[start] = 1.0 / len(start)
    values = source.copy()
    if before is not None:
        values[: len(before)] = before
    total = source.copy()
    for _ in range(TURNS):
        out = np.zeros(graph.pages)
        held = spread(graph, values, out)
        if damping == 1.0:  # each turn carries on what the last one brought
            total += out
            values = out
            if held < TOLERANCE:
                break
        else:
            out = (1 - damping) * source + damping * out
            change = float(np.abs(out - values).sum())
            values = out
            if change < TOLERANCE:
                break
    return total if damping == 1.0 else values


PREPARED: Final[dict[str, Callable[[Known, F64 | None], Prepared]]] = {
    "pagerank": _pagerank,
    "completed": _completed,
    "rankmass": _rankmass,
    "opic": _opic,
}
