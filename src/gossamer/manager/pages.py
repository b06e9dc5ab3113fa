"""Known pages: their state, what they are worth by the strategy in force, and how many there are of each kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gossamer.base.arrays import Array
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.desk.kernels import enter, writable
from gossamer.desk.places import check_room
from gossamer.desk.rules import Rules
from gossamer.manager import learn, older
from gossamer.manager.older import Older
from gossamer.manager.policies import new_totals
from gossamer.manager.shown import SHOWN
from gossamer.manager.strategies import LIVE, strategy_named


class Pages(Part):
    name = "pages"
    columns: ClassVar[Declared] = {
        "page": {
            "origin": "<u4",
            "state": "u1",  # State
            "reason": "u1",  # Reason, when excluded; when done: why it is not fetched again
            "depth": "u1",
            "flags": "u1",  # PageFlag
            "outcome": "u1",  # Outcome of the last visit
            "tries": "u1",  # visits without success in a row
            "due": "<u4",  # wall, seconds: when waiting, not before; when done, time of the visit
            "cash": "<u8",  # OPIC: what the page holds; with the top bit set, what it held and has handed on
            "merit": "<f4",  # weighted sum of its link scores; untouched while there are none
            "completed": "<f4",  # completed PageRank, without the base of pages found since it was computed
            "boost": "<f4",  # by pattern of its URL; untouched while there are no patterns
        },
        "site": {
            "pages": "<u4",  # known pages
            "pending": "<u4",  # of these, pending
        },
    }
    times = ("page.due",)
    needs = ("counts", "totals", "ranking")
    shown = SHOWN

    def __init__(self, desk: Desk) -> None:
        manager = desk.settings.manager
        self._ranking = desk.columns.ranking
        self._settings = manager
        self._patterns = [(re.compile(text.encode()), boost) for text, boost in manager.boosts.items()]
        self.policy = strategy_named(manager.policy, LIVE, "manager.policy")
        self.totals = new_totals()
        """Cash kept, spent, lost and in total (OPIC)."""
        self.counts = learn.new_counts()
        """Known pages by state, and by outcome or reason."""
        self.limits = learn.LearnLimits.of(desk.settings)
        self.older: Older | None = None
        """The scores of an older collection, if the policy wants them."""
        if desk.folder is not None:
            self.read_older(desk.folder)

    def arrays(self) -> dict[str, Array | Parts]:
        return {"counts": self.counts.reshape(-1), "totals": self.totals, "ranking": self._ranking}

    def meta(self) -> dict[str, Any]:
        return {"policy": self._settings.policy, "boosts": self._boosts_in_order()}

    def fits(self, image: Image) -> bool:
        return (
            super().fits(image)
            and image.meta["policy"] == self._settings.policy
            and image.meta.get("boosts") == self._boosts_in_order()
            and image.length("counts") == self.counts.size
        )

    def load(self, image: Image) -> None:
        image.into("counts", self.counts.reshape(-1))
        image.into("totals", self.totals)
        image.into("ranking", self._ranking)

    def read_older(self, shard: Path) -> None:
        if older.wanted(self._settings):
            self.older = Older(shard)

    def _boosts_in_order(self) -> list[list[Any]]:
        """The first pattern that matches counts."""
        return [list(item) for item in self._settings.boosts.items()]

    def boosts_of(self, urls: list[bytes]) -> list[float] | None:
        """The boost of each of these URLs; None without any patterns."""
        if not self._patterns:
            return None
        return [next((boost for pattern, boost in self._patterns if pattern.search(url)), 0.0) for url in urls]


def add_pages(desk: Desk, applied: Applied) -> None:
    """Pages become known. Their count is published after their columns, and `unjudged` after the count: a plan, made in
    another thread, that sees `unjudged` finds them."""
    part, pages, new = desk[Pages], desk.columns.page, writable(applied.effects.pages)
    first = pages.count
    count = first + len(new)
    check_room("pages", "max_pages", count, pages.limit)
    unjudged = enter(pages, desk.columns.site, new, first)
    boosts = part.boosts_of(applied.effects.urls.split())
    if boosts is not None:
        pages.boost[first:count] = boosts
    if part.older is not None:
        pages.merit[first:count] = part.older.scores(new, applied.effects.visits, pages.merit)
    desk.columns.known.add(new["fingerprint"].copy(), np.arange(first, count, dtype=np.uint32))
    learn.plant(desk.columns, part.policy, part.totals, part.counts, first, len(new))
    pages.count = count
    desk[Rules].unjudged |= unjudged


def learn_from_visits(desk: Desk, applied: Applied) -> None:
    part, effects = desk[Pages], applied.effects
    links = effects.link_targets, effects.link_kinds
    learn.learn(desk.columns, part.policy, part.totals, part.counts, applied.for_pages, *links, part.limits)


def judge_pages(desk: Desk, applied: Applied) -> None:
    learn.judge(desk.columns, desk[Pages].counts, applied.effects.verdicts)
