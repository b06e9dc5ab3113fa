"""Estimators of the rate of change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.manager.revisits.changes import CLASSES, Changes, observe
from gossamer.manager.revisits.rates import (
    CODES,
    FASTEST,
    SLOWEST,
    Belief,
    Prior,
    believe,
    comparisons,
    corrected,
    decode,
    encode,
    fit,
    last_modified,
    likelihood,
)
from tests.manager.revisits.test_changes import DAY, observed

intervals = st.lists(st.tuples(st.floats(0.05 * DAY, 60 * DAY), st.booleans()), max_size=12)
PRIOR = Prior.of(10 * DAY)


def test_the_formulas_of_the_thesis() -> None:
    """Ten comparisons, a day apart, four changes; figures computed by hand."""
    assert comparisons(np.array([10]), np.array([4]), np.array([10.0]))[0] == pytest.approx(-np.log(0.6))
    assert corrected(np.array([10]), np.array([4]), np.array([10.0]))[0] == pytest.approx(-np.log(6.5 / 10.5))
    assert last_modified(np.array([10]), np.array([4]), np.array([8.0]))[0] == pytest.approx(
        (3 - 4 / (10 * np.log(0.6))) / 8
    )


def test_the_limits_of_the_formulas() -> None:
    assert last_modified(np.array([5]), np.array([0]), np.array([5.0]))[0] == 0
    assert last_modified(np.array([5]), np.array([5]), np.array([2.0]))[0] == 2
    assert comparisons(np.array([5]), np.array([0]), np.array([5.0]))[0] == 0
    every_time = comparisons(np.array([5]), np.array([5]), np.array([5.0]))[0]
    assert every_time == corrected(np.array([5]), np.array([5]), np.array([5.0]))[0] < np.inf


@pytest.mark.parametrize("true", [0.1, 0.5, 1.0, 2.0])
def test_the_corrected_estimator_is_nearly_unbiased(true: float) -> None:
    """ALGORITHMS 3.4 has .099, .502, 1.003 and 1.94 for ten visits."""
    changes = np.random.default_rng(1).binomial(10, -np.expm1(-true), 40_000)
    tens = np.full(len(changes), 10)
    assert abs(corrected(tens, changes, tens.astype(float)).mean() / true - 1) < 0.05


def drawn(rates: np.ndarray[tuple[int], np.dtype[np.float64]], visits: int, seed: int) -> Changes:
    """Observations of pages with these rates, at uneven intervals of half a day to fifty days."""
    random = np.random.default_rng(seed)
    changes, pages = Changes.none(len(rates)), np.arange(len(rates))
    for _ in range(visits):
        seconds = DAY * 10 ** random.uniform(-0.3, 1.7, len(rates))
        observe(changes, pages, seconds, random.random(len(rates)) < -np.expm1(-rates * seconds))
    return changes


@pytest.mark.parametrize("days", [3.0, 10.0, 30.0])
def test_uneven_intervals_give_the_rate(days: float) -> None:
    changes = drawn(np.full(2000, 1 / (days * DAY)), 20, 1)
    logs = np.log(likelihood(changes) * days * DAY)
    assert abs(float(np.median(logs))) < 0.1
    assert abs(float(believe(changes, Prior.of(10 * DAY)).mean.mean()) + np.log(days * DAY)) < 0.15


def test_the_fitted_prior_is_that_of_the_pages() -> None:
    random = np.random.default_rng(2)
    rates = np.exp(1.2 * random.standard_normal(3000)) / (20 * DAY)
    changes = drawn(rates, 12, 3)
    prior = Prior.of(200 * DAY)
    for _ in range(8):
        prior = fit(changes, prior)
    mean, variance = prior.moments
    assert abs(mean + np.log(20 * DAY)) < 0.2
    assert abs(np.sqrt(variance) - 1.2) < 0.25
    assert abs(np.log(prior.median * 20 * DAY)) < 0.2


def test_a_page_without_observations_has_the_prior() -> None:
    belief = believe(Changes.none(1), PRIOR)
    mean, variance = PRIOR.moments
    assert belief.mean[0] == pytest.approx(mean, abs=1e-3)
    assert belief.spread[0] == pytest.approx(np.sqrt(variance), rel=1e-3)


@given(st.floats(float(np.log(SLOWEST)), float(np.log(FASTEST))), st.floats(0.01, 3.99))
def test_a_coded_belief_is_close_to_the_belief(mean: float, spread: float) -> None:
    belief = Belief(np.array([mean], np.float32), np.array([spread], np.float32))
    again = decode(encode(belief), PRIOR)
    assert abs(again.mean[0] - mean) < 0.035
    assert abs(again.spread[0] - spread) < 0.126
    assert 0 < encode(belief)[0] < CODES


def believed(seen: list[tuple[float, bool]]) -> Belief:
    changes = observed(seen)
    return believe(changes, PRIOR)


@given(intervals, st.integers(0, CLASSES - 1))
def test_a_change_never_lowers_the_believed_rate(seen: list[tuple[float, bool]], length: int) -> None:
    changes = observed(seen)
    before = believe(changes, PRIOR).mean[0]
    changes.changed[0, length] += 1
    assert believe(changes, PRIOR).mean[0] >= before - 1e-4


@given(intervals, st.floats(0.05 * DAY, 60 * DAY))
def test_an_interval_without_change_never_raises_the_believed_rate(
    seen: list[tuple[float, bool]], seconds: float
) -> None:
    changes = observed(seen)
    before = believe(changes, PRIOR).mean[0]
    changes.unchanged[0] += seconds
    assert believe(changes, PRIOR).mean[0] <= before + 1e-4


@given(intervals)
def test_a_belief_is_a_rate_of_the_grid(seen: list[tuple[float, bool]]) -> None:
    belief = believed(seen)
    assert np.log(SLOWEST) <= belief.mean[0] <= np.log(FASTEST)
    assert 0 < belief.spread[0] < 6


@given(intervals, st.floats(1, 1e10), st.floats(1, 1e10))
def test_a_belief_returns_to_the_prior(seen: list[tuple[float, bool]], a: float, b: float) -> None:
    """The longer a page was not visited, the closer."""
    belief, mean = believed(seen), PRIOR.moments[0]
    sooner, later = (abs(float(belief.after(np.array([age]), PRIOR).mean[0]) - mean) for age in sorted((a, b)))
    assert later <= sooner + 1e-4
    assert abs(float(belief.after(np.array([1e12]), PRIOR).mean[0]) - mean) < 1e-3
