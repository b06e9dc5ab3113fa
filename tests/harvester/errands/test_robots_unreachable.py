"""robots.txt that cannot be read for a long time (RFC 9309, 2.3.1.4), and robots.txt that is not requested twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.base.model import Ask, Outcome, State
from gossamer.base.outcomes import DAY, Aside
from gossamer.observe.listener import DeskView
from gossamer.observe.status import page_standing
from gossamer.read.explain.text import lines_of
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply
from tests.support.world import Result, World, impolite, state_of

ROOT = "http://a.example/"
ROBOTS = ROOT + "robots.txt"
FORBIDDEN, OPEN = ROOT + "private/1", ROOT + "open"
RULES = Reply(rules=Rules.parse(b"User-agent: *\nDisallow: /private/", "Gossamer").compiled())
FAILS = Reply(outcome=Outcome.SERVER_ERROR, status=503)
HOUR = 3600.0


def site_of(robots: Reply) -> dict[str, Reply]:
    pages = {url: Reply(links=[FORBIDDEN, OPEN, ROOT], digest=i + 1) for i, url in enumerate((ROOT, FORBIDDEN, OPEN))}
    return {ROBOTS: robots, **pages}


def pages_of(world: World) -> set[str]:
    return {a.url for a in world.asked if a.ask is Ask.PAGE}


def robots_of(world: World) -> list[float]:
    return [a.start for a in world.asked if a.url == ROBOTS]


def pass_days(world: World, days: float, step: float = 0.5, clean: bool = True) -> None:
    """Runs the crawl again and again; if not `clean`, every third run is killed, and the next ends before sites have
    rested."""
    for i in range(round(days / step)):
        world.clock.advance(step * DAY)
        stops = clean or i % 3 > 0
        world.run(clean=stops, commit=not stops)


def come_back(world: World, result: Result) -> Result:
    """Runs the crawl as soon as the first site may be requested again."""
    world.clock.advance(max(0.0, float(result.crawl.desk.columns.site.next[0]) - world.clock.wall()) + 1.0)
    return world.run()


@pytest.mark.slow
def test_after_thirty_days_a_robots_txt_that_was_never_read_counts_as_missing(tmp_path: Path) -> None:
    world = World(tmp_path, site_of(FAILS))
    result = world.run([ROOT])
    for _ in range(90):
        result = result if len(pages_of(world)) == 3 else come_back(world, result)
    first = min(a.start for a in world.asked if a.ask is Ask.PAGE)
    last = max(start for start in robots_of(world) if start < first)
    assert last - robots_of(world)[0] >= 30 * DAY, "forbidden until then"
    assert pages_of(world) == {ROOT, FORBIDDEN, OPEN}
    assert impolite(world.asked, 5.0, 1.0) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_everything_is_forbidden_until_then_and_afterwards_the_last_good_copy_is_used(tmp_path: Path, how: str) -> None:
    """Also across restarts, from images and from the journal."""
    web, clean = site_of(RULES), how == "stopped"
    world = World(tmp_path, web, ["harvester.robots_unreachable=2d", "manager.min_period=1h"])
    world.run([ROOT], clean=clean, commit=not clean)
    assert pages_of(world) == {ROOT, OPEN}
    web[ROBOTS] = FAILS
    before, tried = len(world.asked), len(robots_of(world))
    world.clock.advance(DAY)
    pass_days(world, 1.5, clean=clean)
    assert {a.url for a in world.asked[before:]} == {ROBOTS}, "nothing else is requested"
    assert len(robots_of(world)) > tried + 1
    before = len(world.asked)
    pass_days(world, 2, clean=clean)
    assert pages_of(world) == {ROOT, OPEN}, "by its last rules"
    later = world.asked[before:]
    assert {ROOT, OPEN} <= {a.url for a in later}
    asked = [a.start for a in later if a.url == ROBOTS]
    assert len(asked) >= 2
    assert np.diff(asked).max() < 1.6 * DAY, "it is still requested"
    web[ROBOTS] = Reply()
    pass_days(world, 1.5, clean=clean)
    assert FORBIDDEN in pages_of(world), "new rules apply as soon as they can be read"
    desk = world.run().crawl.desk
    assert desk.columns.origin.unreachable[0] == 0
    assert state_of(world.replayed()) | {"site.resolved": 0} == state_of(desk) | {"site.resolved": 0}
    assert impolite(world.asked, 5.0, 1.0) == []


def test_time_without_requests_does_not_count(tmp_path: Path) -> None:
    """A crawl that was stopped for months has seen two failures, not months of failures."""
    world = World(tmp_path, site_of(FAILS))
    world.run([ROOT])
    for _ in range(3):
        world.clock.advance(60 * DAY)
        desk = world.run().crawl.desk
    assert pages_of(world) == set()
    assert len(robots_of(world)) >= 4
    assert desk.believed(world.clock.wall()) - desk.columns.origin.unreachable[0] < DAY


def test_a_robots_txt_that_moved_to_an_unreachable_site_cannot_be_read(tmp_path: Path) -> None:
    moved = Reply(outcome=Outcome.REDIRECT, status=301, redirect="http://gone.example/robots.txt")
    world = World(
        tmp_path,
        site_of(moved),
        ["harvester.robots_unreachable=1d"],
        address=lambda host: None if "gone" in host else "192.0.2.1",
    )
    result = world.run([ROOT])
    for _ in range(20):
        result = result if pages_of(world) else come_back(world, result)
    assert min(a.start for a in world.asked if a.ask is Ask.PAGE) - robots_of(world)[0] >= DAY


def test_retries_back_off_from_five_minutes_to_the_setting(tmp_path: Path) -> None:
    world = World(tmp_path, site_of(FAILS), ["harvester.retry=2h"])
    result = world.run([ROOT])
    for _ in range(7):
        result = come_back(world, result)
    np.testing.assert_allclose(np.diff(robots_of(world)), [300, 600, 1200, 2400, 4800, 7200, 7200], atol=20)


def test_explain_describes_a_robots_txt_that_cannot_be_read(tmp_path: Path) -> None:
    web = site_of(RULES)
    world = World(tmp_path, web, ["harvester.robots_unreachable=2d", "manager.min_period=1h"])
    world.run([ROOT])

    def said() -> tuple[dict[str, object], str]:
        desk = world.run().crawl.desk
        standing = page_standing(DeskView(desk), world.settings, world.clock.wall(), 0, ROOT)
        told: Any = {"known": False, "url": ROOT, "given": ROOT, "steps": [], "why_not": [], "would": standing}
        return standing["robots"], "\n".join(lines_of(told, world.clock.wall()))

    assert said()[0]["verdict"] == "allowed"
    web[ROBOTS] = FAILS
    world.clock.advance(1.1 * DAY)
    robots, text = said()
    assert (robots["verdict"], bool(robots["unreachable"])) == (None, True)
    assert "nothing else is requested, for harvester.robots_unreachable at most" in text
    pass_days(world, 2.5)
    robots, text = said()
    assert (robots["verdict"], robots["outdated"]) == ("allowed", False)
    assert robots["again"] == robots["until"]
    assert "allowed, no rule applies, by its last readable copy, if there is one; requested" in text


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stopped", "killed", "sealed"])
def test_a_restart_does_not_request_a_valid_robots_txt_again(tmp_path: Path, how: str) -> None:
    web = site_of(RULES) | {"http://b.example/robots.txt": Reply(outcome=Outcome.NOT_FOUND, status=404)}
    world = World(tmp_path, web, ["manager.min_period=1h"])
    for _ in range(4):
        world.run([ROOT, "http://b.example/"], clean=how == "stopped", commit=how == "killed", sealed=how == "sealed")
        world.clock.advance(5 * HOUR)
    assert len(pages_of(world)) > 2
    assert [a.url for a in world.asked if a.ask is Ask.ROBOTS].count(ROBOTS) == 1
    assert len([a for a in world.asked if a.ask is Ask.ROBOTS]) == 2
    world.clock.advance(5 * HOUR)
    world.run()
    assert len(robots_of(world)) == 2, "after a day it is requested again"


def test_a_site_without_a_readable_robots_txt_waits_with_that_reason(tmp_path: Path) -> None:
    result = World(tmp_path, site_of(FAILS)).run([ROOT])
    assert result.in_state(State.PENDING) == {ROOT}
    assert result.crawl.desk.columns.site.why[0] == Aside.ROBOTS_UNREADABLE
