"""RankMass: a lower bound of the PageRank of each page and of a set of pages (Cho and Schonfeld 2007).

It bounds the PageRank of a random surfer who jumps, with probability 1 - d, to a *trusted* page (to page p with
probability t(p)), and also jumps from pages without links. Mass m is (1 - d) t at first, and pages pass it on in any
order:

    lower(p) += m(p);   each of its k links gets d m(p)/k;   m(p) = 0        a page without links: d m(p) t instead

Each such step reduces the total mass by (1 - d) m(p). So at all times

    lower(p) <= rank(p),      the sum of rank - lower is exactly (sum of m) / (1 - d)

Only pages whose links are known (`crawled`) pass mass on; other pages keep theirs. `lower` is therefore what the
crawled set has for certain, whatever the rest of the Web looks like: a criterion to stop a crawl. Pages pass mass on in
order of their numbers, round after round. Refused: the largest first, from a heap (what the paper calls greedy): it
matters for the order of a crawl, not for the bound over a known graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import F64, U32, Bools
from gossamer.rank.graph import Csr
from gossamer.rank.pagerank import DAMPING, pass_on


@dataclass(frozen=True, slots=True)
class RankMass:
    """The result of a computation."""

    lower: F64
    """By page: a lower bound of its rank. The sum is a lower bound of the rank of all crawled pages together, of 1."""
    missing: float
    """The sum of all ranks minus the sum of the lower bounds: an upper bound, or exact without `crawled`."""
    turns: int


def rankmass(
    links: Csr, trusted: U32 | None = None, crawled: Bools | None = None, *, tolerance: float = 1e-6, most: int = 1000
) -> RankMass:
    """Compute the bounds. `trusted`: the pages that share the trust; None: all. It ends when the mass of crawled pages
    could add at most `tolerance` to the bounds."""
    n = links.pages
    trust = np.ones(n) if trusted is None else np.bincount(trusted, minlength=n).astype(np.float64)
    trust /= trust.sum() or 1.0
    known = np.ones(n, np.bool_) if crawled is None else crawled
    lower, mass = np.zeros(n), (1.0 - DAMPING) * trust
    turns = 0
    while n and turns < most and mass[known].sum() / (1.0 - DAMPING) > tolerance:
        jumping = pass_on(links.offsets, links.targets, known, mass, lower)
        mass += jumping * trust
        turns += 1
    return RankMass(lower, max(0.0, 1.0 - float(lower.sum())) if n else 0.0, turns)
