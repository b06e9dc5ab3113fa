"""What the reader tells the desk of proofs and of Crawl-delays that name the crawler."""

from __future__ import annotations

import pytest

from gossamer.base.model import Ask, Assignment, Outcome, VisitFlag
from gossamer.config import Settings, override
from gossamer.gatherer.reader import Reader
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.message import HEAD, Results, decode_results

PROOF = "ab" * 32
ROBOTS = f"User-agent: *\nDisallow: /x\n# gossamer-mine: {PROOF}\n".encode()


def read(ask: Ask, body: bytes, *changes: str, status: int = 200, detail: str = "") -> Results:
    assignment = Assignment(1, ask, 0, 0, 0, b"http://a.test/file", "127.0.0.1", 80)
    fetched = Fetched(assignment, None, detail, 0.0, 1.0, status=status, headers={"content-type": "text/plain"})
    fetched.body = body
    return decode_results([Reader(override(Settings(), changes), 1).result(fetched)[HEAD.size :]])


@pytest.mark.parametrize("ask", [Ask.ROBOTS, Ask.PROOF])
def test_proofs_are_told_as_the_detail_of_a_visit(ask: Ask) -> None:
    found = read(ask, ROBOTS, "harvester.mine=true")
    assert found.visits["outcome"][0] == Outcome.OK
    assert found.visit_texts().text(0, "detail") == f"gossamer-mine: {PROOF}".encode()
    assert len(found.links) == 0
    for other in (read(ask, b"", "harvester.mine=true"), read(ask, ROBOTS, "harvester.mine=true", status=404)):
        assert b"gossamer-mine" not in other.visit_texts().text(0, "detail")


def test_without_the_setting_robots_txt_shows_nothing() -> None:
    assert read(Ask.ROBOTS, ROBOTS).visit_texts().text(0, "detail") == b""


def test_a_visit_with_an_invalid_certificate_shows_nothing() -> None:
    found = read(Ask.ROBOTS, ROBOTS, "harvester.mine=true", detail="expired")
    assert found.visit_texts().text(0, "detail") == b"expired"


@pytest.mark.parametrize(("agent", "named"), [("Gossamer", True), ("*", False), ("gossamer/2", True), ("other", False)])
def test_a_crawl_delay_that_names_us_is_marked(agent: str, named: bool) -> None:
    (visit,) = read(Ask.ROBOTS, f"User-agent: {agent}\nCrawl-delay: 2\nDisallow:\n".encode()).visits
    assert bool(visit["flags"] & VisitFlag.NAMED) == named
    assert visit["delay"] == (2.0 if agent != "other" else -1.0)
