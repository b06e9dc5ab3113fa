"""Heaps of pages by site, compared with a sorted list."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE
from gossamer.harvester.queue.memory import LEFT, make_arrays
from gossamer.harvester.queue.page_heaps import insert, pop_page, raise_key

PAGES, SITES = 60, 3


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_pages_come_off_in_the_order_of_their_keys(seed: int) -> None:
    random = Random(seed)
    q = make_arrays(SITES, SITES, 0.0, 0.0, 1, 0.0, pages=PAGES)
    inside: dict[int, dict[int, int]] = {site: {} for site in range(SITES)}
    keys = random.sample(range(10**12), 2000)
    for _ in range(random.randint(1, 300)):
        site = random.randrange(SITES)
        page = random.randrange(PAGES // SITES) * SITES + site
        heap = inside[site]
        what = random.random()
        if what < 0.4 and page not in heap:
            heap[page] = keys.pop()
            insert(q, site, page, np.uint64(heap[page]))
        elif what < 0.7 and page in heap:
            heap[page] = max(heap[page], keys.pop())
            raise_key(q, site, page, np.uint64(heap[page]))
        elif what >= 0.7 and heap:
            assert pop_page(q, site) == max(heap, key=lambda p: heap[p])
            del heap[max(heap, key=lambda p: heap[p])]
        assert q.counts[LEFT] == sum(map(len, inside.values()))
    for site, heap in inside.items():
        for page in sorted(heap, key=lambda p: -heap[p]):
            assert pop_page(q, site) == page
        assert q.sites[site]["begin"] == NONE
