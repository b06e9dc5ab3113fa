"""`www.` and the bare name are one site (A.2.5): it is requested by the name that answers, each page once, politely.

Simulated crawls under a virtual clock: replies are looked up by the requested URL, with its `www.`. The last test is a
whole crawl of the sites of the demonstration Web that have two names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.base.ending import Ending
from gossamer.base.model import Ask, Outcome, State
from gossamer.base.outcomes import Aside
from gossamer.desk.account import Account
from gossamer.desk.places import MOST_SWITCHES, Places
from gossamer.harvester.errands.probes import NAME
from gossamer.manager.pages import Pages
from gossamer.robots import Rules
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.site import SiteNames
from gossamer.webs.simulated import Asked, Reply
from tests.support.crawling import LIGHT, gossamer, serve
from tests.support.reading import Found
from tests.support.world import World, impolite, robots_first, state_of

BARE, WWW = "http://a.example/", "http://www.a.example/"
PAGES = ("", "1", "2", "3")
NONE_THERE = Reply(outcome=Outcome.NOT_FOUND, status=404)
Replies = Callable[[str], Reply]


def other(url: str) -> str:
    """The URL with the other name."""
    return url.replace("//www.", "//") if "//www." in url else url.replace("//", "//www.")


def moved(url: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=301, redirect=other(url))


def page(url: str) -> Reply:
    """Every page links to all pages, with both names."""
    number = url.rpartition("/")[2]
    if number == "robots.txt" or number not in PAGES:
        return NONE_THERE
    links = [root + n for n in PAGES for root in (BARE, WWW)]
    return Reply(links=links, digest=1 + PAGES.index(number))


def redirecting(to_www: bool, robots: bool) -> Replies:
    """A site that redirects every path to one of its names, with its robots.txt or without one at either name."""

    def reply(url: str) -> Reply:
        if ("//www." in url) == to_www or (url.endswith("robots.txt") and not robots):
            return page(url)
        return moved(url)

    return reply


def asked_urls(asked: list[Asked], ask: Ask = Ask.PAGE) -> list[str]:
    return [a.url for a in asked if a.ask is ask]


def expect_one_site(world: World, known: dict[str, tuple[State, Outcome | None, int]]) -> None:
    assert set(known) == {BARE + n for n in PAGES}
    assert impolite(world.asked, 15.0, 1.0) == []
    assert robots_first(world.asked)


@pytest.mark.parametrize("seed", [BARE, WWW])
def test_www_and_the_bare_name_are_one_site_and_each_page_is_requested_once(tmp_path: Path, seed: str) -> None:
    world = World(tmp_path, page)
    result = world.run([seed])
    expect_one_site(world, result.pages)
    assert result.in_state(State.DONE) == set(result.pages)
    assert Counter(asked_urls(world.asked)) == {seed + n: 1 for n in PAGES}, (
        "requested by the name with which it was found"
    )
    assert asked_urls(world.asked, Ask.ROBOTS) == [seed + "robots.txt"]
    assert result.crawl.desk.columns.site.count == 1


def test_a_site_that_is_first_linked_with_www_is_requested_with_www(tmp_path: Path) -> None:
    replies = {"http://b.example/": Reply(links=[WWW, BARE + "1"])}
    world = World(tmp_path, lambda url: replies.get(url) or page(url))
    world.run(["http://b.example/"])
    assert set(asked_urls(world.asked)) == {"http://b.example/", *(WWW + n for n in PAGES)}


@pytest.mark.parametrize("robots", [True, False], ids=["robots.txt too", "robots.txt apart"])
@pytest.mark.parametrize("to_www", [True, False], ids=["to www", "to the bare name"])
def test_a_site_that_redirects_every_path_to_its_other_name_is_redirected_once(
    tmp_path: Path, to_www: bool, robots: bool
) -> None:
    wrong, right = (BARE, WWW) if to_www else (WWW, BARE)
    world = World(tmp_path, redirecting(to_www, robots))
    result = world.run([wrong])
    expect_one_site(world, result.pages)
    assert {outcome for state, outcome, _ in result.pages.values()} == {Outcome.OK}
    first = [] if robots else [wrong]
    assert asked_urls(world.asked)[: len(first)] == first
    assert Counter(asked_urls(world.asked)) == Counter([*first, *(right + n for n in PAGES)])
    assert asked_urls(world.asked, Ask.ROBOTS) == [wrong + "robots.txt", right + "robots.txt"]
    desk = result.crawl.desk
    assert (desk[Account].visits, desk[Account].robots_visits, desk[Account].outcomes[Outcome.REDIRECT]) == (
        4 + len(first),
        2,
        len(first),
    )
    assert desk[Pages].counts.sum() == len(result.pages)


def test_robots_txt_at_the_other_name_is_read_before_any_page_and_applied(tmp_path: Path) -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /2", "Gossamer").compiled()

    def reply(url: str) -> Reply:
        return Reply(rules=rules) if url == WWW + "robots.txt" else redirecting(True, True)(url)

    world = World(tmp_path, reply)
    result = world.run([BARE])
    assert [a.url for a in world.asked][:3] == [BARE + "robots.txt", WWW + "robots.txt", WWW]
    assert result.in_state(State.EXCLUDED) == {BARE + "2"}
    assert not [a.url for a in world.asked if a.url.endswith("/2")]


@pytest.mark.parametrize("robots", [True, False], ids=["robots.txt too", "robots.txt apart"])
def test_circular_redirects_between_two_names_end(tmp_path: Path, robots: bool) -> None:
    def reply(url: str) -> Reply:
        return NONE_THERE if url.endswith("robots.txt") and not robots else moved(url)

    world = World(tmp_path, reply)
    result = world.run([BARE])
    assert result.ending is Ending.DONE
    assert len(world.asked) <= 3 * (MOST_SWITCHES + 1)
    expected = State.PENDING if robots else State.DONE
    assert result.in_state(expected) == {BARE}, "a robots.txt that cannot be read forbids its site"
    assert impolite(world.asked, 15.0, 1.0) == []
    world.clock.advance(86_400.0)
    before = len(world.asked)
    world.run()
    assert len(world.asked) - before <= 2, "it does not begin again"


def test_a_site_whose_bare_name_does_not_exist_is_requested_with_www(tmp_path: Path) -> None:
    names: list[str] = []

    def address(host: str) -> str | None:
        names.append(host)
        return "192.0.2.1" if host.startswith("www.") else None

    world = World(tmp_path, page, address=address)
    result = world.run([BARE])
    expect_one_site(world, result.pages)
    assert set(asked_urls(world.asked)) == {WWW + n for n in PAGES}
    assert names == ["a.example", "www.a.example"]
    assert result.ending is Ending.DONE


def test_a_site_with_neither_name_is_looked_up_twice_and_waits(tmp_path: Path) -> None:
    names: list[str] = []

    def address(host: str) -> None:
        names.append(host)

    world = World(tmp_path, page, address=address)
    result = world.run([BARE])
    assert (names, world.asked) == (["a.example", "www.a.example"], [])
    assert result.in_state(State.PENDING) == {BARE}
    world.clock.advance(86_400.0 - 120.0)
    world.run()
    assert len(names) == 2, "not before a day has passed"
    world.clock.advance(240.0)
    world.run()
    assert len(names) == 3


@pytest.mark.parametrize("outcome", [Outcome.CONNECT_FAILED, Outcome.TLS_FAILED])
def test_a_site_whose_first_connection_fails_is_requested_by_its_other_name(tmp_path: Path, outcome: Outcome) -> None:
    def reply(url: str) -> Reply:
        return page(url) if "//www." in url else Reply(outcome=outcome, status=0)

    world = World(tmp_path, reply)
    result = world.run([BARE], patience=1000.0)
    assert world.asked[0].url == BARE + "robots.txt"
    assert asked_urls(world.asked, Ask.ROBOTS) == [BARE + "robots.txt", WWW + "robots.txt"]
    assert set(asked_urls(world.asked)) == {WWW + n for n in PAGES}
    expect_one_site(world, result.pages)


def test_a_site_whose_other_name_does_not_exist_is_requested_by_its_first_name_again(tmp_path: Path) -> None:
    """It waits for its robots.txt, not for a name that no link has."""
    failing = [True]

    def reply(url: str) -> Reply:
        return Reply(outcome=Outcome.TLS_FAILED, status=0) if failing[0] else page(url)

    def address(host: str) -> str | None:
        return None if host.startswith("www.") else "192.0.2.1"

    world = World(tmp_path, reply, address=address)
    result = world.run([BARE], patience=400.0)
    site = result.crawl.desk.columns.site
    assert (result.crawl.desk[Places].host(0), site.name_failures[0]) == ("a.example", 0)
    assert Aside(int(site.why[0])) in (Aside.ROBOTS_UNREADABLE, Aside.FAILING)
    failing[0] = False
    world.clock.advance(2_000.0)
    expect_one_site(world, world.run(patience=1000.0).pages)
    assert set(asked_urls(world.asked)) == {BARE + n for n in PAGES}


def test_a_site_that_answered_before_keeps_its_name(tmp_path: Path) -> None:
    """Later failures prove nothing about the name."""

    def reply(url: str) -> Reply:
        return Reply(outcome=Outcome.CONNECT_FAILED, status=0) if url.endswith("/1") else page(url)

    world = World(tmp_path, reply)
    world.run([BARE], patience=1000.0)
    assert not [a.url for a in world.asked if "//www." in a.url]


@pytest.mark.slow
@pytest.mark.parametrize("turns", [2, 4, 6, 8, 12, 20])
@pytest.mark.parametrize("how", ["redirect", "name", "connection"])
def test_a_replay_restores_the_names_by_which_sites_are_requested(tmp_path: Path, turns: int, how: str) -> None:
    """After a kill the desk has its former state, and the crawl ends as it would have without it."""

    def reply(url: str) -> Reply:
        failed = Reply(outcome=Outcome.CONNECT_FAILED, status=0)
        return failed if how == "connection" and "//www." not in url else redirecting(True, robots=False)(url)

    world = World(tmp_path, reply, address=lambda host: None if how == "name" and host == "a.example" else "192.0.2.1")
    before = world.run([BARE], clean=False, turns=turns, commit=True)
    assert state_of(world.replayed()) == state_of(before.crawl.desk)
    result = world.run(patience=1000.0)
    expect_one_site(world, result.pages)
    assert {outcome for _, outcome, _ in result.pages.values()} == {Outcome.OK}
    assert max(Counter(asked_urls(world.asked)).values()) <= 2, "requests in flight at the kill are repeated"


def test_without_the_setting_they_are_two_sites(tmp_path: Path) -> None:
    world = World(tmp_path, page, ["seeder.www=false"], address=lambda host: f"192.0.2.{len(host)}")
    result = world.run([BARE])
    assert set(result.pages) == {root + n for n in PAGES for root in (BARE, WWW)}
    assert Counter(asked_urls(world.asked)) == {root + n: 1 for n in PAGES for root in (BARE, WWW)}
    assert result.crawl.desk.columns.site.count == 2
    assert len([url for url, (_, outcome, _) in result.pages.items() if outcome is Outcome.DUPLICATE]) == 4


def test_without_the_setting_a_redirect_to_www_is_a_redirect(tmp_path: Path) -> None:
    def reply(url: str) -> Reply:
        if url == BARE:
            return Reply(outcome=Outcome.REDIRECT, status=301, redirect=WWW, links=[WWW])
        return page(url)

    result = World(tmp_path, reply, ["seeder.www=false"]).run([BARE])
    assert result.pages[BARE][1] is Outcome.REDIRECT
    assert result.pages[WWW][1] is Outcome.OK


# --- over real sockets ---------------------------------------------------------------------------------------

TWINS = DemoWeb(
    seed=81,
    sites=40,
    pages=240,
    largest=20,
    twins=4,
    errors=0,
    busy=0,
    delays=0,
    unavailable=0,
    slow=0,
    down=0,
    torn=0,
    calendars=0,
    sessions=0,
    mirrors=0,
    soft=0,
    tls=0,
    old=0,
    languages=0,
    shared=0,
)


@pytest.mark.slow
def test_sites_of_the_demonstration_web_with_two_names_are_crawled_by_the_right_one(tmp_path: Path) -> None:
    """Where a site has a name that redirects or does not exist, its seed has that name."""
    twins = [s for s in TWINS.all_sites if s.names is not SiteNames.BARE]
    assert {s.names for s in twins} == set(SiteNames) - {SiteNames.BARE}
    wrong = {
        s.host: f"www.{s.host}" if s.names in (SiteNames.TO_BARE, SiteNames.BOTH) else s.host for s in TWINS.all_sites
    }
    seeds = tmp_path / "wrong.seeds"
    seeds.write_text("".join(f"http://{wrong[s.host]}/\n" for s in TWINS.all_sites))
    with serve(TWINS, tmp_path, *LIGHT) as served:
        ended = gossamer(
            "crawl", tmp_path / "crawl", "--config", served.config, "--seeds", seeds, "--patience", "5s", "--json"
        )
        assert ended.code == 0, ended.errors
        report = served.verdict()
        requests = served.requests()
    assert report.violations == []
    expected = TWINS.reachable()
    found = Found(tmp_path / "crawl")
    assert set(found.urls) == set(expected)
    assert {u: o for u, (_, o) in found.states.items() if o not in (expected[u].outcomes or {None})} == {}
    assert ended.figures["sites"] == len(TWINS.all_sites)
    other = ("/maps/", "/sitemap.xml")
    asked = Counter((r.site, r.is_robots) for r in requests if not r.target.startswith(other) and NAME not in r.target)
    for site in twins:
        right = wrong[site.host] if site.names is SiteNames.BOTH else site.name
        other_name = site.host if right != site.host else f"www.{site.host}"
        pages = sum(e.url.startswith(site.home) and not e.excluded for e in expected.values())
        assert (asked[right, False], asked[right, True]) == (pages, 1)
        redirected = site.names in (SiteNames.TO_WWW, SiteNames.TO_BARE)
        assert (asked[other_name, False], asked[other_name, True]) == (0, int(redirected)), site.names
