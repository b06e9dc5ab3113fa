"""Bursts: how much more often a page changes after a visit that found a change than after one that found none.

Changes of real pages come in bursts, and a page that rests goes on resting. Two factors on the believed rate, one for
each kind of last visit, are learned from all visits (`factors`). What both have in common says how good beliefs are,
not that changes come in bursts. So only what they differ by is used, and of that what exceeds a third and two standard
errors: where pages change independently of their past, nothing is left, and nothing is lost.

Invariants, each a test of the same name:

- Pages that change independently have no bursts.
- Bursts are learned.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, Array
from gossamer.manager.revisits import factors
from gossamer.manager.revisits.rates import Belief

LASTS: Final = 3
FIRST, SAME, OTHER = range(LASTS)
"""What the last visit of a page found: it was the first, or found no change, or a change."""
_LEAST: Final = 0.3
"""Differences of the logarithms that count as none."""
_ERRORS: Final = 2.0
"""Standard errors of the difference that count as none."""


class Bursts(NamedTuple):
    logs: F64
    """Logarithms of the factors, by what the last visit found; that of `FIRST` stays 0."""
    weights: F64
    """How much was learned of each."""

    @staticmethod
    def none() -> Bursts:
        return Bursts(np.zeros(LASTS), np.zeros(LASTS))

    @property
    def used(self) -> F64:
        """The logarithms that correct beliefs."""
        apart, error = self.logs[OTHER] - self.logs[SAME], np.sqrt((1 / (self.weights + 1e-9))[[SAME, OTHER]].sum())
        half = np.sign(apart) * max(0.0, abs(apart) - _LEAST - _ERRORS * error) / 2
        return np.array([0.0, -half, half])

    def corrected(self, belief: Belief, last: Array) -> Belief:
        return Belief((belief.mean + self.used[last]).astype(np.float32), belief.spread)

    def learn(self, last: Array, belief: Belief, seconds: F64, told: Array, changed: Array) -> None:
        """Takes what visits found of pages: `belief` is the corrected one, `told` the probability of a change that was
        believed in."""
        factors.learn(self.logs, self.weights, self.used, last, belief, seconds, told, changed)
        self.logs[FIRST] = 0
