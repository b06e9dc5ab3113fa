"""Crawls with limited bandwidth, one after another over the same pages of the same servers, and their measurements.

They are ordinary crawls (`run`): desk, a worker, archive, politeness. A first crawl, without a limit, requests
robots.txt and a page from every server, so that there is an estimate of each. All others start from a copy of its
collection and get the same queue: the pages of all servers, shuffled once, more than any run can fetch. Waits are
short, so only the bandwidth holds requests back.

Received bytes are counted at the worker's sockets (`web/limit/bucket.py`), and sampled every 10 ms by a thread of this
process.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Array, Bools
from gossamer.base.ending import Ending
from gossamer.base.errors import GossamerError
from gossamer.crawler.loop import Crawl
from gossamer.crawler.run import CrawlRequest
from gossamer.harvester.bandwidth.admission import Admission, Search
from gossamer.laboratory.bench import Show
from gossamer.laboratory.reproduce.crawls import crawl
from gossamer.laboratory.reproduce.servers import DOMAIN, SITES, address, host, served
from gossamer.observe.statistics import Statistics

SAMPLE: Final = 0.01
MEASURE: Final = 1.0
"""Seconds between measurements of `Fetchers`."""
SETTLE: Final = 8.0
"""Seconds between the first byte and the first that counts, needed by fetchers that are started one per second."""
IN_VAIN: Final = 60.0
"""Seconds after which a crawl that has received nothing is ended."""
PAGES: Final = 30
"""Pages per server: more than three times what can be received within the limit in a minute."""
_SETTINGS: Final = (
    "harvester.wait=100ms",
    "harvester.wait_large=100ms",
    "harvester.address_wait=0s",
    "harvester.allow_private=true",
    "harvester.workers=1",
    "harvester.soft_404=false",
    "seeder.sitemaps=false",
    "seeder.ports=*",
    f"seeder.domains={DOMAIN}",
    "collection.max_pages=50000",
    "collection.max_sites=1000",
    "manager.policy=breadth-first",
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to keep the limit."""

    label: str
    changes: tuple[str, ...] = ()
    by_fetchers: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """The measurements of one crawl within the time that counts, which begins at 0."""

    times: F64
    """Times of the samples."""
    read: F64
    """Bytes received so far."""
    predicted: F64
    """Bytes per second."""
    inversions: int
    pages: int
    """Pages of the whole run."""
    left: int
    """Pages of the queue that were not requested by the end."""

    @property
    def seconds(self) -> int:
        return int(self.times[-1] + 0.5)

    def measured_by_second(self) -> F64:
        at = np.arange(self.seconds + 1, dtype=np.float64)
        found: F64 = np.diff(np.interp(at, self.times, self.read))
        return found

    def predicted_by_second(self) -> F64:
        """Predicted bandwidth: the mean of each second."""
        second = np.clip(self.times, 0, self.seconds - 1e-6).astype(np.int64)
        counts = np.bincount(second, minlength=self.seconds)
        found: F64 = np.bincount(second, self.predicted, minlength=self.seconds) / np.maximum(counts, 1)
        return found

    @property
    def mean(self) -> float:
        return float((self.read[-1] - self.read[0]) / (self.times[-1] - self.times[0]))

    def most(self, window: float = 1.0) -> float:
        """Bytes per second in the fullest window, wherever it begins."""
        begin = self.times[self.times <= max(0.0, self.times[-1] - window)]
        end = np.minimum(begin + window, self.times[-1])
        return float((np.interp(end, self.times, self.read) - np.interp(begin, self.times, self.read)).max() / window)


def queue_of(sites: int, pages: int = PAGES) -> tuple[str, ...]:
    """The predefined queue, the same for every run."""
    all_of_them = [f"http://{host(site)}/{page}" for site in range(sites) for page in range(pages)]
    random.Random(3).shuffle(all_of_them)
    return tuple(all_of_them)


@contextmanager
def warmed(show: Show, sites: int = SITES, hurry: float = 1.0) -> Iterator[Callable[..., Ran]]:
    """Runs servers, `hurry` times as fast as usual, and makes a collection with an estimate of each server. Yields a
    function that crawls."""
    with served(sites, hurry) as port, tempfile.TemporaryDirectory(prefix="gossamer-") as place:
        folder = Path(place)
        resolve = ", ".join(f'"{host(site)}" = "{address(site)}:{port}"' for site in range(sites))
        settings = (*_SETTINGS, f'harvester.resolve={{ {resolve}, "*.{DOMAIN}" = "none" }}')
        pages = tuple(f"http://{host(site)}/first" for site in range(sites))
        first = CrawlRequest(folder / "first", pages, changes=settings, patience=2.0)
        crawl(first, show, "requesting every server once")

        def crawled(way: Way, limit: int, seconds: float, settle: float = SETTLE) -> Ran:
            begun = folder / "crawl"
            shutil.copytree(folder / "first", begun, ignore=shutil.ignore_patterns("lock", "*.sock"))
            try:
                plea = CrawlRequest(begun, queue_of(sites), changes=(*way.changes, f"harvester.bandwidth={limit}B/s"))
                return _watched(plea, way, seconds, settle, show)
            finally:
                shutil.rmtree(begun)

        yield crawled


def _watched(plea: CrawlRequest, way: Way, seconds: float, settle: float, show: Show) -> Ran:
    sampler: list[_Sampler] = []

    def begin(live: Crawl) -> None:
        if way.by_fetchers:
            live.harvest.admit_by(Fetchers(live.desk.columns.site.limit))
        sampler.append(_Sampler(live, settle + seconds))
        sampler[0].start()

    try:
        statistics = crawl(plea, show, way.label, begin, lambda: sampler[0].part)
    finally:
        for each in sampler:
            each.end()
    return sampler[0].ran(settle, statistics, way)


class _Sampler(threading.Thread):
    """Samples the received bytes and the prediction, and ends the crawl after the given time."""

    def __init__(self, crawl: Crawl, seconds: float) -> None:
        super().__init__(daemon=True)
        self._crawl, self._seconds, self._over = crawl, seconds, threading.Event()
        self._rows: list[tuple[float, int, int, int]] = []
        self._first: float | None = None
        self._error: Exception | None = None

    @property
    def part(self) -> float:
        return 0.0 if self._first is None else min(1.0, (time.monotonic() - self._first) / self._seconds)

    def run(self) -> None:
        try:
            until = time.monotonic() + IN_VAIN
            while not self._over.wait(SAMPLE) and self.part < 1 and (self._first or time.monotonic() < until):
                self._sample()
        except Exception as error:  # raised again by `ran`, in the thread that waits for the crawl
            self._error = error
        self._crawl.stop = Ending.STOPPED

    def _sample(self) -> None:
        use, now, read = self._crawl.harvest.bandwidth_use(), time.monotonic(), self._crawl.web.received()
        assert use is not None
        if self._first is None and read:
            self._first = now
        self._rows.append((now, read, use.predicted, use.inversions))

    def end(self) -> None:
        self._over.set()
        self.join()

    def ran(self, settle: float, statistics: Statistics, way: Way) -> Ran:
        if self._error is not None:
            raise self._error
        rows = np.array(self._rows, np.float64).reshape(-1, 4)
        since = (self._first or 0.0) + settle
        rows = rows[rows[:, 0] >= since - SAMPLE]
        if self._first is None or len(rows) < 2:
            ending = "" if statistics.ended is None else statistics.ended.ending
            raise GossamerError(
                f"the crawl ended before anything was measured ({way.label}): {ending}",
                "Run it again; `gossamer crawl DIR --demo` shows whether crawls work on this machine.",
            )
        inversions, visits, left = int(rows[-1, 3] - rows[0, 3]), statistics.run.visits, statistics.pages.pending
        return Ran(rows[:, 0] - since, rows[:, 1], rows[:, 2], inversions, visits, left)


class Fetchers(Admission):
    """A limit by starting and stopping fetchers, the method that 003 compares with (its figure 3, after PolyBot).

    "Stopping a fetcher when the actual bandwidth is above the limit and starting a new one when it is below." 003 says
    no more; our reading: the total is measured every second, as in 003's plots, and one fetcher is started or stopped
    after each measurement. A stopped fetcher completes its page first: to abort it would waste what was sent, and be
    rude. It replaces `Admission` in a crawl and overrides only its public methods. It ignores predictions; `predicted`
    is still their sum, to be drawn next to the measured bandwidth.
    """

    def __init__(self, sites: int) -> None:
        super().__init__(sites, adapts=False, enforced=False)
        self.active = 1
        """Most fetchers that may work at a time."""
        self._at_work: set[int] = set()
        """Sites with an open request, one fetcher each."""
        self._since: tuple[float, int] | None = None

    @property
    def busy(self) -> int:
        return len(self._at_work)

    @property
    def full(self) -> bool:
        return self.busy >= self.active

    def search(self, now: float) -> Search:
        return _Turn(self, now)

    def open(self, site: int, predicted: int) -> None:
        self._at_work.add(site)
        super().open(site, predicted)

    def close(self, sites: Array) -> None:
        self._at_work.difference_update(sites.tolist())
        super().close(sites)

    def observe(self, read: int, now: float) -> float | None:
        if self._since is None:
            self._since = now, read
        since, before = self._since
        if now - since < MEASURE:
            return None
        self._since = now, read
        measured = (read - before) / (now - since)
        if measured > self.limit:
            self.active = max(1, self.active - 1)
        elif self.full:
            self.active += 1
        return measured


class _Turn(Search):
    """Starts the next pages of the queue, as many as there are free fetchers."""

    def __init__(self, fetchers: Fetchers, now: float) -> None:
        super().__init__(fetchers, now)
        self._fetchers = fetchers

    @property
    def width(self) -> int:
        return max(0, self._fetchers.active - self._fetchers.busy)

    def offer(self, sites: U32, predicted: F64) -> tuple[Bools, I64]:
        for site, speed in zip(sites.tolist(), predicted.tolist(), strict=True):
            self._fetchers.open(site, max(1, int(speed)))
        return np.ones(len(sites), np.bool_), np.zeros(len(sites), np.int64)
