"""`gossamer report` and `gossamer audit` as whole processes.

    python -m bench.report [large|demo|site …] [--visits N]

large  a collection that is made, journalled and sealed as by a crawl: for each visit ten known pages and thirty links.
       Bounds at 10^6 visits: 90 s and 3 GB for the report
demo   a crawl of the whole demonstration Web: its report in 10 s
site   a crawl of a site of 400 pages: its audit in 2 s

Times are elapsed, those of the processor beside them; memory is the peak of the process.
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
from typing import Final, NamedTuple

from bench.bounds import Figure, judge
from bench.sql import make
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import serve

FOUND: Final = 10
LINKS: Final = 30
SECONDS: Final = 90.0
GIGABYTES: Final = 3.0
DEMO: Final = 10.0
SITE: Final = 2.0
PAGES: Final = 400


class Took(NamedTuple):
    """What a command took."""

    seconds: float
    processor: float
    gigabytes: float
    """The most that any command took so far."""

    def figure(self, name: str, bound: float) -> Figure:
        return Figure(name, self.seconds, "s", bound, aside=f"{self.processor:.2f} s of processor time")


def run(*arguments: str | Path) -> Took:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    start, before = time.perf_counter(), _used()
    command = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    seconds = time.perf_counter() - start
    return Took(seconds, _used() - before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9)


def _used() -> float:
    """Processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def large(place: Path, visits: int) -> Iterator[Figure]:
    folder, start = place / "made", time.perf_counter()
    make(folder, visits, found=FOUND, links=LINKS)
    print(f"made {visits:,} visits in {time.perf_counter() - start:.0f} s", flush=True)
    took = run("report", folder, "--out", place / "report")
    yield took.figure("report", SECONDS * max(visits / 1e6, 0.2))
    yield Figure("peak memory", took.gigabytes, "GB", GIGABYTES)


def demo(place: Path, _: int) -> Iterator[Figure]:
    took = run("report", _crawled(place, DemoWeb()), "--out", place / "demo-report")
    yield took.figure("report of the demonstration Web", DEMO)


def site(place: Path, _: int) -> Iterator[Figure]:
    took = run(
        "audit",
        _crawled(place, DemoWeb(sites=1, pages=PAGES, busy=0, torn=0, errors=0, slow=0, delays=0)),
        "--out",
        place / "audit",
    )
    yield took.figure(f"audit of a site of {PAGES} pages", SITE)


def _crawled(place: Path, web: DemoWeb) -> Path:
    folder = Path(tempfile.mkdtemp(dir=place))
    with serve(web, folder) as served:
        ended = served.crawl(folder / "crawl")
        assert ended.code == 0, ended.errors
    return folder / "crawl"


PARTS: Final = {"large": large, "demo": demo, "site": site}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--visits", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        judge(figure for part in given.parts for figure in PARTS[part](Path(place), given.visits))


if __name__ == "__main__":
    main()
