"""The figures of a crawl, for progress, `status`, JSON and reports: always the same words.

Every known page is accounted for, once: `known_equals_its_parts`, a property test of that name:

    known = pending + waiting + done + excluded, and waiting, done and excluded are the sums of their `why`

A page is *waiting* when it was tried and is tried again later (why: the outcome), or when it is pending and its whole
site is set aside (why: "site: " and the `Aside`). What waits for no reason but the usual politeness is pending.

Counts are exact and cost no look at pages: the *tally*, pages by state and by outcome or reason, is kept by the kernels
of `manager/learn.py`; the rest is columns of sites, 0.7 ms at 100,000 of them. When the first and the last page of each
outcome are due is looked up in a thread, at most every ten seconds; `dues_at` says when.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import Reason, State
from gossamer.base.outcomes import FOR_GOOD, Aside, Outcome
from gossamer.config.settings import ManagerSettings
from gossamer.desk.account import Account
from gossamer.desk.places import Places
from gossamer.manager.due import soonest_due
from gossamer.manager.learn import WIDTH
from gossamer.manager.pages import Pages
from gossamer.manager.value import Value
from gossamer.pace import Pace
from gossamer.whereabouts import set_aside

if TYPE_CHECKING:
    from gossamer.desk.desk import Desk

Array = npt.NDArray[Any]
Span = dict[str, Any]
"""pages, first_due and last_due: wall times, None when nothing says so."""

LOOK_EVERY: Final = 10.0
_CHUNK: Final = 1 << 18
MOST_POINTS: Final = 64


def tally_of(columns: Any) -> npt.NDArray[np.int64]:
    """Pages by state (row), and by outcome (waiting, done) or reason (excluded), counted: 0.15 s at 10^7 pages.

    A crawl does not count: `desk[Pages].counts` is kept by the kernels. Of an image, and in tests of that, this is.
    """
    page, tally = columns.page, np.zeros(len(State) * WIDTH, np.int64)
    for at in range(0, page.count, _CHUNK):
        rows = slice(at, min(at + _CHUNK, page.count))
        state = page.state[rows]
        why = np.where(state == State.EXCLUDED, page.reason[rows], page.outcome[rows])
        why[state == State.PENDING] = 0
        tally += np.bincount(state.astype(np.int64) * WIDTH + why % WIDTH, minlength=len(tally))
    return tally.reshape(len(State), WIDTH)


def parts_of(
    columns: Any, tally: Array, dues: dict[int, tuple[int, int]], wall: float, aside: Array | None = None
) -> dict[str, Any]:
    """Known pages and their parts; `why` has what waiting, done and excluded consist of."""
    waiting = {
        Outcome(why).word: _span(count, *dues.get(why, (None, None))) for why, count in _row(tally, State.WAITING)
    }
    of_sites = _waiting_sites(columns.site, set_aside(columns.site, wall) if aside is None else aside)
    waiting |= {f"site: {Aside(why).word}": span for why, span in of_sites.items()}
    blocked = sum(span["pages"] for span in of_sites.values())
    by_state = tally.sum(axis=1).tolist()
    return {
        "known": int(columns.page.count),
        "pending": by_state[State.PENDING] - blocked,
        "waiting": by_state[State.WAITING] + blocked,
        "done": by_state[State.DONE],
        "excluded": by_state[State.EXCLUDED],
        "why": {
            "waiting": waiting,
            "done": {Outcome(why).word: count for why, count in _row(tally, State.DONE)},
            "excluded": {Reason(why).name.lower(): count for why, count in _row(tally, State.EXCLUDED)},
        },
    }


def _waiting_sites(site: Any, aside: Array) -> dict[int, Span]:
    """Pending pages of sites that are set aside, by why. A site that is refused, or left for good, has no time."""
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
        i: _span(n, a if a < np.inf else None, z if z > -np.inf else None) for i, (n, a, z) in enumerate(spans) if n
    }


def _row(tally: Array, state: State) -> list[tuple[int, int]]:
    return [(why, count) for why, count in enumerate(tally[state].tolist()) if count]


def _span(pages: int, first: float | None, last: float | None) -> Span:
    return {"pages": pages, "first_due": first, "last_due": last}


def dues_of(columns: Any) -> dict[int, tuple[int, int]]:
    """When the first and the last waiting page of each outcome are due. In pieces: numpy holds no lock for long."""
    page = columns.page
    first, last = np.full(256, 2**32 - 1, np.uint32), np.zeros(256, np.uint32)
    for at in range(0, page.count, _CHUNK):
        rows = slice(at, min(at + _CHUNK, page.count))
        which = at + np.flatnonzero(page.state[rows] == State.WAITING)
        if len(which):
            np.minimum.at(first, page.outcome[which], page.due[which])
            np.maximum.at(last, page.outcome[which], page.due[which])
    return {why: (int(first[why]), int(last[why])) for why in np.flatnonzero(last).tolist()}


def largest_of(desk: Desk, aside: Array) -> dict[str, Any] | None:
    """The site that politeness makes last longest: its pending pages, one after the other."""
    site, harvester = desk.columns.site, desk.settings.harvester
    if not len(aside):
        return None
    used, turn = slice(0, len(aside)), max(1, harvester.per_turn)
    waits = np.array([harvester.wait, harvester.wait_large], np.float32)
    each = np.maximum(waits[(site.pages[used] > harvester.large_site).view(np.int8)], site.delay[used])
    if turn > 1:
        each = (each + (turn - 1) * np.maximum(site.delay[used], np.float32(harvester.pause))) / turn
    each = each * _factors(site)
    seconds = each * site.pending[used].astype(np.float32) * (aside == 0)
    at = int(seconds.argmax())
    if not seconds[at]:
        return None
    return {
        "site": desk[Places].names[at],
        "pages": int(site.pending[at]),
        "each": round(float(each[at]), 3),
        "seconds": round(float(seconds[at]), 1),
    }


def _factors(site: Any) -> Array:
    """By how much the waits of sites are longer than usual."""
    factors: Array = site.slow[: site.count] * site.stretch[: site.count]
    return factors


def figures_of(desk: Desk, wall: float, dues: dict[int, tuple[int, int]] | None = None) -> dict[str, Any]:
    """All that the desk knows; `dues` as `dues_of` found them, looked up now if they are not given."""
    wall, columns = desk.believed(wall), desk.columns
    tally, aside = desk[Pages].counts, set_aside(columns.site, wall)
    return {
        **parts_of(columns, tally, dues_of(columns) if dues is None else dues, wall, aside),
        "visits": desk[Account].visits,
        "robots_visits": desk[Account].robots_visits,
        "sitemap_visits": desk[Account].sitemap_visits,
        "probe_visits": desk[Account].probe_visits,
        "stored": desk[Account].stored,
        "sites": columns.site.count,
        "slowed": int(np.count_nonzero(_factors(columns.site) > 1)),
        "bytes": desk[Account].bytes,
        "outcomes": {o.word: int(desk[Account].outcomes[o]) for o in Outcome if desk[Account].outcomes[o]},
        "largest": largest_of(desk, aside),
        "time": round(wall, 3),
    }


class Figures:
    """The figures again and again, with pace and time left, for a loop that must not wait for a look at all pages."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._pace = Pace()
        self._dues: dict[int, tuple[int, int]] = {}
        self._looked = 0.0
        self._next = 0.0
        self._thread: threading.Thread | None = None

    def now(self, wall: float, monotonic: float, **more: Any) -> dict[str, Any]:
        """`more` are figures that only the run knows; see `Pace.of` for those that it looks at."""
        if monotonic >= self._next and (self._thread is None or not self._thread.is_alive()):
            self._next = monotonic + LOOK_EVERY
            self._thread = threading.Thread(target=self.look, args=(wall,), name="dues", daemon=True)
            self._thread.start()
        found = {**figures_of(self._desk, wall, self._dues), "dues_at": self._looked, **more}
        return found | self._pace.of(found, monotonic)

    def look(self, wall: float) -> None:
        """When pages that wait are due."""
        begun = time.monotonic()
        self._dues, self._looked = dues_of(self._desk.columns), round(wall, 3)
        self._next = max(self._next, begun + 100 * (time.monotonic() - begun))


def thinned(points: list[list[float]], most: int = MOST_POINTS) -> list[list[float]]:
    """At most so many of points [time, …]: the first, the last, and between them about as far apart as can be.

    Call it whenever a point is added: one is dropped then, the one whose neighbours are nearest to each other.
    """
    kept = list(points)
    while len(kept) > max(2, most):
        del kept[min(range(1, len(kept) - 1), key=lambda i: kept[i + 1][0] - kept[i - 1][0])]
    return kept


@dataclass(slots=True)
class Curve:
    """V(I) over time, one point a plan and one at the stop. Points are in the unit that the settings make: when those
    change, a new curve begins."""

    of: dict[str, Any]
    """The settings that the value depends on."""
    points: list[list[float]] = field(default_factory=list)
    """Wall time, value, pages."""

    @staticmethod
    def resumed(settings: ManagerSettings, before: Mapping[str, Any]) -> Curve:
        """Goes on with that of former runs, as `status` has it, if it is about the same."""
        curve = Curve(json.loads(json.dumps(_unit_of(settings))))
        if before.get("value_of") == curve.of:
            with suppress(ValueError, TypeError):
                curve.points = [list(map(float, point)) for point in before.get("value", [])]
        return curve

    def add(self, wall: float, value: float, pages: int) -> None:
        if pages and wall > (self.points[-1][0] if self.points else 0.0):
            self.points = thinned([*self.points, [round(wall, 3), value, pages]])


def _unit_of(settings: ManagerSettings) -> dict[str, Any]:
    value = Value.of(settings)
    return {
        "index_value": settings.index_value,
        "weights": dict(sorted(value.weights.items())),
        "alpha": value.alpha,
        "beta": value.beta,
        "gamma": value.gamma,
        "change_period": value.change_period,
        "policy": settings.policy,
        "boosts": settings.boosts,
    }


def waits_until(desk: Desk, wall: float) -> str:
    """When the first of what waits is due, in local time; empty when nothing will ever be."""
    site, wall = desk.columns.site, desk.believed(wall)
    used = slice(0, site.count)
    held = (site.pending[used] > 0) & (site.refused[used] == 0)
    of_pages = soonest_due(desk.columns, value=Value.of(desk.settings.manager))
    due = min(of_pages, float(np.min(site.next[used][held], initial=np.inf)))
    return "" if due >= FOR_GOOD else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(due, wall)))
