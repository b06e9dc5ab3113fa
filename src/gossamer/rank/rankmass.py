"""RankMass: a lower bound of each page's PageRank, and of what a set of pages holds (Cho and Schonfeld 2007).

The PageRank meant is that of one who jumps, with probability 1 - d, to a *trusted* page t (with probability t(p)), and
does so too where there are no links. Mass m begins as (1 - d) t, and pages pass it on in any order:

    lower(p) += m(p);   each of its k links gets d m(p)/k;   m(p) = 0        a page without links: d m(p) t instead

Each time, all mass falls by (1 - d) m(p). So at all times

    lower(p) <= rank(p),      rank - lower adds up to exactly (sum of m) / (1 - d)

Only pages whose links are known (`crawled`) pass mass on: what lies at the others is still theirs, and what `lower`
holds is what the crawled set is known to have, whatever the rest of the Web looks like. That is when to stop a crawl.
Pages pass in order of their numbers, turn after turn. Refused: the largest first, from a heap (what the paper calls
greedy): it matters for the order of a crawl, not for the bound over a graph that is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.rank.graph import F64, U32, Csr
from gossamer.rank.pagerank import DAMPING, pass_on


@dataclass(frozen=True, slots=True)
class RankMass:
    lower: F64
    """By page: its rank is at least this."""
    missing: float
    """What the lower bounds of all pages lack of their ranks together, at most; with no `crawled`, exactly."""
    turns: int


def rankmass(
    links: Csr,
    trusted: U32 | None = None,
    crawled: npt.NDArray[np.bool_] | None = None,
    *,
    damping: float = DAMPING,
    tolerance: float = 1e-6,
    most: int = 1000,
) -> RankMass:
    """`trusted`: the pages that share the trust; None: all. It ends when crawled pages could add `tolerance`."""
    n = links.pages
    trust = np.zeros(n)
    if trusted is None:
        trust[:] = 1.0
    else:
        np.add.at(trust, trusted, 1.0)
    trust /= trust.sum() or 1.0
    known = np.ones(n, np.bool_) if crawled is None else crawled
    lower, mass = np.zeros(n), (1.0 - damping) * trust
    turns = 0
    while n and turns < most and mass[known].sum() / (1.0 - damping) > tolerance:
        jumping = pass_on(links.offsets, links.targets, known, damping, mass, lower)
        mass += jumping * trust
        turns += 1
    return RankMass(lower, max(0.0, 1.0 - float(lower.sum())) if n else 0.0, turns)
