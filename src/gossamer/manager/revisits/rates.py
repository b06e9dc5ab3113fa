"""Estimators of the rate of change of pages (thesis 2.1.2), as one table. Rates are changes per second.

    estimator       from                                            source
    last-modified   comparisons, changes, time since modified       (2.2)
    comparisons     comparisons, changes, time from first to last   (2.3)
    corrected       the same                                        Cho and Garcia-Molina 2003: less biased
    likelihood      `Changes`                                       maximum likelihood for uneven intervals
    shrunk          `Changes`, and what other pages do              empirical Bayes

`shrunk` is what the crawler uses. How the rates of the pages of a site are distributed around its place, the `Prior`,
is fitted to the observations of all pages (`fit`); where each site lies, its `Homes`, is found by `sites`. What is
believed of one page is then its `Belief`: mean and spread of the logarithm of its rate. One that was visited once has
that of its site.

Invariants, each a test of the same name:

- A change never lowers the believed rate.
- An interval without change never raises the believed rate.
- A belief returns to the prior.
- A coded belief is close to the belief.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U16, Array, Bools
from gossamer.manager.revisits.changes import HABIT, NODES, Changes

SLOWEST, FASTEST = 1 / (60 * 365 * 86_400.0), 1 / 60.0
"""Changes per second: a page that changes less often than every sixty years, or more often than every minute, is taken
for one that does just that."""
_POINTS: Final = 128
_LOGS: Final = np.linspace(np.log(SLOWEST), np.log(FASTEST), _POINTS)
_RATES: Final = np.exp(_LOGS)
_OF_NODES: Final = np.log(-np.expm1(-np.outer(NODES, _RATES)))
"""Logarithms of the probabilities of a change, by length of the interval and rate."""
_AT_ONCE: Final = 16_384
"""Pages whose likelihoods are held at a time: 16 MB."""
_SMOOTH: Final = np.exp(-0.5 * (np.arange(-6, 7) / 2) ** 2) / np.exp(-0.5 * (np.arange(-6, 7) / 2) ** 2).sum()
"""A prior is made smooth over a factor of about one and a half in the rate."""
STEP: Final = float(_LOGS[1] - _LOGS[0])
WIDTHS: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
"""Standard deviations of the place of a site that are told apart."""
_LOCATED: Final = 2
"""Index of the widest of these with which a page still tells how pages differ within their sites."""
_LEAST: Final = 1e-9


class Prior(NamedTuple):
    """How rates are distributed: a probability for each rate of the grid, for pages of a site that is like the mean of
    all sites."""

    shares: F64
    apart: float = 0.0
    """Standard deviation of the places of sites."""

    @staticmethod
    def of(period: float) -> Prior:
        """The prior before anything is known: pages change once in `period` seconds, within a factor of seven."""
        shares = np.exp(-0.5 * ((_LOGS + np.log(period)) / 2) ** 2)
        return Prior(shares / shares.sum())

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and variance of the logarithms of all rates."""
        mean = float(self.shares @ _LOGS)
        return mean, float(self.shares @ (_LOGS - mean) ** 2) + self.apart**2

    def moved(self, steps: int) -> F64:
        """The shares, so many steps of the grid further up."""
        shares = _windows(self.shares, _LEAST)[_POINTS - steps]
        return np.asarray(shares / shares.sum())

    @property
    def median(self) -> float:
        """Half of the pages change less often, in changes per second."""
        return float(np.exp(np.interp(0.5, np.cumsum(self.shares), _LOGS)))


class Homes(NamedTuple):
    """What is known of the site of each page."""

    shift: I64
    """Steps of the grid above the prior."""
    width: I64
    """Index in `WIDTHS`: how vague that is."""


class Belief(NamedTuple):
    """What is believed of each page: mean and standard deviation of the logarithm of its rate."""

    mean: F32
    spread: F32

    def after(self, ages: F64, prior: Prior) -> Belief:
        """What is left of the belief after this time without a visit: habits may have changed (`changes.HABIT`)."""
        left = np.exp(-ages / HABIT)
        mean, variance = prior.moments
        spread = np.sqrt(variance + (self.spread.astype(np.float64) ** 2 - variance) * left * left)
        return Belief((mean + (self.mean - mean) * left).astype(np.float32), spread.astype(np.float32))

    @property
    def rates(self) -> F64:
        """The median rate of each page."""
        return np.exp(self.mean.astype(np.float64))


# --- beliefs in two bytes -----------------------------------------------------------------------------------

_MEANS, _SPREADS = 256, 16
_CODED: Final = np.linspace(np.log(SLOWEST), np.log(FASTEST), _MEANS)
BELIEFS: Final = _MEANS * _SPREADS
CODES: Final = 1 + 2 * BELIEFS
"""Number of codes. Code 0 is that of a page that was never compared: it has the prior's belief. The next `BELIEFS` are
of pages whose last visit found no change, the others of those whose last visit found one."""


def encode(belief: Belief, changed: Array | bool = False) -> U16:
    """The code of each belief: 256 means, 0.07 apart, and 16 spreads, 0.25 apart; and whether the last visit found a
    change."""
    step = _CODED[1] - _CODED[0]
    mean = np.clip(np.rint((belief.mean - _CODED[0]) / step), 0, _MEANS - 1)
    spread = np.clip(np.floor(belief.spread / 0.25), 0, _SPREADS - 1)
    codes: U16 = (1 + _SPREADS * mean + spread + BELIEFS * np.asarray(changed)).astype(np.uint16)
    return codes


def found_change(codes: Array) -> Bools:
    found: Bools = codes > BELIEFS
    return found


def decode(codes: Array, prior: Prior) -> Belief:
    means, spreads = _decoded(prior)
    return Belief(means[codes], spreads[codes])


def _decoded(prior: Prior) -> Belief:
    mean, variance = prior.moments
    means, spreads = np.repeat(_CODED, _SPREADS), np.tile(0.25 * np.arange(_SPREADS) + 0.125, _MEANS)
    means, spreads = np.tile(means, 2), np.tile(spreads, 2)
    return Belief(
        np.concatenate(([mean], means)).astype(np.float32),
        np.concatenate(([np.sqrt(variance)], spreads)).astype(np.float32),
    )


# --- estimators ---------------------------------------------------------------------------------------------


def last_modified(comparisons: Array, changes: Array, unmodified: Array) -> F64:
    """(2.2), read as `unmodified` in its denominator alone. `unmodified` is the time without change, summed over the
    comparisons: up to the reported modification where the page changed, else the whole interval."""
    n, x, t = (np.asarray(each, np.float64) for each in (comparisons, changes, unmodified))
    with np.errstate(divide="ignore", invalid="ignore"):
        fewer = (x - 1) - x / (n * np.log1p(-x / n))
        found = np.where(x >= n, x - 1, fewer) / t
    return np.where(x == 0, 0.0, found)


def comparisons(count: Array, changes: Array, seconds: Array) -> F64:
    """(2.3): -N log(1 - X/N) / S. Where every comparison found a change it has no value, and `corrected` is used."""
    n, x, s = (np.asarray(each, np.float64) for each in (count, changes, seconds))
    with np.errstate(divide="ignore"):
        plain = -n * np.log1p(-x / n) / s
    return np.where(x >= n, corrected(n, x, s), plain)


def corrected(count: Array, changes: Array, seconds: Array) -> F64:
    """-log((N - X + 0.5) / (N + 0.5)) / (S / N)."""
    n, x, s = (np.asarray(each, np.float64) for each in (count, changes, seconds))
    return -np.log((n - x + 0.5) / (n + 0.5)) * n / s


def likelihood(changes: Changes) -> F64:
    """The most likely rate: the root of  sum over changed intervals of I / (exp(rate I) - 1) = time without change.
    Where all intervals are of one kind there is no root: one imagined interval of half a day of either kind is added
    (LambdaLearnAndCrawl adds them everywhere, which raises the rates of pages with few visits by a tenth)."""
    known, of = changes.changed.astype(np.float64), NODES
    low, high = np.full(len(known), np.log(SLOWEST)), np.full(len(known), np.log(FASTEST))
    half = 43_200.0
    one_kind = (known.sum(1) == 0) | (changes.unchanged == 0)
    for _ in range(50):
        middle = (low + high) / 2
        rate = np.exp(middle)
        with np.errstate(over="ignore"):
            left = (known * (of / np.expm1(rate[:, None] * of))).sum(1) + one_kind * half / np.expm1(rate * half)
        above = left > changes.unchanged + one_kind * half
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    found: F64 = np.exp((low + high) / 2)
    return found


def believe(changes: Changes, prior: Prior, homes: Homes | None = None) -> Belief:
    """The belief about each page: mean and spread of `_posteriors`."""
    pages = len(changes.unchanged)
    mean, spread = np.empty(pages, np.float32), np.empty(pages, np.float32)
    for part, found in _posteriors(changes, prior, homes):
        first, second = found @ _LOGS, found @ (_LOGS * _LOGS)
        mean[part] = first
        spread[part] = np.sqrt(np.maximum(second - first * first, 1e-4))
    return Belief(mean, spread)


def fit(changes: Changes, prior: Prior, rounds: int = 6, homes: Homes | None = None) -> Prior:
    """The prior that explains the observations of these pages better, by expectation and maximisation, made smooth.
    Called again and again with what was found before, it converges; a few thousand pages are enough. Pages of sites
    whose place is vague do not count, if there are enough others: they would have it that pages of a site differ as
    much as sites do."""
    if homes is not None and 2 * (located := homes.width <= _LOCATED).sum() > len(located):
        some = np.flatnonzero(located)
        changes, homes = changes.of(some), Homes(homes.shift[some], homes.width[some])
    for _ in range(rounds):
        total = np.zeros(_POINTS)
        for part, found in _posteriors(changes, prior, homes):
            total += found.sum(0) if homes is None else _aligned(found, homes.shift[part])
        smooth = np.convolve(np.pad(total / len(changes.unchanged), len(_SMOOTH) // 2, "edge"), _SMOOTH, "valid")
        smooth = np.maximum(smooth, 1e-6)
        prior = prior._replace(shares=smooth / smooth.sum())
    return prior


def _aligned(found: F64, shift: I64) -> F64:
    """Sum of the rows, each moved back by its shift."""
    places = np.clip(np.arange(_POINTS) - shift[:, None], 0, _POINTS - 1)
    return np.asarray(np.bincount(places.ravel(), found.ravel(), _POINTS), np.float64)


def _posteriors(changes: Changes, prior: Prior, homes: Homes | None) -> Iterator[tuple[slice, F64]]:
    """The probability of each rate of the grid for each page, some thousand pages at a time: prior times likelihood."""
    of_prior = _log_priors(prior)
    for at in range(0, len(changes.unchanged), _AT_ONCE):
        part = slice(at, at + _AT_ONCE)
        found = changes.changed[part].astype(np.float64) @ _OF_NODES
        found += of_prior[0, _POINTS] if homes is None else of_prior[homes.width[part], _POINTS - homes.shift[part]]
        found -= changes.unchanged[part, None].astype(np.float64) * _RATES
        found -= found.max(1, keepdims=True)
        np.exp(found, out=found)
        found /= found.sum(1, keepdims=True)
        yield part, found


def _log_priors(prior: Prior) -> F64:
    return _log_windows(prior.shares.tobytes())


@lru_cache(maxsize=2)
def _log_windows(shares: bytes) -> F64:
    """Logarithm of the prior for a site, by index of how vague its place is and by `_POINTS` minus its shift."""
    plain, away = np.frombuffer(shares), STEP * np.arange(-_POINTS, _POINTS + 1)
    rows = [plain]
    for width in WIDTHS[1:]:
        blur = np.exp(-0.5 * (away / width) ** 2)
        rows.append(np.convolve(plain, blur / blur.sum())[_POINTS : 2 * _POINTS])
    return _windows(np.log(np.maximum(np.array(rows), _LEAST)), np.log(_LEAST))


def _windows(rows: F64, fill: float) -> F64:
    """All stretches of `_POINTS` values of rows that are continued on both sides."""
    padded = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(_POINTS, _POINTS)], constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, _POINTS, axis=-1)
