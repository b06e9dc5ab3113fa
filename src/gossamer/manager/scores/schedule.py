"""When link scores are computed anew, and taking them over: the desk's side of `gossamer.manager.scores.compute`.

While the crawl runs, the process is started when `rank_every` visits have been made since the last time, another
segment has been sealed, and the crawl has used twenty times the processor time since then that the last computation
took: so scores cost at most a twentieth of the crawl. Both are counted over all runs (`standing.json` keeps them): a
crawl that is run in pieces has its scores like any other. At a clean stop they are computed once more if something was
fetched since and it costs at most a twentieth of the crawl, or at most a second: a small crawl has them too.

What goes wrong there is a warning, never the end of the crawl: OPIC does without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gossamer.base.process import Process
from gossamer.collection import manifest
from gossamer.collection.layout import MANIFEST
from gossamer.manager.scores.compute import SCORES, Scored, read_scored
from gossamer.manager.scores.made import LinkScores

SHARE: Final = 1 / 20
START: Final = 0.75
"""Seconds of processor time that a computation takes whatever the graph: starting an interpreter, above all. Measured:
0.70 to 0.75."""
A_LINK: Final = 4e-7
"""Seconds more for each link, at most. Measured: 1.03 to 1.07 in all with 1.5 million. With much more a crawl of cheap
pages and many links would never have scores: it would never earn them."""
AT_STOP: Final = 1.0
"""Seconds that a computation may always take at a clean stop."""


class Scorer:
    def __init__(
        self, shard: Path, weights: Mapping[str, float], rank_every: int, lock_fd: int = -1, prepare: str = ""
    ) -> None:
        """`weights` are those of link scores (`value.merit_weights`), `prepare` what the policy has prepared; without
        either, nothing is ever computed."""
        self._shard, self._weights, self._every, self._lock = shard, dict(weights), rank_every, lock_fd
        self._prepare = prepare
        self._process: Process | None = None
        self.may_begin = True
        """Whether there is room for it in memory."""
        self._visits = self._begun = 0
        self._cpu = self._carried = 0.0
        """Of the crawl, of this run when the last computation was begun, and since then in former runs."""
        self._sealed = 0 if manifest.read(shard).segments else self._size()
        self._last: LinkScores | None = None
        """What is known about the last computation that succeeded."""
        self._why = ""
        self.figures: dict[str, Any] = {}
        """What the last computation said of itself."""
        self.warnings: list[str] = []
        """What went wrong since someone last looked and cleared this."""

    def resume(self, visits: int, before: LinkScores | None = None) -> Scored | None:
        """Call it at the start of a run: returns the last scores. `before` is what `state` returned at the end of the
        last run.

        If that is lost, visits and processor time are counted from here.
        """
        before = before or LinkScores()
        self._carried = before.cpu_since
        merit = read_scored(self._shard, self._weights)
        if merit is not None:  # it may have been thrown away
            known = before.made or before.visits or before.pages or before.links or before.cpu
            self._last = before if known else self._of_files(visits, merit)
            self._visits = self._last.visits or visits
        return merit

    def begin_if_due(self, visits: int, crawl_cpu_seconds: float) -> bool:
        """`crawl_cpu_seconds`: of this run, desk and workers. Cheap: may be called every turn."""
        if visits - self._visits < self._every or not self._may_begin():
            return False
        return self._affordable(crawl_cpu_seconds) and self._begin(visits, crawl_cpu_seconds)

    def finish(self, visits: int, crawl_cpu_seconds: float, look: Callable[[], object] = lambda: None) -> bool:
        """At the end of a run: computes them once more, if something came since and it is not too dear, and waits;
        `look` is called meanwhile."""
        if visits > self._visits and self._may_begin():
            if self._affordable(crawl_cpu_seconds) or self._estimate() <= AT_STOP:
                self._begin(visits, crawl_cpu_seconds)
            else:
                self._why = "to compute them would have cost more than a twentieth of the crawl's processor time so far"
        if self._process is not None:
            self._process.wait(look)
        return self._process is not None

    def poll(self, wall: float = 0.0) -> Scored | None:
        """Merit by page, once after each computation that ended well, at `wall`."""
        if self._process is None or not self._process.ended:
            return None
        process, self._process = self._process, None
        reason = process.failure
        if not reason:
            try:
                self.figures = json.loads(process.output)
                pages, links, cpu = (self.figures[name] for name in ("pages", "links", "cpu"))
                self._last = LinkScores(round(wall, 3), self._begun, pages, links, cpu)
                return read_scored(self._shard, self._weights)
            except (OSError, ValueError, KeyError) as error:
                reason = str(error)
        self._fail(reason)
        return None

    def state(self, crawl_cpu_seconds: float) -> LinkScores:
        """For `status`, and for the next run."""
        why = "" if self._last else self._why or f"they come after {self._every:,} visits, or when the crawl stops"
        if not self._weights and not self._prepare:
            why = "they have no weight: manager.weights names none, or manager.policy does not look at them"
        return replace(self._last or LinkScores(), cpu_since=round(self._since(crawl_cpu_seconds), 3), why=why)

    def give_up(self) -> bool:
        """What is being computed; whether there was anything."""
        computing = self._process is not None
        self.close()
        return computing

    def close(self) -> None:
        """Also while it computes: what is half done is done again next time."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _of_files(self, visits: int, scored: Scored) -> LinkScores:
        """What is known of the last computation without a word from the run that made it."""
        made = max(path.stat().st_mtime for path in (self._shard / SCORES).glob("*.merit"))
        return LinkScores(round(made, 3), visits, len(scored.merit))

    def _since(self, crawl_cpu_seconds: float) -> float:
        return self._carried + crawl_cpu_seconds - self._cpu

    def _may_begin(self) -> bool:
        wanted = self.may_begin and bool(self._weights or self._prepare)
        return self._process is None and wanted and self._size() != self._sealed

    def _affordable(self, crawl_cpu_seconds: float) -> bool:
        cost = self._last.cpu if self._last is not None else None
        return self._since(crawl_cpu_seconds) * SHARE >= (cost or self._estimate())

    def _estimate(self) -> float:
        """Seconds of processor time, from the number of links."""
        segments = manifest.read(self._shard).segments.values()
        files = (item for segment in segments for item in segment["files"].items())
        links = sum(int(file["rows"]) for name, file in files if name.startswith("links/"))
        return START + A_LINK * links

    def _begin(self, visits: int, crawl_cpu_seconds: float) -> bool:
        self._visits = self._begun = visits
        self._cpu, self._carried, self._sealed = crawl_cpu_seconds, 0.0, self._size()
        try:
            self._process = self._start()
        except OSError as error:
            self._fail(str(error))
        return self._process is not None

    def _fail(self, reason: str) -> None:
        self._why = f"to compute them failed: {reason}"
        self.warnings.append(f"link scores could not be computed: {reason}")

    def _size(self) -> int:
        """Of the manifest: it grows with every segment."""
        return (self._shard / MANIFEST).stat().st_size

    def _start(self) -> Process:
        weights = json.dumps(self._weights)
        return Process("gossamer.manager.scores.compute", [str(self._shard), weights, self._prepare], b"", self._lock)
