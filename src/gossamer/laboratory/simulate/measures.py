"""How good an order of pages is (thesis 4.3.4), from the order, the times and the worth (PageRank) of the pages.

All measures are normalised by the worth of the fetched pages: a crawl that reaches all it can ends at 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.laboratory.simulate.run import Run
from gossamer.rank.names import share_score

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def cumulative(order: U32, worth: F64) -> F64:
    """The share of all worth that is fetched, after each page."""
    sums = np.cumsum(worth[order])
    return np.asarray(sums / sums[-1]) if len(sums) else sums


def average_cumulative(order: U32, worth: F64) -> float:
    """The mean of `cumulative`: the area under the curves of figures 4.4 and 4.5, the first column of table 4.1."""
    return float(cumulative(order, worth).mean()) if len(order) else 0.0


def kendall(order: U32, worth: F64, sample: int = 5_000, seed: int = 1) -> float:
    """Kendall's tau (b, for ties in worth) of the order and the order by worth, over a sample of the fetched pages."""
    at = np.sort(np.random.default_rng(seed).choice(len(order), min(sample, len(order)), replace=False))
    values = -worth[order[at]]
    ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
    n = len(ranks)
    pairs = n * (n - 1) // 2
    counts = np.bincount(ranks)
    tied = int((counts * (counts - 1) // 2).sum())
    if pairs == tied:
        return 0.0
    discordant = int(_inversions(ranks.copy(), np.empty(n, np.int64)))
    return float((pairs - tied - 2 * discordant) / np.sqrt(float(pairs) * (pairs - tied)))


@njit
def _inversions(values: I64, other: I64) -> int:
    """Number of pairs in which the first value is larger, counted by a merge sort."""
    n, width, found = len(values), 1, 0
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or values[i] <= values[j]):
                    other[k] = values[i]
                    i += 1
                else:
                    other[k] = values[j]
                    j += 1
                    found += middle - i
        values[:] = other
        width *= 2
    return found


def pages_to_reach(order: U32, worth: F64, share: float) -> float:
    """The share of the pages after which this share of the worth is fetched."""
    if not len(order):
        return 0.0
    return float((np.searchsorted(cumulative(order, worth), share) + 1) / len(order))


def index_value(run: Run, worth: F64, change_period: float) -> float:
    """V(I) at the end (3.4): the sum, over the fetched pages, of quality times freshness, with exponents of 1 (7.2.1).

    Quality is a page's share of all worth, as a score; freshness is the probability that it is unchanged since then.
    """
    quality = share_score(worth[run.order], len(worth))
    return float((quality * np.exp((run.time - run.totals.seconds) / change_period)).sum())


@dataclass(frozen=True, slots=True)
class Optimum:
    """The optimum of 3.1: the whole bandwidth is used all the time."""

    seconds: float
    """T*: all bytes divided by the bandwidth; 0 if it is unlimited."""
    wasted: float
    """Share of the bandwidth left unused until the end."""


def optimum(run: Run) -> Optimum:
    seconds, took = run.totals.bytes / run.scenario.bandwidth, run.totals.seconds
    return Optimum(seconds, 1.0 - seconds / took if took > 0 else 0.0)
