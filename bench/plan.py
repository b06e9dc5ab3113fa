"""How long a plan takes: python -m bench.plan [greatest number of pages, default 10^7]

Bound: 10^7 known pages in 0.25 s on one thread, also when one site holds half of them.
"""

from __future__ import annotations

import sys

import numpy as np

from gossamer.collection.columns import Columns
from gossamer.manager.plan import make_plan
from gossamer.manager.policies import POLICIES
from gossamer.model import State

WALL = 1.6e9
BATCH, PER_SITE = 100_000, 500


def sites_of(kind: str, known: int, sites: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "zipf 1.77":
        return np.minimum(rng.zipf(1.77, known) - 1, sites - 1)
    uniform = rng.integers(0, sites, known)
    return np.where(rng.random(known) < 0.5, 0, uniform) if kind == "one holds half" else uniform


def make_columns(known: int, kind: str, rng: np.random.Generator) -> Columns:
    sites = max(100, known // 100)
    columns = Columns(known, sites)
    columns.page.count, columns.site.count, columns.origin.count = known, sites, sites
    columns.origin.site[:sites] = np.arange(sites)
    columns.page.origin[:] = sites_of(kind, known, sites, rng)
    columns.page.depth[:] = np.minimum(rng.geometric(0.3, known), 15)
    columns.page.cash[:] = np.minimum(rng.pareto(1.1, known) * 2**20, 2**60).astype(np.uint64)
    return columns


def row(name: str, columns: Columns, policy: str) -> None:
    plans = [make_plan(columns, POLICIES[policy], WALL, BATCH, PER_SITE) for _ in range(5)]
    seconds = sorted(plan.seconds for plan in plans)
    pages, sites = len(plans[0].pages), len(plans[0].sites)
    print(f"{columns.page.count:>10,}  {name:<44} {seconds[2] * 1e3:7.1f} ms  (worst {seconds[-1] * 1e3:.1f})"
          f"  {pages:>7,} pages of {sites:,} sites")  # fmt: skip


def main(most: int) -> None:
    rng = np.random.default_rng(1)
    make_plan(make_columns(200_000, "uniform", rng), POLICIES["opic"], WALL, BATCH, PER_SITE)
    known = 100_000
    while known <= most:
        for kind in ("uniform", "zipf 1.77", "one holds half"):
            columns = make_columns(known, kind, rng)
            for policy in POLICIES:
                row(f"{kind} sites, {policy}", columns, policy)
        columns.page.cash[:].sort()
        row("one holds half, opic, cash rising", columns, "opic")
        columns.page.cash[:] = 7
        row("one holds half, opic, all cash equal", columns, "opic")
        columns.page.cash[:] = rng.integers(0, 2**40, known)
        columns.page.state[: int(known * 0.9)] = State.DONE
        row("one holds half, opic, 90 % done", columns, "opic")
        known *= 10


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
