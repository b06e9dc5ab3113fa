"""Freshness (2.4.2): which policy of re-visits keeps copies up to date, on generated pages and on real histories.

The thesis cites the results of Cho and Garcia-Molina; the worked example is theirs. Policies other than `uniform` and
`adaptive` use rates that the crawler has learned from its own visits, all by the same estimator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.base.units import plural
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table, compared
from gossamer.laboratory.freshness.run import Result, simulate
from gossamer.laboratory.freshness.worlds import DAY, World, generated, history, rates_of
from gossamer.laboratory.reproduce.lab import Lab, number, percent, says, titled
from gossamer.manager.revisits import rates as estimators
from gossamer.manager.revisits.policies import POLICIES, for_freshness

EXAMPLE: Final = {1: 1.15, 2: 1.36, 3: 1.35, 4: 1.14, 5: 0.00}
"""Visits per day that keep five pages freshest, by their changes per day, with five visits per day in all."""
BUDGETS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Visits for each change."""
PAGES: Final = 1000
SPREAD: Final = 1.5
CHANGE: Final = 10 * DAY
VISITS: Final = 24
YEARS: Final = 10
SHARED: Final = Path("../shared/data/changes")
SUFFIX: Final = ".changes.tsv.gz"
_OURS: Final = "expected"

Runs = dict[tuple[str, float], Result]
"""By policy and budget."""


def freshness(lab: Lab) -> Finding:
    name, seed = "freshness", lab.random_seed
    mean = 1 / CHANGE
    of = rates_of(PAGES, mean, SPREAD, seed)
    runs: Runs = {}
    for budget in BUDGETS:
        world = generated("poisson", of, VISITS / (budget * mean), seed)
        runs |= _runs(lab, world, budget, seed)
        runs["known", budget] = simulate(world, _OURS, budget * world.rate, of, seed=seed)
    worlds = [history(path, YEARS * 365.0) for path in histories()]
    real = {world.name: _of_history(lab, world, seed) for world in worlds}
    tables = [
        compared(f"{name}-example", "Visits per day, by changes per day", "changes", _example(), ".2f"),
        _table(f"{name}-policies", f"Mean freshness after {VISITS // 2} visits, by visits for each change", runs),
        _table(f"{name}-age", "Mean age in days, by visits for each change", runs, _age),
        _biases(f"{name}-estimators"),
        *(_table(f"{name}-{each}", f"Mean freshness, {each}", found, _whole) for each, found in real.items()),
    ]
    plots = [_plot(name, "generated pages", runs, _late)]
    plots += [_plot(f"{name}-{each}", each, found, _whole) for each, found in real.items()]
    about = "; ".join(
        f"{w.name}: {plural(w.pages, 'page')}, {plural(len(w.time), 'change')} in {YEARS} years" for w in worlds
    )
    setting = (
        f"{PAGES:,} generated pages with a change in {CHANGE / DAY:.0f} days on average, logarithms of the rates with a"
        f" standard deviation of {SPREAD}. {about or 'No real history was found'}."
    )
    return titled(name, setting, tables, plots, [*_sentences(runs), *_of_real(real)])


def histories() -> list[Path]:
    """Real histories on disk: in the folder of the variable GOSSAMER_DATA, else in `../shared/data/changes`."""
    folder = Path(os.environ["GOSSAMER_DATA"]) if os.environ.get("GOSSAMER_DATA") else SHARED
    return sorted(folder.glob(f"*{SUFFIX}"))


def _runs(lab: Lab, world: World, budget: float, seed: int) -> Runs:
    found: Runs = {}
    for number_of, policy in enumerate(POLICIES):
        lab.bench.show(f"{world.name}, {budget:g} visits for each change: {policy}", number_of / len(POLICIES))
        found[policy, budget] = simulate(world, policy, budget * world.rate, seed=seed)
    return found


def _of_history(lab: Lab, world: World, seed: int) -> Runs:
    found: Runs = {}
    for budget in (0.2, 1.0, 5.0):
        found |= _runs(lab, world, budget, seed)
    return found


def _example() -> list[tuple[str, float | None, float | None]]:
    changes = np.array(list(EXAMPLE), np.float64)
    ours = for_freshness(changes, np.ones(len(changes)), 5.0)
    return [(f"{c:.0f}", EXAMPLE[int(c)], float(f)) for c, f in zip(changes, ours, strict=True)]


def _late(result: Result) -> float:
    return result.mean(VISITS / 2)


def _whole(result: Result) -> float:
    return result.mean(0)


def _age(result: Result) -> float:
    return float(result.age[result.visits >= VISITS / 2].mean()) / DAY


def _table(name: str, title: str, runs: Runs, of: Callable[[Result], float] = _late) -> Table:
    budgets = sorted({budget for _, budget in runs})
    policies = dict.fromkeys(policy for policy, _ in runs)
    form = ".2f" if of is _age else ".4f"
    columns = (Column("policy"), *(Column(f"{budget:g}", form) for budget in budgets))
    return Table(name, title, columns, tuple((p, *(of(runs[p, b]) for b in budgets)) for p in policies))


def _plot(name: str, title: str, runs: Runs, of: Callable[[Result], float]) -> Plot:
    budgets = sorted({budget for _, budget in runs})
    lines = (Series(p, budgets, [of(runs[p, b]) for b in budgets]) for p in dict.fromkeys(p for p, _ in runs))
    return Plot(name, f"Freshness by budget: {title}", "visits for each change", "freshness", tuple(lines), x_log=True)


def _biases(name: str) -> Table:
    """Mean estimate after ten comparisons at even intervals, in changes per interval."""
    random, count, columns = np.random.default_rng(1), 10, ("X / N", "(2.3)", "corrected")
    rows = []
    for true in (0.1, 0.5, 1.0, 2.0, 3.0):
        changes = random.binomial(count, -np.expm1(-true), 20_000)
        n, s = np.full(len(changes), count), np.full(len(changes), float(count))
        found: tuple[F64, ...] = (
            changes / count,
            estimators.comparisons(n, changes, s),
            estimators.corrected(n, changes, s),
        )
        rows.append((true, *(float(each.mean()) for each in found)))
    return Table(
        name,
        "Estimators: mean estimate after ten comparisons, in changes per interval",
        (Column("true", ".1f"), *(Column(each, ".3f") for each in columns)),
        tuple(rows),
    )


def _sentences(runs: Runs) -> list[Sentence]:
    at = {policy: _late(runs[policy, 1.0]) for policy, _ in runs}
    ages = {policy: _age(runs[policy, 1.0]) for policy, _ in runs}
    best = max(at[each] for each in POLICIES if each != _OURS)
    example = all(paper is not None and ours is not None and abs(paper - ours) < 0.006 for _, paper, ours in _example())
    shares = [_late(runs[_OURS, b]) / _late(runs["known", b]) for b in BUDGETS]
    return [
        says("1.15, 1.36, 1.35, 1.14 and 0 visits per day for 1 to 5 changes per day", "the same to 0.005", example),
        says(
            "uniform visits are fresher than proportional ones",
            f"{number(at['uniform'])} and {number(at['proportional'])}, with one visit for each change",
            at["uniform"] > at["proportional"],
        ),
        says(
            "the optimum for freshness is neither",
            f"{number(at['freshness'])} with learned rates",
            at["freshness"] > max(at["uniform"], at["proportional"]),
        ),
        says(
            "the optimum for age visits pages that change more often more often, less than proportionally",
            f"an age of {ages['age']:.2f} days; uniform {ages['uniform']:.2f}, proportional {ages['proportional']:.2f}",
            ages["age"] <= min(ages["uniform"], ages["proportional"]),
        ),
        Sentence(f"Our policy, expected, has {number(at[_OURS])}, and the best other one {number(best)}."),
        Sentence(
            "With learned rates it reaches "
            + ", ".join(f"{percent(s)} ({b:g})" for s, b in zip(shares, BUDGETS, strict=True))
            + " of the freshness that it has with known rates, by visits for each change."
        ),
    ]


def _of_real(real: dict[str, Runs]) -> list[Sentence]:
    found = []
    for name, runs in real.items():
        for budget in sorted({budget for _, budget in runs}):
            others = {policy: _whole(run) for (policy, b), run in runs.items() if b == budget and policy != _OURS}
            best = max(others, key=lambda each: others[each])
            ours = _whole(runs[_OURS, budget])
            found.append(
                Sentence(
                    f"{name}, {budget:g} visits for each change: expected {number(ours)};"
                    f" {best}, the best other, {number(others[best])} ({100 * (ours / others[best] - 1):+.1f} %)."
                )
            )
    return found
