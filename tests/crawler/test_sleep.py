"""How long the loop sleeps, computed from what is due. No test measures time."""

from __future__ import annotations

import math
import select
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.bell import Bell
from gossamer.base.model import Outcome
from gossamer.base.units import Duration
from gossamer.config.settings import HarvesterSettings
from gossamer.crawler.sleep import FULL, FURTHER, LEAD, LONGEST, PART, QUIET, SHORT_TICK, TICK, Sleep
from gossamer.harvester.early import SOON
from gossamer.harvester.harvest import Harvest
from gossamer.webs.simulated import Reply
from tests.support.world import World, impolite

DEFAULTS = HarvesterSettings()
HALF = DEFAULTS.connections // 2
durations = st.floats(0.0, 60.0).map(Duration)
moments = st.floats(0.0, 100.0)


@st.composite
def waits(draw: st.DrawFn) -> HarvesterSettings:
    return HarvesterSettings(
        wait=draw(durations),
        wait_large=draw(durations),
        pause=draw(durations),
        per_turn=draw(st.integers(1, 3)),
        address_wait=draw(durations),
        domain_wait=draw(durations),
    )


def slept(harvester: HarvesterSettings, rate: float) -> Sleep:
    """Results have come at this rate for a minute; the last turn began at time 0."""
    sleep = Sleep(harvester)
    for turn in range(-600, 1):
        sleep.woke(turn / 10, round(rate / 10))
    return sleep


@pytest.mark.parametrize(
    ("rate", "tick"), [(0, QUIET), (50, QUIET), (100, QUIET), (200, FULL / 200), (1000, TICK), (5000, TICK)]
)
def test_ticks_adapt_to_the_rate_of_results(rate: float, tick: float) -> None:
    sleep = slept(DEFAULTS, rate)
    assert sleep.tick == pytest.approx(tick, rel=1e-3)
    assert sleep.ahead(HALF + 1, limited=False) == pytest.approx(FURTHER * tick, rel=1e-3)


def test_nothing_is_handed_out_ahead_within_a_bandwidth_or_while_connections_are_few() -> None:
    sleep = Sleep(DEFAULTS)
    assert sleep.ahead(HALF, limited=False) == 0
    assert sleep.ahead(2 * HALF, limited=True) == 0
    assert sleep.gather(1.0, 0.0, 3, 10.0) == TICK
    assert sleep.gather(0.01, 0.0, 3, 10.0) == 0.01


def test_under_a_virtual_clock_and_at_sites_of_the_operator_ticks_stay_short() -> None:
    for sleep in (Sleep(DEFAULTS, adapts=False), Sleep(HarvesterSettings(mine=True))):
        sleep.woke(0.0, 0)
        assert sleep.tick == sleep.least == TICK


@given(waits(), st.floats(0, 2000), moments, st.floats(0.0, 1.0), st.floats(0.0, 100.0))
def test_the_loop_wakes_before_a_site_is_due(
    harvester: HarvesterSettings, rate: float, turned: float, since: float, further: float
) -> None:
    """Sites that are due sooner after a turn than a tick and a bit were handed out in it."""
    sleep = slept(harvester, rate)
    sleep.woke(turned, 0)
    ahead = sleep.ahead(HALF + 1, limited=False)
    site, now = turned + FURTHER * sleep.least + further, turned + since
    pause = sleep.pause(now, ahead, site, math.inf)
    least = min(LEAD, (FURTHER - 1) * sleep.least)
    assert 0 < pause <= max(0.001, site - least - now) + 1e-9
    assert pause <= LONGEST


@given(waits(), st.floats(0, 2000))
def test_a_tick_is_never_shorter_than_before_nor_longer_than_its_results_may_wait(
    harvester: HarvesterSettings, rate: float
) -> None:
    rests = [harvester.wait, harvester.wait_large] + ([harvester.pause] if harvester.per_turn > 1 else [])
    before = min(TICK, PART * min(rests))
    others = [harvester.address_wait] + ([harvester.domain_wait] if harvester.domain_wait > 0 else [])
    tick = slept(harvester, rate).tick
    assert before <= tick <= max(before, min(QUIET, PART * min(rests + others)))


@given(waits(), st.floats(0, 2000), st.floats(0, 2000))
def test_the_faster_results_come_the_shorter_the_tick(harvester: HarvesterSettings, one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    assert slept(harvester, slow).tick >= slept(harvester, fast).tick


@given(waits(), st.floats(0, 2000), st.floats(0.001, 1.0), st.floats(-1.0, 10.0))
def test_results_are_collected_no_longer_than_until_something_is_due(
    harvester: HarvesterSettings, rate: float, pause: float, calm: float
) -> None:
    sleep = slept(harvester, rate)
    gather = sleep.gather(pause, sleep.ahead(HALF + 1, limited=False), 3, calm)
    assert gather <= max(SHORT_TICK, sleep.least, min(pause, calm))


def test_a_plan_that_may_begin_ends_the_sleep() -> None:
    sleep = slept(DEFAULTS, 0)
    ahead = sleep.ahead(HALF + 1, limited=False)
    assert sleep.pause(0.05, ahead, math.inf, 0.2) == pytest.approx(0.15)
    assert sleep.pause(0.05, ahead, math.inf, math.inf) == LONGEST


def test_a_bell_is_heard_until_it_is_hushed() -> None:
    bell, epoll = Bell(), select.epoll()
    epoll.register(bell.fileno(), select.EPOLLIN)
    assert not epoll.poll(0)
    bell.ring()
    bell.ring()
    assert epoll.poll(0)
    bell.hush()
    assert not epoll.poll(0)
    bell.hush()
    epoll.close()


def test_requests_that_wait_for_their_time_leave_half_of_the_connections(tmp_path: Path) -> None:
    """More sites than half of the connections are due within the time for which requests are handed out ahead."""
    sites = [f"s{i}.example" for i in range(190)]
    web = {f"http://{host}/": Reply(seconds=0.01) for host in sites}
    web |= {f"http://{host}/robots.txt": Reply(outcome=Outcome.NOT_FOUND, status=404) for host in sites}
    addresses = {host: f"192.0.2.{i}" for i, host in enumerate(sites)}
    world = World(tmp_path, web, ["harvester.connections=300"], address=addresses.get)
    most = 0
    hand_out = Harvest.hand_out

    def watched(harvest: Harvest, room: int, ahead: float = 0.0, early: int = 0) -> None:
        nonlocal most
        hand_out(harvest, room, ahead, early)
        most = max(most, int(np.count_nonzero(harvest._early.times > world.clock.monotonic() + SOON)))

    with patch.object(Harvest, "hand_out", watched), patch.object(Sleep, "tick", 10.0):
        world.run([f"http://{host}/" for host in sites])
    assert len(world.asked) == 380
    assert 0 < most <= HALF
    assert impolite(world.asked, 15.0, 1.0) == []
