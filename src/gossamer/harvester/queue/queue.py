"""The site queue: which site may be asked now, and for which of its planned pages (thesis 7.2.2, figure 7.2; 002).

A plan gives every site a slice of pages, best first. A site is at one *place*:

    OUT ---enter---> HEAP ---its time has come, its address is free---> (READY) ---> FLIGHT
                     |  ^                                                              |
      address taken  v  | address free, and it is the first in line                    | done: back to HEAP at
                     LINE                                                              v   end + wait, or OUT
                                                                                      ...  without pages

`HEAP` is one binary heap of sites by (time, order of entry). An *address* is held by one site at a time: the site in
flight, the site between two requests of its turn, or the site that will be next once the address's time has come.
Others that come due meanwhile stand in line at the address, outside the heap, so a thousand sites behind one address
cost no more than one: a request takes two heap operations at most, O(log sites), amortised. Mercator (002) has a queue
for each *host* and a heap of hosts; it knows no addresses, and hosting companies put thousands of sites behind one.

Where there is a limit by registrable domain (PolyBot), a site needs its *domain* too, which is held in the same way,
and before the address: `holding` says why in this order.

A *turn* is up to `per_turn` requests over one connection, `pause` apart, the address held throughout. Clocks run from
the end of an answer. A turn that ends early (no page left, the site told to wait, a new address) ends like any other:
the site rests its wait, the address its `address_wait`, the domain its `domain_wait`, which also holds within a turn.

Invariants, each a property test of the same name in `tests/harvester/queue/test_queue.py`:

- never two requests in flight to a site
- never two requests in flight to an address
- never before the next time of a site: `end + wait` after a turn, `end + pause` within one, and any `not_before`
- never before the next time of an address: `end + address_wait` after a turn, and any `address_not_before`
- never two requests in flight to a domain
- never before the next time of a domain: `end + domain_wait`
- every planned page ends in exactly one outcome: handed out once, or found not to be askable any more
- no site starves: whoever may be asked is asked before any other site gets a second turn (WAITING)

The two levels of the thesis' figure 4.1 are an order of sites and one of pages within a site. Pages are in the order of
the plan, or of `heaps`, which are kept up to date page by page. Among the sites that may be asked now, `sites_by` says
who is first: who has waited longest (WAITING), whose next page is best (BEST), or who has most pages pending (LARGER).
For the latter two, sites whose time has come contend in READY; they hold no address there, and whoever is not taken
contends again. Then a site may starve while others are better, and only as long as all connections are busy with them:

- whoever may be asked is asked, as long as there is room
- of those who may be asked the best are

Refused: a heap of addresses with heaps of sites inside (two levels to re-key at each `not_before`); re-keying at once
(an entry that is popped before its site's time is pushed again at that time: the same cost, paid only if it matters).

The memory is in `places`, who holds what in `holding`, the turns in `turns`; all of these are compiled.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from gossamer.base.model import NONE
from gossamer.harvester.queue import turns
from gossamer.harvester.queue.holders import leave_domains, set_address
from gossamer.harvester.queue.memory import (
    BEST,
    F64,
    I64,
    IN_FLIGHT,
    IN_HEAP,
    IN_LINE,
    IN_READY,
    LARGER,
    LEFT,
    U8,
    U32,
    WAITING,
    Arrays,
    make_arrays,
)

_NO_REASONS: Final = np.zeros(0, np.uint8)
_NO_NUMBERS: Final = np.zeros(0, np.uint32)

SITES_BY: Final = {"waiting": WAITING, "best": BEST, "larger": LARGER}
"""Orders of sites."""


class Order(Protocol):
    """What is installed: `pages[offsets[i]:offsets[i + 1]]` are those of `sites[i]`, best first."""

    @property
    def sites(self) -> U32: ...
    @property
    def offsets(self) -> I64: ...
    @property
    def pages(self) -> U32: ...
    @property
    def ranks(self) -> U32:
        """The place of each of these pages in the whole plan: 0 is best."""


class SiteQueue:
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
        """`pending` is by site, and needed by LARGER. `pages`: heaps of so many pages instead of plans. `domain_wait`:
        0 is no limit by domain."""
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
        """From the next request on; NONE takes the site out at its next time."""
        set_address(self._q, site, address)

    def set_domain(self, site: int, domain: int) -> None:
        """Before its first address; one that was set is kept. Domains are numbered like sites, from 0."""
        if self._q.domain[site] == NONE:
            self._q.domain[site] = self._max_addresses + domain

    def set_wait(self, site: int, seconds: float, pause: float | None = None) -> None:
        """From the next answer on. A Crawl-delay holds between any two requests: give it as `pause` too."""
        self._q.sites["wait"][site] = seconds
        if pause is not None:
            self._q.sites["pause"][site] = pause

    def set_waits(self, sites: U32, seconds: F64, pauses: F64) -> None:
        """As `set_wait`, for many."""
        self._q.sites["wait"][sites] = seconds
        self._q.sites["pause"][sites] = pauses

    def set_errand(self, site: int, waits: bool) -> None:
        """Something other than its pages is to be asked of the site: a robots.txt that moved there, or a sitemap.

        While it waits, `ready` hands the site out for it: page NONE, `ERRAND`. `enter` lets the site in for it.
        """
        self._q.sites["errand"][site] = waits
        turns.touch_site(self._q, site, self._ranks, self._pending)

    def has_pages(self, site: int) -> bool:
        """Are there planned pages left of the site? Some may have become unaskable."""
        return bool(self._q.sites["begin"][site] < self._q.sites["stop"][site])

    def without_pages(self, sites: U32) -> U32:
        """Those of these sites that have no planned pages left."""
        found: U32 = sites[self._q.sites["begin"][sites] >= self._q.sites["stop"][sites]]
        return found

    def planned(self, site: int) -> U32:
        """Its pages that are left of the plan, best first. Any thread may ask: the answer was true a moment ago."""
        pages, begin, stop = self._pages, int(self._q.sites["begin"][site]), int(self._q.sites["stop"][site])
        return pages[begin:stop].copy()

    def time_of(self, site: int) -> float:
        """Monotonic: before which the site is not asked again, as far as is known by now."""
        return float(self._q.sites["next"][site])

    def nobody_before(self, time: float) -> None:
        """No site at all is asked before `time`, those that are not known yet included."""
        np.maximum(self._q.sites["next"], time, out=self._q.sites["next"])

    def not_before(self, site: int | U32, time: float | F64) -> None:
        """The site rests until `time` at least; a turn under way ends. Also with arrays, one time for each site."""
        np.maximum.at(self._q.sites["next"], site, time)

    def address_not_before(self, address: int | U32, time: float | F64) -> None:
        np.maximum.at(self._q.addresses["free"], address, time)

    def install(self, order: Order) -> None:
        """Replaces the order. Sites only in the old one have no more pages and leave when their time comes."""
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
        """What the order of sites goes by may have changed: those that contend are put in order anew."""
        if self._q.counts[IN_READY]:
            turns.touch(self._q, self._ranks, self._pending)

    def enter(self, sites: U32, now: float) -> None:
        """Sites with pages and an address that are outside come in; for others it does nothing."""
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
        """At most `k` sites that may be asked now, with the page of each and what to ask for (`Ask`).

        `now` may be a moment ahead: then `times_of` says before which time each must not be asked, and `begins` is
        the time on the wall by which all will have begun.
        They are in flight until `done` or `skip`. A page taken gets the flag ASSIGNED. Where the robots rules of its
        origin do not hold until then, they are asked for instead, and the page stays first in its slice. With a
        `period` a page that is done may be asked for again when so many seconds have passed since, and no `page_reason`
        speaks against it.
        """
        k = max(0, k)
        sites, pages, asks = np.empty(k, np.uint32), np.empty(k, np.uint32), np.empty(k, np.uint8)
        reason = _NO_REASONS if page_reason is None else page_reason
        n = turns.ready(
            self._q,
            float(now),
            float(wall),
            self._pages,
            self._ranks,
            self._pending,
            page_state,
            page_flags,
            page_due,
            page_origin,
            origin_valid,
            max(float(wall), float(begins)),
            float(period),
            reason,
            sites,
            pages,
            asks,
        )
        return sites[:n], pages[:n], asks[:n]

    def times_of(self, sites: U32) -> F64:
        """Of sites in flight: before which their requests must not begin."""
        q = self._q
        times: F64 = np.maximum(q.sites["next"][sites], q.addresses["free"][q.sites["held"][sites]])
        if len(q.domain):
            domains = q.domain[sites]
            limited = domains != NONE
            times[limited] = np.maximum(times[limited], q.addresses["free"][domains[limited]])
        return times

    def done(self, sites: U32, ends: F64, now: float) -> None:
        """Answers, or failures, that ended at `ends`."""
        self._check(turns.done(self._q, np.asarray(sites, np.uint32), np.asarray(ends, np.float64), float(now)), "done")

    def skip(self, sites: U32, now: float) -> None:
        """The requests were not made: as if never taken, clocks unchanged; each page is first in its slice again.

        ASSIGNED is the caller's to clear. While it is set, or if the page is excluded, the next `ready` passes it over.
        """
        self._skip(sites, now, now, "skip")

    def give_back(self, sites: U32, now: float) -> None:
        """As `skip`, and they keep their places: nobody who stood behind them comes before them."""
        self._skip(sites, now, -np.inf, "give_back")

    def _skip(self, sites: U32, now: float, least: float, name: str) -> None:
        if len(self._q.nodes):
            raise ValueError(f"{name}: pages cannot be given back to heaps, only to the slices of a plan")
        self._check(turns.skip(self._q, np.asarray(sites, np.uint32), float(now), float(least)), name)

    def _check(self, strangers: int, name: str) -> None:
        if strangers:
            raise ValueError(f"{name}: {strangers} sites have no request in flight")

    def next_time(self) -> float:
        """When to call `ready` again, if nothing comes back before; in the past when `k` was the limit."""
        if self._q.counts[IN_READY]:
            return -np.inf
        return float(self._q.heap[0]["time"]) if self._q.counts[IN_HEAP] else np.inf

    def due(self, now: float, horizon: float, k: int) -> U32:
        """About `k` pages that are likely to be handed out until `now + horizon`, for reading their URLs ahead."""
        pages = np.empty(max(0, k), np.uint32)
        return pages[: turns.due_soon(self._q, float(now + horizon), self._pages, pages)]

    @property
    def in_flight(self) -> int:
        return int(self._q.counts[IN_FLIGHT])

    @property
    def queued(self) -> int:
        """Sites in the heap, in line or ready; those that lost their pages to a new plan count until their turn."""
        return int(self._q.counts[[IN_HEAP, IN_LINE, IN_READY]].sum())

    def busy_sites(self, until: float) -> int:
        """Sites that have work until then: in flight, in line, ready, or in the heap before that. Looks at all."""
        q = self._q
        heap = int(np.count_nonzero(q.heap["time"][: q.counts[IN_HEAP]] <= until))
        return heap + int(q.counts[[IN_LINE, IN_FLIGHT, IN_READY]].sum())

    def left(self) -> int:
        """Pages of the plan not taken yet; some may have become unaskable."""
        return int(self._q.counts[LEFT])
