"""Reciprocal links and clustering: what distinguishes real graphs from models whose degrees are right.

A link is *reciprocal* if its target links back. *Clustering* is the probability that two neighbours of a page are
linked, whichever way: a pair of neighbours is drawn `WEDGES` times, from a page drawn in proportion to the number of
its pairs (Schank and Wagner 2005), so that hubs cost no more than other pages. The standard error is at most .004.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U32
from gossamer.base.compiled import njit
from gossamer.rank.graph import Csr, transposed

WEDGES: Final = 20_000


def mutual(links: Csr) -> tuple[float, float]:
    """The share of reciprocal links, and the clustering; 0 if there is nothing to be counted."""
    into = transposed(links)
    out = transposed(into)  # its targets are in ascending order
    near, begins = np.empty(2 * len(out.targets), np.uint32), np.zeros(links.pages + 1, np.int64)
    loops = int(_neighbours(out.offsets, out.targets, into.offsets, into.targets, near, begins))
    both = 2 * (len(out.targets) - loops) - int(begins[-1])
    pairs = np.diff(begins).astype(np.float64)
    pairs *= pairs - 1
    if not pairs.sum():
        return both / max(1, len(out.targets)), 0.0
    rng = np.random.default_rng(1)
    heights = np.cumsum(pairs)
    middle = np.searchsorted(heights, rng.random(WEDGES) * heights[-1], side="right")
    closed = _closed(near, begins, middle, int(rng.integers(2**32)))
    return both / len(out.targets), closed / WEDGES


@njit
def _neighbours(out: I64, targets: U32, into: I64, sources: U32, near: U32, begins: I64) -> int:
    """Merges the targets and the sources of each page into its neighbours, each once, without the page itself. Returns
    the number of links of a page to itself."""
    made = loops = 0
    for page in range(len(out) - 1):
        i, j = out[page], into[page]
        while i < out[page + 1] or j < into[page + 1]:
            if j == into[page + 1] or (i < out[page + 1] and targets[i] <= sources[j]):
                other = targets[i]
            else:
                other = sources[j]
            while i < out[page + 1] and targets[i] == other:
                i += 1
            while j < into[page + 1] and sources[j] == other:
                j += 1
            if other == page:
                loops += 1
            else:
                near[made] = other
                made += 1
        begins[page + 1] = made
    return loops


@njit
def _closed(near: U32, begins: I64, middle: I64, seed: int) -> int:
    """How many of the drawn pairs of neighbours are linked."""
    np.random.seed(seed)
    count = 0
    for page in middle:
        begin, n = begins[page], begins[page + 1] - begins[page]
        one = np.random.randint(n)
        two = np.random.randint(n - 1)
        two += two >= one
        a, b = near[begin + one], near[begin + two]
        low, high = begins[a], begins[a + 1]
        while low < high:
            half = (low + high) // 2
            if near[half] < b:
                low = half + 1
            else:
                high = half
        count += low < begins[a + 1] and near[low] == b
    return count
