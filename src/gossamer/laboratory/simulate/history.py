"""An earlier crawl of the same Web, derived from the present one (thesis 4.3.2 and 4.3.4, as ERRATA.md reads it).

Of the pages of the Greek crawl 55 % were known four months before, and they held 72 % of the PageRank: old pages have
more PageRank. So the pages of the earlier crawl are drawn with odds that grow with their PageRank, by a power chosen
such that the 55 % drawn hold 72 %. If an old page links to a page that did not exist yet, the link leads instead to an
old page, drawn at random, that the new page links to: sites change by inserting pages. If there is none, the link is
dropped.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Bools
from gossamer.base.compiled import allocating, njit
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.rank.graph import Csr
from gossamer.rank.pagerank import pagerank

PAGES: Final = 0.55
WORTH: Final = 0.72


def earlier_crawl(graph: WebGraph, worth: F64, seed: int) -> tuple[WebGraph, F64]:
    """The earlier Web, and by page of the present Web its PageRank there; NaN for pages that did not exist."""
    rng = np.random.default_rng([seed, 4])
    old = drawn(worth, rng)
    number = np.cumsum(old) - 1
    offsets, targets = _rewired(graph.links.offsets, graph.links.targets, old, number, int(rng.integers(1 << 62)))
    kept = np.flatnonzero(old)
    start = number[graph.start[old[graph.start]]].astype(np.uint32)
    start = start if len(start) else np.zeros(1, np.uint32)
    earlier = WebGraph(Csr(offsets, targets), graph.site[kept], graph.size[kept], start, f"{graph.name}, earlier")
    history = np.full(graph.pages, np.nan)
    history[kept] = pagerank(earlier.links, tolerance=1e-8, most=1000).values
    return earlier, history


def drawn(worth: F64, rng: np.random.Generator) -> Bools:
    """Draws `PAGES` of the pages such that they hold `WORTH` of all worth, as closely as a power of worth allows."""
    count = max(1, round(PAGES * len(worth)))
    dice = np.log(-np.log(rng.random(len(worth))))
    scaled = np.log(np.maximum(worth, 1e-300))
    low, high = 0.0, 20.0
    for _ in range(40):
        power = (low + high) / 2
        # weighted sampling without replacement (Efraimidis and Spirakis 2006)
        chosen = np.argpartition(dice - power * scaled, count - 1)[:count]
        if worth[chosen].sum() < WORTH * worth.sum():
            low = power
        else:
            high = power
    found = np.zeros(len(worth), np.bool_)
    found[chosen] = True
    return found


@allocating
def _rewired(offsets: I64, targets: U32, old: Bools, number: I64, seed: int) -> tuple[I64, U32]:
    out = np.empty(len(targets), np.uint32)
    ends = np.zeros(number[-1] + 2, np.int64)
    n, x = 0, np.uint64(seed)
    for page in range(len(old)):
        if not old[page]:
            continue
        for i in range(offsets[page], offsets[page + 1]):
            target: int = np.int64(targets[i])  # type: ignore[assignment]
            if not old[target]:
                x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                target = _beyond(offsets, targets, old, target, int(x >> np.uint64(33)))
            if target >= 0:
                out[n] = number[target]
                n += 1
        ends[number[page] + 1] = n
    return ends, out[:n].copy()


@njit
def _beyond(offsets: I64, targets: U32, old: Bools, page: int, dice: int) -> int:
    """An old page that the new page links to, or -1."""
    count = 0
    for i in range(offsets[page], offsets[page + 1]):
        count += old[targets[i]]
    if count == 0:
        return -1
    wanted = dice % count
    for i in range(offsets[page], offsets[page + 1]):
        if old[targets[i]]:
            if wanted == 0:
                return int(targets[i])
            wanted -= 1
    return -1
