"""How many clicks pages are away, inside their site.

Depth as the crawl has it is that of the first way to a page that was found. This one follows all links that are known.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U32, Bools

NEVER: Final = 1 << 40
"""The depth of a page that no links lead to."""


def clicks(offsets: I64, targets: U32, site: I64, seeds: Bools, free: Bools) -> I64:
    """By page: the least number of clicks inside its site, from a seed or from a page that another site links to. A
    link of a page that is `free`, such as a redirect, is no click. The graph: as in `graph.Csr`."""
    source = np.repeat(site, np.diff(offsets))
    start = seeds.copy()
    start[targets[source != site[targets]]] = True
    depth = np.full(len(site), NEVER, np.int64)
    level, at = np.flatnonzero(start), 0
    while len(level):
        depth[level] = at
        through = level
        while len(through := through[free[through]]):  # redirects lead on within the level
            through = _next(offsets, targets, through, site, depth)
            depth[through] = at
            level = np.concatenate([level, through])
        level, at = _next(offsets, targets, level, site, depth), at + 1
    return depth


def _next(offsets: I64, targets: U32, sources: I64, site: I64, depth: I64) -> I64:
    """The pages inside the same sites that these link to and that have no depth yet, each once."""
    counts = offsets[sources + 1] - offsets[sources]
    begins = np.repeat(offsets[sources] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    found = targets[begins + np.arange(counts.sum())].astype(np.int64)
    inside = (site[found] == np.repeat(site[sources], counts)) & (depth[found] == NEVER)
    return np.unique(found[inside])
