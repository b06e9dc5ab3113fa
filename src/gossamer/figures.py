"""The figures of a crawl, for progress, `status`, JSON and reports: always the same words.

A page is *waiting* when it was tried and is due later, or when its whole site is set aside: it asked us to stay away,
its name or its robots.txt cannot be had, or its address must not be visited.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gossamer.desk import Desk
from gossamer.manager.due import soonest_due
from gossamer.model import Outcome, State


def figures_of(desk: Desk, wall: float, horizon: float = 60.0) -> dict[str, Any]:
    counts, wall = desk.counts, desk.believed(wall)
    site = desk.columns.site
    used = slice(0, site.count)
    aside = (site.refused[used] != 0) | (site.next[used] > wall + horizon)
    blocked = int(site.pending[used][aside].sum())
    return {
        "known": desk.columns.page.count,
        "pending": int(counts[State.PENDING]) - blocked,
        "waiting": int(counts[State.WAITING]) + blocked,
        "done": int(counts[State.DONE]),
        "excluded": int(counts[State.EXCLUDED]),
        "visits": desk.visits,
        "robots_visits": desk.robots_visits,
        "stored": desk.stored,
        "sites": site.count,
        "bytes": desk.bytes,
        "outcomes": {
            outcome.word: int(desk.outcomes[outcome]) for outcome in Outcome if desk.outcomes[outcome]
        },
    }  # fmt: skip


def waits_until(desk: Desk, wall: float) -> str:
    """When the first of what waits is due, in local time; empty when nothing will ever be."""
    site, wall = desk.columns.site, desk.believed(wall)
    used = slice(0, site.count)
    held = (site.pending[used] > 0) & (site.refused[used] == 0)
    due = min(soonest_due(desk.columns), float(np.min(site.next[used][held], initial=np.inf)))
    return "" if due == np.inf else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(due, wall)))
