"""The shortest possible time of a crawl: known answers, never above the time of a crawl, and read from a collection."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.laboratory.compare import missing
from gossamer.laboratory.compare.requests import read_history
from gossamer.laboratory.compare.shortest import Constraints, CrawlFacts, Requests, limits, soonest
from gossamer.tools.compile import warm
from gossamer.webs.simulated import Reply
from tests.support.world import World

MANY = Constraints(connections=1000)


def made(*rows: tuple[int, int, float, float, float], received: int = 0) -> Requests:
    """Requests from rows of site, address, duration, rest and earliest start; their actual start is arbitrary."""
    site, address, took, rest, when = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    sites, none = site.astype(np.int64), np.zeros(len(rows), np.int64)
    return Requests(sites, address.astype(np.int64), none, np.zeros(len(rows)), took, rest, rest, when, none + received)


def longest(requests: Requests, rules: Constraints = MANY) -> dict[str, float]:
    return {each.kind: round(each.seconds, 9) for each in limits(requests, rules)}


# --- known answers -------------------------------------------------------------------------------------------


def test_a_site_takes_its_durations_and_the_rests_between_them() -> None:
    assert longest(made((0, 0, 1, 15, 0), (0, 0, 2, 15, 0), (0, 0, 3, 15, 0)))["site"] == 36


def test_the_longest_rest_may_come_last() -> None:
    assert longest(made((0, 0, 1, 60, 0), (0, 0, 1, 15, 0), (0, 0, 1, 15, 0)))["site"] == 33


def test_requests_that_cannot_begin_sooner_count_from_their_earliest_start() -> None:
    assert longest(made((0, 0, 1, 5, 0), (0, 0, 1, 5, 100), (0, 0, 1, 5, 100)))["site"] == 107


def test_sites_behind_one_address_wait_for_each_other() -> None:
    found = longest(made((0, 7, 1, 0, 0), (1, 7, 1, 0, 0), (2, 7, 1, 0, 0)), replace(MANY, address_wait=2.0))
    assert (found["site"], found["address"]) == (1, 7)


def test_domains_count_if_they_are_limited() -> None:
    three = made((0, 1, 1, 0, 0), (1, 2, 1, 0, 0), (2, 3, 1, 0, 0))
    assert "domain" not in longest(three)
    assert longest(three, replace(MANY, domain_wait=4.0))["domain"] == 11


def test_connections_and_bandwidth_are_shared() -> None:
    four = made(*((site, site, 3, 0, 1) for site in range(4)), received=1000)
    found = longest(four, Constraints(connections=2, bandwidth=500))
    assert (found["connections"], found["bandwidth"]) == (7, 9)


def test_within_a_turn_only_the_pause_counts() -> None:
    five = replace(made(*((0, 0, 1, 10, 0),) * 5), within=np.full(5, 2.0))
    assert longest(five, Constraints(1000, per_turn=2))["site"] == 5 + 4 * 2 + 2 * 8
    assert longest(five, Constraints(1000, per_turn=5))["site"] == 5 + 4 * 2


def test_no_requests_have_no_bound() -> None:
    none = np.zeros(0, np.int64)
    real = np.zeros(0)
    assert limits(Requests(none, none, none, real, real, real, real, real, none), MANY) == []


# --- discovery -----------------------------------------------------------------------------------------------


def known(given_: list[bool], links: list[tuple[int, int]], robots: list[float], origin: list[int]) -> CrawlFacts:
    ends = np.array(links, np.int64).reshape(-1, 2)
    none = np.zeros(0, np.int64)
    pages = len(given_)
    return CrawlFacts(
        np.array(given_),
        np.array(origin),
        np.ones(pages),
        ends[:, 0],
        ends[:, 1],
        np.array(robots),
        np.zeros(pages, np.bool_),
        none,
        np.zeros(0),
    )


def test_a_page_is_known_by_the_shortest_path_to_it() -> None:
    found = soonest(known([True, False, False, False], [(0, 1), (1, 2), (2, 3), (0, 3)], [0.0], [0, 0, 0, 0]))
    assert found.page.tolist() == [0, 1, 2, 1]


def test_robots_txt_comes_before_the_pages_of_an_origin() -> None:
    found = soonest(known([True, False, False], [(0, 1), (1, 2)], [0.5, 2.0], [0, 1, 1]))
    assert found.page.tolist() == [0.5, 3.5, 4.5]
    assert found.origin.tolist() == [0, 1.5]


def test_the_pages_of_a_sitemap_are_known_when_one_can_be_read() -> None:
    base = known([True, False, False], [], [0.5], [0, 0, 0])
    sitemaps = replace(
        base, listed=np.array([False, True, False]), sitemap_origin=np.array([0]), sitemap_took=np.array([3.0])
    )
    assert soonest(sitemaps).page.tolist() == [0.5, 3.5, 0], "a page without a recorded path bounds nothing"


# --- never above the time of a crawl -------------------------------------------------------------------------


def crawl(seed: int, sites: int, addresses: int, rules: Constraints, pages: int) -> Requests:
    """A crawl in any order that the rules allow: each request begins as soon as it may, or later."""
    rng = random.Random(seed)
    site = [rng.randrange(sites) for _ in range(pages)]
    took = [rng.choice((0.01, 0.5, 3.0)) * rng.uniform(0.5, 1) for _ in range(pages)]
    parent = [rng.randrange(-1, n) if n else -1 for n in range(pages)]
    rest = [rng.choice((0.5, 2.0, 20.0)) for _ in range(pages)]
    pause = [min(r, 0.25) if rules.per_turn > 1 and r < 20 else r for r in rest]
    free, held = [0.0] * sites, [0.0] * addresses
    turn: list[int | None] = [None] * addresses
    left, last = [0] * sites, [-1] * sites
    slots = [0.0] * rules.connections
    start, end = [0.0] * pages, [np.inf] * pages
    open_ = set(range(pages))
    while open_:
        known = [n for n in open_ if parent[n] < 0 or parent[n] not in open_]
        n = rng.choice(known)
        s, a = site[n], site[n] % addresses
        goes_on = left[s] > 0 and turn[a] == s and pause[last[s]] < rest[last[s]] and rng.random() < 0.8
        if goes_on:
            when, left[s] = end[last[s]] + pause[last[s]], left[s] - 1
        else:
            when, left[s] = max(free[s], held[a]), rules.per_turn - 1
        slot = min(range(len(slots)), key=slots.__getitem__)
        when = max(when, slots[slot], 0.0 if parent[n] < 0 else end[parent[n]]) + rng.choice((0.0, 0.0, 0.1))
        start[n], end[n] = when, when + took[n]
        free[s], held[a], turn[a], last[s], slots[slot] = end[n] + rest[n], end[n] + rules.address_wait, s, n, end[n]
        open_.discard(n)
    links = [(p, n) for n, p in enumerate(parent) if p >= 0]
    ends = np.array(links, np.int64).reshape(-1, 2)
    none = np.zeros(0, np.int64)
    found = soonest(
        CrawlFacts(
            np.array([p < 0 for p in parent]),
            np.array(site),
            np.array(took),
            ends[:, 0],
            ends[:, 1],
            np.zeros(sites),
            np.zeros(pages, np.bool_),
            none,
            np.zeros(0),
        )
    )
    return Requests(
        np.array(site),
        np.array(site) % addresses,
        np.zeros(pages, np.int64),
        np.array(start),
        np.array(end),
        np.array(rest),
        np.array(pause),
        found.page,
        np.zeros(pages, np.int64),
    )


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from((0.0, 1.0)),
    st.integers(1, 30),
)
@settings(max_examples=150, deadline=None)
def test_no_crawl_is_shorter_than_its_bound(
    seed: int, sites: int, addresses: int, connections: int, per_turn: int, address_wait: float, pages: int
) -> None:
    rules = Constraints(connections, per_turn, address_wait)
    requests = crawl(seed, sites, addresses, rules, pages)
    bounds = limits(requests, rules)
    assert bounds
    for limit in bounds:
        assert limit.seconds <= requests.end.max() + 1e-9, limit


def test_the_bound_is_reached_by_one_site_without_idle_time() -> None:
    requests = made((0, 0, 1, 2, 0), (0, 0, 1, 2, 0), (0, 0, 1, 2, 0))
    begun = replace(requests, start=np.array([0.0, 3.0, 6.0]), end=np.array([1.0, 4.0, 7.0]))
    assert limits(begun, MANY)[0].seconds == begun.end.max() == 7


# --- a collection ----------------------------------------------------------------------------------------------


def test_a_crawl_is_not_faster_than_possible_and_no_rest_is_longer_than_the_time_passed(tmp_path: Path) -> None:
    warm(tmp_path / "crawl", "breadth-first")
    history = read_history(tmp_path / "crawl")
    found = missing.closeness(history)
    assert 0.5 < found.share <= 1
    assert found.gaps.min() > -1e-6
    whole = sum(found.missing.values())
    mine = history.requests.site == found.site
    took = float(history.requests.took[mine].sum() + history.requests.within[mine][:-1].sum())
    assert whole + took == pytest.approx(found.seconds), "every second is accounted for"


def test_back_off_is_part_of_the_bound(tmp_path: Path) -> None:
    web = {"http://a.example/robots.txt": Reply(delay=2.0)}
    pages = [f"http://a.example/p{n}" for n in range(12)]
    web["http://a.example/"] = Reply(links=pages, digest=1, seconds=0.5)
    for n, url in enumerate(pages):
        web[url] = Reply(Outcome.SERVER_ERROR, 500, seconds=0.5) if n == 3 else Reply(digest=n + 2, seconds=0.5)
    world = World(tmp_path / "crawl", web)
    world.run(["http://a.example/"])
    history = read_history(tmp_path / "crawl")
    assert set(np.round(history.requests.rest, 6)) >= {15.0, 30.0}
    assert missing.closeness(history).gaps.min() > -1e-6
    assert missing.closeness(history).share > 0.9


def test_the_bandwidth_of_the_settings_is_part_of_the_bound(tmp_path: Path) -> None:
    world = World(tmp_path / "crawl", {"http://a.example/": Reply(digest=1)}, ("harvester.bandwidth=100KB/s",))
    world.run(["http://a.example/"])
    history = read_history(tmp_path / "crawl")
    assert history.rules.bandwidth == 100_000
    assert "bandwidth" in {limit.kind for limit in limits(history.requests, history.rules)}


def test_a_collection_without_a_request_is_an_error(tmp_path: Path) -> None:
    world = World(tmp_path / "crawl", {})
    world.run([])
    with pytest.raises(UsageError, match="no request yet"):
        read_history(tmp_path / "crawl")
