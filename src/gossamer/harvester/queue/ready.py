"""The sites that may be requested now, best first: a heap that can find a site again, so that its key can change.

It is used only if sites are not taken in the order of waiting (`memory.BEST`, `memory.LARGER`): then it stands between
the heap of times and the requests. A site in it holds no address, unless its turn continues.
"""

from __future__ import annotations

import numpy as np

from gossamer.base.compiled import njit
from gossamer.harvester.queue.memory import IN_READY, OUT, READY, Arrays


@njit
def _put(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    entry = q.ready[i]
    entry.key, entry.site = key, site
    q.ready[site].spot = i


@njit
def _rise(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    while i > 0 and q.ready[(i - 1) // 2].key < key:
        above = q.ready[(i - 1) // 2]
        _put(q, i, above.key, above.site)
        i = (i - 1) // 2
    _put(q, i, key, site)


@njit
def _sink(q: Arrays, i: int, key: np.uint64, site: int) -> None:
    size = q.counts[IN_READY]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and q.ready[child + 1].key > q.ready[child].key:
            child += 1
        if q.ready[child].key <= key:
            break
        below = q.ready[child]
        _put(q, i, below.key, below.site)
        i = child
    _put(q, i, key, site)


@njit
def contend(q: Arrays, site: int, key: np.uint64) -> None:
    """Puts a site into the heap."""
    q.counts[IN_READY] += 1
    _rise(q, q.counts[IN_READY] - 1, key, site)
    q.sites[site].place = READY


@njit
def rekey(q: Arrays, site: int, key: np.uint64) -> None:
    """Changes the key of a site that is READY, up or down."""
    i = q.ready[site].spot
    if key > q.ready[i].key:
        _rise(q, i, key, site)
    elif key < q.ready[i].key:
        _sink(q, i, key, site)


@njit
def reorder(q: Arrays) -> None:
    """Restores the order of the heap after keys were changed in place."""
    for i in range(q.counts[IN_READY] // 2 - 1, -1, -1):
        _sink(q, i, q.ready[i].key, q.ready[i].site)


@njit
def take_best(q: Arrays) -> int:
    """Takes the site with the largest key."""
    site: int = q.ready[0].site
    q.counts[IN_READY] -= 1
    last = q.ready[q.counts[IN_READY]]
    if q.counts[IN_READY] > 0:
        _sink(q, 0, last.key, last.site)
    q.sites[site].place = OUT
    return site
