"""What is kept of a run: the measures of 4.3.4, and curves of a thousand points instead of a million pages.

A run on a graph of 690,000 pages holds 8 MB; what is kept of it some 50 KB, so that all runs of a chapter fit in memory
and travel between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.simulate import measures
from gossamer.laboratory.simulate.run import Run, Totals, simulate
from gossamer.laboratory.simulate.scenario import Scenario

F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]

POINTS: Final = 1000
SHARES: Final = (0.5, 0.8, 0.9)
SAMPLE: Final = 5000
"""Pages for Kendall's tau (4.3.4)."""
CHANGE_PERIOD: Final = 60 * 86_400.0
"""Seconds: the default of manager.change_period."""
STEPS: Final = 2000
"""Of the curve of open connections."""


@dataclass(frozen=True, slots=True)
class Job:
    strategy: str
    scenario: Scenario
    keep_order: bool = False

    @property
    def historical(self) -> bool:
        """Whether it needs the PageRank of an earlier crawl."""
        return self.strategy.startswith("historical")


@dataclass(frozen=True, slots=True)
class Measured:
    strategy: str
    scenario: Scenario
    pages: int
    """That were reached."""
    average: float
    """Mean of the cumulative PageRank, as a share of that of all pages reached."""
    tau: float
    reach: dict[float, float]
    """Share of PageRank to the share of pages that it took."""
    curve: F64
    """Cumulative PageRank at 0, 1/1000, 2/1000 … of the pages."""
    bound: F64
    """What no order of the same pages can exceed: theirs by PageRank (figure 4.3)."""
    clock: F64
    """Virtual seconds at the same points."""
    active: F64
    """Rows of time and open connections: a step function."""
    totals: Totals
    wasted: float
    """Share of the bandwidth that was not used until the end, against T* of 3.1; of an unlimited one all."""
    value: float
    """V(I) at the end (3.4)."""
    order: U32
    """Pages in the order of download; empty unless it was asked for."""

    @property
    def speed(self) -> float:
        """Pages a virtual second."""
        return self.pages / self.totals.seconds if self.totals.seconds > 0 else float("inf")

    @property
    def share_of_pages(self) -> F64:
        return np.linspace(0.0, 1.0, len(self.curve))

    def at(self, share: float) -> float:
        """Cumulative PageRank after a share of the pages."""
        return float(np.interp(share, self.share_of_pages, self.curve))

    def summary(self) -> dict[str, Any]:
        """For JSON."""
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


def measure(run: Run, worth: F64, keep_order: bool = False, seed: int = 1) -> Measured:
    order = run.order
    best = order[np.argsort(-worth[order], kind="stable")]
    return Measured(
        run.strategy,
        run.scenario,
        len(order),
        float(measures.average_cumulative(order, worth)),
        float(measures.kendall(order, worth, sample=SAMPLE, seed=seed)),
        {share: float(measures.pages_to_reach(order, worth, share)) for share in SHARES},
        sampled(measures.cumulative(order, worth)),
        sampled(measures.cumulative(best, worth)),
        sampled(run.time),
        thinned(run.active),
        run.totals,
        measures.optimum(run).wasted,
        measures.index_value(run, worth, CHANGE_PERIOD),
        order if keep_order else np.zeros(0, np.uint32),
    )


def sampled(values: F64) -> F64:
    """By page, read at 0, 1/1000, 2/1000 … of the pages; 0 before the first."""
    at = np.rint(np.linspace(0, len(values), POINTS + 1)).astype(np.int64)
    return np.concatenate([[0.0], values])[at]


def thinned(steps: F64) -> F64:
    """At most so many rows, evenly, the first and the last among them."""
    if len(steps) <= STEPS:
        return steps
    return steps[np.unique(np.linspace(0, len(steps) - 1, STEPS).astype(np.int64))]
