"""The turns of the site queue: sites enter, are taken when they may be requested, and come back with their answers."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base import askable
from gossamer.base.arrays import F64, U8, U32
from gossamer.base.compiled import allocating, i64, inlined, njit
from gossamer.base.model import ERRAND, Ask, PageFlag
from gossamer.harvester.queue.holders import hold, let_go, may_be_asked, rest
from gossamer.harvester.queue.memory import (
    ENTRIES,
    FLIGHT,
    IN_FLIGHT,
    IN_HEAP,
    IN_READY,
    LARGER,
    LEFT,
    NOBODY,
    OUT,
    READY,
    WAITING,
    ZERO,
    Arrays,
    contend,
    has_work,
    pop,
    push,
    rekey,
    reorder,
    take_best,
)
from gossamer.harvester.queue.page_heaps import pop_page

_ASSIGNED: Final = np.uint8(PageFlag.ASSIGNED)
_PAGE: Final = np.uint8(Ask.PAGE)
_ROBOTS: Final = np.uint8(Ask.ROBOTS)
_ERRAND: Final = np.uint8(ERRAND)
_FIRST: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW: Final = np.uint64(0xFFFFFFFF)

is_new = inlined(askable.is_new)
is_to_be_retried = inlined(askable.is_to_be_retried)
is_due_again = inlined(askable.is_due_again)


@njit
def enter(q: Arrays, sites: U32, now: float) -> None:
    """As `SiteQueue.enter`."""
    for number in sites:
        site = i64(number)
        s = q.sites[site]
        if s.place == OUT and has_work(q, site) and s.address != NOBODY:
            push(q, site, max(s.next, now))


@njit
def _head(
    q: Arrays, site: int, planned: U32, state: U8, flags: U8, due: U32, wall: float, period: float, reason: U8
) -> int:
    """The first page of the site that may still be requested; the pages before it are dropped."""
    s = q.sites[site]
    while s.begin < s.stop:
        page: int = planned[s.begin] if len(q.nodes) == 0 else s.begin
        if is_new(state[page], flags[page]) or is_to_be_retried(state[page], flags[page], due[page], wall):
            return page
        if period > 0 and is_due_again(state[page], flags[page], due[page], wall - period, reason[page]):
            return page
        _drop(q, site)
    return NOBODY


@njit
def _drop(q: Arrays, site: int) -> None:
    """Removes the first page of the site from the order."""
    if len(q.nodes):
        pop_page(q, site)
    else:
        q.sites[site].begin += 1
        q.counts[LEFT] -= 1


@njit
def ready(
    q: Arrays,
    now: float,
    wall: float,
    planned: U32,
    ranks: U32,
    pending: U32,
    state: U8,
    flags: U8,
    due_: U32,
    origin: U32,
    valid: F64,
    begins: float,
    period: float,
    reason: U8,
    sites: U32,
    pages: U32,
    asks: U8,
) -> int:
    """As `SiteQueue.ready`: fills `sites`, `pages` and `asks`; returns how many."""
    n, first_come = 0, q.sites_by == WAITING
    while n < len(sites):
        due = q.counts[IN_HEAP] > 0 and q.heap[0].time <= now
        if not due and q.counts[IN_READY] == 0:
            break
        site = pop(q) if due else take_best(q)
        page = NOBODY if q.sites[site].errand else _head(q, site, planned, state, flags, due_, wall, period, reason)
        if not may_be_asked(q, site, page, now):
            continue
        if not first_come and (due or _is_outdone(q, site, page, ranks, pending)):
            # All due sites contend before any of them is requested.
            contend(q, site, _key(q, site, page, ranks, pending))
        else:
            sites[n], pages[n], asks[n] = site, page, _take(q, site, page, flags, origin, valid, begins)
            n += 1
    return n


@njit
def _key(q: Arrays, site: int, page: int, ranks: U32, pending: U32) -> np.uint64:
    """The key of a site among sites that may be requested now. Sites in a turn and sites with an errand come first."""
    s = q.sites[site]
    if page == NOBODY or s.turn > 0:
        return _FIRST
    if q.sites_by == LARGER:
        q.counts[ENTRIES] += 1
        return np.uint64(pending[site]) << np.uint64(32) | (_LOW - (np.uint64(q.counts[ENTRIES]) & _LOW))
    return q.nodes[page].key if len(q.nodes) else _LOW - np.uint64(ranks[s.begin])


@njit
def _is_outdone(q: Arrays, site: int, page: int, ranks: U32, pending: U32) -> bool:
    """Whether a site that was taken as the best contended for a page that may no longer be requested, and has a worse
    one now than another site. LARGER orders by numbers of pages, whichever they are."""
    if q.sites_by == LARGER or q.counts[IN_READY] == 0:
        return False
    outdone: bool = q.ready[0].key > _key(q, site, page, ranks, pending)
    return outdone


@njit
def touch(q: Arrays, ranks: U32, pending: U32) -> None:
    """As `SiteQueue.touch`."""
    for i in range(q.counts[IN_READY]):
        q.ready[i].key = _key_now(q, q.ready[i].site, q.ready[i].key, ranks, pending)
    reorder(q)


@inlined
def touch_site(q: Arrays, site: int, ranks: U32, pending: U32) -> None:
    """As `SiteQueue.touch`, for one site."""
    if q.sites[site].place == READY:
        rekey(q, i64(site), _key_now(q, site, q.ready[q.ready[site].spot].key, ranks, pending))


@inlined
def _key_now(q: Arrays, site: int, key: np.uint64, ranks: U32, pending: U32) -> np.uint64:
    """The new key of a site that contends under `key`; the order of waiting among equal sites stays."""
    s = q.sites[site]
    if s.errand or s.turn > 0:
        return _FIRST
    if q.sites_by == LARGER:
        return np.uint64(pending[site]) << np.uint64(32) | (key & _LOW)
    if s.begin >= s.stop:
        return np.uint64(0)
    return q.nodes[s.begin].key if len(q.nodes) else _LOW - np.uint64(ranks[s.begin])


@njit
def _take(q: Arrays, site: int, page: int, flags: U8, origin: U32, valid: F64, begins: float) -> np.uint8:
    """Puts the site into flight; returns what to request."""
    s = q.sites[site]
    hold(q, site)
    rules_hold = False if page == NOBODY else valid[origin[page]] > begins
    s.place = FLIGHT
    q.counts[IN_FLIGHT] += 1
    s.turn = s.turn - 1 if s.turn > 0 else q.per_turn - 1
    s.taken = rules_hold
    if page == NOBODY:
        return _ERRAND
    if not rules_hold:
        return _ROBOTS
    _drop(q, site)
    flags[page] |= _ASSIGNED
    return _PAGE


@inlined
def _land(q: Arrays, site: int) -> bool:
    """Takes a site out of flight; False if it has no request in flight."""
    s = q.sites[site]
    flew: bool = s.place == FLIGHT
    if flew:
        s.place = OUT
        q.counts[IN_FLIGHT] -= 1
    return flew


@njit
def done(q: Arrays, sites: U32, ends: F64, now: float) -> int:
    """As `SiteQueue.done`; returns the number of sites that have no request in flight."""
    strangers = 0
    for i in range(len(sites)):
        site = i64(sites[i])
        s = q.sites[site]
        if not _land(q, site):
            strangers += 1
            continue
        s.end = ends[i]
        goes_on, pause = has_work(q, site) and s.address != NOBODY, max(s.pause, q.domain_wait)
        if s.turn > 0 and goes_on and s.address == s.held and s.next <= s.end + pause:
            s.next = s.end + pause
        else:
            rest(q, site)
            let_go(q, site, now)
        if goes_on:
            push(q, site, s.next)
    return strangers


@njit
def skip(q: Arrays, sites: U32, now: float, least: float) -> int:
    """As `SiteQueue.skip`; returns the number of sites that have no request in flight.

    The site keeps what it holds: it was the first in line. Not for heaps of pages: the page would be lost. The site is
    in the heap again at `least`, or at its own time if that is later.
    """
    strangers = 0
    for number in sites:
        site = i64(number)
        s = q.sites[site]
        if not _land(q, site):
            strangers += 1
            continue
        s.turn = 0 if s.turn == q.per_turn - 1 else s.turn + 1
        if s.taken:
            s.begin -= 1
            q.counts[LEFT] += 1
        goes_on = has_work(q, site)
        if not goes_on or s.next > now:
            let_go(q, site, now)
        if goes_on:
            push(q, site, max(s.next, least))
    return strangers


@allocating
def due_soon(q: Arrays, until: float, planned: U32, pages: U32) -> int:
    """Fills `pages` with the pages of one turn of each site due until then; returns how many.

    Goes through the heap level by level, and skips what lies below an entry that is too late.
    """
    n, k = ZERO, len(pages)
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
