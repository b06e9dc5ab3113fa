"""CPU of all processes for a page of about 25 KB and 75 links, everything on, over loopback HTTP.

    python -m bench.page_cost [PAGES] [--profile FILE]

The demonstration Web in its bulk form serves the pages; its own processor time is not counted. Bound: 2.0 ms a page in
all, 0.2 of it the desk's.
"""

from __future__ import annotations

import cProfile
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gossamer.demo import DemoWeb
from gossamer.prepare import Plea
from gossamer.run import run


class Quiet:
    """Keeps the figures of the moment when half of the pages were fetched: from there on everything is warm."""

    def __init__(self, pages: int) -> None:
        self.half = pages // 3
        self.then: dict[str, Any] | None = None

    def due(self) -> bool:
        return self.then is None

    def show(self, figures: dict[str, Any]) -> None:
        if figures["visits"] >= self.half:
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
    visits = crawling["run_visits"] - then["run_visits"]
    seconds = crawling["seconds"] - then["seconds"]
    cpu = 1000 * (crawling["cpu_seconds"] - then["cpu_seconds"]) / visits
    desk = 1000 * (crawling["desk_seconds"] - then["desk_seconds"]) / visits
    size = (crawling["bytes"] - then["bytes"]) / visits
    print(f"pages {visits}, {size / 1000:.1f} KB each on the wire, {end['known']} known")
    print(f"{visits / seconds:.0f} pages/s on this machine, server included")
    print(f"CPU a page: {cpu:.2f} ms in all (bound 2.0), of it the desk {desk:.3f} ms (bound 0.2)")
    print(f"the loop's longest turn: {1000 * crawling['longest_turn']:.0f} ms")
    print(f"with start, sealing and image: {1000 * end['cpu_seconds'] / end['run_visits']:.2f} ms")


if __name__ == "__main__":
    main()
