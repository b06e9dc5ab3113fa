"""CPU of all processes for a page of about 25 KB and 75 links, all features on, over loopback HTTP.

    python -m bench.page_cost [PAGES] [--profile FILE]

The demonstration Web in its bulk form serves the pages; its own CPU time is not counted. A missed bound ends it with a
nonzero exit code.
"""

from __future__ import annotations

import cProfile
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest
from gossamer.observe.statistics import Statistics
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

A_PAGE: Final = 2.0
OF_THE_DESK: Final = 0.2
"""Bounds in ms of CPU time per page."""


class Quiet:
    """Keeps the statistics of the moment when a third of the pages were fetched: from there on everything is warm."""

    def __init__(self, pages: int) -> None:
        self.third = pages // 3
        self.then: Statistics | None = None

    def due(self) -> bool:
        return self.then is None

    def show(self, statistics: Statistics) -> None:
        if statistics.requests.visits >= self.third:
            self.then = statistics

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 12_000
    web = DemoWeb(bulk=True, sites=400, pages=4 * pages, largest=pages)
    quiet = Quiet(pages)
    with tempfile.TemporaryDirectory() as folder:
        changes = ("harvester.wait=100ms", "harvester.wait_large=100ms", "harvester.address_wait=10ms")
        plea = CrawlRequest(
            Path(folder) / "crawl", serve=partial(served, web), changes=changes, pages=pages, patience=5.0
        )
        if "--profile" in sys.argv:
            profile = cProfile.Profile(time.thread_time)
            report = profile.runcall(run, plea, quiet)
            profile.dump_stats(sys.argv[sys.argv.index("--profile") + 1])
        else:
            report = run(plea, quiet)
    end, crawling, then = report.statistics, report.crawling, quiet.then
    assert then is not None
    visits, seconds = crawling.run.visits - then.run.visits, crawling.run.seconds - then.run.seconds
    size = (crawling.requests.bytes - then.requests.bytes) / visits
    print(f"pages {visits}, {size / 1000:.1f} KB each on the wire, {end.pages.known} known")
    print(f"{visits / seconds:.0f} pages/s on this machine, server included")
    print(f"the loop's longest turn: {1000 * crawling.run.resources.longest_turn:.0f} ms")
    print(f"with start, sealing and image: {1000 * end.run.resources.cpu_seconds / end.run.visits:.2f} ms")
    judge(costs(then, crawling))


def costs(then: Statistics, end: Statistics) -> Iterator[Figure]:
    """Between two moments of a run."""
    visits, before, after = end.run.visits - then.run.visits, then.run.resources, end.run.resources
    yield Figure("CPU a page", 1000 * (after.cpu_seconds - before.cpu_seconds) / visits, "ms", A_PAGE)
    yield Figure("of it the desk", 1000 * (after.desk_seconds - before.desk_seconds) / visits, "ms", OF_THE_DESK)


if __name__ == "__main__":
    main()
