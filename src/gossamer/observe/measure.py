"""Making the statistics of a crawl from its desk and its run.

Every known page is counted once. Invariant, a property test of the same name: known equals its parts.

A page is *waiting* when it was tried and will be tried again later (reason: the outcome), or when it is pending and its
whole site is backing off (reason: "site: " and the `Aside`). A page that waits only because of the usual politeness is
pending.

Counts are exact and need no scan of the pages: the *tally*, pages by state and by outcome or reason, is kept by the
kernels of `manager/learn.py`; the rest is columns of sites, 0.7 ms for 100,000 sites. When the first and the last page
of each outcome are due is looked up in a thread, at most every ten seconds; `PageCounts.dues_at` says when.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import Reason, State
from gossamer.base.outcomes import FOR_GOOD, Aside, Outcome
from gossamer.config.settings import ManagerSettings
from gossamer.desk.account import Account
from gossamer.desk.places import Places
from gossamer.harvester.backoff import Backoff
from gossamer.manager.pages import Pages
from gossamer.manager.scans import soonest_due
from gossamer.manager.value import Value
from gossamer.observe.progress import Pace
from gossamer.observe.statistics import (
    Counting,
    IndexValue,
    LargestSite,
    PageCounts,
    Reasons,
    Requests,
    Run,
    Sites,
    Statistics,
    ValuePoint,
    Waiting,
    statistics_of_parts,
)
from gossamer.observe.status import set_aside

if TYPE_CHECKING:
    from gossamer.desk.desk import Desk

Array = npt.NDArray[Any]
Dues = dict[int, tuple[int, int]]
"""Wall times at which the first and the last waiting page are due, by outcome."""

LOOK_EVERY: Final = 10.0
"""Seconds between two searches for `Dues`."""
_CHUNK: Final = 1 << 18
MOST_POINTS: Final = 64
LONGEST: Final = 3
"""How many of the sites that last longest are named."""


def statistics_of(
    desk: Desk, wall: float, dues: Dues | None = None, run: Run | None = None, errands: Iterable[Counting] = ()
) -> Statistics:
    """Without progress. `dues` as `dues_of` found them; they are looked up now if they are not given."""
    wall, columns = desk.believed(wall), desk.columns
    aside = set_aside(columns.site, wall)
    return Statistics(
        round(wall, 3),
        pages_of(columns, desk[Pages].counts, dues_of(columns) if dues is None else dues, aside),
        requests_of(desk[Account]),
        sites_of(desk, aside),
        Run() if run is None else run,
        parts=statistics_of_parts((*desk.parts, *errands)),
    )


def pages_of(columns: Any, tally: Array, dues: Dues, aside: Array, dues_at: float = 0.0) -> PageCounts:
    """The account of all known pages. `aside`: for each site, why it is backing off (`set_aside`)."""
    sites = _waiting_sites(columns.site, aside)
    waiting = {
        Outcome(why).word: Waiting(count, *dues.get(why, (None, None))) for why, count in _row(tally, State.WAITING)
    }
    waiting |= {f"site: {Aside(why).word}": span for why, span in sites.items()}
    blocked = sum(span.pages for span in sites.values())
    by_state = tally.sum(axis=1).tolist()
    return PageCounts(
        int(columns.page.count),
        by_state[State.PENDING] - blocked,
        by_state[State.WAITING] + blocked,
        by_state[State.DONE],
        by_state[State.EXCLUDED],
        Reasons(
            waiting,
            {Outcome(why).word: count for why, count in _row(tally, State.DONE)},
            {Reason(why).name.lower(): count for why, count in _row(tally, State.EXCLUDED)},
        ),
        dues_at,
    )


def _waiting_sites(site: Any, aside: Array) -> dict[int, Waiting]:
    """Pending pages of sites that are backing off, by reason. A site that is refused, or suspended for good, has no
    time."""
    held = np.flatnonzero(aside)
    held = held[site.pending[held] > 0]
    pages = np.bincount(aside[held], site.pending[held], len(Aside)).astype(np.int64)
    timed = held[(site.refused[held] == 0) & (site.next[held] < FOR_GOOD)]
    why, next_ = aside[timed].astype(np.intp), site.next[timed]
    first, last = np.full(len(Aside), np.inf), np.full(len(Aside), -np.inf)
    np.minimum.at(first, why, next_)
    np.maximum.at(last, why, next_)
    spans = zip(pages.tolist(), first.tolist(), last.tolist(), strict=True)
    return {
        i: Waiting(n, a if a < np.inf else None, z if z > -np.inf else None) for i, (n, a, z) in enumerate(spans) if n
    }


def _row(tally: Array, state: State) -> list[tuple[int, int]]:
    return [(why, count) for why, count in enumerate(tally[state].tolist()) if count]


def dues_of(columns: Any) -> Dues:
    """Scans all pages, in pieces: numpy holds no lock for long."""
    page = columns.page
    first, last = np.full(256, 2**32 - 1, np.uint32), np.zeros(256, np.uint32)
    for start in range(0, page.count, _CHUNK):
        rows = slice(start, min(start + _CHUNK, page.count))
        waiting = start + np.flatnonzero(page.state[rows] == State.WAITING)
        if len(waiting):
            np.minimum.at(first, page.outcome[waiting], page.due[waiting])
            np.maximum.at(last, page.outcome[waiting], page.due[waiting])
    return {why: (int(first[why]), int(last[why])) for why in np.flatnonzero(last).tolist()}


def requests_of(account: Account) -> Requests:
    return Requests(
        account.visits,
        account.robots_visits,
        account.sitemap_visits,
        account.probe_visits,
        account.stored,
        account.bytes,
        {outcome.word: int(account.outcomes[outcome]) for outcome in Outcome if account.outcomes[outcome]},
    )


def sites_of(desk: Desk, aside: Array) -> Sites:
    site = desk.columns.site
    factors: Array = site.slow[: site.count] * site.stretch[: site.count]
    return Sites(site.count, int(np.count_nonzero(factors > 1)), _longest(desk, aside, factors))


def _longest(desk: Desk, aside: Array, factors: Array) -> tuple[LargestSite, ...]:
    """The sites that last longest. `factors`: how many times longer than usual the waits of each site are."""
    if not len(aside):
        return ()
    sites, site = np.arange(len(aside), dtype=np.uint32), desk.columns.site
    per_turn = max(1, desk.settings.harvester.per_turn)
    each = desk[Backoff].waits(sites)
    if per_turn > 1:
        each = (each + (per_turn - 1) * desk[Backoff].pauses(sites)) / per_turn
    each = each * factors
    seconds = each * site.pending[sites] * (aside == 0)
    most = np.argpartition(-seconds, LONGEST)[:LONGEST] if len(seconds) > LONGEST else np.arange(len(seconds))
    names = desk[Places].names
    return tuple(
        LargestSite(names[i], int(site.pending[i]), round(float(each[i]), 3), round(float(seconds[i]), 1))
        for i in sorted(most.tolist(), key=lambda i: -seconds[i])
        if seconds[i]
    )


class Meter:
    """Makes the statistics again and again, with progress, for a loop that must not wait for a scan of all pages."""

    def __init__(self, desk: Desk, errands: Iterable[Counting] = ()) -> None:
        self._desk, self._errands = desk, errands
        self._pace = Pace()
        self._dues: Dues = {}
        self._looked = 0.0
        self._next = 0.0
        self._thread: threading.Thread | None = None

    def now(self, wall: float, monotonic: float, run: Run) -> Statistics:
        if monotonic >= self._next and (self._thread is None or not self._thread.is_alive()):
            self._next = monotonic + LOOK_EVERY
            self._thread = threading.Thread(target=self.look, args=(wall,), name="dues", daemon=True)
            self._thread.start()
        found = statistics_of(self._desk, wall, self._dues, run, self._errands)
        pages = replace(found.pages, dues_at=self._looked)
        return replace(found, pages=pages, progress=self._pace.of(found, monotonic))

    def look(self, wall: float) -> None:
        """Finds out when waiting pages are due; takes at most a hundredth of the time."""
        begun = time.monotonic()
        self._dues, self._looked = dues_of(self._desk.columns), round(wall, 3)
        self._next = max(self._next, begun + 100 * (time.monotonic() - begun))


def thinned(points: tuple[ValuePoint, ...], most: int = MOST_POINTS) -> tuple[ValuePoint, ...]:
    """At most `most` points: the first, the last, and between them points about equally far apart in time.

    Call it whenever a point is added: it then drops the point whose neighbours are nearest to each other.
    """
    left = list(points)
    while len(left) > max(2, most):
        del left[min(range(1, len(left) - 1), key=lambda i: left[i + 1].time - left[i - 1].time)]
    return tuple(left)


@dataclass(slots=True)
class Curve:
    """V(I) over time: a point per plan, and one at the stop. The unit of the value follows from the settings: when
    those change, a new curve begins."""

    value: IndexValue

    @staticmethod
    def resumed(settings: ManagerSettings, before: IndexValue) -> Curve:
        """Continues the curve of earlier runs if its settings are the same."""
        unit = json.loads(json.dumps(_unit_of(settings)))
        return Curve(before if before.of == unit else IndexValue((), unit))

    def add(self, wall: float, value: float, pages: int) -> None:
        points = self.value.points
        if pages and wall > (points[-1].time if points else 0.0):
            point = ValuePoint(round(wall, 3), value, pages)
            self.value = replace(self.value, points=thinned((*points, point)))


def _unit_of(settings: ManagerSettings) -> dict[str, Any]:
    value = Value.of(settings)
    return {
        "index_value": "sum",  # earlier versions had a minimum too
        "weights": dict(sorted(value.weights.items())),
        "alpha": value.alpha,
        "gamma": value.gamma,
        "change_period": value.change_period,
        "policy": settings.policy,
        "boosts": settings.boosts,
    }


def waits_until(desk: Desk, wall: float) -> str:
    """Local time at which the first waiting page or site is due; empty when nothing will ever be."""
    site, wall = desk.columns.site, desk.believed(wall)
    used = slice(0, site.count)
    held = (site.pending[used] > 0) & (site.refused[used] == 0)
    of_pages = soonest_due(desk.columns, value=Value.of(desk.settings.manager))
    due = min(of_pages, float(np.min(site.next[used][held], initial=np.inf)))
    return "" if due >= FOR_GOOD else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(due, wall)))
