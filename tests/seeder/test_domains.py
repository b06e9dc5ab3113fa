"""Domains: a name server that answers for every name fills neither the sites nor the pages of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.compiled import njit
from gossamer.config import Settings, override
from gossamer.crawler.watch import NearLimits
from gossamer.desk.columns import Columns
from gossamer.desk.desk import Desk
from gossamer.desk.domains import Domains, Room, most_in_kernel, most_of
from gossamer.desk.places import Places
from gossamer.webs.simulated import Reply
from tests.support.world import World, state_of

HUB = "http://hub.example/"
GOOD = [f"http://good{n}.example/" for n in range(60)]
QUICK = ("harvester.wait=1s", "harvester.wait_large=1s", "harvester.address_wait=0s")


def wildcard(url: str) -> Reply:
    """A hub that names a good site on each of its pages, and a trap: every page of it links to pages of ten new names,
    and to ten new pages of its own."""
    host = urls.host(url)
    if url.endswith("robots.txt"):
        return Reply()
    if host == "hub.example":
        if url == HUB:
            return Reply(links=[f"{HUB}{n}" for n in range(60)])
        return Reply(links=[GOOD[int(url.removeprefix(HUB))], "http://w.trap.example/"])
    if host.endswith("trap.example"):
        here = url.removeprefix("http://").replace("/", "-").replace(".", "-").removesuffix("-")
        more = [f"http://{hash_of(here, n)}.trap.example/" for n in range(10)]
        return Reply(links=more + [f"{url}{n}/" for n in range(10)])
    return Reply(links=[HUB])


def hash_of(text: str, number: int) -> str:
    return f"n{urls.fingerprint(f'{text}/{number}'.encode(), 7):x}"


def sites_of(desk: Desk) -> dict[str, int]:
    """Known sites by registrable domain."""
    found: dict[str, int] = {}
    for name in desk[Places].names:
        domain = urls.registrable(name)
        found[domain] = found.get(domain, 0) + 1
    return found


@pytest.mark.parametrize("seeds", [[HUB], [HUB, "http://w.trap.example/"]])
def test_all_good_sites_are_found_beside_a_name_server_that_answers_for_every_name(
    tmp_path: Path, seeds: list[str]
) -> None:
    world = World(tmp_path, wildcard, ["collection.max_sites=120", *QUICK], address=_own_address)
    result = world.run(seeds, seconds=90.0)
    assert set(GOOD) <= set(result.pages)
    found = sites_of(result.crawl.desk)
    assert found["trap.example"] == 30 + 30 // 4, "a quarter of all, and a quarter of that because the hub links to it"
    assert state_of(world.replayed()) == state_of(result.crawl.desk)


def test_all_good_sites_are_found_beside_a_server_that_answers_for_every_path(tmp_path: Path) -> None:
    world = World(tmp_path, wildcard, ["collection.max_pages=400", "collection.max_sites=4000", *QUICK])
    result = world.run([HUB], seconds=90.0)
    assert set(GOOD) <= set(result.pages)
    trapped = [url for url in result.pages if "trap.example" in url]
    assert len(trapped) == 125


def _own_address(host: str) -> str:
    """The trap has one address: its sites take turns there, as in the wild."""
    return "192.0.2.1" if host.endswith("trap.example") else f"198.51.100.{sum(host.encode()) % 250}"


def test_seeds_are_pages_whatever_their_domain_has(tmp_path: Path) -> None:
    seeds = [f"http://s{n}.one.example/" for n in range(60)]
    result = World(tmp_path, lambda url: Reply(), QUICK).run(seeds, turns=2)
    assert len(result.pages) == 60
    assert not result.planted.full


LETTERS = "abcdefghijklmnopqrstuvwxyz"
SEEDS = st.integers(0, 2**32)


@dataclass
class Crawled:
    """A crawl of a random Web of five domains, the last of which no other domain links to."""

    seed: int
    folder: Path

    def __post_init__(self) -> None:
        random = Random(self.seed)
        self.hosts = [f"{name}.d{n}.example" for n in range(5) for name in LETTERS[: 2 + 6 * n]]
        closed = [host for host in self.hosts if host.endswith("d4.example")]
        others = [host for host in self.hosts if host not in closed]
        self.links = {host: random.sample(others if host in others else self.hosts, 8) for host in self.hosts}
        changes = ["collection.max_sites=40", "collection.max_pages=300", *QUICK]
        self.world = World(self.folder, lambda url: self.reply(url, random), changes)
        seeds = [f"http://{self.hosts[0]}/", f"http://{closed[0]}/"]
        clean = random.random() < 0.5
        self.desk = self.world.run(seeds, turns=300, clean=clean, commit=True).crawl.desk
        self.site, self.names = self.desk.columns.site, self.desk[Places].names

    def reply(self, url: str, random: Random) -> Reply:
        here = urls.host(url)
        if url.endswith("robots.txt"):
            return Reply()
        there = [f"http://{host}/" for host in self.links[here]]
        return Reply(links=[*there, *(f"http://{here}/{random.randrange(30)}" for _ in range(5))])

    def domains(self) -> Iterator[tuple[str, int]]:
        """Each domain and its first site."""
        for first in sorted(set(self.site.domain[: self.site.count].tolist())):
            yield urls.registrable(self.names[first]), first


@settings(max_examples=4, deadline=None)
@given(seed=SEEDS)
def test_no_domain_grows_beyond_its_room(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = Crawled(seed, tmp_path_factory.mktemp("domains"))
    site, room, by_domain = found.site, Room.of(found.world.settings), sites_of(found.desk)
    assert room == Room(10, 75)
    for domain, first in found.domains():
        vouched, own = int(site.vouched[first]), np.flatnonzero(site.domain[: site.count] == first)
        assert {urls.registrable(found.names[each]) for each in own.tolist()} == {domain}
        assert site.domain_sites[first] == by_domain[domain] <= most_of(room.sites, vouched)
        assert site.domain_pages[first] == site.pages[own].sum() <= most_of(room.pages, vouched)
    assert max(by_domain.values()) >= room.sites, "and there is something to limit"


@settings(max_examples=4, deadline=None)
@given(seed=SEEDS)
def test_a_domain_does_not_vouch_for_itself(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = Crawled(seed, tmp_path_factory.mktemp("domains"))
    vouched = {domain: int(found.site.vouched[first]).bit_count() for domain, first in found.domains()}
    assert vouched["d4.example"] == 0
    assert 0 < max(vouched.values()) < len(vouched)


@settings(max_examples=4, deadline=None)
@given(seed=SEEDS)
def test_a_replay_counts_the_same(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = Crawled(seed, tmp_path_factory.mktemp("domains"))
    before, again = state_of(found.desk), state_of(found.world.replayed())
    names = [name for name in again if "domain" in name or "vouched" in name]
    assert len(names) == 5
    assert {name: again[name] for name in names} == {name: before[name] for name in names}


@njit
def _in_kernel(base: int, vouched: np.uint64) -> int:
    return most_in_kernel(base, vouched)


@given(base=st.integers(1, 2**31), vouched=st.integers(0, 2**64 - 1))
@settings(max_examples=50, deadline=None)
def test_kernels_compute_the_same_room(base: int, vouched: int) -> None:
    assert _in_kernel(base, np.uint64(vouched)) == most_of(base, vouched)


@pytest.mark.parametrize(
    ("domains", "room"),
    [
        ("*", Room(1000, 2500)),
        ("cl", Room(1000, 2500)),
        ("co.uk", Room(1000, 2500)),
        ("a.example", Room(8000, 10_000)),
        ("a.example,x.a.example", Room(8000, 10_000)),
        ("127.0.0.1", Room(8000, 10_000)),
        ("a.example,b.example", Room(1000, 5000)),
        ("a.example,b.example,c.example", Room(1000, 3333)),
        ("a.example,b.example,c.example,d.example,e.example", Room(1000, 2500)),
    ],
)
def test_a_domain_has_an_equal_share_and_all_if_it_is_alone_in_scope(domains: str, room: Room) -> None:
    changes = ["collection.max_sites=8000", "collection.max_pages=10000", f"seeder.domains={domains}"]
    assert Room.of(override(Settings(), changes)) == room
    assert Room.of(Settings()) == Room(1000, 1_000_000)


def test_explain_names_the_figures_of_a_domain_that_may_not_grow(tmp_path: Path) -> None:
    world = World(tmp_path, wildcard, ["collection.max_sites=40", *QUICK], address=_own_address)
    desk = world.run([HUB], turns=400).crawl.desk
    trap = desk[Domains].explain_site(desk[Places].site("w.trap.example"))
    assert {name: trap[name] for name in ("sites", "most_sites", "vouched")} == {
        "sites": 12,
        "most_sites": 12,
        "vouched": 1,
    }
    assert desk[Domains].explain_site(desk[Places].site("hub.example")) == {}


def test_a_limit_that_is_near_is_told_once() -> None:
    columns, said = Columns(100, 10, {"page": {}, "site": {}, "origin": {}}), list[str]()
    near = NearLimits(columns, lambda name, message, **fields: said.append(message))
    columns.page.count, columns.site.count = 89, 8
    near.check()
    assert not said
    columns.page.count, columns.site.count = 90, 9
    near.check()
    columns.page.count, columns.site.count = 100, 10
    near.check()
    assert len(said) == 2
    assert "knows 90 pages, and 100 are the limit (collection.max_pages)" in said[0]
    assert "knows 9 sites, and 10 are the limit (collection.max_sites)" in said[1]
