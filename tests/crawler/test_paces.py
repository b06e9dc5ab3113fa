"""Whole simulated crawls at each pace: how fast sites are requested, whose sites they are, and how that ends."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, Outcome, VisitFlag
from gossamer.base.outcomes import DAY
from gossamer.harvester.errands.mine import AGAIN, AT_MOST
from gossamer.harvester.owned import Owned
from gossamer.web.owner.key import Key, write
from gossamer.webs.simulated import Asked, Labels, Reply
from tests.support.world import World, impolite, state_of

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
KEY = Key(b"k" * 32, frozenset({"a.example", "b.example"}))
OTHER = Key(b"o" * 32, KEY.sites)
PAGES = 40


def shows(site: str, key: Key = KEY) -> Reply:
    return Reply(labels=Labels(detail=f"gossamer-mine: {'0' * 64} {key.proof(site)}"))


def site_of(root: str, pages: int = PAGES, seconds: float = 0.03) -> dict[str, Reply]:
    urls = [f"{root}{n}" for n in range(pages)]
    start = {root: Reply(links=urls, seconds=seconds)}
    return start | {url: Reply(digest=hash(url) & 0xFFFF_FFFF | 1, seconds=seconds) for url in urls}


def world(folder: Path, web: dict[str, Reply], *changes: str, key: Key = KEY, **more: object) -> World:
    write(folder / "mine.key", key)
    mine = ("harvester.mine=true", f"harvester.mine_key={folder / 'mine.key'}", "seeder.domains=*")
    return World(folder / "crawl", web, (*mine, *changes), **more)  # type: ignore[arg-type]


def of(asked: list[Asked], root: str) -> list[Asked]:
    return sorted((each for each in asked if each.url.startswith(root)), key=lambda each: each.start)


def gaps(asked: list[Asked]) -> list[float]:
    return [after.start - before.end for before, after in pairwise(asked)]


def test_a_site_of_ones_own_is_requested_without_waits_and_others_as_ever(tmp_path: Path) -> None:
    web = site_of(A) | site_of(C, 5) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A, C])
    mine, others = of(crawled.asked, A), of(crawled.asked, C)
    assert len(mine) == PAGES + 2
    starts = [each.start for each in mine]
    assert median(after - before for before, after in pairwise(starts[1:])) < 0.2
    assert min(after - before for before, after in pairwise(starts)) >= 0.1 - 1e-6, "at most 10 in a second"
    assert min(gaps(mine)) >= 0, "one request after another"
    assert len(others) == 7
    assert impolite(others, 15.0, 1.0) == []


def test_the_next_request_follows_a_slow_answer_at_once(tmp_path: Path) -> None:
    web = site_of(A, seconds=0.4) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A])
    assert median(gaps(crawled.asked[2:])) < 0.06, "a tick of the loop"


@pytest.mark.parametrize(
    "robots",
    [
        Reply(),
        shows("b.example"),
        shows("a.example", OTHER),
        Reply(outcome=Outcome.NOT_FOUND, status=404, labels=shows("a.example").labels),
        Reply(outcome=Outcome.REDIRECT, status=301, redirect=B + "robots.txt", labels=shows("a.example").labels),
    ],
    ids=["none", "of another site", "of another key", "on an error page", "on a redirect"],
)
def test_a_site_without_its_own_proof_has_the_usual_waits(tmp_path: Path, robots: Reply) -> None:
    web = site_of(A, 5) | {A + "robots.txt": robots, B + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    result = crawled.run([A])
    assert len(of(crawled.asked, A)) >= 7
    assert impolite(crawled.asked, 15.0, 1.0) == []
    assert result.crawl.desk[Owned].proofs == {}


def test_a_proof_behind_a_redirect_within_the_site_proves_nothing(tmp_path: Path) -> None:
    moved = Reply(outcome=Outcome.REDIRECT, status=301, redirect=A + "users/me.txt")
    web = site_of(A, 5) | {A + "robots.txt": moved, A + "users/me.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A])
    assert impolite(crawled.asked, 15.0, 1.0) == []


def test_a_proof_at_another_port_proves_nothing(tmp_path: Path) -> None:
    root = "http://a.example:8080/"
    web = site_of(root, 5) | {root + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([root])
    assert len(crawled.asked) >= 7
    assert impolite(crawled.asked, 15.0, 1.0) == []


def test_a_site_that_the_key_does_not_claim_is_never_asked_and_never_believed(tmp_path: Path) -> None:
    web = site_of(C, 5) | {C + "robots.txt": shows("c.example")}
    crawled = world(tmp_path, web)
    crawled.run([C])
    assert {each.ask for each in crawled.asked} == {Ask.ROBOTS, Ask.PAGE}
    assert impolite(crawled.asked, 15.0, 1.0) == []


def test_a_file_of_its_own_proves_a_site_and_only_if_robots_txt_shows_nothing(tmp_path: Path) -> None:
    own_file = ".well-known/gossamer.txt"
    web = site_of(A) | site_of(B) | {A + own_file: shows("a.example"), B + "robots.txt": shows("b.example")}
    crawled = world(tmp_path, web)
    crawled.run([A, B])
    assert [each.url for each in crawled.asked if each.ask is Ask.PROOF] == [A + own_file]
    for root in (A, B):
        assert sum(gap < 0.2 for gap in gaps(of(crawled.asked, root))) >= PAGES - 2
    assert impolite(of(crawled.asked, A)[:2], 15.0, 1.0) == [], "before it is proven"


def test_an_address_that_has_other_sites_too_keeps_its_wait(tmp_path: Path) -> None:
    web = site_of(A) | site_of(C, 5) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web, address=lambda host: "192.0.2.1")
    crawled.run([A, C])
    assert len(crawled.asked) == PAGES + 2 + 7
    assert impolite(crawled.asked, 0.0, 1.0) == []
    assert impolite(of(crawled.asked, C), 15.0, 1.0) == []


def test_an_address_gets_its_wait_back_when_another_site_comes_to_it(tmp_path: Path) -> None:
    web = site_of(A, 200) | site_of(C, 3) | {A + "robots.txt": shows("a.example")}
    web[A + "100"] = Reply(links=[C], digest=5)
    crawled = world(tmp_path, web, address=lambda host: "192.0.2.1")
    crawled.run([A])
    first = next(i for i, each in enumerate(crawled.asked) if each.url.startswith(C))
    assert first > 20
    assert sum(gap < 0.2 for gap in gaps(crawled.asked[:first])) >= 20, "alone until then"
    assert impolite(crawled.asked[first - 1 :], 0.0, 1.0) == []


def test_several_sites_of_ones_own_share_the_ten_requests_of_their_address(tmp_path: Path) -> None:
    web = site_of(A) | site_of(B) | {A + "robots.txt": shows("a.example"), B + "robots.txt": shows("b.example")}
    crawled = world(tmp_path, web, address=lambda host: "192.0.2.1")
    crawled.run([A, B])
    asked = sorted(crawled.asked, key=lambda each: each.start)
    assert len(asked) == 2 * (PAGES + 2)
    assert min(after.start - before.start for before, after in pairwise(asked)) >= 0.1 - 1e-6
    assert Counter(gap < 0.2 for gap in gaps(asked))[True] >= 2 * PAGES - 10


@pytest.mark.parametrize("where", ["robots.txt", ".well-known/gossamer.txt"])
def test_a_proof_is_checked_every_day_and_one_that_is_gone_ends_the_pace_at_once(tmp_path: Path, where: str) -> None:
    web = site_of(A, 600) | {A + where: shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A], seconds=40.0)
    for _ in range(2):
        before = len(crawled.asked)
        crawled.clock.advance(AGAIN)
        crawled.run(seconds=10.0)
        assert [each.url for each in crawled.asked[before:]].count(A + where) == 1, "checked again"
        assert sum(gap < 0.2 for gap in gaps(crawled.asked[before:])) > 20
    web[A + where] = Reply()
    crawled.clock.advance(AGAIN)
    before = len(crawled.asked)
    crawled.run(seconds=100.0)
    gone = next(i for i, each in enumerate(crawled.asked) if i >= before and each.url == A + where)
    assert len(crawled.asked) - gone > 10
    assert impolite(crawled.asked[gone:], 5.0, 1.0) == []


def test_a_proof_that_is_not_shown_again_in_time_ends(tmp_path: Path) -> None:
    own_file = A + ".well-known/gossamer.txt"
    web = site_of(A, 600) | {own_file: shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A], seconds=40.0)
    web[own_file] = Reply(outcome=Outcome.SERVER_ERROR, status=500)
    crawled.clock.advance(AGAIN)
    result = crawled.run(seconds=10.0)
    assert result.crawl.desk[Owned].proofs, "an error says nothing"
    crawled.clock.advance(AT_MOST)
    crawled.run(seconds=10.0)
    assert [each.ask for each in crawled.asked].count(Ask.PROOF) == 3
    crawled.clock.advance(DAY - AGAIN - AT_MOST)
    before = len(crawled.asked)
    result = crawled.run(seconds=100.0)
    assert len(crawled.asked) - before > 5
    assert impolite(crawled.asked[before - 1 :], 5.0, 1.0) == []
    assert result.crawl.desk[Owned].proofs == {}


def test_a_site_of_ones_own_that_fails_or_gets_slow_is_spared(tmp_path: Path) -> None:
    web = site_of(A, 90) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, {}, "harvester.tries=1")

    def reply(url: str) -> Reply:
        asked = len(crawled.asked)
        if asked in (20, 21):
            return Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, seconds=0.05)
        if 60 <= asked < 70:
            return Reply(digest=asked, seconds=8.0)
        return web[url]

    crawled.replies = reply
    crawled.run([A])
    after = gaps(crawled.asked)
    assert after[20] >= 2.0, "each failure doubles the wait, from one second"
    assert after[21] >= 4.0
    assert max(after[64:69]) > 1.5, "slow answers stretch it"
    assert min(after[2:19]) < 0.2
    assert median(after[45:59]) < 0.2


def test_a_crawl_delay_holds_at_a_site_of_ones_own(tmp_path: Path) -> None:
    robots = Reply(labels=shows("a.example").labels, delay=3.0)
    crawled = world(tmp_path, site_of(A, 10) | {A + "robots.txt": robots})
    crawled.run([A])
    assert impolite(crawled.asked, 3.0, 1.0) == []
    assert median(gaps(crawled.asked)) < 4.0


def test_ownership_is_durable(tmp_path: Path) -> None:
    web = site_of(A) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    result = crawled.run([A], turns=30, commit=True, clean=False)
    assert list(result.crawl.desk[Owned].proofs) == [0]
    assert state_of(crawled.replayed()) == state_of(result.crawl.desk)
    again = crawled.run()
    assert list(again.crawl.desk[Owned].proofs) == [0]
    assert sum(each.ask is Ask.ROBOTS for each in crawled.asked) == 1
    assert sum(gap < 0.2 for gap in gaps(crawled.asked)) >= PAGES - 5


@pytest.mark.parametrize("change", ["off", "another key", "forgotten", "a day later"])
def test_a_start_without_the_proof_has_the_usual_waits_from_the_first_request_on(tmp_path: Path, change: str) -> None:
    web = site_of(A, 60) | {A + "robots.txt": shows("a.example")}
    crawled = world(tmp_path, web)
    crawled.run([A], seconds=3.0)
    before = len(crawled.asked)
    assert before > 10
    if change == "off":
        crawled.changes = (*crawled.changes, "harvester.mine=false")
    elif change == "another key":
        write(tmp_path / "mine.key", OTHER)
    elif change == "forgotten":
        write(tmp_path / "mine.key", KEY._replace(sites=frozenset()))
    else:
        crawled.clock.advance(2 * DAY)
        web[A + "robots.txt"] = Reply()
    crawled.run()
    assert len(crawled.asked) >= 62
    assert impolite(crawled.asked[before - 1 :], 5.0 if change == "off" else 15.0, 1.0) == []


def test_a_crawl_of_ones_own_sites_needs_a_key(tmp_path: Path) -> None:
    crawled = World(tmp_path, {}, ["harvester.mine=true", f"harvester.mine_key={tmp_path / 'none.key'}"])
    with pytest.raises(UsageError, match=r"there is no key\nMake one with `gossamer mine SITE`"):
        crawled.run([A])


# --- the other paces


def test_gentle_waits_ten_times_as_long_as_an_answer_took_and_at_least_a_second(tmp_path: Path) -> None:
    web = site_of(A, 12, seconds=0.5) | {A + "3": Reply(digest=3, seconds=0.02)}
    crawled = World(tmp_path, web, ["harvester.pace=gentle"])
    crawled.run([A])
    assert len(crawled.asked) == 14
    waited = [(b.start - a.end, max(1.0, 10 * (a.end - a.start))) for a, b in pairwise(crawled.asked)]
    assert all(gap >= least - 1e-6 for gap, least in waited)
    assert median(gap - least for gap, least in waited) < 0.2


@pytest.mark.parametrize(("delay", "wait"), [(2.0, 2.0), (0.0, 1.0), (0.25, 1.0), (40.0, 40.0)])
def test_a_crawl_delay_that_names_us_is_taken_but_never_below_the_wait_of_the_address(
    tmp_path: Path, delay: float, wait: float
) -> None:
    robots = Reply(delay=delay, labels=Labels(flags=VisitFlag.NAMED))
    crawled = World(tmp_path, site_of(A, 10) | {A + "robots.txt": robots})
    crawled.run([A], patience=60.0)
    assert len(crawled.asked) == 12
    assert impolite(crawled.asked, wait, 1.0) == []
    assert median(gaps(crawled.asked)[1:]) < wait + 0.2


def test_a_crawl_delay_for_everyone_only_makes_the_wait_longer(tmp_path: Path) -> None:
    crawled = World(tmp_path, site_of(A, 5) | {A + "robots.txt": Reply(delay=2.0)})
    crawled.run([A])
    assert impolite(crawled.asked, 15.0, 1.0) == []


def test_a_new_origin_that_has_not_named_us_has_the_usual_wait(tmp_path: Path) -> None:
    secure = "https://a.example/"
    named = Reply(delay=2.0, labels=Labels(flags=VisitFlag.NAMED))
    web = site_of(A, 5) | site_of(secure, 5) | {A + "robots.txt": named}
    web[A + "2"] = Reply(links=[secure], digest=77)
    crawled = World(tmp_path, web)
    crawled.run([A])
    first = next(i for i, each in enumerate(crawled.asked) if each.url.startswith(secure))
    assert first >= 3
    assert impolite(crawled.asked[first - 1 :], 15.0, 1.0) == []
    assert min(gaps(crawled.asked[:first])) < 3.0
