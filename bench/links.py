"""Link analysis and graphs: `python -m bench.links [pages, default 10^6]`

A generated Web of 10^6 pages and 2·10^7 links, once with pages ordered by site, as a crawl numbers them, and once with
pages in random order, the worst case for memory. Seconds of CPU time on one core. Bounds: PageRank to 1e-8 within 6 s,
strong components within 4 s, generation of a Web of 10^6 pages and 10^7 links within 30 s.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gossamer.laboratory.graphs.figures import figures
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import load
from gossamer.rank.components import bow_tie, strong_components
from gossamer.rank.graph import Csr, csr
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.opic import opic
from gossamer.rank.pagerank import EXACT, pagerank
from gossamer.rank.rankmass import rankmass
from gossamer.rank.weighted import linkrank

T = TypeVar("T")
DATA = Path(os.environ.get("GOSSAMER_DATA") or Path(__file__).parents[2] / "shared" / "data")


def measured(name: str, what: Callable[[], T], bound: float = 0.0, note: Callable[[T], str] = lambda _: "") -> T:
    start = time.process_time()
    found = what()
    seconds = time.process_time() - start
    verdict = f"bound {bound:g} s{'' if seconds <= bound else ': MISSED'}" if bound else ""
    print(f"{name:<44} {seconds:7.2f} s  {verdict:<16} {note(found)}", flush=True)
    return found


def shuffled(links: Csr) -> Csr:
    new = np.random.default_rng(1).permutation(links.pages).astype(np.uint32)
    sources = np.repeat(np.arange(links.pages), np.diff(links.offsets))
    return csr(links.pages, new[sources], new[links.targets])


def analysed(links: Csr) -> None:
    turns: Callable[[Any], str] = lambda r: f"{r.iterations} iterations"  # noqa: E731
    measured("  PageRank to 1e-8", lambda: pagerank(links, tolerance=EXACT), 6, turns)
    measured("  strong components", lambda: strong_components(links), 4, lambda c: f"{int(c.max()) + 1:,}")
    measured("  the same with scipy", lambda: _scipy(links), 0, lambda n: f"{n:,}")
    measured("  bow-tie, components included", lambda: bow_tie(links))
    measured("  hubs and authorities to 1e-6", lambda: hubs_and_authorities(links, 1e-6, 200), 0, turns)
    measured("  weighted link rank to 1e-8", lambda: linkrank(links, tolerance=EXACT))
    measured("  OPIC to .01", lambda: opic(links), 0, lambda o: f"{o.rounds} rounds")
    measured("  RankMass to 1e-8", lambda: rankmass(links, tolerance=EXACT), 0, lambda m: f"{m.turns} iterations")


def _scipy(links: Csr) -> int:
    try:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components
    except ImportError:
        return 0
    ones = np.ones(len(links.targets), np.int8)
    matrix = csr_matrix((ones, links.targets.astype(np.int32), links.offsets), shape=(links.pages, links.pages))
    return int(connected_components(matrix, connection="strong")[0])


def main(pages: int) -> None:
    figures(make(1_000))  # compiles the kernels
    small = csr(3, np.array([0, 1]), np.array([1, 2]))
    for warm in (pagerank, hubs_and_authorities, linkrank, opic, rankmass):
        warm(small)
    made = measured(f"{pages:,} pages with 10 links each, generated", lambda: make(pages), 30)
    measured("  their figures", lambda: figures(made))
    web = measured(f"{pages:,} pages with 20 links each, generated", lambda: make(pages, 20), 30)
    print(f"{len(web.links.targets):,} links, ordered by site")
    analysed(web.links)
    print("the same links, pages in random order")
    analysed(shuffled(web.links))
    for name in ("cnr-2000", "debian-docs"):
        path = DATA / "graphs" / f"{name}.npz"
        if path.exists():
            real = measured(f"{name}, read", lambda path=path: load(path))  # type: ignore[misc]
            print(f"{len(real.links.targets):,} links of {real.pages:,} pages")
            analysed(real.links)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
