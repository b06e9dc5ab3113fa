"""What signals of changes gain: a crawler that learns how far it may believe them, against one that knows.

    python -m bench.signals [PAGES] [SEEDS]

Both visit generated pages of five sites within a budget, with signals and without. The gain is the mean freshness with
signals minus that without, after twenty visits of a page. The one who knows has the true rates, the precision and the
share of the changes that come unannounced. Liars date every page anew each day; what they cost is the share of the
freshness that is lost to one who hears nothing.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Final

import numpy as np

from bench.bounds import Figure, judge
from gossamer.base.arrays import F64
from gossamer.laboratory.freshness.ear import Ear, Signals, announced, lies
from gossamer.laboratory.freshness.run import simulate
from gossamer.laboratory.freshness.worlds import DAY, World, generated, rates_of
from gossamer.manager.revisits.signals import Trust

BOUNDS: Final = {1.0: 0.90, 0.3: 0.80}
"""Least share of the gain, by visits for each change."""
LOST: Final = 0.5
"""Most that liars cost, in per cent of the freshness."""
KINDS: Final = ((0.2, 0.5), (0.5, 0.5), (0.8, 0.8))
"""Precision and recall."""
SITES: Final = 5
CHANGE, VISITS, FROM, SPREAD = 10 * DAY, 25, 20, 1.5


def world_of(pages: int, budget: float, seed: int) -> tuple[World, F64]:
    rates = rates_of(pages, 1 / CHANGE, SPREAD, seed)
    world = generated("poisson", rates, VISITS * CHANGE / budget, seed)
    return replace(world, site=np.arange(pages) % SITES), rates


def late(world: World, budget: float, seed: int, ear: Ear | None = None, rates: F64 | None = None) -> float:
    return simulate(world, "expected", budget * world.rate, rates, seed=seed, ear=ear).mean(FROM)


def gains(pages: int, budget: float, seed: int, precision: float, recall: float) -> tuple[float, float]:
    """What the learner gains, and what the one who knows gains."""
    world, rates = world_of(pages, budget, seed)
    signals: Signals = announced(world, precision, recall, seed)
    known = Trust(np.full(SITES, -np.log1p(-precision), np.float32), np.full(SITES, recall, np.float32))
    learned = late(world, budget, seed, Ear(world, signals)) - late(world, budget, seed)
    return learned, late(world, budget, seed, Ear(world, signals, known), rates) - late(
        world, budget, seed, None, rates
    )


def cost(pages: int, budget: float, seed: int) -> float:
    """What liars cost, in per cent."""
    world, _ = world_of(pages, budget, seed)
    return 100 * (1 - late(world, budget, seed, Ear(world, lies(world, DAY))) / late(world, budget, seed))


def main() -> None:
    pages, seeds = (int(given) for given in (*sys.argv[1:], *("2000", "2")[len(sys.argv) - 1 :]))
    figures = []
    for budget, least in BOUNDS.items():
        for kind in KINDS:
            found = np.mean([gains(pages, budget, seed, *kind) for seed in range(1, seeds + 1)], axis=0)
            name = f"share of the gain, budget {budget}, {kind[0]}/{kind[1]}"
            aside = f"{found[0]:+.4f} of {found[1]:+.4f}"
            figures.append(Figure(name, float(found[0] / found[1]), "", least, at_least=True, aside=aside))
            print(figures[-1], flush=True)
        lost = float(np.mean([cost(pages, budget, seed) for seed in range(1, seeds + 1)]))
        figures.append(Figure(f"cost of liars, budget {budget}", lost, "%", LOST))
    judge(figures)


if __name__ == "__main__":
    main()
