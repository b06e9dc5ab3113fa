"""A run of the crawl from beginning to end: prepare, recover, start workers, crawl, stop cleanly, report."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from gossamer import demo, imaging
from gossamer.clock import RealClock
from gossamer.collection.layout import shard_folder
from gossamer.collection.standing import write_standing
from gossamer.config.settings import Settings
from gossamer.crawl import Bounds, Crawl, Ending
from gossamer.figures import figures_of, waits_until
from gossamer.model import Outcome
from gossamer.opening import open_collection
from gossamer.prepare import Plea, Prepared, demo_settings, prepare
from gossamer.units import human_size, human_time, thousands
from gossamer.web.pool import Pool
from gossamer.web.resolver import Resolver

__all__ = ["Plea", "Report", "Watcher", "run"]


class Watcher(Protocol):
    """Who is told how the crawl goes."""

    def due(self) -> bool: ...
    def show(self, figures: dict[str, Any]) -> None: ...
    def say(self, line: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    figures: dict[str, Any]
    ending: Ending
    interrupted: bool
    folder: str
    crawling: dict[str, Any]
    """Figures at the end of the crawl itself, before sealing and the image."""

    def lines(self) -> Iterator[str]:
        f = self.figures
        yield f"The crawl ended: {self.ending.value}."
        yield (
            f"  {thousands(f['visits'])} visits in {human_time(f['seconds'])}, {thousands(f['stored'])} pages stored, "
            f"{human_size(f['bytes'])}, {thousands(f['sites'])} sites, "
            f"{1000 * f['cpu_seconds'] / max(1, f['run_visits']):.2f} ms of processor time a visit"
        )
        yield (
            f"  known {thousands(f['known'])} = pending {thousands(f['pending'])} + waiting {thousands(f['waiting'])}"
            f" + done {thousands(f['done'])} + excluded {thousands(f['excluded'])}"
        )
        for word, count in f["outcomes"].items():
            yield f"  {thousands(count):>10}  {word:<20} {Outcome[word.upper()].sentence}"
        if f["waits_until"]:
            yield f"  What waits is due from {f['waits_until']} on; the same command then goes on."
        shard = shard_folder(Path(self.folder))
        yield "What there is now, and what to try next:"
        yield f"  {shard}/warc/    what came over the wire: any WARC tool reads it, e.g. warcio index FILE"
        yield f"  {shard}/visits/  and pages/, links/, sites/: Parquet tables, for DuckDB, pandas, Spark"
        yield f"  {_program()} status {self.folder}"


def _program() -> str:
    """The command as the user typed it."""
    name = sys.argv[0]
    return "python -m gossamer" if name.endswith("__main__.py") else os.path.relpath(name) if "/" in name else name


def run(plea: Plea, watcher: Watcher) -> Report:
    with ExitStack() as stack:
        demonstration, seeds = _demonstration(plea, stack, watcher)
        prepared = prepare(plea, watcher.say, demonstration, seeds)
        return _run(plea, prepared, watcher, stack)


def _demonstration(plea: Plea, stack: ExitStack, watcher: Watcher) -> tuple[Settings | None, tuple[str, ...]]:
    if plea.demo is None:
        return None, ()
    running = demo.start(plea.demo, log=plea.demo_log)
    stack.callback(running.stop)
    watcher.say(f"the demonstration Web runs on this machine: {len(running.seeds)} sites, port {running.port}")
    return demo_settings(running.resolve, tuple(running.domains)), tuple(running.seeds)


def _run(plea: Plea, prepared: Prepared, watcher: Watcher, stack: ExitStack) -> Report:
    clock, settings = RealClock(), prepared.settings
    begun, cpu, desk_cpu = clock.monotonic(), _cpu_seconds(), time.process_time()
    store, desk, resumed = open_collection(plea.folder, settings, clock, prepared.toml)
    stack.callback(store.close)
    for warning in store.warnings:
        watcher.say(f"warning: {warning}")
    names = Resolver(settings.harvester)
    stack.callback(names.close)
    web = Pool(settings, desk.seed, store.lock.fileno(), store.shard, store.next_archive, clock)
    stack.callback(web.close)
    web.register(names.fileno())
    store.follow(web)
    crawl = Crawl(desk, store, web, names, clock, Bounds(plea.pages, plea.seconds, plea.patience))
    if resumed:
        crawl.dispatch.resume(clock.monotonic() - store.lock.since)
        watcher.say(f"resumed: {thousands(desk.columns.page.count)} pages known, {thousands(desk.visits)} visits made")
    crawl.plant(list(prepared.seeds.urls))
    before = desk.visits
    interrupted: list[int] = []

    def figures() -> dict[str, Any]:
        found = figures_of(desk, clock.wall())
        found["open"] = web.open
        found["seconds"] = round(clock.monotonic() - begun, 3)
        found["run_visits"] = desk.visits - before
        found["longest_turn"] = round(crawl.longest_turn, 4)
        found["seeds_skipped"] = len(prepared.seeds.complaints)
        found["desk_seconds"] = round(time.process_time() - desk_cpu, 3)
        found["cpu_seconds"] = round(_cpu_seconds() - cpu + web.cpu_seconds(), 3)
        return found

    def watch() -> None:
        if watcher.due():
            watcher.show(figures())

    store.standing = figures
    gc.collect()
    gc.freeze()  # what is loaded by now stays: a full collection would stop the loop for 0.1 s to look at it
    with _signals(crawl, interrupted, watcher):
        ending = crawl.run(watch)
    at_end = figures()
    web.close()
    store.finish(*imaging.dump(desk, store.urls))
    final = figures() | {"ending": ending.value, "waits_until": waits_until(desk, clock.wall())}
    write_standing(store.shard, final)
    return Report(final, ending, bool(interrupted), str(plea.folder), at_end)


def _cpu_seconds() -> float:
    """Of this process and of its children that have ended; the pool knows about workers that live."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def _signals(crawl: Crawl, interrupted: list[int], watcher: Watcher) -> Iterator[None]:
    """Ctrl-C and `gossamer stop` end the crawl cleanly."""

    def ask(number: int, _: FrameType | None) -> None:
        crawl.stop_requested = True
        if number == signal.SIGINT:
            interrupted.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
