"""A crawl of a graph under a virtual clock, compiled: hand out, wait, absorb, as `crawl.Crawl` does.

All decisions are made by the crawl's own code: `learn` for what a page teaches, `policies` and `profit` for what pages
are worth, the kernels of the site queue for which site may be requested, `backoff` for sites that fail. This module
adds only their surroundings: an array from pages of the graph to known pages in place of the table, requests that take
virtual time, and no texts, robots.txt or journal. Pages are numbered in the order of discovery, so ties are resolved in
this order, as in a crawl.

Invariants, each a property test of the same name: every page that can be reached is fetched exactly once; never two
requests in flight to a site, never before its time; the same seed gives the same bytes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U8, U16, U32, U64
from gossamer.base.compiled import i64, inlined, njit
from gossamer.base.model import NONE, Outcome, PageFlag, Reason, State, Visits
from gossamer.base.outcomes import NO_OUTCOME
from gossamer.harvester.backoff import SiteClocks, _wait, clocks_after
from gossamer.harvester.queue.memory import IN_FLIGHT, IN_HEAP, IN_READY, LARGER, LEFT, NOBODY, OUT, Arrays, push
from gossamer.harvester.queue.page_heaps import insert, raise_key
from gossamer.harvester.queue.turns import done as queue_done
from gossamer.harvester.queue.turns import ready as queue_ready
from gossamer.harvester.queue.turns import touch_site
from gossamer.harvester.waits import Waits
from gossamer.laboratory.simulate.flow import NOW, OPEN, Flow, begin, move, next_event, take_ended
from gossamer.laboratory.simulate.servers import ServedWeb, fails, latency_of, speed_of
from gossamer.manager.learn import _learn, _plant
from gossamer.manager.plan import key_of
from gossamer.manager.policies import PageArrays
from gossamer.manager.profit import appraise, simple_score
from gossamer.manager.strategies import BREADTH_FIRST, COMPLETED, MERCATOR, MERIT, RANDOM, VALUE
from gossamer.manager.value import Terms

_PENDING: Final = int(State.PENDING)
_WAITING: Final = int(State.WAITING)
_EXCLUDED: Final = int(State.EXCLUDED)
_TOO_DEEP: Final = int(Reason.DEPTH)
_SEED: Final = int(PageFlag.SEED)
_ASSIGNED: Final = np.uint8(PageFlag.ASSIGNED)
_OK: Final = int(Outcome.OK)
_NOT_FOUND: Final = int(Outcome.NOT_FOUND)
_SILENT: Final = int(Outcome.CONNECT_FAILED)
_ONE: Final = i64(1)
_FIXED: Final = np.array([code in (BREADTH_FIRST, MERCATOR, MERIT, RANDOM) for code in range(MERCATOR + 1)])
"""By code of a strategy: whether links to a page leave its key unchanged."""

KNOWN, FETCHED, LINKS, SITES, REQUESTS, FAILED, LATER = 0, 1, 2, 3, 4, 5, 6
"""Indexes of `Discovered.counts`."""
RETRY: Final = 12 * 3600.0
TRIES: Final = 3
"""The defaults of `harvester.retry` and `harvester.tries`."""
_TRIES: Final = i64(TRIES)

ENDED, PLAN, STEP = 0, 1, 2
"""Why `advance` returned: no page is left, a plan is needed, `stop_at` pages were fetched."""


class Discovered(NamedTuple):
    """What the crawl has discovered. A page has one number in the graph and another as a known page."""

    number: U32
    """Page of the graph to known page, or NONE."""
    origin: U32
    """Known page to page of the graph."""
    sources: U32
    """Fetched pages in order, by their number as known pages. Their links are in `targets`, each up to its `end`."""
    ends: I64
    targets: U32
    times: F64
    """When each page was fetched."""
    active: U16
    """Requests open at that time."""
    later: U64
    """Heap of the pages to be tried again: when due, in whole seconds, and page."""
    counts: I64


class CrawlRules(NamedTuple):
    """The strategy and the limits of the crawl."""

    code: int
    terms: Terms
    given: F32
    """By page of the graph: its given merit. NaN: the merit of its parent, divided by the parent's out-degree."""
    pages_per_site: int
    depth: int
    connections: int
    sites_an_address: int
    wall: float
    """Wall time at the start."""


class CrawlColumns(NamedTuple):
    """The columns of the crawl, in the form that its kernels take."""

    learned: PageArrays
    totals: I64
    counts: I64
    valid: F64
    site_pages: U32
    clocks: SiteClocks
    waits: Waits


class Buffers(NamedTuple):
    """Reusable arrays, in the form that the crawl's kernels take."""

    visit: Visits
    kinds: U8
    site: U32
    end: F64
    sites: U32
    pages: U32
    asks: U8
    way: U8
    score: F32
    values: F64


class Simulation(NamedTuple):
    """The arrays on which the kernels work."""

    web: ServedWeb
    desk: CrawlColumns
    queue: Arrays
    flow: Flow
    found: Discovered
    buffers: Buffers


@inlined
def discover(
    web: ServedWeb, rules: CrawlRules, desk: CrawlColumns, q: Arrays, found: Discovered, page: int, source: int
) -> int:
    """Makes a page of the graph known, found on the known page `source` (NONE: a start page). Returns its number, or
    NONE if its site is full."""
    site = web.site[page]
    if rules.pages_per_site and desk.site_pages[site] >= rules.pages_per_site:
        return NONE
    number = found.counts[KNOWN]
    found.counts[KNOWN] += 1
    found.number[page], found.origin[number] = number, page
    columns = desk.learned
    inside = source != NONE and columns.origin[source] == site
    columns.origin[number] = site
    columns.depth[number] = min(columns.depth[source] + 1, 255) if inside else 0
    columns.flags[number] = _SEED if source == NONE else 0
    columns.outcome[number] = NO_OUTCOME
    columns.state[number] = _PENDING
    if rules.depth and columns.depth[number] > rules.depth:
        columns.state[number], columns.reason[number] = _EXCLUDED, _TOO_DEEP
    if desk.site_pages[site] == 0:
        q.sites[site].address = site // rules.sites_an_address
        found.counts[SITES] += 1
    desk.site_pages[site] += 1
    q.sites[site].wait = _wait(desk.waits, site)
    if len(rules.given):
        columns.merit[number] = rules.given[page]
        if np.isnan(rules.given[page]):
            columns.merit[number] = 1.0
            if source != NONE:
                at = found.origin[source]
                columns.merit[number] = columns.merit[source] / max(1, web.offsets[at + 1] - web.offsets[at])
    _plant(rules.code, columns, desk.totals, desk.counts, number, number + 1)
    return int(number)


@njit
def plant(web: ServedWeb, rules: CrawlRules, desk: CrawlColumns, q: Arrays, found: Discovered, pages: U32) -> None:
    """Makes the start pages known."""
    for page in pages:
        if found.number[page] == NONE:
            discover(web, rules, desk, q, found, page, NONE)


@inlined
def rate(rules: CrawlRules, desk: CrawlColumns, scratch: Buffers, page: int) -> np.uint64:
    """The sort key of a page."""
    if rules.code == VALUE:
        appraise(desk.learned, rules.terms, i64(page), _ONE, scratch.way, scratch.score, scratch.values)
        return key_of(scratch.score[0], page)
    of = desk.learned
    merit = of.completed[page] if rules.code == COMPLETED else of.merit[page]
    return key_of(simple_score(rules.code, page, of.depth[page], of.cash[page], merit, of.ranking), page)


@inlined
def place(
    rules: CrawlRules, desk: CrawlColumns, q: Arrays, scratch: Buffers, page: int, known: bool, now: float
) -> bool:
    """Puts a page into the heap of its site; if it is `known` and already there, raises its key. Returns whether it is
    the best page of its site now."""
    columns = desk.learned
    if columns.state[page] != _PENDING or columns.flags[page] & _ASSIGNED:
        return False
    site, key = columns.origin[page], rate(rules, desk, scratch, page)
    if not known:
        insert(q, site, page, key)
        if q.sites[site].place == OUT:
            push(q, site, max(q.sites[site].next, now))
    elif key > q.nodes[page].key:
        raise_key(q, site, page, key)
    else:
        return False
    return bool(q.sites[site].begin == page)


@inlined
def _begin(web: ServedWeb, desk: CrawlColumns, flow: Flow, found: Discovered, page: int, site: int) -> None:
    at, tries, now = found.origin[page], desk.learned.tries[page], flow.clocks[NOW]
    found.counts[REQUESTS] += 1
    if web.dead[site]:
        begin(flow, page, site, web.connect_timeout, np.inf, 0.0)
    else:
        begin(flow, page, site, latency_of(web, at, tries, now), speed_of(web, at, tries, now), float(web.size[at]))


@inlined
def _absorb(
    web: ServedWeb,
    rules: CrawlRules,
    desk: CrawlColumns,
    q: Arrays,
    flow: Flow,
    found: Discovered,
    scratch: Buffers,
    ranks: U32,
    page: int,
    site: int,
) -> None:
    now, heaps = flow.clocks[NOW], len(q.nodes) > 0
    at = found.origin[page]
    first, outcome = found.counts[LINKS], _OK
    if web.dead[site]:
        outcome = _SILENT
    elif fails(web, at, desk.learned.tries[page]):
        outcome = _NOT_FOUND
    before, degree = found.counts[KNOWN], 0
    if outcome == _OK:
        degree = web.offsets[at + 1] - web.offsets[at]
        for i in range(web.offsets[at], web.offsets[at + 1]):
            target: int = found.number[web.targets[i]]
            if target == NONE:
                target = discover(web, rules, desk, q, found, web.targets[i], page)
            if target != NONE:
                found.targets[found.counts[LINKS]] = target
                found.counts[LINKS] += 1
    links = found.targets[first : found.counts[LINKS]]
    visit, depth = scratch.visit[0], rules.depth if rules.depth else 255
    visit.page, visit.outcome, visit.time = page, outcome, rules.wall + now
    visit.out_degree, visit.links = degree, len(links)
    kinds = scratch.kinds[: len(links)]
    _learn(rules.code, desk.learned, desk.totals, desk.counts, scratch.visit, links, kinds, depth, depth, RETRY, _TRIES)
    if outcome == _OK:
        fetched = found.counts[FETCHED]
        found.sources[fetched], found.ends[fetched] = page, found.counts[LINKS]
        found.times[fetched], found.active[fetched] = now, min(flow.counts[OPEN] + 1, 65535)
        found.counts[FETCHED] += 1
    else:
        found.counts[FAILED] += 1
    if heaps:
        fixed = rules.depth == 0 and _FIXED[rules.code]
        for target in links:
            if (target < before and fixed) or desk.learned.state[target] != _PENDING:
                continue  # true for most links, which need no further work
            if place(rules, desk, q, scratch, target, target < before and _is_in(desk, q, target), now):
                touch_site(q, desk.learned.origin[target], ranks, desk.learned.pending)
        if desk.learned.state[page] == _WAITING:
            _put_off(found, desk.learned.due[page], page)
    if q.counts[IN_READY] and q.sites_by == LARGER:
        last = site  # it is in flight, so it does not compete
        for target in links:
            other = desk.learned.origin[target]
            if other != last:
                touch_site(q, other, ranks, desk.learned.pending)
                last = other
    _rest(rules, desk, q, scratch, site, outcome, now)


@inlined
def _is_in(desk: CrawlColumns, q: Arrays, page: int) -> bool:
    """Whether a page that was known before is in the heap of its site. It is not if it was reopened just now."""
    node = q.nodes[page]
    root = q.sites[desk.learned.origin[page]].begin
    return bool(node.before != NOBODY or root == page)


@inlined
def _rest(
    rules: CrawlRules, desk: CrawlColumns, q: Arrays, scratch: Buffers, site: int, outcome: int, now: float
) -> None:
    """Sets the clock of the site and its place in the queue."""
    scratch.site[0], scratch.end[0] = site, now
    if outcome == _SILENT:
        scratch.visit[0].site = site
        clocks_after(scratch.visit, desk.waits, desk.clocks, RETRY, 0.0)
        q.sites[site].next = max(q.sites[site].next, desk.clocks.next[site] - rules.wall)
    queue_done(q, scratch.site, scratch.end, now)


@njit
def _put_off(found: Discovered, due: int, page: int) -> None:
    """Puts off a page until `due`, in whole seconds of wall time."""
    heap, i = found.later, found.counts[LATER]
    found.counts[LATER] += 1
    key = np.uint64(due) << np.uint64(32) | np.uint64(page)
    while i > 0 and heap[(i - 1) // 2] > key:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = key


@njit
def _take_due(
    rules: CrawlRules, desk: CrawlColumns, q: Arrays, found: Discovered, scratch: Buffers, ranks: U32, now: float
) -> None:
    """Puts the pages that are due back into the heaps."""
    heap = found.later
    while found.counts[LATER] and np.int64(heap[0] >> np.uint64(32)) <= rules.wall + now:
        page = int(heap[0] & np.uint64(0xFFFFFFFF))
        found.counts[LATER] -= 1
        size, key, i = found.counts[LATER], heap[found.counts[LATER]], 0
        while 2 * i + 1 < size:
            child = 2 * i + 1
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= key:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = key
        site = desk.learned.origin[page]
        insert(q, site, page, rate(rules, desk, scratch, page))
        if q.sites[site].place == OUT:
            push(q, site, max(q.sites[site].next, now))
        touch_site(q, site, ranks, desk.learned.pending)


@njit
def advance(own: Simulation, rules: CrawlRules, planned: U32, ranks: U32, stop_at: int, plan_after: int) -> int:
    """Crawls until `stop_at` pages are fetched, no page is left, or a plan is needed. A plan is needed when the sites
    left in the present plan cannot keep the connections busy, but not before `plan_after` pages are fetched, unless
    nothing can be requested."""
    web, desk, q, flow, found, scratch = own
    heaps, columns = len(q.nodes) > 0, desk.learned
    while found.counts[FETCHED] < stop_at:
        now = flow.clocks[NOW]
        if heaps:
            _take_due(rules, desk, q, found, scratch, ranks, now)
        room = rules.connections - flow.counts[OPEN]
        if room > 0:
            n = queue_ready(
                q,
                now,
                rules.wall + now,
                planned,
                ranks,
                columns.pending,
                columns.state,
                columns.flags,
                columns.due,
                columns.origin,
                desk.valid,
                rules.wall + now,
                0.0,
                columns.reason,
                scratch.sites[:room],
                scratch.pages,
                scratch.asks,
            )
            for i in range(n):
                _begin(web, desk, flow, found, scratch.pages[i], scratch.sites[i])
            room -= n
        busy = q.counts[IN_HEAP] + q.counts[IN_READY] + q.counts[IN_FLIGHT]
        wanted = min(rules.connections, found.counts[SITES])
        if not heaps and found.counts[FETCHED] >= plan_after and (q.counts[LEFT] == 0 or busy < wanted):
            return PLAN
        time = next_event(flow)
        if room > 0 and q.counts[IN_HEAP] > 0:
            time = min(time, max(now, q.heap[0].time))
        if heaps and found.counts[LATER]:
            time = min(time, max(now, np.int64(found.later[0] >> np.uint64(32)) - rules.wall))
        if time == np.inf:
            return ENDED if heaps else PLAN
        move(flow, time)
        slot = take_ended(flow)
        while slot >= 0:
            _absorb(
                web, rules, desk, q, flow, found, scratch, ranks, flow.requests[slot].page, flow.requests[slot].site
            )
            slot = take_ended(flow)
    return STEP


@njit
def rebuild(rules: CrawlRules, desk: CrawlColumns, q: Arrays, found: Discovered, scratch: Buffers, now: float) -> None:
    """Computes the keys of all pages again."""
    for site in range(len(desk.site_pages)):
        q.sites[site].begin = NOBODY
    q.counts[LEFT] = 0
    for page in range(found.counts[KNOWN]):
        place(rules, desk, q, scratch, page, False, now)
