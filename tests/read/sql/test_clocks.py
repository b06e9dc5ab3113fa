"""Hours at which the pages of a site change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump
from gossamer.read.explain.site import explain_site
from gossamer.read.explain.text import lines_of
from gossamer.read.sql.clocks import CHANCE, clocks, hours_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.webs.simulated import Reply
from tests.support.world import World

PAGES, WEEKS = 20, 6


def rows(seed: int, at_work: float, rest: float, short: bool = True) -> F64:
    """Pages of two sites, visited at random hours, changed with these probabilities at and outside working hours. The
    second site keeps none. Pages differ by up to a factor of four."""
    random, found = np.random.default_rng(seed), []
    for page in range(2 * PAGES):
        factor = random.uniform(0.25, 1.0)
        hours = random.integers(0, 168, WEEKS * 30)
        works = (hours // 24 < 5) & (not short or (hours % 24 >= 9) & (hours % 24 < 19))
        chance = factor * (
            np.where(works, at_work, rest) if page < PAGES else np.full(len(hours), (at_work + rest) / 2)
        )
        changed = random.random(len(hours)) < chance
        found += [(page // PAGES, page, hour, 1, int(of), short) for hour, of in zip(hours, changed, strict=True)]
    return np.array(found, np.float64)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.floats(0.05, 0.9))
def test_a_site_without_hours_is_told_none(seed: int, chance: float) -> None:
    """Whatever its pages do. Random seeds would give a false alarm in 2 % of the runs of this test."""
    assert CHANCE * 20 <= 0.02
    assert hours_of(rows(seed, chance, chance)) == []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_the_hours_of_a_site_are_found(seed: int, short: bool) -> None:
    """Of the first site alone. From visits a day apart only the days are known."""
    (found,) = hours_of(rows(seed, 0.8, 0.05, short))
    assert found.site == 0
    assert found.weekdays
    assert found.share >= 0.7
    if short:
        assert 7 <= found.first <= 11
        assert "Monday to Friday, " in str(found)
    else:
        assert str(found).startswith("Monday to Friday: ")


def test_nothing_visited_again_keeps_no_hours() -> None:
    assert hours_of(np.zeros((0, 6))) == []


@pytest.mark.slow
def test_a_crawl_shows_when_pages_change(tmp_path: Path) -> None:
    """Visited every six hours for eight weeks: a page that changes at noon of working days, and one that never does."""
    root, still = "http://a.example/", "http://a.example/still"
    world = World(tmp_path, {}, ["manager.continuous=true", "manager.min_period=6h", "manager.new_share=0"])

    def reply(url: str) -> Reply:
        if url == still:
            return Reply(digest=7)
        if url != root:
            return Reply()
        days = int((world.clock.wall() - 43_200) // 86_400)  # the first day of the epoch was a Thursday
        weeks, day = divmod(days + 3, 7)
        version = 5 * weeks + min(day, 4)
        return Reply(digest=10 + version, sketch=0x9E3779B97F4A7C15 * (version + 1) % 2**64, links=[still])

    world.replies = reply
    assert world.run([root], seconds=56 * 86_400).ending is not None
    (tmp_path / SETTINGS).write_text(dump(Settings()))
    database = Database(find(tmp_path, fresh=True), Settings())
    changed = database.run(
        "select weekday, hour, sum(changed) from clocks group by all having sum(changed) > 0", views=["clocks"]
    )
    assert {day for day, _, _ in changed} <= {1, 2, 3, 4, 5}
    assert all(6 <= hour <= 18 for _, hour, _ in changed)
    (told,) = clocks(database)
    explained = explain_site(tmp_path, "a.example")
    assert explained.get("change_hours") == told.as_json(), "explain reads the same visits without SQL"
    assert f"its pages change {told}" in list(lines_of(explained, world.clock.wall()))
    assert told.weekdays
