"""Statistics of a crawl that never was, and the account of pages made the slow way."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import State
from gossamer.manager.learn import WIDTH
from gossamer.observe.statistics import Statistics

JSON: Final[dict[str, Any]] = {
    "seconds": 725.0,
    "visits": 12_345,
    "stored": 11_000,
    "bytes": 3_400_000_000,
    "known": 1_234_567,
    "pending": 800_000,
    "waiting": 12_000,
    "done": 400_000,
    "excluded": 22_567,
    "sites": 4_321,
    "sites_active": 300,
    "open": 290,
    "rss": 1_200_000_000,
    "outcomes": {"ok": 11_000, "not_found": 900, "server_error": 20, "timed_out": 3, "refused": 2, "broken_off": 1},
    "rates": {"visits": 17.25, "bytes": 4_000_000, "known": 3.0, "settled": 16.0},
    "left": {"seconds": 11_220.0, "why": "a.example: 2244 pages, one every 5 s"},
    "why": {
        "waiting": {
            "server_error": {"pages": 11_990, "first_due": 1_000.0, "last_due": 4_000_000_000.0},
            "site: name_failed": {"pages": 10, "first_due": 4_000_000_000.0, "last_due": 4_000_000_000.0},
        },
        "done": {"ok": 399_000, "not_found": 1_000},
        "excluded": {"robots": 22_000, "depth": 567},
    },
    "time": 1_600_000_000.0,
}
"""As an early version wrote it."""


def statistics(**changed: Any) -> Statistics:
    """`changed`: keys of the JSON form."""
    return Statistics.from_json(JSON | changed)


def tally_of(columns: Any) -> npt.NDArray[np.int64]:
    """Pages by state (row) and by outcome (waiting, done) or reason (excluded), counted. The kernels of a crawl keep
    this up to date as `desk[Pages].counts`."""
    page = columns.page
    state = page.state[: page.count]
    why = np.where(state == State.EXCLUDED, page.reason[: page.count], page.outcome[: page.count])
    why[state == State.PENDING] = 0
    tally = np.bincount(state.astype(np.int64) * WIDTH + why % WIDTH, minlength=len(State) * WIDTH)
    return tally.reshape(len(State), WIDTH)
