"""How sites differ in their rates of change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.manager.revisits.changes import Changes, observe
from gossamer.manager.revisits.rates import STEP, WIDTHS, Belief, Homes, Prior, believe, fit
from gossamer.manager.revisits.sites import Sites

DAY = 86_400.0


def learned(rates: np.ndarray, site: np.ndarray, visits: int, rounds: int = 8) -> tuple[Sites, Prior]:
    """What is found of pages with these rates that are visited every ten days."""
    random, changes = np.random.default_rng(1), Changes.none(len(rates))
    pages, interval = np.arange(len(rates)), np.full(len(rates), 10 * DAY)
    for _ in range(visits):
        observe(changes, pages, interval, random.random(len(rates)) < -np.expm1(-rates * interval))
    sites, prior = Sites.none(int(site.max()) + 1), Prior.of(30 * DAY)
    for _ in range(rounds):
        homes = sites.homes(site, prior)
        prior = fit(changes, prior, 3, homes)
        sites.gather(site, believe(changes, prior, homes), prior)
        prior = sites.settle(prior)
    return sites, prior


def test_sites_that_differ_are_told_apart() -> None:
    random, site = np.random.default_rng(2), np.repeat(np.arange(40), 50)
    places = random.standard_normal(40)
    rates = np.exp(places[site] + 0.7 * random.standard_normal(len(site))) / (20 * DAY)
    sites, prior = learned(rates, site, 5)
    assert prior.apart == pytest.approx(places.std(), rel=0.3)
    assert prior.moments[1] - prior.apart**2 < 0.7 * learned(rates, np.zeros_like(site), 5)[1].moments[1]
    found = STEP * sites.pace + prior.moments[0]
    assert np.corrcoef(found, places)[0, 1] > 0.95
    assert found.mean() == pytest.approx(places.mean() - np.log(20 * DAY), abs=0.3)
    assert WIDTHS[sites.vague - 1].max() <= 0.25


def test_sites_that_are_alike_have_one_prior() -> None:
    random, site = np.random.default_rng(3), np.repeat(np.arange(40), 50)
    rates = np.exp(1.2 * random.standard_normal(len(site))) / (20 * DAY)
    sites, prior = learned(rates, site, 5)
    assert prior.apart < 0.15
    assert np.abs(STEP * sites.pace).max() < 0.3


def believed(pages: int, mean: float) -> Belief:
    return Belief(np.full(pages, mean, np.float32), np.full(pages, 0.5, np.float32))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-20, -8), min_size=2, max_size=6))
def test_a_site_of_which_nothing_is_known_is_like_all_others(means: list[float]) -> None:
    sites, prior = Sites.none(9), Prior.of(30 * DAY)
    for site, mean in enumerate(means):
        sites.gather(np.full(20, site), believed(20, mean), prior)
    after = sites.settle(prior)
    assert sites.homes(np.array([8]), after).shift.tolist() == [0]
    assert abs(WIDTHS[sites.homes(np.array([8]), after).width[0]] - after.apart) <= 0.5
    assert after.shares.sum() == pytest.approx(1)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200))
def test_more_pages_say_more_of_a_site(one: int, other: int) -> None:
    """Its place is further from all others, and less vague."""
    sites, prior = Sites.none(12), Prior.of(30 * DAY)
    for site in range(10):
        sites.gather(np.full(30, site), believed(30, -15.0 + site % 2), prior)
    for site, pages in ((10, min(one, other)), (11, max(one, other))):
        sites.gather(np.full(pages, site), believed(pages, -11.0), prior)
    sites.settle(prior)
    assert 0 <= sites.pace[10] <= sites.pace[11]
    assert sites.vague[10] >= sites.vague[11] > 0


def test_a_shifted_prior_shifts_the_belief() -> None:
    changes, prior = Changes.none(3), Prior.of(30 * DAY)
    homes = Homes(np.array([-8, 0, 8]), np.zeros(3, np.int64))
    found = believe(changes, prior, homes)
    assert np.diff(found.mean) == pytest.approx(8 * STEP, rel=0.05)
    vague = believe(changes, prior, Homes(np.zeros(3, np.int64), np.array([0, 4, 6])))
    assert vague.spread == pytest.approx(np.sqrt(found.spread[1] ** 2 + WIDTHS[[0, 4, 6]] ** 2), rel=0.1)
