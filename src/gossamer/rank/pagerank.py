"""PageRank by forward links alone (Page, Brin, Motwani and Winograd 1998; thesis 2.6 and algorithm 4, as corrected).

    r(p) = (1 - d)/N + d (sum over q linking to p of r(q)/out(q) + D/N),      D = sum of r over pages without links

One who follows links at random jumps to any page with probability 1 - d, and always does where there are none: so the
rank of pages without links is spread evenly over all. The algorithm as printed loses it and normalises in every
turn, which has another fixed point. Known pages that were not fetched have no links yet.

The power iteration begins with ranks of before, and ends when the sum of all changes is below `tolerance`; the ranks
are then off by at most tolerance x d / (1 - d) in sum. The order of a crawl is the same for any tolerance up to .01
(`bench/order.py`); to 1e-8 it takes 114 turns at most, as changes fall by d a turn. A turn reads all links once, in the
order of the rows; 16 bytes of memory a page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.compiled import njit
from gossamer.rank.graph import F64, U32, Graph, spread

DAMPING = 0.85
EXACT = 1e-8
"""Tolerance of link analysis; a crawl's own order needs no more than 1e-3."""


@dataclass(frozen=True, slots=True)
class Ranks:
    values: F64
    """By page; they add up to 1."""
    indegree: U32
    iterations: int
    change: float
    """Sum of the changes of the last iteration."""


def pagerank(
    graph: Graph, start: F64 | None = None, *, damping: float = DAMPING, tolerance: float = 1e-3, most: int = 200
) -> Ranks:
    """To 1e-8: `EXACT`.

    `start`: ranks of before, of the first pages; the others begin with what nobody links to gets.
    """
    n = graph.pages
    indegree = np.zeros(n, np.uint32)
    if n == 0:
        return Ranks(np.zeros(0), indegree, 0, 0.0)
    values, out = _begin(n, start, damping), np.empty(n)
    change, iterations = np.inf, 0
    while change > tolerance and iterations < max(1, most):
        out[:] = 0.0
        held = spread(graph, values, out, indegree if iterations == 0 else None)
        change = float(settle(values, out, (1.0 - damping * held) / n, damping))
        values, out = out, values
        iterations += 1
    return Ranks(values, indegree, iterations, change)


def _begin(n: int, start: F64 | None, damping: float) -> F64:
    values = np.full(n, 1.0 / n)
    if start is not None and len(start):
        kept = min(n, len(start))
        values[:] = (1.0 - damping) / n
        values[:kept] = start[:kept]
    values /= values.sum()
    return values


@njit
def settle(values: F64, out: F64, base: float, damping: float) -> float:
    """As all ranks add up to 1, what is not held by pages with links is that of pages without: `base` has it."""
    change = 0.0
    for p in range(len(out)):
        out[p] = base + damping * out[p]
        change += abs(out[p] - values[p])
    return change
