"""A sample of pages by a random walk, corrected by 1/PageRank (thesis 2.1.1, after Henzinger and others, 2000).

The walk follows links at random and jumps anywhere with the probability 1 - d, so that it is at each page in proportion
to its PageRank. A page that it comes to is kept with a probability in proportion to 1/PageRank: with the damping .85,
about every seventh is, and all pages are equally probable. Without the correction the sample prefers linked pages, as
everything does that was found by links. No page is in the sample twice.

Invariants, each a test of the same name: a corrected sample is uniform; an uncorrected sample prefers linked pages.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Bools
from gossamer.base.compiled import njit
from gossamer.base.errors import UsageError
from gossamer.rank.graph import Csr
from gossamer.rank.pagerank import DAMPING, EXACT, pagerank

BEGIN: Final = 100
"""Steps after which it does not matter where the walk began: .85 to this power is 10^-7."""


def sample(links: Csr, number: int, corrected: bool = True, seed: int = 1) -> U32:
    """`number` different pages, in the order in which the walk kept them."""
    if not 1 <= number <= links.pages:
        raise UsageError(f"there are {links.pages:,} pages, not {number:,} to be drawn", "Ask for fewer pages.")
    keep = np.ones(links.pages)
    if corrected:
        ranks = pagerank(links, tolerance=EXACT).values
        keep = ranks.min() / ranks
    found, there = np.empty(number, np.uint32), np.zeros(links.pages, np.bool_)
    _walk(links.offsets, links.targets, keep, found, there, seed)
    return found


@njit
def _walk(offsets: I64, targets: U32, keep: F64, found: U32, there: Bools, seed: int) -> None:
    np.random.seed(seed)
    pages, made, step = len(offsets) - 1, 0, 0
    page = np.int64(np.random.randint(pages))
    while made < len(found):
        degree = offsets[page + 1] - offsets[page]
        if degree and np.random.random() < DAMPING:
            page = np.int64(targets[offsets[page] + np.random.randint(degree)])
        else:
            page = np.int64(np.random.randint(pages))
        step += 1
        if step > BEGIN and not there[page] and np.random.random() < keep[page]:
            found[made] = page
            there[page] = True
            made += 1
