"""How far signals of changes are believed, and what they are worth."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F64
from gossamer.manager.revisits.rates import Belief, Prior
from gossamer.manager.revisits.scale import effective, heed, heeded_by, places_of
from gossamer.manager.revisits.signals import PAIRS, Trust, learn, told, trust

DAY = 86_400.0
PRIOR = Prior.of(20 * DAY)


def seen(right: float, announced: float, visits: int, seed: int, often: float = 1.0) -> Trust:
    """What is believed of a site after so many visits of pages that change every ten days, of which so many changes are
    announced; `often`: false signals a day where no signal is right."""
    random = np.random.default_rng(seed)
    likelihoods, seconds = np.zeros((1, len(PAIRS))), DAY * random.uniform(1, 20, visits)
    days = seconds / DAY / 10
    true = random.poisson(announced * days)
    false = random.poisson(announced * days * (1 / right - 1) if right else often * seconds / DAY)
    changed = (random.poisson((1 - announced) * days) + true) > 0
    belief = Belief(np.full(visits, -np.log(10 * DAY), np.float32), np.full(visits, 0.4, np.float32))
    learn(likelihoods, np.zeros(visits, np.int64), belief, seconds, true + false, changed)
    return trust(likelihoods)


def test_before_anything_is_heard_signals_say_little() -> None:
    believed = trust(np.zeros((3, len(PAIRS))))
    assert (believed.precision < 0.3).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4096), st.floats(0, 15), st.integers(0, 253), st.floats(0.001, 3), st.floats(0, 0.92)
)  # fmt: skip
def test_a_signal_never_makes_a_copy_younger(
    code: int, log_hours: float, signals: int, doubt: float, announced: float
) -> None:
    tables, ages = heeded_by("expected", PRIOR), np.full(3, 3600 * np.exp(log_hours))
    given = Trust(np.full(3, doubt, np.float32), np.full(3, announced, np.float32))
    counts = np.array([0, signals, signals + 1])
    places = effective(tables.staleness, np.full(3, code), ages, counts, given)
    assert places[0] <= places[1] <= places[2]
    assert places[0] <= places_of(ages)[0]
    assert np.isfinite(heed(tables, np.full(3, code), ages, counts, given)).all()
    belief = Belief(np.full(3, -12.0, np.float32), np.full(3, 1.0, np.float32))
    chances = told(belief, ages, counts, given)
    assert chances[0] <= chances[1] <= chances[2] <= 1


def test_signals_that_lie_stop_counting() -> None:
    for seed, often in ((1, 1.0), (2, 0.2), (3, 24.0)):
        believed = seen(0.0, 0.0, 150, seed, often)
        assert believed.precision[0] < 0.01
        assert believed.announced[0] < 0.05


def test_signals_that_are_right_count_more_and_more() -> None:
    for right, announced in ((0.2, 0.5), (0.5, 0.5), (0.8, 0.8)):
        few, many = (
            np.mean([seen(right, announced, visits, seed).precision[0] for seed in range(5)]) for visits in (10, 600)
        )
        assert abs(many - right) < abs(few - right) + 0.02
        assert abs(many - right) < 0.1


def test_a_site_that_begins_to_tell_the_truth_is_believed_again() -> None:
    likelihoods: F64 = np.zeros((1, len(PAIRS)))
    random = np.random.default_rng(4)
    belief = Belief(np.full(50, -np.log(10 * DAY), np.float32), np.full(50, 0.4, np.float32))
    believed = []
    for batch in range(120):
        seconds = np.full(50, 7 * DAY)
        changed = random.random(50) < -np.expm1(-0.7)
        signals = np.full(50, 7) if batch < 60 else changed.astype(np.int64)
        learn(likelihoods, np.zeros(50, np.int64), belief, seconds, signals, changed)
        believed.append(trust(likelihoods).precision[0])
    assert believed[59] < 0.01
    assert believed[-1] > 0.5
