"""Starts a collection once in its own process, for `bench.scale`, and prints the cost as JSON.

python -m bench.start FOLDER PAGES [--half]
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def main(folder: Path, known: int, half: bool) -> dict[str, Any]:
    """Measures imports, opening, and the queue with its clocks: everything before the first request of a crawl."""
    at = [time.perf_counter()]
    from bench.scale import peak, settings_for
    from gossamer.base.clock import RealClock, VirtualClock
    from gossamer.crawler.loop import Bounds, Crawl
    from gossamer.crawler.open import open_collection
    from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb

    at.append(time.perf_counter())
    clock = RealClock()
    store, desk, _ = open_collection(folder, settings_for(known, half), clock)
    at.append(time.perf_counter())
    web = SimulatedWeb(lambda url: Reply(), VirtualClock(), desk.seed)  # receives no request
    crawl = Crawl(desk, store, web, SimulatedNames(lambda host: None), clock, Bounds())
    crawl.harvest.resume(0.0)
    at.append(time.perf_counter())
    store.close()
    at.append(time.perf_counter())
    took = dict(zip(("imports", "open", "queue", "closing"), (b - a for a, b in pairwise(at)), strict=True))
    return took | {"cpu": time.process_time(), "peak": peak(), "warnings": store.warnings}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), "--half" in sys.argv)))
