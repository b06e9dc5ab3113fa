"""Questions about many pages or sites at once, which the desk of a running crawl answers."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gossamer.base.outcomes import NO_OUTCOME, Outcome
from gossamer.observe.status import Said, site_clock, sites_aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.base.clock import Clock
    from gossamer.collection.store import Store
    from gossamer.desk.desk import Desk
    from gossamer.harvester.harvest import Harvest
    from gossamer.manager.planner import Planner
    from gossamer.observe.status import View

MOST: Final = 1_000
"""Rows of an answer."""


class Lists:
    """Answers lists for other processes: it only reads, in any thread."""

    def __init__(self, view: View, desk: Desk, store: Store, harvest: Harvest, planner: Planner, clock: Clock) -> None:
        self._view, self._desk, self._store = view, desk, store
        self._harvest, self._planner, self._clock = harvest, planner, clock
        self._answers: dict[str, Callable[[Any, float], Said]] = {
            "aside": lambda _, wall: {"aside": sites_aside(desk.columns.site, wall)},
            "urls": lambda given, _: {"urls": self._urls([int(page) for page in given[:MOST]])},
            "clocks": self._clocks,
            "pending": lambda _, wall: {"pending": packed(desk.columns.site.pending[: desk.columns.site.count])},
            "next": self._next,
        }

    def answer(self, question: Said, wall: float) -> Said | None:
        """None if the question is of another kind."""
        for kind, answered in self._answers.items():
            if kind in question:
                return {"wall": wall, **answered(question[kind], wall)}
        return None

    def _urls(self, pages: list[int]) -> list[str]:
        known = self._desk.columns.page.count
        return [text.decode() for text in self._store.urls([page for page in pages if page < known])]

    def _clocks(self, sites: list[int], wall: float) -> Said:
        """When each of these sites may be requested, and how much is planned for it."""
        known, settings = self._desk.columns.site.count, self._desk.settings
        found = {}
        for site in map(int, sites[:MOST]):
            if site < known:
                clock = site_clock(self._view, settings, wall, site)
                clock["planned"] = len(self._harvest.planned(site))
                clock["speed"] = speed_of(self._view, site)
                found[str(site)] = clock
        return {"clocks": found}

    def _next(self, most: int, wall: float) -> Said:
        """The sites that are requested next, with the page of each, and how large the plan is."""
        made, columns = self._planner.made, self._desk.columns
        coming = self._harvest.ahead().upcoming(max(0, min(int(most), MOST)), self._clock.monotonic())
        offset = wall - self._clock.monotonic()
        rows = zip(*(column.tolist() for column in coming[:-1]), strict=True)
        urls = self._urls(coming.pages.tolist())
        return {
            "policy": self._desk.settings.manager.policy,
            "made": made.at,
            "planned": 0 if made.plan is None else len(made.plan.pages),
            "candidates": 0 if made.plan is None else made.plan.candidates,
            "left": coming.left,
            "sites": self._harvest.active_sites(),
            "next": [
                {
                    "url": url,
                    "site": self._view.site_name(site),
                    "time": round(offset + time, 3),
                    "rank": rank,
                    "of_site": left,
                    "depth": int(columns.page.depth[page]),
                    "outcome": _word(int(columns.page.outcome[page])),
                }
                for (site, page, time, rank, left), url in zip(rows, urls, strict=False)
            ],
        }


def _word(outcome: int) -> str | None:
    return None if outcome == NO_OUTCOME else Outcome(outcome).word


def speed_of(view: View, site: int) -> int | None:
    """Bytes a second that its address is expected to give, in the mean of all hours; None: not measured."""
    nodes = [speed for speed in view.speeds_of(site) if speed]
    return round(sum(nodes) / len(nodes)) if nodes else None


def packed(numbers: Any) -> str:
    """An array of numbers below 2^32, as text."""
    return base64.b64encode(np.asarray(numbers, "<u4").tobytes()).decode()


def unpacked(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), "<u4")
