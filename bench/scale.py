"""The desk at 10^7 known pages, measured: `python -m bench.scale [known pages] [--half]`

It builds a collection along the real path (identify, journal, apply, commits, sealing) from the results of a generated
Web. Then it measures CPU time and pauses of a tick, memory, plans, clean stop, start, random texts, and sizes. At 10^7
it takes about four minutes and 3 GB of a temporary folder. With --half one site has half of all pages.

The table of digests is filled before memory and starts are measured, as if every known page had been fetched: the worst
case. Times of the desk are CPU times of its thread without making the results; pauses are elapsed times.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

from bench.made_web import MadeWeb
from gossamer.base.clock import RealClock
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import TABLES, journal_files
from gossamer.config import Settings, override, to_json
from gossamer.crawler.apply import apply
from gossamer.crawler.open import open_collection
from gossamer.desk import snapshot
from gossamer.desk.account import Account
from gossamer.desk.desk import Desk
from gossamer.desk.rules import Rules
from gossamer.desk.table import CELL, Table
from gossamer.manager.plan import make_plan
from gossamer.manager.strategies import LIVE
from gossamer.seeder.copies import mark_duplicates
from gossamer.seeder.pages import SeederLimits
from gossamer.seeder.seed import identify, plant
from gossamer.web.message import decode_results

VISITS: Final = 100
"""Results per tick."""
GROWTH: Final = 40
"""New links per result while the collection grows: 4,000 per tick, the most that a tick takes."""
ALLOWANCE: Final = 250e6
JOURNALLED: Final = 50_000
"""Visits since the last segment when the crawl is killed."""
TINY: Final = 20_000
SMALL: Final = 100_000
MIDDLE: Final = 1_000_000


def settings_for(known: int, half: bool) -> Settings:
    return override(
        Settings(),
        (
            f"collection.max_pages={known * 11 // 10}",
            "collection.seal_visits=100000",
            "seeder.domains=*",
            f"seeder.pages_per_site={known if half else 25_000}",
        ),
    )


class Build:
    """A desk and its store, and the time of each step of their ticks."""

    def __init__(self, folder: Path, known: int, half: bool, sites: int = 0) -> None:
        self.folder, self.clock = folder, RealClock()
        self.settings = settings_for(known, half or sites > 0)
        self.store, self.desk, _ = open_collection(folder, self.settings, self.clock)
        self.web = MadeWeb(known, 25_000, self.desk.seed, half, sites)
        self.limits = SeederLimits.of(self.settings)
        self.steps: Counter[str] = Counter()
        self.pauses: list[tuple[float, float]] = []
        """Seconds of each tick: elapsed, CPU."""

    @property
    def known(self) -> int:
        return self.desk.columns.page.count

    def begin(self) -> None:
        """Plants home pages as seeds, and gives all sites addresses and robots.txt."""
        desk, texts = self.desk, self.web.seeds
        for i in range(0, len(texts), 4_000):
            effects = self._effects()
            plant(
                desk.columns, texts[i : i + 4_000], self.limits, desk.scope, desk.seed, desk[Rules].book.buffer, effects
            )
            effects.site_events = self.web.names(np.arange(i, min(i + 4_000, len(texts))), effects.wall)
            self._commit(effects)
        for i in range(0, len(texts), VISITS):
            sites = np.arange(i, min(i + VISITS, len(texts)), dtype=np.uint32)
            self.absorb(self.web.robots(sites, sites, self.clock.monotonic()))

    def tick(self, new: int) -> None:
        self.absorb(self.web.results(self.desk.columns, VISITS, new, self.clock.monotonic()))

    def absorb(self, bodies: list[bytes]) -> None:
        """Absorbs results as `Crawl.turn` does, without the queue."""
        desk, steps = self.desk, self.steps
        begun, at = time.perf_counter(), [time.thread_time()]
        results = decode_results(bodies)
        at.append(time.thread_time())
        effects = self._effects()
        results.visits["time"] = np.round(effects.wall - (effects.monotonic - results.visits["end"]), 6)
        mark_duplicates(desk.columns, results, desk.seed)
        at.append(time.thread_time())
        identify(desk.columns, results, self.limits, desk.seed, desk[Rules].book.buffer, effects)
        at.append(time.thread_time())
        self.store.append(effects)
        at.append(time.thread_time())
        apply(desk, effects)
        at.append(time.thread_time())
        self.store.turn()
        at.append(time.thread_time())
        self.pauses.append((time.perf_counter() - begun, at[-1] - at[0]))
        for i, name in enumerate(("decode", "duplicates", "identify", "append", "apply", "turn")):
            steps[name] += at[i + 1] - at[i]  # type: ignore[assignment]
        while self.store.behind():
            time.sleep(0.05)
            self.store.turn()

    def _effects(self) -> Effects:
        return self.desk.effects(self.clock.wall(), self.clock.monotonic())

    def _commit(self, effects: Effects) -> None:
        self.store.append(effects)
        apply(self.desk, effects)
        self.store.turn()

    def grow(self, known: int) -> None:
        while self.known < known:
            self.tick(GROWTH)
        while len(journal_files(self.store.shard)) > 1:  # wait for sealing to catch up: it would use our CPU
            self.store.turn()
            time.sleep(0.05)

    def usual(self, ticks: int) -> dict[str, float]:
        """µs of CPU time per page, by step, of usual ticks: one of 75 links is new."""
        for _ in range(5):
            self.tick(1)
        self.steps.clear()
        self.pauses.clear()
        for _ in range(ticks):
            self.tick(1)
        return {name: 1e6 * seconds / ticks / VISITS for name, seconds in self.steps.items()}

    def fill_digests(self) -> None:
        rng, digests = np.random.default_rng(2), self.desk.columns.digests
        while (missing := self.known - len(digests)) > 0:
            count = min(missing, 1 << 20)
            digests.add(rng.integers(1, 2**64, count, dtype=np.uint64), np.zeros(count, np.uint32))


def say(what: str, figure: str, bound: str = "") -> None:
    print(f"  {what:<58} {figure:>16}  {bound}", flush=True)


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def say_peak(what: str, build: Build) -> None:
    say(what, f"{(peak() - ALLOWANCE) / build.known:.1f} B per page", "bound 64")


def say_pauses(what: str, pauses: list[tuple[float, float]]) -> None:
    clock, cpu = (np.array(x) * 1e3 for x in zip(*pauses, strict=True))
    say(f"{what}: mean tick", f"{clock.mean():.1f} ms", f"CPU {cpu.mean():.1f}")
    say(f"{what}: p99.9", f"{np.quantile(clock, 0.999):.1f} ms", f"CPU {np.quantile(cpu, 0.999):.1f}")
    say(f"{what}: longest pause", f"{clock.max():.1f} ms", f"CPU {cpu.max():.1f}")


def say_memory(desk: Desk, offsets: int, known: int) -> None:
    def table(t: Table) -> int:
        return int(t.arrays.capacity.sum()) * CELL.itemsize

    columns = desk.columns
    parts = {
        "columns by page": sum(c.nbytes for c in columns.page.used().values()),
        "known-page table": table(columns.known),
        "digests": table(columns.digests),
        "offsets of URL blocks": offsets,
        "columns and tables of sites and origins": table(columns.hosts)
        + table(columns.origins)
        + sum(c.nbytes for g in (columns.site, columns.origin) for c in g.used().values()),
    }
    for name, size in parts.items():
        say(f"memory: {name}", f"{size / known:.1f} B per page")
    say("memory: other, Python and libraries included", f"{(peak() - sum(parts.values())) / 1e6:.0f} MB")


def say_plans(desk: Desk, what: str) -> None:
    manager = desk.settings.manager
    for policy in LIVE.values():
        plans = [
            make_plan(desk.columns, policy, time.time(), manager.batch_size, manager.batch_per_site) for _ in range(5)
        ]
        seconds = sorted(plan.seconds for plan in plans)
        say(f"plan, {policy.name}{what}: median of 5", f"{seconds[2]:.3f} s", f"worst {seconds[-1]:.3f}; bound 0.25")


def say_texts(build: Build) -> None:
    numbers = np.random.default_rng(3).integers(0, build.known - 64, 20_000).tolist()
    read, took = build.store.url, []
    cpu = time.thread_time()
    for number in numbers:
        start = time.perf_counter()
        read(number)
        took.append(time.perf_counter() - start)
    cpu = time.thread_time() - cpu
    say("a random URL text: median", f"{np.median(took) * 1e6:.1f} µs", "bound 20")
    say("  CPU of it, on average", f"{cpu / len(numbers) * 1e6:.1f} µs")


def say_start(what: str, folder: Path, known: int, half: bool, bound: str) -> None:
    for i in range(2 if bound else 1):
        begun = time.perf_counter()
        command = [sys.executable, "-m", "bench.start", str(folder), str(known), *(["--half"] if half else [])]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        total = time.perf_counter() - begun - found["closing"]
        if bound and found["warnings"]:
            raise SystemExit(f"not a clean start: {found['warnings']}")
        say(f"{what}{', again' if i else ''}: whole process", f"{total:.2f} s", bound)
        say(
            "  imports, opening, queue",
            f"{found['imports']:.2f}, {found['open']:.2f}, {found['queue']:.2f} s",
            f"CPU {found['cpu']:.2f}; peak {found['peak'] / 1e6:.0f} MB",
        )


def stop(build: Build) -> float:
    start = time.perf_counter()
    build.store.finish(*snapshot.dump(build.desk, build.store.ends()))
    return time.perf_counter() - start


def start_of_copy(build: Build, known: int, half: bool) -> None:
    stop(build)
    with tempfile.TemporaryDirectory() as other:
        copy = shutil.copytree(build.folder, Path(other) / "copy")
        say_start(f"start at {build.known:,} known", copy, known, half, "bound 2")


def start_after_kill(build: Build, folder: Path, known: int, half: bool) -> None:
    """Makes an image in the background, as `Imager` does after sealing; then adds visits to the journal only."""
    build.store.commit(rotate=True)
    while build.store.unsealed:
        build.store.turn()
        time.sleep(0.05)
    command = [sys.executable, "-m", "gossamer.crawler.imager", str(build.store.shard)]
    start = time.perf_counter()
    made = subprocess.run(command, input=to_json(build.settings).encode(), stdout=subprocess.PIPE, check=True)
    say("an image made while the crawl runs", f"{time.perf_counter() - start:.1f} s", "in the background")
    build.store.take_image(json.loads(made.stdout))
    before = build.desk[Account].visits
    for _ in range(min(JOURNALLED, known // 20) // VISITS):
        build.tick(1)
    build.store.commit()
    copy = shutil.copytree(build.folder, folder / "killed")
    what = f"start after a kill, {build.desk[Account].visits - before:,} visits in the journal"
    say_start(what, copy, known, half, "bound 8" if known > MIDDLE else "")
    shutil.rmtree(copy)


def sizes(build: Build) -> tuple[float, float]:
    """Bytes per known page in tables and block files without links and visits, and in the image."""
    shard, known = build.store.shard, build.known
    size = Counter({f: sum(p.stat().st_size for p in (shard / f).rglob("*")) for f in (*TABLES, "urls", "image")})
    return (size["pages"] + size["urls"]) / known, size["image"] / known


def measure(folder: Path, known: int, half: bool) -> None:
    begun = time.perf_counter()
    build = Build(folder / "crawl", known, half)
    build.begin()
    if known > MIDDLE:
        build.grow(MIDDLE)
        start_of_copy(build, known, half)
    build.grow(known)
    growing = build.pauses.copy()
    desk = build.desk
    say(
        f"built in, {desk.columns.site.count:,} sites, {desk[Account].visits:,} visits",
        f"{time.perf_counter() - begun:.0f} s",
    )
    measure_ticks(build, folder / "small")
    build.usual(min(1_000, known // 2_000))
    say_pauses("ticks of 100 results, 100 new pages", build.pauses)
    say_pauses("ticks of 100 results, 4,000 new pages", growing)
    say_plans(desk, ", one site has half" if half else "")
    measure_memory(build)
    say_texts(build)
    start_after_kill(build, folder, known, half)
    say("clean stop", f"{stop(build):.2f} s", "sealing and image")
    say_peak("  peak beyond 250 MB after it", build)
    build.store.close()
    measure_folder(build, known, half)
    if not half:
        desk.columns.page.origin[: build.known : 2] = 0
        say_plans(desk, ", as if one site had half")


def measure_ticks(build: Build, folder: Path) -> None:
    """Alternates with a small collection, so that other load on the machine affects both alike."""
    small = Build(folder, 2 * SMALL, False)
    small.begin()
    small.grow(SMALL)
    rounds = [(small.usual(30), build.usual(30)) for _ in range(7)]
    small.store.close()
    cost = [[sum(page.values()) for page in pages] for pages in zip(*rounds, strict=True)]
    for name, i, known in (("small", 0, small.known), ("large", 1, build.known)):
        middle = sorted((pages[i] for pages in rounds), key=lambda page: sum(page.values()))[3]
        steps = ", ".join(f"{step} {µs:.0f}" for step, µs in middle.items())
        say(f"absorbing a page, {name}: {known:,} known", f"{sum(middle.values()):.1f} µs", f"{steps}; bound 200")
    say("  large compared with small, median of 7", f"{np.median(np.divide(cost[1], cost[0])):.2f}")


def measure_memory(build: Build) -> None:
    say_peak("memory: peak beyond 250 MB", build)
    build.fill_digests()
    say_peak("  the same, as if every page had been fetched", build)
    say_memory(build.desk, build.store.ends()["url"][0].nbytes, build.known)


def measure_folder(build: Build, known: int, half: bool) -> None:
    of_tables, of_image = sizes(build)
    say("disk: pages table and URL text", f"{of_tables:.1f} B per page", "aim 45")
    say("disk: image", f"{of_image:.1f} B per page")
    bound = "bound 8" if known > MIDDLE else "bound 2"
    say_start(f"start at {build.known:,} known", build.folder, known, half, bound)
    shutil.rmtree(build.store.shard / "image")
    say_start("start without an image, as after a kill", build.folder, known, half, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("known", nargs="?", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--half", action="store_true")
    given = parser.parse_args()
    print(f"{given.known:,} known pages{', one site has half' if given.half else ''}; load {os.getloadavg()[0]:.1f}")
    if given.known > TINY:  # fills numba's cache first, as compiling takes memory
        subprocess.run([sys.executable, "-m", "bench.scale", str(TINY)], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.known, given.half)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
