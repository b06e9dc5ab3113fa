"""The second order of pages: a heap of pages for each site, updated page by page, instead of a plan.

A plan is right when it is made and then grows old; a heap never does, at 20 bytes per page and some 100 ns for each
link that changes the key of a page. The simulator uses heaps to study an order by itself. They are pairing heaps
(Fredman, Sedgewick, Sleator and Tarjan 1986): insert and raise take constant time, the best page of a site comes off in
O(log n), amortised, and they need only three numbers per page.

The slice of a site is (root, NONE), or (NONE, NONE) without pages: `memory.has_work` holds for both orders.

Invariant, a property test of the same name: pages come off in the order of their keys.
"""

from __future__ import annotations

import numpy as np

from gossamer.base.compiled import inlined, njit
from gossamer.harvester.queue.memory import LEFT, NOBODY, Arrays


@inlined
def _join(q: Arrays, one: int, other: int) -> int:
    """Joins two trees; returns the root: the better one, with the other as its first child."""
    if q.nodes[other].key > q.nodes[one].key:
        one, other = other, one
    first = q.nodes[one].child
    q.nodes[other].next = first
    q.nodes[other].before = one
    if first != NOBODY:
        q.nodes[first].before = other
    q.nodes[one].child = other
    q.nodes[one].next = q.nodes[one].before = NOBODY
    return one


@inlined
def insert(q: Arrays, site: int, page: int, key: np.uint64) -> None:
    node = q.nodes[page]
    node.key = key
    node.child = node.next = node.before = NOBODY
    s = q.sites[site]
    s.begin = page if s.begin == NOBODY else _join(q, s.begin, page)
    q.counts[LEFT] += 1


@inlined
def raise_key(q: Arrays, site: int, page: int, key: np.uint64) -> None:
    """Raises the key of a page that is in the heap of the site; `key` is at least its old key."""
    node, s = q.nodes[page], q.sites[site]
    node.key = key
    if s.begin == page:
        return
    before = q.nodes[node.before]
    if before.child == page:
        before.child = node.next
    else:
        before.next = node.next
    if node.next != NOBODY:
        q.nodes[node.next].before = node.before
    node.next = node.before = NOBODY
    s.begin = _join(q, s.begin, page)


@njit
def pop_page(q: Arrays, site: int) -> int:
    """Takes the best page of a site that has pages. Pairs its children from the left, then joins from the right."""
    s = q.sites[site]
    page: int = s.begin
    pairs = NOBODY  # linked by `next`
    child = q.nodes[page].child
    while child != NOBODY:
        other = q.nodes[child].next
        if other == NOBODY:
            q.nodes[child].next = pairs
            pairs, child = child, NOBODY
        else:
            following = q.nodes[other].next
            joined = _join(q, child, other)
            q.nodes[joined].next = pairs
            pairs, child = joined, following
    root = NOBODY
    while pairs != NOBODY:
        following = q.nodes[pairs].next
        q.nodes[pairs].next = q.nodes[pairs].before = NOBODY
        root = pairs if root == NOBODY else _join(q, root, pairs)
        pairs = following
    s.begin = root
    q.nodes[page].child = NOBODY
    q.counts[LEFT] -= 1
    return page
