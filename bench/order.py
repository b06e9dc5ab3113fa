"""Which order of pages collects PageRank soonest: `python -m bench.order GRAPH.npz [visits between ranks, 20,000]`

A crawl of a real graph (CSR: `offsets`, `targets`; seeds `start`, or 50 at random) without politeness, planned every
1,000 visits. PageRank is computed on what is known then, as the background process does: after so many visits, and when
a fifth more has been fetched; pages found since have none. Printed is the share of the true PageRank in the first
1 to 50 % of the pages, and the area under that curve.

This is how the default weights and the measure of scores were chosen (manager/value.py, rank/names.py):

    area, ranks every 20,000     cnr-2000    debian-docs
    breadth-first                  .580         .475
    opic                           .635         .684
    pagerank                       .610         .593       between two computations, new pages come last
    opic + pagerank                .659         .688       the default: each as log2(1 + n share), weights 1 and 1
    opic + 2 pagerank              .662         .685
    2 opic + pagerank              .657         .689
    shares as they are             .659         .688       but beside depth or static they would count for nothing
    divided by the largest         .636         .684
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.compiled import njit
from gossamer.rank.graph import Csr
from gossamer.rank.names import share_score
from gossamer.rank.pagerank import pagerank

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PLAN: Final = 1_000
GROWTH: Final = 0.2
POINTS: Final = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
Order = Callable[[F64, F64, int], F64]
"""Shares of cash and ranks of the candidates, and the number of known pages, to scores."""

ORDERS: Final[dict[str, Order]] = {
    "breadth-first": lambda cash, rank, known: np.zeros(len(cash)),
    "opic": lambda cash, rank, known: cash,
    "pagerank": lambda cash, rank, known: rank,
    "opic + pagerank": lambda cash, rank, known: share_score(cash, known) + share_score(rank, known),
    "opic + 2 pagerank": lambda cash, rank, known: share_score(cash, known) + 2 * share_score(rank, known),
    "2 opic + pagerank": lambda cash, rank, known: 2 * share_score(cash, known) + share_score(rank, known),
    "shares as they are": lambda cash, rank, known: cash + rank,
    "divided by the largest": lambda cash, rank, known: cash / (cash.max() or 1) + rank / (rank.max() or 1),
}


@njit
def _fetch(pages: I64, offsets: I64, targets: npt.NDArray[np.uint32], fetched: Bools, known: Bools, cash: F64) -> None:
    for p in pages:
        fetched[p] = True
        begin, end = offsets[p], offsets[p + 1]
        for j in range(begin, end):
            known[targets[j]] = True
            if not fetched[targets[j]]:
                cash[targets[j]] += cash[p] / (end - begin)


def known_ranks(graph: Csr, fetched: Bools, known: Bools, before: F64) -> F64:
    """PageRank of the known pages, by the links of the fetched ones."""
    number = np.cumsum(known) - 1
    degrees = np.where(fetched, np.diff(graph.offsets), 0)
    kept = np.repeat(fetched, np.diff(graph.offsets))
    offsets = np.concatenate([[0], np.cumsum(degrees[known])]).astype(np.int64)
    part = Csr(offsets, number[graph.targets[kept]].astype(np.uint32))
    ranks = np.zeros(graph.pages)
    start = np.where(before[known] > 0, before[known], 0.15 / max(1, known.sum()))
    ranks[known] = pagerank(part, start if before.any() else None).values
    return ranks


def crawl(graph: Csr, seeds: I64, worth: F64, order: Order, every: int) -> F64:
    """The share of all worth collected after each percent of the pages."""
    fetched, known, cash = np.zeros(graph.pages, bool), np.zeros(graph.pages, bool), np.zeros(graph.pages)
    known[seeds], cash[seeds] = True, 1 / len(seeds)
    ranks, done, ranked, curve = np.zeros(graph.pages), 0, 0, [(0.0, 0.0)]
    while len(open_ := np.flatnonzero(known & ~fetched)):
        if done - ranked >= max(every, GROWTH * ranked):
            ranks, ranked = known_ranks(graph, fetched, known, ranks), done
        scores = order(cash[open_], ranks[open_], int(known.sum()))
        chosen = open_[np.argsort(-scores, kind="stable")[:PLAN]]
        _fetch(chosen, graph.offsets, graph.targets, fetched, known, cash)
        done += len(chosen)
        curve.append((done, curve[-1][1] + worth[chosen].sum()))
    x, y = np.array(curve).T
    return np.asarray(np.interp(np.linspace(0, 1, 101), x / x[-1], y / y[-1]))


def main(path: Path, every: int) -> None:
    stored = np.load(path)
    graph = Csr(stored["offsets"].astype(np.int64), stored["targets"])
    seeds = stored["start"] if "start" in stored else np.random.default_rng(1).choice(graph.pages, 50, replace=False)
    worth = pagerank(graph, tolerance=1e-8).values
    print(f"{'':24}" + "".join(f"{point:>7.0%}" for point in POINTS) + "   area")
    for name, order in ORDERS.items():
        start = time.perf_counter()
        curve = crawl(graph, seeds.astype(np.int64), worth, order, every)
        at = "".join(f"{curve[round(100 * point)]:7.3f}" for point in POINTS)
        print(f"{name:<24}{at} {curve.mean():6.3f}   {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
