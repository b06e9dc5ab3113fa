"""Hubs and authorities of the whole graph (Kleinberg 1999; thesis algorithm 2, corrected: hubs first, for all pages).

    h(p) = sum of a over the pages that p links to,      a(p) = sum of h over the pages that link to p

Each is divided by its sum after every iteration. It is the static form that the manager of the thesis uses (7.2.1): the
set of pages is the collection, not the neighbourhood of a query (algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import F64
from gossamer.rank.graph import Graph, pull, push


@dataclass(frozen=True, slots=True)
class HubsAndAuthorities:
    """Both scores, by page."""

    hub: F64
    authority: F64
    iterations: int
    change: float
    """Sum of the changes of the authorities in the last iteration."""


def hubs_and_authorities(graph: Graph, tolerance: float = 1e-3, most: int = 50) -> HubsAndAuthorities:
    """Compute both scores. Each has the sum 1, or is all 0 if there are no links. `tolerance`: stop when the sum of all
    changes in an iteration is below it. The changes fall by the ratio of the two largest eigenvalues of A A^T, for
    which no bound is known: it stops after `most` iterations, and `change` says how far it got."""
    n = graph.pages
    hub, authority = np.zeros(n), np.full(n, 1.0 / max(1, n))
    change, iterations = np.inf if n else 0.0, 0
    while n and change > tolerance and iterations < max(1, most):
        before = authority
        hub, authority = np.zeros(n), np.zeros(n)
        pull(graph, before, hub)
        hub /= hub.sum() or 1.0
        push(graph, hub, authority)
        authority /= authority.sum() or 1.0
        change = float(np.abs(authority - before).sum())
        iterations += 1
    return HubsAndAuthorities(hub, authority if n else np.zeros(0), iterations, change)
