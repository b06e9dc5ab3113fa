"""Cost of simulations: `python -m bench.simulate [pages, default 10^6]`

A generated Web of 10^6 pages and 10^7 links, one core, seconds of CPU time. Bounds: with clock and politeness within
60 s (aim 10), the order alone within 10 s; debian-docs, if present, within 2 GB of memory. Kernels are compiled before.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.links import DATA
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import WebGraph, load
from gossamer.laboratory.simulate.run import simulate
from gossamer.laboratory.simulate.scenario import Scenario, Servers

POLITE: Final = Scenario(connections=64, wait=15.0, servers=Servers.measured(), bandwidth=2e6)
ALONE, CLOCK, MEMORY = 10.0, 60.0, 2e9
MEASURED: Final = (
    ("order alone", "breadth-first", Scenario(), ALONE),
    ("order alone", "opic", Scenario(), ALONE),
    ("order alone", "completed-pagerank", Scenario(), 0.0),
    ("politeness, page by page", "opic", POLITE, CLOCK),
    ("politeness, page by page", "larger-sites-first", POLITE, CLOCK),
    ("politeness, plans of 10,000", "opic", replace(POLITE, batch=10_000), CLOCK),
)


def most_memory() -> int:
    """Peak memory in bytes."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024


def main(pages: int) -> None:
    graph, missed = make(pages=pages, seed=1), 0
    small = make(pages=2_000, seed=1)
    print(f"{graph.pages:,} pages, {len(graph.links.targets):,} links, {graph.sites:,} sites")
    for what, strategy, scenario, bound in MEASURED:
        simulate(small, strategy, scenario)
        run = simulate(graph, strategy, scenario)
        wrong = bound and run.totals.cpu > bound * pages / 1e6
        missed += bool(wrong)
        verdict = f"bound {bound:g} s{': MISSED' if wrong else ''}" if bound else ""
        print(
            f"  {what:<28} {strategy:<20} {run.totals.cpu:6.1f} s  {verdict:<18} {len(run.order):>9,} pages fetched, "
            f"{run.totals.seconds / 3600:,.1f} virtual hours",
            flush=True,
        )
    if (Path(DATA) / "graphs" / "debian-docs.npz").exists():
        command = [sys.executable, "-m", "bench.simulate", "memory"]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        used = int(said.stdout)
        missed += used > MEMORY
        print(f"  memory for debian-docs: {used / 1e9:.2f} GB, bound 2 GB{': MISSED' if used > MEMORY else ''}")
    sys.exit(1 if missed else 0)


def memory() -> None:
    graph: WebGraph = load(Path(DATA) / "graphs" / "debian-docs.npz")
    simulate(graph, "completed-pagerank", POLITE)
    print(most_memory())


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        memory()
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
