"""Power laws fitted to distributions: by maximum likelihood, with a test, and by the regression of the thesis.

The exponent and its error are those of `laboratory/graphs/powerlaw.py`, over the range that the law is claimed for. The
test is that of Clauset, Shalizi and Newman (2009, section 4): the greatest distance between the distribution and the
law (as in the test of Kolmogorov and Smirnov) is compared with the distances of samples that are drawn from the law and
fitted in the same way. `plausible` is the share of these that are at least as far away: below 0.1 the law is doubtful.
At most `LARGEST` values are tested, drawn at random: with millions of values every law is refuted by a detail.

The regression is a line through the logarithms of values and counts. It is biased and has no error; it is there because
the exponents of the thesis come from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.laboratory.graphs.powerlaw import Fit, exponent, zeta

LARGEST: Final = 5_000
_DRAWS: Final = 100
_TERMS: Final = 10
"""Terms of each sum: a distance needs no more digits."""
DOUBTFUL: Final = 0.1


@dataclass(frozen=True, slots=True)
class Law:
    """A power law that is claimed for the values from `least` to `most`, and its exponent in the thesis."""

    least: int = 1
    most: int | None = None
    thesis: str = ""
    """What the thesis found, and by which regression; empty if it says nothing."""

    @property
    def range(self) -> str:
        return f"{self.least:,} to {self.most:,}" if self.most is not None else f"from {self.least:,}"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law as it was found in a distribution."""

    exponent: float
    error: float
    number: int
    """How many values are in the range."""
    distance: float
    plausible: float
    regression: float | None


def fit(law: Law, values: F64, counts: I64) -> Fitted | None:
    """Fits the law; None if the range has fewer than ten values, or one distinct value only."""
    inside = (values >= law.least) & (values <= (law.most if law.most is not None else np.inf))
    whole, counts = values[inside].astype(np.int64), counts[inside]
    found = exponent(whole, law.least, law.most, counts)
    if found is None:
        return None
    rng = np.random.default_rng(1)
    few = found.number <= LARGEST
    tested = np.repeat(whole, counts) if few else rng.choice(whole, LARGEST, p=counts / found.number)
    distance, plausible = _test(law, tested, rng)
    return Fitted(found.exponent, found.error, found.number, distance, plausible, _regression(whole, counts))


def _test(law: Law, sample: I64, rng: np.random.Generator) -> tuple[float, float]:
    found = exponent(sample, law.least, law.most)
    if found is None:
        return 0.0, 1.0
    distance = _distance(law, found, sample)
    top = law.most if law.most is not None else max(10 * int(sample.max()), 1_000_000)
    table = np.arange(law.least, min(top, law.least + 2_000_000) + 1, dtype=np.float64)
    heights = np.cumsum(table**-found.exponent)
    heights /= heights[-1]
    as_far = 0
    for _ in range(_DRAWS):
        drawn = law.least + np.searchsorted(heights, rng.random(len(sample)), side="right")
        again = exponent(drawn, law.least, law.most)
        as_far += again is not None and _distance(law, again, drawn) >= distance
    return distance, as_far / _DRAWS


def _distance(law: Law, found: Fit, sample: I64) -> float:
    """The greatest distance between the cumulative shares of the sample and of the law."""
    values, counts = np.unique(sample, return_counts=True)
    after = zeta(found.exponent, law.most + 1) if law.most is not None else 0.0
    beyond = (zeta(found.exponent, values + 1, _TERMS) - after) / (zeta(found.exponent, law.least) - after)
    return float(np.abs(np.cumsum(counts) / len(sample) - (1 - beyond)).max())


def _regression(values: I64, counts: I64) -> float | None:
    """The slope of the line through the logarithms of values and counts, with its sign turned."""
    if len(values) < 3 or values[0] < 1:
        return None
    return float(-np.polyfit(np.log(values), np.log(counts), 1)[0])
