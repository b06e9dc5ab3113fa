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
from pathlib import Path
from typing import Any, Final

from bench.bounds import Figure, judge
from gossamer.prepare import Plea
from gossamer.run import run
from gossamer.webs.demo import DemoWeb

A_PAGE: Final = 2.0
OF_THE_DESK: Final = 0.2
"""Bounds in ms of CPU time per page."""


class Quiet:
    """Keeps the figures of the moment when a third of the pages is fetched: from then on everything is warm."""

    def __init__(self, pages: int) -> None:
        self.third = pages // 3
        self.then: dict[str, Any] | None = None

    def due(self) -> bool:
        return self.then is None

    def show(self, figures: dict[str, Any]) -> None:
        if figures["visits"] >= self.third:
            self.then = figures

    def say(self, line: str) -> None:
        pass


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 12_000
    web = DemoWeb(bulk=True, sites=400, pages=4 * pages, largest=pages)
    quiet = Quiet(pages)
    with tempfile.TemporaryDirectory() as folder:
        changes = ("harvester.wait=100ms", "harvester.wait_large=100ms", "harvester.address_wait=10ms")
        plea = Plea(Path(folder) / "crawl", demo=web, changes=changes, pages=pages, patience=5.0)
        if "--profile" in sys.argv:
            profile = cProfile.Profile(time.thread_time)
            report = profile.runcall(run, plea, quiet)
            profile.dump_stats(sys.argv[sys.argv.index("--profile") + 1])
        else:
            report = run(plea, quiet)
    end, crawling, then = report.figures, report.crawling, quiet.then
    assert then is not None
    visits, seconds = (crawling[name] - then[name] for name in ("run_visits", "seconds"))
    size = (crawling["bytes"] - then["bytes"]) / visits
    print(f"pages {visits}, {size / 1000:.1f} KB each on the wire, {end['known']} known")
    print(f"{visits / seconds:.0f} pages/s on this machine, the server included")
    print(f"longest turn of the loop: {1000 * crawling['longest_turn']:.0f} ms")
    print(f"with start, sealing and image: {1000 * end['cpu_seconds'] / end['run_visits']:.2f} ms")
    judge(costs(then, crawling))


def costs(then: dict[str, Any], end: dict[str, Any]) -> Iterator[Figure]:
    """CPU per page between two moments of a run."""
    visits = end["run_visits"] - then["run_visits"]
    for name, key, bound in (
        ("CPU per page", "cpu_seconds", A_PAGE),
        ("the desk's share", "desk_seconds", OF_THE_DESK),
    ):
        yield Figure(name, 1000 * (end[key] - then[key]) / visits, "ms", bound)


if __name__ == "__main__":
    main()
