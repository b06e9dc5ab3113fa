"""What a budget gives, from what is believed of the pages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64, Array
from gossamer.laboratory.freshness.run import simulate
from gossamer.laboratory.freshness.worlds import generated, rates_of
from gossamer.manager.revisits.forecast import LONGEST, Copies, Costs, Forecast, New, Outlook
from gossamer.manager.revisits.policies import POLICIES, behind, up_to_date
from gossamer.manager.revisits.rates import CODES, Belief, Prior, decode, encode
from gossamer.manager.revisits.scale import table_of

DAY = 86_400.0
PRIOR = Prior.of(20 * DAY)
NONE = New(0.5, 0.0)
BYTES = Costs(600.0, 25_000.0, 30_000.0)


def codes_of(rates: F64, spread: float = 0.1) -> Array:
    return encode(Belief(np.log(rates).astype(np.float32), np.full(len(rates), spread, np.float32))).astype(np.int64)


def forecast_of(
    codes: Array, worths: Array, sites: Array, caps: F64, policy: str = "expected", new: New = NONE, budget: float = 1.0
) -> Forecast:
    copies, kept = Copies.of(codes, worths, sites, caps, DAY)
    table = table_of(policy, PRIOR, 1.0, budget * 1e9, 1e9, codes, np.ones(len(codes)))
    return Forecast(copies, decode(np.arange(CODES), PRIOR), table, DAY, kept, BYTES, new)


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Array, Array, Array, F64]:
    """Codes, worths, sites, and caps of the sites."""
    pages, sites = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    caps = np.array(draw(st.lists(st.sampled_from([0.0, 1e-6, 1e-4, np.inf]), min_size=sites, max_size=sites)))
    worths = np.exp(random.normal(0, draw(st.sampled_from([0.0, 1.0, 3.0])), pages))
    return random.integers(0, CODES, pages), worths, random.integers(0, sites, pages), caps


policies = st.sampled_from(list(POLICIES))
budgets = st.floats(1e-9, 1.0)


@settings(max_examples=60, deadline=None)
@given(crowds(), st.sampled_from(["expected", "uniform", "outdated", "profit", "proportional"]), budgets, st.booleans())
def test_a_larger_budget_never_makes_copies_less_fresh(
    crowd: tuple[Array, Array, Array, F64], policy: str, budget: float, in_bytes: bool
) -> None:
    found = forecast_of(*crowd, policy)
    less, more = found.within(budget, in_bytes), found.within(2 * budget, in_bytes)
    assert less.freshness <= more.freshness + 1e-9
    assert less.age >= more.age - 1e-6
    assert less.again <= more.again + 1e-12
    assert less.never >= more.never


@settings(max_examples=60, deadline=None)
@given(crowds(), policies, budgets, st.booleans(), st.floats(0, 0.98))
def test_no_budget_is_exceeded(
    crowd: tuple[Array, Array, Array, F64], policy: str, budget: float, in_bytes: bool, share: float
) -> None:
    found = forecast_of(*crowd, policy, New(share, 1e-4), budget).within(budget, in_bytes)
    assert (found.bytes if in_bytes else found.requests) <= budget
    assert 0 <= found.freshness <= 1
    assert 0 <= found.age <= LONGEST
    assert found.new <= min(1e-4, share * found.requests + 1e-15)


@settings(max_examples=60, deadline=None)
@given(crowds(), policies)
def test_no_site_is_asked_more_often_than_its_waits_allow(crowd: tuple[Array, Array, Array, F64], policy: str) -> None:
    codes, worths, sites, caps = crowd
    found = forecast_of(codes, worths, sites, caps, policy).within(1e6, False)
    pages = np.bincount(sites, minlength=len(caps))
    assert found.again <= np.minimum(caps, pages / DAY).sum() * (1 + 1e-9)
    assert found.bound <= (caps < pages / DAY).sum()
    alone = [forecast_of(codes[on], worths[on], sites[on], caps).within(1e6, False) for on in _sites(sites)]
    assert all(each.again <= cap + 1e-12 for each, cap in zip(alone, caps[np.unique(sites)], strict=True))


def _sites(sites: Array) -> list[Array]:
    return [np.flatnonzero(sites == each) for each in np.unique(sites)]


@settings(max_examples=60, deadline=None)
@given(st.floats(np.log(1e-8), np.log(1e-5)), st.integers(0, 15), st.floats(1.5, 300))
def test_one_page_is_as_fresh_as_the_closed_form_says(log_rate: float, level: int, days: float) -> None:
    code = encode(Belief(np.array([log_rate], np.float32), np.array([0.25 * level], np.float32))).astype(np.int64)
    found = forecast_of(code, np.ones(1), np.zeros(1, np.int64), np.array([np.inf])).within(1 / (days * DAY), False)
    if found.never:  # it changes so often that a visit gains nothing that lasts
        assert np.exp(log_rate) * days * DAY > 1
        return
    interval = 1 / found.again
    assert interval == pytest.approx(days * DAY, rel=1e-3)
    belief = decode(code, PRIOR)
    nodes = np.linspace(-8, 8, 4001)
    x = np.exp(float(belief.mean[0]) + float(belief.spread[0]) * nodes) * interval
    weights = np.exp(-nodes * nodes / 2)
    weights /= weights.sum()
    assert found.freshness == pytest.approx(float((-np.expm1(-x) / x) @ weights), rel=0.01)
    assert found.age == pytest.approx(interval * float((0.5 - 1 / x - np.expm1(-x) / x**2) @ weights), rel=0.03, abs=60)


@given(st.floats(-20, 0), st.floats(1, 1e8))
def test_a_sure_belief_has_the_textbook_freshness_and_age(mean: float, seconds: float) -> None:
    """Cho and Garcia-Molina: (1 - e^-x) / x, and I (1/2 - 1/x + (1 - e^-x) / x^2), for x = rate I."""
    x = np.exp(mean) * seconds
    if 1e-3 < x < 1e6:
        belief = Belief(np.array([mean], np.float32), np.zeros(1, np.float32))
        at = np.array([seconds])
        assert up_to_date(belief, at)[0] == pytest.approx(-np.expm1(-x) / x, rel=0.01)
        assert behind(belief, at)[0] == pytest.approx(seconds * (0.5 - (1 + np.expm1(-x) / x) / x), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["expected", "uniform", "freshness"])
def test_a_simulated_crawl_comes_out_as_forecast(policy: str) -> None:
    """400 pages that change about once in ten days, and as many visits as changes."""
    rates = rates_of(400, 1 / (10 * DAY), 1.0, 3)
    world = generated("poisson", rates, 300 * DAY, 3)
    budget = float(rates.sum())
    real = simulate(world, policy, budget, rates=rates)
    codes = codes_of(rates)
    told: Outlook = forecast_of(
        codes, np.ones(400), np.zeros(400, np.int64), np.array([np.inf]), policy, budget=budget
    ).within(budget, False)
    assert told.freshness == pytest.approx(real.mean(10), abs=0.02)
    if policy == "uniform":  # others give pages up, whose age grows for as long as the simulation lasts
        assert told.age == pytest.approx(float(real.age[real.visits > 10].mean()), rel=0.1)


def test_what_a_visit_takes_depends_on_what_it_finds() -> None:
    """Pages that never change cost as much as an answer without a body; those that always do, a page each."""
    same, site, cap = np.ones(10), np.zeros(10, np.int64), np.array([np.inf])
    still = forecast_of(codes_of(np.full(10, 1e-9)), same, site, cap, "uniform").within(10 / (30 * DAY), False)
    busy = forecast_of(codes_of(np.full(10, 1e-3)), same, site, cap, "uniform").within(10 / (30 * DAY), False)
    assert still.bytes / still.again == pytest.approx(600, rel=0.2)
    assert busy.bytes / busy.again == pytest.approx(25_000, rel=0.01)
