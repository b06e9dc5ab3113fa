"""Importance of pages by OPIC over a whole graph (Abiteboul, Preda and Cobena 2003).

Every page has cash C and history H. A virtual page, the *root*, links to every page, and every page links to it. A
visit of page i with k links adds its cash to its history and gives C/(k + 1) to each of its k targets and to the root;
the root gives 1/n of its cash to every page. The estimate is

    importance(i) = (H(i) + C(i)) / (sum of H + C over all pages)

At all times H(j) + C(j) = C0(j) + sum over i of H(i) L(i,j), where L(i,j) is the part of i's cash that goes to j: a
page has received its initial cash and what others gave. So H, divided by its sum Z, is out of balance by at most 2/Z in
total, in whatever order pages are visited. Here they are visited by number, then the root: Z grows by at least 1 per
round, because all cash moves. The computation ends when 2/Z is below the tolerance.

This is the estimate, not an order: `manager` has cash as an order of a crawl, without a root. A walk with a root leaves
pages of few links more often than the walk of PageRank (with probability 1/(k + 1), not .15): the two may disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import F64, I64, U32
from gossamer.base.compiled import njit
from gossamer.rank.graph import Csr


@dataclass(frozen=True, slots=True)
class Importance:
    """The result of a computation."""

    values: F64
    """By page; the sum is 1."""
    history: float
    """Z above, including the root: the result is out of balance by at most 2/Z."""
    rounds: int


def opic(links: Csr, *, tolerance: float = 0.01, most: int = 1000) -> Importance:
    """Compute the importance of all pages, in at most `most` rounds."""
    n = links.pages
    if n == 0:
        return Importance(np.zeros(0), 0.0, 0)
    cash, history = np.full(n, 1.0 / n), np.zeros(n)
    of_root = 0.0
    rounds = 0
    while rounds < most and (rounds == 0 or 2.0 / (history.sum() + of_root) > tolerance):
        root = float(_visit_all(links.offsets, links.targets, cash, history))
        of_root += root
        cash += root / n
        rounds += 1
    values = history + cash
    return Importance(values / values.sum(), float(history.sum()) + of_root, rounds)


@njit
def _visit_all(offsets: I64, targets: U32, cash: F64, history: F64) -> float:
    """Visit all pages; returns what the root received."""
    root = 0.0
    for page in range(len(cash)):
        own = cash[page]
        history[page] += own
        cash[page] = 0.0
        part = own / (offsets[page + 1] - offsets[page] + 1)
        root += part
        for i in range(offsets[page], offsets[page + 1]):
            cash[targets[i]] += part
    return root
