"""Settings that change between two runs hold for pages that are known already."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import runs
from gossamer.demo import DemoWeb
from gossamer.model import State
from gossamer.simulator.web import Reply
from tests.crawling import gossamer, serve
from tests.world import World

ROOT = "http://a.example/"
DEEP = {ROOT: [ROOT + "1/"], ROOT + "1/": [ROOT + "1/2/"], ROOT + "1/2/": []}


def web(url: str) -> Reply:
    return Reply(links=DEEP.get(url, []))


def test_pages_too_deep_are_opened_by_a_greater_depth_and_closed_by_a_smaller_one(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    assert world.run([ROOT]).in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*")
    assert world.run().in_state(State.DONE) == set(DEEP)


def test_a_pattern_excludes_what_was_not_asked_for_yet_and_its_removal_opens_it(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    world.run([ROOT])
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=1/2")
    assert world.run().in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=nothing")
    assert world.run().in_state(State.DONE) == set(DEEP)


class Killed(BaseException):
    """Nothing is written after it."""


INSTANTS = ("crawl.Crawl.judge_again", "collection.store.Store.commit", "reconsider.settle_run")


@pytest.mark.parametrize("instant", INSTANTS)
@pytest.mark.parametrize("then", ["the same settings", "those of before"])
def test_a_kill_before_the_new_settings_hold_for_all_pages_leaves_it_to_the_next_start(
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
from gossamer.crawl import Crawl
Crawl.judge_again = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from gossamer.cli import main
main()
"""
WEB = DemoWeb(seed=61, sites=4, pages=60, largest=25, errors=0, busy=0, delays=0, unavailable=0, slow=0, down=0)


@pytest.mark.slow
def test_a_run_killed_with_new_settings_lists_them_again_at_the_next_start(tmp_path: Path) -> None:
    folder, everything = tmp_path / "crawl", "seeder.reject=://"
    with serve(WEB, tmp_path) as served:
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
