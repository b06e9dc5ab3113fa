"""Sites whose addresses change: politeness holds, duplicates are reopened (A.2.4), and the history is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Ask, Outcome, State, Texts
from gossamer.base.outcomes import DAY
from gossamer.collection.image import Image
from gossamer.collection.journal.effects import SITE_EVENT, Effects, SiteEvent
from gossamer.collection.layout import shard_folder
from gossamer.collection.recovery import recover
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import new_desk
from gossamer.desk.places import Places, folded
from gossamer.manager.pages import Pages
from gossamer.read.explain.site import explain_site
from gossamer.read.explain.text import lines_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.seeder.copies import Copies
from gossamer.web.addresses import pack
from gossamer.webs.simulated import Reply
from tests.support.statistics import tally_of
from tests.support.world import SMALL, Result, World, impolite, state_of

X, Y = "http://x.example/", "http://y.example/"
AT_X, AT_Y = "198.51.100.1", "198.51.100.2"


def scene(folder: Path) -> World:
    """Figure A.1: the name of Y leads to the server of X, and Y is requested first."""
    content = Reply(digest=7, links=[])
    world = World(folder, {X: content, Y: content}, ttl=3600.0)
    world.address = lambda host: AT_X
    world.run([Y])
    world.run([X])
    return world


def mended(world: World) -> None:
    """The name of Y now leads to its own server, which has other contents."""
    world.address = lambda host: AT_Y if "y." in host else AT_X
    world.replies = {X: Reply(digest=7), Y: Reply(digest=8), f"{Y}more.html": Reply()}


def ask(world: World, query: str) -> list[tuple[Any, ...]]:
    return list(Database(find(world.folder, True), world.settings).query(query).rows)


def effects_of(world: World) -> list[Effects]:
    return list(replace(recover(shard_folder(world.folder)), image=None).effects())


def outcomes(result: Result) -> dict[str, tuple[State, Outcome | None]]:
    return {url: (state, outcome) for url, (state, outcome, _) in result.pages.items()}


def test_duplicates_credited_to_a_wrong_address_are_requested_again(tmp_path: Path) -> None:
    world = scene(tmp_path)
    before = world.run(turns=0)
    assert outcomes(before) == {Y: (State.DONE, Outcome.OK), X: (State.DONE, Outcome.DUPLICATE)}
    mended(world)
    world.clock.advance(2 * 3600.0)
    after = world.run([f"{Y}more.html"])
    assert outcomes(after)[X] == (State.DONE, Outcome.OK)
    assert sorted(a.url for a in world.asked if a.ask is Ask.PAGE) == sorted([Y, X, X, f"{Y}more.html"])
    events = [event["event"] for effects in effects_of(world) for event in effects.site_events]
    assert events.count(SiteEvent.MOVED) == 1
    assert impolite(world.asked, 5.0, 1.0) == []


def test_own_pages_taken_for_copies_are_requested_again_when_their_site_moves(tmp_path: Path) -> None:
    content = Reply(digest=7)
    world = World(tmp_path, {X: content, Y: content}, ttl=3600.0, address=lambda host: AT_X)
    world.run([X])
    assert outcomes(world.run([Y]))[Y] == (State.DONE, Outcome.DUPLICATE)
    mended(world)
    world.clock.advance(2 * 3600.0)
    after = world.run([f"{Y}more.html"])
    assert outcomes(after)[Y] == (State.DONE, Outcome.OK)
    assert outcomes(after)[X] == (State.DONE, Outcome.OK)


@pytest.mark.parametrize("clean", [True, False])
def test_a_replay_of_a_move_gives_the_same_state_and_the_tables_show_it(tmp_path: Path, clean: bool) -> None:
    world = scene(tmp_path)
    mended(world)
    world.clock.advance(2 * 3600.0)
    world.run([f"{Y}more.html"], turns=3, clean=clean, commit=True)
    opened = world.run(turns=0)
    assert outcomes(opened)[X] == (State.PENDING, Outcome.DUPLICATE)
    np.testing.assert_array_equal(opened.crawl.desk[Pages].counts, tally_of(opened.crawl.desk.columns))
    live, again = state_of(opened.crawl.desk), state_of(world.replayed())
    assert {**live, "site.resolved": 0} == {**again, "site.resolved": 0}
    copies = [pair.tolist() for pair in opened.crawl.desk[Copies].all()]
    assert copies == [pair.tolist() for pair in world.replayed()[Copies].all()] == [[0], [1]]
    assert (X,) in ask(world, "select url from pages where state = 'pending'")
    done = world.run()
    assert outcomes(done)[X] == (State.DONE, Outcome.OK)
    assert ask(world, "select distinct state from pages") == [("done",)]


def test_rotating_addresses_are_no_moves(tmp_path: Path) -> None:
    world = scene(tmp_path)
    count = iter(range(1_000))
    world.address = lambda host: " ".join(f"198.51.100.{(n + next(count)) % 3 + 1}" for n in range(3))
    world.ttl = 60.0
    web = {f"http://{host}.example/{n}": Reply() for host in "xy" for n in range(20)}
    world.replies = web
    world.run(list(web))
    assert not any((e.site_events["event"] == SiteEvent.MOVED).any() for e in effects_of(world))
    assert impolite(world.asked, 5.0, 1.0) == []


def test_a_site_that_moves_all_the_time_reopens_its_duplicates_more_and_more_rarely() -> None:
    """New addresses every three hours, for two years."""
    desk = new_desk(override(Settings(), SMALL), 1)
    effects = desk.effects(0.0, 0.0)
    effects.sites = Texts.join([b"cdn.example"], "<u2")
    apply(desk, effects)
    moves = []
    for hour in range(0, 2 * 365 * 24, 3):
        wall, address = 1e9 + hour * 3600.0, pack(f"203.0.{hour // 3 % 200}.{hour // 3 % 250}")
        effects = desk.effects(wall, wall)
        event = SiteEvent.MOVED if desk[Places].has_moved(0, [address], wall) else SiteEvent.RESOLVED
        effects.site_events = np.array([(0, event, 0, 0, wall, wall + 60, list(address))], SITE_EVENT)
        apply(desk, effects)
        moves += [wall] if event == SiteEvent.MOVED else []
    waits = np.diff(moves) / DAY
    assert len(moves) == 10
    assert (waits[1:] / waits[:-1] >= 1.9).all()


def test_an_address_of_the_other_family_is_no_move() -> None:
    desk = new_desk(override(Settings(), SMALL), 1)
    desk.columns.site.home[0] = folded(pack(AT_X))
    assert desk[Places].has_moved(0, [pack(AT_Y)], 0.0)
    assert not desk[Places].has_moved(0, [pack("2001:db8::1")], 0.0)
    assert not desk[Places].has_moved(0, [pack(AT_Y), pack(AT_X)], 0.0)
    desk.columns.site.home[0] = folded(pack("2001:db8::1"))
    assert desk[Places].has_moved(0, [pack("2001:db8::2")], 0.0)
    assert not desk[Places].has_moved(0, [pack(AT_Y)], 0.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=300), st.integers(1, 50))
@settings(max_examples=50, deadline=None)
def test_credits_are_a_set_of_pairs(pairs: list[tuple[int, int]], at_once: int) -> None:
    desk = new_desk(override(Settings(), SMALL), 1)
    credited = Copies(desk)
    for i in range(0, len(pairs), at_once):
        some = np.array(pairs[i : i + at_once], np.uint32)
        credited.add(some[:, 0], some[:, 1])
    again = Copies(desk)
    again.load(cast(Image, SimpleNamespace(array=credited.arrays().__getitem__)))
    for each in (credited, again):
        originals, copies = each.all()
        assert list(zip(originals.tolist(), copies.tolist(), strict=True)) == sorted(set(pairs))


def test_politeness_holds_at_a_new_address(tmp_path: Path) -> None:
    """Every two minutes two sites swap their addresses, or share one."""
    web = {f"http://{host}.example/{n}": Reply(seconds=0.5) for host in "ab" for n in range(12)}
    world = World(tmp_path, web, ["harvester.wait=6s", "harvester.address_wait=20s"], ttl=60.0)

    def address(host: str) -> str:
        turn = int(world.clock.monotonic() // 120) % 3
        return AT_X if turn == 2 or (host == "a.example") == (turn == 0) else AT_Y

    world.address = address
    assert len(world.run(list(web)).in_state(State.DONE)) == 24
    assert {a.address for a in world.asked} == {AT_X, AT_Y}
    assert impolite(world.asked, 6.0, 20.0) == []


def test_after_a_failed_connection_the_next_address_of_the_name_is_used(tmp_path: Path) -> None:
    failed, found = Reply(outcome=Outcome.CONNECT_FAILED, status=0), iter([AT_X, AT_Y, AT_X])
    replies = iter([failed, failed, Reply(), Reply()])
    world = World(tmp_path, lambda url: next(replies), ["seeder.www=false"], address=lambda host: next(found))
    world.run(["http://a.example/"], patience=DAY)
    assert [a.address for a in world.asked[:3]] == [AT_X, AT_Y, AT_X]
    assert world.asked[1].start - world.asked[0].end >= 30.0, "the site backs off as after any failure"


def test_the_history_of_addresses_is_shown(tmp_path: Path) -> None:
    world = scene(tmp_path)
    mended(world)
    world.clock.advance(2 * 3600.0)
    world.run([f"{Y}more.html"])
    query = "select name, address, first_seen <= last_seen, lookups from addresses order by name, first_seen"
    both = [("x.example", AT_X, True, 2), ("y.example", AT_X, True, 1), ("y.example", AT_Y, True, 1)]
    assert ask(world, query) == both
    said = explain_site(tmp_path, "y.example")
    assert [each["address"] for each in said["addresses"]] == [AT_X, AT_Y]
    assert any(AT_Y in line and "1 lookup" in line for line in lines_of(said, time.time()))
