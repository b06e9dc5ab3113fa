"""Cost of the event log per visit: python -m bench.log

CPU time of the quickest of many batches, each with the visits of a busy tick, all of them logged.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

from bench.bounds import Figure, judge
from gossamer.base.log import EventLog, Level
from gossamer.base.model import NONE, VISIT, Outcome

BOUND: Final = 10.0
"""Microseconds of CPU time per visit."""
VISITS: Final = 100
BATCHES: Final = 200


def cost(folder: Path) -> float:
    """Microseconds of CPU time per visit."""
    log = EventLog(folder / "log", Level.INFO, print)
    visits = np.zeros(VISITS, VISIT)
    visits["number"] = visits["page"] = np.arange(VISITS)
    visits["outcome"], visits["duplicate_of"] = Outcome.OK, NONE
    visits["time"], visits["start"], visits["end"] = 1.6e9, 10.0, 10.25
    urls, best = [f"http://a.example/{i}".encode() for i in range(VISITS)], float("inf")
    for _ in range(BATCHES):
        start = time.thread_time()
        log.visits(visits, urls=urls)
        best = min(best, time.thread_time() - start)
    log.close()
    return best / VISITS * 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        judge([Figure("a visit in the event log", cost(Path(place)), "µs", BOUND)])
