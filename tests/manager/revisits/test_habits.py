"""What the desk learns from visits about the changes of pages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT, Change, Outcome, State, Visits
from gossamer.config import Settings, override
from gossamer.crawler.parts import new_desk
from gossamer.desk.desk import Desk
from gossamer.desk.shown import ImageView
from gossamer.manager.revisits.common import AGAIN, FOUND, NOT_MODIFIED, OBSERVED, PRIOR, TOLD
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.revisits.rates import Belief, Prior, decode, encode
from gossamer.manager.revisits.scale import measure, staleness
from gossamer.manager.revisits.shown import SHOWN

DAY = 86_400.0
PAGES = 400


def desk_of(*changes: str) -> Desk:
    """A desk with pages that were all fetched at day 1."""
    desk = new_desk(override(Settings(), ("collection.max_pages=1000", "collection.max_sites=10", *changes)), 1)
    page = desk.columns.page
    page.count = PAGES
    page.state[:PAGES], page.outcome[:PAGES], page.due[:PAGES] = State.DONE, Outcome.OK, int(DAY)
    return desk


def visits_of(pages: list[int], time: float, change: list[int], outcome: int = Outcome.OK) -> Visits:
    visits: Visits = np.zeros(len(pages), VISIT)
    visits["page"], visits["time"], visits["change"], visits["outcome"] = pages, time, change, outcome
    return visits


def lived(desk: Desk, days: int, seed: int, without: list[int] | None = None) -> None:
    """Visits all pages, but for some, at uneven intervals; the first half changes about daily, the others monthly."""
    random, page = np.random.default_rng(seed), desk.columns.page
    rates = np.where(np.arange(PAGES) < PAGES // 2, 1.0, 1 / 30) / DAY
    time = DAY
    for _ in range(days):
        time += DAY * random.uniform(0.5, 3)
        some = np.setdiff1d(np.flatnonzero(random.random(PAGES) < 0.5), without or [])
        changed = random.random(len(some)) < -np.expm1(-rates[some] * (time - page.due[some]))
        desk[Habits].follow_visits(visits_of(some.tolist(), time, np.where(changed, 3, 1).tolist()))
        page.due[some] = np.ceil(time)


def test_rates_are_learned_and_the_prior_follows() -> None:
    desk = desk_of()
    lived(desk, 40, 1)
    habits, belief = desk.columns.habits, desk.columns.page.belief[:PAGES]
    rates = DAY * decode(belief, desk[Habits].prior).rates
    assert 0.5 < np.median(rates[: PAGES // 2]) < 2
    assert 1 / 60 < np.median(rates[PAGES // 2 :]) < 1 / 15
    assert habits[PRIOR].sum() == pytest.approx(1)
    assert habits[OBSERVED] == habits[TOLD].sum() == habits[FOUND].sum()
    told = {word: n for word, n in desk[Habits].statistics().items() if word.startswith("told")}
    for word, share in told.items():
        low, high = (int(part) for part in word.split("_")[1:])
        assert low - 12 < share < high + 12, told


def test_copies_are_measured_while_pages_are_added() -> None:
    """The thread of the plan measures; the loop adds pages meanwhile, and raises their count last."""
    desk = desk_of()
    page = desk.columns.page

    class Growing:
        """The columns of the pages, of which there is one more at each look."""

        def __getattr__(self, name: str) -> object:
            page.count += name == "count"
            return getattr(page, name)

    columns = SimpleNamespace(page=Growing(), site=desk.columns.site, origin=desk.columns.origin)
    assert 0 < measure(columns, desk[Habits].prior, 3 * DAY)["freshness"] < 1


def test_a_replay_learns_the_same() -> None:
    first, second = (with_sites(desk_of(), 8) for _ in range(2))
    lived(first, 12, 2)
    lived(second, 12, 2)
    assert (first.columns.habits == second.columns.habits).all()
    assert first.columns.site.pace.any()
    for one, other in ((first.columns.page, second.columns.page), (first.columns.site, second.columns.site)):
        for name, column in one.used().items():
            assert column.tobytes() == other.used()[name].tobytes(), name


def test_a_page_visited_once_has_the_rate_of_the_prior() -> None:
    desk = desk_of("manager.change_period=20d")
    once, habits = desk.columns.page.belief[3:4].copy(), desk[Habits]
    assert decode(once, habits.prior).mean[0] == pytest.approx(Prior.of(20 * DAY).moments[0], rel=0.01)
    assert habits.explain_page(3) == {}
    lived(desk, 30, 3)
    assert decode(once, habits.prior).mean[0] == pytest.approx(habits.prior.moments[0], rel=0.01)
    assert habits.prior.moments[0] > Prior.of(20 * DAY).moments[0]
    rate = decode(desk.columns.page.belief[3:4], habits.prior).rates[0]
    assert habits.explain_page(3)["changes_a_day"] == pytest.approx(DAY * rate, rel=0.01)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(Outcome)), st.sampled_from(list(Change)), st.booleans())
def test_only_intervals_that_are_known_are_observed(outcome: Outcome, change: Change, waits: bool) -> None:
    desk = desk_of()
    page = desk.columns.page
    page.outcome[7] = outcome
    page.state[7] = State.WAITING if waits else State.DONE
    desk[Habits].follow_visits(visits_of([7], 4 * DAY, [change]))
    fetched = outcome in (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT)
    assert desk.columns.habits[OBSERVED] == page.compared[7] == (fetched and change != Change.UNKNOWN)
    assert (page.belief[7] > 0) == bool(page.compared[7])


def test_a_minor_change_is_none() -> None:
    desk = desk_of()
    desk[Habits].follow_visits(visits_of([1, 2, 3], 4 * DAY, [Change.NONE, Change.MINOR, Change.MAJOR]))
    assert desk[Habits].changes.changed[:PAGES].sum(1)[[1, 2, 3]].tolist() == [0, 0, 1]
    assert desk.columns.page.unchanged[[1, 2, 3]].tolist() == [3 * DAY, 3 * DAY, 0]


def test_re_visits_and_answers_without_a_body_are_counted() -> None:
    desk = desk_of("manager.continuous=true")
    desk.columns.page.state[5] = State.PENDING
    desk[Habits].follow_visits(visits_of([4, 5, NONE], 4 * DAY, [0, 0, 0]))
    desk[Habits].follow_visits(visits_of([6], 4 * DAY, [Change.NONE], Outcome.NOT_MODIFIED))
    assert desk.columns.habits[AGAIN] == 2
    assert desk.columns.habits[NOT_MODIFIED] == 1


def test_two_visits_of_a_page_in_one_tick_are_one_observation() -> None:
    desk = desk_of()
    desk[Habits].follow_visits(visits_of([4, 4], 4 * DAY, [1, 3]))
    assert desk.columns.page.compared[4] == 1


def test_nutch_s_interval_shrinks_with_a_change_and_grows_without() -> None:
    desk = desk_of("manager.revisit=adaptive")
    for day, change in ((2, 3), (3, 3), (4, 1)):
        desk[Habits].follow_visits(visits_of([4], day * DAY, [change]))
    interval = 1 / decode(desk.columns.page.belief[4:5], desk[Habits].prior).rates[0]
    assert interval == pytest.approx(DAY * 0.8 * 0.8 * 1.2, rel=0.1)


def with_sites(desk: Desk, sites: int) -> Desk:
    """The pages belong to so many sites in turn: to the first half of these before the second."""
    page, origin, site = desk.columns.page, desk.columns.origin, desk.columns.site
    origin.count = site.count = sites
    origin.site[:sites] = np.arange(sites)
    page.origin[:PAGES] = np.arange(PAGES) * sites // PAGES
    return desk


def test_a_page_visited_once_has_the_rate_of_its_site() -> None:
    """Also one that is fetched for the first time when its site is known; and a site of which nothing is known is like
    all others."""
    desk = with_sites(desk_of(), 8)
    once = [10, PAGES - 10]
    page, habits = desk.columns.page, desk[Habits]
    page.state[once] = State.PENDING
    lived(desk, 30, 4, without=once)
    assert habits.prior.apart > 1
    page.state[once] = State.DONE
    page.belief[once] = 0
    habits.follow_visits(visits_of(once, 90 * DAY, [0, 0]))
    busy, calm = DAY * decode(page.belief[once], habits.prior).rates
    assert 0.5 < busy < 2
    assert 1 / 60 < calm < 1 / 15
    assert page.compared[once].tolist() == [0, 0]
    page.belief[once] = 0
    desk.columns.site.pace_vague[:8] = 0
    habits.follow_visits(visits_of(once, 91 * DAY, [0, 0]))
    assert page.belief[once].tolist() == [0, 0]


def test_beliefs_are_computed_again_for_all_pages_however_many_at_a_time() -> None:
    desk = with_sites(desk_of(), 4)
    lived(desk, 20, 5)
    habits, page = desk[Habits], desk.columns.page
    habits._fit()
    page.belief[:PAGES] = 1
    for most in (7, 300, 128) * 5:
        habits._refresh(most)
    assert not (page.belief[:PAGES] == 1).any()


def test_the_lifetime_of_an_answer_is_a_hint_until_the_second_visit() -> None:
    """Pages whose answers are fresh for ten minutes change every two days, those with a month every two months."""
    desk = desk_of("manager.continuous=true")
    page, random, rates = desk.columns.page, np.random.default_rng(4), np.array([1 / 2, 1 / 60]) / DAY
    kind = np.arange(PAGES) % 2
    first = visits_of(list(range(PAGES)), DAY, [Change.UNKNOWN] * PAGES)
    first["lifetime"] = np.where(kind == 0, 600, 30 * DAY)
    page.compared[:PAGES] = 0
    desk[Habits].follow_visits(first)
    assert (page.belief[:PAGES] == 0).all(), "nothing was learned yet"
    for day, some in enumerate(np.array_split(np.arange(PAGES - 2), 30)):
        time = (6 + day) * DAY
        changed = random.random(len(some)) < -np.expm1(-rates[kind[some]] * (time - page.due[some]))
        desk[Habits].follow_visits(visits_of(some.tolist(), time, np.where(changed, 3, 1).tolist()))
    assert (page.unchanged[: PAGES - 2] >= 0).all()
    assert desk[Habits].statistics()["lifetimes_heeded"] == 2
    left = first[-2:].copy()
    left["time"] = 40 * DAY
    desk[Habits].follow_visits(left)
    often, seldom = decode(page.belief[PAGES - 2 : PAGES], desk[Habits].prior).rates
    assert often > 3 * seldom
    desk[Habits].follow_visits(visits_of([PAGES - 2], 80 * DAY, [Change.NONE]))
    assert page.unchanged[PAGES - 2] == pytest.approx(79 * DAY), "from the second visit on only its changes count"


def test_answers_without_bodies_save_what_pages_take_in_full() -> None:
    desk = desk_of()
    for pages, outcome, received in (
        ([0, 1], Outcome.OK, [900, 1_100]),
        ([2, 3, 4], Outcome.NOT_MODIFIED, [200, 200, 300]),
    ):
        assert desk[Habits].statistics()["saved_bytes"] == 0, "nothing is known before both kinds were seen"
        visits = visits_of(pages, 2 * DAY, [Change.NONE] * len(pages), outcome)
        visits["received"] = received
        desk[Habits].follow_visits(visits)
    assert desk[Habits].statistics()["saved_bytes"] == 3 * 1_000 - 700


def test_the_copies_of_the_sites_together_are_as_fresh_as_all_copies() -> None:
    """The view `freshness`, and what `status` says. The second site has the pages that seldom change."""
    desk = desk_of()
    columns = desk.columns
    columns.site.count = columns.origin.count = 2
    columns.origin.site[:2], columns.page.origin[PAGES // 2 : PAGES] = (0, 1), 1
    lived(desk, 30, 1)
    columns.page.outcome[0] = Outcome.NOT_FOUND
    wall = float(columns.page.due[:PAGES].max()) + 2 * DAY
    image = cast(ImageView, SimpleNamespace(columns=columns, wall=wall))
    (shown,) = (each for each in SHOWN if each.view == "freshness")
    sites, copies, freshness, age = shown.values(image, Settings())
    assert sites.tolist() == [0, 1]
    assert copies.tolist() == [PAGES // 2 - 1, PAGES // 2]
    assert freshness[0] < 0.3 < 0.8 < freshness[1]
    whole = measure(columns, desk[Habits].prior, wall)
    assert (copies * freshness).sum() / copies.sum() == pytest.approx(whole["freshness"], abs=1e-4)
    assert (copies * age).sum() / copies.sum() == pytest.approx(whole["days_behind"], abs=1e-3)


@pytest.mark.parametrize("spread", [0.375, 1.375, 2.625])
def test_how_long_copies_have_been_outdated_is_the_mean_over_what_is_believed(spread: float) -> None:
    """Over all changes that may have come at all rates that are believed in: not at the median rate, by which copies
    of a day have been outdated for minutes where hours are to be expected."""
    desk, median = desk_of(), np.log(0.05 / DAY)
    page, wall = desk.columns.page, 2 * DAY
    page.belief[:PAGES] = encode(Belief(np.full(PAGES, median, np.float32), np.full(PAGES, spread, np.float32)))
    rates = np.exp(decode(page.belief[:1], desk[Habits].prior).mean[0] + spread * np.linspace(-8, 8, 4001))
    weights = np.exp(-(np.linspace(-8, 8, 4001) ** 2) / 2)
    exact = ((DAY + np.expm1(-rates * DAY) / rates) * weights).sum() / weights.sum()
    found = staleness(desk.columns, desk[Habits].prior, wall, np.arange(PAGES))
    assert found.behind[0] == pytest.approx(exact, rel=0.05)
