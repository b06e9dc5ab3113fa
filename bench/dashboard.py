"""What the dashboard costs: the crawl that it looks at, whoever waits for its answers, and memory.

    python -m bench.dashboard [--pages N] [--sites N] [--rounds N]

The demonstration Web is crawled in turns with a dashboard that is open in one browser's place (a client that reads its
live figures) and without one: medians of the CPU that the crawl uses for a page. Then a collection of many sites is
made, and its table of sites and its overview are asked for: the first time, when the tables are read, and later. The
CPU of the Web and of the server does not count as the crawl's. A missed bound ends it with a nonzero exit code.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final
from urllib.request import urlopen

from bench.bounds import Figure, judge
from bench.page_cost import Quiet, costs
from bench.scale import Build, stop
from gossamer.collection.layout import SETTINGS, is_collection, shard_folder
from gossamer.collection.runs import STANDING, write_status
from gossamer.config import dump
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest
from gossamer.observe.measure import statistics_of
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

MORE: Final = 2.0
"""Per cent of CPU a page that an open dashboard may add."""
SITES, OVERVIEW, MEMORY = 0.2, 0.05, 150.0
"""Seconds, seconds, and MB."""


def crawl(folder: Path, pages: int) -> None:
    """Crawls, and prints ms of CPU a page."""
    web, quiet = DemoWeb(bulk=True, sites=400, pages=4 * pages, largest=pages), Quiet(pages)
    changes = ("harvester.wait=100ms", "harvester.wait_large=100ms", "harvester.address_wait=10ms")
    report = run(CrawlRequest(folder, serve=partial(served, web), changes=changes, pages=pages, patience=5.0), quiet)
    assert quiet.then is not None
    print(json.dumps([figure.value for figure in costs(quiet.then, report.crawling)]))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """A dashboard of the collection: its address, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "gossamer", "serve", str(folder), "--port", str(port)]
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"XDG_CONFIG_HOME": home}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            wait(lambda: _answers(port))
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def wait(until: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not until():  # type: ignore[operator]
        if time.monotonic() > end:
            raise SystemExit("it does not begin")
        time.sleep(0.05)


def watched(folder: Path, pages: int, looked_at: bool) -> tuple[float, int]:
    """ms of CPU a page of a crawl, and how many times its dashboard told something."""
    command = [sys.executable, "-m", "bench.dashboard", "--crawl", str(folder), "--pages", str(pages)]
    crawling = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told = 0
    if looked_at:
        wait(lambda: is_collection(folder) and (shard_folder(folder) / STANDING).exists())
        with serving(folder) as (address, _):
            reading = urlopen(f"{address}/c/{folder.name}/live?page=", timeout=60)

            def read() -> None:
                nonlocal told
                for line in reading:
                    told += line.startswith(b"data:")

            threading.Thread(target=read, daemon=True).start()
            out = crawling.communicate()[0]
    else:
        out = crawling.communicate()[0]
    return float(json.loads(out.splitlines()[-1])[0]), told


def of_the_crawl(folder: Path, pages: int, rounds: int) -> Figure:
    found: dict[bool, list[float]] = {False: [], True: []}
    told = 0
    for number in range(rounds):
        for looked_at in (False, True):
            cost, times = watched(folder / f"crawl-{number}-{looked_at}", pages, looked_at)
            found[looked_at].append(cost)
            told += times
    without, with_ = median(found[False]), median(found[True])
    aside = f"{without:.3f} and {with_:.3f} ms, medians of {rounds}; {told} live updates"
    return Figure("CPU a page with a dashboard open", 100 * (with_ / without - 1), "% more", MORE, aside=aside)


def timed(url: str) -> float:
    start = time.perf_counter()
    with urlopen(url, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - start


def of_answers(folder: Path, sites: int) -> Iterator[Figure]:
    build = Build(folder / "many", 4 * sites, False, sites)
    (folder / "many" / SETTINGS).write_text(dump(build.settings))
    build.begin()
    stop(build)
    write_status(build.store.shard, statistics_of(build.desk, build.clock.wall()).to_json())
    build.store.close()
    with serving(folder / "many") as (address, pid):
        at = f"{address}/c/many"
        first = timed(f"{at}/sites")
        later = [
            timed(f"{at}/sites?sort={sort}&q={part}") for sort in ("pages", "errors", "name") for part in ("", "1")
        ]
        over = [timed(f"{at}/") for _ in range(20)]
        for path in ("frontier", "pages", "changes", "orders"):
            timed(f"{at}/{path}")
        yield Figure(f"a table of {sites:,} sites", max(later), "s", SITES, aside=f"the first time {first:.2f} s")
        yield Figure("an overview", max(over[1:]), "s", OVERVIEW, aside=f"the first time {over[0]:.3f} s")
        status = Path(f"/proc/{pid}/status").read_text()
        yield Figure("memory of the server", int(status.partition("VmRSS:")[2].split()[0]) / 1000, "MB", MEMORY)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crawl", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crawl is not None:
        crawl(given.crawl, given.pages)
        return
    with tempfile.TemporaryDirectory() as folder:
        judge([*of_answers(Path(folder), given.sites), of_the_crawl(Path(folder), given.pages, given.rounds)])


if __name__ == "__main__":
    main()
