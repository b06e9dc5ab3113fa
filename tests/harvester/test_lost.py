"""What records that were never committed say about politeness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT, Ask, Outcome
from gossamer.collection.journal.effects import SITE_EVENT, Effects, SiteNews
from gossamer.harvester.lost import patience_after
from tests.support.harvesting import CLOCK, desk_of

HOSTS = ("http://a.example/", "http://b.example/")
NOW = CLOCK.wall()


def lost_events(*news: SiteNews) -> Effects:
    effects = Effects(2, NOW, 0.0)
    effects.site_events = np.array(list(news), SITE_EVENT)
    return effects


def lost_visit(outcome: Outcome, site: int = 0, ask: Ask = Ask.ROBOTS) -> Effects:
    effects, visits = Effects(2, NOW, 0.0), np.zeros(1, VISIT)
    visits["site"], visits["origin"], visits["page"], visits["ask"] = site, site, NONE, ask
    visits["outcome"], visits["time"], visits["retry_after"], visits["delay"] = outcome, NOW, -1.0, -1.0
    effects.visits = visits
    return effects


EVENTS = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1e6), st.booleans()), max_size=12)


@settings(max_examples=60, deadline=None)
@given(EVENTS)
def test_the_longest_rest_of_each_site_is_kept_and_every_doubling_counted(rows: list[tuple[int, float, bool]]) -> None:
    events = [(SiteNews.slowed if slow else SiteNews.patience)(site, NOW, NOW + rest) for site, rest, slow in rows]
    found = patience_after(desk_of(HOSTS), [lost_events(event) for event in events])
    assert found.keys() == {site for site, _, _ in rows}
    for site, (until, doubled) in found.items():
        assert until == max(NOW + rest for of, rest, _ in rows if of == site)
        assert doubled == sum(slow for of, _, slow in rows if of == site)


def test_a_name_that_failed_has_cost_the_site_no_request() -> None:
    lost = lost_events(SiteNews.name_failed(0, 1, NOW, NOW + 900, False), SiteNews.name_again(1, NOW))
    assert patience_after(desk_of(HOSTS), [lost]) == {}
    assert patience_after(desk_of(HOSTS), []) == {}


def test_a_site_rests_as_if_its_visit_had_been_committed() -> None:
    desk = desk_of(HOSTS, "harvester.wait=20s", "harvester.wait_large=20s")
    assert patience_after(desk, [lost_visit(Outcome.OK)]) == {0: (NOW + 20, 0)}
    until, doubled = patience_after(desk, [lost_visit(Outcome.SERVER_ERROR, ask=Ask.PAGE)])[0]
    assert until == pytest.approx(NOW + 40)
    assert doubled == 1
    strange = patience_after(desk, [lost_visit(Outcome.OK, site=5)])
    assert strange == {5: (NOW + 20, 0)}, "a site that only this record knew"


def test_an_unreadable_robots_txt_makes_its_site_wait_longer_each_time() -> None:
    desk = desk_of(HOSTS, "harvester.retry=1h")
    once, twice = (patience_after(desk, [lost_visit(Outcome.TIMED_OUT)] * n)[0] for n in (1, 2))
    assert NOW < once[0] < twice[0]
    assert (once[1], twice[1]) == (1, 2)
    assert desk.columns.origin.failures[0] == 0, "nothing is applied"
