"""How often pages are visited whose signals are believed, and how fresh their copies are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64, I64
from gossamer.laboratory.freshness.ear import Ear, announced
from gossamer.laboratory.freshness.run import simulate
from gossamer.laboratory.freshness.worlds import generated, rates_of
from gossamer.manager.revisits import dated
from gossamer.manager.revisits.dated import PRECISIONS, SHARES, Course, course, levels_of
from gossamer.manager.revisits.forecast import Copies, Costs, Forecast, New
from gossamer.manager.revisits.rates import CODES, Belief, Prior, decode, encode
from gossamer.manager.revisits.scale import table_of
from gossamer.manager.revisits.signals import Trust

DAY = 86_400.0
PRIOR = Prior.of(20 * DAY)
precisions, shares = st.sampled_from(PRECISIONS.tolist()), st.sampled_from(SHARES.tolist())


def fresh_at(of: Course, interval: float) -> float:
    return float(np.interp(np.log(interval), np.log(of.interval), of.fresh))


@settings(max_examples=10, deadline=None)
@given(precisions, st.floats(0.05, 3.0))
def test_without_announced_changes_a_page_is_visited_at_even_intervals(precision: float, interval: float) -> None:
    of = course(precision, 0.9999, 0.0)
    assert fresh_at(of, interval) == pytest.approx(-np.expm1(-interval) / interval, rel=0.02)


@settings(max_examples=15, deadline=None)
@given(precisions, shares, st.floats(0.1, 3.0))
def test_signals_that_are_believed_make_copies_of_pages_of_a_known_rate_fresher(
    precision: float, share: float, interval: float
) -> None:
    even, found = -np.expm1(-interval) / interval, fresh_at(course(precision, share, 0.0), interval)
    assert found > even * 0.98
    if precision > 0.5 and share < 0.5:
        assert found > even * 1.01


def _by_chance(p: float, s: float, ages: F64, pages: int) -> tuple[float, float, float, float]:
    """Pages at the rate 1 that are visited at these ages, by their count of signals."""
    random = np.random.default_rng(1)
    last = random.exponential(1 / s, pages)  # the first change without a signal
    age, count, waits = np.zeros(pages), np.zeros(pages, np.int64), np.ones(pages, bool)
    while waits.any():
        until = ages[np.minimum(count, len(ages) - 1)]
        until[count == 0] = np.maximum(until[count == 0], 1e-4)
        next_ = age + random.exponential(p / (1 - s), pages)
        ends = waits & (np.minimum(next_, until) >= until)
        age = np.where(ends, np.maximum(age, until), np.where(waits, next_, age))
        waits &= ~ends
        count += waits
        right = waits & (random.random(pages) < p)
        last[right] = np.minimum(last[right], age[right])
    stale = np.maximum(0.0, age - last)
    mean = float(age.mean())
    return mean, 1 - float(stale.mean()) / mean, float((stale**2).mean()) / 2 / mean, float((last <= age).mean())


@pytest.mark.parametrize(("p", "s"), [(0.5, 0.5), (0.2, 0.25), (0.8, 0.1)])
def test_the_chain_does_what_a_simulation_does(p: float, s: float) -> None:
    of, numbers = course(p, s, 0.0), dated._numbers(p, s, 0.0)
    ends = np.concatenate(([0.0], dated._ENDS))
    for price in range(12, len(of.prices) - 2, 4):
        held = np.logical_and.accumulate(np.logical_and.accumulate(numbers < of.prices[price], axis=0), axis=1)
        found = np.array(_by_chance(p, s, ends[held.sum(1)], 20_000))
        told = np.array([of.interval[price], of.fresh[price], of.behind[price], of.changed[price]])
        assert found == pytest.approx(told, rel=0.12, abs=0.01)
        assert found[1] == pytest.approx(told[1], abs=0.012)


def _codes(rates: F64) -> I64:
    return encode(Belief(np.log(rates).astype(np.float32), np.full(len(rates), 0.1, np.float32))).astype(np.int64)


@pytest.mark.slow
def test_a_crawl_with_signals_comes_out_as_forecast() -> None:
    """Pages that change about once in ten days, and half as many visits as changes, five times a day."""
    pages, world_days = 600, 240
    rates = rates_of(pages, 1 / (10 * DAY), 1.0, 4)
    world = generated("poisson", rates, world_days * DAY, 4)
    budget, codes = 0.5 * float(rates.sum()), _codes(rates)
    known = Trust(np.full(1, -np.log(0.2), np.float32), np.full(1, 0.75, np.float32))
    real = simulate(world, "expected", budget, rates=rates, ear=Ear(world, announced(world, 0.8, 0.75, 3), known))
    on, costs = np.zeros(pages, np.int64), Costs(600.0, 25_000.0, 30_000.0)
    table = table_of("expected", PRIOR, 1.0, 1.0, 1.0, codes, np.ones(pages))
    told = []
    for heard in (False, True):
        levels = levels_of(known.of(on), np.full(pages, heard))
        copies, caps = Copies.of(codes, np.ones(pages), on, np.array([np.inf]), DAY / 24, levels)
        found = Forecast(
            copies, decode(np.arange(CODES), PRIOR), table, DAY / 24, caps, costs, New(0.5, 0.0), 0.2 * DAY
        )
        told.append(found.within(budget, False).freshness)
    assert told[1] > told[0] + 0.05
    assert told[1] == pytest.approx(real.mean(4), abs=0.02)
