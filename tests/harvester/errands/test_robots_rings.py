"""robots.txt behind circular names and redirects: it is never ignored, and never requested for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.ending import Ending
from gossamer.base.model import Outcome, State
from gossamer.harvester.robots import READABLE
from gossamer.webs.simulated import Reply
from tests.support.world import World

PAGE = "http://e.example/"


@pytest.mark.parametrize("outcome", [o for o in Outcome if o not in {*READABLE, Outcome.FORGOTTEN}])
def test_a_robots_txt_that_cannot_be_read_forbids_its_site(tmp_path: Path, outcome: Outcome) -> None:
    def reply(url: str) -> Reply:
        status = 503 if outcome is Outcome.SERVER_ERROR else 0
        return Reply(outcome=outcome, status=status) if url.endswith("/robots.txt") else Reply()

    world = World(tmp_path, reply)
    result = world.run([PAGE])
    assert result.in_state(State.PENDING) == {PAGE}
    assert not [a.url for a in world.asked if a.url == PAGE]


def test_an_errand_that_is_redirected_to_the_other_name_of_its_site_ends(tmp_path: Path) -> None:
    """alias -> brand -> www.brand, which is common for alias domains."""

    def reply(url: str) -> Reply:
        if url == "http://alias.example/robots.txt":
            return Reply(outcome=Outcome.REDIRECT, status=301, redirect="http://brand.example/robots.txt")
        if url == "http://brand.example/robots.txt":
            return Reply(outcome=Outcome.REDIRECT, status=301, redirect="http://www.brand.example/robots.txt")
        return Reply(outcome=Outcome.NOT_FOUND, status=404) if url.endswith("/robots.txt") else Reply()

    world = World(tmp_path, reply)
    result = world.run(["http://alias.example/"])
    assert result.ending is Ending.DONE
    assert result.in_state(State.DONE) == {"http://alias.example/"}
    assert len(world.asked) <= 6


@pytest.mark.parametrize("target", ["http://www.www.e.example/", "http://www.e.example/"])
def test_a_redirect_to_the_current_name_does_not_cause_endless_requests(tmp_path: Path, target: str) -> None:
    def reply(url: str) -> Reply:
        moved = Reply(outcome=Outcome.REDIRECT, status=301, redirect=target, links=[target])
        return Reply(outcome=Outcome.NOT_FOUND, status=404) if url.endswith("/robots.txt") else moved

    world = World(tmp_path, reply)
    result = world.run(["http://www.e.example/"])
    assert result.ending is Ending.DONE
    assert len(world.asked) <= 9


def test_a_redirect_to_https_at_the_other_name_changes_the_name_of_the_site(tmp_path: Path) -> None:
    def reply(url: str) -> Reply:
        if url.startswith("http://"):
            target = "https://www.e.example/" + url.rpartition("/")[2]
            return Reply(outcome=Outcome.REDIRECT, status=301, redirect=target, links=[target])
        if url.startswith("https://e.example/"):
            return Reply(outcome=Outcome.TLS_FAILED, status=0)
        return Reply(outcome=Outcome.NOT_FOUND, status=404) if url.endswith("/robots.txt") else Reply()

    world = World(tmp_path, reply)
    result = world.run([PAGE])
    assert result.in_state(State.DONE) >= {"https://e.example/"}
    assert "https://www.e.example/" in [a.url for a in world.asked]
