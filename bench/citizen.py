"""A good citizen: no rule of politeness is broken, whatever the servers do and whenever the crawl is killed.

    python -m bench.citizen            10^5 requests over real sockets, with twenty restarts by `kill -9`, then
                                       10^6 requests of the whole desk in a simulated Web
    python -m bench.citizen sockets    only one of the two
    python -m bench.citizen simulated

Both Webs sometimes answer 429, 503 and 402, with Retry-After in seconds and as a date; their robots.txt files change,
fail, move and ask for a Crawl-delay; sites share addresses. Only the verdict of `gossamer check` on the server's log
counts. Over sockets waits are scaled down, so that it takes minutes.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from bench.mixed import AGENT, MixedWeb
from gossamer import urls
from gossamer.base.clock import VirtualClock
from gossamer.collection.runs import runs
from gossamer.config import Settings, load, override
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.new_settings import settle
from gossamer.crawler.open import open_collection
from gossamer.webs import checker
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.access import AccessLog, LoggedRequest
from gossamer.webs.demo.moods import NO_ANSWER
from gossamer.webs.simulated import Asked, SimulatedNames, SimulatedWeb
from tests.support.crawling import Crawling, Served, children, kill, serve
from tests.support.world import at_processor_speed, seal_here

REQUESTS, SIMULATED, RESTARTS = 100_000, 1_000_000, 20
LONGEST: Final = 2_700.0
"""Seconds after which the crawl over sockets is aborted."""
LOST: Final = 3.0
"""Seconds before a kill whose answers may be lost: a commit every second, with time for it on a busy machine."""
AFTERLIFE: Final = 1.0
"""Seconds after a kill in which a busy server may read requests sent before: 0.3 was observed. A start takes longer."""
WEB: Final = DemoWeb(
    seed=5,
    sites=500,
    pages=130_000,
    largest=400,
    moody=50,
    changing=50,
    failing=50,
    delays=50,
    shared=40,
    slow=20,
    latency=0.5,
    errors=0.003,
    busy=0.002,
    silent=0,
    unavailable=10,
    mood=12.0,
)
WAITS: Final = (
    "harvester.wait=300ms",
    "harvester.wait_large=300ms",
    "harvester.address_wait=50ms",
    "harvester.retry=8s",
    "harvester.robots_valid=45s",
    "harvester.tries=50",
    "harvester.contact=citizen@gossamer.test",
    "collection.max_pages=400000",
)
SETTINGS: Final = (
    "collection.max_pages=3000000",
    "collection.max_sites=20000",
    "harvester.robots_valid=5min",
    "harvester.retry=5min",
    "harvester.tries=50",
    "seeder.domains=example",
    "seeder.depth_static=60",
)


@dataclass
class Proof:
    """The evidence of a log."""

    report: checker.PolitenessReport
    restarts: int
    seconds: float
    judged: float
    """Seconds that `gossamer check` took."""
    statuses: Counter[int] = field(default_factory=Counter)
    asked_to_wait: int = 0
    robots: Counter[int] = field(default_factory=Counter)

    @staticmethod
    def of(
        log: Path,
        settings: Settings,
        robots_of: checker.RobotsOf,
        kills: Sequence[float],
        restarts: int,
        seconds: float,
    ) -> Proof:
        found = Proof(checker.PolitenessReport(0, 0, 0), restarts, seconds, 0.0)
        began = time.monotonic()
        requests = found._counted(checker.read(log))
        found.report = checker.check(requests, settings, robots_of, kills, lost=LOST, afterlife=AFTERLIFE)
        found.judged = time.monotonic() - began
        return found

    def _counted(self, requests: Iterator[checker.Request]) -> Iterator[checker.Request]:
        for request in requests:
            (self.robots if request.is_robots else self.statuses)[request.status] += 1
            self.asked_to_wait += request.retry_after is not None
            yield request

    def show(self, name: str) -> None:
        print(f"{name}: {self.report.verdict}")
        print(f"  {self.restarts} restarts by kill -9; {self.asked_to_wait:,} answers with Retry-After")
        print(f"  pages by status: {_told(self.statuses)}\n  robots.txt by status: {_told(self.robots)}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  {self.seconds:.0f} s, checked in {self.judged:.0f} s, at most {memory:.0f} MB here", flush=True)
        for violation in (*self.report.violations[:5], *self.report.worst.values()):
            print(f"  {violation}")

    def figures(self, name: str, requests: int, restarts: int) -> list[Figure]:
        return [
            Figure(f"{name}: violations", self.report.total, "", 0),
            Figure(f"{name}: requests", self.report.requests, "", requests, at_least=True),
            Figure(f"{name}: restarts by kill -9", self.restarts, "", restarts, at_least=True),
        ]


def _told(counts: Counter[int]) -> str:
    return ", ".join(f"{n:,} x {status}" for status, n in sorted(counts.items()))


# --- over sockets


def sockets(folder: Path, requests: int, restarts: int, web: DemoWeb, *changes: str, seed: int = 1) -> Proof:
    """Crawls until the server has seen `requests` requests, and kills the crawl `restarts` times."""
    rng, began = random.Random(seed), time.monotonic()
    stops = sorted(rng.uniform(0.01, 0.99) * requests for _ in range(restarts))
    with serve(web, folder, *WAITS, *changes) as served:
        story = _Story(served, rng, began + LONGEST)
        for stop in stops:
            story.run(int(stop))
        if story.count() < requests:
            story.run(requests, last=True)
        served.running.stop()
    _keep(folder, story.kills)
    robots_of = checker.robots_of_web(served.running.web)
    return Proof.of(served.log, load(served.config), robots_of, story.kills, len(stops), time.monotonic() - began)


@dataclass
class _Story:
    served: Served
    rng: random.Random
    deadline: float
    kills: list[float] = field(default_factory=list)
    lines: int = 0
    _at: int = 0

    def run(self, stop: int, last: bool = False) -> None:
        """Waits until the log has so many lines; then kills the desk, alone or with all of its processes."""
        with self.served.begin(self.served.log.parent / "crawl", "--patience", "60s") as crawling:
            self._until(crawling, (self.lines + stop) // 2)
            if workers := crawling.workers():
                self.kills.append(time.monotonic())
                kill(self.rng.choice(workers))
            self._until(crawling, stop)
            if last:
                crawling.wait_for(self.served.has_grown())
                crawling.signal(signal.SIGTERM)
                ended = crawling.ended()
                if ended.code:
                    raise SystemExit(f"the crawl failed: {ended.errors}")
                return
            crawling.wait_for(crawling.workers)
            time.sleep(self.rng.uniform(0.0, 1.5))
            self._kill(crawling)

    def _kill(self, crawling: Crawling) -> None:
        victims = [crawling.pid]
        if self.rng.random() < 0.5:
            victims += children(crawling.pid)
            self.rng.shuffle(victims)
        self.kills.append(time.monotonic())
        for pid in victims:
            kill(pid)
        crawling.process.wait()

    def _until(self, crawling: Crawling, lines: int) -> None:
        while self.count() < lines:
            if crawling.over:
                raise SystemExit(f"the crawl ended after {self.lines:,} requests: {crawling.ended().errors}")
            if time.monotonic() > self.deadline:
                raise SystemExit(f"only {self.lines:,} requests in {LONGEST:.0f} s")
            time.sleep(0.05)

    def count(self) -> int:
        with self.served.log.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        self.lines += data.count(b"\n")
        return self.lines


# --- simulated


class _Killed(Exception):
    pass


class _Log(list[Asked]):
    """Writes the requests to the simulated Web to an access log instead of keeping them."""

    def __init__(self, path: Path) -> None:
        self.file, self.requests, self.stop = AccessLog(path, DemoWeb()), 0, 0

    def append(self, asked: Asked) -> None:
        host = urls.host(asked.url)
        retry = f"{asked.retry_after:g}" if asked.retry_after >= 0 else ""
        target, wall = asked.url[asked.url.index(host) + len(host) :], asked.start + 1e9
        logged = LoggedRequest(asked.start, wall, asked.address, 0, host, "GET", target, "", f"{AGENT}/0")
        self.file.add(logged, asked.end, asked.status or NO_ANSWER, 0, retry, asked.redirect)
        self.requests += 1
        if self.requests % 1_000 == 0:
            self.file.flush()

    def watch(self) -> None:
        if self.requests >= self.stop:
            raise _Killed


def simulated(folder: Path, requests: int, restarts: int, web: MixedWeb, *changes: str, seed: int = 1) -> Proof:
    """Runs the whole desk under a virtual clock and kills it `restarts` times: uncommitted work is lost."""
    rng, began, clock = random.Random(seed), time.monotonic(), VirtualClock()
    settings = override(Settings(), (*SETTINGS, *changes))
    log, kills = _Log(folder / "access.log"), list[float]()
    for stop in (*sorted(rng.randrange(requests) for _ in range(restarts)), requests):
        log.stop = stop
        _run(folder / "crawl", settings, web, clock, log)
        kills.append(clock.monotonic())
        clock.advance(rng.uniform(0.1, 30.0))
    log.file.close()
    _keep(folder, kills)
    seconds = time.monotonic() - began
    return Proof.of(folder / "access.log", settings, lambda r: web.robots(r.host, r.start), kills, restarts, seconds)


@at_processor_speed()
def _run(folder: Path, settings: Settings, web: MixedWeb, clock: VirtualClock, log: _Log) -> None:
    store, desk, resumed = open_collection(folder, settings, clock, sealer=seal_here)
    try:
        served = SimulatedWeb(lambda url: web.reply(url, clock.monotonic()), clock, desk.seed, asked=log, gather=0.2)
        crawl = Crawl(desk, store, served, SimulatedNames(web.address), clock, Bounds(patience=3 * 3_600.0))
        if resumed:
            settle(crawl, runs(store.shard)[-1]["differences"])
            crawl.harvest.resume(0.0)
        crawl.plant(web.seeds)
        try:
            crawl.run(log.watch)
        except _Killed:
            crawl.planner.close()
    finally:
        store.close()


def _keep(folder: Path, kills: Sequence[float]) -> None:
    """Writes the times of the kills next to the log, for a later check."""
    (folder / "kills").write_text("".join(f"{at:.6f}\n" for at in kills))


@contextmanager
def _folder(keep: Path | None, name: str) -> Iterator[Path]:
    """A new folder, removed at the end unless it is to be kept."""
    if keep is not None:
        (keep / name).mkdir(parents=True)
        yield keep / name
        return
    with tempfile.TemporaryDirectory(prefix="citizen-") as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("which", nargs="?", choices=["sockets", "simulated"])
    parser.add_argument("--requests", type=int, help="instead of 10^5 or 10^6")
    parser.add_argument("--restarts", type=int, default=RESTARTS)
    parser.add_argument("--keep", type=Path, help="folder for the collection, the log and the times of the kills")
    parser.add_argument("--set", action="append", default=[], help="a setting of the crawl: harvester.wait_factor=10")
    asked = parser.parse_args()
    figures = []
    if asked.which != "simulated":
        requests = asked.requests or REQUESTS
        with _folder(asked.keep, "sockets") as folder:
            proof = sockets(folder, requests, asked.restarts, WEB, *asked.set)
        proof.show("over sockets")
        figures += proof.figures("over sockets", requests, asked.restarts)
    if asked.which != "sockets":
        requests = asked.requests or SIMULATED
        web = MixedWeb(sites=8_000, pages=max(50, 2 * requests // 8_000), mood=150.0)
        with _folder(asked.keep, "simulated") as folder:
            proof = simulated(folder, requests, asked.restarts, web, *asked.set)
        proof.show("simulated")
        figures += proof.figures("simulated", requests, asked.restarts)
    judge(figures)


if __name__ == "__main__":
    main()
