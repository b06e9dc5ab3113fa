"""The dynamics of pages: lives and versions that nobody sees whole."""

from __future__ import annotations

from math import isnan, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Outcome
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump
from gossamer.laboratory.report.make import report
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.revisits.scale import measure
from gossamer.read.sql.database import Database
from gossamer.read.sql.dynamics import LONGER, dynamics, survival
from gossamer.read.sql.sources import find
from gossamer.webs.simulated import Reply
from tests.support.world import World

DAY = 86_400.0


@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=50))
@settings(max_examples=50, deadline=None)
def test_without_censoring_the_median_is_that_of_the_lives(lives: list[float]) -> None:
    found = survival(np.array(lives), np.ones(len(lives), np.bool_))
    assert found.median == sorted(lives)[(len(lives) - 1) // 2]
    assert found.mean == pytest.approx(sum(lives) / len(lives))
    assert not found.extrapolated


@given(st.integers(0, 2**32), st.floats(0.1, 1000.0), st.floats(0.3, 5.0))
@settings(max_examples=30, deadline=None)
def test_a_hazard_is_found_whatever_part_of_the_lives_is_censored(seed: int, mean: float, seen: float) -> None:
    """Lives of a constant hazard; each is seen for a time of its own, `seen` times the mean on average."""
    random = np.random.default_rng(seed)
    lives, windows = random.exponential(mean, 4_000), random.uniform(0, 2 * seen * mean, 4_000)
    found = survival(np.minimum(lives, windows), lives <= windows)
    assert found.median == pytest.approx(log(2) * mean, rel=0.2)
    assert found.mean == pytest.approx(mean, rel=0.2)
    naive = float(np.median(lives[lives <= windows]))
    assert naive < found.median, "those that were seen to end are the short ones"


def test_nothing_seen_is_nothing_known() -> None:
    assert isnan(survival(np.zeros(0), np.zeros(0, np.bool_)).median)
    none = survival(np.array([1.0, 2.0]), np.zeros(2, np.bool_))
    assert (none.ends, none.seen, none.extrapolated) == (0, 3.0, True)
    assert isnan(none.median)
    assert isnan(none.mean)


ROOT = "http://a.example/"


@pytest.mark.slow
def test_lives_and_dynamics_of_a_crawl_are_those_of_its_web(tmp_path: Path) -> None:
    """Visited each day for 20 days: one page changes every other day, one is gone from day 10 on, one is born on day
    5, one stays."""
    world = World(tmp_path, {}, ["manager.continuous=true", "manager.new_share=0"])
    begun = world.clock.monotonic()

    def reply(url: str) -> Reply:
        day = (world.clock.monotonic() - begun) / DAY
        gone = Reply(outcome=Outcome.NOT_FOUND, status=404)
        links = [ROOT + name for name in ("often", "mortal", "still", *(["born"] if day > 5 else []))]
        if url == ROOT:
            return Reply(links=links, digest=1 + (day > 5), sketch=3 if day > 5 else 2**60 - 1)
        name = url.rpartition("/")[2]
        if name == "often":
            version = int(day / 2)
            return Reply(digest=100 + version, sketch=0x9E3779B97F4A7C15 * (version + 1) % 2**64)
        if name == "robots.txt" or (name == "mortal" and day > 10) or (name == "born" and day <= 5):
            return gone
        return Reply(digest=hash(name) % 1000 + 5000)

    world.replies = reply
    result = world.run([ROOT], seconds=20 * DAY)
    assert result.crawl.desk.columns.page.count == 5
    database = Database(find(tmp_path), Settings())
    rows = database.query("select url, visits, changes, ended is null, unchanged, changed, born from lives").rows
    lives = {str(row[0]).rpartition("/")[2]: row[1:] for row in rows}
    assert set(lives) == {"", "often", "mortal", "still", "born"}
    assert {name for name, row in lives.items() if not row[2]} == {"mortal"}
    assert {name for name, row in lives.items() if row[5]} == {"born"}
    assert (lives["still"][1], lives["still"][4]) == (0, None)
    assert lives["still"][3] == pytest.approx(19, abs=1)
    assert lives["often"][1] >= 8
    assert lives["often"][3] <= 2.1 <= lives["often"][4] + 1.1
    assert lives[""][1] == 1
    found = dynamics(database)
    assert (found.pages, found.visited_again, found.life.ends) == (5, 5, 1)
    assert found.days == pytest.approx(20, abs=1.5)
    assert found.life.extrapolated
    assert found.version.ends == 2
    assert found.intervals["a week or less"] == pytest.approx(1 / 5)
    assert found.intervals[LONGER] == pytest.approx(3 / 5)
    assert sum(found.intervals.values()) == pytest.approx(1.0)
    assert found.gone_a_week == pytest.approx(7 / found.life.seen)
    assert found.new_a_week == pytest.approx(7 / found.life.seen)
    (tmp_path / SETTINGS).write_text(dump(world.settings))
    (shown,) = report([tmp_path], ["changes"])
    facts = {str(row[0]): row[1] for row in shown.tables[0].rows}
    assert facts["pages gone in a week"] == pytest.approx(found.gone_a_week)
    assert facts["median lifespan, from the first visit, days, extrapolated"] == pytest.approx(found.life.median)
    assert any("Koehler" in str(row[0]) for table in shown.tables for row in table.rows), "table 2.1"
    told = database.query("select sum(visits), sum(changed), count(*) from calibration").rows
    compared, changed, tenths = next(iter(told))
    empty = database.query("select count(*) filter (visits = 0), count(*) filter (share is null) from calibration").rows
    assert len(set(next(iter(empty)))) == 1
    assert tenths == 10
    assert changed == lives["often"][1] + lives[""][1]
    assert compared > 60
    desk = result.crawl.desk
    expected = measure(desk.columns, desk[Habits].prior, desk.wall)
    ((site, copies, freshness, age),) = database.query("select * from freshness").rows
    assert (site, copies) == (0, 4), "one of the five pages is gone"
    assert freshness == pytest.approx(expected["freshness"], abs=1e-4)
    assert age == pytest.approx(expected["days_behind"], abs=1e-3)
