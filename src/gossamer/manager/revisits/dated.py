"""The long run of pages whose signals are believed: how often they are visited, and how fresh their copies are.

A page is visited as soon as its number reaches a price. The number grows with the age of the copy and jumps with each
signal; so for every count n of signals there is an age at which the page is visited, and the intervals are random. At
the rate r, signals come at random too, (1 - s) r / p a second: announced changes, and those that are none. From visit
to visit the count is thus a chain that only goes up, and ends in a visit. Over ages in small steps its occupation has
a closed form (the gamma function of whole numbers), and with it the mean interval, and the mean time in which a copy
is up to date and for how long it is outdated. What is believed of the rate is averaged over nodes.

All of it is in units of the mean time between two changes, so that one table, by spread and by `Trust`, serves pages of
all rates: the price of a page at the mean rate m is p m. Beliefs do not return to the prior here, as in `scale.Heeded`.

A sitemap is read once in `delay` seconds, and tells half of that too late, on average: copies are less fresh by the
announced changes in that time. Their age is not corrected for it.

Invariants, each a test of the same name:

- Without announced changes a page is visited at even intervals.
- Signals that are believed make copies of pages of a known rate fresher.
- The chain does what a simulation does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, Bools
from gossamer.manager.revisits.policies import chance, worth
from gossamer.manager.revisits.rates import Belief
from gossamer.manager.revisits.signals import Trust

_ENDS: Final = np.exp(np.linspace(np.log(1e-4), np.log(1e4), 128))
"""Ages, in mean times between two changes: of each, what is so from the one before on."""
_MIDDLES: Final = _ENDS * np.sqrt(_ENDS[0] / _ENDS[1])
_EVERY: Final = 4
"""Every so many ages, one is the age of a price."""
_COUNTS: Final = 16
"""Signals that are told apart; more count as the last of these."""
_FACTORIALS: Final = np.array([float(factorial(each)) for each in range(_COUNTS + 1)])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
PRECISIONS: Final = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95])
SHARES: Final = np.array([0.1, 0.25, 0.45, 0.7, 0.95])
"""Levels of the precision and of the share of unannounced changes, to which a `Trust` is rounded."""
_SPREADS: Final = 0.25 * np.arange(16) + 0.125
LEVELS: Final = 1 + len(PRECISIONS) * len(SHARES)


def levels_of(trust: Trust, heard: Bools) -> I64:
    """The level of each page; 0: its signals do not count."""
    precision = np.abs(trust.precision[:, None] - PRECISIONS).argmin(1)
    share = np.abs(trust.share[:, None].astype(np.float64) - SHARES).argmin(1)
    return np.where(heard, 1 + precision * len(SHARES) + share, 0)


class Course(NamedTuple):
    """What prices give. Times are in units of the mean time between two changes."""

    prices: F64
    """Logarithms, ascending: those at which a page without signals is visited at some of the ages."""
    interval: F64
    """Between two visits; infinite: the page is not visited again."""
    fresh: F64
    """Share of the time in which the copy is up to date."""
    behind: F64
    """For how long it is outdated, on average over time."""
    changed: F64
    """Share of the visits that find a change."""


@lru_cache(maxsize=LEVELS * len(_SPREADS))
def course_of(level: int, spread: int) -> Course:
    """The course of pages with this level of trust and this index of the spread."""
    p, s = PRECISIONS[(level - 1) // len(SHARES)], SHARES[(level - 1) % len(SHARES)]
    return course(float(p), float(s), float(_SPREADS[spread]))


class Dated:
    """Groups of pages by level of trust and by belief, and their courses."""

    def __init__(self, levels: I64, belief: Belief, least: float, delay: float) -> None:
        """`least`: seconds that pass between two visits at least; `delay`: between two readings of a sitemap."""
        self._belief = belief
        spreads = np.clip((belief.spread / 0.25).astype(np.int64), 0, len(_SPREADS) - 1)
        keys, row = np.unique(len(_SPREADS) * levels + spreads, return_inverse=True)
        self._courses = [course_of(key // len(_SPREADS), key % len(_SPREADS)) for key in keys.tolist()]
        self._of_row = [np.flatnonzero(row == each) for each in range(len(keys))]
        self._mean = np.exp(-belief.mean.astype(np.float64))  # seconds between two changes
        self._least = least
        self._delay = (1 - SHARES[(levels - 1) % len(SHARES)]) * max(delay, 1e-3) / 2
        self._lowest = self._read(lambda of, pages: np.interp(least / self._mean[pages], of.interval, of.prices))

    def _read(self, of: Callable[[Course, I64], F64]) -> F64:
        found = np.empty(len(self._mean))
        for course, pages in zip(self._courses, self._of_row, strict=True):
            found[pages] = of(course, pages)
        return found

    def _at(self, prices: F64) -> F64:
        """In units of each page, and not below that at which it is visited as often as it may be."""
        return np.asarray(np.maximum(prices - np.log(self._mean), self._lowest))

    def intervals(self, prices: F64) -> F64:
        """Mean seconds between two visits at these logarithms of prices, which are divided by the pages' worths."""
        at = self._at(prices)

        def found(of: Course, pages: I64) -> F64:
            intervals = self._mean[pages] * np.interp(at[pages], of.prices, of.interval)
            return np.where(at[pages] > of.prices[-1], np.inf, np.maximum(intervals, self._least))

        return self._read(found)

    def fresh(self, prices: F64) -> F64:
        """Share of the time in which copies are up to date."""
        at = self._at(prices)
        heard: F64 = 1 - chance(self._belief, self._delay)
        return heard * self._read(lambda of, pages: np.interp(at[pages], of.prices, of.fresh))

    def behind(self, prices: F64) -> F64:
        """For how many seconds copies are outdated, on average."""
        at = self._at(prices)
        return self._mean * self._read(lambda of, pages: np.interp(at[pages], of.prices, of.behind))

    def changed(self, prices: F64) -> F64:
        """Share of the visits that find a change."""
        at = self._at(prices)
        return self._read(lambda of, pages: np.interp(at[pages], of.prices, of.changed))


def course(p: float, s: float, spread: float) -> Course:
    """`p`: precision; `s`: share of the changes that come unannounced."""
    numbers = _numbers(p, s, spread)
    prices = np.unique(np.maximum.accumulate(numbers[0])[::_EVERY])
    held = numbers < prices[:, None, None]  # by price, count and age
    held = np.logical_and.accumulate(np.logical_and.accumulate(held, axis=1), axis=2)
    rates = np.exp(spread * _NODES)
    time, fresh, behind = _from_visit_to_visit(held, rates, p, s)
    visits = np.where(held[:, 0, -1, None], 0.0, 1 / time)
    visits[np.isinf(time)] = 0.0
    mean = visits @ _WEIGHTS
    with np.errstate(divide="ignore", invalid="ignore"):
        interval = np.maximum.accumulate(1 / mean)
        changed = np.where(mean > 0, ((visits * rates * fresh) @ _WEIGHTS) / mean, 1.0)
    share, aged = (fresh / time) @ _WEIGHTS, (behind / time) @ _WEIGHTS
    return Course(prices, interval, np.minimum.accumulate(share), np.maximum.accumulate(aged), changed)


def _numbers(p: float, s: float, spread: float) -> F64:
    """Logarithms of what pages are worth, by count of signals and age, as in `scale.heed`."""

    def of_ages(ages: F64) -> Belief:
        return Belief(np.zeros(len(ages), np.float32), np.full(len(ages), spread, np.float32))

    wide = np.exp(np.linspace(np.log(1e-6), np.log(1e6), 512))
    stale, own = (-np.log(np.maximum(1 - chance(of_ages(each), each), 1e-30)) for each in (wide, s * _MIDDLES))
    worths = np.log(np.maximum(worth(of_ages(wide), wide), 1e-30))
    staleness = own - np.log1p(-p) * np.arange(_COUNTS)[:, None]
    effective = np.interp(staleness, np.maximum.accumulate(stale), np.log(wide))
    return np.asarray(np.interp(effective, np.log(wide), worths) - np.log(1 - (1 - s) * np.exp(-staleness)))


def _from_visit_to_visit(held: Bools, rates: F64, p: float, s: float) -> tuple[F64, F64, F64]:
    """By price and rate: the mean time between two visits, that in which the copy is up to date, and the integral of
    the time for which it has been outdated. `held`: whether a page with so many signals waits at this age still."""
    signals, silent, counts = (1 - s) * rates / p, s * rates, np.arange(_COUNTS)
    shape = len(rates), len(held)
    there, behind = np.zeros((*shape, _COUNTS)), np.zeros((*shape, _COUNTS))
    there[:, :, 0] = 1.0
    time, fresh, aged, before = np.zeros(shape), np.zeros(shape), np.zeros(shape), 0.0
    for at, age in enumerate(_ENDS.tolist()):
        stays, length = held[:, :, at] | (counts == 0) & (at == 0), age - before
        there, behind = there * stays, behind * stays
        moves, spent, lasting = _chain(signals, silent, length)
        kept = (1 - p) ** counts * np.exp(-silent * before)[:, None, None]
        whole, good, old = there @ spent * stays, there @ lasting * stays * kept, behind @ spent * stays
        time, fresh, stale = time + whole.sum(2), fresh + good.sum(2), whole - good
        # what became stale in this step did so in its middle
        moves_on, remains, _ = _chain(signals, silent, length / 2)
        aged += old.sum(2) + (stale @ remains * stays).sum(2)
        there, behind, before = there @ moves, behind @ moves + stale @ moves_on, age
    return time.T, fresh.T, aged.T


def _chain(signals: F64, silent: F64, length: float) -> tuple[F64, F64, F64]:
    """By rate, from count to count, within this length: the probability to get there, the mean time that is spent
    there, and the same if pages are left out as soon as they have changed without a signal."""
    counts = np.arange(_COUNTS)
    more = counts - counts[:, None]
    x = (signals * length)[:, None]
    chances = np.exp(-x) * x**counts / _FACTORIALS[:-1]
    found = [chances]
    for leaving in (signals, signals + silent):
        times = (signals / leaving)[:, None] ** counts / leaving[:, None]
        found.append(times * _above((leaving * length)[:, None], counts))
    moves, spent, lasting = (np.where(more >= 0, each[:, np.maximum(more, 0)], 0.0) for each in found)
    # the last count is that of all pages with so many signals, or more
    for each, total in (
        (moves, 1.0),
        (spent, length),
        (lasting, -np.expm1(-silent * length)[:, None] / silent[:, None]),
    ):
        each[:, :, -1] = np.maximum(0.0, total - each[:, :, :-1].sum(2))
    return moves, spent, lasting


def _above(y: F64, counts: I64) -> F64:
    """The probability of more arrivals than `counts` where y are expected."""
    rest = 1 - np.cumsum(np.exp(-y) * y**counts / _FACTORIALS[:-1], axis=1)
    few = y ** (counts + 1) / _FACTORIALS[1:] * (1 - y * (counts + 1) / (counts + 2))
    return np.asarray(np.where(y < 0.01, few, np.maximum(rest, 0.0)))
