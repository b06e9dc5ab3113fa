"""When plans are begun and taken over. A crawl is settled while all sites that could be asked soon have work."""

from __future__ import annotations

from threading import Event
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import U32
from gossamer.crawler.loop import Crawl
from gossamer.manager.planner import PAUSE, RENEW, SOON, Planner
from tests.support.world import World

TICK = 0.25
"""Seconds between two turns of a loop that mostly waits."""
HORIZON, ENOUGH = 60.0, 10


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """A crawl with one site, which has a pending page."""
    crawl = World(tmp_path_factory.mktemp("planner"), {}).run(["http://a.example/"], turns=1).crawl
    crawl.desk.columns.site.pending[0] = 1
    return crawl


class Looking:
    """A planner whose crawl turns once per `TICK`, from 0 on, and changes in every turn; a plan begins at 0."""

    def __init__(self, crawl: Crawl) -> None:
        self.rung = 0
        self.planner = Planner(crawl.desk, crawl.store, HORIZON, self._ring)
        self._next = crawl.desk.columns.site.next
        self.asked_from(0.0)
        assert self.turn(0.0, busy=1)

    def _ring(self) -> None:
        self.rung += 1

    def asked_from(self, time: float) -> None:
        """The site may be asked from then on."""
        self._next[0] = time

    def begin(self, now: float, busy: int) -> bool:
        """Whether a plan is begun now; so many sites have work."""
        self.planner.outdate()
        self.planner.begin(now, now, lambda until: busy, ENOUGH)
        return self.planner._running is not None

    def turn(self, now: float, busy: int) -> bool:
        """As `begin`, and the plan is taken over."""
        return self.begin(now, busy) and self.planner.take(now, wait=True) is not None


def test_a_settled_crawl_is_planned_once_per_period_and_the_loop_is_not_woken_for_it(crawl: Crawl) -> None:
    looking = Looking(crawl)
    begun = [at for at in (TICK * k for k in range(1, 42)) if looking.turn(at, busy=1)]
    assert begun == [RENEW * k for k in range(1, 11)]
    assert looking.planner.next_time(ENOUGH) == 10 * RENEW + RENEW + PAUSE, "a turn that comes anyway is soon enough"
    assert looking.begin(11 * RENEW, busy=1)
    assert looking.planner.next_time(ENOUGH) == 11 * RENEW + PAUSE, "then the plan is taken over, whatever comes"
    looking.planner.close()
    assert looking.rung == 0


def test_a_plan_for_a_site_without_work_begins_at_once_and_wakes_the_loop(crawl: Crawl) -> None:
    looking = Looking(crawl)
    assert not looking.turn(TICK, busy=1)
    assert looking.begin(2 * TICK, busy=0)
    assert looking.planner.next_time(ENOUGH) == np.inf
    looking.planner.close()
    assert looking.rung == 1


def test_a_plan_that_takes_longer_than_a_turn_wakes_the_loop(crawl: Crawl) -> None:
    looking, may_end = Looking(crawl), Event()
    make = looking.planner._make

    def slow(wall: float, wanted: U32) -> Any:
        may_end.wait(60)
        return make(wall, wanted)

    with patch.object(looking.planner, "_make", slow):
        assert looking.begin(RENEW, busy=1)
    assert looking.planner.next_time(ENOUGH) == RENEW + PAUSE
    assert looking.planner.take(RENEW + PAUSE) is None
    assert looking.planner.next_time(ENOUGH) == np.inf, "no turn waits for it in vain"
    may_end.set()
    looking.planner.close()
    assert looking.rung == 1


def test_wanted_pages_are_planned_at_once_in_a_settled_crawl(crawl: Crawl) -> None:
    looking = Looking(crawl)
    assert not looking.turn(TICK, busy=1)
    looking.planner.want([0])
    assert looking.planner.next_time(ENOUGH) <= 2 * TICK
    assert looking.begin(2 * TICK, busy=1)
    looking.planner.close()
    assert looking.rung == 1


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=st.floats(0.01, 2 * RENEW), rests=st.floats(0.0, 3 * SOON), since=st.floats(0.0, TICK))
def test_a_site_is_planned_before_it_may_be_asked(crawl: Crawl, found: float, rests: float, since: float) -> None:
    """The pages of the site are found some time after a plan; until then all sites have work."""
    looking = Looking(crawl)
    looking.asked_from(found + rests)
    at = since
    while not (looking.turn(at, busy=int(at < found)) and at >= found):
        at += TICK
    looking.planner.close()
    at_once = max(found + TICK, PAUSE + TICK)
    assert at <= max(at_once, found + rests - (SOON - RENEW - TICK)) + 1e-9
