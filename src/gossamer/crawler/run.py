"""A run of the crawl from start to end: prepare, recover, start workers, crawl, stop cleanly, report."""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import FrameType
from typing import Final, Self

from gossamer.base import descriptors, disk
from gossamer.base.clock import EARLIEST, RealClock
from gossamer.base.compiled import CRAWL
from gossamer.base.compiling import compile_ahead
from gossamer.base.ending import Ending
from gossamer.base.log import EventLog, Level
from gossamer.base.model import Counted
from gossamer.base.units import human_time, plural, thousands
from gossamer.collection import lock
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import shard_folder
from gossamer.collection.merging import merge_in_process
from gossamer.collection.runs import write_status
from gossamer.collection.store import Store
from gossamer.config.settings import Settings
from gossamer.crawler.forgetting import carry_out_waiting
from gossamer.crawler.imager import Imager
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.new_settings import settle
from gossamer.crawler.open import open_collection
from gossamer.crawler.orders import Inbox, carry_out
from gossamer.crawler.start import CrawlRequest, Prepared, prepare
from gossamer.crawler.steering import Steering, take_in
from gossamer.crawler.watch import Begun, Machinery, Voice, Watch, Watcher, cpu_seconds, in_background
from gossamer.desk import snapshot
from gossamer.desk.account import Account
from gossamer.desk.desk import Desk
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.manager.pages import Pages
from gossamer.manager.scores.own import Own
from gossamer.manager.scores.schedule import Scorer
from gossamer.manager.value import merit_weights, prepared_for
from gossamer.observe.crawl_status import last_statistics
from gossamer.observe.ending import Report
from gossamer.observe.listener import Listener
from gossamer.observe.measure import Curve, waits_until
from gossamer.observe.statistics import Ended
from gossamer.web.archive.bodies import Payloads
from gossamer.web.names.resolver import Resolver
from gossamer.web.pool.pool import Pool

__all__ = ["CrawlRequest", "Report", "Watcher", "run"]

REMEMBERED: Final = 1_000_000
"""How many visits of earlier runs are searched for bodies that are equal to new ones."""
LOADING: Final = 10.0
"""Seconds that a start waits for the index of the bodies that earlier runs archived."""
SHOWN: Final = 20
"""At most this many skipped seeds are shown one by one."""
_FULL: Final = {
    Counted.SITE_FULL: "the site or its domain is full (seeder.pages_per_site, sites_per_domain, pages_per_domain)",
    Counted.COLLECTION_FULL: "the collection is full (collection.max_pages, collection.max_sites)",
}


def run(request: CrawlRequest, watcher: Watcher, begin: Callable[[Crawl], None] | None = None) -> Report:
    """Runs the requested crawl. Errors that can be found at once are raised before a Web is served.

    `begin` is for experiments: it gets the crawl before its first turn, to watch it or to replace a part.
    """
    with ExitStack() as stack:
        lock.refuse_if_held(shard_folder(request.folder))
        log = _log(request, stack, watcher)
        local = None if request.serve is None else stack.enter_context(request.serve(watcher.say))
        watcher.doing("reading settings and seeds")
        prepared = prepare(request, watcher.say, local)
        compile_ahead(CRAWL, watcher.doing, watcher.say)
        _forget(request, watcher)
        session = _Session(request, prepared, watcher, stack, log)
        if begin is not None:
            begin(session.crawl)
        try:
            return session.run()
        except BaseException as error:
            if log is not None:
                log.fault(error)
            raise


def _forget(request: CrawlRequest, watcher: Watcher) -> None:
    """Carries out what `gossamer forget` has ordered while the crawl ran."""
    done = carry_out_waiting(request.folder, watcher.doing)
    if done.tombstones:
        pages = sum(each.pages for each in done.tombstones)
        watcher.say(f"forgotten, as was ordered while the crawl ran: {plural(pages, 'page')}")
    if done.note:
        watcher.say(f"note: {done.note}")


def _log(request: CrawlRequest, stack: ExitStack, watcher: Watcher) -> EventLog | None:
    level = Level.named(request.log_level)
    if request.log is None:
        return None
    log = EventLog(request.log, level, watcher.say)
    stack.callback(log.close)
    return log


class _Session:
    """A crawl with everything that it needs. `stack` closes what is opened here, in reverse order."""

    def __init__(
        self, request: CrawlRequest, prepared: Prepared, watcher: Watcher, stack: ExitStack, log: EventLog | None
    ) -> None:
        clock = RealClock()
        at, cpu, desk_cpu = clock.monotonic(), cpu_seconds(), time.process_time()
        self._request, self._prepared = request, prepared
        self._before = last_statistics(shard_folder(request.folder)).run
        self._voice = Voice(watcher, log, clock)
        self._voice.doing("opening the collection")
        self._m = _open(request, prepared, self._voice, stack)
        self.crawl = self._m.crawl
        curve = Curve.resumed(prepared.settings.manager, self._before.index)
        self._watch = Watch(self._m, self._voice, curve, Begun(at, cpu, desk_cpu, self._m.desk[Account].visits))
        self._watch.seeds_skipped = len(prepared.seeds.complaints)

    def run(self) -> Report:
        """Crawls, stops cleanly, and reports."""
        m, watch = self._m, self._watch
        self._begin()
        with _Signals(m.crawl, self._voice.say) as signals:
            ending = m.crawl.run(watch.turn, watch.stopping)
            signals.finishing = True
            crawling = watch.statistics()
            self._finish(signals, frugal=ending is Ending.MEMORY)
        watch.meter.look(m.clock.wall())
        ended = Ended(ending.value, waits_until(m.desk, m.clock.wall()))
        final = replace(watch.statistics(), ended=ended)
        write_status(m.store.shard, final.to_json())
        m.crawl.planner.write_history()
        if waiting := m.desk.forgotten.waiting:
            orders, folder = plural(len(waiting), "order"), self._request.folder
            self._voice.say(f"{orders} to forget: `gossamer forget {folder}` carries out now, or the next start does")
        self._voice.event("stop", ending=ending.value, visits=final.requests.visits, stored=final.requests.stored)
        return Report(final, ending, signals.interrupted, str(self._request.folder), crawling)

    def _finish(self, signals: _Signals, frugal: bool) -> None:
        """Makes what a quick start and readers want. What takes long is left to the next run if memory is scarce
        (`frugal`), or the user is in a hurry."""
        m = self._m
        for each in (m.listener, m.imager, m.web):
            each.close()
        if not frugal and not signals.hurried():
            self._watch.score_at_end(signals.hurried)
        self._voice.doing("writing the image")
        dumped = snapshot.dump(m.desk, m.store.ends())
        m.store.finish(*dumped, seal=not frugal and not signals.hurried())

    def _begin(self) -> None:
        m, watch, say = self._m, self._watch, self._voice.say
        known = m.desk.columns.page.count
        self._voice.event("start", folder=str(self._request.folder), resumed=m.resumed, known=known)
        if m.resumed:
            visits = m.desk[Account].visits
            rest = human_time(self._prepared.settings.harvester.wait)
            killed = "" if m.store.stopped else f"; after a kill, no site is requested before {rest} have passed"
            say(f"resumed: {plural(known, 'page')} known, {plural(visits, 'visit')} made{killed}")
            self._settle()
            m.crawl.harvest.resume(m.clock.monotonic() - m.store.locked_since)
            watch.take(m.scorer.resume(visits, self._before.scores))
        if m.clock.wall() < EARLIEST:
            wrong = "the system clock shows a time before this program existed: all times will be stored wrongly"
            self._voice.warn("clock", f"{wrong}. Set the clock; the crawl follows it, and marks the wrong times")
        self._plant()
        self._carry_out()
        m.store.show(lambda: watch.statistics().to_json())
        m.listener.start()
        if m.listener.complaint:
            say(f"note: {m.listener.complaint}")
        gc.collect()
        gc.freeze()  # objects loaded so far are never freed: to scan them would stop the loop for 0.1 s

    def _settle(self) -> None:
        """Judges known pages and sites by settings that have changed since the run before."""
        settled = settle(self.crawl, self._prepared.changed)
        if settled.judged:
            opened, closed = plural(settled.opened, "page"), thousands(settled.closed)
            self._voice.say(f"by the new settings: {opened} open again, {closed} excluded")
        if settled.names:
            names = plural(settled.names, "site")
            self._voice.say(f"by the new settings: the names of {names} are looked up again")

    def _plant(self) -> None:
        """Plants the seeds, and shows seeds that cannot become pages: the first `SHOWN` of them one by one."""
        planted = self.crawl.plant(list(self._prepared.seeds.urls))
        lines = [f"{url}: {_FULL[limit]}" for url, limit in planted.full]
        lines += [f"{url}: the site's robots.txt forbids it" for url in planted.forbidden]
        lines += [f"{url}: {self._why_forgotten(url)}" for url in planted.forgotten]
        self._watch.seeds_skipped += len(lines)
        for line in lines[:SHOWN]:
            self._voice.say(f"skipped: {line}")
        if len(lines) > SHOWN:
            self._voice.say(f"skipped: {thousands(len(lines) - SHOWN)} more seeds, for similar reasons")

    def _why_forgotten(self, seed: str) -> str:
        desk = self._m.desk
        tombstone = desk.forgotten.tombstone(desk.scope.canonical(seed, None) or seed)
        return "it was forgotten" if tombstone is None else tombstone.told()

    def _carry_out(self) -> None:
        """Carries out what `gossamer add` and `gossamer again` left for this run."""
        left, carried = carry_out(self.crawl)
        if asked := len(left.add) + len(left.again):
            found = ", ".join(f"{name} {thousands(count)}" for name, count in carried._asdict().items() if count)
            self._voice.say(f"by `gossamer add` and `gossamer again`: {plural(asked, 'page')} ({found})")
            self._voice.event("orders", **carried._asdict())


def _open(request: CrawlRequest, prepared: Prepared, voice: Voice, stack: ExitStack) -> Machinery:
    settings, clock = prepared.settings, voice.clock
    toml, changed = prepared.toml, prepared.changed
    folder, tables = request.folder, prepared.tables
    store, desk, resumed = open_collection(
        folder, settings, clock, toml, changed, merger=merge_in_process, beside=request.beside, tables=tables
    )
    stack.callback(disk.close_scratches)
    stack.callback(store.close)
    given = take_in(store, desk, clock)
    for warning in store.warnings:
        voice.say(f"warning: {warning}")
    names = Resolver(settings.harvester)
    stack.callback(names.close)
    web = _workers(desk, store, resumed, prepared, voice, stack)
    web.register(names.fileno())
    store.cover(web)
    bounds = Bounds(request.pages, request.seconds, request.patience)
    crawl = Crawl(desk, store, web, names, clock, bounds, voice.log)
    stack.callback(crawl.bell.close)
    web.register(crawl.bell.fileno())
    imager = Imager(store, settings, clock)
    weights = merit_weights(settings.manager.weights) if settings.manager.policy == "value" else {}
    prepares = prepared_for(desk[Pages].policy, settings.manager.weights)
    own = Own.of(prepared.plugins, settings.plugins)
    scorer = Scorer(store.shard, weights, settings.manager.rank_every, store.lock_fd, prepares, own)
    inbox = Inbox(crawl, Steering(crawl, given))
    listener = Listener(desk, store, crawl.harvest, crawl.planner, clock, inbox)
    for each in (imager, scorer, listener):
        stack.callback(each.close)
    crawl.background += (imager, inbox)
    return Machinery(clock, store, desk, resumed, web, crawl, imager, scorer, listener)


def _workers(desk: Desk, store: Store, resumed: bool, prepared: Prepared, voice: Voice, stack: ExitStack) -> Pool:
    limited = desk[ServerSpeeds].hours.limited
    descriptors.require_stack()
    settings = _with_connections(desk.settings, limited, voice)
    payloads = _payloads(store, resumed, stack) if settings.collection.revisit_records else None
    lock_fd, clock = store.lock_fd, voice.clock
    of_desk = desk.seed, lock_fd, store.shard, store.next_archive, clock
    processors = [(plugin, (table.name, table.said)) for plugin, table in prepared.processors]
    web = Pool(settings, *of_desk, payloads, limited, processors)
    stack.callback(web.close)
    return web


def _with_connections(settings: Settings, limited: bool, voice: Voice) -> Settings:
    """Lowers `harvester.connections` to what the limit of open files allows."""
    wanted, each = settings.harvester.connections, descriptors.METERED if limited else descriptors.COUNTED
    if (most := descriptors.connections(wanted, each)) == wanted:
        return settings
    voice.say(
        f"warning: {most} connections at most, not {wanted} (harvester.connections): a process may have"
        f" {descriptors.at_most()} files open here (`ulimit -Hn`)"
    )
    return replace(settings, harvester=replace(settings.harvester, connections=most))


def _payloads(store: Store, resumed: bool, stack: ExitStack) -> Payloads:
    """The index of archived bodies, filled from earlier runs; in the background, if there are many."""
    payloads = Payloads()
    stack.callback(payloads.close)
    store.tell_visits(payloads.publish_visits)
    if resumed:
        in_background(lambda: payloads.publish_visits(last_bodies(store.shard, REMEMBERED)), LOADING)
    return payloads


class _Signals:
    """Ctrl-C, `gossamer stop` and the end of the terminal end the crawl cleanly. One that comes while the crawl
    finishes makes it leave out what can be made later; another Ctrl-C then ends it at once, like a kill."""

    def __init__(self, crawl: Crawl, say: Callable[[str], None]) -> None:
        self._crawl, self._say = crawl, say
        self.interrupted = self.finishing = False
        """By Ctrl-C; and whether the loop has ended."""
        self._hurry = self._said = False
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            numbers.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._ask) for number in numbers}

    def _ask(self, number: int, _: FrameType | None) -> None:
        self.interrupted |= number == signal.SIGINT
        if not self.finishing:
            self._crawl.stop = Ending.STOPPED
            self._crawl.bell.ring()
        elif self._hurry and number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            self._hurry = True

    def hurried(self) -> bool:
        """Whether one came while the crawl finishes. It says so here, and not amid another line."""
        if self._hurry and not self._said:
            self._said = True
            self._say("finishing without new link scores: the next run makes them. Nothing that was fetched is lost")
        return self._hurry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
