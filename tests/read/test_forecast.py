"""`gossamer forecast`: from a collection that re-visits, and from those that cannot be forecast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gossamer.base.errors import GossamerError, UsageError
from gossamer.cli.options import rate_of
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings, dump
from gossamer.read.forecast import FACTORS, Budget, forecast, levels_within
from gossamer.webs.simulated import Reply
from tests.support.world import World

DAY = 86_400.0
ROOT = "http://a.example/"
PAGES = 12


def living(folder: Path, *changes: str) -> World:
    """A site whose page i changes every i + 1 days."""

    def reply(url: str) -> Reply:
        name = url.removeprefix(ROOT)
        number = int(name) if name.isdigit() else 0
        version = int(world.clock.wall() / ((number + 1) * DAY))
        return Reply(digest=1 + 1000 * number + version % 1000, links=[f"{ROOT}{i}" for i in range(1, PAGES)])

    world = World(folder, reply, [*changes])
    (folder / SETTINGS).write_text(dump(world.settings))
    return world


@pytest.mark.slow
def test_a_collection_that_re_visits_has_a_forecast(tmp_path: Path) -> None:
    world = living(tmp_path, "manager.continuous=true", "manager.min_period=12h")
    world.run([ROOT], seconds=12 * DAY)
    usual = forecast(world.folder, None)
    assert usual.copies == usual.compared == PAGES
    assert not usual.given
    one = usual.rows[FACTORS.index(1.0)].outlook
    lately = usual.lately.revisits / usual.lately.seconds
    assert lately == pytest.approx(PAGES / (0.5 * DAY), rel=0.1), "all it may"
    assert one.again == pytest.approx(lately, rel=0.1)
    assert one.new == 0
    assert one.freshness > usual.rows[0].outlook.freshness > 0.5
    less = forecast(world.folder, Budget(3 / DAY), curve=True)
    assert less.rows[1].outlook.again == pytest.approx(3 / DAY, rel=1e-3)
    assert less.rows[1].outlook.freshness < one.freshness
    assert [row.outlook.freshness for row in less.curve] == sorted(row.outlook.freshness for row in less.curve)
    assert json.loads(json.dumps(less.as_json()))["budget"]["given"]
    waits = forecast(world.folder, Budget(1.0)).rows[-1].outlook
    assert waits.again <= PAGES / (0.5 * DAY) * 1.001, "min_period"


def test_a_collection_without_a_forecast_says_what_is_missing(tmp_path: Path) -> None:
    world = living(tmp_path)
    world.run([ROOT], seconds=DAY)
    with pytest.raises(GossamerError, match="no page was visited again") as told:
        forecast(world.folder, None)
    assert "--continuous" in told.value.cure


def test_policies_that_only_order_new_pages_have_a_forecast_too(tmp_path: Path) -> None:
    world = living(tmp_path, "manager.continuous=true", "manager.policy=breadth-first")
    world.run([ROOT], seconds=4 * DAY)
    found = forecast(world.folder, None)
    assert 0.3 < found.rows[0].outlook.freshness < found.rows[-1].outlook.freshness


def test_rates_are_read_with_their_units() -> None:
    assert rate_of("--requests", "2/s") == 2
    assert rate_of("--requests", "120/min") == 2
    assert rate_of("--requests", " 86400 / d") == 1
    for wrong in ("2", "0/s", "-1/s", "x/s", "2/week", "2/", "inf/s", "nan/s"):
        with pytest.raises(UsageError, match="--requests"):
            rate_of("--requests", wrong)


def test_dates_count_as_far_as_a_site_is_believed() -> None:
    """A page is dated or not; a site is believed, or told nothing, or lied."""
    site = SimpleNamespace(doubt=np.array([1.6, 0.0, 0.01], np.float32), announced=np.full(3, 0.75, np.float32))
    page = SimpleNamespace(signals=np.array([1, 0, 1, 3], np.uint8))
    image = cast("Any", SimpleNamespace(columns=SimpleNamespace(site=site, page=page)))
    chosen, sites = np.arange(4), np.array([0, 0, 1, 2])
    assert (levels_within(image, Settings(), chosen, sites) > 0).tolist() == [True, False, False, False]
    other = replace(Settings(), manager=replace(Settings().manager, revisit="uniform"))
    assert not levels_within(image, other, chosen, sites).any()
