"""What a simulated crawler believes of the rates of pages: the estimator of a crawl, or the truth."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, Bools
from gossamer.laboratory.freshness.worlds import World
from gossamer.manager.revisits.bursts import FIRST, OTHER, SAME, Bursts
from gossamer.manager.revisits.changes import Changes, observe
from gossamer.manager.revisits.habits import FIRST_FIT, next_fit
from gossamer.manager.revisits.rates import Belief, Homes, Prior, believe, fit
from gossamer.manager.revisits.sites import Sites

FITTED: Final = 4000
"""Pages to which the prior is fitted."""


class Learner:
    def __init__(self, world: World, period: float, rates: F64 | None, random: np.random.Generator) -> None:
        pages = world.pages
        self._rates, self._random = rates, random
        self._changes, self.prior = Changes.none(pages), Prior.of(period)
        self._site = np.zeros(pages, np.int64) if world.site is None else world.site
        self._sites = Sites.none(int(self._site.max()) + 1)
        self._belief = self._believed(slice(None))
        self._observed, self._next = 0, float(FIRST_FIT)
        self._last, self.bursts = np.full(pages, FIRST), Bursts.none()

    def _believed(self, part: slice | I64) -> Belief:
        if self._rates is not None:
            rates = self._rates[part]
            return Belief(np.log(rates).astype(np.float32), np.zeros(len(rates), np.float32))
        return believe(self._changes.of(part), self.prior, self._homes(part))

    def _homes(self, part: slice | I64) -> Homes:
        return self._sites.homes(self._site[part], self.prior)

    def of(self, pages: I64) -> Belief:
        """What was believed of pages when they were visited last."""
        belief = Belief(self._belief.mean[pages], self._belief.spread[pages])
        return belief if self._rates is not None else self.bursts.corrected(belief, self._last[pages])

    def belief(self, pages: I64, ages: F64) -> Belief:
        """What is believed of pages whose copies are so old."""
        belief = self.of(pages)
        return belief if self._rates is not None else belief.after(ages, self.prior)

    def learn(self, pages: I64, ages: F64, predicted: F64, changed: Bools, at_once: bool) -> bool:
        """Takes what visits found, and with which probability a change was believed in; `at_once`: beliefs follow.
        Returns whether the prior is due to be fitted."""
        if at_once:
            self.bursts.learn(self._last[pages], self.belief(pages, ages), ages, predicted, changed)
        self._last[pages] = np.where(changed, OTHER, SAME)
        observe(self._changes, pages, ages, changed)
        if at_once:
            self._belief.mean[pages], self._belief.spread[pages] = self._believed(pages)
        self._observed += len(pages)
        return at_once and self._observed >= self._next

    def learn_again(self) -> None:
        """Fits the prior, finds the places of the sites, and believes again."""
        self._next = next_fit(self._observed)
        seen = np.flatnonzero(self._changes.visits)
        if len(seen):
            some = self._random.permutation(seen)[:FITTED]
            self.prior = fit(self._changes.of(some), self.prior, homes=self._homes(some))
            self._sites.gather(self._site[seen], self._believed(seen), self.prior)
            self.prior = self._sites.settle(self.prior)
            self._belief = self._believed(slice(None))
