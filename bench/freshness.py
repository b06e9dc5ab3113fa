"""How near re-visits come to those of a crawler that knows all rates: `python -m bench.freshness [PAGES] [SEEDS]`

Generated pages, whose rates of change are log-normal, are visited again within a constant budget: by the rule of a
crawl (`expected`, with what it learns), by the same rule with all rates known, and uniformly. Bounds, on means of all
seeds: the share of the freshness with known rates after 10 and after 20 visits of a page; never below uniform; pages
that the rule with known rates visits in the second half and the learner does not; and how far the observed share of
changes is from the predicted one, in each tenth of the predictions after 20 visits.

With 10,000 pages and ten seeds it takes about twenty minutes of processor time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from bench.bounds import Figure, judge
from gossamer.base.arrays import F64
from gossamer.laboratory.freshness.revisits import calibration
from gossamer.laboratory.freshness.run import Result, simulate
from gossamer.laboratory.freshness.worlds import DAY, generated, rates_of

SPREADS: Final = (1.0, 1.5, 2.0)
"""Standard deviations of the logarithms of the rates."""
BOUNDS: Final = {5.0: (98.5, 99.0), 1.0: (98.5, 99.0), 0.2: (93.0, 94.0)}
"""Least shares in per cent, after 10 and 20 visits, by visits for each change."""
STARVED: Final = 1.0
"""Per cent of the pages."""
CALIBRATED: Final = 5.0
"""Points of a hundred."""
LEAST: Final = 1000
"""Visits in a tenth by which it can be judged."""
CHANGE, VISITS = 10 * DAY, 24
AFTER: Final = ((10.0, 12.0), (20.0, 24.0))
"""Visits of a page between which the freshness counts."""


class Cell(NamedTuple):
    """What one world gave."""

    shares: F64
    """Of the freshness with known rates, after 10 and 20 visits, in per cent."""
    above_uniform: float
    """Least surplus over uniform visits, in per cent."""
    starved: float
    tenths: F64
    """Visits, the sum of their predicted probabilities, and those that found a change, by tenth."""


def cell(pages: int, spread: float, budget: float, seed: int) -> Cell:
    rates = rates_of(pages, 1 / CHANGE, spread, seed)
    world = generated("poisson", rates, VISITS * CHANGE / budget, seed)
    ours, known, uniform = (
        simulate(world, policy, budget * world.rate, given, seed=seed)
        for policy, given in (("expected", None), ("expected", rates), ("uniform", None))
    )
    after = np.array([[of.mean(*part) for part in AFTER] for of in (ours, known, uniform)])
    return Cell(
        100 * after[0] / after[1],
        float((100 * (after[0] / after[2] - 1)).min()),
        100 * float((ours.unvisited & ~known.unvisited).mean()),
        _tenths(ours),
    )


def _tenths(result: Result) -> F64:
    found = np.zeros((3, 10))
    for each in calibration(result, since=AFTER[1][0] / VISITS):
        n = each["visits"]
        found[:, round(10 * each["from"])] = n, n * each["predicted"], n * each["changed"]
    return found


def figures(pages: int, seeds: int) -> Iterator[Figure]:
    for budget, least in BOUNDS.items():
        for spread in SPREADS:
            cells = [cell(pages, spread, budget, seed) for seed in range(1, seeds + 1)]
            of = f"budget {budget:g}, sigma {spread:g}"
            shares = np.array([each.shares for each in cells])
            for number, (visits, _) in enumerate(AFTER):
                aside = f"seeds from {shares[:, number].min():.2f} to {shares[:, number].max():.2f}"
                mean = float(shares[:, number].mean())
                yield Figure(f"{of}: after {visits:.0f} visits", mean, "%", least[number], at_least=True, aside=aside)
            yield Figure(f"{of}: above uniform", min(c.above_uniform for c in cells), "%", 0.0, at_least=True)
            yield Figure(f"{of}: starved", float(np.mean([each.starved for each in cells])), "% of the pages", STARVED)
            count, predicted, changed = np.sum([each.tenths for each in cells], axis=0)
            judged = count >= LEAST
            off = 100 * np.abs(predicted - changed)[judged] / count[judged]
            yield Figure(f"{of}: farthest tenth", float(off.max()), "points", CALIBRATED)


def main() -> None:
    pages, seeds = (int(given) for given in (*sys.argv[1:], *("10000", "10")[len(sys.argv) - 1 :]))
    found = []
    for figure in figures(pages, seeds):
        print(figure, flush=True)
        found.append(figure)
    judge([figure for figure in found if not figure.is_good])


if __name__ == "__main__":
    main()
