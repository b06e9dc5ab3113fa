"""Watching a crawl while it runs: memory, link scores, the clock, warnings, statistics.

The loop calls `Watch.turn` once per turn; most of it runs every half second.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from gossamer.base import memory, process
from gossamer.base.clock import RealClock
from gossamer.base.compiled import SCORES, are_compiled
from gossamer.base.ending import Ending
from gossamer.base.errors import GossamerError
from gossamer.base.log import EventLog, Level
from gossamer.base.units import human_size, human_time, plural
from gossamer.collection.steering import since
from gossamer.collection.store import Store
from gossamer.crawler.imager import Imager
from gossamer.crawler.loop import GRACE, Crawl
from gossamer.desk.account import Account
from gossamer.desk.columns import Columns
from gossamer.desk.desk import Desk
from gossamer.desk.orders import Orders
from gossamer.desk.rules import Rules
from gossamer.manager.pages import Pages
from gossamer.manager.scores.schedule import Scorer
from gossamer.manager.scores.stored import Scored
from gossamer.observe.listener import Listener
from gossamer.observe.measure import Curve, Meter
from gossamer.observe.statistics import Awaited, Limits, Resources, Run, Statistics
from gossamer.web.pool.pool import Pool

LOOK_EVERY: Final = 0.5
MEMORY_EVERY: Final = 1.0
NEAR: Final = 0.9
"""Part of a limit of the collection at which a warning is due."""
PLANS_EVERY: Final = 60.0
"""Seconds between writes of the last plans to disk."""
USUAL_WORKER: Final = 100_000_000
"""Bytes of a worker between two pages, at most."""
LARGE_WORKER: Final = 2 * USUAL_WORKER
"""Bytes of a worker that a single page has made large, at least."""
MEMORY_CURE: Final = (
    "Raise collection.max_memory, end other programs, take a larger machine, or fewer harvester.workers; then the same"
    " command resumes the crawl."
)


class Watcher(Protocol):
    """Receives the progress and the messages of a crawl."""

    def due(self) -> bool: ...
    def show(self, statistics: Statistics) -> None: ...
    def say(self, line: str) -> None: ...
    def doing(self, what: str, part: float | None = None) -> None:
        """What is being done before the first turn or after the last, and the part done, from 0 to 1, if known."""


@dataclass(frozen=True, slots=True)
class Voice:
    """Tells people and the event log what happens."""

    watcher: Watcher
    log: EventLog | None
    clock: RealClock

    def say(self, line: str) -> None:
        self.watcher.say(line)

    def doing(self, what: str, part: float | None = None) -> None:
        self.watcher.doing(what, part)

    def event(self, name: str, level: Level = Level.INFO, **fields: Any) -> None:
        if self.log is not None:
            self.log.event(name, level, self.clock.wall(), **fields)

    def warn(self, name: str, message: str, **fields: Any) -> None:
        """Shows a warning, and logs it as an event."""
        self.say(f"warning: {message}")
        self.event(name, Level.WARNING, message=message, **fields)


@dataclass(frozen=True, slots=True)
class Machinery:
    """All objects of a running crawl."""

    clock: RealClock
    store: Store
    desk: Desk
    resumed: bool
    """Whether an earlier crawl is resumed."""
    web: Pool
    crawl: Crawl
    imager: Imager
    scorer: Scorer
    listener: Listener

    def memory_used(self) -> int:
        """Bytes of memory that all processes of the crawl use, those of processors too."""
        workers = self.web.pids()
        beside = [child for pid in workers for child in process.children(pid)]
        return memory.used([os.getpid(), *workers, *beside, *process.pids()])


class NearLimits:
    """Warns of limits of the collection that are nearly reached, of each once."""

    def __init__(self, columns: Columns, warn: Callable[..., None]) -> None:
        self._warn = warn
        self._waiting = [
            ("pages", "max_pages", columns.page),
            ("sites", "max_sites", columns.site),
            ("origins", "max_sites", columns.origin),
        ]

    def check(self) -> None:
        for each in [row for row in self._waiting if row[2].count >= NEAR * row[2].limit]:
            what, setting, group = each
            self._waiting.remove(each)
            self._warn(
                "limit",
                f"the collection knows {group.count:,} {what}, and {group.limit:,} are the limit"
                f" (collection.{setting}): beyond it, new {what} are only counted. Stop the crawl and raise the"
                " setting, or see with `gossamer sql` which sites fill it.",
                what=what,
                known=group.count,
                limit=group.limit,
            )


class Watch:
    """Runs the periodic checks of a crawl, and makes its statistics."""

    def __init__(self, machinery: Machinery, voice: Voice, curve: Curve, begun: Begun) -> None:
        self._m, self._voice, self._begun = machinery, voice, begun
        self.curve, self._curve_from = curve, 0.0
        self.meter = Meter(machinery.desk, machinery.crawl.harvest.parts())
        most = machinery.desk.settings.collection.max_memory
        self._used = machinery.memory_used()
        """Bytes of memory, as of the last check."""
        self._memory = memory.Limit(most, self._used)
        self._told = (0, 0)
        self._near = NearLimits(machinery.desk.columns, voice.warn)
        self._next_look = self._next_memory = 0.0
        self._next_plans = begun.at + PLANS_EVERY
        self.seeds_skipped = 0

    def turn(self) -> None:
        """Called once per turn of the loop."""
        now = self._m.clock.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self._look()
        if self._voice.watcher.due():
            self._voice.watcher.show(self.statistics())

    def _look(self) -> None:
        m, planner = self._m, self._m.crawl.planner
        self._check_memory()
        self._poll_scores()
        visits = m.desk[Account].visits
        if m.scorer.is_due(visits) and m.scorer.begin_if_due(visits, self._processor()):
            self._announce_kernels()
        told = (m.store.segments, m.imager.made)
        if told != self._told:
            self._told = told
            self._voice.event("made", segments=told[0], images=told[1])
        self._pass_warnings_on()
        self._near.check()
        check_clock(m.clock, self._voice)
        if m.clock.monotonic() >= self._next_plans:
            self._next_plans = m.clock.monotonic() + PLANS_EVERY
            in_background(planner.write_history)
        self._add_to_curve()

    def _add_to_curve(self) -> None:
        """V(I) as of the last plan. When weights are ordered, a new curve begins with the plan that follows."""
        made, curve = self._m.crawl.planner.made, Curve.resumed(self._m.desk.settings.manager, self.curve.value)
        if curve.value is not self.curve.value:
            self.curve, self._curve_from = curve, self._m.desk.believed(self._m.clock.wall())
        if made.at > self._curve_from:
            self.curve.add(made.at, made.index_value, made.index_pages)

    def _pass_warnings_on(self) -> None:
        m = self._m
        rules = m.desk[Rules].warnings
        for warnings in (m.scorer.warnings, m.imager.warnings, m.store.notes, m.crawl.names.warnings, rules):
            for warning in warnings:
                self._voice.warn("warning", warning)
            warnings.clear()

    def _check_memory(self) -> None:
        """When memory runs out, images and link scores in progress are given up first, then workers that one page has
        made large: that page is to blame, and not the crawl. If that is not enough, the crawl stops before the kernel
        kills it."""
        m, now = self._m, self._m.clock.monotonic()
        if now < self._next_memory:
            return
        self._next_memory = now + MEMORY_EVERY
        used = self._used = m.memory_used()
        m.imager.may_begin = m.scorer.may_begin = self._memory.has_room(used, memory.used([os.getpid()]))
        m.store.may_merge(m.imager.may_begin)
        reached = self._memory.reached(used)
        if not reached:
            return
        if m.imager.give_up() | m.scorer.give_up() | m.store.give_up_merging():
            message = f"{reached}: the image, the link scores or the merge of segments in progress are given up"
        elif ended := self._end_large_workers(used):
            message = f"{reached}: a worker used {human_size(ended)} of it for one page, and is replaced"
        else:
            m.crawl.stop, self._next_memory = m.crawl.stop or Ending.MEMORY, float("inf")
            message = f"{reached}: the crawl stops before it is killed. {MEMORY_CURE}"
        self._voice.warn("memory", message, used=used, limit=self._memory.bytes)

    def _end_large_workers(self, used: int) -> int:
        """Ends the workers that are large, if that is enough; returns the bytes of the largest, 0 if none was ended."""
        sizes = {pid: memory.used([pid]) for pid in self._m.web.pids()}
        large = {pid: size for pid, size in sizes.items() if size >= LARGE_WORKER}
        if not large or self._memory.reached(used, sum(large.values()) - USUAL_WORKER * len(large)):
            return 0
        for pid, size in large.items():
            self._m.web.end(pid, f"it used {human_size(size)} of memory")
        return max(large.values())

    # --- link scores ----------------------------------------------------------------------------------------------

    def _poll_scores(self) -> None:
        if (scored := self._m.scorer.poll(self._m.clock.wall())) is not None:
            self.take(scored)
            self._voice.event("scores", **self._m.scorer.figures)

    def _announce_kernels(self) -> None:
        if not are_compiled(SCORES):
            self._voice.say("compiling the kernels of link scores, once for this version and processor: some seconds")

    def take(self, scored: Scored | None) -> None:
        """Takes over link scores, for pages that were known when they were computed; later pages have merit 0. Pages
        that have the scores of an older collection keep these."""
        if scored is None or self._m.desk[Pages].older is not None:
            return
        columns = self._m.desk.columns
        count = min(len(scored.merit), columns.page.count)
        columns.page.merit[:count] = scored.merit[:count]
        if scored.prepare and scored.prepare == self._m.desk[Pages].policy.prepares:
            name = "completed" if scored.prepare == "completed" else "merit"
            getattr(columns.page, name)[:count] = scored.prepared[:count]
        if scored.prepare == "completed":
            columns.ranking[:] = scored.base, count
        self._m.crawl.planner.outdate()

    def stopping(self) -> None:
        """Called when the loop has ended: open requests get some seconds to end."""
        if self._m.web.open:
            self._voice.doing(f"stopping: waiting for {plural(self._m.web.open, 'answer')}, {GRACE:.0f} s at most")

    def score_at_end(self, hurried: Callable[[], bool]) -> None:
        """Computes link scores once more, from everything that was fetched, if that does not cost too much; then the
        value of the index. If the user is `hurried`, they are given up."""
        m = self._m

        def look() -> None:
            self._check_memory()
            if hurried():
                m.scorer.give_up()

        self._voice.doing("sealing what was fetched")
        m.store.commit(rotate=True)
        m.store.seal_all()
        look()
        if not hurried():
            self._announce_kernels()
            self._voice.doing("computing link scores")
            m.scorer.finish(m.desk[Account].visits, self._processor(), look)
        self._poll_scores()
        m.scorer.close()
        self._pass_warnings_on()
        wall = m.desk.believed(m.clock.wall())
        self.curve.add(wall, *m.crawl.planner.appraise(wall))

    # --- statistics -----------------------------------------------------------------------------------------------

    def _processor(self) -> float:
        """Processor seconds of this run, over all processes."""
        return cpu_seconds() - self._begun.cpu + self._m.web.cpu_seconds()

    def statistics(self) -> Statistics:
        """The current statistics of the crawl."""
        return self.meter.now(self._m.clock.wall(), self._m.clock.monotonic(), self._of_this_run())

    def _of_this_run(self) -> Run:
        m, processor = self._m, self._processor()
        harvest = m.crawl.harvest
        return Run(
            seconds=round(m.clock.monotonic() - self._begun.at, 3),
            visits=m.desk[Account].visits - self._begun.visits,
            seeds_skipped=self.seeds_skipped,
            sites_active=harvest.active_sites(),
            names_fault=m.crawl.names.fault,
            awaited=self._awaited(),
            resources=Resources(
                open=max(0, m.web.open - harvest.kept()),
                rss=self._used,
                cpu_seconds=round(processor, 3),
                desk_seconds=round(time.process_time() - self._begun.desk_cpu, 3),
                longest_turn=round(m.crawl.longest_turn, 4),
            ),
            limits=self._limits(),
            index=self.curve.value,
            scores=m.scorer.state(processor),
            bandwidth=harvest.bandwidth_use(),
        )

    def _awaited(self) -> Awaited:
        sites, site, at = self._m.crawl.harvest.resting()
        seconds = max(0.0, round(at - self._m.clock.monotonic(), 1)) if site else 0.0
        rest = self._m.crawl.harvest.quiet()
        until = round(self._m.desk.believed(self._m.clock.wall()) + rest) if rest else 0.0
        pause = self._m.desk[Orders].in_force.of("pause")
        paused = "" if pause is None else f"{pause.order.who}, {since(pause.time)}"
        return Awaited(self._m.crawl.names.open, sites, site, seconds, until, paused)

    def _limits(self) -> Limits:
        """What remains of the limits that the user gave."""
        crawl, bounds = self._m.crawl, self._m.crawl.bounds
        return Limits(
            None if bounds.seconds is None else max(0.0, bounds.seconds - crawl.seconds),
            None if bounds.pages is None else bounds.pages - crawl.stored,
        )


@dataclass(frozen=True, slots=True)
class Begun:
    """The state when the run began."""

    at: float
    """Monotonic time."""
    cpu: float
    """Processor seconds of this process and its children."""
    desk_cpu: float
    visits: int
    """Visits of earlier runs."""


def check_clock(clock: RealClock, voice: Voice) -> None:
    """Warns once if the system clock was changed."""
    if (ahead := clock.set_by()) is not None:
        message = (
            f"the system clock was changed by {'+' if ahead > 0 else '-'}{human_time(abs(ahead))}; times stored from"
            " now on will follow it, times stored before are marked (gossamer verify), and no wait changes"
        )
        voice.warn("clock", message, seconds=round(ahead, 3))


def in_background(work: Callable[[], None], patience: float = 0.0) -> None:
    """Runs `work` in a thread. The crawl waits for it for `patience` seconds at most; its errors are ignored."""

    def quietly() -> None:
        with suppress(GossamerError, OSError, ValueError):
            work()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    if patience:
        thread.join(patience)


def cpu_seconds() -> float:
    """Processor seconds of this process and of its children that have ended; the pool knows about live workers."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
