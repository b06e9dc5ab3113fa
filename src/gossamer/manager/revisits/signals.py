"""Signals that a page has changed, and how far they are believed (after Busa-Fekete and others, 2025): the formulas.

A *signal* is a `lastmod` in a sitemap that is newer than our copy. It is right with a probability p, its *precision*.
Of the changes of a page, at the rate r, a share s comes without a signal. So a copy of the age t, after n signals, is

    fresh(t, n) = e^(-s r t) (1 - p)^n

with this probability. Rates are learned as ever, as if there were no signals: a page's own signals and changes do not
suffice to tell its announced changes from the others, and the attempt to do so spoils what is known of its rate. Only
p and s are learned from signals, one pair for each site: each pair of a grid has a likelihood, by what visits of dated
pages found. What is believed is the mean over the grid. It begins with a site whose signals say nothing (p = 0, s = 1),
and observations fade by a factor of e in `MEMORY` visits, so that a site which begins to tell the truth is believed.

What a visit is worth follows from `fresh`. Let y be the *effective age*: the age at which the page would be as probably
outdated if it had no signals. Then the worth is w(y) / (1 - (1 - s) fresh), where w is the worth without signals
(`policies.worth`). With known numbers that has at least 95 % of the gain of the exact rule, which needs a sum over all
ways in which further signals may come; the divisor matters where sites differ (without it: 40 to 93 %).

Invariants, each a test of the same name:

- A signal never makes a copy younger.
- Signals that lie stop counting.
- Signals that are right count more and more.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, Array
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import Belief

_PRECISIONS: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9, 0.97)
SHARES: Final = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08)
PAIRS: Final = np.array([(0.0, 1.0), *((p, s) for p in _PRECISIONS for s in SHARES)])
"""Precision, and share of unannounced changes."""
FIRST: Final = np.log(np.array([0.5, *np.full(len(PAIRS) - 1, 0.5 / (len(PAIRS) - 1))]))
"""Logarithm of what is believed of each pair before anything was seen: one half that signals say nothing."""
MEMORY: Final = 1000.0
MOST: Final = 254
"""Signals that are counted for a page."""
BELIEVED: Final = 0.05
"""Signals of sites with less doubt are ignored: nearly all of them are wrong."""
_OF_PAIR: Final = np.array([SHARES.index(share) for share in PAIRS[:, 1].tolist()])
_LEAST: Final = 1e-3
"""No visit counts as more improbable than this: the model is not that good."""


class Trust(NamedTuple):
    """How far the signals of some sites, or pages, are believed."""

    doubt: F32
    """-log(1 - p)."""
    announced: F32
    """1 - s: the share of the changes that signals announce."""

    @property
    def share(self) -> F32:
        return np.float32(1) - self.announced

    @property
    def precision(self) -> F64:
        found: F64 = -np.expm1(-self.doubt.astype(np.float64))
        return found

    def of(self, some: Array) -> Trust:
        return Trust(self.doubt[some], self.announced[some])


def trust(likelihoods: F64) -> Trust:
    """From the logarithms of the likelihoods of the pairs: a row for each site."""
    weights = likelihoods + FIRST
    weights = np.exp(weights - weights.max(1, keepdims=True))
    means = (weights @ PAIRS) / weights.sum(1, keepdims=True)
    return Trust(-np.log1p(-means[:, 0]).astype(np.float32), (1 - means[:, 1]).astype(np.float32))


def learn(likelihoods: F64, rows: Array, belief: Belief, seconds: F64, signals: Array, changed: Array) -> None:
    """Adds what visits of dated pages found after these times and signals; `rows`: of their sites."""
    fresh = np.stack([1 - chance(belief, share * seconds) for share in SHARES], axis=1)[:, _OF_PAIR]
    kept = np.clip(fresh * (1 - PAIRS[:, 0]) ** signals[:, None], _LEAST, 1 - _LEAST)
    likelihoods *= np.exp(-np.bincount(rows, minlength=len(likelihoods)) / MEMORY)[:, None]
    np.add.at(likelihoods, rows, np.log(np.where(changed[:, None], 1 - kept, kept)))


def told(belief: Belief, seconds: F64, signals: Array, trusted: Trust) -> F64:
    """The probability that pages have changed."""
    found: F64 = 1 - (1 - chance(belief, trusted.share * seconds)) * np.exp(-signals * trusted.doubt)
    return found
