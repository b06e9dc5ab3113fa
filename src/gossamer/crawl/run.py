"""A run of the crawl from beginning to end: prepare, recover, start workers, crawl, stop cleanly, report."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any, Final, Protocol

from gossamer.base import descriptors, memory, process
from gossamer.base.clock import RealClock
from gossamer.base.compiled import KEPT
from gossamer.base.ending import Ending
from gossamer.base.errors import GossamerError
from gossamer.base.log import EventLog, Level
from gossamer.base.model import Counted
from gossamer.base.units import human_time, plural, thousands
from gossamer.collection import lock
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import shard_folder
from gossamer.collection.status_file import write_status
from gossamer.config.settings import Settings
from gossamer.crawl import snapshots
from gossamer.crawl.loop import Bounds, Crawl
from gossamer.crawl.new_settings import settle
from gossamer.crawl.open import open_collection
from gossamer.crawl.start import CrawlRequest, Prepared, prepare
from gossamer.desk import snapshot
from gossamer.desk.account import Account
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.manager.pages import Pages
from gossamer.manager.scores.compute import Scored
from gossamer.manager.scores.schedule import Scorer
from gossamer.manager.value import merit_weights, prepared_for
from gossamer.observe.crawl_status import last_statistics
from gossamer.observe.ending import Report
from gossamer.observe.listener import Listener
from gossamer.observe.measure import Curve, Meter, waits_until
from gossamer.observe.statistics import Ended, Limits, Resources, Run, Statistics
from gossamer.web.archive.bodies import Payloads
from gossamer.web.names.resolver import Resolver
from gossamer.web.pool.pool import Pool

LOOK_EVERY: Final = 0.5
MEMORY_EVERY: Final = 1.0
PLANS_EVERY: Final = 60.0
"""Seconds between writing down the last plans."""
__all__ = ["CrawlRequest", "Report", "Watcher", "run"]

REMEMBERED: Final = 1_000_000
"""Visits of former runs whose bodies are looked for in new ones."""

MEMORY_CURE: Final = (
    "Raise collection.max_memory, end other programs, take a larger machine, or fewer harvester.workers; then the same"
    " command goes on."
)
SAID: Final = 20
"""Seeds that are said one by one."""
_FULL: Final = {
    Counted.SITE_FULL: "the site is full (seeder.pages_per_site)",
    Counted.COLLECTION_FULL: "the collection is full (collection.max_pages, collection.max_sites)",
}


class Watcher(Protocol):
    """Receives the progress and the messages of a crawl."""

    def due(self) -> bool: ...
    def show(self, statistics: Statistics) -> None: ...
    def say(self, line: str) -> None: ...


def run(request: CrawlRequest, watcher: Watcher, begin: Callable[[Crawl], None] | None = None) -> Report:
    """What can be refused at once is, before a Web is started. `begin` is for experiments: it gets the crawl before its
    first turn, to watch it or to take the place of a part."""
    with ExitStack() as stack:
        lock.refuse_if_held(shard_folder(request.folder))
        log = _log(request, stack, watcher)
        local = None if request.serve is None else stack.enter_context(request.serve(watcher.say))
        prepared = prepare(request, watcher.say, local)
        return _run(request, prepared, watcher, stack, log, begin)


def _log(request: CrawlRequest, stack: ExitStack, watcher: Watcher) -> EventLog | None:
    level = Level.named(request.log_level)
    if request.log is None:
        return None
    log = EventLog(request.log, level, watcher.say)
    stack.callback(log.close)
    return log


def _run(
    request: CrawlRequest,
    prepared: Prepared,
    watcher: Watcher,
    stack: ExitStack,
    log: EventLog | None,
    begin: Callable[[Crawl], None] | None,
) -> Report:
    running = _Running(request, prepared, watcher, stack, log)
    if begin is not None:
        begin(running.crawl)
    try:
        return running.run()
    except BaseException as error:
        if log is not None:
            log.fault(error)
        raise


class _Running:
    """A crawl with all that stands around it. Whatever is opened is closed by `stack`, in the other order."""

    def __init__(
        self, request: CrawlRequest, prepared: Prepared, watcher: Watcher, stack: ExitStack, log: EventLog | None
    ) -> None:
        self.request, self.prepared, self.watcher, self.log = request, prepared, watcher, log
        self.clock, settings = RealClock(), prepared.settings
        self.begun, self.cpu, self.desk_cpu = self.clock.monotonic(), _cpu_seconds(), time.process_time()
        self._before = last_statistics(shard_folder(request.folder)).run
        self.curve = Curve.resumed(settings.manager, self._before.index)
        self.store, self.desk, self.resumed = open_collection(
            request.folder, settings, self.clock, prepared.toml, prepared.changed
        )
        store, desk = self.store, self.desk
        self.limited = desk[ServerSpeeds].hours.limited
        stack.callback(store.close)
        for warning in store.warnings:
            watcher.say(f"warning: {warning}")
        names = Resolver(settings.harvester)
        stack.callback(names.close)
        payloads = self._payloads(stack) if settings.collection.revisit_records else None
        self.web = Pool(
            self._as_far(settings),
            desk.seed,
            store.lock.fileno(),
            store.shard,
            store.next_archive,
            self.clock,
            payloads,
            self.limited,
        )
        stack.callback(self.web.close)
        self.web.register(names.fileno())
        store.follow(self.web)
        self.memory = memory.Limit(settings.collection.max_memory, self._memory_used())
        bounds = Bounds(request.pages, request.seconds, request.patience)
        self.crawl = Crawl(desk, store, self.web, names, self.clock, bounds, log)
        self.imager = snapshots.Imager(store, settings, self.clock)
        weights = merit_weights(settings.manager.weights) if settings.manager.policy == "value" else {}
        prepare = prepared_for(desk[Pages].policy, settings.manager.weights)
        self.scorer = Scorer(store.shard, weights, settings.manager.rank_every, store.lock.fileno(), prepare)
        self.listener = Listener(desk, store, self.crawl.harvest, self.crawl.planner, self.clock)
        for each in (self.imager, self.scorer, self.listener):
            stack.callback(each.close)
        self.crawl.background.append(self.imager)
        self.seeds_skipped = len(prepared.seeds.complaints)
        self._meter = Meter(desk)
        self._told = (0, 0)
        self._next_look = self._next_memory = 0.0
        self._next_plans = self.begun + PLANS_EVERY
        self.before = desk[Account].visits

    def _as_far(self, settings: Settings) -> Settings:
        """With as many connections as there may be."""
        wanted, each = settings.harvester.connections, descriptors.METERED if self.limited else 1
        if (some := descriptors.connections(wanted, each)) == wanted:
            return settings
        self.watcher.say(
            f"warning: {some} connections at most, not {wanted} (harvester.connections): a process may have"
            f" {descriptors.at_most()} files open here (`ulimit -Hn`)"
        )
        return replace(settings, harvester=replace(settings.harvester, connections=some))

    def _payloads(self, stack: ExitStack) -> Payloads:
        payloads, shard = Payloads(), self.store.shard
        stack.callback(payloads.close)
        self.store.committed = payloads.publish_visits
        if self.resumed:
            _beside(lambda: payloads.publish_visits(last_bodies(shard, REMEMBERED)))
        return payloads

    def run(self) -> Report:
        self._begin()
        interrupted: list[int] = []
        with _signals(self.crawl, interrupted, self.watcher):
            ending = self.crawl.run(self._watch)
        crawling = self.statistics()
        for each in (self.listener, self.imager, self.web):
            each.close()
        frugal = ending is Ending.MEMORY
        if not frugal:
            self._score_at_end()
        dumped = snapshot.dump(self.desk, self.store.urls.offsets(), self.store.urls.tail())
        self.store.finish(*dumped, seal=not frugal)
        self._meter.look(self.clock.wall())
        ended = Ended(ending.value, waits_until(self.desk, self.clock.wall()))
        final = replace(self.statistics(), ended=ended)
        write_status(self.store.shard, final.to_json())
        self.crawl.planner.history.write(self.store.shard)
        self._event("stop", ending=ending.value, visits=final.requests.visits, stored=final.requests.stored)
        return Report(final, ending, bool(interrupted), str(self.request.folder), crawling)

    def _begin(self) -> None:
        desk, say = self.desk, self.watcher.say
        if not KEPT.exists():
            say("compiling the kernels, once: about a minute (`make install` does it beforehand)")
        self._event("start", folder=str(self.request.folder), resumed=self.resumed, known=desk.columns.page.count)
        if self.resumed:
            rest = human_time(self.prepared.settings.harvester.wait)
            killed = "" if self.store.stopped else f"; after a kill, sites are asked again when {rest} have passed"
            known, made = plural(desk.columns.page.count, "page"), plural(desk[Account].visits, "visit")
            say(f"resumed: {known} known, {made} made{killed}")
            self._settle()
            self.crawl.harvest.resume(self.clock.monotonic() - self.store.lock.since)
            self._take_scored(self.scorer.resume(desk[Account].visits, self._before.scores))
        self._plant()
        self.store.standing = lambda: self.statistics().to_json()
        self.listener.start()
        if self.listener.complaint:
            say(f"note: {self.listener.complaint}")
        gc.collect()
        gc.freeze()  # what is loaded by now stays: a full collection would stop the loop for 0.1 s to look at it

    def _settle(self) -> None:
        """Pages and sites that are known already, by settings that have changed since the run before."""
        found = settle(self.crawl, self.prepared.changed)
        if found.judged:
            opened, closed = plural(found.opened, "page"), thousands(found.closed)
            self.watcher.say(f"by the new settings: {opened} open again, {closed} excluded")
        if found.names:
            self.watcher.say(f"by the new settings: the names of {plural(found.names, 'site')} are looked up again")

    def _plant(self) -> None:
        """Seeds that cannot become pages are said, the first of them one by one."""
        planted = self.crawl.plant(list(self.prepared.seeds.urls))
        lines = [f"{url}: {_FULL[limit]}" for url, limit in planted.full]
        lines += [f"{url}: the site's robots.txt forbids it" for url in planted.forbidden]
        self.seeds_skipped += len(lines)
        for line in lines[:SAID]:
            self.watcher.say(f"skipped: {line}")
        if len(lines) > SAID:
            self.watcher.say(f"skipped: {thousands(len(lines) - SAID)} more seeds, for such reasons")

    def _take_scored(self, scored: Scored | None) -> None:
        """Of pages that were known when it was computed; of later ones merit is 0."""
        if scored is None:
            return
        columns = self.desk.columns
        count = min(len(scored.merit), columns.page.count)
        columns.page.merit[:count] = scored.merit[:count]
        if scored.prepare and scored.prepare == self.desk[Pages].policy.prepares:
            name = "completed" if scored.prepare == "completed" else "merit"
            getattr(columns.page, name)[:count] = scored.prepared[:count]
        if scored.prepare == "completed":
            columns.ranking[:] = scored.base, count
        self.crawl.planner.stale = True

    def _watch(self) -> None:
        now = self.clock.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self._look()
        if self.watcher.due():
            self.watcher.show(self.statistics())

    def _look(self) -> None:
        """After memory and link scores, at what was made beside, and at the value of the index."""
        self._look_at_memory()
        self._take_scores()
        self.scorer.begin_if_due(self.desk[Account].visits, self._processor())
        told = (self.store.segments, self.imager.made)
        if told != self._told:
            self._told = told
            self._event("made", segments=told[0], images=told[1])
        self._warn()
        self._look_at_clock()
        planner = self.crawl.planner
        if self.clock.monotonic() >= self._next_plans:
            self._next_plans = self.clock.monotonic() + PLANS_EVERY
            _beside(lambda: planner.history.write(self.store.shard))
        self.curve.add(planner.last_made, planner.index_value, planner.index_pages)

    def _warn(self) -> None:
        for warnings in (self.scorer.warnings, self.imager.warnings, self.store.notes, self.crawl.names.warnings):
            for warning in warnings:
                self.watcher.say(f"warning: {warning}")
                self._event("warning", Level.WARNING, message=warning)
            warnings.clear()

    def _memory_used(self) -> int:
        return memory.used([os.getpid(), *self.web.pids(), *process.pids()])

    def _look_at_memory(self) -> None:
        """When it is used up, what can be done without goes first: images and link scores that are being made. Then the
        crawl stops, before the kernel ends it."""
        now = self.clock.monotonic()
        if now < self._next_memory or self.crawl.stop is Ending.MEMORY:
            return
        self._next_memory = now + MEMORY_EVERY
        used = self._memory_used()
        self.imager.may_begin = self.scorer.may_begin = self.memory.has_room(used, memory.used([os.getpid()]))
        reached = self.memory.reached(used)
        if not reached:
            return
        if self.imager.give_up() | self.scorer.give_up():
            message = f"{reached}: an image or link scores that were being made are given up"
        else:
            self.crawl.stop = Ending.MEMORY
            message = f"{reached}: it stops before it is killed. {MEMORY_CURE}"
        self.watcher.say(f"warning: {message}")
        self._event("memory", Level.WARNING, message=message, used=used, limit=self.memory.bytes)

    def _look_at_clock(self) -> None:
        if (ahead := self.clock.set_by()) is not None:
            way = "ahead of" if ahead > 0 else "behind"
            message = (
                f"the clock of this machine is {human_time(abs(ahead))} {way} the crawl's own, which goes on as before:"
                " no wait gets shorter or longer"
            )
            self.watcher.say(f"warning: {message}")
            self._event("clock", Level.WARNING, message=message, seconds=round(ahead, 3))

    def _take_scores(self) -> None:
        if (scored := self.scorer.poll(self.clock.wall())) is not None:
            self._take_scored(scored)
            self._event("scores", **self.scorer.figures)

    def _score_at_end(self) -> None:
        """Link scores once more, of all that was fetched, if they are not too dear; then what the index is worth."""
        self.store.commit(rotate=True)
        self.store.seal_all()
        self._look_at_memory()
        self.scorer.finish(self.desk[Account].visits, self._processor(), self._look_at_memory)
        self._take_scores()
        self.scorer.close()
        self._warn()
        wall = self.desk.believed(self.clock.wall())
        self.curve.add(wall, *self.crawl.planner.appraise(wall))

    def _event(self, name: str, level: Level = Level.INFO, **fields: Any) -> None:
        if self.log is not None:
            self.log.event(name, level, self.clock.wall(), **fields)

    def _processor(self) -> float:
        """Seconds of processor time of this run, all processes."""
        return _cpu_seconds() - self.cpu + self.web.cpu_seconds()

    def statistics(self) -> Statistics:
        return self._meter.now(self.clock.wall(), self.clock.monotonic(), self._of_this_run())

    def _of_this_run(self) -> Run:
        crawl, processor = self.crawl, self._processor()
        queue, bandwidth = crawl.harvest.queue, crawl.harvest.bandwidth
        return Run(
            seconds=round(self.clock.monotonic() - self.begun, 3),
            visits=self.desk[Account].visits - self.before,
            seeds_skipped=self.seeds_skipped,
            sites_active=queue.queued + queue.in_flight,
            names_fault=crawl.names.fault,
            resources=Resources(
                open=self.web.open,
                rss=self._memory_used(),
                cpu_seconds=round(processor, 3),
                desk_seconds=round(time.process_time() - self.desk_cpu, 3),
                longest_turn=round(crawl.longest_turn, 4),
            ),
            limits=self._limits(),
            index=self.curve.value,
            scores=self.scorer.state(processor),
            bandwidth=None if bandwidth is None else bandwidth.use(),
        )

    def _limits(self) -> Limits:
        """What is left of what the user asked for."""
        crawl, bounds = self.crawl, self.crawl.bounds
        passed = self.clock.monotonic() - crawl.started
        return Limits(
            None if bounds.seconds is None else max(0.0, bounds.seconds - passed),
            None if bounds.pages is None else bounds.pages - crawl.stored,
        )


def _beside(work: Callable[[], None]) -> None:
    """In a thread that the crawl neither waits for nor fails with."""

    def quietly() -> None:
        with suppress(GossamerError, OSError, ValueError):
            work()

    threading.Thread(target=quietly, daemon=True).start()


def _cpu_seconds() -> float:
    """Of this process and of its children that have ended; the pool knows about workers that live."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def _signals(crawl: Crawl, interrupted: list[int], watcher: Watcher) -> Iterator[None]:
    """Ctrl-C, `gossamer stop` and the end of the terminal end the crawl cleanly."""

    def ask(number: int, _: FrameType | None) -> None:
        crawl.stop = crawl.stop or Ending.STOPPED
        if number == signal.SIGINT:
            interrupted.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
