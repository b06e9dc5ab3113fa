"""What records that were never committed say about politeness.

After a kill, the journal may hold records behind the last commit mark. They are not applied: their requests count as
never made. But the sites did get the requests, so the back-off is kept: until when each site rests, and how often its
factor would have doubled.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gossamer.base.model import VISIT, Ask, Outcome, Visits
from gossamer.collection.journal.effects import Effects, SiteEvent
from gossamer.desk.desk import Desk
from gossamer.harvester.backoff import SLOWS, Backoff
from gossamer.harvester.robots import READABLE, UNREADABLE

_FOR_THE_SITE = (SiteEvent.PATIENCE, SiteEvent.ROBOTS_AWAY, SiteEvent.SLOWED, SiteEvent.DISOWNED)
"""Events that make a site wait because of requests to it; a name that failed has cost the site no request."""


class _Patience:
    """By site: until when it rests, and how often its factor doubles."""

    def __init__(self) -> None:
        self.by_site: dict[int, tuple[float, int]] = {}

    def add(self, site: int, until: float, doubled: int = 0) -> None:
        before = self.by_site.get(site, (0.0, 0))
        self.by_site[site] = max(before[0], until), before[1] + doubled


def patience_after(desk: Desk, lost: list[Effects]) -> dict[int, tuple[float, int]]:
    """For each site: until when it would rest if these effects were applied, and how often its factor would double."""
    patience = _Patience()
    for event in (event for effects in lost for event in effects.site_events):
        if event["event"] in _FOR_THE_SITE:
            doubled = int(event["event"] == SiteEvent.SLOWED)
            patience.add(int(event["site"]), float(event["until"]), doubled)
    visits = np.concatenate([effects.visits for effects in lost]) if lost else np.zeros(0, VISIT)
    if len(visits):
        _add_visits(desk, visits, patience)
    return patience.by_site


def _add_visits(desk: Desk, visits: Visits, patience: _Patience) -> None:
    next_, failures = _clocks_after(desk, visits), Counter[int]()
    for visit, doubled in zip(visits, SLOWS[visits["outcome"]].tolist(), strict=True):
        patience.add(int(visit["site"]), float(next_[visit["site"]]), doubled)
        if visit["ask"] == Ask.ROBOTS and Outcome(int(visit["outcome"])) not in READABLE:
            origin = int(visit["origin"])
            failures[origin] += 1
            _add_unreadable(desk, origin, failures[origin], float(visit["time"]), patience)


def _add_unreadable(desk: Desk, origin: int, failures: int, time: float, patience: _Patience) -> None:
    """Adds the rest after an unreadable robots.txt: `failures` more than the state knows."""
    origins = desk.columns.origin
    if origin < origins.count:
        failures = min(250, failures + int(origins.failures[origin]))
        retry = float(desk.settings.harvester.retry)
        patience.add(int(origins.site[origin]), UNREADABLE.until(time, failures, retry))


def _clocks_after(desk: Desk, visits: Visits) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """`next` of each site after these visits, with the longest wait that the site may have."""
    sites, harvester = desk.columns.site, desk.settings.harvester
    count = max(sites.count, int(visits["site"].max()) + 1)
    waits = np.full(count, max(harvester.wait, harvester.wait_large))
    waits[: sites.count] = np.maximum(waits[: sites.count], sites.delay[: sites.count])
    np.maximum.at(waits, visits["site"], visits["delay"])
    return desk[Backoff].would_follow(visits, waits, count)
