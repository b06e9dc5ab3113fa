"""How good the order of a run is (thesis 4.3.4), with curves of a thousand points instead of a million pages.

Measures follow from the order, the times and the worth (PageRank) of the pages. All are normalised by the worth of the
fetched pages: a crawl that reaches all it can ends at 1.

A run on a graph of 690,000 pages holds 8 MB, its measures about 50 KB: all runs of a chapter fit in memory and can be
sent between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32
from gossamer.base.compiled import allocating
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.simulate.run import Run, Totals, simulate
from gossamer.laboratory.simulate.scenario import Scenario
from gossamer.rank.names import share_score

POINTS: Final = 1000
SHARES: Final = (0.5, 0.8, 0.9)
SAMPLE: Final = 5000
"""Pages sampled for Kendall's tau (4.3.4)."""
CHANGE_PERIOD: Final = 60 * 86_400.0
"""Seconds: the default of `manager.change_period`."""
STEPS: Final = 2000
"""Most points of the curve of open connections."""


@dataclass(frozen=True, slots=True)
class Job:
    """A simulation to run: a strategy and a scenario."""

    strategy: str
    scenario: Scenario
    keep_order: bool = False

    @property
    def historical(self) -> bool:
        """Whether it needs the PageRank of an earlier crawl."""
        return self.strategy.startswith("historical")


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of one run, simulated or real."""

    strategy: str
    scenario: Scenario
    pages: int
    """Pages reached."""
    average: float
    """Mean of the cumulative PageRank; 1 is the PageRank of all pages reached."""
    tau: float
    reach: dict[float, float]
    """Share of PageRank to the share of pages needed for it."""
    curve: F64
    """Cumulative PageRank at 0, 1/1000, 2/1000 … of the pages."""
    bound: F64
    """Upper bound of `curve`: the same pages in the order of their PageRank (figure 4.3)."""
    clock: F64
    """Virtual seconds at the same points."""
    active: F64
    """Open connections as a step function: rows of time and number."""
    totals: Totals
    wasted: float
    """Share of the bandwidth left unused until the end, compared with T* of 3.1; 1 if the bandwidth is unlimited."""
    value: float
    """V(I) at the end (3.4)."""
    order: U32
    """Pages in the order of download; empty unless the job keeps it."""

    @property
    def speed(self) -> float:
        """Pages per virtual second."""
        return self.pages / self.totals.seconds if self.totals.seconds > 0 else float("inf")

    @property
    def share_of_pages(self) -> F64:
        return np.linspace(0.0, 1.0, len(self.curve))

    def at(self, share: float) -> float:
        """Cumulative PageRank after this share of the pages."""
        return float(np.interp(share, self.share_of_pages, self.curve))

    def summary(self) -> dict[str, Any]:
        """The measures as a flat object for JSON."""
        return {
            "strategy": self.strategy,
            "pages": self.pages,
            "average": self.average,
            "tau": self.tau,
            "pages_to_reach": {f"{share:g}": part for share, part in self.reach.items()},
            "seconds": self.totals.seconds,
            "pages_a_second": self.speed if np.isfinite(self.speed) else None,
            "requests": self.totals.requests,
            "failed": self.totals.failed,
            "bytes": self.totals.bytes,
            "wasted_bandwidth": self.wasted,
            "index_value": self.value,
            "cpu_seconds": round(self.totals.cpu, 3),
        }


def perform(
    job: Job, graph: WebGraph, worth: F64, history: F64 | None, progress: Callable[[int, int], None] | None = None
) -> Measured:
    run = simulate(graph, job.strategy, job.scenario, worth=worth, history=history, progress=progress)
    return measure(run, worth, job.keep_order)


def measure(run: Run, worth: F64, keep_order: bool = False) -> Measured:
    order = run.order
    best = order[np.argsort(-worth[order], kind="stable")]
    return Measured(
        run.strategy,
        run.scenario,
        len(order),
        average_cumulative(order, worth),
        kendall(order, worth),
        {share: pages_to_reach(order, worth, share) for share in SHARES},
        sampled(cumulative(order, worth)),
        sampled(cumulative(best, worth)),
        sampled(run.time),
        thinned(run.active),
        run.totals,
        wasted(run),
        index_value(run, worth, CHANGE_PERIOD),
        order if keep_order else np.zeros(0, np.uint32),
    )


def sampled(values: F64) -> F64:
    """Reads values by page at 0, 1/1000, 2/1000 … of the pages; 0 before the first page."""
    at = np.rint(np.linspace(0, len(values), POINTS + 1)).astype(np.int64)
    return np.concatenate([[0.0], values])[at]


def thinned(steps: F64) -> F64:
    """Keeps at most STEPS rows, evenly spaced, with the first and the last."""
    if len(steps) <= STEPS:
        return steps
    return steps[np.unique(np.linspace(0, len(steps) - 1, STEPS).astype(np.int64))]


def cumulative(order: U32, worth: F64) -> F64:
    """The share of all worth that is fetched, after each page."""
    sums = np.cumsum(worth[order])
    return np.asarray(sums / sums[-1]) if len(sums) else sums


def average_cumulative(order: U32, worth: F64) -> float:
    """The mean of `cumulative`: the area under the curves of figures 4.4 and 4.5, the first column of table 4.1."""
    return float(cumulative(order, worth).mean()) if len(order) else 0.0


def kendall(order: U32, worth: F64, sample: int = SAMPLE, seed: int = 1) -> float:
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


@allocating
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


def optimum(run: Run) -> float:
    """T* of 3.1: the seconds for all bytes if the whole bandwidth is used all the time; 0 if it is unlimited."""
    return run.totals.bytes / run.scenario.bandwidth


def wasted(run: Run) -> float:
    """Share of the bandwidth left unused until the end."""
    return 1.0 - optimum(run) / run.totals.seconds if run.totals.seconds > 0 else 0.0
