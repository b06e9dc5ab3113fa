"""Signals of changes in a simulated world, and the part of the simulated crawler that heeds them.

Signals have a precision and a recall: each change is announced with the probability `recall`, and a page has as many
false signals as make the share of true ones `precision`. Liars date all pages anew again and again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, Bools
from gossamer.laboratory.freshness.worlds import World
from gossamer.manager.revisits.rates import Belief, Prior, encode
from gossamer.manager.revisits.scale import Heeded, heed, heeded_by
from gossamer.manager.revisits.signals import BELIEVED, MOST, PAIRS, Trust, learn, told, trust


class Signals(NamedTuple):
    """In the order of time."""

    page: I64
    time: F64


def announced(world: World, precision: float, recall: float, seed: int) -> Signals:
    """Signals of this precision and recall."""
    random = np.random.default_rng(seed + 2)
    true = random.random(len(world.time)) < recall
    changes = np.bincount(world.page, minlength=world.pages)
    false = random.poisson(changes * recall * (1 / precision - 1))
    page = np.concatenate((world.page[true], np.repeat(np.arange(world.pages), false)))
    time = np.concatenate((world.time[true], random.random(int(false.sum())) * world.end))
    order = np.argsort(time)
    return Signals(page[order], time[order])


def lies(world: World, every: float) -> Signals:
    """All pages are dated anew after every so many seconds, whatever happens to them."""
    times = np.arange(every, world.end, every)
    return Signals(np.tile(np.arange(world.pages), len(times)), np.repeat(times, world.pages))


class Ear:
    """Hears signals, learns how far they are believed (or is told), and changes what visits are worth by that."""

    def __init__(self, world: World, signals: Signals, known: Trust | None = None) -> None:
        """`known`: by site."""
        self._site = np.zeros(world.pages, np.int64) if world.site is None else world.site
        self._signals, self._at, self._known = signals, 0, known
        self._unanswered = np.zeros(world.pages)
        self._likelihoods = np.zeros((int(self._site.max()) + 1, len(PAIRS)))
        self._tables: tuple[Prior, Heeded] | None = None

    @property
    def trust(self) -> Trust:
        return trust(self._likelihoods) if self._known is None else self._known

    def hear(self, now: float) -> None:
        until = int(np.searchsorted(self._signals.time, now))
        self._unanswered += np.bincount(self._signals.page[self._at : until], minlength=len(self._unanswered))
        np.minimum(self._unanswered, MOST, out=self._unanswered)
        self._at = until

    def weigh(self, pages: I64, belief: Belief, ages: F64, numbers: F64, prior: Prior) -> None:
        """Changes the numbers of pages of sites that are believed."""
        if self._tables is None or self._tables[0] is not prior:
            self._tables = prior, heeded_by("expected", prior)
        trusted = self.trust.of(self._site[pages])
        some = np.flatnonzero(trusted.doubt > BELIEVED)
        codes, signals = encode(Belief(belief.mean[some], belief.spread[some])), self._unanswered[pages[some]]
        numbers[some] = np.exp(heed(self._tables[1], codes, ages[some], signals, trusted.of(some)))

    def answer(self, pages: I64, belief: Belief, ages: F64, changed: Bools) -> F64:
        """Takes what visits found; returns the probability of a change that was believed in."""
        sites, signals = self._site[pages], self._unanswered[pages]
        found = told(belief, ages, signals, self.trust.of(sites))
        learn(self._likelihoods, sites, belief, ages, signals, changed)
        self._unanswered[pages] = 0
        return found
