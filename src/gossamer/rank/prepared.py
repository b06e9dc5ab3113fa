"""Link scores that strategies compute periodically during a crawl, on the graph known so far. One table.

Each is a function from what is known and the previous scores to a number for each known page. The crawl computes them
in the background (`manager.scores`), the simulator between two steps, with the same functions.

    pagerank     see `pagerank`
    completed    see `completed`
    rankmass     what flows from the start pages: x = (1 - d) t + d x P; pages that are not fetched keep what they get
    opic         the same without loss (d = 1), for `TURNS` steps: cash that fetched pages pass on again
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, U32, Bools
from gossamer.rank.completed import Prepared, completed
from gossamer.rank.graph import Graph, spread
from gossamer.rank.pagerank import DAMPING, pagerank

TURNS: Final = 50
TOLERANCE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Known:
    """What a crawl knows, by known page."""

    graph: Graph
    """The links of the fetched pages; other pages have no links."""
    site: U32
    fetched: Bools
    start: U32
    """Start pages, by number."""


def _pagerank(known: Known, before: F64 | None) -> Prepared:
    return Prepared(pagerank(known.graph, before, tolerance=TOLERANCE).values)


def _completed(known: Known, before: F64 | None) -> Prepared:
    return completed(known.graph, known.site, known.fetched, known.start, before)


def _rankmass(known: Known, before: F64 | None) -> Prepared:
    return Prepared(flow(known.graph, known.start, before, DAMPING))


def _opic(known: Known, before: F64 | None) -> Prepared:
    return Prepared(flow(known.graph, known.start, None, 1.0))


def flow(graph: Graph, start: U32, before: F64 | None, damping: float) -> F64:
    """The flow from the start pages to each page."""
    source = np.zeros(graph.pages)
    source[start] = 1.0 / len(start)
    values, total = source.copy(), source.copy()
    if before is not None:
        values[: len(before)] = before
    for _ in range(TURNS):
        out = np.zeros(graph.pages)
        held = spread(graph, values, out)
        if damping == 1.0:  # each step passes on what the step before brought
            total += out
            change = held
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
