"""Processor time that progress on a terminal takes: python -m bench.progress

Once a second the desk makes its statistics, and a thread draws them. Measured for a crawl that knows 100,000 sites and
has six processes, in a window of 100 x 40, for `SECONDS`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from gossamer.base import memory
from gossamer.base.clock import VirtualClock
from gossamer.cli.block import Block
from gossamer.cli.progress import Progress
from gossamer.config import Settings, override
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.observe.measure import Meter
from gossamer.observe.statistics import Awaited, Resources, Run
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb

BOUND: Final = 1.0
"""Percent of a core."""
SITES: Final = 100_000
PROCESSES: Final = 6
SECONDS: Final = 20
AWAITED: Final = Awaited(3, 900, "s7.example", 2.5)


class Terminal:
    """A terminal that nobody reads; it counts."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.drawn = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.drawn += bool(text)
        return len(text)

    def flush(self) -> None:
        pass


def measure(folder: Path, sites: int, seconds: int) -> Figure:
    os.environ |= {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    clock, stream = VirtualClock(), Terminal()
    settings = override(Settings(), (f"collection.max_pages={4 * sites}", f"collection.max_sites={2 * sites}"))
    store, desk, _ = open_collection(folder, settings, clock)
    web = SimulatedWeb(lambda url: Reply(), clock, desk.seed)
    crawl = Crawl(desk, store, web, SimulatedNames(lambda host: "192.0.2.1"), clock, Bounds())
    crawl.plant([f"http://s{number}.example/" for number in range(sites)])
    meter = Meter(desk)
    with Progress(stream) as progress:  # type: ignore[arg-type]
        assert isinstance(progress._face, Block)
        progress.show(meter.now(clock.wall(), clock.monotonic(), Run()))
        time.sleep(1.0)  # rich is imported, and the dues are looked up
        begun, start = time.process_time(), time.monotonic()
        for second in range(seconds):
            used = memory.used([os.getpid()] * PROCESSES)
            run = Run(float(second), sites_active=99, awaited=AWAITED, resources=Resources(250, used))
            progress.show(meter.now(clock.wall(), float(second), run))
            time.sleep(max(0.0, start + second + 1 - time.monotonic()))
        share = 100 * (time.process_time() - begun) / (time.monotonic() - start)
    store.close()
    return Figure(f"progress, {sites:,} sites", share, "% of a core", BOUND, aside=f"drawn {stream.drawn} times")


if __name__ == "__main__":
    sites, seconds = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (SITES, SECONDS)
    with tempfile.TemporaryDirectory() as place:
        judge([measure(Path(place), sites, seconds)])
