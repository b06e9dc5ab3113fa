"""The queue's clocks: set from the state, and only ever later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.collection.journal.effects import SiteNews
from gossamer.desk.desk import Desk
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.queue.queue import SiteQueue
from tests.support.harvesting import desk_of, tell
from tests.support.machine import Machine

HOSTS = ("http://a.example/", "http://b.example/")
BOTH = np.array([0, 1], np.uint32)


def made(*changes: str) -> tuple[Desk, SiteQueue, Machine, QueueClocks]:
    desk, queue, clock = desk_of(HOSTS, *changes), SiteQueue(10, 10), Machine()
    return desk, queue, clock, QueueClocks(desk, queue, clock)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(-1e6, 1e6), st.floats(0, 1e3)), min_size=1, max_size=6))
def test_a_clock_that_is_set_makes_no_request_earlier(steps: list[tuple[float, float, float]]) -> None:
    """`follow` only ever makes the time of a site later, whatever becomes of the wall clock."""
    desk, queue, clock, clocks = made()
    for rest, jump, passed in steps:
        tell(desk, SiteNews.patience(0, clocks.wall, clocks.wall + rest))
        clocks.follow(BOTH)
        before, due = queue.time_of(0), clock.monotonic() + rest
        assert before >= due - 1e-3
        clock.set(jump)
        clock.advance(passed)
        clocks.follow(BOTH)
        assert queue.time_of(0) >= before
    assert queue.time_of(1) <= clock.monotonic(), "no event was about this site"


def test_sites_are_postponed_from_now_on() -> None:
    _, queue, clock, clocks = made("harvester.wait=20s")
    clocks.postpone(BOTH, np.array([5.0, 50.0]))
    assert [queue.time_of(site) - clock.monotonic() for site in (0, 1)] == pytest.approx([5.0, 50.0])
    clocks.rest(BOTH)
    assert [queue.time_of(site) - clock.monotonic() for site in (0, 1)] == pytest.approx([20.0, 50.0])


@pytest.mark.parametrize(("stopped", "rest"), [(True, 3.0), (False, 20.0)])
def test_after_a_kill_every_site_rests_from_the_start_on(stopped: bool, rest: float) -> None:
    _, queue, clock, clocks = made("harvester.wait=20s", "harvester.address_wait=3s")
    clocks.resume(1.0, stopped)
    known, unknown = queue.time_of(0), queue.time_of(9)
    assert [known - clock.monotonic(), unknown - clock.monotonic()] == pytest.approx([rest - 1.0] * 2)
