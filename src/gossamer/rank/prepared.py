"""Link scores that strategies have computed anew every so many pages, on the graph known so far. One table.

Each is a function of the graph of the fetched pages (known pages that were not fetched have no links), the start pages
and the scores of the time before, to a number for each known page. The crawl computes them beside it (`scores`), the
simulator between two steps, with the same functions.

    pagerank     see `pagerank`
    rankmass     what flows from the start pages: x = (1 - d) t + d x P; pages that were not fetched keep what they get
    opic         the same without loss (d = 1), as far as `TURNS` steps carry it: cash that fetched pages hand on again
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gossamer.rank.graph import F64, U32, Graph, spread
from gossamer.rank.pagerank import DAMPING, pagerank

TURNS: Final = 50
TOLERANCE: Final = 1e-4
Prepare = Callable[[Graph, U32, F64 | None], F64]


def _pagerank(graph: Graph, start: U32, before: F64 | None) -> F64:
    return pagerank(graph, before, tolerance=TOLERANCE).values


def _rankmass(graph: Graph, start: U32, before: F64 | None) -> F64:
    return flow(graph, start, before, DAMPING)


def _opic(graph: Graph, start: U32, before: F64 | None) -> F64:
    return flow(graph, start, None, 1.0)


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


PREPARED: Final[dict[str, Prepare]] = {"pagerank": _pagerank, "rankmass": _rankmass, "opic": _opic}
