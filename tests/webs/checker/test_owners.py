"""The checker of the paces: sites that prove to be the operator's, and Crawl-delays that name the crawler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.base.errors import UsageError
from gossamer.config import Settings, override
from gossamer.web.owner.key import Key, write
from gossamer.web.owner.proof import WELL_KNOWN, line
from gossamer.webs.checker import Fault, PolitenessLimits, Request, check, robots_in

KEY = Key(b"k" * 32, frozenset({"a.test", "b.test"}))
LIMITS = replace(PolitenessLimits.of(Settings()), key=KEY)
DAY = 86_400.0


def shows(site: str) -> bytes:
    return f"{line(KEY.proof(site))}\n".encode()


def log(count: int = 30, host: str = "a.test", since: float = 0.0, every: float = 0.12) -> list[Request]:
    """robots.txt and then pages, each answered in 20 ms."""
    targets = ["/robots.txt", *(f"/{n}" for n in range(count))]
    starts = [since + every * n for n in range(len(targets))]
    return [Request(at, at + 0.02, "192.0.2.1", host, to, 200) for at, to in zip(starts, targets, strict=True)]


def kinds(requests: list[Request], robots: dict[str, bytes], *kills: float) -> set[Fault]:
    def served(request: Request) -> bytes | None:
        return robots.get(request.url)

    return {v.kind for v in check(requests, LIMITS, served, kills).violations}


ROBOTS = {"http://a.test/robots.txt": shows("a.test"), "http://b.test/robots.txt": shows("b.test")}


def test_requests_to_a_site_of_the_operator_need_no_wait() -> None:
    assert kinds(log(), ROBOTS) == set()


def test_without_a_valid_proof_they_are_too_early() -> None:
    for robots in ({}, {"http://a.test/robots.txt": shows("b.test")}):
        assert Fault.SITE_EARLY in kinds(log(), robots)
    assert Fault.SITE_EARLY in kinds(log(host="c.test"), {"http://c.test/robots.txt": shows("c.test")})
    at_port = [replace(each, host="a.test:8080") for each in log()]
    assert Fault.SITE_EARLY in kinds(at_port, {"http://a.test:8080/robots.txt": shows("a.test")})


def test_more_than_ten_in_a_second_are_too_many() -> None:
    assert kinds(log(every=0.09), ROBOTS) == {Fault.TOO_MANY}
    late = [replace(each, start=each.start + 0.015) if n % 7 else each for n, each in enumerate(log(every=0.1))]
    assert kinds(late, ROBOTS) == set(), "a server may read a request late"


def test_requests_in_parallel_are_accused() -> None:
    assert Fault.SITE_PARALLEL in kinds([replace(each, end=each.end + 0.2) for each in log()], ROBOTS)


def test_an_address_with_other_sites_keeps_its_wait() -> None:
    mixed = [*log(5), *log(0, "c.test", since=5.0), *[replace(r, start=r.start + 7, end=r.end + 7) for r in log(5)[1:]]]
    assert kinds(mixed, ROBOTS) == {Fault.ADDRESS_EARLY}


def test_two_sites_of_the_operator_share_the_ten_requests_of_their_address() -> None:
    both = [
        *log(),
        *log(host="b.test", since=40.0),
        *[replace(r, start=r.start + 50, end=r.end + 50) for r in log()[1:]],
    ]
    assert kinds(both, ROBOTS) == set()
    shifted = [replace(r, start=r.start + 50.06, end=r.end + 50.06, host="b.test") for r in log()[1:]]
    assert kinds(sorted([*both, *shifted], key=lambda r: r.start), ROBOTS) == {Fault.TOO_MANY}


def test_a_proof_ends_after_a_day_and_when_it_is_gone() -> None:
    later = [replace(each, start=each.start + DAY + 1, end=each.end + DAY + 1) for each in log()[1:]]
    assert Fault.SITE_EARLY in kinds([*log(), *later], ROBOTS)
    gone = Request(10.0, 10.02, "192.0.2.1", "a.test", "/robots.txt", 404)
    after = [replace(each, start=each.start + 30, end=each.end + 30) for each in log()[1:]]
    assert Fault.SITE_EARLY in kinds([*log(), gone, *after], ROBOTS)
    assert Fault.SITE_EARLY not in kinds([*log(), replace(gone, status=503), *after], ROBOTS)


def test_the_file_of_proof_counts_like_robots_txt() -> None:
    pages = log()
    first = [pages[0], Request(20.0, 20.02, "192.0.2.1", "a.test", WELL_KNOWN, 200)]
    rest = [replace(each, start=each.start + 20, end=each.end + 20) for each in pages[1:]]
    assert kinds([*first, *rest], {f"http://a.test{WELL_KNOWN}": shows("a.test")}) == set()


def test_slow_down_and_crawl_delay_hold_at_own_sites_too() -> None:
    requests = log(5)
    requests[3] = replace(requests[3], status=429)
    assert kinds(requests, ROBOTS) == {Fault.SLOWED_EARLY}
    delayed = {"http://a.test/robots.txt": b"User-agent: *\nCrawl-delay: 2\nDisallow:\n" + shows("a.test")}
    assert kinds(log(), delayed) == {Fault.SITE_EARLY}


@pytest.mark.parametrize(("agent", "delay", "every", "early"), [
    ("Gossamer", "2", 2.1, False),
    ("Gossamer", "2", 1.9, True),
    ("Gossamer", "0.1", 1.1, False),
    ("Gossamer", "0.1", 0.9, True),
    ("*", "2", 2.1, True),
])  # fmt: skip
def test_a_crawl_delay_that_names_the_crawler_may_be_short(agent: str, delay: str, every: float, early: bool) -> None:
    robots = {"http://c.test/robots.txt": f"User-agent: {agent}\nCrawl-delay: {delay}\nDisallow:\n".encode()}
    pages = log(host="c.test", every=every)
    first, rest = pages[0], [replace(each, start=each.start + 6, end=each.end + 6) for each in pages[1:]]
    assert kinds([first, *rest], robots) == ({Fault.SITE_EARLY} if early else set())


def test_files_of_proof_are_found_in_the_folder_of_robots_txt_files(tmp_path: Path) -> None:
    (tmp_path / "a.test" / ".well-known").mkdir(parents=True)
    (tmp_path / "a.test" / "robots.txt").write_bytes(b"robots")
    (tmp_path / "a.test" / ".well-known" / "gossamer.txt").write_bytes(b"proof")
    (tmp_path / "a.test" / ".well-known" / "gossamer.txt.19700101T000010Z").write_bytes(b"later")
    served = robots_in(tmp_path)
    assert served(Request(1.0, 1.0, "", "a.test", "/robots.txt", 200)) == b"robots"
    assert served(Request(1.0, 1.0, "", "a.test", WELL_KNOWN, 200)) == b"proof"
    assert served(Request(11.0, 11.0, "", "a.test", WELL_KNOWN, 200)) == b"later"


def test_the_key_of_the_settings_is_needed(tmp_path: Path) -> None:
    changes = ["harvester.mine=true", f"harvester.mine_key={tmp_path / 'mine.key'}"]
    settings = override(Settings(), changes)
    with pytest.raises(UsageError, match="there is no key"):
        check([], settings, lambda request: None)
    write(tmp_path / "mine.key", KEY)
    assert PolitenessLimits.of(settings).key == KEY
