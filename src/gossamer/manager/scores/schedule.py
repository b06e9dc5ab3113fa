"""When link scores are recomputed, and how the desk takes them over: the desk's side of `manager.scores.compute`.

While the crawl runs, the process is started when three conditions hold since the last computation: `rank_every` visits
were made, another segment was sealed, and the crawl used twenty times the processor time that the last computation
took. So scores cost at most a twentieth of the crawl. Visits and processor time are counted over all runs
(`standing.json` keeps them): a crawl that is run in pieces has scores like any other. At a clean stop they are computed
once more if something was fetched since, and it costs at most a twentieth of the crawl, or at most a second: a small
crawl has them too.

A failure there is a warning and never ends the crawl: OPIC works without scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gossamer.base.process import Process
from gossamer.collection import manifest
from gossamer.collection.layout import MANIFEST
from gossamer.manager.scores.made import LinkScores
from gossamer.manager.scores.own import NOBODY, Own
from gossamer.manager.scores.stored import SCORES, Scored, read_scored

SHARE: Final = 1 / 20
START: Final = 0.75
"""Seconds of processor time that a computation takes with any graph, most of them to start an interpreter. Measured:
0.70 to 0.75."""
A_LINK: Final = 4e-7
"""Additional seconds for each link, at most. Measured: 1.03 to 1.07 in all with 1.5 million. With a much higher
estimate a crawl of cheap pages with many links would never have scores: it would never earn them."""
AT_STOP: Final = 1.0
"""Seconds that a computation may always take at a clean stop."""


@dataclass(slots=True)
class _Begun:
    """The state of the crawl when the last computation was begun."""

    visits: int = 0
    cpu: float = 0.0
    """Processor time of this run up to then."""
    carried: float = 0.0
    """Processor time of former runs since then."""
    manifest: int = 0
    """Size of the manifest: it grows with every segment."""

    def cpu_since(self, crawl_cpu_seconds: float) -> float:
        return self.carried + crawl_cpu_seconds - self.cpu


class Scorer:
    """Starts computations of link scores and takes their results."""

    def __init__(
        self,
        shard: Path,
        weights: Mapping[str, float],
        rank_every: int,
        lock_fd: int = -1,
        prepare: str = "",
        own: Own = NOBODY,
    ) -> None:
        """`weights` are those of link scores (`value.merit_weights`), `prepare` is the score that the policy needs
        prepared; without either, nothing is ever computed. `own`: plug-ins that give a score or an order."""
        self._shard, self._weights, self._every, self._lock = shard, dict(weights), rank_every, lock_fd
        self._prepare, self._own = prepare, own
        self._process: Process | None = None
        self.may_begin = True
        """Whether there is enough memory for a computation."""
        self._begun = _Begun(manifest=0 if manifest.read(shard).segments else self._manifest_size())
        self._last: LinkScores | None = None
        """What is known about the last successful computation."""
        self._why = ""
        self.figures: dict[str, Any] = {}
        """Statistics that the last computation reported."""
        self.warnings: list[str] = []
        """Failures since the list was last read and cleared."""

    def resume(self, visits: int, before: LinkScores | None = None) -> Scored | None:
        """Returns the stored scores at the start of a run. `before` is the `state` at the end of the last run. If that
        is lost, visits and processor time are counted from here."""
        before = before or LinkScores()
        self._begun.carried = before.cpu_since
        merit = read_scored(self._shard, self._weights)
        if merit is not None:  # it may have been deleted
            known = before.made or before.visits or before.pages or before.links or before.cpu
            self._last = before if known else self._of_files(visits, merit)
            self._begun.visits = self._last.visits or visits
        return merit

    def begin_if_due(self, visits: int, crawl_cpu_seconds: float) -> bool:
        """Begins a computation if the conditions hold; returns whether it did. `crawl_cpu_seconds` is the processor
        time of this run, desk and workers."""
        return self.is_due(visits) and self._affordable(crawl_cpu_seconds) and self._begin(visits, crawl_cpu_seconds)

    def is_due(self, visits: int) -> bool:
        """Whether there is enough that is new. Cheap: may be called every turn."""
        return visits - self._begun.visits >= self._every and self._may_begin()

    def finish(self, visits: int, crawl_cpu_seconds: float, look: Callable[[], object] = lambda: None) -> bool:
        """Computes scores once more at the end of a run, if something was fetched since and it is affordable, and
        waits. `look` is called while it waits."""
        if visits > self._begun.visits and self._may_begin():
            if self._affordable(crawl_cpu_seconds) or self._estimate() <= AT_STOP:
                self._begin(visits, crawl_cpu_seconds)
            else:
                self._why = "computing them would have cost more than a twentieth of the crawl's processor time so far"
        if self._process is not None:
            self._process.wait(look)
        return self._process is not None

    def poll(self, wall: float = 0.0) -> Scored | None:
        """The scores, once after each successful computation; `wall` is noted as its end."""
        if self._process is None or not self._process.ended:
            return None
        process, self._process = self._process, None
        reason = process.failure
        if not reason:
            try:
                self.figures = json.loads(process.output)
                pages, links, cpu = (self.figures[name] for name in ("pages", "links", "cpu"))
                self._last = LinkScores(round(wall, 3), self._begun.visits, pages, links, cpu)
                self.warnings += self.figures.get("wrong", ())
                return read_scored(self._shard, self._weights)
            except (OSError, ValueError, KeyError) as error:
                reason = str(error)
        self._fail(reason)
        return None

    def state(self, crawl_cpu_seconds: float) -> LinkScores:
        """For `status` and for the next run: when and from how much scores were last made, or why there are none."""
        why = "" if self._last else self._why or f"they come after {self._every:,} visits, or when the crawl stops"
        if not self._weights and not self._prepare:
            why = "they have no weight: manager.weights names none, or manager.policy does not use them"
        since = round(self._begun.cpu_since(crawl_cpu_seconds), 3)
        return replace(self._last or LinkScores(), cpu_since=since, why=why)

    def give_up(self) -> bool:
        """Ends a running computation; returns whether there was one."""
        computing = self._process is not None
        self.close()
        return computing

    def close(self) -> None:
        """Ends a running computation: it is done again next time."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _of_files(self, visits: int, scored: Scored) -> LinkScores:
        """What the files tell about the last computation, if the run that made it left no record."""
        made = max(path.stat().st_mtime for path in (self._shard / SCORES).glob("*.merit"))
        return LinkScores(round(made, 3), visits, len(scored.merit))

    def _may_begin(self) -> bool:
        wanted = self.may_begin and bool(self._weights or self._prepare)
        return self._process is None and wanted and self._manifest_size() != self._begun.manifest

    def _affordable(self, crawl_cpu_seconds: float) -> bool:
        cost = self._last.cpu if self._last is not None else None
        return self._begun.cpu_since(crawl_cpu_seconds) * SHARE >= (cost or self._estimate())

    def _estimate(self) -> float:
        """Estimated seconds of processor time, from the number of links."""
        segments = manifest.read(self._shard).segments.values()
        files = (item for segment in segments for item in segment["files"].items())
        links = sum(int(file["rows"]) for name, file in files if name.startswith("links/"))
        return START + A_LINK * links

    def _begin(self, visits: int, crawl_cpu_seconds: float) -> bool:
        self._begun = _Begun(visits, crawl_cpu_seconds, 0.0, self._manifest_size())
        arguments = [str(self._shard), json.dumps(self._weights), self._prepare, json.dumps(self._own)]
        try:
            self._process = Process("gossamer.manager.scores.compute", arguments, b"", self._lock)
        except OSError as error:
            self._fail(str(error))
        return self._process is not None

    def _fail(self, reason: str) -> None:
        self._why = f"computing them failed: {reason}"
        self.warnings.append(f"link scores could not be computed: {reason}")

    def _manifest_size(self) -> int:
        return (self._shard / MANIFEST).stat().st_size
