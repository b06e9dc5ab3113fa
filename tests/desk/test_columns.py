"""Columns that other threads read while the loop writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.base.model import State, Texts
from gossamer.collection.journal.effects import PAGE, Effects
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import LAYOUT, PARTS, new_desk
from gossamer.desk.columns import Group
from gossamer.desk.desk import layout_of
from gossamer.desk.rules import Rules

SMALL = ("collection.max_pages=100", "collection.max_sites=10")


def test_the_count_of_pages_is_published_after_their_columns() -> None:
    """And that there are pages to be judged, after the count: a plan that sees the flag finds them."""
    desk = new_desk(override(Settings(), SMALL), 1)
    seen: list[tuple[int, list[int], list[int], int, bool]] = []

    class Watched(Group):
        @property
        def count(self) -> int:
            return int(self.__dict__["count"])

        @count.setter
        def count(self, value: int) -> None:
            columns = self.depth[:value].tolist(), self.state[:value].tolist()
            seen.append((value, *columns, int(desk.columns.site.pending[0]), desk[Rules].unjudged))
            self.__dict__["count"] = value

    desk.columns.page.__class__ = Watched
    pages: Any = np.zeros(2, PAGE)
    pages["fingerprint"], pages["depth"], pages["state"] = [11, 12], [3, 4], State.PENDING
    effects = Effects(1, 1.0, 1.0)
    effects.sites, effects.sites_www = Texts.join([b"a.example"], "<u2"), np.zeros(1, np.uint8)
    effects.origins = np.array([(0, 80, 0)], effects.origins.dtype)
    effects.pages, effects.urls = pages, Texts.join([b"http://a.example/1", b"http://a.example/2"], "<u2")
    apply(desk, effects)
    assert seen == [(2, [3, 4], [State.PENDING] * 2, 2, False)]
    assert desk[Rules].unjudged


def test_every_column_belongs_to_one_part() -> None:
    assert layout_of(PARTS) == LAYOUT
    declared = [f"{group}.{name}" for part in PARTS for group, names in part.columns.items() for name in names]
    assert len(declared) == len(set(declared)) > 40
