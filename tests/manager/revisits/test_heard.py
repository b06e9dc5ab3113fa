"""What the desk hears of changes from the dates in sitemaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import Array
from gossamer.base.model import VISIT, Change, Outcome, State, Visits
from gossamer.collection.journal.effects import HINT, SITE_EVENT, SiteNews
from gossamer.config import Settings, override
from gossamer.crawler.parts import new_desk
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import NO_VISITS
from gossamer.manager.plan import make_plan
from gossamer.manager.position import standing_of
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.revisits.heard import Heard
from gossamer.manager.strategies import LIVE
from gossamer.manager.value import Value

DAY = 86_400.0
PAGES = 300
HONEST, LIAR = 0, 1


def desk_of(*changes: str) -> Desk:
    """Two sites; pages with even numbers are the first one's. All were fetched on day 1."""
    given = ("collection.max_pages=1000", "collection.max_sites=10", "manager.continuous=true", *changes)
    desk = new_desk(override(Settings(), given), 1)
    page, origin, site = desk.columns.page, desk.columns.origin, desk.columns.site
    page.count, origin.count, site.count = PAGES, 2, 2
    origin.site[:2], page.origin[:PAGES] = (HONEST, LIAR), np.arange(PAGES) % 2
    page.state[:PAGES], page.outcome[:PAGES], page.due[:PAGES] = State.DONE, Outcome.OK, int(DAY)
    return desk


def read(desk: Desk, pages: Array, dates: Array, time: float) -> int:
    """A reading of sitemaps, to its end; returns the number of verdicts."""
    hints = np.zeros(len(pages), HINT)
    hints["page"], hints["lastmod"] = pages, dates
    effects = desk.effects(time, time)
    effects.verdicts = desk[Heard].verdicts(hints)
    effects.site_events = np.array([SiteNews.sitemaps_read(site, time, time + DAY) for site in (0, 1)], SITE_EVENT)
    desk[Heard].follow(Applied(effects, NO_VISITS_AT_ALL, NO_VISITS, NO_VISITS_AT_ALL))
    return len(effects.verdicts)


NO_VISITS_AT_ALL: Visits = np.zeros(0, VISIT)


def visit(desk: Desk, pages: Array, changed: Array, time: float, outcome: Outcome = Outcome.OK) -> None:
    visits: Visits = np.zeros(len(pages), VISIT)
    visits["page"], visits["time"], visits["outcome"] = pages, time, outcome
    visits["change"] = np.where(changed, int(Change.MAJOR), int(Change.NONE))
    desk[Habits].follow_visits(visits)
    desk[Heard].follow(Applied(desk.effects(time, time), visits, NO_VISITS, visits))
    desk.columns.page.due[pages] = int(time)


def lived(desk: Desk, days: int, seed: int) -> None:
    """Half of the pages change every four days, half every fifty. The first site tells so truly, the other one dates
    everything now."""
    random, pages = np.random.default_rng(seed), np.arange(PAGES)
    last, stale = np.full(PAGES, DAY / 2), np.zeros(PAGES, np.bool_)
    for day in range(2, days):
        now = day * DAY
        changes = random.random(PAGES) < np.where(pages // 2 % 2, 0.25, 0.02)
        last[changes], stale = now - DAY / 4, stale | changes
        read(desk, pages, np.where(pages % 2 == HONEST, last, now - 1), now)
        some = pages[random.random(PAGES) < 0.2]
        visit(desk, some, stale[some], now + 60)
        stale[some] = False


def test_a_signal_counts_once() -> None:
    desk = desk_of()
    signals, pages = desk.columns.page.signals, np.array([2, 4, 6])
    assert read(desk, pages, np.array([DAY - 5, 2 * DAY, DAY / 2]), 3 * DAY) == 3
    assert signals[pages].tolist() == [1, 2, 1]
    assert read(desk, pages, np.array([DAY - 5, 2 * DAY, DAY / 2]), 4 * DAY) == 0, "nothing new is said"
    assert read(desk, pages, np.array([3.5 * DAY, 4.5 * DAY, DAY / 2]), 5 * DAY) == 2
    assert signals[pages].tolist() == [2, 3, 1]


def test_dates_are_heard_in_continuous_crawls_of_pages_that_were_fetched() -> None:
    once, pages = desk_of("manager.continuous=false"), np.array([2, 4])
    assert read(once, pages, np.array([2 * DAY, 2 * DAY]), 3 * DAY) == 0
    desk = desk_of()
    desk.columns.page.state[2] = State.PENDING
    assert read(desk, np.array([2, 4, PAGES + 1]), np.array([2 * DAY, 2 * DAY, 2 * DAY]), 3 * DAY) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 255), st.sampled_from(list(Outcome)))
def test_a_visit_answers_all_signals(signals: int, outcome: Outcome) -> None:
    desk = desk_of()
    desk.columns.page.signals[4] = signals
    visit(desk, np.array([4]), np.array([True]), 4 * DAY, outcome)
    answers = outcome in (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.NOT_MODIFIED)
    assert desk.columns.page.signals[4] == (min(signals, 1) if answers else signals)


def test_a_replay_hears_the_same() -> None:
    first, second = desk_of(), desk_of()
    lived(first, 15, 2)
    lived(second, 15, 2)
    assert first[Heard].arrays()["trusts"].tobytes() == second[Heard].arrays()["trusts"].tobytes()  # type: ignore[union-attr]
    for group in ("page", "site"):
        for name, column in first.columns.groups()[group].used().items():
            assert column.tobytes() == second.columns.groups()[group].used()[name].tobytes(), name


def test_honest_signals_bring_a_visit_forward_and_lying_ones_stop_counting() -> None:
    desk = desk_of("manager.min_period=1h")
    lived(desk, 60, 1)
    assert desk[Heard].explain_site(HONEST)["lastmod"] == "believed"
    assert desk[Heard].explain_site(LIAR)["lastmod"] == "not believed"
    assert desk[Heard].statistics()["believed"] == 1
    page, now = desk.columns.page, 62 * DAY
    page.due[:PAGES], page.belief[:PAGES], page.signals[:PAGES] = int(60 * DAY), np.median(page.belief[:PAGES]), 1
    page.signals[[10, 11]], page.completed[:PAGES] = 2, 1 / PAGES
    value = Value.of(desk.settings.manager)
    plan = make_plan(desk.columns, LIVE["value"], now, PAGES, PAGES, value=value)
    ranks = dict(zip(plan.pages.tolist(), plan.ranks.tolist(), strict=True))
    assert ranks[10] < min(ranks[page] for page in range(0, PAGES, 2) if page != 10)
    assert ranks[9] < ranks[11] < ranks[13], "in the order of discovery: a lie changes nothing"
    for each in (10, 12, 11, 13):
        found = standing_of(desk.columns, "value", value, 0, now, each, PAGES, PAGES)
        assert found.rank == ranks[each] + 1, "explain computes the same"
