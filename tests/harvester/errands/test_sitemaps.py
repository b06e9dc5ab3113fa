"""Sitemaps in whole crawls under a virtual clock: which are requested, when, and what becomes of the listed pages."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.model import Ask, Outcome, State
from gossamer.desk.account import Account
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.harvester.errands.sitemaps import PIECE
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply, Sitemaps
from tests.support.world import World, impolite, robots_first, state_of

ROOT = "http://a.example/"
ROBOTS = "http://a.example/robots.txt"
WELL_KNOWN = "http://a.example/sitemap.xml"
DAY = 86_400.0


def world(folder: Path, web: dict[str, Reply], *changes: str) -> World:
    return World(folder, web, ["seeder.sitemaps=true", 'seeder.domains=["example"]', *changes])


def named(*sitemaps: str, rules: bytes = b"") -> Reply:
    return Reply(sitemaps=Sitemaps(sitemaps), rules=Rules.parse(rules, "Gossamer").compiled())


def sitemaps_of(world: World) -> list[str]:
    return [a.url for a in world.asked if a.ask is Ask.SITEMAP]


def pages(host: str, count: int) -> list[str]:
    return [f"http://{host}/p{i}" for i in range(count)]


def test_pages_that_only_a_sitemap_lists_are_found_at_depth_1(tmp_path: Path) -> None:
    listed = pages("a.example", 5)
    web = {ROOT: Reply(links=[listed[0]]), ROBOTS: named("http://a.example/s.xml")}
    web |= {"http://a.example/s.xml": Reply(links=listed), **{url: Reply() for url in listed}}
    here = world(tmp_path, web)
    result = here.run([ROOT])
    assert result.ending is Ending.DONE
    assert result.in_state(State.DONE) == {ROOT, *listed}
    assert {result.pages[url][2] for url in listed} == {1}
    assert sitemaps_of(here) == ["http://a.example/s.xml"], "the well-known location is for sites that name none"
    assert impolite(here.asked, 5.0, 1.0) == []
    assert robots_first(here.asked)


def test_the_well_known_location_is_requested_once_if_robots_txt_names_none(tmp_path: Path) -> None:
    here = world(tmp_path, {ROOT: Reply(links=pages("a.example", 3))})
    result = here.run([ROOT])
    assert sitemaps_of(here) == [WELL_KNOWN]
    here.run()
    here.clock.advance(2 * DAY)
    here.run()
    assert sitemaps_of(here) == [WELL_KNOWN], "a 404 there is remembered for the interval"
    assert result.crawl.desk[Account].sitemap_visits == 1
    here.clock.advance(6 * DAY)
    here.run()
    assert sitemaps_of(here) == [WELL_KNOWN] * 2, "and requested again after it"
    assert [a.ask for a in here.asked[-2:]] == [Ask.ROBOTS, Ask.SITEMAP]


def test_an_index_leads_to_further_sitemaps_and_no_more_of_a_round_than_the_settings_allow(tmp_path: Path) -> None:
    parts = [f"http://a.example/part{i}.xml" for i in range(9)]
    web = {
        ROOT: Reply(),
        ROBOTS: named("http://a.example/index.xml"),
        "http://a.example/index.xml": Reply(sitemaps=Sitemaps(parts)),
    }
    web |= {part: Reply(links=[f"http://a.example/of{i}"]) for i, part in enumerate(parts)}
    here = world(tmp_path, web, "seeder.sitemaps_per_site=5")
    result = here.run([ROOT])
    assert sitemaps_of(here) == ["http://a.example/index.xml", *parts[:4]]
    assert {f"http://a.example/of{i}" for i in range(4)} == set(result.pages) - {ROOT}


def test_a_sitemap_is_asked_for_once_a_round(tmp_path: Path) -> None:
    """However often it is named, and even if two sitemaps name each other."""
    one, two = "http://a.example/one.xml", "http://a.example/two.xml"
    web = {ROOT: Reply(), ROBOTS: named(one, one, two, "HTTP://A.example:80/one.xml")}
    web |= {one: Reply(sitemaps=Sitemaps([two, one])), two: Reply(sitemaps=Sitemaps([one]))}
    here = world(tmp_path, web)
    here.run([ROOT])
    assert sorted(sitemaps_of(here)) == [one, two]


def test_foreign_pages_are_refused(tmp_path: Path) -> None:
    listed = ["http://a.example/1", "https://a.example/2", "http://www.a.example/3", "http://b.example/4"]
    web = {ROOT: Reply(links=["http://b.example/"]), "http://b.example/": Reply(), WELL_KNOWN: Reply(links=listed)}
    result = world(tmp_path, web).run([ROOT])
    assert "http://b.example/4" not in result.pages
    assert {"http://a.example/1", "https://a.example/2", "http://a.example/3"} <= set(result.pages)


def test_a_sitemap_on_another_site_is_valid_for_sites_whose_robots_txt_names_it(tmp_path: Path) -> None:
    shared = "http://maps.example/all.xml"
    listed = [f"http://{host}.example/x" for host in ("a", "b", "c", "maps")]
    web = {url: Reply() for url in (ROOT, "http://b.example/", "http://c.example/")} | {shared: Reply(links=listed)}
    web |= {ROBOTS: named(shared), "http://b.example/robots.txt": named(shared)}
    here = world(tmp_path, web)
    result = here.run([ROOT, "http://b.example/", "http://c.example/"])
    assert {"http://a.example/x", "http://b.example/x", "http://maps.example/x"} <= set(result.pages)
    assert "http://c.example/x" not in result.pages, "its own robots.txt does not name the sitemap"
    assert "http://maps.example/robots.txt" in [a.url for a in here.asked if a.ask is Ask.ROBOTS]
    assert robots_first(here.asked)


def test_foreign_sitemaps_of_an_index_are_refused(tmp_path: Path) -> None:
    """No page links to victim.test, and its robots.txt does not name the index; that of b.example does."""
    index, parts = "http://a.example/index.xml", ["http://a.example/1.xml", "http://b.example/2.xml"]
    web = {ROOT: Reply(), ROBOTS: named(index), "http://b.example/": Reply()}
    web["http://b.example/robots.txt"] = named(index)
    foreign = ["http://victim.test/feed?x=1", "http://c.example/s.xml"]
    web[index] = Reply(sitemaps=Sitemaps([*foreign, "http://www.a.example/1.xml", parts[1]]))
    web |= {foreign[0]: Reply(links=["http://victim.test/secret"]), "http://c.example/": Reply()}
    web |= {part: Reply(links=[f"http://{host}.example/new"]) for part, host in zip(parts, "ab", strict=True)}
    here = world(tmp_path, web, 'seeder.domains=["*"]')
    result = here.run([ROOT, "http://b.example/", "http://c.example/"])
    assert not any("victim" in a.url for a in here.asked)
    assert foreign[1] not in sitemaps_of(here)
    assert set(parts) <= set(sitemaps_of(here))
    assert {"http://a.example/new", "http://b.example/new"} <= set(result.pages)
    assert result.crawl.desk[DueSitemaps].named == {}


def test_an_open_redirect_of_a_site_does_not_make_a_sitemap_valid_for_it(tmp_path: Path) -> None:
    go, there = "http://a.example/go?to=evil", "http://evil.example/map.xml"
    web = {ROOT: Reply(), "http://evil.example/": Reply(), "http://evil.example/robots.txt": named(go)}
    web[go], web[there] = moved(there), Reply(links=["http://a.example/chosen", "http://evil.example/own"])
    here = world(tmp_path, web)
    result = here.run([ROOT, "http://evil.example/"])
    assert there in sitemaps_of(here)
    assert "http://evil.example/own" in result.pages
    assert "http://a.example/chosen" not in result.pages


def test_robots_txt_applies_to_sitemaps_too(tmp_path: Path) -> None:
    web = {
        ROOT: Reply(),
        WELL_KNOWN: Reply(links=pages("a.example", 3)),
        ROBOTS: named(rules=b"User-agent: *\nDisallow: /s"),
    }
    here = world(tmp_path, web)
    result = here.run([ROOT])
    assert sitemaps_of(here) == []
    assert set(result.pages) == {ROOT}
    assert result.crawl.desk[DueSitemaps].named == {}, "the round has ended"


def test_a_listed_page_that_robots_txt_forbids_is_known_but_not_requested(tmp_path: Path) -> None:
    web = {
        ROOT: Reply(),
        ROBOTS: named(rules=b"User-agent: *\nDisallow: /p1"),
        WELL_KNOWN: Reply(links=pages("a.example", 3)),
    }
    here = world(tmp_path, web)
    result = here.run([ROOT])
    assert result.in_state(State.EXCLUDED) == {"http://a.example/p1"}
    assert "http://a.example/p1" not in [a.url for a in here.asked]


def moved(target: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=301, redirect=target)


def test_redirects_of_a_sitemap_are_followed_in_the_turns_of_their_sites(tmp_path: Path) -> None:
    web = {ROOT: Reply(), WELL_KNOWN: moved("http://b.example/s.xml")}
    web |= {"http://b.example/s.xml": Reply(links=["http://a.example/1", "http://b.example/2", "http://c.example/3"])}
    here = world(tmp_path, web)
    result = here.run([ROOT])
    assert set(result.pages) == {ROOT, "http://a.example/1", "http://b.example/2"}
    assert robots_first(here.asked)


def test_a_round_ends_whatever_is_answered(tmp_path: Path) -> None:
    circle = [moved(f"http://a.example/{(i + 1) % 9}.xml") for i in range(9)]
    for i, (answer, asked) in enumerate(
        [
            (moved(WELL_KNOWN), 6),
            (moved("http://www.a.example/sitemap.xml"), 6),
            (moved(""), 1),
            (moved("http://a.example/0.xml"), 6),
            (Reply(outcome=Outcome.SERVER_ERROR, status=500), 1),
            (Reply(outcome=Outcome.TIMED_OUT, status=0), 1),
            (Reply(outcome=Outcome.BAD_ENCODING), 1),
            (Reply(sitemaps=Sitemaps(["", "x", "ftp://a.example/", "http://a.example/" + "x" * 9000])), 1),
        ]
    ):
        web = {
            ROOT: Reply(),
            WELL_KNOWN: answer,
            **{f"http://a.example/{n}.xml": reply for n, reply in enumerate(circle)},
        }
        here = world(tmp_path / str(i), web, "manager.min_period=100d")
        result = here.run([ROOT])
        assert result.ending is Ending.DONE
        assert len(sitemaps_of(here)) <= asked
        assert result.crawl.desk[DueSitemaps].named == {}
        assert result.crawl.desk.columns.site.sitemap_due[0] > here.clock.wall()


def test_a_sitemap_that_failed_is_tried_again_sooner_than_one_that_was_read(tmp_path: Path) -> None:
    web = {ROOT: Reply(), WELL_KNOWN: Reply(outcome=Outcome.SERVER_ERROR, status=500)}
    here = world(tmp_path, web)
    here.run([ROOT])
    here.clock.advance(1.5 * DAY)
    here.run()
    assert sitemaps_of(here) == [WELL_KNOWN] * 2


@pytest.mark.parametrize("clean", [True, False], ids=["stop", "kill"])
def test_a_sitemap_that_was_read_is_not_requested_again_after_a_start(tmp_path: Path, clean: bool) -> None:
    listed = pages("a.example", 30)
    web = {ROOT: Reply(), WELL_KNOWN: Reply(links=listed), **{url: Reply() for url in listed}}
    here = world(tmp_path, web)
    here.run([ROOT], clean=clean, commit=True, turns=40)
    assert sitemaps_of(here) == [WELL_KNOWN]
    for _ in range(3):
        here.run(clean=clean, commit=True, turns=30)
    result = here.run()
    assert result.in_state(State.DONE) == {ROOT, *listed}
    assert sitemaps_of(here) == [WELL_KNOWN]
    assert impolite(here.asked, 5.0, 1.0) == []


@pytest.mark.parametrize("clean", [True, False], ids=["stop", "kill"])
def test_an_interrupted_round_begins_again(tmp_path: Path, clean: bool) -> None:
    parts = [f"http://a.example/part{i}.xml" for i in range(4)]
    web = {ROOT: Reply(), ROBOTS: named(*parts)}
    web |= {part: Reply(links=[f"http://a.example/of{i}"]) for i, part in enumerate(parts)}
    here = world(tmp_path, web)
    first = here.run([ROOT], clean=clean, commit=True, seconds=80.0)
    assert 0 < len(sitemaps_of(here)) < 4
    assert first.crawl.desk[DueSitemaps].named
    result = here.run()
    assert {f"http://a.example/of{i}" for i in range(4)} <= set(result.pages)
    assert len(sitemaps_of(here)) <= 8
    assert sum(a.ask is Ask.ROBOTS for a in here.asked) == 1, "robots.txt is not requested again"


def test_sitemaps_that_were_read_are_not_requested_again_however_often_a_round_is_interrupted(tmp_path: Path) -> None:
    parts = [f"http://a.example/part{i}.xml" for i in range(8)]
    web = {ROOT: Reply(), ROBOTS: named(*parts)}
    web |= {part: Reply(links=[f"http://a.example/of{i}"]) for i, part in enumerate(parts)}
    here = world(tmp_path, web, "manager.min_period=100d")
    for n in range(12):
        here.run([ROOT], seconds=60.0, clean=n % 3 > 0, commit=True)
        here.clock.advance(3_600.0)
    assert sorted(sitemaps_of(here)) == parts


PAID = Reply(outcome=Outcome.PAYMENT_REQUIRED, status=402)


@pytest.mark.slow
@pytest.mark.parametrize("clean", [True, False], ids=["stop", "kill"])
@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (PAID, 1),
        (Reply(outcome=Outcome.NOT_FOUND, status=404), 1),
        (Reply(), 1),
        (Reply(outcome=Outcome.SERVER_ERROR, status=500), 2),
        (Reply(links=["http://a.example/x"]), 1),
    ],
)
def test_a_round_that_begins_again_skips_sitemaps_with_a_final_answer(
    tmp_path: Path, answer: Reply, most: int, clean: bool
) -> None:
    parts = [f"http://www.a.example/part{i}.xml" for i in range(9)]
    web = {"http://www.a.example/": Reply(), "http://www.a.example/robots.txt": named(*parts), parts[0]: answer}
    here = world(tmp_path, web, "manager.min_period=100d")
    first = here.run(["http://www.a.example/"], clean=clean, commit=True, seconds=25.0)
    assert parts[0] in sitemaps_of(here)
    assert first.crawl.desk[DueSitemaps].named
    assert here.replayed()[DueSitemaps].spent == first.crawl.desk[DueSitemaps].spent
    result = here.run()
    assert sitemaps_of(here).count(parts[0]) == most
    assert not result.crawl.desk[DueSitemaps].spent
    here.clock.advance(8 * DAY)
    here.run()
    assert sitemaps_of(here).count(parts[0]) == most + 1, "it is requested in the next round"


@pytest.mark.parametrize("seed", range(3))
def test_a_replay_makes_the_same_state(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    hosts = [f"s{i}.example" for i in range(5)]
    web: dict[str, Reply] = {}
    for host in hosts:
        own = pages(host, 12)
        web |= {f"http://{host}/": Reply(links=rng.sample(own, 2)), **{url: Reply() for url in own}}
        web[f"http://{host}/robots.txt"] = named(f"http://{rng.choice(hosts)}/s.xml", f"http://{host}/t.xml")
        web[f"http://{host}/s.xml"] = Reply(links=own, sitemaps=Sitemaps(changed=["1700000000"] * 12))
        web[f"http://{host}/t.xml"] = rng.choice(
            [moved(f"http://{host}/s.xml"), Reply(sitemaps=Sitemaps([f"http://{host}/s.xml"]))]
        )
    here = world(tmp_path, web)
    for _ in range(4):
        here.run([f"http://{host}/" for host in hosts], commit=True, clean=False, turns=rng.randrange(5, 60))
    result = here.run()
    assert state_of(here.replayed()) == state_of(result.crawl.desk)
    assert result.in_state(State.DONE) >= {url for host in hosts for url in pages(host, 12)}
    assert impolite(here.asked, 5.0, 1.0) == []


def test_sitemaps_and_pages_take_turns(tmp_path: Path) -> None:
    parts = [f"http://a.example/part{i}.xml" for i in range(6)]
    web = {ROOT: Reply(links=pages("a.example", 10)), ROBOTS: named(*parts)}
    web |= {url: Reply() for url in pages("a.example", 10)}
    here = world(tmp_path, web)
    here.run([ROOT])
    asks = [a.ask for a in here.asked][3:14]
    assert all(one is not Ask.SITEMAP or other is Ask.PAGE for one, other in pairwise(asks))


def test_a_large_sitemap_is_processed_in_pieces(tmp_path: Path) -> None:
    listed = pages("a.example", 2 * PIECE + 7)
    here = world(
        tmp_path,
        {ROOT: Reply(), WELL_KNOWN: Reply(links=listed, sitemaps=Sitemaps(changed=["1700000000"] * len(listed)))},
        "collection.max_pages=60000",
    )
    result = here.run([ROOT], seconds=40.0)
    assert set(listed) <= set(result.pages)
    assert result.crawl.desk[DueSitemaps].named == {}


def test_a_page_that_was_too_deep_is_opened_when_it_is_listed(tmp_path: Path) -> None:
    chain = [f"http://a.example/{i}" for i in range(6)]
    web: dict[str, Reply] = {url: Reply(links=[after]) for url, after in pairwise(chain)}
    here = world(tmp_path, web, "seeder.depth_static=3")
    result = here.run(chain[:1])
    assert result.in_state(State.EXCLUDED) == {chain[4]}
    web[WELL_KNOWN] = Reply(links=[chain[4]])
    here.clock.advance(8 * DAY)
    result = here.run()
    assert result.pages[chain[4]] == (State.DONE, Outcome.OK, 1)
    assert result.pages[chain[5]][2] == 2


def test_no_sitemap_is_requested_if_the_settings_disable_them(tmp_path: Path) -> None:
    here = World(tmp_path, {ROOT: Reply(), ROBOTS: named("http://a.example/s.xml")}, ["seeder.sitemaps=false"])
    here.run([ROOT])
    assert sitemaps_of(here) == []


def test_a_sitemap_out_of_scope_is_not_requested(tmp_path: Path) -> None:
    web = {ROOT: Reply(), ROBOTS: named("http://elsewhere.test/s.xml", "http://a.example/s.xml")}
    here = world(tmp_path, web)
    here.run([ROOT])
    assert sitemaps_of(here) == ["http://a.example/s.xml"]


def test_a_site_with_too_long_a_delay_is_not_requested_for_its_sitemaps(tmp_path: Path) -> None:
    here = world(tmp_path, {ROOT: Reply(), ROBOTS: Reply(delay=1e6, sitemaps=Sitemaps([WELL_KNOWN]))})
    result = here.run([ROOT])
    assert result.ending is Ending.DONE
    assert sitemaps_of(here) == []
    assert result.pages[ROOT][0] is State.PENDING


@pytest.mark.parametrize("way", ["robots.txt", "index", "redirect"])
def test_a_sitemap_at_a_port_out_of_scope_is_not_requested(tmp_path: Path, way: str) -> None:
    away, first = "http://a.example:22/s.xml", "http://a.example/first.xml"
    web = {ROOT: Reply(), ROBOTS: named(away, first), first: Reply(links=[ROOT + "1"])}
    if way != "robots.txt":
        web |= {ROBOTS: named(first), first: Reply(sitemaps=Sitemaps([away])) if way == "index" else moved(away)}
    here = world(tmp_path, web)
    result = here.run([ROOT])
    assert sitemaps_of(here) == [first]
    assert not any(":22" in a.url for a in here.asked)
    assert result.crawl.desk[DueSitemaps].named == {}


def test_a_sitemap_that_a_pattern_rejects_is_not_requested(tmp_path: Path) -> None:
    """Patterns that accept are for pages alone."""
    web = {
        ROOT: Reply(),
        ROBOTS: named("http://a.example/no/s.xml", "http://b.example/s.xml", "http://a.example/s.xml"),
    }
    here = world(tmp_path, web, 'seeder.reject=["/no/", "b.example"]', 'seeder.accept=["[.]html$"]')
    here.run([ROOT])
    assert sitemaps_of(here) == ["http://a.example/s.xml"]
    assert not any("b.example" in a.url for a in here.asked), "nor its robots.txt"


@pytest.mark.parametrize(
    "change", ['seeder.domains=["b.example"]', 'seeder.reject=["//a.example/"]', 'seeder.ports=["443"]']
)
def test_a_site_that_is_now_out_of_scope_is_not_requested_for_sitemaps_again(tmp_path: Path, change: str) -> None:
    web = {ROOT: Reply(links=["https://b.example/"]), "https://b.example/": Reply(), WELL_KNOWN: Reply()}
    here = world(tmp_path, web)
    here.run([ROOT])
    here.clock.advance(8 * DAY)
    asked, here.changes = len(here.asked), [*here.changes, change, "manager.min_period=100d"]
    assert here.run().ending is Ending.DONE
    assert {urls.host(a.url) for a in here.asked[asked:]} == {"b.example"}


def test_a_site_without_wanted_pages_is_not_requested_for_sitemaps_again(tmp_path: Path) -> None:
    """Its only page was found by a link, and robots.txt forbids it."""
    other = "http://b.example/x"
    web = {ROOT: Reply(links=[other]), "http://b.example/robots.txt": named(rules=b"User-agent: *\nDisallow: /x")}
    here = world(tmp_path, web, "manager.min_period=100d")
    assert here.run([ROOT]).in_state(State.EXCLUDED) == {other}
    assert "http://b.example/sitemap.xml" in sitemaps_of(here)
    here.clock.advance(8 * DAY)
    asked = len(here.asked)
    assert here.run().ending is Ending.DONE
    assert [a.url for a in here.asked[asked:]] == [ROBOTS, WELL_KNOWN]


def test_a_round_at_a_site_that_is_now_out_of_scope_ends_without_a_request(tmp_path: Path) -> None:
    here = world(tmp_path, {ROOT: Reply(), WELL_KNOWN: Reply()})
    first = here.run([ROOT], commit=True, seconds=3.0)
    assert first.crawl.desk[DueSitemaps].named
    asked, here.changes = len(here.asked), [*here.changes, 'seeder.reject=["//a.example/"]', "manager.min_period=100d"]
    result = here.run()
    assert [a.ask for a in here.asked[asked:] if a.ask is not Ask.PAGE] == []
    assert result.crawl.desk[DueSitemaps].named == {}
