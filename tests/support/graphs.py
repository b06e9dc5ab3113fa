"""Small graphs for tests of link scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gossamer.rank.graph import Csr, Graph, csr
from tests.support.strategies import Links


def in_memory(links: Links) -> Csr:
    """The graph with these links."""
    sources = np.array([p for p, targets in enumerate(links) for _ in targets], np.uint32)
    return csr(len(links), sources, np.array([t for targets in links for t in targets], np.uint32))


def links_of(graph: Graph) -> dict[int, list[int]]:
    """The targets of each source of a graph."""
    found = {}
    for block in graph.blocks():
        begin = block.begin
        for source, end in zip(block.sources.tolist(), block.ends.tolist(), strict=True):
            found[source] = block.targets[begin:end].tolist()
            begin = end
    return found


def dense(links: Links, damping: float = 0.85) -> npt.NDArray[np.float64]:
    """PageRank as the solution of its linear equations."""
    n = len(links)
    follow = np.zeros((n, n))
    for p, targets in enumerate(links):
        if targets:
            follow[list(set(targets)), p] = 1 / len(set(targets))
        else:
            follow[:, p] = 1 / n
    solved: npt.NDArray[np.float64] = np.linalg.solve(np.eye(n) - damping * follow, np.full(n, (1 - damping) / n))
    return solved
