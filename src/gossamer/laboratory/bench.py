"""The bench runs jobs: several at a time, each in its own process, and no job twice. Jobs on a small graph run one
after another in this process.

A process is a fresh interpreter (`gossamer.base.process`): it dies with its parent and never receives Ctrl-C. The
graph, its true PageRank and the PageRank of the earlier crawl are files in a folder that is removed when the bench is
closed. A process reads them, runs one job and writes the result there. Memory: each process holds a copy of the graph.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import numpy as np

from gossamer.base.arrays import F64, U32
from gossamer.base.errors import GossamerError
from gossamer.base.process import Process
from gossamer.base.units import thousands
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.jobs import name_of, performed
from gossamer.laboratory.measured import Job, Measured
from gossamer.rank.pagerank import EXACT, pagerank

MOST_PROCESSES: Final = 8
SMALL: Final = 1_000
"""Pages of a graph on which a job takes less time than a process needs to start."""
_POLL_EVERY: Final = 0.05

Show = Callable[[str, float], None]
"""Shows progress: what is being done, and the share that is finished."""


class Subject:
    """A graph to experiment with, its true PageRank, and the PageRank that an earlier crawl would have found."""

    def __init__(self, graph: WebGraph, note: str = "", seed: int = 1, history: F64 | None = None) -> None:
        """`history`: of a real earlier crawl, by page, NaN for pages that it did not know; else one is derived."""
        self.graph, self.note, self.seed, self._history = graph, note, seed, history

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def described(self) -> str:
        graph = self.graph
        said = (
            f"{graph.name}: {thousands(graph.pages)} pages, {thousands(len(graph.links.targets))} links, "
            f"{thousands(graph.sites)} site{'s' * (graph.sites != 1)}, "
            f"{thousands(len(graph.start))} start page{'s' * (len(graph.start) != 1)}"
        )
        return f"{said} ({self.note})" if self.note else said

    @cached_property
    def worth(self) -> F64:
        return pagerank(self.graph.links, tolerance=EXACT, most=1000).values

    @cached_property
    def history(self) -> F64:
        from gossamer.laboratory.simulate.history import earlier_crawl

        return earlier_crawl(self.graph, self.worth, self.seed)[1] if self._history is None else self._history


class Bench:
    """Runs jobs on subjects, in this process or in several, and keeps the results."""

    def __init__(self, processes: int = 0, show: Show | None = None) -> None:
        """`processes`: at most so many at a time; 0: one per core."""
        self._processes = processes or min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
        self.show = show or (lambda what, part: None)
        self._folder = tempfile.TemporaryDirectory(prefix="gossamer-")
        self._stored: dict[int, tuple[Path, Subject]] = {}
        self._done: dict[tuple[int, bytes], Measured] = {}
        self._running: dict[int, tuple[Job, Process]] = {}
        self._numbers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._folder.cleanup()

    def run(self, subject: Subject, jobs: Sequence[Job]) -> list[Measured]:
        """Returns the results in the order of `jobs`. A job that already ran on the same subject does not run again."""
        keys = [(id(subject), pickle.dumps(job)) for job in jobs]
        missing = {key: job for key, job in zip(keys, jobs, strict=True) if key not in self._done}
        if len(missing) == 1 or self._processes == 1 or subject.graph.pages <= SMALL:
            for number, (key, job) in enumerate(missing.items()):
                self._done[key] = self._in_this_process(subject, job, number, len(missing))
        elif missing:
            for key, found in zip(missing, self._in_processes(subject, list(missing.values())), strict=True):
                self._done[key] = found
        self._stored.setdefault(id(subject), (Path(), subject))  # keeps it alive, so that no other gets its id
        return [self._done[key] for key in keys]

    def _in_this_process(self, subject: Subject, job: Job, number: int, count: int) -> Measured:
        def tell(done: int, of: int) -> None:
            self.show(f"{subject.name}, {name_of(job)}", (number + done / max(1, of)) / count)

        return performed(job, subject.graph, subject.worth, subject.history if job.historical else None, tell)

    def _in_processes(self, subject: Subject, jobs: list[Job]) -> list[Measured]:
        folder = self._store(subject, any(job.historical for job in jobs))
        found: dict[int, Measured] = {}
        first, ahead = self._numbers, list(enumerate(jobs, self._numbers))
        self._numbers += len(jobs)
        try:
            while ahead or self._running:
                while ahead and len(self._running) < self._processes:
                    number, job = ahead.pop(0)
                    self._running[number] = job, self._begin(folder, number, job)
                time.sleep(_POLL_EVERY)
                for number, (_, process) in list(self._running.items()):
                    if process.ended:
                        del self._running[number]
                        found[number] = self._result(folder, number, process)
                self._tell(subject, folder, len(found), len(jobs))
        except BaseException:
            self._kill()
            raise
        return [found[number] for number in range(first, first + len(jobs))]

    def _begin(self, folder: Path, number: int, job: Job) -> Process:
        np.zeros(1).tofile(folder / f"{number}.progress")
        return Process("gossamer.laboratory.child", [str(folder), str(number)], pickle.dumps(job), -1)

    def _result(self, folder: Path, number: int, process: Process) -> Measured:
        path = folder / f"{number}.result"
        if process.code or not path.exists():
            raise GossamerError(f"a simulation failed: {process.failure}", "Run it alone to see the error.")
        result = pickle.loads(path.read_bytes())
        if isinstance(result, GossamerError):
            raise result
        assert isinstance(result, Measured)
        return result

    def _tell(self, subject: Subject, folder: Path, done: int, count: int) -> None:
        parts = {number: float(np.fromfile(folder / f"{number}.progress")[0]) for number in self._running}
        each = ", ".join(f"{name_of(self._running[number][0])} {part:.0%}" for number, part in parts.items())
        self.show(f"{subject.name}, {done} of {count} runs ({each})", (done + sum(parts.values())) / count)

    def _store(self, subject: Subject, with_history: bool) -> Path:
        """Writes the arrays that the processes read, and returns their folder."""
        folder, _ = self._stored.get(id(subject), (Path(), subject))
        if folder == Path():
            folder = Path(self._folder.name) / str(len(self._stored))
            folder.mkdir()
            np.savez(folder / "graph.npz", **subject.graph.arrays())
            np.save(folder / "worth.npy", subject.worth)
            self._stored[id(subject)] = folder, subject
        if with_history and not (folder / "history.npy").exists():
            np.save(folder / "history.npy", subject.history)
        return folder

    def _kill(self) -> None:
        for _, process in self._running.values():
            process.kill()
        self._running.clear()


def with_start(graph: WebGraph, start: U32) -> WebGraph:
    """The same graph with other start pages."""
    return WebGraph(graph.links, graph.site, graph.size, start, graph.name)
