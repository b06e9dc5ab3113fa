"""The site queue: which site may be requested now, and for which of its planned pages (thesis 7.2.2, figure 7.2; 002).

A plan gives every site a slice of pages, best first. A site is at one *place*:

    OUT ---enter---> HEAP ---its time has come, its address is free---> (READY) ---> FLIGHT
                     |  ^                                                              |
      address taken  v  | address free, and it is the first in line                    | done: back to HEAP at
                     LINE                                                              v   end + wait, or OUT
                                                                                      ...  without pages

`HEAP` is one binary heap of sites by (time, order of entry). One site at a time holds an *address*: the site in flight,
the site between two requests of its turn, or the site that will be next when the time of the address has come. Other
sites that become due meanwhile wait in line at the address, outside the heap, so a thousand sites behind one address
cost no more than one: a request takes two heap operations at most, O(log sites), amortised. Mercator (002) has a queue
for each *host* and a heap of hosts; it knows no addresses, and hosting companies put thousands of sites behind one.

With a limit by registrable domain (PolyBot), a site needs its *domain* too. It is held in the same way, and acquired
before the address: `holders` explains this order.

A *turn* is up to `per_turn` requests over one connection, `pause` apart; the site holds the address throughout. Waiting
times count from the end of an answer. A turn that ends early (no page left, the site told to wait, a new address) ends
like any other: the site rests for its wait, the address for `address_wait`, the domain for `domain_wait`, which also
applies within a turn.

Invariants, each a property test of the same name in `tests/harvester/queue/test_queue.py`:

- never two requests in flight to a site
- never two requests in flight to an address
- never before the next time of a site: `end + wait` after a turn, `end + pause` within one, and any `not_before`
- never before the next time of an address: `end + address_wait` after a turn (`end + wait` of a site that is *alone*),
  and any `address_not_before`
- never two requests in flight to a domain
- never before the next time of a domain: `end + domain_wait`
- every planned page ends in exactly one outcome: handed out once, or dropped because it may no longer be requested
- no site starves: a site that may be requested has its turn before any other site has a second one (WAITING)

The two levels of the thesis' figure 4.1 are an order of sites and an order of pages within a site. Pages are in the
order of the plan, or of `page_heaps`, which are updated page by page. `sites_by` is the order of the sites that may be
requested now: longest waiting first (WAITING), best next page first (BEST), or most pending pages first (LARGER). For
the latter two, sites whose time has come contend in READY; they hold no address there, and a site that is not taken
contends again. Then a site may starve while others are better, but only as long as all connections are busy with them:

- every site that may be requested is requested as long as there is room
- the best of the sites that may be requested are requested first

Refused: a heap of addresses with heaps of sites inside (two levels to re-key at each `not_before`); re-keying at once
(an entry that is popped before the time of its site is pushed again at that time: the same cost, paid only if needed).

`memory` has the state, `holders` the addresses and domains, `turns` the turns; all of these are compiled.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from gossamer.base.arrays import F64, I64, U8, U32, Bools
from gossamer.base.model import NONE
from gossamer.harvester.queue import turns
from gossamer.harvester.queue.holders import leave_domains, set_address
from gossamer.harvester.queue.memory import (
    BEST,
    IN_FLIGHT,
    IN_HEAP,
    IN_LINE,
    IN_READY,
    LARGER,
    LEFT,
    WAITING,
    Arrays,
    make_arrays,
)

_NO_REASONS: Final = np.zeros(0, np.uint8)
_NO_NUMBERS: Final = np.zeros(0, np.uint32)

SITES_BY: Final = {"waiting": WAITING, "best": BEST, "larger": LARGER}
"""Orders of sites by name."""


class Order(Protocol):
    """What is installed, such as a plan: `pages[offsets[i]:offsets[i + 1]]` are the pages of `sites[i]`, best first."""

    @property
    def sites(self) -> U32: ...
    @property
    def offsets(self) -> I64: ...
    @property
    def pages(self) -> U32: ...
    @property
    def ranks(self) -> U32:
        """Rank of each page in the whole plan: 0 is best."""


class Upcoming(NamedTuple):
    """Sites that are requested next, each with its first planned page."""

    sites: U32
    pages: U32
    times: F64
    """Times before which the sites are not requested."""
    ranks: U32
    """Positions of the pages in the plan."""
    lefts: I64
    """Planned pages of each site."""
    left: int
    """Planned pages of all sites."""


class Ahead(Protocol):
    """What the queue tells of the times to come. Any thread may ask: the answers were true a moment ago."""

    def upcoming(self, most: int, now: float) -> Upcoming: ...
    def time_of(self, site: int) -> float: ...


class SiteQueue:
    """The site queue of one crawl; all of its work is done by compiled functions."""

    def __init__(
        self,
        max_sites: int,
        max_addresses: int,
        *,
        wait: float = 15.0,
        address_wait: float = 1.0,
        per_turn: int = 1,
        pause: float = 1.0,
        sites_by: int = WAITING,
        pending: U32 | None = None,
        pages: int = 0,
        domain_wait: float = 0.0,
    ) -> None:
        """`pending`, by site, is needed by LARGER. `pages`: use heaps of so many pages instead of plans. `domain_wait`:
        0 means no limit by domain."""
        self._q = make_arrays(
            max_sites, max_addresses, wait, address_wait, per_turn, pause, sites_by, pages, domain_wait
        )
        self._max_addresses = max_addresses
        self._sites: U32 = _NO_NUMBERS
        self._pages: U32 = _NO_NUMBERS
        self._ranks: U32 = _NO_NUMBERS
        self._pending: U32 = np.zeros(max_sites, np.uint32) if pending is None else pending

    @property
    def arrays(self) -> Arrays:
        """For compiled loops around the queue."""
        return self._q

    def set_address(self, site: int, address: int) -> None:
        """Sets the address from the next request on; NONE takes the site out at its next time."""
        set_address(self._q, site, address)

    def set_domain(self, site: int, domain: int) -> None:
        """Sets the domain, before the first address; a domain that is already set stays. Numbered like sites, from
        0."""
        if self._q.domain[site] == NONE:
            self._q.domain[site] = self._max_addresses + domain

    def set_waits(self, sites: U32, seconds: F64, pauses: F64) -> None:
        """Sets the waits of sites from their next answers on. A Crawl-delay holds between any two requests: give it as
        pause too."""
        self._q.sites["wait"][sites] = seconds
        self._q.sites["pause"][sites] = pauses

    def set_alone(self, sites: U32, alone: bool) -> None:
        """Sets whether the address of these sites, which share it, needs no longer wait than theirs."""
        self._q.sites["alone"][sites] = alone

    def are_alone(self, sites: U32) -> Bools:
        """Which of these sites have an address like this."""
        alone: Bools = self._q.sites["alone"][sites] != 0
        return alone

    def set_errand(self, site: int, waits: bool) -> None:
        """Sets whether an errand waits at the site: a request for something other than its pages, such as a sitemap or
        a robots.txt that moved there.

        While an errand waits, `ready` hands the site out for it: page NONE, `ERRAND`. `enter` lets the site in.
        """
        self._q.sites["errand"][site] = waits
        turns.touch_site(self._q, site, self._ranks, self._pending)

    def has_pages(self, site: int) -> bool:
        """Whether the site has planned pages left; some of them may no longer be requested."""
        return bool(self._q.sites["begin"][site] < self._q.sites["stop"][site])

    def without_pages(self, sites: U32) -> U32:
        """The sites among these that have no planned pages left."""
        empty: U32 = sites[self._q.sites["begin"][sites] >= self._q.sites["stop"][sites]]
        return empty

    def planned(self, site: int) -> U32:
        """The planned pages of the site that are left, best first. Any thread may call this: the answer was true a
        moment ago."""
        pages, begin, stop = self._pages, int(self._q.sites["begin"][site]), int(self._q.sites["stop"][site])
        return pages[begin:stop].copy()

    def time_of(self, site: int) -> float:
        """The monotonic time before which the site is not requested again, as far as is known now."""
        return float(self._q.sites["next"][site])

    def upcoming(self, most: int, now: float) -> Upcoming:
        """At most so many sites with planned pages, in the order in which they are likely to be requested, as far as
        waits are known."""
        sites, pages, ranks, rows = self._sites, self._pages, self._ranks, self._q.sites
        begin, stop = rows["begin"][sites].astype(np.int64), rows["stop"][sites].astype(np.int64)
        has = np.flatnonzero((begin < stop) & (stop <= len(pages)))
        sites, begin, lefts = sites[has], begin[has], (stop - begin)[has]
        times = np.maximum(rows["next"][sites], now)
        first = np.lexsort((ranks[begin], times))[:most]
        heads = begin[first]
        return Upcoming(sites[first], pages[heads], times[first], ranks[heads], lefts[first], int(lefts.sum()))

    def nobody_before(self, time: float) -> None:
        """No site is requested before `time`, sites that are not known yet included."""
        np.maximum(self._q.sites["next"], time, out=self._q.sites["next"])

    def not_before(self, site: int | U32, time: float | F64) -> None:
        """The site rests until `time` at least; its turn ends. Also takes arrays, with one time for each site."""
        np.maximum.at(self._q.sites["next"], site, time)

    def address_not_before(self, address: int | U32, time: float | F64) -> None:
        """The address rests until `time` at least. Also takes arrays."""
        np.maximum.at(self._q.addresses["free"], address, time)

    def install(self, order: Order) -> None:
        """Replaces the order. Sites that are only in the old order have no more pages and leave when their time
        comes."""
        q, before, sites = self._q, self._sites, order.sites
        for name in ("begin", "stop", "taken"):
            q.sites[name][before] = 0
        q.sites["begin"][sites], q.sites["stop"][sites] = order.offsets[:-1], order.offsets[1:]
        self._sites = np.array(sites, np.uint32)
        self._pages, self._ranks = np.array(order.pages, np.uint32), np.array(order.ranks, np.uint32)
        q.counts[LEFT] = len(self._pages)
        if len(q.domain):
            leave_domains(q, before)
        self.touch()

    def touch(self) -> None:
        """Sorts the contending sites again: the numbers that order them may have changed."""
        if self._q.counts[IN_READY]:
            turns.touch(self._q, self._ranks, self._pending)

    def enter(self, sites: U32, now: float) -> None:
        """Lets sites in that are outside and have work and an address; other sites stay as they are."""
        turns.enter(self._q, np.asarray(sites, np.uint32), float(now))

    def ready(
        self,
        now: float,
        k: int,
        page_state: U8,
        page_flags: U8,
        page_due: U32,
        page_origin: U32,
        origin_valid: F64,
        wall: float,
        period: float = 0.0,
        page_reason: U8 | None = None,
        begins: float = -np.inf,
    ) -> tuple[U32, U32, U8]:
        """At most `k` sites that may be requested now, with the page of each and what to request (`Ask`).

        `now` may be a moment ahead: then `times_of` gives the time before which each must not be requested, and
        `begins` is the wall time by which all requests will have begun. The sites are in flight until `done` or `skip`,
        and their pages get the flag ASSIGNED. If the robots.txt rules of an origin are not valid until then, robots.txt
        is requested instead, and the page stays first in its slice. With a `period`, which needs `page_reason`, a page
        that is done may be requested again when so many seconds have passed and no reason forbids it.
        """
        k = max(0, k)
        found = sites, pages, asks = np.empty(k, np.uint32), np.empty(k, np.uint32), np.empty(k, np.uint8)
        order, page = (self._pages, self._ranks, self._pending), (page_state, page_flags, page_due, page_origin)
        reason = _NO_REASONS if page_reason is None else page_reason
        now, wall, begins, period = float(now), float(wall), max(float(wall), float(begins)), float(period)
        given: tuple[Any, ...] = (self._q, now, wall, *order, *page, origin_valid, begins, period, reason, *found)
        n = turns.ready(*given)
        return sites[:n], pages[:n], asks[:n]

    def times_of(self, sites: U32) -> F64:
        """The times before which the requests of these sites, which are in flight, must not begin."""
        q = self._q
        times: F64 = np.maximum(q.sites["next"][sites], q.addresses["free"][q.sites["held"][sites]])
        if len(q.domain):
            domains = q.domain[sites]
            limited = domains != NONE
            times[limited] = np.maximum(times[limited], q.addresses["free"][domains[limited]])
        return times

    def done(self, sites: U32, ends: F64, now: float) -> None:
        """The requests of these sites ended at `ends`, with answers or failures."""
        self._check(turns.done(self._q, np.asarray(sites, np.uint32), np.asarray(ends, np.float64), float(now)), "done")

    def skip(self, sites: U32, now: float) -> None:
        """The requests were not made: as if never taken, with all times unchanged; each page is first in its slice
        again.

        The caller clears ASSIGNED. While it is set, or if the page is excluded, the next `ready` skips the page.
        """
        self._skip(sites, now, now, "skip")

    def give_back(self, sites: U32, now: float) -> None:
        """As `skip`, and the sites keep their places: no site behind them overtakes them."""
        self._skip(sites, now, -np.inf, "give_back")

    def _skip(self, sites: U32, now: float, least: float, name: str) -> None:
        if len(self._q.nodes):
            raise ValueError(f"{name}: pages cannot be given back to heaps, only to the slices of a plan")
        self._check(turns.skip(self._q, np.asarray(sites, np.uint32), float(now), float(least)), name)

    def _check(self, strangers: int, name: str) -> None:
        if strangers:
            raise ValueError(f"{name}: {strangers} sites have no request in flight")

    def next_time(self) -> float:
        """When to call `ready` again, if no answer comes before; in the past if `k` was the limit."""
        if self._q.counts[IN_READY]:
            return -np.inf
        return float(self._q.heap[0]["time"]) if self._q.counts[IN_HEAP] else np.inf

    def next_site(self) -> int:
        """The site whose time comes first; NONE if none is in the heap."""
        return int(self._q.heap[0]["site"]) if self._q.counts[IN_HEAP] else NONE

    def due(self, now: float, horizon: float, k: int) -> U32:
        """About `k` pages that are likely to be handed out until `now + horizon`, to read their URLs ahead."""
        pages = np.empty(max(0, k), np.uint32)
        return pages[: turns.due_soon(self._q, float(now + horizon), self._pages, pages)]

    @property
    def in_flight(self) -> int:
        return int(self._q.counts[IN_FLIGHT])

    @property
    def queued(self) -> int:
        """Sites in the heap, in line or ready; sites that have no pages in a new plan count until their turn."""
        return int(self._q.counts[[IN_HEAP, IN_LINE, IN_READY]].sum())

    def busy_sites(self, until: float) -> int:
        """Sites that have work until then: in flight, in line, ready, or due in the heap. Scans the whole heap."""
        q = self._q
        heap = int(np.count_nonzero(q.heap["time"][: q.counts[IN_HEAP]] <= until))
        return heap + int(q.counts[[IN_LINE, IN_FLIGHT, IN_READY]].sum())

    def left(self) -> int:
        """Pages of the plan that are not taken yet; some of them may no longer be requested."""
        return int(self._q.counts[LEFT])
