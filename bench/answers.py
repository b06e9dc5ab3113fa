"""How fast the commands answer that people wait for, as whole processes: `python -m bench.answers [--visits N]`

Measured on a collection of 10^6 visits and 2·10^6 known pages (see `bench.sql`), crawled for a moment and stopped
cleanly, as it is between two runs: with its image, its scores and the file for `status`. The best of several runs
counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from bench.sql import QUERIES, SITES, make
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest
from gossamer.observe.statistics import Statistics

SQL: Final = 1.0
EXPLAIN: Final = 0.5
STATUS: Final = 0.5
HELP: Final = 0.5
"""Bounds in seconds."""
RUNS: Final = 5


class Quiet:
    def due(self) -> bool:
        return False

    def show(self, statistics: Statistics) -> None:
        pass

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


def stop_cleanly(folder: Path) -> None:
    """A run in which nothing can be requested: no name has an address."""
    nowhere = ('harvester.resolve={"*" = "none"}', "harvester.contact=bench@example.org", "harvester.workers=1")
    run(CrawlRequest(folder, changes=nowhere, seconds=1.0, patience=1.0), Quiet())


def timed(name: str, bound: float, *arguments: str | Path) -> Figure:
    """Times the whole process; the best of several runs."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command, spent = [sys.executable, "-m", "gossamer", *map(str, arguments)], []
    for _ in range(RUNS):
        start, before = time.perf_counter(), _processor()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        spent.append((time.perf_counter() - start, _processor() - before))
    by_the_clock, processor = map(min, zip(*spent, strict=True))
    return Figure(name, by_the_clock, "s", bound, aside=f"{processor:.2f} s of CPU time")


def _processor() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def url_of(page: int) -> str:
    return f"http://site{page % SITES}.example/section/page-{page}"


def measure(folder: Path, visits: int) -> Iterator[Figure]:
    url = url_of(visits // 2)
    yield timed("sql: visits by outcome", SQL, "sql", folder, QUERIES["outcomes"])
    yield timed("explain: a fetched page", EXPLAIN, "explain", folder, url)
    yield timed("explain: an unknown page", EXPLAIN, "explain", folder, url + "x")
    yield timed("explain: a site", EXPLAIN, "explain", folder, "site7.example")
    yield timed("status", STATUS, "status", folder)
    yield timed("--help", HELP, "--help")
    yield timed("crawl --help", HELP, "crawl", "--help")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1_000_000)
    visits = parser.parse_args().visits
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), visits)
        stop_cleanly(Path(folder))
        judge(measure(Path(folder), visits))


if __name__ == "__main__":
    main()
