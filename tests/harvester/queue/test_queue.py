"""The site queue, checked by an observer that knows the rules of politeness, but not heaps, lines and holders.

A `World` drives the queue through a random life under a virtual clock: many sites behind few addresses, random waits,
pages that may no longer be requested, plans replaced in the middle, answers, skips, new addresses. It notes every
breach.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, Ask, PageFlag, State
from gossamer.harvester.queue.memory import BEST, LARGER, WAITING
from gossamer.harvester.queue.queue import SITES_BY, SiteQueue

PAGES = 40
WALL = 1_000_000.0
ASSIGNED = int(PageFlag.ASSIGNED)


class World:
    """A queue with random sites, and the observer."""

    def __init__(self, random: Random, sites_by: int = WAITING) -> None:
        self.random, self.sites_by = random, sites_by
        self.sites, self.addresses = random.randint(1, 8), random.randint(1, 4)
        self.per_turn, self.pause = random.choice([1, 1, 2, 3]), random.choice([0.0, 0.5, 1.0, 4.0])
        self.address_wait = random.choice([0.0, 1.0, 3.0])
        self.domain_wait = random.choice([0.0, 0.5, 3.0])
        self.domain = [random.randrange(self.sites) for _ in range(self.sites)]
        self.wait = [random.choice([0.0, 1.0, 5.0, 15.0]) for _ in range(self.sites)]
        self.alone = [random.random() < 0.2 for _ in range(self.sites)]
        self.pending = np.zeros(self.sites, np.uint32)
        self.rank: dict[int, int] = {}
        self.queue = SiteQueue(
            self.sites,
            self.addresses,
            address_wait=self.address_wait,
            per_turn=self.per_turn,
            pause=self.pause,
            sites_by=sites_by,
            pending=self.pending,
            domain_wait=self.domain_wait,
        )
        pause, self.pause = self.pause, max(self.pause, self.domain_wait)
        self.now = 100.0
        self.state = np.full(PAGES, State.PENDING, np.uint8)
        self.flags, self.due = np.zeros(PAGES, np.uint8), np.zeros(PAGES, np.uint32)
        self.origin = np.array([self.site_of(p) for p in range(PAGES)], np.uint32)
        self.valid = np.full(self.sites, WALL + 1)

        self.address: list[int | None] = [None] * self.sites
        self.not_before = [0.0] * self.sites
        self.address_not_before = [0.0] * self.addresses
        self.flight: dict[int, tuple[int, int, int, float, int, int]] = {}
        """By site: page, ask, address, start, plan, number of earlier requests of the turn."""
        self.planned: dict[int, list[int]] = {}
        self.plan = 0
        self.drafted: list[int] = []
        self.errands: set[int] = set()
        self.last: dict[int, tuple[int, float]] = {}  # site: address and end of its last answer
        self.last_at: dict[int, tuple[int, float]] = {}  # address: site and end of the last answer
        self.last_in: dict[int, float] = {}  # domain: end of the last answer
        self.in_turn = [0] * self.sites
        self.asked: dict[tuple[int, int], int] = defaultdict(int)
        self.turns_since: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.breaches: dict[str, list[str]] = defaultdict(list)
        for site in range(self.sites):
            if self.domain_wait:
                self.queue.set_domain(site, self.domain[site])
        everywhere = np.arange(self.sites, dtype=np.uint32)
        self.queue.set_waits(everywhere, np.array(self.wait), np.full(self.sites, pause))
        self.queue.set_alone(np.flatnonzero(self.alone).astype(np.uint32), True)
        assert self.queue.are_alone(everywhere).tolist() == self.alone

    def site_of(self, page: int) -> int:
        return page % self.sites

    # what may be done

    def askable(self, page: int) -> bool:
        waits_no_more = self.state[page] == State.WAITING and self.due[page] <= WALL
        return not self.flags[page] & ASSIGNED and bool(self.state[page] == State.PENDING or waits_no_more)

    def has_work(self, site: int) -> bool:
        return site in self.errands or any(self.askable(p) for p in self.planned.get(site, []))

    def continues(self, site: int) -> bool:
        """Whether its next request may belong to the same turn as its last one."""
        address, (at, _) = self.address[site], self.last.get(site, (None, 0.0))
        same = address is not None and address == at and self.last_at[address][0] == site
        return same and 0 < self.in_turn[site] < self.per_turn

    def site_time(self, site: int) -> float:
        if site not in self.last:
            return self.not_before[site]
        rest = min(self.pause, self.wait[site]) if self.continues(site) else self.wait[site]
        return max(self.not_before[site], self.last[site][1] + rest)

    def address_time(self, address: int, site: int) -> float:
        goes_on = self.continues(site) and self.now >= self.last[site][1] + self.pause
        if address not in self.last_at or goes_on:
            return self.address_not_before[address]
        return max(self.address_not_before[address], self.address_rested(address))

    def address_rested(self, address: int) -> float:
        """The end of the rest of an address after its last answer, which was the last of a turn."""
        site, end = self.last_at.get(address, (0, 0.0))
        return end + (self.wait[site] if self.alone[site] else self.address_wait)

    def is_due(self, site: int) -> bool:
        waiting = site not in self.flight and self.address[site] is not None and self.has_work(site)
        return waiting and self.now >= max(self.site_time(site), self.rested(site))

    def rested(self, site: int) -> float:
        """The time from which a site may be requested, whether its turn has ended or not."""
        return self.last[site][1] + max(self.pause, self.wait[site]) if site in self.last else 0.0

    def may_begin(self, site: int, address: int) -> bool:
        """Whether a request now may be the first of a turn (it may also be a later one, if `continues`)."""
        rested = site not in self.last or self.now >= self.last[site][1] + self.wait[site]
        return rested and (address not in self.last_at or self.now >= self.address_rested(address))

    def is_free(self, site: int) -> bool:
        address = self.address[site]
        assert address is not None
        busy = any(f[2] == address for f in self.flight.values())
        holder, end = self.last_at.get(address, (site, 0.0))
        held = holder != site and self.in_turn[holder] < self.per_turn and self.now < end + self.pause
        rested = self.now >= self.address_rested(address) and self.now >= self.address_not_before[address]
        return not busy and not held and rested and self.domain_is_free(site)

    def domain_is_free(self, site: int) -> bool:
        """Whether the domain is certainly free: no other site can hold it in a turn, or wait in line for it."""
        relatives = self.relatives(site)
        others = [s for s in relatives if s in self.flight or s in self.errands or self.planned.get(s)]
        held = [s for s in relatives if self.in_turn[s] < self.per_turn and self.now < self.rest_in_turn(s)]
        return not others and not held and self.now >= self.domain_time(site)

    def rest_in_turn(self, site: int) -> float:
        """The time until which a site that may be in a turn holds its address and domain."""
        return self.last[site][1] + self.pause if site in self.last else 0.0

    def relatives(self, site: int) -> list[int]:
        same = [s for s in range(self.sites) if s != site and self.domain[s] == self.domain[site]]
        return same if self.domain_wait else []

    def domain_time(self, site: int) -> float:
        limited = self.domain_wait and self.domain[site] in self.last_in
        return self.last_in[self.domain[site]] + self.domain_wait if limited else 0.0

    # what is done

    def draft(self) -> None:
        """Makes a plan in the background: some of its pages are requested before it is installed."""
        share = self.random.choice([0.9, 0.5, 0.1])
        self.drafted = [p for p in range(PAGES) if self.askable(p) and self.random.random() < share]
        self.random.shuffle(self.drafted)

    def install(self) -> None:
        self.plan += 1
        if not self.drafted:
            self.draft()
        chosen, self.drafted = self.drafted, []
        self.planned = defaultdict(list)
        for page in chosen:
            self.planned[self.site_of(page)].append(page)
        sites = list(self.planned)
        self.random.shuffle(sites)
        offsets = np.cumsum([0] + [len(self.planned[s]) for s in sites])
        pages = np.array([p for s in sites for p in self.planned[s]], np.uint32)
        ranks = np.array([chosen.index(p) for p in pages.tolist()], np.uint32)
        self.rank = {page: i for i, page in enumerate(chosen)}
        self.queue.install(SimpleNamespace(sites=np.array(sites, np.uint32), offsets=offsets, pages=pages, ranks=ranks))
        self.enter()

    def enter(self) -> None:
        self.queue.enter(np.arange(self.sites, dtype=np.uint32), self.now)

    def move(self) -> None:
        site, address = self.random.randrange(self.sites), self.random.randrange(self.addresses)
        self.address[site] = address
        self.queue.set_address(site, address)
        self.forget(site)
        self.enter()

    def be_patient(self) -> None:
        until = self.now + self.random.choice([0.5, 2.0, 20.0])
        if self.random.random() < 0.7:
            site = self.random.randrange(self.sites)
            self.not_before[site] = max(self.not_before[site], until)
            self.queue.not_before(site, until)
        else:
            address = self.random.randrange(self.addresses)
            self.address_not_before[address] = max(self.address_not_before[address], until)
            self.queue.address_not_before(address, until)

    def change_page(self) -> None:
        page = self.random.randrange(PAGES)
        if not self.flags[page] & ASSIGNED and self.state[page] in (State.PENDING, State.WAITING):
            self.state[page] = self.random.choice([State.EXCLUDED, State.DONE, State.WAITING])
            self.due[page] = WALL + 5

    def change_sizes(self) -> None:
        self.pending[self.random.randrange(self.sites)] = self.random.randrange(5)
        self.queue.touch()

    def forget_rules(self) -> None:
        self.valid[self.random.randrange(self.sites)] = 0

    def send(self) -> None:
        """Sends a site on an errand, unless a request is in flight: its answer would end the errand."""
        site = self.random.randrange(self.sites)
        if site not in self.flight:
            self.errands.add(site)
            self.queue.set_errand(site, True)
            self.enter()

    def advance(self) -> None:
        self.now += self.random.choice([0.5, 0.5, 1.0, 3.0, 10.0])

    def ready(self, k: int = 0) -> None:
        k = k or self.random.choice([1, 2, 100])
        could = self.contenders()
        found = self.queue.ready(self.now, k, self.state, self.flags, self.due, self.origin, self.valid, WALL)
        asked = found[0].tolist()
        times = self.queue.times_of(found[0]).tolist()
        for site, page, ask, time in zip(*(a.tolist() for a in found), times, strict=True):
            self.hand_out(site, page, ask, time)
        if len(asked) < k:
            idle = [s for s in range(self.sites) if self.is_due(s) and self.is_free(s)]
            self.note("every site is requested", not idle, f"{idle} may be requested and are not")
        self.check_order(asked, could)
        self.note("count", self.queue.in_flight == len(self.flight), "in flight")

    def worth(self, site: int) -> int:
        """The number that orders sites."""
        first = next(p for p in self.planned[site] if self.askable(p))
        return int(self.pending[site]) if self.sites_by == LARGER else -self.rank[first]

    def contenders(self) -> dict[int, int]:
        """Sites with an address of their own that may be requested now and have no errand and no turn, with their
        worth."""
        able = [s for s in range(self.sites) if self.is_due(s) and self.is_free(s)]
        alone = [s for s in able if sum(a == self.address[s] for a in self.address) == 1]
        return {s: self.worth(s) for s in alone if s not in self.errands and not self.continues(s)}

    def check_order(self, asked: list[int], could: dict[int, int]) -> None:
        worse = [(s, t) for s in could if s not in asked for t in asked if t in could and could[t] < could[s]]
        self.note("the best sites come first", not worse, f"{worse} of {could}")

    def hand_out(self, site: int, page: int, ask: int, time: float) -> None:
        """Checks a request that may begin from `time` on: the rules must allow it then, and not only now."""
        address = self.address[site]
        assert address is not None
        self.note("count", time <= self.now, f"{site} may be requested from {time} on")
        now, self.now = self.now, time
        self.note("never two requests in flight to a site", site not in self.flight, f"{site}")
        others = [f for f in self.flight.values() if f[2] == address]
        self.note("never two requests in flight to an address", not others, f"{site} at {address}: {others}")
        self.note("never before the next time of a site", self.now >= self.site_time(site), f"{site} at {self.now}")
        free = self.address_time(address, site)
        self.note("never before the next time of an address", self.now >= free, f"{address} at {self.now}")
        related = [s for s in self.relatives(site) if s in self.flight]
        self.note("never two requests in flight to a domain", not related, f"{site} and {related}")
        rested = self.now >= self.domain_time(site)
        self.note("never before the next time of a domain", rested, f"{site} at {self.now}")
        self.now = now

        self.note("errand", (page == NONE) == (site in self.errands), f"{site} asked for {page}")
        if page != NONE:
            self.hand_out_page(site, page, ask)
        if not self.continues(site):
            self.begin_turn(site, address)
        self.forget(site)
        self.flight[site] = (page, ask, address, self.now, self.plan, self.in_turn[site])
        self.in_turn[site] = 1 if self.may_begin(site, address) else self.in_turn[site] + 1
        self.observe()

    def hand_out_page(self, site: int, page: int, ask: int) -> None:
        name = "every planned page ends in exactly one outcome"
        left = self.planned.get(site, [])
        while left and left[0] != page and not self.askable(left[0]):
            left.pop(0)
        first = bool(left) and left[0] == page
        self.note(name, first, f"{page} is not the next of {site}")
        if ask == Ask.PAGE:
            left[:1] = []
            self.asked[self.plan, page] += 1
            self.note(name, self.asked[self.plan, page] == 1, f"{page} twice")
            self.note(name, self.flags[page] == ASSIGNED, "no mark")
        self.note("robots", (ask == Ask.PAGE) == (self.valid[self.origin[page]] > WALL), f"{page} asked as {ask}")

    def begin_turn(self, site: int, address: int) -> None:
        """A site begins a turn at `address`: no other site that could have had the turn may see that twice.

        With a limit by domain that holds among the sites of a domain; other sites may pass while one waits for its
        domain.
        """
        for other in range(self.sites):
            if other != site and self.is_due(other):
                if self.domain_wait:
                    if other in self.relatives(site):
                        self.watch("in its domain", other, site)
                elif self.address[other] == address:
                    self.watch("at its address", other, site)
                elif self.is_free(other):
                    self.watch("anywhere", other, site)

    def observe(self) -> None:
        """Resets the count of turns for sites that may not be requested at this moment."""
        for site in range(self.sites):
            if not self.is_due(site):
                self.forget(site)
            elif not self.is_free(site):
                self.turns_since["anywhere", site].clear()

    def watch(self, where: str, other: int, site: int) -> None:
        seen = self.turns_since[where, other]
        self.note("no site starves", site not in seen, f"{site} had two turns {where} while {other} was due")
        seen.add(site)

    def forget(self, site: int) -> None:
        for where in ("at its address", "in its domain", "anywhere"):
            self.turns_since[where, site].clear()

    def done(self) -> None:
        sites = [s for s, f in self.flight.items() if f[3] < self.now and self.random.random() < 0.6]
        ends = [self.random.choice([self.now, (self.now + self.flight[s][3]) / 2]) for s in sites]
        for site, end in zip(sites, ends, strict=True):
            page, ask, address = self.flight[site][:3]
            self.last[site], self.last_at[address] = (address, end), (site, end)
            self.last_in[self.domain[site]] = end
            del self.flight[site]
            if self.not_before[site] > end + self.pause:
                self.in_turn[site] = self.per_turn
            if page == NONE:
                self.errands.discard(site)
                self.queue.set_errand(site, False)
            elif ask == Ask.ROBOTS:
                self.valid[self.origin[page]] = WALL + 1
            else:
                self.flags[page] = 0
                self.state[page] = self.random.choice([State.DONE, State.DONE, State.WAITING, State.PENDING])
                self.due[page] = WALL + 5
        self.queue.done(np.array(sites, np.uint32), np.array(ends), self.now)

    def skip(self) -> None:
        sites = [s for s in self.flight if self.random.random() < 0.4]
        for site in sites:
            page, ask, _, _, plan, self.in_turn[site] = self.flight.pop(site)
            for seen in self.turns_since.values():
                seen.discard(site)
            if ask == Ask.PAGE:
                self.flags[page] = 0
                if self.random.random() < 0.7:
                    self.state[page] = State.EXCLUDED
                if plan == self.plan:
                    self.asked[plan, page] -= 1
                    self.planned[site].insert(0, page)
        self.queue.skip(np.array(sites, np.uint32), self.now)

    def note(self, name: str, holds: bool, text: str) -> None:
        if not holds:
            self.breaches[name].append(f"{text} (now {self.now}, plan {self.plan})")

    # a life

    def live(self) -> World:
        for _ in range(2 * self.sites):
            self.move()
        self.install()
        rare = [
            self.install,
            self.move,
            self.be_patient,
            self.change_page,
            self.forget_rules,
            self.enter,
            self.skip,
            self.send,
            self.draft,
            self.change_sizes,
        ]
        for _ in range(self.random.randint(10, 100)):
            self.random.choice([self.advance, self.ready, self.done, self.random.choice(rare)])()
            self.observe()
        self.drain()
        return self

    def drain(self) -> None:
        """Runs to the end of the plan: every page that may be requested must be handed out, then the queue is empty."""
        for _ in range(20 * PAGES):
            self.ready(100)
            if not self.flight and self.queue.next_time() == np.inf:
                break
            if self.flight:
                self.now += 0.5
            elif self.queue.next_time() > self.now:
                self.now = self.queue.next_time()
            self.done()
            self.observe()
        left = [p for pages in self.planned.values() for p in pages if self.askable(p)]
        homeless = [p for p in left if self.address[self.site_of(p)] is None]
        self.note("every planned page ends in exactly one outcome", left == homeless, f"{left} were never handed out")
        inside = self.queue.queued + self.queue.in_flight
        self.note("count", inside == 0, f"{inside} sites in an empty queue")
        homeless_pages = sum(len(pages) for site, pages in self.planned.items() if self.address[site] is None)
        self.note("count", self.queue.left() == homeless_pages, f"{self.queue.left()} pages left")


SAME: Final = 1 if settings().derandomize else Random().getrandbits(64)
"""All invariants are checked in the same lives: a life takes longer than its checks. They are others in each run, but
in CI, where hypothesis tries the same examples each time."""


def life(test: Callable[[int], None]) -> Callable[[], None]:
    return settings(max_examples=100, deadline=None)(seed(SAME)(given(seed=st.integers(0, 2**32))(test)))


@cache
def lived(number: int, sites_by: int) -> dict[str, list[str]]:
    """The breaches of each invariant in a life."""
    return World(Random(number), sites_by).live().breaches


def breaches(number: int, invariant: str, orders: Iterable[int] = tuple(SITES_BY.values())) -> list[str]:
    """The breaches of an invariant in a life under each order of sites."""
    return [text for sites_by in orders for text in lived(number, sites_by).get(invariant, [])]


@life
def test_never_two_requests_in_flight_to_a_site(seed: int) -> None:
    assert breaches(seed, "never two requests in flight to a site") == []


@life
def test_never_two_requests_in_flight_to_an_address(seed: int) -> None:
    assert breaches(seed, "never two requests in flight to an address") == []


@life
def test_never_before_the_next_time_of_a_site(seed: int) -> None:
    assert breaches(seed, "never before the next time of a site") == []


@life
def test_never_before_the_next_time_of_an_address(seed: int) -> None:
    assert breaches(seed, "never before the next time of an address") == []


@life
def test_never_two_requests_in_flight_to_a_domain(seed: int) -> None:
    assert breaches(seed, "never two requests in flight to a domain") == []


@life
def test_never_before_the_next_time_of_a_domain(seed: int) -> None:
    assert breaches(seed, "never before the next time of a domain") == []


@life
def test_every_planned_page_ends_in_exactly_one_outcome(seed: int) -> None:
    assert breaches(seed, "every planned page ends in exactly one outcome") == []


@life
def test_no_site_starves(seed: int) -> None:
    assert breaches(seed, "no site starves", (WAITING,)) == []


@life
def test_every_site_that_may_be_requested_is_requested_as_long_as_there_is_room(seed: int) -> None:
    assert breaches(seed, "every site is requested") == []


@life
def test_the_best_of_the_sites_that_may_be_requested_are_requested_first(seed: int) -> None:
    assert breaches(seed, "the best sites come first", (BEST, LARGER)) == []


@life
def test_robots_txt_is_requested_before_pages_and_errands_before_both(seed: int) -> None:
    assert breaches(seed, "robots") == []
    assert breaches(seed, "errand") == []


@life
def test_the_queue_counts_its_sites_and_pages(seed: int) -> None:
    assert breaches(seed, "count") == []


class Small:
    """Sites 0, 1, … behind one address, three pages each."""

    def __init__(self, sites: int, **options: float) -> None:
        self.queue = SiteQueue(sites, 3, **options)  # type: ignore[arg-type]
        known = 3 * sites
        self.state, self.flags = np.zeros(known, np.uint8), np.zeros(known, np.uint8)
        self.due = np.zeros(known, np.uint32)
        self.origin, self.valid = np.zeros(known, np.uint32), np.full(1, WALL + 1)
        self.sites = np.arange(sites, dtype=np.uint32)
        for site in range(sites):
            self.queue.set_address(site, 0)
        self.plan()

    def plan(self) -> None:
        pages = np.arange(len(self.state), dtype=np.uint32)
        offsets = np.arange(len(self.sites) + 1) * 3
        self.queue.install(SimpleNamespace(sites=self.sites, offsets=offsets, pages=pages, ranks=pages))
        self.queue.enter(self.sites, 0.0)

    def ready(self, now: float, k: int = 100) -> list[tuple[int, int, int]]:
        found = self.queue.ready(now, k, self.state, self.flags, self.due, self.origin, self.valid, WALL)
        return list(zip(*(a.tolist() for a in found), strict=True))


def test_upcoming_sites_come_by_time_and_rank_with_their_first_pages() -> None:
    small = Small(4)
    small.queue.not_before(np.array([0, 2]), np.array([9.0, 5.0]))
    coming = small.queue.upcoming(3, 1.0)
    assert coming.left == 12
    found = [array.tolist() for array in coming[:-1]]
    assert found == [[1, 3, 2], [3, 9, 6], [1.0, 1.0, 5.0], [3, 9, 6], [3, 3, 3]]
    assert small.ready(1.0, 1) == [(1, 3, Ask.PAGE)]
    assert small.queue.upcoming(9, 1.0)[1].tolist()[0] == small.queue.planned(1)[0] == 4


def test_a_turn_holds_the_address_and_then_the_first_in_line_gets_it() -> None:
    small = Small(3, per_turn=2, pause=2.0, address_wait=5.0, wait=60.0)
    assert small.ready(0.0) == [(0, 0, Ask.PAGE)]
    small.queue.done(np.array([0]), np.array([1.0]), 1.0)
    assert small.ready(2.9) == []
    assert small.ready(3.0) == [(0, 1, Ask.PAGE)]
    small.queue.done(np.array([0]), np.array([4.0]), 4.0)
    assert small.queue.next_time() == 9.0
    assert small.ready(8.9) == []
    assert small.ready(9.0) == [(1, 3, Ask.PAGE)]
    small.queue.done(np.array([1]), np.array([9.5]), 9.5)
    small.queue.not_before(1, 100.0)
    assert small.ready(11.5) == []
    assert small.ready(14.5) == [(2, 6, Ask.PAGE)]


def test_a_skipped_page_is_next_again_unless_it_is_excluded() -> None:
    small = Small(2, address_wait=5.0)
    assert small.ready(0.0) == [(0, 0, Ask.PAGE)]
    small.flags[0] = 0
    small.queue.skip(np.array([0]), 0.0)
    assert small.ready(0.0) == [(0, 0, Ask.PAGE)]
    small.state[0], small.flags[0] = State.EXCLUDED, 0
    small.queue.skip(np.array([0]), 0.0)
    assert small.ready(0.0) == [(0, 1, Ask.PAGE)]
    small.queue.skip(np.array([0]), 0.0)
    assert small.ready(0.0) == [(0, 2, Ask.PAGE)], "page 1 is still marked as assigned"


def test_a_skipped_site_that_must_wait_passes_its_address_to_the_next_in_line() -> None:
    small = Small(2)
    assert small.ready(0.0) == [(0, 0, Ask.PAGE)]
    small.queue.not_before(0, 50.0)
    small.queue.skip(np.array([0]), 0.0)
    assert small.ready(0.0) == [(1, 3, Ask.PAGE)]


def test_a_site_that_moves_does_not_wait_for_its_old_address() -> None:
    small = Small(1)
    small.queue.address_not_before(0, 1000.0)
    assert small.ready(0.0) == []
    small.queue.set_address(0, 1)
    assert small.ready(0.0) == [(0, 0, Ask.PAGE)]


def test_a_site_whose_best_page_is_excluded_while_it_contends_gives_way_to_a_better_one() -> None:
    small = Small(3, sites_by=BEST)
    for site in small.sites.tolist():
        small.queue.set_address(site, site)
    pages, ranks = np.array([0, 3, 4, 6], np.uint32), np.array([0, 1, 3, 2], np.uint32)
    offsets = np.array([0, 1, 3, 4])
    small.queue.install(SimpleNamespace(sites=small.sites, offsets=offsets, pages=pages, ranks=ranks))
    assert small.ready(0.0, 1) == [(0, 0, Ask.PAGE)]
    small.state[3] = State.EXCLUDED
    assert small.ready(0.0, 1) == [(2, 6, Ask.PAGE)]
    assert small.ready(0.0, 1) == [(1, 4, Ask.PAGE)]


def test_a_site_with_lines_at_its_domain_and_at_its_address_has_its_turn() -> None:
    """Sites 0 to 2 share an address, 0, 3 and 4 a domain; there is always work for all of them."""
    small = Small(5, wait=0.0, address_wait=1.0, domain_wait=1.0)
    for site, domain in enumerate((0, 1, 2, 0, 0)):
        small.queue.set_domain(site, domain)
    for site in (3, 4):
        small.queue.set_address(site, site - 2)
    now, turns = 0.0, [0] * 5
    for _ in range(200):
        now += 0.1
        for site, *_ in small.ready(now):
            turns[site] += 1
            small.queue.done(np.array([site]), np.array([now + 0.05]), now + 0.05)
        small.flags[:] = 0
        small.plan()
    assert min(turns) >= 3, turns
    assert turns[0] + turns[3] + turns[4] <= 20, "one per second"


def test_pages_cannot_be_given_back_to_heaps() -> None:
    with pytest.raises(ValueError, match="heaps"):
        SiteQueue(1, 1, pages=1).skip(np.array([0]), 0.0)


def test_urls_are_read_ahead_for_the_pages_of_sites_that_are_due_soon() -> None:
    small = Small(4, per_turn=2)
    assert sorted(small.queue.due(0.0, 1.0, 100).tolist()) == [0, 1, 3, 4, 6, 7, 9, 10]
    assert len(small.queue.due(0.0, 1.0, 3)) == 3
    assert small.queue.due(-10.0, 5.0, 100).tolist() == []


def test_an_answer_without_a_request_in_flight_is_an_error() -> None:
    small = Small(1)
    with pytest.raises(ValueError, match="no request in flight"):
        small.queue.done(np.array([0]), np.array([1.0]), 1.0)
