"""The back-off of sites: the factor, the stretch, and that both survive a kill."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.model import VISIT, Ask, Outcome, Texts
from gossamer.base.outcomes import LONGEST_PAUSE, TREATMENTS, Aside
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import LAYOUT, new_desk
from gossamer.desk.columns import Group
from gossamer.harvester.backoff import MOST_SLOW, MOST_STRETCH, Answers, SiteClocks, clocks, rests
from gossamer.harvester.lost import patience_after
from gossamer.observe.listener import DeskView
from gossamer.observe.status import site_clock
from gossamer.read.explain.text import clock_lines
from gossamer.webs.simulated import Asked, Reply
from tests.support.world import World, impolite

ROOT = "http://a.example/"
RETRY = 500.0
EPSILON = 1e-3

VISITS = st.lists(
    st.tuples(st.sampled_from(Outcome), st.sampled_from([-1.0, 0.0, 30.0, 1e9]), st.floats(0.01, 30.0), st.booleans()),
    min_size=1,
    max_size=40,
)
"""Outcome, Retry-After, duration, and whether there was an answer."""


def sites(count: int = 1) -> SiteClocks:
    group = Group(count, LAYOUT["site"])
    return SiteClocks.of(group).copy(0, count)


def after(
    found: SiteClocks,
    time: float,
    visit: tuple[Outcome, float, float, bool],
    wait: float,
    k: float,
    owned: bool = False,
) -> float:
    """Seconds that site 0 rests after the visit, which ended at `time`."""
    outcome, retry_after, took, answered = visit
    values = ([0], [outcome], [time], [retry_after], [wait], [owned], [answered], [took], [took if answered else 0.0])
    kinds = (np.uint32, np.uint8, float, np.float32, float, np.uint8, np.bool_, float, float)
    found.next[0] = 0.0
    clocks(Answers(*(np.array(v, kind) for v, kind in zip(values, kinds, strict=True))), found, RETRY, k)
    return float(found.next[0]) - time


def is_good(outcome: Outcome, answered: bool) -> bool:
    return answered and not TREATMENTS[outcome].slows and outcome is not Outcome.RETURNED


@settings(max_examples=100, deadline=None)
@given(visits=VISITS)
def test_the_factor_doubles_with_each_outcome_that_slows_and_loses_a_tenth_with_each_other_answer(
    visits: list[tuple[Outcome, float, float, bool]],
) -> None:
    found, factor = sites(), 1.0
    for visit in visits:
        after(found, 1e6, visit, 5.0, 0.0)
        if TREATMENTS[visit[0]].slows:
            factor = min(2 * factor, MOST_SLOW)
        elif is_good(visit[0], visit[3]):
            factor = max(1.0, 0.9 * factor)
        assert found.slow[0] == pytest.approx(factor, rel=1e-5)


@settings(max_examples=100, deadline=None)
@given(
    visits=VISITS,
    wait=st.sampled_from([0.0, 0.02, 0.1, 5.0, 60.0]),
    k=st.sampled_from([0.0, 1.0, 10.0]),
    owned=st.booleans(),
)
def test_the_rest_is_at_least_what_each_of_the_rules_asks_for_and_a_week_at_most(
    visits: list[tuple[Outcome, float, float, bool]], wait: float, k: float, owned: bool
) -> None:
    found, failures = sites(), 0
    for visit in visits:
        outcome, retry_after, took, answered = visit
        rest = after(found, 1e6, visit, wait, k, owned)
        assert wait - EPSILON <= rest <= LONGEST_PAUSE + EPSILON
        if found.slow[0] > 1:
            assert rest >= min(LONGEST_PAUSE, max(wait, 1.0) * float(found.slow[0])) - EPSILON
        if found.stretch[0] > 1 and owned:
            assert rest >= min(LONGEST_PAUSE, float(found.stretch[0])) - EPSILON, "its own site is spared too"
        if outcome is Outcome.RETURNED:
            continue
        assert rest >= min(LONGEST_PAUSE, max(retry_after, 0.0 if owned else k * took)) - EPSILON
        failures = failures + 1 if TREATMENTS[outcome].slows else 0 if answered else failures
        if TREATMENTS[outcome].ends and failures >= TREATMENTS[outcome].ends:
            assert rest >= RETRY - EPSILON
        waits, owners = np.array([wait]), np.array([owned], np.uint8)
        assert rest >= float(rests(waits, found.slow, found.stretch, owners)[0]) - EPSILON, "as after a start"


@settings(max_examples=100, deadline=None)
@given(took=st.lists(st.floats(0.01, 30.0), min_size=1, max_size=60), wait=st.sampled_from([0.0, 5.0]))
def test_a_rising_response_time_only_ever_makes_the_rest_longer(took: list[float], wait: float) -> None:
    found = sites()
    for i, seconds in enumerate(took):
        rest = after(found, 1e6, (Outcome.OK, -1.0, seconds, True), wait, 0.0)
        assert rest >= wait - EPSILON
        assert 1.0 <= found.stretch[0] <= MOST_STRETCH
        if max(took[: i + 1]) <= 2 * min(took[: i + 1]):
            assert found.stretch[0] == 1.0, "at most twice as long"
        if found.stretch[0] > 1:
            assert found.why[0] == Aside.SLOWED
            assert rest == pytest.approx(wait * found.stretch[0], abs=EPSILON)


def test_answers_that_take_ten_times_as_long_stretch_the_wait_until_they_are_fast_again() -> None:
    found = sites()
    usual, slow = (Outcome.OK, -1.0, 0.2, True), (Outcome.OK, -1.0, 2.0, True)
    assert {after(found, 1e6, usual, 5.0, 0.0) for _ in range(30)} == {5.0}
    assert [after(found, 1e6, slow, 5.0, 0.0) for _ in range(8)][-1] > 5 * 5.0
    rested = [after(found, 1e6, usual, 5.0, 0.0) for _ in range(12)]
    assert rested == sorted(rested, reverse=True)
    assert rested[-1] == 5.0


# --- whole crawls


def gaps(asked: list[Asked]) -> list[tuple[float, float]]:
    """For each request but the first: its start, and the time since the end of the request before."""
    return [(b.start, b.start - a.end) for a, b in pairwise(asked)]


def test_a_server_that_gets_slow_is_requested_less_often_until_it_recovers(tmp_path: Path) -> None:
    pages = [f"{ROOT}{n}" for n in range(110)]
    world = World(tmp_path, {}, ["harvester.wait=1s", "harvester.large_site=1000"])
    busy: list[float] = []

    def reply(url: str) -> Reply:
        asked = len(world.asked)
        if 50 <= asked < 65:
            busy.append(world.clock.monotonic())
            return Reply(seconds=3.0)
        return Reply(seconds=0.2) if url in pages else Reply(outcome=Outcome.NOT_FOUND, status=404)

    world.replies = reply
    result = world.run(pages)
    found = gaps(world.asked)
    before = [gap for start, gap in found if start <= busy[0]]
    meanwhile = [gap for start, gap in found if busy[3] < start <= busy[-1]]
    later = [gap for start, gap in found if start > busy[-1]][10:]
    assert max(before) < 1.1, "results wait for the next tick"
    assert min(meanwhile) > 3 * max(before)
    assert max(later) < 1.1
    assert len(later) > 30
    assert result.crawl.desk.columns.site.stretch[0] == 1.0


def test_with_a_wait_factor_sites_rest_for_that_multiple_of_their_last_answer(tmp_path: Path) -> None:
    rng = Random(1)
    pages = {f"{ROOT}{n}": Reply(seconds=rng.uniform(0.1, 3.0)) for n in range(20)}
    world = World(tmp_path, pages, ["harvester.wait=1s", "harvester.wait_factor=10"])
    world.run(list(pages), seconds=2000.0)
    assert len(world.asked) > 20
    for a, b in pairwise(world.asked):
        assert b.start - a.end >= max(1.0, 10 * (a.end - a.start)) - EPSILON


def test_a_domain_gets_one_request_at_a_time_with_its_wait_between_two(tmp_path: Path) -> None:
    hosts = [f"s{i}.one.co.uk" for i in range(5)] + [f"s{i}.two.co.uk" for i in range(5)]
    web = {f"http://{host}/{n}": Reply(seconds=0.3) for host in hosts for n in range(4)}
    world = World(tmp_path, web, ["harvester.domain_wait=2s"], address=lambda host: f"192.0.2.{hosts.index(host)}")
    world.run(list(web), turns=60, clean=False)
    assert len(world.run(list(web)).pages) == len(web)
    assert {a.url for a in world.asked if a.ask is Ask.PAGE} == set(web)
    assert impolite(world.asked, 15.0, 1.0) == []
    for domain in ("one.co.uk", "two.co.uk"):
        of = [a for a in world.asked if urls.registrable(urls.host(a.url)) == domain]
        assert min(gap for _, gap in gaps(of)) >= 2.0 - EPSILON
    free = World(tmp_path / "free", web, address=world.address)
    free.run(list(web))
    assert free.clock.monotonic() < world.clock.monotonic(), "without the limit it is faster"


# --- kills


def too_soon(asked: list[Asked], outcome: dict[str, Outcome], seconds: float, wait: float) -> list[str]:
    """Requests within `max(wait, 1 s) * factor` of the answer before, which the contract forbids. Answers that a kill
    cut off were never seen."""
    found, factor, last = [], dict[str, float](), dict[str, Asked]()
    for a in asked:
        site = urls.host(a.url)
        if site in last:
            gap, least = a.start - last[site].end, max(1.0, wait) * factor[site]
            if factor[site] > 1 and gap < least - EPSILON:
                found.append(f"{a.url} at {a.start:.2f}, {gap:.2f} after {last[site].url}, not {least:.2f}")
        now = factor.get(site, 1.0)
        if a.end - a.start > seconds - EPSILON:
            slows = TREATMENTS[outcome.get(a.url, Outcome.NOT_FOUND)].slows
            now = 2 * now if slows else max(1.0, 0.9 * now)
        factor[site], last[site] = now, a
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_factor_retry_after_and_crawl_delay_survive_kills(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    hosts = [f"s{i}.example" for i in range(4)]
    outcome = {
        f"http://{host}/{n}": rng.choice([Outcome.OK, Outcome.OK, Outcome.TOO_MANY_REQUESTS, Outcome.SERVER_ERROR])
        for host in hosts
        for n in range(12)
    }
    status = {Outcome.OK: 200, Outcome.TOO_MANY_REQUESTS: 429, Outcome.SERVER_ERROR: 503}
    web = {
        url: Reply(outcome=o, status=status[o], seconds=0.1, retry_after=rng.choice([-1.0, 20.0]))
        for url, o in outcome.items()
    }
    web |= {f"http://{hosts[0]}/robots.txt": Reply(delay=9.0, seconds=0.1)}
    outcome |= {f"http://{hosts[0]}/robots.txt": Outcome.OK}
    world = World(tmp_path, web, ["harvester.wait=2s"], address=lambda host: f"192.0.2.{hosts.index(host)}")
    for _ in range(15):
        world.run(list(web), turns=rng.randrange(1, 40), clean=False)
    world.run(list(web), seconds=3000.0, patience=3000.0)
    assert len(world.asked) > 40
    seen = [a if a.end - a.start > 0.1 - EPSILON else replace(a, retry_after=-1.0) for a in world.asked]
    assert impolite(seen, 2.0, 1.0) == []
    assert too_soon(world.asked, outcome, 0.1, 2.0) == []
    assert impolite([a for a in seen if hosts[0] in a.url][1:], 9.0, 1.0) == []


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_uncommitted_visits_make_the_crawl_back_off_as_committed_ones_do(seed: int) -> None:
    rng = Random(seed)
    changes = ("collection.max_pages=100", "collection.max_sites=10", f"harvester.wait_factor={rng.choice([0, 10])}")
    chosen, known = override(Settings(), changes), rng.randint(1, 3)
    there, lost = new_desk(chosen, 1), new_desk(chosen, 1)
    for tick in range(6):
        visits = np.zeros(rng.randint(0, 4), VISIT)
        for visit in visits:
            visit["site"], visit["page"], visit["ask"] = rng.randrange(known), 0xFFFFFFFF, Ask.ROBOTS
            visit["outcome"] = rng.choice([Outcome.OK, Outcome.TOO_MANY_REQUESTS, Outcome.TIMED_OUT, Outcome.RETURNED])
            visit["time"], visit["end"] = 1e6 + 5 * tick, rng.uniform(0, 9)
            visit["status"], visit["retry_after"] = rng.choice([0, 200]), rng.choice([-1.0, 100.0])
            visit["delay"] = rng.choice([-1.0, 30.0])
        effects = there.effects(1e6 + 5 * tick, 0.0)
        effects.visits = visits
        effects.origins = np.array([(s, 80, 0) for s in range(known)], effects.origins.dtype)[: known * (tick == 0)]
        if tick == 0:
            effects.sites = Texts.join([f"s{s}.example".encode() for s in range(known)], "<u2")
        apply(there, effects)
        if tick < 3:
            apply(lost, effects)
            behind = []
        else:
            behind.append(effects)
    learned = patience_after(lost, behind)
    assert len(behind) == 3
    for site in {int(s) for effects in behind for s in effects.visits["site"]}:
        until, doubled = learned[site]
        assert until >= there.columns.site.next[site] - EPSILON
        assert lost.columns.site.slow[site] * 2**doubled >= there.columns.site.slow[site] - EPSILON


# --- reports


def test_a_slowed_site_is_reported_with_the_reason(tmp_path: Path) -> None:
    busy = Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429)
    web = {ROOT: Reply(links=[f"{ROOT}1"]), f"{ROOT}1": busy}
    crawl = World(tmp_path, web).run([ROOT]).crawl
    view = crawl.desk.columns.site
    view.usual[0], view.lately[0], view.stretch[0] = 0.5, 1.5, 3.0

    said: Any = site_clock(DeskView(crawl.desk), crawl.desk.settings, crawl.desk.wall, 0)
    assert (said["factor"], said["slow"], said["usual"], said["lately"]) == (6.0, 2.0, 0.5, 1.5)
    (line,) = [line for line in clock_lines(said, None, crawl.desk.wall) if "slowed" in line]
    assert line.strip() == (
        "slowed: this wait is multiplied by 6: it failed, or asked us to slow down; each good answer reduces it by "
        "a tenth; its pages begin to arrive after 1.5 s, usually after 0.50 s"
    )
