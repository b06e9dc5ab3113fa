"""Corrections of what is believed of a rate by what the last visit found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64
from gossamer.manager.revisits.bursts import FIRST, LASTS, OTHER, SAME, Bursts
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import Belief, Prior, decode, encode, found_change

PAGES, ROUNDS = 400, 40


def lived(seed: int, factors: F64) -> Bursts:
    """Pages with rates that are believed rightly, but for a factor by what their last visit found."""
    random, bursts = np.random.default_rng(seed), Bursts.none()
    believed = Belief(random.normal(0, 1, PAGES).astype(np.float32), np.full(PAGES, 0.5, np.float32))
    last = np.full(PAGES, FIRST)
    for _ in range(ROUNDS):
        # rates are drawn anew: what was believed of them stays right
        rates = np.exp(believed.mean + believed.spread * random.standard_normal(PAGES))
        seconds = random.uniform(0.2, 2.0, PAGES)
        changed = random.random(PAGES) < -np.expm1(-factors[last] * rates * seconds)
        belief = bursts.corrected(believed, last)
        bursts.learn(last, belief, seconds, chance(belief, seconds), changed)
        last = np.where(changed, OTHER, SAME)
    return bursts


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_pages_that_change_independently_have_no_bursts(seed: int) -> None:
    """Not even if all of them change twice as often as is believed."""
    assert lived(seed, np.ones(LASTS)).used.tolist() == [0, 0, 0]
    assert lived(seed, np.full(LASTS, 2.0)).used.tolist() == [0, 0, 0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(1.5, 4.0), st.floats(0.3, 0.9))
def test_bursts_are_learned(seed: int, after_change: float, after_none: float) -> None:
    """By how much the factors differ; what counts as no difference is less."""
    found = lived(seed, np.array([1.0, after_none, after_change]))
    true = np.log(after_change / after_none)
    assert found.logs[OTHER] - found.logs[SAME] == pytest.approx(true, abs=0.3)
    assert found.used[FIRST] == 0
    assert found.used[OTHER] == -found.used[SAME]
    assert true - 1 < found.used[OTHER] - found.used[SAME] < true


def test_a_code_keeps_what_the_last_visit_found() -> None:
    belief = Belief(np.log([1e-7, 1e-5]).astype(np.float32), np.array([0.5, 1.5], np.float32))
    same, other = encode(belief), encode(belief, np.array([True, True]))
    assert not found_change(same).any()
    assert found_change(other).all()
    prior = Prior.of(86_400.0)
    one, two = decode(same, prior), decode(other, prior)
    assert (one.mean == two.mean).all()
    assert (one.spread == two.spread).all()
