"""`gossamer simulate --tune`: the exponents that keep an index most valuable within a budget (thesis 9.2).

Pages that are fetched once are fetched in the same order whatever the exponents are: a power keeps the order. They
matter where a visit to one page competes with a visit to another, that is, for re-visits: alpha says how much more an
important page is worth, gamma how soon a copy loses its value. (There is no beta: a page is fetched or not.) So each
pair is tried on pages that change, and judged by what no exponent can flatter: the mean freshness of the copies in the
second half, each weighted by the quality of its page.

The qualities are those of a graph, its PageRank as a score; the changes are drawn at random, at the rates that a
collection believes its pages to have or, for a graph, at rates like those of `worlds`. A real history has no links: its
pages are all worth the same, and only gamma can be tuned on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64
from gossamer.base.units import plural
from gossamer.laboratory.findings.finding import Column, Finding, Sentence, Table
from gossamer.laboratory.freshness.revisits import CHANGE, SPREAD, VISITS, Show
from gossamer.laboratory.freshness.run import Result, Way, simulate
from gossamer.laboratory.freshness.worlds import DAY, World, generated, rates_of

PAGES: Final = 500
"""Pages of a graph that are simulated, drawn at random."""
WORLDS: Final = 3
"""How often they are drawn, and their changes."""
ALPHAS: Final = (0.5, 1.0, 2.0, 4.0)
GAMMAS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
_STEP: Final = 2**0.5
_SHOWN: Final = 8


class Tried(NamedTuple):
    policy: str
    alpha: float
    gamma: float

    @property
    def usual(self) -> bool:
        return self == Tried("expected", 1.0, 1.0)

    def lines(self) -> list[str]:
        """For the section [manager] of a crawl.toml."""
        gamma = [f"gamma = {self.gamma:.3g}"] if self.policy == "profit" else []
        return [f'revisit = "{self.policy}"', f"alpha = {self.alpha:.3g}", *gamma]


class Outcome(NamedTuple):
    """By world."""

    freshness: F64
    """Weighted by quality."""
    age: F64
    """Days."""

    @staticmethod
    def of(results: Sequence[Result]) -> Outcome:
        halves = [float(each.visits[-1]) / 2 for each in results]
        pairs = list(zip(results, halves, strict=True))
        ages = [float(each.age[each.visits >= half].mean()) / DAY for each, half in pairs]
        return Outcome(np.array([each.mean(half) for each, half in pairs]), np.array(ages))

    @property
    def means(self) -> tuple[float, float]:
        return float(self.freshness.mean()), float(self.age.mean())


Weighted = tuple[World, F64 | None]
"""A world, and the importance of its pages; None: all have the same."""


class Tuned(NamedTuple):
    worlds: Sequence[Weighted]
    budget: float
    tried: dict[Tried, Outcome]

    @property
    def best(self) -> Tried:
        return _best(self.tried)

    @property
    def gain(self) -> tuple[float, float]:
        """By how much the best is fresher than the defaults, and the standard error of that; NaN from one world."""
        more = self.tried[self.best].freshness - self.tried[Tried("expected", 1.0, 1.0)].freshness
        return float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more))) if len(more) > 1 else float("nan")

    def as_json(self) -> dict[str, Any]:
        world, (gain, error) = self.worlds[0][0], self.gain
        return {
            "world": world.name,
            "worlds": len(self.worlds),
            "pages": world.pages,
            "changes": len(world.time),
            "budget": self.budget,
            "best": self.best._asdict(),
            "gain": gain,
            "standard_error": error if error == error else None,
            "settings": self.best.lines(),
            "tried": [
                each._asdict() | dict(zip(Outcome._fields, found.means, strict=True))
                for each, found in self.tried.items()
            ],
        }


def _best(tried: dict[Tried, Outcome]) -> Tried:
    return max(tried, key=lambda each: tried[each].means[0])


def _weighed(worlds: Sequence[Weighted]) -> bool:
    """Whether pages are of different worth."""
    return any(importance is not None and np.ptp(importance) > 0 for _, importance in worlds)


def worlds_on(name: str, qualities: F64, rates: F64 | None, budget: float, seed: int) -> list[Weighted]:
    """Some pages of a graph, which change, and their qualities, drawn several times."""
    return [_world_on(name, qualities, rates, budget, 1000 * seed + each) for each in range(WORLDS)]


def _world_on(name: str, qualities: F64, rates: F64 | None, budget: float, seed: int) -> Weighted:
    some = np.random.default_rng(seed).permutation(len(qualities))[:PAGES]
    drawn = rates_of(len(some), 1 / CHANGE, SPREAD, seed) if rates is None else rates[some]
    world = generated("poisson", drawn, VISITS / (budget * float(drawn.mean())), seed)
    return replace(world, name=name), qualities[some]


def tune(worlds: Sequence[Weighted], budget: float, seed: int, show: Show) -> Tuned:
    """Tries all pairs, and then those around the best."""
    found, weighed, name = dict[Tried, Outcome](), _weighed(worlds), worlds[0][0].name
    pairs = list(_all(weighed))
    for number, each in enumerate(_then_around(pairs, found, weighed)):
        part = min(1.0, number / (len(pairs) + 4))
        show(f"{name}: {each.policy}, alpha {each.alpha:.3g}, gamma {each.gamma:.3g}", part)
        way = Way(each.gamma, 0.0, each.alpha)
        found[each] = Outcome.of(
            [simulate(w, each.policy, budget * w.rate, seed=seed, way=way, importance=of) for w, of in worlds]
        )
    return Tuned(worlds, budget, found)


def _all(weighed: bool) -> Iterator[Tried]:
    alphas = ALPHAS if weighed else (1.0,)
    yield from (Tried("expected", alpha, 1.0) for alpha in alphas)
    yield from (Tried("profit", *pair) for pair in product(alphas, GAMMAS))


def _then_around(rounds: list[Tried], found: dict[Tried, Outcome], weighed: bool) -> Iterator[Tried]:
    yield from rounds
    best = _best(found)
    for factor in (1 / _STEP, _STEP):
        if weighed:
            yield best._replace(alpha=factor * best.alpha)
        if best.policy == "profit":
            yield best._replace(gamma=factor * best.gamma)


def finding(tuned: Tuned) -> Finding:
    columns = tuple(
        Column(*each)
        for each in (("policy",), ("alpha", ".3g"), ("gamma", ".3g"), ("freshness", ".4f"), ("age in days", ".2f"))
    )
    tried, world = tuned.tried, tuned.worlds[0][0]
    ranked = sorted(tried, key=lambda each: -tried[each].means[0])
    shown = [each for number, each in enumerate(ranked) if number < _SHOWN or each.usual]
    rows = tuple((*each, *tried[each].means) for each in shown)
    gain, error = tuned.gain
    chance = f", with a standard error of {error:.4f} over {len(tuned.worlds)} draws" if error == error else ""
    above = f"The best of {len(tried)} pairs is {gain:.4f} above the defaults{chance}."
    said = [Sentence(f"The defaults are the best of {len(tried)} pairs." if tuned.best.usual else above)]
    if not _weighed(tuned.worlds):
        said.append(Sentence("All pages are worth the same, so alpha changes nothing."))
    about = (
        f"{world.name}: {plural(world.pages, 'page')}, {plural(len(world.time), 'change')} in "
        f"{world.end / DAY:,.0f} days, {tuned.budget:g} visits for each change"
    )
    title = f"Exponents for {world.name}"
    return Finding("tune", title, "Thesis 9.2", about, (Table("tune", "", columns, rows),), (), tuple(said))
