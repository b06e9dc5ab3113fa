"""Interactions of politeness rules, in whole simulated crawls."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.model import VISIT, Ask, Outcome, State, VerdictFlag
from gossamer.base.outcomes import DAY
from gossamer.collection import image
from gossamer.collection.journal.effects import SITE_EVENT, VERDICT, SiteEvent
from gossamer.collection.layout import shard_folder
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import new_desk
from gossamer.crawler.tick import still_right
from gossamer.desk import snapshot
from gossamer.desk.places import Places
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply
from tests.support.world import SMALL, World, at_processor_speed, impolite, state_of

A, B = "http://a.example/", "http://b.example/"
PRIVATE = Rules.parse(b"User-agent: *\nDisallow: /private/", "Gossamer").compiled()


def moved_to(target: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=301, redirect=target)


def pages_of(world: World) -> set[str]:
    return {asked.url for asked in world.asked if asked.ask is Ask.PAGE}


def test_a_crawl_delay_read_at_another_site_holds_from_then_on(tmp_path: Path) -> None:
    web = {A + "robots.txt": moved_to(B + "robots.txt"), B + "robots.txt": Reply(delay=50.0), A: Reply(links=[])}
    world = World(tmp_path, web, ["seeder.domains=*"])
    world.run([A])
    read = next(asked.end for asked in world.asked if asked.url == B + "robots.txt")
    page = next(asked.start for asked in world.asked if asked.url == A)
    assert page >= read + 50.0


def test_a_robots_txt_that_moved_within_its_site_is_read_after_any_wait(tmp_path: Path) -> None:
    web = {
        A + "robots.txt": moved_to("https://a.example/robots.txt"),
        "https://a.example/robots.txt": Reply(rules=PRIVATE),
        A: Reply(links=[A + "private/1", A + "open"]),
        A + "open": Reply(digest=2),
        A + "private/1": Reply(digest=3),
    }
    world = World(tmp_path, web, ["harvester.wait=70s", "harvester.wait_large=70s"])
    world.run([A], patience=200.0)
    assert pages_of(world) == {A, A + "open"}
    assert impolite(world.asked, 70.0, 1.0) == []


def test_rules_with_a_validity_shorter_than_the_wait_do_not_block_a_site(tmp_path: Path) -> None:
    world = World(tmp_path, {A: Reply(links=[A + "x"]), A + "x": Reply(digest=2)}, ["harvester.robots_valid=10s"])
    world.run([A])
    assert pages_of(world) == {A, A + "x"}


def test_a_site_with_too_long_a_crawl_delay_is_not_requested_although_it_is_in_the_plan(tmp_path: Path) -> None:
    web = {A + "robots.txt": Reply(delay=1000.0), A: Reply(links=[])}
    world = World(tmp_path, web)
    world.run([A], patience=3000.0)
    assert pages_of(world) == set()


def test_a_moved_robots_txt_is_requested_once_however_long_its_new_site_waits(tmp_path: Path) -> None:
    web = {
        A + "robots.txt": moved_to(B + "robots.txt"),
        B + "robots.txt": Reply(delay=40.0),
        B: Reply(links=[B + f"{i}" for i in range(5)]),
        A: Reply(links=[A + "1"]),
        A + "1": Reply(digest=2),
        **{B + f"{i}": Reply(digest=10 + i) for i in range(5)},
    }
    world = World(tmp_path, web, ["seeder.domains=*"])
    world.run([B, A], patience=300.0)
    assert {A, A + "1", B + "4"} <= pages_of(world)
    asked = [asked.url for asked in world.asked if asked.ask is Ask.ROBOTS]
    assert sorted(asked) == [A + "robots.txt", B + "robots.txt", B + "robots.txt"]
    assert impolite(world.asked, 15.0, 1.0) == []


def test_a_verdict_by_rules_that_its_tick_replaces_is_dropped() -> None:
    verdicts = np.zeros(4, VERDICT)
    verdicts["page"] = [0, 1, 2, 3]
    verdicts["state"] = State.EXCLUDED
    verdicts["judged"] = [VerdictFlag.ROBOTS, VerdictFlag.ROBOTS, 0, VerdictFlag.ROBOTS]
    visits = np.zeros(2, VISIT)
    visits["origin"], visits["ask"] = [7, 8], [Ask.ROBOTS, Ask.PAGE]
    origin = np.array([7, 8, 7, 9], np.uint32)
    still = still_right(verdicts, origin, visits)
    assert still["page"].tolist() == [1, 2, 3], "of 7 the rules are new; of 8 only a page came; 2 is not by rules"
    untouched = still_right(verdicts, origin, visits[1:])
    assert untouched["page"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "event", [SiteEvent.SLOWED, SiteEvent.PATIENCE, SiteEvent.SITEMAPS_READ, SiteEvent.ROBOTS_AWAY]
)
def test_only_events_about_names_change_the_number_of_failures_of_a_name(tmp_path: Path, event: SiteEvent) -> None:
    world = World(tmp_path, {A: Reply(links=[])})
    crawl = world.run([A]).crawl
    desk, effects = crawl.desk, crawl.effects()
    desk.columns.site.name_failures[0] = 3
    effects.site_events = np.array([(0, event, 0, 80, desk.wall, desk.wall + 60.0, [0] * 16)], SITE_EVENT)
    apply(desk, effects)
    assert desk.columns.site.name_failures[0] == 3


def test_addresses_keep_their_numbers_in_an_image_although_numbers_are_reused(tmp_path: Path) -> None:
    """More addresses were used than there is room for."""
    world = World(tmp_path, {A: Reply(links=[])})
    crawl = world.run([A]).crawl
    desk = crawl.desk
    desk[Places].max_addresses = 4
    for i in range(11):
        effects = crawl.effects()
        address = [*[0] * 10, 255, 255, 192, 0, 2, 100 + i]
        effects.site_events = np.array([(0, SiteEvent.MOVED, 0, 80, desk.wall, desk.wall + 60.0, address)], SITE_EVENT)
        apply(desk, effects)
    shard = shard_folder(tmp_path)
    with at_processor_speed():
        arrays, meta = snapshot.dump(desk, crawl.store.ends())
        line = image.write(shard, desk.tick, 0, arrays, meta)
    again = new_desk(override(Settings(), SMALL), desk.seed)
    snapshot.load(again, image.read(shard, line))
    assert again[Places].packed == desk[Places].packed
    assert len(again[Places].packed) == 4
    assert again[Places].address(0) == desk[Places].address(0) == "192.0.2.110"
    assert again[Places].numbers == desk[Places].numbers


def test_a_turn_ends_with_an_answer_that_demands_more_than_the_pause(tmp_path: Path) -> None:
    web = {A: Reply(links=[A + f"{i}" for i in range(6)]), A + "2": Reply(digest=2, seconds=1.2, retry_after=7.0)}
    web |= {A + f"{i}": Reply(digest=10 + i, seconds=0.8) for i in (0, 1, 3, 4, 5)}
    world = World(tmp_path, web, ["harvester.per_turn=3", "harvester.wait_factor=5", "harvester.wait_large=15s"])
    world.run([A])
    assert len(pages_of(world)) == 7
    for before, after in pairwise(world.asked):
        assert after.start >= before.end + max(5 * (before.end - before.start), before.retry_after) - 1e-6


def test_rules_are_used_for_a_day_at_most_however_long_their_site_waits(tmp_path: Path) -> None:
    web = {A + "robots.txt": Reply(rules=PRIVATE, retry_after=3 * DAY), A: Reply(links=[])}
    world = World(tmp_path, web)
    world.run([A])
    for _ in range(3):
        world.clock.advance(3 * DAY)
        world.run()
    assert pages_of(world) == set(), "its Retry-After always ends after its rules have expired"
    assert 2 <= sum(asked.ask is Ask.ROBOTS for asked in world.asked) <= 4


def test_a_site_with_too_long_a_crawl_delay_is_checked_again_after_a_week(tmp_path: Path) -> None:
    world = World(tmp_path, {A + "robots.txt": Reply(delay=1000.0), A: Reply(links=[])})
    world.run([A])
    world.clock.advance(3 * DAY)
    world.run()
    assert len(world.asked) == 1
    world.clock.advance(5 * DAY)
    world.run()
    assert [asked.ask for asked in world.asked] == [Ask.ROBOTS, Ask.ROBOTS], "its Crawl-delay is still too long"
    world.replies = {A: Reply(links=[])}
    world.clock.advance(8 * DAY)
    again = world.run()
    assert pages_of(world) == {A}
    assert state_of(world.replayed())["site.delay"] == state_of(again.crawl.desk)["site.delay"]
