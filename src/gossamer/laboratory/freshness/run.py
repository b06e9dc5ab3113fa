"""A simulated crawler that visits the pages of a world again: within a budget, by one of the policies.

Every page is fetched when it is born; that visit is free, since this simulation compares re-visits alone. The crawler
learns from its visits (`learner`), or is told the true rates. It chooses a batch of pages at a time, a
hundredth of all. A page that a visit finds dead leaves the crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, Bools
from gossamer.laboratory.freshness.ear import Ear
from gossamer.laboratory.freshness.learner import Learner
from gossamer.laboratory.freshness.worlds import World
from gossamer.manager.revisits.policies import POLICIES, Moment, lots_of
from gossamer.manager.revisits.rates import Belief, Prior

BATCHES: Final = 100
"""Batches in which every page could be visited once."""
UNLEARNED: Final = ("uniform", "random", "adaptive")
"""Policies that need no rates."""
_SHRINK, _GROW = 0.8, 1.2
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True)
class Result:
    """The course of a simulation: one element for each batch."""

    visits: F64
    """Visits so far, per page of the world."""
    freshness: F64
    """Share of the pages whose copy is up to date, or importance of them."""
    age: F64
    """Mean seconds since copies became outdated."""
    prior: Prior
    unvisited: Bools
    """Pages that were there in the second half, all of it, and were not visited in it."""
    starved: float
    """Share of these."""
    predicted: F64
    """Predicted probability of a change at each visit of the second half."""
    changed: F64

    def mean(self, first: float, last: float = np.inf) -> float:
        """Mean freshness while the visits per page were in this range."""
        return float(self.freshness[(self.visits >= first) & (self.visits < last)].mean())


class Way(NamedTuple):
    """What else decides which pages are visited."""

    gamma: float = 1.0
    min_period: float = 0.0
    """Seconds; no page is visited sooner again."""
    alpha: float = 1.0
    """Exponent of the importance of a page."""


USUAL: Final = Way()


class Crawler:
    """The state of the simulated crawler."""

    def __init__(
        self,
        world: World,
        policy: str,
        budget: float,
        rates: F64 | None,
        period: float,
        seed: int,
        way: Way = USUAL,
        ear: Ear | None = None,
    ) -> None:
        pages, random = world.pages, np.random.default_rng(seed)
        self.world, self._policy, self._budget = world, (POLICIES[policy], way), budget
        self._learns = rates is None and policy not in UNLEARNED
        self.last = np.where(world.births == 0, -random.random(pages) * min(pages / budget, period), world.births)
        self.stale = world.next_change(np.arange(pages), np.maximum(self.last, 0.0))
        self.left = np.ones(pages, bool)
        """Pages that are not known to be dead."""
        self._intervals, self._lots = np.full(pages, pages / budget), lots_of(np.arange(pages), np.zeros(pages))
        self.weights = np.ones(pages)
        self._learner, self._ear = Learner(world, period, rates, random), ear

    def visit(self, now: float, count: int, visits: float) -> tuple[I64, F64]:
        """Visits `count` pages; returns them with the predicted probability that they have changed."""
        policy, way = self._policy
        rested = self.last <= now - way.min_period if way.min_period else True
        known = np.flatnonzero(self.left & (self.world.births < now) & rested)
        if not len(known):
            return known, np.zeros((2, 0))
        ages = np.maximum(now - self.last[known], 1.0)
        belief = self._learner.belief(known, ages)
        worth = self.weights[known] ** way.alpha
        moment = Moment(
            belief, worth, ages, self._budget, visits, self._intervals[known], way.gamma, lots=self._lots[known]
        )
        numbers = policy.choose(moment)
        if self._ear is not None:
            self._ear.hear(now)
            self._ear.weigh(known, self._learner.of(known), ages, numbers, self.prior)
        best = np.argpartition(-numbers, min(count, len(known) - 1))[:count]
        pages, age = known[best], ages[best]
        changed = self.stale[pages] <= now
        of_best = Belief(belief.mean[best], belief.spread[best])
        predicted = probability(of_best, age) if self._ear is None else self._ear.answer(pages, of_best, age, changed)
        if self._learner.learn(pages, age, predicted, changed, self._learns):
            self._learner.learn_again()
        self._intervals[pages] *= np.where(changed, _SHRINK, _GROW)
        self.left[pages[self.world.deaths[pages] <= now]] = False
        self.last[pages], self._lots[pages] = now, lots_of(pages, np.full(len(pages), now))
        self.stale[pages] = self.world.next_change(pages, np.full(len(pages), now))
        return pages, np.stack((predicted, changed))

    @property
    def prior(self) -> Prior:
        return self._learner.prior


def probability(belief: Belief, ages: F64) -> F64:
    """That pages have changed at these ages, over all that is believed of their rates: at the median rate it would be
    too low, by six points of a hundred where it is small."""
    logs = belief.mean[:, None] + belief.spread[:, None] * _NODES
    found: F64 = -np.expm1(-np.exp(logs) * ages[:, None]) @ _WEIGHTS
    return found


def simulate(
    world: World,
    policy: str,
    budget: float,
    rates: F64 | None = None,
    period: float = 60 * 86_400.0,
    seed: int = 1,
    way: Way = USUAL,
    importance: F64 | None = None,
    ear: Ear | None = None,
) -> Result:
    """Runs from the start of the world to its end. `budget` is visits per second; `rates`, if given, are known to the
    crawler; `period` is its first guess of the time between two changes; `importance` weighs freshness and age;
    under the policy `expected` it may have an ear for signals."""
    crawler, pages = Crawler(world, policy, budget, rates, period, seed, way, ear), world.pages
    if importance is not None:
        crawler.weights = importance
    count = max(1, pages // BATCHES)
    steps = int(world.end * budget / count)
    course, late, seen = np.empty((3, steps)), np.zeros(pages, bool), list[F64]()
    for step in range(steps):
        now = (step + 1) * count / budget
        chosen, predicted = crawler.visit(now, count, step * count / pages)
        if step >= steps // 2:
            late[chosen] = True
            seen.append(predicted)
        there = crawler.left & (world.births <= now)
        behind = np.where(there, np.maximum(0.0, now - crawler.stale), 0.0)
        weights = np.where(there, crawler.weights, 0.0)
        total = weights.sum() or 1.0
        fresh, age = weights[crawler.stale > now].sum() / total, (weights * behind).sum() / total
        course[:, step] = (step + 1) * count / pages, fresh, age
    predictions = np.concatenate(seen, axis=1) if seen else np.zeros((2, 0))
    alive = world.alive(world.end) & (world.births < world.end / 2)
    unvisited = ~late & alive
    starved = float(unvisited.sum() / max(1, alive.sum()))
    found = course[0], course[1], course[2], crawler.prior, unvisited, starved
    return Result(*found, predictions[0], predictions[1])
