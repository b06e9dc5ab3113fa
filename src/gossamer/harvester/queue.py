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

A *turn* is up to `per_turn` requests over one connection, `pause` apart, the address held throughout. Clocks run from
the end of an answer. A turn that ends early (no page left, the site told to wait, a new address) ends like any other:
the site rests its wait, the address its `address_wait`.

Invariants, each a property test of the same name in `tests/test_queue.py`:

- never two requests in flight to a site
- never two requests in flight to an address
- never before the next time of a site: `end + wait` after a turn, `end + pause` within one, and any `not_before`
- never before the next time of an address: `end + address_wait` after a turn, and any `address_not_before`
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
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from gossamer.compiled import inlined, njit
from gossamer.harvester.best import contend, rekey, reorder, take_best
from gossamer.harvester.heaps import pop_page
from gossamer.harvester.places import (
    BEST,
    ENTRIES,
    F64,
    FLIGHT,
    HEAP,
    I64,
    IN_FLIGHT,
    IN_HEAP,
    IN_LINE,
    IN_READY,
    LARGER,
    LEFT,
    LINE,
    NOBODY,
    OUT,
    READY,
    U8,
    U32,
    WAITING,
    Arrays,
    advance,
    has_work,
    hold,
    make_arrays,
    pop,
    push,
    stand_in_line,
    step_out_of_line,
)  # fmt: skip
from gossamer.model import Ask, PageFlag, State

_PENDING: Final = int(State.PENDING)
_WAITING: Final = int(State.WAITING)
_DONE: Final = int(State.DONE)
_NO_REASONS: Final = np.zeros(0, np.uint8)
_ASSIGNED: Final = np.uint8(PageFlag.ASSIGNED)
_PAGE: Final = np.uint8(Ask.PAGE)
_ROBOTS: Final = np.uint8(Ask.ROBOTS)
_FIRST: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW: Final = np.uint64(0xFFFFFFFF)
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
        self, max_sites: int, max_addresses: int, *, wait: float = 15.0, address_wait: float = 1.0,
        per_turn: int = 1, pause: float = 1.0, sites_by: int = WAITING, pending: U32 | None = None, pages: int = 0,
    ) -> None:  # fmt: skip
        """`pending` is by site, and needed by LARGER. `pages`: heaps of so many pages instead of plans."""
        self._q = make_arrays(max_sites, max_addresses, wait, address_wait, per_turn, pause, sites_by, pages)
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
        _set_address(self._q, site, address)

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
        """Something other than its pages is to be asked of the site (a robots.txt that moved there).

        While it waits, `ready` hands the site out for it: page NONE, `Ask.ROBOTS`. `enter` lets the site in for it.
        """
        self._q.sites["errand"][site] = waits
        touch_site(self._q, site, self._ranks, self._pending)

    def has_pages(self, site: int) -> bool:
        """Are there planned pages left of the site? Some may have become unaskable."""
        return bool(self._q.sites["begin"][site] < self._q.sites["stop"][site])

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
        q, sites = self._q, order.sites
        for name in ("begin", "stop", "taken"):
            q.sites[name][self._sites] = 0
        q.sites["begin"][sites], q.sites["stop"][sites] = order.offsets[:-1], order.offsets[1:]
        self._sites = np.array(sites, np.uint32)
        self._pages, self._ranks = np.array(order.pages, np.uint32), np.array(order.ranks, np.uint32)
        q.counts[LEFT] = len(self._pages)
        self.touch()

    def touch(self) -> None:
        """What the order of sites goes by may have changed: those that contend are put in order anew."""
        if self._q.counts[IN_READY]:
            _touch(self._q, self._ranks, self._pending)

    def enter(self, sites: U32, now: float) -> None:
        """Sites with pages and an address that are outside come in; for others it does nothing."""
        _enter(self._q, np.asarray(sites, np.uint32), float(now))

    def ready(
        self, now: float, k: int, page_state: U8, page_flags: U8, page_due: U32, page_origin: U32,
        origin_valid: F64, wall: float, period: float = 0.0, page_reason: U8 | None = None,
    ) -> tuple[U32, U32, U8]:  # fmt: skip
        """At most `k` sites that may be asked now, with the page of each and what to ask for (`Ask`).

        They are in flight until `done` or `skip`. A page taken gets the flag ASSIGNED. Where the robots rules of its
        origin do not hold at `wall`, they are asked for instead, and the page stays first in its slice. With a `period`
        a page that is done may be asked for again when so many seconds have passed since, and no `page_reason` speaks
        against it.
        """
        k = max(0, k)
        sites, pages, asks = np.empty(k, np.uint32), np.empty(k, np.uint32), np.empty(k, np.uint8)
        reason = _NO_REASONS if page_reason is None else page_reason
        n = _ready(
            self._q, float(now), float(wall), self._pages, self._ranks, self._pending, page_state, page_flags, page_due,
            page_origin, origin_valid, float(period), reason, sites, pages, asks,
        )  # fmt: skip
        return sites[:n], pages[:n], asks[:n]

    def done(self, sites: U32, ends: F64, now: float) -> None:
        """Answers, or failures, that ended at `ends`."""
        self._check(_done(self._q, np.asarray(sites, np.uint32), np.asarray(ends, np.float64), float(now)), "done")

    def skip(self, sites: U32, now: float) -> None:
        """The requests were not made: as if never taken, clocks unchanged; each page is first in its slice again.

        ASSIGNED is the caller's to clear. While it is set, or if the page is excluded, the next `ready` passes it over.
        """
        self._check(_skip(self._q, np.asarray(sites, np.uint32), float(now)), "skip")

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
        return pages[: _due(self._q, float(now + horizon), self._pages, pages)]

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


@njit
def _let_go(q: Arrays, site: int, now: float) -> None:
    """Ends the site's turn, if it is in one, and gives the address that it holds, if any, to the first in line."""
    s = q.sites[site]
    if s.held == NOBODY:
        return
    if s.turn > 0:
        _rest(q, site)
    address = s.held
    a = q.addresses[address]
    a.holder, s.held = NOBODY, NOBODY
    while a.first != NOBODY and a.holder == NOBODY:
        heir = a.first
        step_out_of_line(q, heir, address)
        if not has_work(q, heir):
            continue
        if q.sites[heir].next <= max(now, a.free):
            hold(q, heir, address)
        push(q, heir, max(q.sites[heir].next, a.free))


@njit
def _rest(q: Arrays, site: int) -> None:
    s = q.sites[site]
    a = q.addresses[s.held]
    s.turn = 0
    s.next = max(s.next, s.end + s.wait)
    a.free = max(a.free, s.end + q.address_wait)


@njit
def _set_address(q: Arrays, site: int, address: int) -> None:
    """A site that holds its old address lets it go when its answer comes, or when it is popped: at its own time now."""
    s = q.sites[site]
    if s.address == address:
        return
    if s.place == LINE:
        step_out_of_line(q, site, s.address)
        push(q, site, s.next)
    elif s.place == HEAP and s.held != NOBODY:
        advance(q, site, s.next)
    s.address = address


@njit
def _enter(q: Arrays, sites: U32, now: float) -> None:
    for site in sites:
        s = q.sites[site]
        if s.place == OUT and has_work(q, site) and s.address != NOBODY:
            push(q, site, max(s.next, now))


@njit
def _head(
    q: Arrays, site: int, planned: U32, state: U8, flags: U8, due: U32, wall: float, period: float, reason: U8
) -> int:
    """The first page of the site that may still be asked for; those before it are dropped."""
    s = q.sites[site]
    while s.begin < s.stop:
        page: int = planned[s.begin] if len(q.nodes) == 0 else s.begin
        waits_no_more = state[page] == _WAITING and due[page] <= wall
        again = period > 0 and state[page] == _DONE and due[page] + period <= wall and reason[page] == 0
        if flags[page] & _ASSIGNED == 0 and (state[page] == _PENDING or waits_no_more or again):
            return page
        _drop(q, site)
    return NOBODY


@njit
def _drop(q: Arrays, site: int) -> None:
    """The first page of the site leaves the order."""
    if len(q.nodes):
        pop_page(q, site)
    else:
        q.sites[site].begin += 1
        q.counts[LEFT] -= 1


@njit
def _ready(
    q: Arrays, now: float, wall: float, planned: U32, ranks: U32, pending: U32, state: U8, flags: U8, due_: U32,
    origin: U32, valid: F64, period: float, reason: U8, sites: U32, pages: U32, asks: U8,
) -> int:  # fmt: skip
    n, first_come = 0, q.sites_by == WAITING
    while n < len(sites):
        due = q.counts[IN_HEAP] > 0 and q.heap[0].time <= now
        if not due and q.counts[IN_READY] == 0:
            break
        site = pop(q) if due else take_best(q)
        page = NOBODY if q.sites[site].errand else _head(q, site, planned, state, flags, due_, wall, period, reason)
        if not _may_be_asked(q, site, page, now):
            continue
        if due and not first_come:  # all who are due contend before any is asked
            contend(q, site, _key(q, site, page, ranks, pending))
        else:
            sites[n], pages[n], asks[n] = site, page, _take(q, site, page, flags, origin, valid, wall)
            n += 1
    return n


@njit
def _may_be_asked(q: Arrays, site: int, page: int, now: float) -> bool:
    """If not, the site, which was taken from its place, is put where it belongs."""
    s = q.sites[site]
    if (page == NOBODY and s.errand == 0) or s.address == NOBODY:
        _let_go(q, site, now)
        return False
    holder, free = q.addresses[s.address].holder, q.addresses[s.address].free
    if s.next > now or (s.held != NOBODY and s.held != s.address):
        _let_go(q, site, now)
        push(q, site, s.next)
    elif holder != NOBODY and holder != site:
        stand_in_line(q, site, s.address)
    elif free > now:
        hold(q, site, s.address)
        push(q, site, free)
    else:
        return True
    return False


@njit
def _key(q: Arrays, site: int, page: int, ranks: U32, pending: U32) -> np.uint64:
    """Among sites that may be asked now. A turn goes on, and errands are run, before anything else."""
    s = q.sites[site]
    if page == NOBODY or s.turn > 0:
        return _FIRST
    if q.sites_by == LARGER:
        q.counts[ENTRIES] += 1
        return np.uint64(pending[site]) << np.uint64(32) | (_LOW - (np.uint64(q.counts[ENTRIES]) & _LOW))
    return q.nodes[page].key if len(q.nodes) else _LOW - np.uint64(ranks[s.begin])


@njit
def _touch(q: Arrays, ranks: U32, pending: U32) -> None:
    for i in range(q.counts[IN_READY]):
        q.ready[i].key = _key_now(q, q.ready[i].site, q.ready[i].key, ranks, pending)
    reorder(q)


@inlined
def touch_site(q: Arrays, site: int, ranks: U32, pending: U32) -> None:
    """As `SiteQueue.touch`, for one site."""
    if q.sites[site].place == READY:
        rekey(q, site, _key_now(q, site, q.ready[q.ready[site].spot].key, ranks, pending))


@inlined
def _key_now(q: Arrays, site: int, key: np.uint64, ranks: U32, pending: U32) -> np.uint64:
    """Of a site that contends under `key`: who has waited longest among equals stays so."""
    s = q.sites[site]
    if s.errand or s.turn > 0:
        return _FIRST
    if q.sites_by == LARGER:
        return np.uint64(pending[site]) << np.uint64(32) | (key & _LOW)
    if s.begin >= s.stop:
        return np.uint64(0)
    return q.nodes[s.begin].key if len(q.nodes) else _LOW - np.uint64(ranks[s.begin])


@njit
def _take(q: Arrays, site: int, page: int, flags: U8, origin: U32, valid: F64, wall: float) -> np.uint8:
    s = q.sites[site]
    hold(q, site, s.address)
    rules_hold = False if page == NOBODY else valid[origin[page]] > wall
    s.place = FLIGHT
    q.counts[IN_FLIGHT] += 1
    s.turn = s.turn - 1 if s.turn > 0 else q.per_turn - 1
    s.taken = rules_hold
    if not rules_hold:
        return _ROBOTS
    _drop(q, site)
    flags[page] |= _ASSIGNED
    return _PAGE


@njit
def _done(q: Arrays, sites: U32, ends: F64, now: float) -> int:
    strangers = 0
    for i in range(len(sites)):
        site = sites[i]
        s = q.sites[site]
        if s.place != FLIGHT:
            strangers += 1
            continue
        s.place = OUT
        q.counts[IN_FLIGHT] -= 1
        s.end = ends[i]
        goes_on = has_work(q, site) and s.address != NOBODY
        if s.turn > 0 and goes_on and s.address == s.held and s.next <= s.end + s.pause:
            s.next = s.end + s.pause
        else:
            _rest(q, site)
            _let_go(q, site, now)
        if goes_on:
            push(q, site, s.next)
    return strangers


@njit
def _skip(q: Arrays, sites: U32, now: float) -> int:
    """The site keeps its address: it was the first in line."""
    strangers = 0
    for site in sites:
        s = q.sites[site]
        if s.place != FLIGHT:
            strangers += 1
            continue
        s.place = OUT
        q.counts[IN_FLIGHT] -= 1
        s.turn = 0 if s.turn == q.per_turn - 1 else s.turn + 1
        if s.taken:
            s.begin -= 1
            q.counts[LEFT] += 1
        goes_on = has_work(q, site)
        if not goes_on or s.next > now:
            _let_go(q, site, now)
        if goes_on:
            push(q, site, max(s.next, now))
    return strangers


@njit
def _due(q: Arrays, until: float, planned: U32, pages: U32) -> int:
    """The heap level by level, without what lies under an entry that is too late; a turn's pages for each site."""
    n, k = 0, len(pages)
    nodes = np.empty(2 * k + 3, np.int64)
    nodes[0], head, tail = 0, 0, 1
    while head < tail and n < k:
        node = nodes[head]
        head += 1
        if node >= q.counts[IN_HEAP] or q.heap[node].time > until:
            continue
        if tail + 2 <= len(nodes):
            nodes[tail], nodes[tail + 1] = 2 * node + 1, 2 * node + 2
            tail += 2
        s = q.sites[q.heap[node].site]
        n = _ahead(q, s.begin, s.stop, planned, pages, n)
    for i in range(min(k, q.counts[IN_READY])):
        s = q.sites[q.ready[i].site]
        n = _ahead(q, s.begin, s.stop, planned, pages, n)
    return n


@njit
def _ahead(q: Arrays, begin: int, stop: int, planned: U32, pages: U32, n: int) -> int:
    for i in range(begin, min(stop, begin + q.per_turn)):
        if n < len(pages):
            pages[n] = planned[i]
            n += 1
    return n
