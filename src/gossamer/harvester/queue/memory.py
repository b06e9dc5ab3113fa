"""The memory of the site queue, and the moves between its places: the heap, and the lines at addresses and domains.

`holders` decides which site holds an address or a domain. `page_heaps` orders pages, if there is no plan.

A site is one record of 64 bytes, a cache line of the processor. Records, because numba counts references to every array
that it passes on: with one array per field a request cost 20 µs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import I64, U32, Records
from gossamer.base.compiled import i64, njit
from gossamer.base.model import NONE

NOBODY: Final = NONE

OUT: Final = 0
HEAP: Final = 1
LINE: Final = 2
FLIGHT: Final = 3
READY: Final = 4

IN_HEAP: Final = 0
IN_LINE: Final = 1
IN_FLIGHT: Final = 2
LEFT: Final = 3
ENTRIES: Final = 4
IN_READY: Final = 5

WAITING: Final = 0
BEST: Final = 1
LARGER: Final = 2

SITE: Final = np.dtype(
    [
        ("next", "<f8"),  # not to be requested before
        ("end", "<f8"),  # end of its last answer
        ("wait", "<f8"),  # rest after a turn
        ("pause", "<f8"),  # rest between the requests of a turn
        ("address", "<u4"),
        ("held", "<u4"),  # the address that it holds, or NOBODY
        ("turn", "<u4"),  # requests left in its turn
        ("begin", "<u4"),  # its slice of the planned pages: the rest of it
        ("stop", "<u4"),
        ("before", "<u4"),  # its neighbours in line
        ("after", "<u4"),
        ("place", "u1"),
        ("taken", "u1"),  # 1: the page in flight came from its current slice
        ("errand", "u1"),  # 1: an errand waits: a request for something other than its pages
        ("alone", "u1"),  # 1: its address needs no wait of its own, since all sites there belong to the operator
    ],
    align=True,
)

ADDRESS: Final = np.dtype(
    [
        ("free", "<f8"),  # not to be requested before
        ("holder", "<u4"),  # the site that holds it, or NOBODY: then the line is empty
        ("first", "<u4"),  # the line
        ("last", "<u4"),
    ],
    align=True,
)

ENTRY: Final = np.dtype([("time", "<f8"), ("number", "<i8"), ("site", "<u4")], align=True)

ZERO: Final = i64(0)
"""0, and not a literal."""

CONTENDER: Final = np.dtype([("key", "<u8"), ("site", "<u4"), ("spot", "<u4")], align=True)
"""Entry of the heap of sites that may be requested now: entry i has key and site; `spot` of entry s is the index of
site s."""

NODE: Final = np.dtype([("key", "<u8"), ("child", "<u4"), ("next", "<u4"), ("before", "<u4")], align=True)
"""A page in the heap of pages of its site."""


class Arrays(NamedTuple):
    """The whole state, as the kernels get it. Times are monotonic seconds."""

    sites: Records
    addresses: Records
    heap: Records
    counts: I64
    per_turn: int
    address_wait: float
    sites_by: int
    """The order of sites that may be requested now: WAITING, longest waiting first; BEST, best next page first; LARGER,
    most pending pages first."""
    ready: Records
    nodes: Records
    """By page, if the order is updated page by page; else empty."""
    domain: U32
    """By site, the index of its domain in `addresses`, after all addresses, or NOBODY; empty without a limit by
    domain."""
    domain_wait: float


def make_arrays(
    max_sites: int,
    max_addresses: int,
    wait: float,
    address_wait: float,
    per_turn: int,
    pause: float,
    sites_by: int = WAITING,
    pages: int = 0,
    domain_wait: float = 0.0,
) -> Arrays:
    domains = max_sites if domain_wait > 0 else 0
    sites, addresses = np.zeros(max_sites, SITE), np.zeros(max_addresses + domains, ADDRESS)
    sites["wait"], sites["pause"] = wait, pause
    for name in ("address", "held", "before", "after"):
        sites[name] = NONE
    for name in ("holder", "first", "last"):
        addresses[name] = NONE
    counts = np.zeros(6, np.int64)
    ready = np.zeros(max_sites if sites_by != WAITING else 0, CONTENDER)
    nodes = np.zeros(pages, NODE)
    for name in ("child", "next", "before"):
        nodes[name] = NONE
    if pages:
        sites["begin"] = sites["stop"] = NONE
    heap, domain = np.zeros(max_sites, ENTRY), np.full(domains, NONE, np.uint32)
    per_turn, address_wait, domain_wait = max(1, per_turn), float(address_wait), float(domain_wait)
    return Arrays(sites, addresses, heap, counts, per_turn, address_wait, sites_by, ready, nodes, domain, domain_wait)


@njit
def has_work(q: Arrays, site: int) -> bool:
    """The site has planned pages left, or an errand."""
    s = q.sites[site]
    work: bool = s.begin < s.stop or s.errand != 0
    return work


@njit
def _earlier(q: Arrays, i: int, time: float, number: int) -> bool:
    entry = q.heap[i]
    earlier: bool = entry.time < time or (entry.time == time and entry.number < number)
    return earlier


@njit
def _put(q: Arrays, i: int, time: float, number: int, site: int) -> None:
    entry = q.heap[i]
    entry.time, entry.number, entry.site = time, number, site


@njit
def rise(q: Arrays, i: int, time: float, number: int, site: int) -> None:
    """Puts an entry into the free place `i` of the heap, or above it."""
    while i > 0 and not _earlier(q, (i - 1) // 2, time, number):
        above = q.heap[(i - 1) // 2]
        _put(q, i, above.time, above.number, i64(above.site))
        i = (i - 1) // 2
    _put(q, i, time, number, site)


@njit
def push(q: Arrays, site: int, time: float) -> None:
    """Puts a site into the heap at `time`."""
    rise(q, q.counts[IN_HEAP], time, q.counts[ENTRIES], site)
    q.counts[IN_HEAP] += 1
    q.counts[ENTRIES] += 1
    q.sites[site].place = HEAP


@njit
def advance(q: Arrays, site: int, time: float) -> None:
    """Moves a site in the heap to an earlier time. Searches the whole heap: only for rare events."""
    i = 0
    while q.heap[i].site != site:
        i += 1
    rise(q, i, min(q.heap[i].time, time), q.heap[i].number, site)


@njit
def pop(q: Arrays) -> int:
    """Takes the site with the earliest time from the heap."""
    site = i64(q.heap[0].site)
    q.sites[site].place = OUT
    q.counts[IN_HEAP] -= 1
    size = q.counts[IN_HEAP]
    last = q.heap[size]
    time, number = last.time, last.number
    i = ZERO
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _earlier(q, child + 1, q.heap[child].time, q.heap[child].number):
            child += 1
        if not _earlier(q, child, time, number):
            break
        below = q.heap[child]
        _put(q, i, below.time, below.number, i64(below.site))
        i = child
    _put(q, i, time, number, i64(last.site))
    return site


@njit
def stand_in_line(q: Arrays, site: int, address: int) -> None:
    s, a = q.sites[site], q.addresses[address]
    s.before, s.after = a.last, NOBODY
    if a.last == NOBODY:
        a.first = site
    else:
        q.sites[a.last].after = site
    a.last = site
    s.place = LINE
    q.counts[IN_LINE] += 1


@njit
def step_out_of_line(q: Arrays, site: int, address: int) -> None:
    s, a = q.sites[site], q.addresses[address]
    if s.before == NOBODY:
        a.first = s.after
    else:
        q.sites[s.before].after = s.after
    if s.after == NOBODY:
        a.last = s.before
    else:
        q.sites[s.after].before = s.before
    s.place = OUT
    q.counts[IN_LINE] -= 1


# --- READY: the sites that may be requested now, best first ----------------------------------------------------------
#
# Used only if sites are not taken in the order of waiting (BEST, LARGER): then it stands between the heap of times and
# the requests. It can find a site again, so that its key can change. A site in it holds no address, unless its turn
# continues.


@njit
def _put_ready(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    entry = q.ready[i]
    entry.key, entry.site = key, site
    q.ready[site].spot = i


@njit
def _rise_ready(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    while i > 0 and q.ready[(i - 1) // 2].key < key:
        above = q.ready[(i - 1) // 2]
        _put_ready(q, i, above.key, i64(above.site))
        i = (i - 1) // 2
    _put_ready(q, i, key, site)


@njit
def _sink_ready(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    size = q.counts[IN_READY]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and q.ready[child + 1].key > q.ready[child].key:
            child += 1
        if q.ready[child].key <= key:
            break
        below = q.ready[child]
        _put_ready(q, i, below.key, i64(below.site))
        i = child
    _put_ready(q, i, key, site)


@njit
def contend(q: Arrays, site: int, key: np.uint64) -> None:
    """Puts a site into the heap."""
    q.counts[IN_READY] += 1
    _rise_ready(q, q.counts[IN_READY] - 1, key, site)
    q.sites[site].place = READY


@njit
def rekey(q: Arrays, site: int, key: np.uint64) -> None:
    """Changes the key of a site that is READY, up or down."""
    i = i64(q.ready[site].spot)
    if key > q.ready[i].key:
        _rise_ready(q, i, key, site)
    elif key < q.ready[i].key:
        _sink_ready(q, i, key, site)


@njit
def reorder(q: Arrays) -> None:
    """Restores the order of the heap after keys were changed in place."""
    for i in range(q.counts[IN_READY] // 2 - 1, -1, -1):
        _sink_ready(q, i, q.ready[i].key, i64(q.ready[i].site))


@njit
def take_best(q: Arrays) -> int:
    """Takes the site with the largest key."""
    site = i64(q.ready[0].site)
    q.counts[IN_READY] -= 1
    last = q.ready[q.counts[IN_READY]]
    if q.counts[IN_READY] > 0:
        _sink_ready(q, ZERO, last.key, i64(last.site))
    q.sites[site].place = OUT
    return site
