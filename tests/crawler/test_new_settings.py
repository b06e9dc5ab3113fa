"""Settings that change between two runs apply to pages that are already known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from gossamer.base.model import PageFlag, State
from gossamer.base.outcomes import Aside, Reason
from gossamer.collection.journal.effects import SITE_EVENT, SiteEvent
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import runs
from gossamer.crawler.apply import apply
from gossamer.robots import Rules
from gossamer.seeder.pages import Planted
from gossamer.webs.demo import DemoWeb
from gossamer.webs.simulated import Reply
from tests.support.crawling import LIGHT, gossamer, serve
from tests.support.world import World, impolite, state_of

ROOT = "http://a.example/"
DEEP = {ROOT: [ROOT + "1/"], ROOT + "1/": [ROOT + "1/2/"], ROOT + "1/2/": []}


def web(url: str) -> Reply:
    return Reply(links=DEEP.get(url.replace("www.", ""), []))


def test_pages_too_deep_are_reopened_by_a_larger_depth_limit(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    assert world.run([ROOT]).in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*")
    assert world.run().in_state(State.DONE) == set(DEEP)


def test_a_reject_pattern_excludes_pages_not_requested_yet_and_its_removal_reopens_them(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    world.run([ROOT])
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=1/2")
    assert world.run().in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=nothing")
    assert world.run().in_state(State.DONE) == set(DEEP)


def test_ports_apply_to_known_pages(tmp_path: Path) -> None:
    odd = "http://a.example:9000/1"
    world = World(tmp_path, lambda url: Reply(links=[odd]), ("seeder.domains=*", "seeder.ports=*"))
    world.run([ROOT], pages=1)
    world.changes = ("seeder.domains=*",)
    assert world.run(turns=0).in_state(State.EXCLUDED) == {odd}
    world.changes = ("seeder.domains=*", 'seeder.ports=["80", "9000"]')
    assert world.run().in_state(State.DONE) == {ROOT, odd}


def test_lists_of_extensions_apply_to_known_pages(tmp_path: Path) -> None:
    usual, page = ("seeder.domains=*", "seeder.depth_dynamic=0"), ROOT + "a.xyz"
    world = World(tmp_path, lambda url: Reply(links=[ROOT, page]), usual)
    world.run([ROOT], pages=1)

    def under(*changes: str) -> tuple[State, Reason, bool]:
        world.changes = (*usual, *changes)
        found = world.run(turns=0).crawl.desk
        again = state_of(world.replayed()) | {"site.resolved": [0.0]}  # names are looked up at every start
        assert again == state_of(found)
        columns = found.columns.page
        return State(columns.state[1]), Reason(columns.reason[1]), bool(columns.flags[1] & PageFlag.DYNAMIC)

    assert under() == (State.PENDING, Reason.NONE, False)
    assert under("seeder.documents=xyz") == (State.EXCLUDED, Reason.REJECTED, False)
    assert under("seeder.dynamic=xyz") == (State.EXCLUDED, Reason.DEPTH, True)
    assert under("seeder.static=xyz") == (State.PENDING, Reason.NONE, False)
    world.run()
    assert under("seeder.dynamic=xyz") == (State.DONE, Reason.NONE, True)


def test_a_seed_that_is_a_known_page_too_deep_is_reopened_and_counts_as_depth_zero(tmp_path: Path) -> None:
    deep = [f"{ROOT}{n}/" for n in range(6)]
    world = World(
        tmp_path,
        lambda url: Reply(links=dict(pairwise(deep)).get(url, "").split()),
        ("seeder.domains=*", "seeder.depth_static=2"),
    )
    assert world.run(deep[:1]).in_state(State.EXCLUDED) == {deep[3]}
    found = world.run(deep[3:4])
    assert found.in_state(State.DONE) == set(deep)
    assert found.pages[deep[5]][2] == 2
    assert state_of(world.replayed()) == state_of(found.crawl.desk)
    world.changes = ("seeder.domains=*", "seeder.depth_static=1")
    assert world.run().crawl.desk.columns.page.flags[3] & PageFlag.SEED


def test_a_rejected_page_given_as_seed_is_reopened_and_one_that_robots_txt_forbids_is_reported(tmp_path: Path) -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /1/2/", "Gossamer").compiled()

    def forbidding(url: str) -> Reply:
        return Reply(rules=rules) if url.endswith("/robots.txt") else web(url)

    world = World(tmp_path, forbidding, ("seeder.domains=*",))
    world.run([ROOT], pages=1)
    world.changes = ("seeder.domains=*", "seeder.reject=/1/")
    assert world.run().in_state(State.EXCLUDED) == {ROOT + "1/"}
    found = world.run([ROOT + "1/"])
    assert found.in_state(State.DONE) == {ROOT, ROOT + "1/"}
    again = world.run([ROOT, ROOT + "1/2/"])
    assert again.in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    assert again.planted == Planted(forbidden=(ROOT + "1/2/",))


DELAY = 1000.0


def slow_web(url: str) -> Reply:
    return Reply(delay=DELAY) if url.endswith("/robots.txt") else web(url)


@pytest.mark.parametrize("clean", [True, False])
def test_a_longer_max_delay_reopens_a_site_and_a_shorter_one_closes_it(tmp_path: Path, clean: bool) -> None:
    """The cure that the report names: --set harvester.max_delay=1h."""
    world = World(tmp_path, slow_web)
    assert world.run([ROOT], clean=clean, commit=True).in_state(State.DONE) == set()
    world.changes = ("seeder.domains=*", "harvester.max_delay=1h")
    assert world.run(pages=2, patience=2 * DELAY, clean=clean, commit=True).in_state(State.DONE) == {ROOT, ROOT + "1/"}
    assert impolite(world.asked, DELAY, 1.0) == []
    world.changes = ("seeder.domains=*",)
    assert world.run(patience=2 * DELAY).in_state(State.PENDING) == {ROOT + "1/2/"}


@pytest.mark.parametrize("answer", ["forbidden", None])
@pytest.mark.parametrize("change", ["allow_private=true", "forbidden=192.0.2.9", "resolvers=192.0.2.1"])
def test_failed_names_are_looked_up_at_once_under_new_settings(tmp_path: Path, answer: str | None, change: str) -> None:
    """The cure that the report names: --set harvester.allow_private=true."""
    world = World(tmp_path, web, ("seeder.domains=*",), address=lambda host: answer)
    assert world.run([ROOT]).in_state(State.PENDING) == {ROOT}
    world.address = lambda host: "192.0.2.1"
    assert world.run().in_state(State.PENDING) == {ROOT}
    world.changes = ("seeder.domains=*", f"harvester.{change}")
    begun = world.clock.monotonic()
    found = world.run()
    assert found.in_state(State.DONE) == set(DEEP)
    assert begun <= world.asked[0].start < begun + 15.0, "it was never requested before, and nothing was lost"
    assert impolite(world.asked, 15.0, 1.0) == []
    assert state_of(world.replayed()) == state_of(found.crawl.desk)


def test_looking_up_a_name_again_shortens_no_other_wait_of_its_site(tmp_path: Path) -> None:
    world = World(tmp_path, web)
    desk = world.run([ROOT], turns=1).crawl.desk
    hour, day = desk.wall + 3600, desk.wall + 86_400
    for event, until, next_, why in (
        (SiteEvent.PATIENCE, hour, hour, Aside.JUST_STARTED),
        (SiteEvent.NAME_FAILED, day, day, Aside.NAME_FAILED),
        (SiteEvent.FORBIDDEN_ADDRESS, 7 * day, 7 * day, Aside.FORBIDDEN_ADDRESS),
        (SiteEvent.NAME_AGAIN, 0.0, hour, Aside.JUST_STARTED),
        (SiteEvent.NAME_AGAIN, 0.0, hour, Aside.JUST_STARTED),
    ):
        effects = desk.effects(desk.wall, 0.0)
        effects.site_events = np.array([(0, event, 0, 0, effects.wall, until, [0] * 16)], SITE_EVENT)
        apply(desk, effects)
        assert (desk.columns.site.next[0], desk.columns.site.why[0]) == (next_, why)


class Killed(BaseException):
    """A kill: nothing is written after it."""


INSTANTS = ("crawler.loop.Crawl.judge_again", "collection.store.Store.commit", "crawler.new_settings.settle_run")


@pytest.mark.parametrize("instant", INSTANTS)
@pytest.mark.parametrize("then", ["the same settings", "those of before"])
def test_after_a_kill_the_next_start_applies_the_new_settings_to_all_pages(
    tmp_path: Path, instant: str, then: str
) -> None:
    before, rejecting = ("seeder.domains=*",), ("seeder.domains=*", "seeder.reject=/1/")
    world = World(tmp_path, web, before)
    world.run([ROOT], pages=1)
    world.changes = rejecting
    with patch(f"gossamer.{instant}", side_effect=Killed), pytest.raises(Killed):
        world.run()
    world.changes = rejecting if then == "the same settings" else before
    found = world.run()
    wanted = {ROOT} if then == "the same settings" else set(DEEP)
    assert found.in_state(State.DONE) == wanted
    assert {a.url for a in world.asked if "robots.txt" not in a.url} == wanted
    assert runs(shard_folder(tmp_path))[-1]["settled"]


DIES = """
import os, signal
from gossamer.crawler.loop import Crawl
Crawl.judge_again = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from gossamer.cli import main
main()
"""
WEB = DemoWeb(seed=61, sites=4, pages=60, largest=25, errors=0, busy=0, delays=0, unavailable=0, slow=0, down=0)


@pytest.mark.slow
def test_a_run_killed_with_new_settings_lists_them_again_at_the_next_start(tmp_path: Path) -> None:
    folder, everything = tmp_path / "crawl", "seeder.reject=://"
    with serve(WEB, tmp_path, *LIGHT) as served:
        assert served.crawl(folder, "--pages", "8").code == 0
        with served.begin(folder, "--set", everything, program=DIES) as crawling:
            assert crawling.ended().code == -9
        again = gossamer("crawl", folder, "--json")
        assert again.code == 0
        assert "changed: seeder.reject" in again.errors
        assert "by the new settings: 0 pages open again, " in again.errors
        assert "changed:" not in gossamer("crawl", folder).errors
        assert again.figures["pending"] == again.figures["run_visits"] == 0
        assert again.figures["excluded"] > 0
