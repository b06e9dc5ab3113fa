"""Quality, value and profit: the formulas, figure 7.1 with the real plan, the value of the index, revisits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome, State
from gossamer.base.units import Duration
from gossamer.config.presets import PRESETS, Preset
from gossamer.config.settings import ManagerSettings
from gossamer.crawler.parts import new_columns
from gossamer.desk.columns import Columns
from gossamer.manager.plan import Plan, make_plan
from gossamer.manager.policies import SEED_CASH
from gossamer.manager.position import standing_of
from gossamer.manager.scans import soonest_due
from gossamer.manager.strategies import LIVE
from gossamer.manager.value import GIVEN, SCORES, Value, check_weights, merit_weights

WALL = 1_000_000_000.0
PERIOD = 1e7
UNIT = st.floats(0, 1)


def some_columns(pages: int) -> Columns:
    columns = new_columns(pages, pages)
    columns.page.count = columns.site.count = columns.origin.count = pages
    columns.origin.site[:pages] = columns.page.origin[:pages] = np.arange(pages)
    return columns


def fetched(columns: Columns, page: int, age: float, outcome: Outcome = Outcome.OK) -> None:
    columns.page.state[page], columns.page.due[page], columns.page.outcome[page] = State.DONE, WALL - age, outcome


def plan(columns: Columns, value: Value, batch: int = 100, policy: str = "value") -> Plan:
    return make_plan(columns, LIVE[policy], WALL, batch, 100, 60.0, value, 100 * SEED_CASH)


def figure_7_1() -> tuple[Columns, Value]:
    """P1: quality .4, freshness .1; P2: .7 and .9; P3: .6, not visited."""
    columns = some_columns(3)
    columns.page.boost[:3] = [0.4, 0.7, 0.6]
    fetched(columns, 0, -math.log(0.1) * PERIOD)
    fetched(columns, 1, -math.log(0.9) * PERIOD)
    return columns, Value({"boost": 1.0}, change_period=PERIOD, min_period=3600.0)


def test_figure_7_1() -> None:
    columns, value = figure_7_1()
    assert set(plan(columns, value, batch=2).pages.tolist()) == {0, 2}
    standings = [standing_of(columns, "value", value, 1, WALL, page, 2, 100) for page in range(3)]
    assert [round(s.profit, 4) for s in standings] == [0.36, 0.07, 0.6]
    assert [round(s.score, 4) for s in standings] == [0.36, 0.07, 0.6]
    assert [round(s.value, 4) for s in standings] == [0.04, 0.63, 0]
    assert [s.rank for s in standings] == [2, 3, 1]
    assert [s.planned for s in standings] == [True, False, True]


def test_the_value_of_the_index_is_the_sum_over_its_pages() -> None:
    columns, value = figure_7_1()
    for policy in LIVE:
        made = plan(columns, value, policy=policy)
        assert made.index_value == pytest.approx(0.67, abs=1e-5)
        assert made.index_pages == 2
    assert plan(columns, replace(value, min_period=0.0)).index_value == pytest.approx(0.67, abs=1e-5)


def test_pages_outside_the_index_add_nothing_to_it() -> None:
    columns, value = figure_7_1()
    for page, outcome in enumerate((Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.NOT_FOUND)):
        fetched(columns, page, 0, outcome)
    made = plan(columns, value)
    assert (made.index_value, made.index_pages) == (0.0, 0)


def test_the_exponents_change_the_value() -> None:
    columns, value = figure_7_1()
    made = plan(columns, replace(value, alpha=2.0, gamma=0.5))
    assert made.index_value == pytest.approx(0.4**2 * 0.1**0.5 + 0.7**2 * 0.9**0.5, rel=1e-5)
    score = standing_of(columns, "value", replace(value, alpha=2.0, gamma=0.5), 1, WALL, 0, 9, 9).score
    assert score == pytest.approx(0.4**2 * (1 - 0.1**0.5), rel=1e-5)


@given(UNIT, UNIT, st.sampled_from(list(PRESETS.values())))
def test_profit_is_the_value_after_a_fetch_minus_the_value_now(
    quality: float, freshness: float, preset: Preset
) -> None:
    value = Value({"boost": 1.0}, *preset[:3])
    assert value.profit(quality, 0.0, 0.0) == quality**value.alpha
    assert 0 <= value.profit(quality, 1.0, freshness) <= value.profit(quality, 0.0, freshness)
    assert value.profit(quality, 1.0, 1.0) == 0
    assert value.value(quality, 0.0, freshness) == 0


WEIGHTS = st.dictionaries(st.sampled_from(SCORES), st.just(0.0) | st.floats(1e-6, 1_000), min_size=1)


@given(WEIGHTS, st.floats(0, 1), st.integers(0, 2**40))
def test_quality_lies_between_0_and_1(weights: dict[str, float], score: float, cash: int) -> None:
    if not any(weights.values()):
        return
    value = Value(check_weights(weights))
    columns = some_columns(2)
    columns.page.merit[:2] = score * sum(merit_weights(value.weights).values())
    columns.page.boost[:2], columns.page.cash[:2], columns.site.pending[:2] = score, cash, [5, 0]
    found = standing_of(columns, "value", value, 2**40, WALL, 0, 9, 9)
    assert -1e-6 <= found.quality <= 1 + 1e-6


def test_quality_is_the_weighted_mean_of_the_scores() -> None:
    columns = some_columns(2)
    columns.page.merit[0], columns.page.boost[0], columns.page.depth[0] = 3 * 0.5, 1.0, 3
    value = Value({"pagerank": 3.0, "boost": 1.0, "depth": 2.0, "static": 2.0})
    found = standing_of(columns, "value", value, 1, WALL, 0, 9, 9)
    assert found.quality == pytest.approx((3 * 0.5 + 1 + 2 / 4 + 2) / 8)
    assert found.parts == pytest.approx({"links": 1.5 / 8, "boost": 1 / 8, "depth": 0.5 / 8, "static": 2 / 8})


def test_the_worth_of_a_fetched_page_is_the_cash_that_it_held() -> None:
    columns = some_columns(2)
    columns.page.cash[:2] = [SEED_CASH, SEED_CASH | GIVEN]
    fetched(columns, 1, 0)
    value = Value({"opic": 1.0})
    qualities = [standing_of(columns, "value", value, 3 * SEED_CASH, WALL, p, 9, 9).quality for p in range(2)]
    assert qualities[0] == qualities[1] > 0


# --- fetched again ----------------------------------------------------------------------------------------------------


def test_pages_are_fetched_once_without_a_period() -> None:
    columns, value = figure_7_1()
    assert plan(columns, replace(value, min_period=0.0)).pages.tolist() == [2]
    assert plan(columns, replace(value, gamma=0.0)).pages.tolist() == [2], "freshness does not count: nothing to gain"
    assert soonest_due(columns, value=replace(value, min_period=0.0)) == math.inf


@pytest.mark.parametrize("policy", LIVE)
def test_pages_fetched_long_enough_ago_are_planned_again(policy: str) -> None:
    columns = some_columns(8)
    columns.page.boost[:8], columns.page.merit[:8], columns.page.cash[:8] = 0.5, 0.5, SEED_CASH
    columns.page.completed[:8] = 0.5
    value = Value({"boost": 1.0}, change_period=1000.0, min_period=100.0)
    outcomes = (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.NOT_FOUND, Outcome.OK, Outcome.OK)
    for page, outcome in enumerate(outcomes):
        fetched(columns, page, 100.0 if page != 4 else 99.0, outcome)
    columns.page.reason[5] = 1
    made = plan(columns, value, policy=policy)
    assert sorted(made.pages.tolist()) == [0, 1, 2, 6, 7]
    assert made.candidates == 5
    assert made.sites.tolist()[:2] == [6, 7], "pages not fetched yet come first"


def test_the_oldest_copies_are_planned_first() -> None:
    columns = some_columns(3)
    columns.page.boost[:3] = 0.5
    for page, age in enumerate((300.0, 500.0, 400.0)):
        fetched(columns, page, age)
    made = plan(columns, Value({"boost": 1.0}, change_period=1000.0, min_period=100.0))
    assert made.sites.tolist() == [1, 2, 0]


def test_the_soonest_due_time_includes_pages_to_be_fetched_again() -> None:
    columns = some_columns(4)
    columns.page.state[:4] = State.EXCLUDED
    value = Value({"boost": 1.0}, min_period=1000.0)
    assert soonest_due(columns, value=value) == math.inf
    fetched(columns, 0, 300.0)
    fetched(columns, 1, 400.0, Outcome.NOT_FOUND)
    assert soonest_due(columns, value=value) == WALL + 700
    fetched(columns, 2, 500.0)
    columns.page.reason[2] = 1
    assert soonest_due(columns, value=value) == WALL + 700
    columns.page.state[3], columns.page.due[3] = State.WAITING, WALL + 600
    assert soonest_due(columns, value=value) == WALL + 600
    columns.site.next[0] = columns.site.next[3] = WALL + 800
    assert soonest_due(columns, value=value) == WALL + 800
    assert soonest_due(columns, WALL + 799, value) == math.inf


# --- settings ---------------------------------------------------------------------------------------------------------


def test_presets_set_the_exponents_unless_the_settings_do() -> None:
    general = Value.of(ManagerSettings())
    assert (general.alpha, general.gamma) == (1, 1)
    news = Value.of(ManagerSettings(preset="news", alpha=3.0))
    assert (news.alpha, news.gamma) == (3.0, 2)
    assert PRESETS["research"].alpha > PRESETS["research"].gamma
    assert PRESETS["news"].gamma > PRESETS["news"].alpha


def test_presets_set_the_revisit_period_unless_the_settings_do() -> None:
    periods = {name: Value.of(ManagerSettings(preset=name)).min_period for name in PRESETS}
    assert periods == {"general": 0, "research": 0, "archive": 30 * 86_400, "news": 6 * 3600, "mirror": 86_400}
    assert Value.of(ManagerSettings(preset="news", min_period=Duration(0))).min_period == 0
    assert Value.of(ManagerSettings(preset="research", min_period=Duration(60))).min_period == 60


def test_presets_order_pages_differently() -> None:
    """A good page with a copy that is two months old, and a poor page that was never fetched."""
    columns = some_columns(2)
    columns.page.boost[:2] = [0.95, 0.3]
    fetched(columns, 0, 60 * 86_400)
    made = {name: Value.of(ManagerSettings(preset=name, weights={"boost": 1.0})) for name in PRESETS}
    orders = {name: plan(columns, value).sites.tolist() for name, value in made.items()}  # one page per site
    assert orders == {"general": [1], "research": [1], "archive": [1, 0], "news": [0, 1], "mirror": [1, 0]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ManagerSettings(weights={"pagerak": 1.0}), "'pagerak' is not one of .*indegree.*did you mean pagerank"),
        (ManagerSettings(weights={"opic": -1.0}), "opic: -1.0 is out of range"),
        (ManagerSettings(weights={"opic": math.nan}), "opic: nan is out of range"),
        (ManagerSettings(weights={"opic": 0.0}), "no score has a weight"),
        (ManagerSettings(preset="everything"), "manager.preset.*\n.*research"),
        (ManagerSettings(change_period=Duration(0)), "change_period"),
    ],
)
def test_invalid_settings_are_errors_that_name_the_cure(settings: ManagerSettings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Value.of(settings)


def test_the_default_settings_make_the_default_value() -> None:
    assert Value.of(ManagerSettings()) == Value()
