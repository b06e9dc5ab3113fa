"""Holders of addresses and domains: how the sites of the queue acquire them and pass them on.

One site at a time holds an address. With a limit by domain, one site at a time also holds a registrable domain: a
domain works like an address, with a time before which it must not be requested, a holder and a waiting line. A site
acquires its domain first and its address second; it may hold its domain while it waits in line at its address, never
the other way round. So a holder that others wait for waits, if at all, only for a site that does not wait in turn: no
deadlock. Lines are first come, first served, and the first in line gets what it waits for: no site starves.

Refused: acquiring both at once or none. If a domain and an address both have lines, the first in one line may find the
other taken for ever. The price is that a domain may be idle while its holder waits in line at an address; the other
sites of the domain mostly have the same address.
"""

from __future__ import annotations

from gossamer.base.arrays import U32
from gossamer.base.compiled import i64, njit
from gossamer.harvester.queue.memory import (
    HEAP,
    IN_HEAP,
    LINE,
    NOBODY,
    Arrays,
    advance,
    has_work,
    push,
    rise,
    stand_in_line,
    step_out_of_line,
)


@njit
def hold(q: Arrays, site: int) -> None:
    """The site holds its address and its domain."""
    s = q.sites[site]
    q.addresses[s.address].holder = site
    s.held = s.address
    if len(q.domain):
        _hold_domain(q, site)


@njit
def _hold_domain(q: Arrays, site: int) -> None:
    if q.domain[site] != NOBODY:
        q.addresses[q.domain[site]].holder = site


@njit
def let_go(q: Arrays, site: int, now: float) -> None:
    """Ends the turn of the site, if it is in one, and passes its address and domain, if it holds them, to the first in
    line."""
    s = q.sites[site]
    if s.held != NOBODY:
        if s.turn > 0:
            rest(q, site)
        address = s.held
        q.addresses[address].holder, s.held = NOBODY, NOBODY
        _pass_on(q, address, now)
    if len(q.domain):
        _leave_domain(q, site, now)


@njit
def _pass_on(q: Arrays, address: int, now: float) -> None:
    """Gives the address to the first in line. A site whose own time is later goes to the heap and passes its domain
    on."""
    a = q.addresses[address]
    while a.first != NOBODY and a.holder == NOBODY:
        heir = i64(a.first)
        step_out_of_line(q, heir, address)
        if has_work(q, heir) and q.sites[heir].next <= max(now, a.free):
            a.holder, q.sites[heir].held = heir, address
        elif len(q.domain):
            _leave_domain(q, heir, now)
        if has_work(q, heir):
            push(q, heir, max(q.sites[heir].next, a.free))


@njit
def _leave_domain(q: Arrays, site: int, now: float) -> None:
    """Passes the domain to the first in line, if the site holds it."""
    if not _holds_domain(q, site):
        return
    domain = q.domain[site]
    d = q.addresses[domain]
    d.holder = NOBODY
    while d.first != NOBODY and d.holder == NOBODY:
        heir = i64(d.first)
        step_out_of_line(q, heir, domain)
        if not has_work(q, heir):
            continue
        if q.sites[heir].next <= max(now, d.free):
            d.holder = heir
        push(q, heir, max(q.sites[heir].next, d.free))


@njit
def _holds_domain(q: Arrays, site: int) -> bool:
    holds: bool = q.domain[site] != NOBODY and q.addresses[q.domain[site]].holder == site
    return holds


@njit
def rest(q: Arrays, site: int) -> None:
    """Ends a turn: the site, its address and its domain rest."""
    s = q.sites[site]
    a = q.addresses[s.held]
    s.turn = 0
    s.next = max(s.next, s.end + s.wait)
    a.free = max(a.free, s.end + (s.wait if s.alone else q.address_wait))
    if len(q.domain) and q.domain[site] != NOBODY:
        d = q.addresses[q.domain[site]]
        d.free = max(d.free, s.end + q.domain_wait)


@njit
def set_address(q: Arrays, site: int, address: int) -> None:
    """Sets the address of a site. A site that holds its old address releases it when its answer comes, or when it is
    popped, which now happens at its own time.

    The current time is not known here: the next site of its domain comes through the heap.
    """
    s = q.sites[site]
    if s.address == address:
        return
    if s.place == LINE and not _stands_at_domain(q, site):
        step_out_of_line(q, site, s.address)
        if len(q.domain):
            _leave_domain(q, site, 0.0)
        push(q, site, s.next)
    elif s.place == HEAP and s.held != NOBODY:
        advance(q, site, s.next)
    s.address = address


@njit
def _stands_at_domain(q: Arrays, site: int) -> bool:
    """Whether a site that is in line waits for its domain: a site in line at an address holds its domain."""
    return len(q.domain) > 0 and q.domain[site] != NOBODY and q.addresses[q.domain[site]].holder != site


@njit
def leave_domains(q: Arrays, sites: U32) -> None:
    """Removes idle holders: sites without work that hold their domain, in line at an address (those of `sites`) or in
    the heap (any), leave at once, so that other sites of the domain can be requested. The current time is not known
    here either."""
    for number in sites:
        site = i64(number)
        if q.sites[site].place == LINE and _is_idle_holder(q, site):
            step_out_of_line(q, site, q.sites[site].address)
            _leave_domain(q, site, 0.0)
    for i in range(q.counts[IN_HEAP]):
        if _is_idle_holder(q, i64(q.heap[i].site)):
            rise(q, i, 0.0, q.heap[i].number, i64(q.heap[i].site))


@njit
def _is_idle_holder(q: Arrays, site: int) -> bool:
    return not has_work(q, site) and _holds_domain(q, site)


@njit
def may_be_asked(q: Arrays, site: int, page: int, now: float) -> bool:
    """Whether the site, which was taken from its place, may be requested. If not, it is put where it belongs."""
    s = q.sites[site]
    if (page == NOBODY and s.errand == 0) or s.address == NOBODY:
        let_go(q, site, now)
        return False
    holder, free = q.addresses[s.address].holder, q.addresses[s.address].free
    if s.next > now or (s.held != NOBODY and s.held != s.address):
        let_go(q, site, now)
        push(q, site, s.next)
    elif len(q.domain) and not _domain_is_free(q, site, now):
        pass
    elif holder != NOBODY and holder != site:
        if len(q.domain):
            _hold_domain(q, site)
        stand_in_line(q, site, s.address)
    elif free > now:
        hold(q, site)
        push(q, site, free)
    else:
        return True
    return False


@njit
def _domain_is_free(q: Arrays, site: int, now: float) -> bool:
    """Whether the domain is free for the site. If not, the site waits in line there, or holds it until its time has
    come."""
    if q.domain[site] == NOBODY:
        return True
    d = q.addresses[q.domain[site]]
    if d.holder != NOBODY and d.holder != site:
        stand_in_line(q, site, q.domain[site])
        return False
    if d.free > now:
        d.holder = site
        push(q, site, d.free)
        return False
    return True
