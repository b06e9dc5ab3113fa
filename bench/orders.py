"""Which strategy collects PageRank soonest, on many graphs: `python -m bench.orders [--quick] [NAME ...]`

Without a clock (r = 1, w = 0): the average of cumulative PageRank over the whole crawl, mean and spread over five sets
of start pages. With a clock (r = 64, w = 15 s, 5 s at sites of over 100 pages, servers as measured): the mean share of
PageRank over the time until the last strategy has ended; `--polite`: only this.

Graphs: real ones if present (in `GOSSAMER_DATA`, or shared/data next to the repository), parts of them, and generated
ones. Start sets: cnr-2000 has none, so 50 random pages; for the others all their start pages, halves of them, and 20.
`--quick`: two sets and smaller graphs. The results are in docs/decisions.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.links import DATA
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import WebGraph, load
from gossamer.laboratory.measured import average_cumulative
from gossamer.laboratory.simulate.run import Run, simulate
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.rank.graph import Csr
from gossamer.rank.pagerank import pagerank

F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]

KNOWN: Final = (
    "breadth-first",
    "backlink-count",
    "opic",
    "larger-sites-first",
    "fractional-pagerank",
    "windowed-rankmass",
    "partial-pagerank",
    "batch-pagerank",
)
OURS: Final = "completed-pagerank"
ORACLE: Final = "omniscient"
POLITE: Final = ("breadth-first", "opic", "larger-sites-first", "batch-pagerank", OURS, ORACLE)
CLOCK: Final = Scenario(connections=64, wait=15.0, wait_large=5.0, servers=Servers.measured())


def part(graph: WebGraph, share: float, seed: int) -> WebGraph:
    """The pages of a random share of the sites, with the links between them."""
    rng = np.random.default_rng(seed)
    sites = rng.random(graph.sites) < share
    kept = np.flatnonzero(sites[graph.site])
    number = np.full(graph.pages, -1, np.int64)
    number[kept] = np.arange(len(kept))
    sources = np.repeat(np.arange(graph.pages), np.diff(graph.links.offsets))
    inside = (number[sources] >= 0) & (number[graph.links.targets] >= 0)
    counts = np.bincount(number[sources[inside]], minlength=len(kept))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    links = Csr(offsets, number[graph.links.targets[inside]].astype(np.uint32))
    start = number[graph.start]
    return WebGraph(
        links, graph.site[kept], graph.size[kept], start[start >= 0].astype(np.uint32), f"{graph.name}, part {seed}"
    )


def graphs(quick: bool) -> Iterator[WebGraph]:
    size = 20_000 if quick else 100_000
    for seed in (1, 2):
        yield make(pages=size, seed=seed)
    for name in ("cnr-2000", "debian-docs"):
        path = Path(DATA) / "graphs" / f"{name}.npz"
        if path.exists():
            graph = load(path)
            if name == "debian-docs":
                yield part(graph, 0.05 if quick else 0.25, 1)
            if not quick:
                yield graph


def starts(graph: WebGraph, count: int) -> list[U32]:
    rng = np.random.default_rng(1)
    if len(graph.start) < 2:
        return [rng.choice(graph.pages, 50, replace=False).astype(np.uint32) for _ in range(count)]
    halves = [rng.permutation(graph.start)[: len(graph.start) // 2 + 1] for _ in range(max(0, count - 2))]
    return [graph.start, *halves, rng.permutation(graph.start)[:20]][:count]


def order_alone(graph: WebGraph, quick: bool) -> None:
    worth = pagerank(graph.links, tolerance=1e-8).values
    sets = starts(graph, 2 if quick else 5)
    print(f"{graph.name or 'made'}: {graph.pages:,} pages, {graph.sites:,} sites, {len(sets)} start sets", flush=True)
    found = {}
    for name in (*KNOWN, OURS, ORACLE):
        if name == "larger-sites-first" and graph.sites == 1:
            continue
        begun, pages = time.process_time(), 0
        areas = []
        for start in sets:
            run = simulate(graph, name, Scenario(), start=start, worth=worth)
            areas.append(average_cumulative(run.order, worth))
            pages += len(run.order)
        found[name] = float(np.mean(areas))
        cost = (time.process_time() - begun) / max(1, pages) * 1e6
        print(f"  {name:<22} {np.mean(areas):.3f} ± {np.std(areas):.3f}   {cost:5.1f} µs per page", flush=True)
    best = max(KNOWN, key=lambda name: found.get(name, 0.0))
    lead, lag = found[OURS] - found[best], found[OURS] - found[ORACLE]
    print(f"  {OURS} minus {best}: {lead:+.3f}, minus the oracle: {lag:+.3f}")


def average_by_time(run: Run, worth: F64, seconds: float) -> float:
    """The mean share of PageRank over the first `seconds`: later pages add nothing, a crawl that ended stays at 1."""
    gains = worth[run.order] / worth[run.order].sum()
    return float((gains * np.maximum(0.0, seconds - run.time)).sum() / seconds) if seconds > 0 else 1.0


def polite(graph: WebGraph, quick: bool) -> None:
    worth = pagerank(graph.links, tolerance=1e-8).values
    found = {name: list[tuple[float, float]]() for name in POLITE}
    sets = starts(graph, 2 if quick else 5)
    for start in sets:
        runs = [simulate(graph, name, CLOCK, start=start, worth=worth) for name in POLITE]
        end = max(run.totals.seconds for run in runs)
        for run in runs:
            found[run.strategy].append((average_by_time(run, worth, end), run.totals.seconds / 3600))
    print(f"{graph.name or 'made'}: r = 64, w = 15 s, {len(sets)} start sets", flush=True)
    for name, each in found.items():
        areas, hours = np.array(each).T
        print(f"  {name:<22} {areas.mean():.4f} ± {areas.std():.4f}   ended after {hours.mean():6.1f} h", flush=True)


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    for graph in graphs(quick):
        if not names or any(name in graph.name for name in names):
            if "--polite" not in arguments:
                order_alone(graph, quick)
            if graph.sites > 1:
                polite(graph, quick)


if __name__ == "__main__":
    main(sys.argv[1:])
