"""Power laws of integers: drawing from them, and estimating the exponent of a sample.

    Pr(x) = x^-a / (zeta(a, least) - zeta(a, most + 1)),     least <= x <= most

`exponent` is the maximum-likelihood estimate of a (Clauset, Shalizi and Newman 2009, section 3, discrete). Its standard
error is 1 / sqrt(n times the variance of ln x under a). `least` is given, not searched: the range of degrees for which
a power law holds is part of the claim (ERRATA of thesis 8.7.2: the exponent "depends a lot" on it).

Refused: a straight line through the logarithms of a histogram (on samples of 20,000 it finds 1.1 for 2.3 and .7 for
1.77, and gives no error); the continuous formula 1 + n / sum ln(x/(least - 1/2)) (as good from 50 on, but it finds 1.65
for 1.77 and 2.1 for 2.8 where least = 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import F64, I64, Array

_FIRST, _LAST = 1.01, 12.0


@dataclass(frozen=True, slots=True)
class Fit:
    """An estimated exponent."""

    exponent: float
    error: float
    """Standard error."""
    number: int
    """Values of the sample between least and most."""


def exponent(sample: Array, least: int = 1, most: int | None = None, counts: I64 | None = None) -> Fit | None:
    """Estimates the exponent. None if the range holds fewer than ten values, or only one distinct value. `counts`: how
    often each value of the sample occurs; once if None."""
    inside = (sample >= least) & ((sample <= most) if most is not None else True)
    kept = sample[inside]
    number = len(kept) if counts is None else int(counts[inside].sum())
    if number < 10 or kept.min() == kept.max():
        return None
    weights = None if counts is None else counts[inside]
    wanted = float(np.average(np.log(kept.astype(np.float64)), weights=weights))
    low, high = _FIRST, _LAST
    for _ in range(60):
        middle = (low + high) / 2
        if _mean_log(middle, least, most) > wanted:
            low = middle
        else:
            high = middle
    step = 1e-4
    variance = (_mean_log(low - step, least, most) - _mean_log(low + step, least, most)) / (2 * step)
    return Fit(low, float(1 / np.sqrt(number * max(variance, 1e-12))), number)


def _mean_log(a: float, least: int, most: int | None) -> float:
    """Mean of ln x under a: the slope of -ln of the sum of x^-a."""
    step = 1e-5
    ratio = _total(a - step, least, most) / _total(a + step, least, most)
    return float(np.log(ratio) / (2 * step) + np.log(least))


def _total(a: float, least: int, most: int | None) -> float:
    """Sum of x^-a from least to most, relative to least^-a to stay in range."""
    beyond = zeta(a, most + 1) if most is not None else 0.0
    return float((zeta(a, least) - beyond) * least**a)


def zeta(a: float, first: int | I64, terms: int = 30) -> F64:
    """Sum of x^-a over x >= first (Hurwitz zeta), of each first. With 30 terms, and Euler-Maclaurin for the
    rest, it has 12 digits."""
    begin = np.asarray(first, np.float64)
    q = begin + terms
    rest = q ** (1 - a) / (a - 1) + q**-a / 2 + a * q ** (-a - 1) / 12
    rest -= a * (a + 1) * (a + 2) * q ** (-a - 3) / 720
    return np.asarray(((begin[..., None] + np.arange(terms)) ** -a).sum(axis=-1) + rest)


def draw(rng: np.random.Generator, weights: F64, number: int) -> I64:
    """Draws `number` integers from 0 to len(weights) - 1, each in proportion to its weight."""
    heights = np.cumsum(weights)
    found = np.searchsorted(heights, rng.random(number) * heights[-1], side="right")
    return np.asarray(np.minimum(found, len(weights) - 1))


def bent(mean: float, bend: int, tail: float, most: int) -> F64:
    """Weights of 0 to `most`: x^-tail from `bend` on; below it the power that gives the required mean; 0 gets none."""
    x = np.arange(1, most + 1, dtype=np.float64)
    beyond = (np.maximum(x, bend) / bend) ** -tail
    low, high = -3.0, 6.0
    for _ in range(60):
        body = (low + high) / 2
        weights = beyond * (np.minimum(x, bend) / bend) ** -body
        if (weights * x).sum() / weights.sum() > mean:
            low = body
        else:
            high = body
    return np.concatenate([[0.0], weights / weights.sum()])
