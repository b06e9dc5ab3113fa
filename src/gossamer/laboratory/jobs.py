"""Jobs of the bench that simulate a user's own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.base.arrays import F64
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.measured import Job, Measured, measure, perform
from gossamer.laboratory.simulate.own import NOBODY, Own
from gossamer.laboratory.simulate.run import simulate


@dataclass(frozen=True, slots=True)
class OwnJob(Job):
    """A simulation of these settings; its strategy is their policy."""

    own: Own = NOBODY


def name_of(job: Job) -> str:
    return job.own.name if isinstance(job, OwnJob) and job.own.name else job.strategy


def performed(
    job: Job, graph: WebGraph, worth: F64, history: F64 | None, progress: Callable[[int, int], None] | None = None
) -> Measured:
    if not isinstance(job, OwnJob):
        return perform(job, graph, worth, history, progress)
    run = simulate(graph, job.strategy, job.scenario, worth=worth, history=history, own=job.own, progress=progress)
    return measure(run, worth, job.keep_order)
