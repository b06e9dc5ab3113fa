"""Lifetimes of answers as hints: how long a server calls a page fresh (Cache-Control, Expires, Age).

A page that was visited once is believed to change as often as the others of its site. The lifetime of its answer may
tell more, or nothing: many servers send the same one with all pages. So lifetimes fall into classes, and each class has
a factor on the believed rate, learned from the second visits of pages (`factors`): one for pages of sites of which
something is known, another for all others. What all classes have in common says how good beliefs are, not what
lifetimes tell. So only what a class differs from their mean by is used, and of that what exceeds two standard errors: a
lifetime that tells nothing changes nothing. Old visits are forgotten, so a hint that is wrong from some day on is
unlearned.

A page keeps its class until its second visit, in a column that nothing else needs until then (`habits`). From then on
its own changes count, and its lifetime is ignored.

Invariants, each a test of the same name:

- Lifetimes that tell nothing are not heeded.
- Lifetimes that tell how often pages change are learned.
- A lifetime that lies from some day on is unlearned.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, Array
from gossamer.manager.revisits import factors
from gossamer.manager.revisits.rates import Belief

EDGES: Final = np.array([1.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 604_800.0])
"""Seconds. The first class is that of answers which say nothing, or that they are never fresh."""
COUNT: Final = len(EDGES) + 1
"""Classes."""
FACTORS: Final = 2 * COUNT
_ERRORS: Final = 2.0
"""Standard errors that count as no difference."""


def class_of(lifetimes: Array) -> I64:
    return np.searchsorted(EDGES, lifetimes, side="right")


class Lifetimes(NamedTuple):
    logs: F64
    """Logarithms of the factors: by class, of pages of unknown sites, and then of known ones."""
    weights: F64
    """How much was learned of each."""

    @staticmethod
    def none() -> Lifetimes:
        return Lifetimes(np.zeros(FACTORS), np.zeros(FACTORS))

    @property
    def used(self) -> F64:
        """The logarithms that correct beliefs."""
        logs, weights = self.logs.reshape(2, COUNT), self.weights.reshape(2, COUNT)
        apart = logs - (weights * logs).sum(1, keepdims=True) / np.maximum(weights.sum(1, keepdims=True), 1e-9)
        apart[weights == 0] = 0
        least = _ERRORS / np.sqrt(np.maximum(weights, 1e-9))
        return np.asarray(np.sign(apart) * np.maximum(0.0, np.abs(apart) - least)).ravel()

    def corrected(self, belief: Belief, of: Array) -> Belief:
        return Belief((belief.mean + self.used[of]).astype(np.float32), belief.spread)

    def learn(self, of: Array, belief: Belief, seconds: F64, told: Array, changed: Array) -> None:
        """Takes what second visits found: `belief` is the corrected one, `told` the probability of a change that was
        believed in."""
        factors.learn(self.logs, self.weights, self.used, of, belief, seconds, told, changed)
