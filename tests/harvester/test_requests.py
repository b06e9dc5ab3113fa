"""Assignments of what the queue hands out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import Array
from gossamer.base.clock import VirtualClock
from gossamer.base.model import ERRAND, NONE, Ask, PageFlag, Reason, State
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.errands.errand import Context, Errands, Outbox
from gossamer.harvester.errands.table import ERRANDS
from gossamer.harvester.in_flight import InFlight
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.harvester.requests import Assigner, Taken
from gossamer.robots import Rules as Robots
from gossamer.web.addresses import pack
from tests.support.harvesting import desk_of

URLS = ("http://a.example/", "http://b.example:8080/x", "http://www.c.example/")


class Made:
    """An assigner of three pages, one per site. The robots rules of all but the first origin are valid."""

    def __init__(self, forbidden: bool = False) -> None:
        self.desk, self.clock = desk_of(URLS), VirtualClock()
        self.queue = SiteQueue(10, 10)
        clocks = QueueClocks(self.desk, self.queue, self.clock)
        self.in_flight, self.outbox = InFlight(), Outbox()
        texts = [url.replace("www.", "").encode() for url in URLS]
        context = Context(
            self.desk,
            self.in_flight,
            self.outbox,
            clocks,
            lambda pages: [texts[page] for page in pages.tolist()],
            self.queue.without_pages,
        )
        errands = Errands(ERRANDS, context, self.queue, lambda sites: self.queue.enter(sites, self.clock.monotonic()))
        self.assigner = Assigner(context, self.queue, errands, lambda numbers: [])
        sites, origins = self.desk.columns.site, self.desk.columns.origin
        for site in range(3):
            number, _ = self.desk[Places].address_number(pack(f"192.0.2.{site}"))
            sites.address[site] = number
            self.queue.set_address(site, number)
        origins.valid[1:3] = self.clock.wall() + 1_000
        if forbidden:
            compiled = Robots.parse(b"User-agent: *\nDisallow: /x", "gossamer").compiled()
            origins.rules_start[1], origins.rules_end[1] = self.desk[Rules].book.place(compiled)
        self.queue.install(Plan(np.arange(3, dtype=np.uint32)))
        self.queue.enter(np.arange(3, dtype=np.uint32), self.clock.monotonic())

    def taken(self) -> Taken:
        page, origin = self.desk.columns.page, self.desk.columns.origin
        columns = (page.state, page.flags, page.due, page.origin, origin.valid)
        return Taken(*self.queue.ready(self.clock.monotonic(), 9, *columns, self.clock.wall()))

    def assigned(self) -> set[int]:
        flags = self.desk.columns.page.flags[:3] & PageFlag.ASSIGNED
        return set(np.flatnonzero(flags).tolist())


class Plan:
    """One page for each site."""

    def __init__(self, sites: Array) -> None:
        self.sites = self.pages = self.ranks = sites
        self.offsets = np.arange(len(sites) + 1, dtype=np.int64)


def test_a_page_is_requested_by_the_name_of_its_site_and_at_its_port() -> None:
    made = Made()
    flights = made.assigner.flights(made.taken(), made.clock.wall())
    asked = {made.assigner.assignment(flight, 0.0, 0) for flight in flights}
    found = {(each.url, each.ask, each.page, each.address, each.port) for each in asked}
    assert found == {
        (b"http://a.example/robots.txt", Ask.ROBOTS, NONE, "192.0.2.0", 80),
        (b"http://b.example:8080/x", Ask.PAGE, 1, "192.0.2.1", 8080),
        (b"http://www.c.example/", Ask.PAGE, 2, "192.0.2.2", 80),
    }
    assert {each.number for each in asked} == {1, 2, 3}
    assert len(made.in_flight) == 3
    assert made.assigned() == {1, 2}, "the page of the first site waits for robots.txt"


def test_a_page_that_robots_txt_forbids_by_now_is_excluded_and_not_requested() -> None:
    made = Made(forbidden=True)
    flights = made.assigner.flights(made.taken(), made.clock.wall())
    assert sorted(flight.site for flight in flights) == [0, 2]
    (verdict,) = made.outbox.verdicts
    assert (verdict.page, verdict.state, verdict.reason) == (1, State.EXCLUDED, Reason.ROBOTS)
    assert made.assigned() == {2}
    assert made.queue.in_flight == 2, "the site is free for another page"


def test_a_turn_without_an_errand_costs_the_site_its_usual_wait() -> None:
    made = Made()
    made.queue.set_errand(2, True)
    taken = made.taken()
    assert dict(zip(taken.sites.tolist(), taken.asks.tolist(), strict=True))[2] == ERRAND
    flights = made.assigner.flights(taken, made.clock.wall())
    assert sorted(flight.site for flight in flights) == [0, 1]
    assert made.queue.time_of(2) == made.clock.monotonic() + made.desk.settings.harvester.wait


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 2)))
def test_pages_that_are_taken_back_may_be_requested_again(back: set[int]) -> None:
    made = Made()
    taken = made.taken()
    kept = np.isin(taken.sites, list(back))
    made.assigner.unassign(taken.where(kept))
    made.queue.skip(taken.sites[kept], made.clock.monotonic())
    assert made.assigned() == {1, 2} - back
    assert set(made.taken().sites.tolist()) == back
