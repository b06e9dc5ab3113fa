"""Who holds an address, and a domain: how sites of the queue get them, and pass them on.

An address is held by one site at a time, and so is a registrable domain where there is a limit by domain: a domain is
one more place like an address, with a time before which it is not asked, a holder and a line. A site gets its domain
first and its address second; it may hold its domain while it stands in line at its address, never the other way round.
So whoever is waited for waits, if at all, for one who does not wait in turn: no deadlock. Lines are first come, first
served, and who is first gets what it stands for: nobody starves.

Refused: to get both at once or none. Where a domain and an address both have lines, whoever is first in one finds the
other taken, for ever. The price is that a domain may be idle while its holder stands in line at an
address; its other sites mostly have the same one.
"""

from __future__ import annotations

from gossamer.base.compiled import njit
from gossamer.harvester.queue.memory import (
    HEAP,
    IN_HEAP,
    LINE,
    NOBODY,
    U32,
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
    """Its address, and its domain."""
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
    """Ends the site's turn, if it is in one, and gives what it holds, if anything, to the first in line."""
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
    """An heir whose own time is later goes to the heap, and its domain to another."""
    a = q.addresses[address]
    while a.first != NOBODY and a.holder == NOBODY:
        heir = a.first
        step_out_of_line(q, heir, address)
        if has_work(q, heir) and q.sites[heir].next <= max(now, a.free):
            a.holder, q.sites[heir].held = heir, address
        elif len(q.domain):
            _leave_domain(q, heir, now)
        if has_work(q, heir):
            push(q, heir, max(q.sites[heir].next, a.free))


@njit
def _leave_domain(q: Arrays, site: int, now: float) -> None:
    if not _holds_domain(q, site):
        return
    domain = q.domain[site]
    d = q.addresses[domain]
    d.holder = NOBODY
    while d.first != NOBODY and d.holder == NOBODY:
        heir = d.first
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
    """A turn ends: the site, its address and its domain rest."""
    s = q.sites[site]
    a = q.addresses[s.held]
    s.turn = 0
    s.next = max(s.next, s.end + s.wait)
    a.free = max(a.free, s.end + q.address_wait)
    if len(q.domain) and q.domain[site] != NOBODY:
        d = q.addresses[q.domain[site]]
        d.free = max(d.free, s.end + q.domain_wait)


@njit
def set_address(q: Arrays, site: int, address: int) -> None:
    """A site that holds its old address lets it go when its answer comes, or when it is popped: at its own time now.

    The time is not known here: who is next at its domain comes through the heap.
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
    """Of a site in line: who stands in line at an address holds its domain."""
    return len(q.domain) > 0 and q.domain[site] != NOBODY and q.addresses[q.domain[site]].holder != site


@njit
def leave_domains(q: Arrays, sites: U32) -> None:
    """Sites that hold their domain, those of `sites` in line at an address or any until its time has come, and have no
    more work, go at once: others may ask. The time is not known here either.
    """
    for site in sites:
        if q.sites[site].place == LINE and _is_idle_holder(q, site):
            step_out_of_line(q, site, q.sites[site].address)
            _leave_domain(q, site, 0.0)
    for i in range(q.counts[IN_HEAP]):
        if _is_idle_holder(q, q.heap[i].site):
            rise(q, i, 0.0, q.heap[i].number, q.heap[i].site)


@njit
def _is_idle_holder(q: Arrays, site: int) -> bool:
    return not has_work(q, site) and _holds_domain(q, site)


@njit
def may_be_asked(q: Arrays, site: int, page: int, now: float) -> bool:
    """If not, the site, which was taken from its place, is put where it belongs."""
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
    """If not, the site stands in line there, or holds it until its time has come."""
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
