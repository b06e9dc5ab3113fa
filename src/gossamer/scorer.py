"""When link scores are computed anew, and taking them over: the desk's side of `gossamer.scores`.

The process is started when `rank_every` visits have been made since the last time, another segment has been sealed, and
the crawl has used twenty times the processor time since then that the last computation took: so scores cost at most a
twentieth of the crawl. What goes wrong there is a warning, never the end of the crawl: OPIC does without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gossamer.collection import manifest
from gossamer.collection.layout import MANIFEST
from gossamer.process import Process
from gossamer.scores import F32, read_merit

SHARE: Final = 1 / 20
FIRST: Final = 2.0
"""Seconds of processor time that the first computation is taken to need: starting an interpreter is most of it."""


class Scorer:
    def __init__(self, shard: Path, weights: Mapping[str, float], rank_every: int, lock_fd: int = -1) -> None:
        """`weights` are those of link scores (`value.merit_weights`); without any, nothing is ever computed."""
        self._shard, self._weights, self._every, self._lock = shard, dict(weights), rank_every, lock_fd
        self._process: Process | None = None
        self._cost = FIRST
        self._visits = self._cpu = 0.0
        self._sealed = 0 if manifest.read(shard).segments else self._size()
        self.figures: dict[str, Any] = {}
        """What the last computation said of itself."""
        self.warnings: list[str] = []
        """What went wrong since someone last looked and cleared this."""

    def resume(self, visits: int) -> F32 | None:
        """At the start of a run: the merit of before. The next computation is counted from here if there is one."""
        merit = read_merit(self._shard, self._weights)
        if merit is not None:
            self._visits = visits
        return merit

    def begin_if_due(self, visits: int, crawl_cpu_seconds: float) -> bool:
        """`crawl_cpu_seconds`: of this run, desk and workers. Cheap: may be called every turn."""
        due = visits - self._visits >= self._every and (crawl_cpu_seconds - self._cpu) * SHARE >= self._cost
        if self._process is not None or not self._weights or not due or self._size() == self._sealed:
            return False
        self._visits, self._cpu, self._sealed = visits, crawl_cpu_seconds, self._size()
        try:
            self._process = self._start()
        except OSError as error:
            self.warnings.append(f"link scores could not be computed: {error}")
        return self._process is not None

    def finish(self, visits: int, crawl_cpu_seconds: float) -> bool:
        """At the end of a run: computes them once more and waits, if something came since and it is not too dear."""
        if self._process is None and visits > self._visits and self._weights:
            self._visits = min(self._visits, visits - self._every)
            self.begin_if_due(visits, crawl_cpu_seconds)
        if self._process is not None:
            self._process.wait()
        return self._process is not None

    def poll(self) -> F32 | None:
        """Merit by page, once after each computation that ended well."""
        if self._process is None or not self._process.ended:
            return None
        process, self._process = self._process, None
        reason = process.failure
        if not reason:
            try:
                self.figures = json.loads(process.output)
                self._cost = float(self.figures["cpu"])
                return read_merit(self._shard, self._weights)
            except (OSError, ValueError, KeyError) as error:
                reason = str(error)
        self.warnings.append(f"link scores could not be computed: {reason}")
        return None

    def close(self) -> None:
        """Also while it computes: what is half done is done again next time."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _size(self) -> int:
        """Of the manifest: it grows with every segment."""
        return (self._shard / MANIFEST).stat().st_size

    def _start(self) -> Process:
        weights = json.dumps(self._weights)
        return Process("gossamer.scores", [str(self._shard), weights], b"", self._lock)
