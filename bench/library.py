"""What Python programs wait for: `python -m bench.library [--visits N] [--pages N]`

Reads the titles of all stored pages of a made collection (bounds for 10^6: 10 s, and memory that does not grow with
them), bodies of pages in no order, from an archive of pages of 25 KB (2 ms each), and by their URLs, from a crawl of
the demonstration Web. Times are elapsed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import gossamer
from bench.bounds import Figure, judge
from bench.sql import make
from bench.verify import Maker

TITLES: Final = 10.0
BODY: Final = 2.0
IMPORTED: Final = 0.15
GIGABYTES: Final = 1.5
PROGRAM: Final = """
import resource, sys, time
import gossamer
start = time.perf_counter()
count = sum(1 for page in gossamer.open(sys.argv[1]) if page.title is not None)
print(count, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)
"""


def titles(folder: Path) -> tuple[int, float, float]:
    """Pages, seconds, and peak memory in GB."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], check=True, capture_output=True, text=True)
    count, seconds, memory = done.stdout.split()
    return int(count), float(seconds), float(memory)


def bodies(folder: Path) -> float:
    """Milliseconds to read the body of a page, in no order."""
    pages = list(gossamer.open(folder))
    random.Random(1).shuffle(pages)
    start = time.perf_counter()
    assert all(page.body for page in pages)
    return 1000 * (time.perf_counter() - start) / len(pages)


def by_url(folder: Path) -> float:
    """Milliseconds to read the body of a page by its URL, in no order, of a crawl of the demonstration Web."""
    settings = {"harvester.workers": 1}
    web = gossamer.crawl(demo=True, folder=folder, pages=400, settings=settings, progress=False).wait().collection
    urls = [page.url for page in web]
    random.Random(1).shuffle(urls)
    start = time.perf_counter()
    assert all(web[url].body for url in 10 * urls)
    return 1000 * (time.perf_counter() - start) / (10 * len(urls))


def imported() -> float:
    """Seconds that `import gossamer` adds to an interpreter: the least of five."""
    each = []
    for code in ("pass", "import gossamer"):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        each.append(min(times))
    return each[1] - each[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=4_000, help="pages in the archive")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        make(Path(place) / "many", given.visits)
        count, seconds, memory = titles(Path(place) / "many")
        print(f"{count:,} stored pages of {given.visits:,} visits", flush=True)
        Maker(Path(place) / "archive", words=2_500).make(given.pages, 2_000, 100)
        judge(
            (
                Figure("titles of all stored pages", seconds, "s", TITLES * max(given.visits / 1e6, 0.1)),
                Figure("peak memory", memory, "GB", GIGABYTES),
                Figure("body of a page", bodies(Path(place) / "archive"), "ms", BODY),
                Figure("body of a page, by its URL", by_url(Path(place) / "demo"), "ms", BODY),
                Figure("import gossamer", imported(), "s", IMPORTED),
            )
        )


if __name__ == "__main__":
    main()
