"""Duration of a plan: python -m bench.plan [largest number of pages, default 10^7]

Bounds: 10^7 known pages in 0.25 s on one thread, also when one site holds half of them; in 0.35 s in a continuous crawl
that has fetched a tenth of them.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from gossamer.base.model import Outcome, State
from gossamer.crawler.parts import new_columns
from gossamer.desk.columns import Columns
from gossamer.manager.plan import make_plan
from gossamer.manager.revisits.rates import CODES
from gossamer.manager.steer import Steering
from gossamer.manager.strategies import LIVE
from gossamer.manager.value import Value

WALL = 1.6e9
BATCH, PER_SITE = 100_000, 500
ISSUED = 2**53
EVERYTHING = {"opic": 1.0, "pagerank": 1.0, "depth": 1.0, "static": 1.0, "pending": 1.0, "boost": 1.0}
DAY = 86_400.0
DEFAULT = Value()


def sites_of(kind: str, known: int, sites: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "zipf 1.77":
        return np.minimum(rng.zipf(1.77, known) - 1, sites - 1)
    uniform = rng.integers(0, sites, known)
    return np.where(rng.random(known) < 0.5, 0, uniform) if kind == "one has half" else uniform


def make_columns(known: int, kind: str, rng: np.random.Generator) -> Columns:
    sites = max(100, known // 100)
    columns = new_columns(known, sites)
    columns.page.count, columns.site.count, columns.origin.count = known, sites, sites
    columns.origin.site[:sites] = np.arange(sites)
    columns.page.origin[:] = sites_of(kind, known, sites, rng)
    columns.page.depth[:] = np.minimum(rng.geometric(0.3, known), 15)
    columns.page.cash[:] = np.minimum(rng.pareto(1.1, known) * 2**20, 2**53).astype(np.uint64)
    columns.page.merit[:] = np.minimum(rng.pareto(1.1, known) / 20, 1)
    columns.page.boost[:] = rng.random(known) < 0.01
    columns.site.pending[:sites] = np.bincount(columns.page.origin[:], minlength=sites)
    return columns


def row(name: str, columns: Columns, policy: str, value: Value = DEFAULT) -> None:
    """Prints elapsed time and CPU time (which counts on a busy machine): the median of five."""
    plans, spent = [], []
    steering = Steering(0.5) if value.continuous else None
    for _ in range(5):
        start = time.thread_time()
        plans.append(make_plan(columns, LIVE[policy], WALL, BATCH, PER_SITE, np.inf, value, ISSUED, steering))
        spent.append(time.thread_time() - start)
    seconds, pages, sites = sorted(p.seconds for p in plans), len(plans[0].pages), len(plans[0].sites)
    print(
        f"{columns.page.count:>10,}  {name:<48} {seconds[2] * 1e3:7.1f} ms, {sorted(spent)[2] * 1e3:6.1f} of CPU"
        f"  {pages:>7,} pages of {sites:,} sites"
    )


def main(most: int) -> None:
    rng = np.random.default_rng(1)
    make_plan(make_columns(200_000, "uniform", rng), LIVE["opic"], WALL, BATCH, PER_SITE)
    known = 100_000
    while known <= most:
        for kind in ("uniform", "zipf 1.77", "one has half"):
            columns = make_columns(known, kind, rng)
            for policy in LIVE:
                row(f"{kind} sites, {policy}", columns, policy)
        row("one has half, value, all scores", columns, "value", Value(EVERYTHING))
        columns.page.cash[:].sort()
        row("one has half, opic, cash rising", columns, "opic")
        columns.page.cash[:] = 7
        row("one has half, opic, all cash equal", columns, "opic")
        columns.page.cash[:] = rng.integers(0, 2**40, known)
        columns.page.state[: int(known * 0.9)] = State.DONE
        columns.page.outcome[:] = Outcome.OK
        columns.page.due[:] = WALL - rng.integers(0, int(90 * DAY), known)
        for policy in LIVE:
            row(f"one has half, {policy}, 90 % done", columns, policy)
        again = Value(EVERYTHING, alpha=0.5, gamma=2.0, min_period=DAY)
        row("the same, all scores, news, pages to refetch", columns, "value", again)
        columns.page.state[int(known * 0.1) :] = State.PENDING
        columns.page.belief[:] = rng.integers(0, CODES, known)
        row("one has half, continuous, 10 % done", columns, "value", Value(min_period=DAY, continuous=True))
        known *= 10


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
