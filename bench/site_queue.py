"""Cost of the site queue per request: python -m bench.site_queue

A request is one hand-out by `ready` and one answer by `done`, in batches like those of a tick of a busy crawl. Waits
are zero, so that every site is always due: the heap and the queues are as full as possible. If few addresses allow only
few sites at a time, the figure is mostly the cost of the two calls from Python.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np

from gossamer.harvester.queue.queue import SiteQueue

PER_SITE = 20
BATCH = 100


def measure(sites: int, per_address: int, requests: int = 200_000) -> str:
    each, at_a_time = cost(sites, per_address, requests)
    return f"{each:,.0f} ({at_a_time:.0f})"


def cost(sites: int, per_address: int, requests: int = 200_000) -> tuple[float, float]:
    """ns per request, and requests at a time."""
    addresses = max(1, sites // per_address)
    queue = SiteQueue(sites, addresses, wait=0.0, address_wait=0.0)
    known = sites * PER_SITE
    state, flags, due = np.zeros(known, np.uint8), np.zeros(known, np.uint8), np.zeros(known, np.uint32)
    origin, valid = np.zeros(known, np.uint32), np.full(1, 2.0)
    everyone = np.arange(sites, dtype=np.uint32)
    shuffled = np.random.default_rng(1).permutation(sites)
    for site in range(sites):
        queue.set_address(site, int(shuffled[site] % addresses))
    pages = np.arange(known, dtype=np.uint32)
    order = SimpleNamespace(sites=everyone, offsets=np.arange(sites + 1) * PER_SITE, pages=pages, ranks=pages)
    now, done, ticks, spent = 1.0, 0, 0, 0.0
    while done < requests:
        flags[:] = 0
        queue.install(order)
        queue.enter(everyone, now)
        start = time.perf_counter()
        while done < requests:
            now += 0.02
            found, _, _ = queue.ready(now, BATCH, state, flags, due, origin, valid, 1.0)
            if not len(found):
                break
            queue.done(found, np.full(len(found), now + 0.01), now + 0.01)
            done += len(found)
            ticks += 1
        spent += time.perf_counter() - start
    return spent / done * 1e9, done / ticks


def main() -> None:
    measure(10, 1, 100)
    print("ns per request, ready and done (in brackets: requests at a time)")
    print(f"{'sites':>8}  {'1 per address':>18}  {'1,000 per address':>18}")
    for sites in (100, 1_000, 10_000, 100_000):
        print(f"{sites:>8,}  {measure(sites, 1):>18}  {measure(sites, 1_000):>18}")


if __name__ == "__main__":
    main()
