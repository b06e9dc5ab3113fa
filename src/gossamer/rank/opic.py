"""Importance by OPIC over a whole graph (Abiteboul, Preda and Cobena 2003).

Every page has cash C and history H; a page that nobody sees, the *root*, links to every page and is linked from each.
A visit of page i with k links adds its cash to its history and gives each of its k links and the root C/(k + 1) of it;
the root gives every page 1/n of its own. The estimate is

    importance(i) = (H(i) + C(i)) / (sum of H + C over all pages)

At all times H(j) + C(j) = C0(j) + sum over i of H(i) L(i,j), where L(i,j) is the part of i's cash that goes to j: what
came is what was there at first and what others gave. So H, divided by its sum Z, misses its balance by at most 2/Z in
sum, in whatever order pages are visited. Here they are visited in order of their numbers, then the root: Z grows by at
least 1 a round, as no cash is passed over. It ends when 2/Z is below the tolerance.

It is the estimate, not the order: cash as an order of a crawl is in `manager`, without a root. A walk with a root
leaves pages of few links more often than PageRank's does (with probability 1/(k + 1), not .15): the two need not agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.compiled import njit
from gossamer.rank.graph import F64, I64, U32, Csr


@dataclass(frozen=True, slots=True)
class Importance:
    values: F64
    """By page; they add up to 1."""
    history: float
    """Z above, the root's included: the balance is missed by at most 2/Z."""
    rounds: int


def opic(links: Csr, *, tolerance: float = 0.01, most: int = 1000) -> Importance:
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
    """What the root was given."""
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
