"""Policies of re-visits, as one table: which copies are asked for again first (thesis 2.4.2, 6.5.3, 7.2.1).

A policy gives each page a number; the pages with the largest numbers are asked for. Policies of the first kind say how
often each page should be visited, for a budget; its number is the share of its period that has passed, so visits are
evenly spaced. Policies of the second kind say what a visit is worth now, and need no budget.

    uniform       every page as often as any other, in a fixed order
    random        the same, in random order
    proportional  as often as it changes
    freshness     so that as many copies as possible are up to date (Cho and Garcia-Molina): some pages never
    age           so that copies are outdated for as short as possible (Cho and Garcia-Molina)
    harmonic      so that few changes are missed in a row (LambdaCrawl); no page is left out
    webfountain   freshness at first, then uniform
    adaptive      the interval shrinks by a fifth with a change, and grows by a fifth without (Nutch)
    fronts        from eight front queues by rate (Mercator), from each half as often as from the one before
    fronts-evenly from each of these as often: in turn, or at random
    quality       as often as it is worth (Mercator's prioritizer by quality, with a queue for each worth)
    outdated      the copy that is outdated with the highest probability, 1 - e^(-rate t)
    profit        what a visit adds to the value of the index, w (1 - e^(-gamma rate t))
    expected      the mean, over what is believed of the rate, of (w / rate) (1 - e^(-rate t) (1 + rate t))

`expected` is the default. At the true rate its number is the price of a visit at which `freshness` would choose just
this interval (`freshness` is the limit for a constant budget). Its mean over the belief is worth more than its value at
the mean rate: a page that may change seldom is not given up because it probably changes often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

import numpy as np

from gossamer.base.arrays import F32, F64, U64, Array
from gossamer.manager.revisits.rates import Belief

_FRONTS: Final = 1 / (21_600.0 * 4.0 ** np.arange(7))
"""Rates between the front queues: one change in six hours, in a day, and so on, by factors of four, to 1,024 days."""
FIRST: Final = 10.0
"""Visits of a page, on average, after which `webfountain` visits all pages uniformly."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a policy knows when it chooses."""

    belief: Belief
    weights: F64
    """Importance of each page."""
    ages: F64
    """Seconds since the last visit of each page."""
    budget: float
    """Visits per second."""
    visits: float
    """Visits of a page so far, on average."""
    intervals: F64
    """Seconds; the interval that `adaptive` has arrived at."""
    gamma: float = 1.0
    counts: F64 | float = 1.0
    """How many pages each row stands for."""
    lots: F64 | float = 1.0
    """Factors of the intervals of `random`."""


def uniform(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """`counts`, here and below: how many pages each of the rates stands for."""
    return np.full(len(rates), budget / (counts * np.ones(len(rates))).sum())


def proportional(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    found: F64 = budget * rates / (counts * rates).sum()
    return found


def for_freshness(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """The frequencies that maximise the mean freshness: (w / rate) h(rate / f) is the same for all pages that are
    visited at all, with h(x) = 1 - e^-x (1 + x)."""
    return _allotted(rates, budget, counts, lambda price: _inverse_h(price * rates / weights))


def for_age(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """The frequencies that minimise the mean age: (w / rate^2) (x^2 / 2 - h(x)) is the same for all pages."""
    return _allotted(rates, budget, counts, lambda price: _inverse_k(price * rates * rates / weights))


def harmonic(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """LambdaCrawl: f = (-rate + sqrt(rate^2 + 4 w rate / price)) / 2."""
    low, high = -80.0, 80.0
    for _ in range(100):
        price = np.exp((low + high) / 2)
        found = (np.sqrt(rates * rates + 4 * weights * rates / price) - rates) / 2
        low, high = ((low + high) / 2, high) if (counts * found).sum() > budget else (low, (low + high) / 2)
    scaled: F64 = found * (budget / (counts * found).sum())
    return scaled


def fronts(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """Mercator's prioritizer by rate of change: a page has the priority of its rate, and waits in the front queue of
    its priority. A queue is picked at random, each with half the odds of the one before."""
    return _from_queues(rates, budget, counts, 0.5)


def fronts_evenly(rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64:
    """The same, with queues picked in turn, or at random with the same odds: pages are visited as often either way."""
    return _from_queues(rates, budget, counts, 1.0)


def _from_queues(rates: F64, budget: float, counts: F64 | float, odds: float) -> F64:
    """A queue shares its visits out among its pages: first in, first out."""
    queue = np.digitize(rates, _FRONTS)
    pages = np.bincount(queue, counts * np.ones(len(rates)), len(_FRONTS) + 1)
    share = np.where(pages > 0, odds ** np.arange(len(pages)), 0.0)
    found: F64 = (budget * share / share.sum() / np.maximum(pages, 1e-9))[queue]
    return found


def h(x: F64) -> F64:
    """1 - e^-x (1 + x), also for small x."""
    small = x < 1e-3
    return np.where(small, x * x / 2 - x**3 / 3, -np.expm1(-x) - x * np.exp(-x))


_X: Final = np.exp(np.linspace(np.log(1e-8), np.log(1e9), 20_001))
_LOG_X: Final = np.log(_X)
_LOG_H: Final = np.log(h(_X))
_LOG_K: Final = np.log(np.where(_X < 1e-2, _X**3 / 3 - _X**4 / 8, _X * _X / 2 - h(_X)))


def _inverse_h(values: F64) -> F64:
    """x with h(x) = value; infinite where value is 1 or more: such a page is not visited."""
    with np.errstate(divide="ignore"):
        return np.where(values >= 1, np.inf, np.exp(np.interp(np.log(values), _LOG_H, _LOG_X)))


def _inverse_k(values: F64) -> F64:
    return np.exp(np.interp(np.log(values), _LOG_K, _LOG_X))


def _allotted(rates: F64, budget: float, counts: F64 | float, inverse: Callable[[float], F64]) -> F64:
    """Frequencies rate / x at the price of a visit that uses up the budget."""
    low, high = -80.0, 80.0
    for _ in range(100):
        found = rates / inverse(float(np.exp((low + high) / 2)))
        low, high = ((low + high) / 2, high) if (counts * found).sum() > budget else (low, (low + high) / 2)
    total = (counts * found).sum()
    return found * (budget / total) if total > 0 else found


# --- the expected worth -----------------------------------------------------------------------------------

_MEANS: Final = np.linspace(-16.0, 16.0, 257)
_SPREADS: Final = np.linspace(0.0, 4.0, 33)


def _means_of(function: Callable[[F64], F64]) -> F32:
    """Mean of the function of x where the logarithm of x is normally distributed, by mean and spread."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    x = np.exp(_MEANS[:, None, None] + _SPREADS[:, None] * nodes)
    with np.errstate(over="ignore", invalid="ignore"):
        table: F32 = (function(x) @ (weights / weights.sum())).astype(np.float32)
    return table


@cache
def _worths() -> F32:
    return _means_of(lambda x: np.where(x > 700, 1 / x, h(np.minimum(x, 700)) / x))


@cache
def _chances() -> F32:
    return _means_of(lambda x: -np.expm1(-x))


@cache
def _shares() -> F32:
    return _means_of(lambda x: np.where(x < 1e-6, 1 - x / 2, -np.expm1(-x) / x))


@cache
def _delays() -> F32:
    return _means_of(lambda x: np.where(x < 1e-2, x / 6 - x * x / 24, 0.5 - (1 + np.expm1(-x) / x) / x))


def worth(belief: Belief, ages: F64) -> F64:
    """The gain in freshness, in seconds, that a visit now is expected to bring."""
    return ages * _interpolated(_worths(), belief, ages)


def chance(belief: Belief, ages: F64) -> F64:
    """The probability that a page has changed at this age of its copy."""
    return _interpolated(_chances(), belief, ages)


def up_to_date(belief: Belief, intervals: F64) -> F64:
    """The share of the time in which a copy is up to date, if the page is visited at these intervals: the mean of
    (1 - e^(-rate I)) / (rate I)."""
    return _interpolated(_shares(), belief, intervals)


def behind(belief: Belief, intervals: F64) -> F64:
    """For how many seconds a copy is outdated, on average over time, if the page is visited at these intervals."""
    return intervals * _interpolated(_delays(), belief, intervals)


def _interpolated(table: F32, belief: Belief, ages: F64) -> F64:
    x = np.clip((belief.mean + np.log(ages) - _MEANS[0]) / (_MEANS[1] - _MEANS[0]), 0, len(_MEANS) - 1.001)
    y = np.clip(belief.spread / _SPREADS[1], 0, len(_SPREADS) - 1.001)
    i, j = x.astype(np.intp), y.astype(np.intp)
    a, b = x - i, y - j
    low = (1 - b) * table[i, j] + b * table[i, j + 1]
    high = (1 - b) * table[i + 1, j] + b * table[i + 1, j + 1]
    found: F64 = (1 - a) * low + a * high
    return found


# --- random order -----------------------------------------------------------------------------------------


def lots_of(pages: Array, visited: Array) -> F64:
    """By how much the interval that follows a visit at this second is longer, or shorter, than the mean: as if pages
    were visited in rounds, each round in another order. It is the sum of two random numbers, drawn by a hash of page
    and time; `profit` computes the same."""
    mixed: U64 = pages.astype(np.uint64) * LOT[0] ^ visited.astype(np.uint64) * LOT[1]
    mixed = (mixed ^ (mixed >> np.uint64(32))) * LOT[2]
    both: U64 = (mixed >> np.uint64(40)) + ((mixed >> np.uint64(16)) & np.uint64(0xFFFFFF)) + np.uint64(1)
    found: F64 = both.astype(np.float64) * 2.0**-24
    return found


LOT: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(0xBF58476D1CE4E5B9))


# --- the table ---------------------------------------------------------------------------------------------


class Frequencies(Protocol):
    def __call__(self, rates: F64, weights: F64, budget: float, counts: F64 | float = 1.0) -> F64: ...


Choose = Callable[[Moment], F64]


def _spaced(frequencies: Frequencies) -> Choose:
    return lambda m: m.ages * frequencies(m.belief.rates, m.weights, m.budget, m.counts)


def _webfountain(moment: Moment) -> F64:
    return POLICIES["freshness" if moment.visits < FIRST else "uniform"].choose(moment)


def _by_quality(m: Moment) -> F64:
    return m.weights * m.ages


def _by_profit(m: Moment) -> F64:
    found: F64 = -m.weights * np.expm1(-m.gamma * m.belief.rates * m.ages)
    return found


def _by_gain(m: Moment) -> F64:
    return m.weights * worth(m.belief, m.ages)


@dataclass(frozen=True, slots=True)
class Policy:
    sentence: str
    choose: Choose
    allots: Frequencies | None = None
    """Visits per second of each page, by rates, weights and budget; None: it judges by the age of the copy."""

    @property
    def weighs(self) -> bool:
        """Whether the importance of a page is a factor of its number."""
        return self.choose in (_by_quality, _by_profit, _by_gain)


POLICIES: Final[dict[str, Policy]] = {
    name: Policy(sentence, choose or _spaced(allots or uniform), allots)
    for name, sentence, choose, allots in (
        ("uniform", "Every page as often as any other.", None, uniform),
        ("random", "Every page as often as any other, in random order.", lambda m: m.ages / m.lots, None),
        ("proportional", "As often as it changes.", None, proportional),
        ("freshness", "As many copies as possible are up to date.", None, for_freshness),
        ("age", "Copies are outdated for as short as possible.", None, for_age),
        ("harmonic", "Few changes are missed in a row.", None, harmonic),
        ("webfountain", "Freshness at first, then uniform.", _webfountain, None),
        ("adaptive", "Shorter intervals after a change, longer ones without.", lambda m: m.ages / m.intervals, None),
        ("fronts", "From front queues by rate, the first most often.", None, fronts),
        ("fronts-evenly", "From front queues by rate, each as often.", None, fronts_evenly),
        ("quality", "As often as it is worth.", _by_quality, None),
        ("outdated", "The most probably outdated copy.", lambda m: -np.expm1(-m.belief.rates * m.ages), None),
        ("profit", "What a visit adds to the value of the index.", _by_profit, None),
        ("expected", "The expected gain in freshness.", _by_gain, None),
    )
}  # fmt: skip
