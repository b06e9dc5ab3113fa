"""How the cost of a page grows with size, for Gossamer alone.

    python -m bench.beside.growth [known] [sites] [workers] [connections] [--quick]

known        known pages, 10^5 to 10^7: cost of absorbing a result (`bench.scale`), and of a plan
sites        10^2 to 10^5, with 3·10^5 known pages: absorbing, and a hand-out and answer of the site queue
workers      1 and 2, on the real pages
connections  10 to 2,000 open at a time: `bench.beside.connected`

Each size is measured in alternation with the smallest, so that other load on the machine affects both alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.beside.crawlers import gossamer
from bench.beside.judge import Pages
from bench.beside.machine import machine
from bench.beside.pages import prepare
from bench.beside.results import RESULTS, add
from bench.beside.serve import serve
from bench.beside.watch import watch

Point = dict[str, Any]

SMALL: Final = 100_000
OF_SITES: Final = 300_000
"""Known pages in the measurements by number of sites."""
ROUNDS, TICKS = 7, 30


def compared(small: Any, large: Any) -> tuple[float, float, float]:
    """µs of the desk per page, for the small and the large size, and the median of their ratios."""
    rounds = [(sum(small.usual(TICKS).values()), sum(large.usual(TICKS).values())) for _ in range(ROUNDS)]
    return median(a for a, _ in rounds), median(b for _, b in rounds), median(b / a for a, b in rounds)


def known(folder: Path, quick: bool) -> list[Point]:
    from bench.scale import Build
    from gossamer.manager.plan import make_plan
    from gossamer.manager.strategies import LIVE

    def plan(build: Any) -> float:
        manager, took = build.settings.manager, []
        for _ in range(3):
            begun = time.thread_time()
            make_plan(build.desk.columns, LIVE["value"], time.time(), manager.batch_size, manager.batch_per_site)
            took.append(time.thread_time() - begun)
        return 1e3 * min(took)

    sizes = [1_000_000] if quick else [1_000_000, 10_000_000]
    small, large = Build(folder / "small", 2 * SMALL, False), Build(folder / "large", sizes[-1], False)
    small.begin()
    small.grow(SMALL)
    large.begin()
    points: list[Point] = []
    for size in sizes:
        large.grow(size)
        of_small, of_large, ratio = compared(small, large)
        points = points or [{"known": small.known, "us": of_small, "ratio": 1.0, "plan_ms": plan(small)}]
        points.append({"known": large.known, "us": of_large, "ratio": ratio, "plan_ms": plan(large)})
    small.store.close()
    large.store.close()
    return points


def sites(folder: Path, quick: bool) -> list[Point]:
    from bench.scale import Build
    from bench.site_queue import cost

    small = Build(folder / "small", 2 * OF_SITES, False, 100)
    small.begin()
    small.grow(OF_SITES)
    cost(10, 1, 100)
    points: list[Point] = []
    for count in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
        large = Build(folder / str(count), 2 * OF_SITES, False, count)
        large.begin()
        large.grow(OF_SITES)
        of_small, of_large, ratio = compared(small, large)
        points = points or [{"sites": 100, "us": of_small, "ratio": 1.0, "queue_us": cost(100, 1)[0] / 1e3}]
        points.append({"sites": count, "us": of_large, "ratio": ratio, "queue_us": cost(count, 1)[0] / 1e3})
        large.store.close()
    small.store.close()
    return points


def workers(pages: Path, quick: bool) -> list[Point]:
    found = prepare(pages, 20 if quick else 100)
    costs: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(1 if quick else 3):
        for count, ms in costs.items():
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                with serve(found, pages, folder / "web") as served:
                    start = gossamer(served, folder, f"harvester.workers={count}")
                    count_pages = Pages(served.log, served.is_page).count
                    ms.append(watch(start.command, count_pages, folder, 120.0, start.environment).ms)
    one = median(costs[1])
    return [{"workers": count, "ms": median(ms), "ratio": median(ms) / one} for count, ms in costs.items()]


def connections(quick: bool) -> list[Point]:
    points = []
    for count in (10, 500) if quick else (10, 100, 500, 2_000):
        command = [sys.executable, "-m", "bench.beside.connected", str(count), "20" if count < 1_000 else "60"]
        points.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=300).stdout))
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], "known", "sites", "workers", "connections"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=Path, default=Path(".bench-pages"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    names = given.names or ["known", "sites", "workers", "connections"]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            if name in ("known", "sites"):
                points = {"known": known, "sites": sites}[name](Path(folder), given.quick)
            else:
                points = workers(given.pages, given.quick) if name == "workers" else connections(given.quick)
        for point in points:
            print(f"{name}: {point}", flush=True)
        add(given.results, [], {name: points}, machine=machine())


if __name__ == "__main__":
    main()
