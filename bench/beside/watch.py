"""The cost of a crawler, measured from outside in the same way for all.

CPU time is that of its process and of all its descendants, ended ones included; memory is the sum over these processes
of their private memory and their share of shared memory (PSS). Pages are counted in the server's log. The *warm* part
of a run is from the time when a third of the pages was served to the last page: it excludes the start and the end of
the program.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

EVERY: Final = 0.2
MEMORY_EVERY: Final = 5
"""Number of samples after which memory is sampled: it takes longer than the rest."""
TICK: Final = os.sysconf("SC_CLK_TCK")
STOPPING: Final = 60.0
"""Seconds that a crawler may take to end after a request to stop."""


@dataclass(frozen=True, slots=True)
class Sample:
    at: float
    cpu: float
    first: float
    """The part of `cpu` of the first process alone: Gossamer's desk."""
    pages: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run."""

    pages: int
    """Answers with a page."""
    seconds: float
    """From the start of the process to the last page."""
    cpu: float
    """Seconds of CPU time of the whole run."""
    warm_pages: int
    warm_seconds: float
    warm_cpu: float
    warm_first: float
    """The part of `warm_cpu` of the first process."""
    peak: int
    """Peak memory in bytes."""
    stopped: bool
    """Whether it was stopped at the end of its time."""

    @property
    def rate(self) -> float:
        return self.pages / self.seconds if self.pages else 0.0

    @property
    def ms(self) -> float:
        """ms of CPU time per page, warm."""
        return 1000 * self.warm_cpu / max(1, self.warm_pages)

    @property
    def first_ms(self) -> float:
        return 1000 * self.warm_first / max(1, self.warm_pages)

    @property
    def whole_ms(self) -> float:
        return 1000 * self.cpu / max(1, self.pages)


def watch(
    command: Sequence[str | Path],
    pages: Callable[[], int],
    folder: Path,
    most: float,
    environment: dict[str, str] | None = None,
) -> Cost:
    """Runs a crawler to its end, or for `most` seconds. `pages`: returns the number of pages served so far."""
    with (folder / "output").open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [*map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | (environment or {}),
            start_new_session=True,
        )
        samples, peak, asked = [Sample(began, 0.0, 0.0, 0)], 0, 0.0
        try:
            while True:
                done, _, used = os.wait4(process.pid, os.WNOHANG)
                if done:
                    process.returncode = 0
                    break
                now = time.monotonic()
                samples.append(Sample(now, *tree_cpu(process.pid), pages()))
                if len(samples) % MEMORY_EVERY == 0:
                    peak = max(peak, memory(process.pid))
                if now - began > most and not asked:
                    asked = now
                    os.kill(process.pid, signal.SIGINT)
                if asked and now - asked > STOPPING:
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(EVERY)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return _cost(samples, pages(), used.ru_utime + used.ru_stime, max(peak, used.ru_maxrss * 1024), bool(asked))


def _cost(samples: list[Sample], pages: int, cpu: float, peak: int, stopped: bool) -> Cost:
    last = next((s for s in samples if s.pages >= pages), samples[-1])
    third = next((s for s in samples if s.pages >= pages / 3), samples[-1])
    return Cost(
        pages,
        last.at - samples[0].at,
        cpu,
        last.pages - third.pages,
        last.at - third.at,
        last.cpu - third.cpu,
        last.first - third.first,
        peak,
        stopped,
    )


def tree_cpu(pid: int) -> tuple[float, float]:
    """Seconds of CPU time of a process and its descendants, reaped ones included; and of the process alone."""
    total = first = 0.0
    for one in _tree(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / TICK
            first += sum(map(int, fields[11:13])) / TICK if one == pid else 0.0
    return total, first


def memory(pid: int) -> int:
    total = 0
    for one in _tree(pid):
        with suppress(OSError, IndexError):
            total += 1024 * int(Path(f"/proc/{one}/smaps_rollup").read_text().partition("Pss:")[2].split()[0])
    return total


def _tree(pid: int) -> list[int]:
    try:
        process = psutil.Process(pid)
        return [pid, *(child.pid for child in process.children(recursive=True))]
    except psutil.NoSuchProcess:
        return []
