"""Policies of re-visits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gossamer.base.arrays import F64
from gossamer.manager.revisits.policies import POLICIES, Moment, for_age, for_freshness, h, harmonic, lots_of, worth
from gossamer.manager.revisits.rates import Belief

rates = arrays.arrays(np.float64, st.integers(2, 8), elements=st.floats(1e-3, 1e3))
ALLOTTING = {name: policy.allots for name, policy in POLICIES.items() if policy.allots is not None}


def freshness(f: F64, of: F64) -> F64:
    """Mean freshness of evenly spaced visits: (f / rate) (1 - e^(-rate / f))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(f > 0, f / of * -np.expm1(-of / f), 0.0)


def age(f: F64, of: F64) -> F64:
    x = of / f
    return (x / 2 - 1 - np.expm1(-x) / x) / of


def test_the_worked_example() -> None:
    """Cho and Garcia-Molina: pages that change 1 to 5 times per day, and five visits per day."""
    found = for_freshness(np.arange(1.0, 6.0), np.ones(5), 5.0)
    assert found.round(2).tolist() == [1.15, 1.36, 1.35, 1.14, 0.0]


@pytest.mark.parametrize("name", ALLOTTING)
@given(rates, st.floats(0.1, 10))
def test_the_budget_is_used_up(name: str, of: F64, budget: float) -> None:
    allots = ALLOTTING[name]
    assert allots is not None
    found = allots(of, np.ones(len(of)), budget * of.sum())
    assert found.min() >= 0
    assert found.sum() == pytest.approx(budget * of.sum(), rel=1e-6)


@given(rates, st.floats(0.2, 5), st.randoms(use_true_random=False))
def test_no_other_allotment_is_fresher(of: F64, budget: float, random: np.random.Generator) -> None:
    """Nor has any other a lower age."""
    total, ones = budget * of.sum(), np.ones(len(of))
    fresh, low = for_freshness(of, ones, total), for_age(of, ones, total)
    drawn = np.array([random.random() + 1e-3 for _ in of])
    for share in (0.01, 0.3, 1.0):
        other = (1 - share) * fresh + share * drawn * (total / drawn.sum())
        assert freshness(other, of).sum() <= freshness(fresh, of).sum() * (1 + 1e-4)
        other = (1 - share) * low + share * drawn * (total / drawn.sum())
        assert age(other, of).sum() >= age(low, of).sum() * (1 - 1e-4)


@given(rates, st.floats(0.2, 5))
def test_harmonic_leaves_no_page_out(of: F64, budget: float) -> None:
    assert harmonic(of, np.ones(len(of)), budget * of.sum()).min() > 0


def test_uniform_is_fresher_than_proportional() -> None:
    of = np.exp(np.random.default_rng(1).standard_normal(1000))
    fresh = {name: freshness(allots(of, np.ones(1000), of.sum()), of).mean() for name, allots in ALLOTTING.items()}
    assert fresh["proportional"] < fresh["uniform"] < fresh["freshness"]


@given(st.floats(-20, 5), st.floats(0, 3.9), st.floats(1, 1e8))
def test_the_table_is_close_to_the_integral(mean: float, spread: float, seconds: float) -> None:
    x = mean + np.log(seconds)
    if abs(x) < 15.5:
        nodes = np.linspace(-8, 8, 4001)
        at = np.minimum(np.exp(x + spread * nodes), 1e15)
        weights = np.exp(-nodes * nodes / 2)
        exact = seconds * float((h(at) / at * weights).sum() / weights.sum())
        belief = Belief(np.array([mean], np.float32), np.array([spread], np.float32))
        assert worth(belief, np.array([seconds]))[0] == pytest.approx(exact, rel=0.02, abs=seconds * 1e-6)


@pytest.mark.parametrize("name", POLICIES)
def test_a_page_that_waited_longer_comes_first(name: str) -> None:
    belief = Belief(np.full(4, -10.0, np.float32), np.full(4, 1.0, np.float32))
    ages = np.array([1e3, 4e3, 2e3, 3e3])
    moment = Moment(belief, np.ones(4), ages, 1e-3, 3.0, np.full(4, 1e4))
    assert np.argsort(POLICIES[name].choose(moment)).tolist() == np.argsort(ages).tolist()


def test_a_page_that_may_change_seldom_is_not_given_up() -> None:
    """Two pages with the same mean of the logarithm, one of them hardly known, in the long run."""
    belief = Belief(np.array([-8.0, -8.0], np.float32), np.array([0.1, 2.0], np.float32))
    known, unknown = worth(belief, np.array([1e6, 1e6]))
    assert unknown > 3 * known


def test_in_random_order_copies_are_as_fresh_as_the_closed_form_says() -> None:
    """Cho and Garcia-Molina: with a visit for each change, .600 of the copies are up to date, .632 in a fixed order. An
    interval is a mean one times its lot: the freshness is E[1 - e^-x] / E[x]."""
    lots = lots_of(np.arange(200_000), 1_700_000_000 + np.arange(200_000) % 1000)
    assert lots.mean() == pytest.approx(1.0, abs=0.005)
    assert 0 < lots.min() < 0.02
    assert 1.98 < lots.max() < 2.01
    assert -np.expm1(-lots).mean() / lots.mean() == pytest.approx(1 - (1 - np.exp(-1)) ** 2, abs=0.002)
    again = lots_of(np.arange(200_000), np.full(200_000, 1_800_000_000))
    assert abs(np.corrcoef(lots, again)[0, 1]) < 0.01, "each visit draws another lot"


def test_by_quality_a_page_is_visited_as_often_as_it_is_worth() -> None:
    """However often it changes: the numbers of pages worth 1 and 2 meet when the first has waited twice as long."""
    rule = POLICIES["quality"]
    belief = Belief(np.log([1.0, 1e-3]).astype(np.float32), np.zeros(2, np.float32))
    ages, weights = np.array([200.0, 100.0]), np.array([1.0, 2.0])
    one, other = rule.choose(Moment(belief, weights, ages, 1.0, 0.0, ages))
    assert one == other
    assert rule.weighs
