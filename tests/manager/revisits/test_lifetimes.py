"""Lifetimes of answers as hints of how often pages change."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64
from gossamer.manager.revisits.lifetimes import COUNT, EDGES, FACTORS, Lifetimes, class_of
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import Belief

VISITS, ROUNDS = 200, 60


def met(lifetimes: Lifetimes, seed: int, factors: F64) -> Lifetimes:
    """Second visits of pages whose rates are believed rightly, but for a factor by the class of their lifetime."""
    random = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        of = random.integers(0, FACTORS, VISITS)
        believed = Belief(random.normal(0, 1, VISITS).astype(np.float32), np.full(VISITS, 1.0, np.float32))
        rates = factors[of] * np.exp(believed.mean + believed.spread * random.standard_normal(VISITS))
        seconds = random.uniform(0.2, 2.0, VISITS)
        changed = random.random(VISITS) < -np.expm1(-rates * seconds)
        belief = lifetimes.corrected(believed, of)
        lifetimes.learn(of, belief, seconds, chance(belief, seconds), changed)
    return lifetimes


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1.0, 2.0]))
def test_lifetimes_that_tell_nothing_are_not_heeded(seed: int, factor: float) -> None:
    """Not even if all pages change twice as often as is believed. By chance a class is above two standard errors now
    and then, but not by much."""
    used = met(Lifetimes.none(), seed, np.full(FACTORS, factor)).used
    assert (used != 0).sum() <= FACTORS // 3
    assert abs(used).max() < 0.3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(2.0, 5.0))
def test_lifetimes_that_tell_how_often_pages_change_are_learned(seed: int, factor: float) -> None:
    true = np.where(np.arange(FACTORS) % COUNT < COUNT // 2, factor, 1 / factor)
    used = met(Lifetimes.none(), seed, true).used
    assert (np.sign(used) == np.sign(np.log(true))).all()
    assert 0.4 < abs(used).mean() / np.log(factor) < 1.1, "what was not proved is not used"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_lifetime_that_lies_from_some_day_on_is_unlearned(seed: int) -> None:
    true = np.where(np.arange(FACTORS) % COUNT == 3, 4.0, 1.0)
    lifetimes = met(Lifetimes.none(), seed, true)
    believed = lifetimes.used[3]
    assert believed > 0.4, "ln 4 is 1.4"
    for _ in range(4):
        met(lifetimes, seed + 1, np.ones(FACTORS))
    assert lifetimes.used[3] < believed / 3


def test_classes_of_lifetimes() -> None:
    lifetimes = np.array([0.0, 0.5, 59.0, 60.0, 3600.0, 1e9])
    assert class_of(lifetimes).tolist() == [0, 0, 1, 2, 4, COUNT - 1]
    assert len(EDGES) == COUNT - 1
