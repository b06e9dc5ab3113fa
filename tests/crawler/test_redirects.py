"""Chains of redirects end, wherever they lead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import HOPS_SHIFT, MOST_REDIRECTS, LinkKind, Outcome, PageFlag, Reason, State
from gossamer.manager.learn import judge
from gossamer.manager.pages import Pages
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.seeder.pages import SeederLimits
from gossamer.seeder.seed import listed_verdicts
from gossamer.webs.simulated import Reply
from tests.support.world import Result, World, impolite, state_of

NOT_THERE = Reply(outcome=Outcome.NOT_FOUND, status=404, seconds=0.05)
START = "http://a.example/0"


def moved(target: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=302, redirect=target, links=[target], kind=LinkKind.REDIRECT)


def number(url: str) -> int:
    return int(url.rpartition("/")[2])


def chain(host: Callable[[int], str], length: int | None = None) -> Callable[[str], Reply]:
    """A chain: `/n` redirects to `/n+1`, and after `length` redirects there is a page. None: the chain is endless."""

    def reply(url: str) -> Reply:
        if url.endswith("robots.txt"):
            return NOT_THERE
        n = number(url)
        if length is not None and n >= length:
            return Reply(digest=n + 1)
        return moved(f"http://{host(n + 1)}/{n + 1}")

    return reply


def one_site(n: int) -> str:
    return "a.example"


def two_sites(n: int) -> str:
    return "ab"[n % 2] + ".example"


def many_sites(n: int) -> str:
    return f"a{n}.example"


def hops(result: Result) -> list[int]:
    page = result.crawl.desk.columns.page
    return [int(flags) >> HOPS_SHIFT for flags in page.flags[: page.count]]


@pytest.mark.parametrize("host", [one_site, two_sites, many_sites])
def test_a_chain_of_redirects_ends(tmp_path: Path, host: Callable[[int], str]) -> None:
    world = World(tmp_path, chain(host))
    result = world.run([START])
    page = result.crawl.desk.columns.page
    assert page.count == MOST_REDIRECTS + 2
    assert [a.url for a in world.asked if not a.url.endswith("robots.txt")] == [
        START,
        *(f"http://{host(n)}/{n}" for n in range(1, MOST_REDIRECTS + 1)),
    ]
    last = f"http://{host(MOST_REDIRECTS + 1)}/{MOST_REDIRECTS + 1}"
    assert result.in_state(State.EXCLUDED) == {last}
    assert page.reason[MOST_REDIRECTS + 1] == Reason.REDIRECTS
    assert hops(result) == [*range(MOST_REDIRECTS + 1), 0]
    assert result.crawl.desk[Pages].counts[State.EXCLUDED, Reason.REDIRECTS] == 1
    assert state_of(world.replayed()) == state_of(result.crawl.desk)


@pytest.mark.parametrize("length", [1, 9, 10])
def test_ten_redirects_lead_to_their_page(tmp_path: Path, length: int) -> None:
    result = World(tmp_path, chain(two_sites, length)).run([START])
    last = f"http://{two_sites(length)}/{length}"
    assert result.pages[last][:2] == (State.DONE, Outcome.OK)
    assert not result.in_state(State.EXCLUDED)


def test_a_link_or_a_seed_reopens_a_page_behind_too_many_redirects(tmp_path: Path) -> None:
    """By a link on a page that is found later, and by a seed; from there the chain continues for ten more redirects."""
    following = chain(one_site)
    last = f"http://a.example/{MOST_REDIRECTS + 1}"

    def reply(url: str) -> Reply:
        if url == "http://late.example/1":
            return Reply(links=[last], digest=1)
        return following(url)

    world = World(tmp_path, reply)
    assert world.run([START]).in_state(State.EXCLUDED) == {last}
    result = world.run(["http://late.example/1"])
    assert result.pages[last][:2] == (State.DONE, Outcome.REDIRECT)
    further = f"http://a.example/{2 * MOST_REDIRECTS + 2}"
    assert result.in_state(State.EXCLUDED) == {further}
    result = world.run([further])
    assert result.pages[further][:2] == (State.DONE, Outcome.REDIRECT)
    assert result.crawl.desk.columns.page.flags[list(result.pages).index(further)] & PageFlag.SEED
    replayed = state_of(world.replayed()) | {"site.resolved": None}
    assert replayed == state_of(result.crawl.desk) | {"site.resolved": None}, "a start forgets `site.resolved`"


def test_a_sitemap_reopens_a_page_behind_too_many_redirects(tmp_path: Path) -> None:
    world = World(tmp_path, chain(one_site))
    desk = world.run([START]).crawl.desk
    verdicts = listed_verdicts(desk.columns, np.array([MOST_REDIRECTS + 1]), SeederLimits.of(world.settings))
    assert verdicts["state"].tolist() == [State.PENDING]
    judge(desk.columns, desk[Pages].counts, verdicts)
    page = desk.columns.page
    assert (page.state[MOST_REDIRECTS + 1], page.depth[MOST_REDIRECTS + 1]) == (State.PENDING, 1)


def test_redirects_in_a_circle_are_requested_once(tmp_path: Path) -> None:
    def reply(url: str) -> Reply:
        return NOT_THERE if url.endswith("robots.txt") else moved(f"http://a.example/{(number(url) + 1) % 5}")

    world = World(tmp_path, reply)
    result = world.run([START])
    assert len([a for a in world.asked if not a.url.endswith("robots.txt")]) == 5
    assert {outcome for _, outcome, _ in result.pages.values()} == {Outcome.REDIRECT}


def test_sql_shows_pages_behind_too_many_redirects(tmp_path: Path) -> None:
    world = World(tmp_path, chain(one_site))
    world.run([START], sealed=True)
    world.run([])
    database = Database(find(tmp_path), world.settings)
    rows = database.run("select url, reason, flags // 16 from pages where state = 'excluded'", views=["pages"])
    assert rows == [(f"http://a.example/{MOST_REDIRECTS + 1}", "redirects", 0)]


@settings(max_examples=5)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), min_size=31, max_size=31))
def test_crawls_of_links_and_redirects_end_and_account_for_every_page(
    tmp_path_factory: pytest.TempPathFactory, web: list[tuple[bool, int]]
) -> None:
    def reply(url: str) -> Reply:
        if url.endswith("robots.txt"):
            return NOT_THERE
        redirects, to = web[number(url)]
        target = f"http://{two_sites(to)}/{to}"
        return moved(target) if redirects else Reply(links=[target], digest=number(url) + 1)

    world = World(tmp_path_factory.mktemp("web"), reply, ["harvester.soft_404=false"])
    result = world.run([START])
    asked = [a.url for a in world.asked if not a.url.endswith("robots.txt")]
    assert len(asked) == len(set(asked))
    assert all(count <= MOST_REDIRECTS for count in hops(result))
    assert len(asked) + len(result.in_state(State.EXCLUDED)) == len(result.pages)
    assert state_of(world.replayed()) == state_of(result.crawl.desk)


def test_a_returned_page_is_requested_again_under_the_waits_of_its_site(tmp_path: Path) -> None:
    """As after a 416, a 421, or an invalid certificate that the settings allow."""
    asked: list[str] = []

    def reply(url: str) -> Reply:
        asked.append(url)
        if url.endswith("robots.txt"):
            return NOT_THERE
        if asked.count(url) == 1:
            return Reply(outcome=Outcome.RETURNED, status=416)
        return Reply(links=["http://a.example/1", "http://a.example/2"] if url == START else (), digest=number(url) + 1)

    world = World(tmp_path, reply, ["harvester.soft_404=false"])
    result = world.run([START])
    assert all(asked.count(f"http://a.example/{n}") == 2 for n in range(3))
    assert {standing[:2] for standing in result.pages.values()} == {(State.DONE, Outcome.OK)}
    assert impolite(world.asked, world.settings.harvester.wait, world.settings.harvester.address_wait) == []
