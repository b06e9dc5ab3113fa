"""When a page is worth its next visit."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base import askable
from gossamer.base.model import Outcome, State
from gossamer.config.quiet import QuietHours
from gossamer.desk.columns import Columns
from gossamer.manager.next_visit import NextVisit, next_visit
from gossamer.manager.position import score_of
from gossamer.manager.revisits.rates import CODES
from gossamer.manager.strategies import LIVE
from gossamer.manager.value import Value, terms_of
from tests.manager.test_plan import ISSUED, WALL, random_columns

QUIET = QuietHours.of(["03:00-05:00 UTC"], "")
VALUE = Value({"opic": 1.0}, min_period=500.0, change_period=5_000.0, continuous=True)


def told(seed: int, known: int) -> tuple[Columns, int, NextVisit | None]:
    random = Random(seed)
    columns = random_columns(random, known, 3)
    columns.page.belief[:known] = [random.choice([0, random.randrange(1, CODES)]) for _ in range(known)]
    columns.page.tries[:known] = [random.randrange(6) for _ in range(known)]
    page = random.randrange(known)
    columns.page.state[page] = random.choice([State.DONE, State.DONE, State.WAITING, State.PENDING])
    columns.page.outcome[page] = random.choice([Outcome.OK, Outcome.NOT_FOUND, Outcome.REDIRECT])
    return columns, page, next_visit(columns, "value", VALUE, ISSUED, WALL, page, QUIET)


PAGES = st.builds(told, st.integers(0, 10**6), st.integers(1, 40))


@settings(max_examples=60, deadline=None)
@given(PAGES)
def test_no_visit_is_told_before_it_is_allowed(world: tuple[Columns, int, NextVisit | None]) -> None:
    columns, page, found = world
    pages, site = columns.page, columns.origin.site[columns.page.origin[page]]
    if found is None:
        assert pages.state[page] == State.PENDING or pages.flags[page]
        return
    if found.not_before is None:
        assert pages.reason[page] or columns.site.refused[site]
        return
    assert found.not_before >= max(WALL, columns.site.next[site])
    assert found.worth_it is None or found.worth_it >= found.not_before
    assert not any(QUIET.at(time) for time in (found.not_before, found.worth_it) if time is not None)
    if pages.state[page] == State.WAITING:
        assert found.not_before >= pages.due[page]
        assert found.worth_it == found.not_before
    else:
        rest = (
            0.0 if pages.outcome[page] in askable.REVISITED else askable.rest_of(pages.outcome[page], pages.tries[page])
        )
        assert found.not_before >= pages.due[page] + max(VALUE.min_period, rest)


@settings(max_examples=60, deadline=None)
@given(PAGES)
def test_a_visit_is_worth_it_no_sooner_than_the_threshold_is_reached(
    world: tuple[Columns, int, NextVisit | None],
) -> None:
    columns, page, found = world
    if found is None or found.not_before is None or columns.page.state[page] != State.DONE:
        return
    terms = terms_of(columns, LIVE["value"].code, VALUE, ISSUED, found.not_before)
    assert found.score == score_of(columns, terms, page)
    if found.worth_it is None:
        assert score_of(columns, terms._replace(wall=found.not_before + 300 * 86_400), page) < found.threshold
    else:
        assert score_of(columns, terms._replace(wall=found.worth_it), page) >= found.threshold * (1 - 1e-6)
        earlier = found.worth_it - 7_300.0 - 0.001 * (found.worth_it - found.not_before)
        if earlier > found.not_before:  # quiet hours last for two hours
            assert score_of(columns, terms._replace(wall=earlier), page) < found.threshold
    assert 0 <= found.chance <= 1
    assert found.rate > 0


def test_a_crawl_that_ends_tells_no_next_visit() -> None:
    columns, page, _ = told(1, 5)
    columns.page.state[page], columns.page.flags[page] = State.DONE, 0
    assert next_visit(columns, "value", Value({"opic": 1.0}), ISSUED, WALL, page, QUIET) is None


def test_what_waits_and_what_rests_says_so() -> None:
    columns = random_columns(Random(3), 2, 1)
    columns.site.refused[0], columns.site.next[0] = 0, 0.0
    columns.page.state[:2], columns.page.flags[:2], columns.page.reason[:2] = State.DONE, 0, 0
    columns.page.outcome[:2], columns.page.tries[:2], columns.page.due[:2] = (
        (Outcome.OK, Outcome.NOT_FOUND),
        (0, 2),
        WALL,
    )
    fetched, gone = (next_visit(columns, "value", VALUE, ISSUED, WALL, page, QUIET) for page in (0, 1))
    assert fetched is not None
    assert gone is not None
    assert (fetched.not_before, fetched.why) == (WALL + 500, "manager.min_period has passed")
    assert fetched.worth_it == fetched.not_before, "nothing else waits"
    assert gone.not_before == pytest.approx(WALL + 14 * 86_400, abs=2 * 3600)
    assert gone.why == "it has rested, since it could not be fetched (tries: 2)"
    columns.site.next[0] = WALL + 900
    held = next_visit(columns, "value", VALUE, ISSUED, WALL, 0, QUIET)
    assert held is not None
    assert (held.not_before, held.why) == (WALL + 900, "its site may be requested")
