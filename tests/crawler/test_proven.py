"""Session parameters that pairs of pages prove: found by the desk, durable, and removed by the workers."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from gossamer.base.model import Ask, Assignment
from gossamer.config import Settings
from gossamer.config.settings import SeederSettings
from gossamer.desk.proven import Proven
from gossamer.gatherer.reader import Reader
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.message import HEAD, decode_assignment, decode_results, encode_assignment
from gossamer.webs.simulated import Reply, SimulatedWeb
from tests.support.world import World, state_of

HOME = "http://a.example/"
SID = SeederSettings().session_ids.index("sid")


def _text(url: str) -> int:
    return hash(url.partition("?")[0]) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF | 1


def _with_sessions(url: str) -> Reply:
    """Four pages, each of which links to all with a session of its own."""
    if url.endswith("/robots.txt"):
        return Reply(status=404)
    links = [f"{HOME}{n}?sid={hash(url) % 3}{n}" for n in range(4)] if url.count("sid=") < 2 else []
    return Reply(links=links, sketch=_text(url))


@pytest.mark.parametrize("clean", [True, False])
def test_a_proven_parameter_is_durable_and_told_to_the_workers(tmp_path: Path, clean: bool) -> None:
    told: list[Assignment] = []
    assign = SimulatedWeb.assign

    def noting(self: SimulatedWeb, assignments: list[Assignment]) -> None:
        told.extend(assignments)
        assign(self, assignments)

    seeds = [f"{HOME}{n}?sid={s}" for n in range(4) for s in range(2)]
    world = World(tmp_path, _with_sessions)
    with patch.object(SimulatedWeb, "assign", noting):
        result = world.run(seeds, clean=clean)
        desk = result.crawl.desk
        assert desk[Proven].parameters == {0: 1 << SID}
        assert desk[Proven].explain_site(0) == {"session_parameters": ["sid"]}
        assert {each.proven for each in told} == {0, 1 << SID}
        assert told[-1].proven == 1 << SID
        if not clean:
            return
        assert state_of(world.replayed()) == state_of(desk)
        told.clear()
        again = world.run([f"{HOME}new"])
        assert again.crawl.desk[Proven].parameters == {0: 1 << SID}
        assert {each.proven for each in told if each.ask is Ask.PAGE} == {1 << SID}


def _read(body: bytes, proven: int, status: int = 200, **headers: str) -> list[bytes]:
    settings = Settings(seeder=SeederSettings(domains=("example",)))
    given = Assignment(1, Ask.PAGE, 1, 1, 1, b"http://www.a.example/x?sid=1", "127.0.0.1", 80, proven=proven)
    assignment = decode_assignment(encode_assignment(given)[HEAD.size :])
    assert assignment == given
    found = {"content-type": "text/html", **headers}
    fetched = Fetched(assignment, None, "", 1.0, 2.0, status=status, body=body, headers=found)
    return decode_results([Reader(settings, 7).result(fetched)[HEAD.size :]]).links.texts.split()


def test_workers_remove_proven_parameters_from_links_and_redirects_inside_the_site() -> None:
    body = b"<a href='/y?sid=2'>y</a><a href='http://b.example/?sid=3'>b</a><a href='?sid=1'>self</a>" + b"word " * 9
    y, other, own = b"http://a.example/y", b"http://b.example/?sid=3", b"http://a.example/x"
    assert _read(body, 1 << SID) == [y, other, own]
    assert _read(body, 0) == [y + b"?sid=2", other]
    assert _read(b"", 1 << SID, 302, location="/y?sid=2") == [y]
    assert _read(b"", 0, 302, location="/y?sid=2") == [y + b"?sid=2"]
