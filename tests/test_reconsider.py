"""Settings that change between two runs hold for pages that are known already."""

from __future__ import annotations

from pathlib import Path

from gossamer.model import State
from gossamer.simulator.web import Reply
from tests.world import World

ROOT = "http://a.example/"
DEEP = {ROOT: [ROOT + "1/"], ROOT + "1/": [ROOT + "1/2/"], ROOT + "1/2/": []}


def web(url: str) -> Reply:
    return Reply(links=DEEP.get(url, []))


def test_pages_too_deep_are_opened_by_a_greater_depth_and_closed_by_a_smaller_one(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    assert world.run([ROOT]).in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*")
    assert world.run(changed=True).in_state(State.DONE) == set(DEEP)


def test_a_pattern_excludes_what_was_not_asked_for_yet_and_its_removal_opens_it(tmp_path: Path) -> None:
    world = World(tmp_path, web, ("seeder.depth_static=1", "seeder.domains=*"))
    world.run([ROOT])
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=1/2")
    assert world.run(changed=True).in_state(State.EXCLUDED) == {ROOT + "1/2/"}
    world.changes = ("seeder.depth_static=5", "seeder.domains=*", "seeder.reject=nothing")
    assert world.run(changed=True).in_state(State.DONE) == set(DEEP)
