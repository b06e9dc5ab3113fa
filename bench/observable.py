"""The best re-visits of a rule that sees only what its visits find: `python -m bench.observable [SPREAD]`

A crawler that knows all rates gives up the pages that change too often. One that does not know them can tell such pages
from others by visits alone, and visits are what it lacks: at 0.2 visits for each change, four of five visits find that
the page has changed. So there is a best rule, and it is worth less than the one that knows.

It is computed here by dynamic programming. Between two visits nothing is seen, so after each visit a rule chooses the
time of the next. What it knows of a page is the time and its belief, a mean and a spread of the logarithm of the rate;
the prior is known. A visit costs a price, which may change with time; the prices are found for which the visits within
each twelfth of the time are those of the budget. Then the value of the programme, plus the budget at these prices, is
more than any rule within the budget can reach (Lagrange's bound; beliefs as normal distributions and times in steps of
half a mean change are approximations). The rules of the last rounds of the search are simulated, each for an equal part
of the pages, so that the bound is seen to be near.

The time is 36 visits of a page, so that the end is far from what is looked at: the tenth to twelfth visit, and the
twentieth to twenty-fourth, as in `bench.freshness`. It takes three minutes of processor time.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, Array
from gossamer.manager.revisits.policies import for_freshness

BUDGET: Final = 0.2
"""Visits of a page in the mean time between two changes, which is the unit of time."""
STEP: Final = 0.5
END: Final = 36 / BUDGET
STEPS: Final = round(END / STEP)
PARTS: Final = 18
"""Parts of the time, each of which has a price."""
OF_PART: Final = STEPS // PARTS
WAITS: Final = np.unique(np.rint(np.concatenate((np.arange(1, 25), 24 * 1.15 ** np.arange(1, 18)))).astype(np.int64))
"""Steps from a visit to the next."""
MEANS, SPREADS = np.linspace(-5.0, 4.0, 46), np.linspace(0.05, 2.05, 26)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_PAGES: Final = 8_000
_ROUNDS, _LAST = 40, 16
WINDOWS: Final = {"10 to 12": (50.0, 60.0), "20 to 24": (100.0, 120.0)}


def _rates(mean: F64, spread: F64) -> F64:
    return np.asarray(np.exp(mean[..., None] + spread[..., None] * _NODES))


class Grid:
    """Beliefs, and what visits make of them."""

    def __init__(self) -> None:
        self.mean, self.spread = (each.ravel() for each in np.meshgrid(MEANS, SPREADS, indexing="ij"))
        rates = _rates(self.mean, self.spread)
        self.chance = np.empty((len(WAITS), len(self.mean)))
        self.after = []
        for at, wait in enumerate((STEP * WAITS).tolist()):
            self.chance[at] = -np.expm1(-rates * wait) @ _WEIGHTS
            self.after.append([self.places(*updated(self.mean, self.spread, wait, changed)) for changed in (0, 1)])
        ages = STEP * np.arange(STEPS + 1)
        # expected time up to date within each step after a visit
        upto = np.stack([-np.expm1(-rates * age) / rates @ _WEIGHTS for age in ages])
        self.fresh = np.diff(upto, axis=0)

    @staticmethod
    def places(mean: F64, spread: F64) -> tuple[I64, F64]:
        """The four corners of the cell of each belief, and their weights."""
        x = np.clip((mean - MEANS[0]) / (MEANS[1] - MEANS[0]), 0, len(MEANS) - 1.001)
        y = np.clip((spread - SPREADS[0]) / (SPREADS[1] - SPREADS[0]), 0, len(SPREADS) - 1.001)
        i, j = x.astype(np.int64), y.astype(np.int64)
        a, b, row = x - i, y - j, len(SPREADS)
        corners = np.stack((i * row + j, i * row + j + 1, (i + 1) * row + j, (i + 1) * row + j + 1))
        return corners, np.stack(((1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b))


def updated(mean: F64, spread: F64, waits: F64 | float, changed: Array | int) -> tuple[F64, F64]:
    """Mean and spread after a visit that found a change, or none."""
    logs = mean[:, None] + spread[:, None] * _NODES
    same = np.exp(-np.exp(logs) * np.reshape(waits, (-1, 1)))
    weights = _WEIGHTS * np.where(np.reshape(changed, (-1, 1)) == 1, 1 - same, same) + 1e-300
    weights /= weights.sum(1, keepdims=True)
    first = (weights * logs).sum(1)
    return first, np.sqrt(np.maximum((weights * (logs - first[:, None]) ** 2).sum(1), 1e-3))


@dataclass(frozen=True, slots=True)
class Programme:
    choice: Array
    """By step and belief: how many steps to wait; 0: the page is not visited again."""
    value: F64
    """By belief, of a page that was just visited at the start."""


def solve(grid: Grid, prices: F64) -> Programme:
    """The best waits. `prices` of a visit are by step."""
    beliefs = len(grid.mean)
    value, choice = np.zeros((STEPS + 1, beliefs)), np.zeros((STEPS, beliefs), np.int16)
    fresh = np.cumsum(grid.fresh, axis=0)
    for step in range(STEPS - 1, -1, -1):
        left = STEPS - step
        best = fresh[left - 1].copy()  # it is not visited again
        for at, wait in enumerate(WAITS[left > WAITS].tolist()):
            later = value[step + wait]
            ahead = [(later[corners] * weights).sum(0) for corners, weights in grid.after[at]]
            found = fresh[wait - 1] - prices[step + wait]
            found += (1 - grid.chance[at]) * ahead[0] + grid.chance[at] * ahead[1]
            better = found > best
            best[better], choice[step, better] = found[better], wait
        value[step] = best
    return Programme(choice, value[0])


def follow(grid: Grid, programme: Programme, spread: float, seed: int) -> tuple[F64, F64]:
    """Simulates the rule; returns visits of a page and share of fresh copies, by step."""
    random = np.random.default_rng(seed)
    rates = np.exp(-(spread**2) / 2 + spread * random.standard_normal(_PAGES))
    rates /= rates.mean()
    mean, wide = np.full(_PAGES, -(spread**2) / 2), np.full(_PAGES, spread)
    last, due, visits, fresh = np.zeros(_PAGES), np.zeros(_PAGES, np.int64), np.zeros(STEPS), np.zeros(STEPS)
    stale = random.exponential(1 / rates)
    for step in range(STEPS):
        now = STEP * step
        some = np.flatnonzero(due == step)
        if step and len(some):
            changed = (stale[some] <= now).astype(np.int64)
            mean[some], wide[some] = updated(mean[some], wide[some], now - last[some], changed)
            last[some], stale[some] = now, now + random.exponential(1 / rates[some])
            visits[step] = len(some) / _PAGES
        if len(some):
            corners, weights = grid.places(mean[some], wide[some])
            nearest = corners[weights.argmax(0), np.arange(len(some))]
            wait = programme.choice[step, nearest].astype(np.int64)
            due[some] = np.where(wait > 0, step + wait, -1)
        fresh[step] = (np.clip(np.minimum(stale, now + STEP) - now, 0, STEP)).mean() / STEP
    return visits, fresh


def best(grid: Grid, spread: float) -> None:
    part = np.minimum(np.arange(STEPS + 1) // OF_PART, PARTS - 1)
    logs, allowed = np.zeros(PARTS), BUDGET * END / PARTS
    start, weights = Grid.places(np.array([-(spread**2) / 2]), np.array([spread]))
    bound, known = np.inf, _with_known_rates(spread)
    visits, fresh = np.zeros(STEPS), np.zeros(STEPS)
    for number in range(_ROUNDS):
        prices = np.exp(logs)
        programme = solve(grid, prices[part])
        value = float((programme.value[start[:, 0]] * weights[:, 0]).sum()) + float(prices.sum()) * allowed
        bound = min(bound, value)
        made, found = follow(grid, programme, spread, number)
        logs += 0.6 / (1 + number / 10) * np.clip(made.reshape(PARTS, -1).sum(1) / allowed - 1, -1, 1)
        if number >= _ROUNDS - _LAST:
            visits, fresh = visits + made / _LAST, fresh + found / _LAST
    print(f"bound for all rules: {100 * bound / END / known:.2f} % of the freshness with known rates, in all visits")
    print(f"visits of the rule, by part, as a share of the budget: {visits.reshape(PARTS, -1).sum(1) / allowed}")
    for of, (first, last) in WINDOWS.items():
        share = fresh[round(first / STEP) : round(last / STEP)].mean()
        print(f"the rule, visits {of}: {100 * share / known:.2f} %")
    print(f"the rule, all visits: {100 * fresh.mean() / known:.2f} %")


def _with_known_rates(spread: float) -> float:
    nodes = np.linspace(-6, 6, 4001)
    weights = np.exp(-nodes * nodes / 2)
    weights /= weights.sum()
    rates = np.exp(-(spread**2) / 2 + spread * nodes)
    often = for_freshness(rates, np.ones(len(rates)), BUDGET, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = rates / often
        return float(np.where(often > 0, -np.expm1(-x) / x, 0.0) @ weights)


def main() -> None:
    np.set_printoptions(precision=2, suppress=True, linewidth=200)
    spread = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    known = _with_known_rates(spread)
    print(f"{BUDGET} visits for each change, spread {spread:g}: freshness with known rates {known:.4f}")
    best(Grid(), spread)


if __name__ == "__main__":
    main()
