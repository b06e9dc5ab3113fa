"""Surfers: models of how deep users go in a site without end, in closed form (thesis, 5.2, 2.1.4 and 9.2).

A surfer is at a *level*: 0 where the session began, one more for each click to a page that was not seen before. With
probability q he goes on to the next level, and q may depend on the level; else he goes back:

    to the level before       model A
    to the start              model B, and all rivals: going back to the start and leaving are the same for the others
    to any level up to his    model C

A model says which share of all visits each level has (`levels`). A session ends when the surfer is back at level 0, so
its mean length is 1/x_0, the mean time of return.

The rivals are models of when surfers give up, and go back to the start then (as in B):

- *Huberman*: the value of pages is a random walk; the last level follows an inverse Gaussian (Huberman et al. 1998);
- *Lukose*: the same walk, and the surfer goes on as long as the discounted value of what may come is above zero (Lukose
  and Huberman 1998). Without discount he leaves at the first page below zero; if the future counts, he is patient. The
  discount only moves the value at which he leaves, so depths cannot tell it from the value of the first page: that is
  fitted, and the discount is `DISCOUNT`;
- *Levene*: q falls by the same factor at each level (Levene et al. 2001);
- *memory*: q grows with what the surfer has already done, as 9.2 observed: each level that he went on counts like one
  of the observations that his first q stands on. It is also what surfers look like who differ in q (by a beta
  distribution): those who are deep are those who go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

import numpy as np

from gossamer.base.arrays import F64

DEEPEST: Final = 4_096
"""Levels that are looked at to find the depth for a share of visits."""


class Back(IntEnum):
    """Where a surfer goes who does not go on."""

    ONE = 0
    START = 1
    ANY = 2


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a model is fitted with; it lies between two others."""

    name: str
    least: float
    most: float
    first: float
    """Where a fit begins."""


@dataclass(frozen=True, slots=True)
class Surfer:
    """A model of surfers."""

    name: str
    title: str
    source: str
    parameters: tuple[Parameter, ...]
    back: Back
    onward: Callable[[Sequence[float], int], F64]
    """Probability to go on, by level, of so many levels."""
    weights: Callable[[Sequence[float], int], tuple[F64, float]]
    """Visits of so many levels for each visit of level 0, and their sum over all levels without end."""

    def levels(self, values: Sequence[float], number: int) -> F64:
        """Share of all visits, by level; the shares of all levels without end add up to 1."""
        found, total = self.weights(values, number)
        return found / total

    def cumulated(self, values: Sequence[float], number: int) -> F64:
        """Share of all visits up to each level."""
        return np.cumsum(self.levels(values, number))

    def length(self, values: Sequence[float]) -> float:
        """Mean number of visits of a session."""
        return self.weights(values, 1)[1]

    def depth_for(self, values: Sequence[float], share: float) -> int | None:
        """The least depth up to which this share of visits lies; None if it is deeper than `DEEPEST`."""
        reached = np.flatnonzero(self.cumulated(values, DEEPEST) >= share - 1e-12)
        return int(reached[0]) if len(reached) else None

    def lengths(self, values: Sequence[float], most: int) -> F64:
        """Share of the sessions of each length, from 1 to `most` visits: a session ends at the return to level 0."""
        on = self.onward(values, most)
        going, found = np.zeros(most + 1), np.zeros(most)
        going[0] = 1.0
        for n in range(most):
            ahead, behind = going[:-1] * on, going[:-1] * (1 - on)
            going = np.concatenate([[0.0], ahead])
            found[n] = self._return(behind, going)
        return found

    def _return(self, behind: F64, going: F64) -> float:
        """Distributes those who go back over the levels; returns how many are at level 0 now."""
        if self.back is Back.START:
            return float(behind.sum())
        if self.back is Back.ONE:
            going[1 : len(behind) - 1] += behind[2:]
            return float(behind[:2].sum())
        each = np.cumsum((behind / np.arange(1, len(behind) + 1))[::-1])[::-1]
        going[1 : len(behind)] += each[1:]
        return float(each[0])


# --- the models of the thesis -----------------------------------------------------------------------------------------


def _constant(values: Sequence[float], number: int) -> F64:
    return np.full(number, values[0])


def _geometric(ratio: float, number: int) -> tuple[F64, float]:
    return np.asarray(ratio ** np.arange(number, dtype=np.float64)), 1 / (1 - ratio) if ratio < 1 else math.inf


def _a(values: Sequence[float], number: int) -> tuple[F64, float]:
    """x_i = (1-2q)/(1-q) (q/(1-q))^i, for q below a half."""
    (q,) = values
    return _geometric(q / (1 - q), number)


def _b(values: Sequence[float], number: int) -> tuple[F64, float]:
    """x_i = (1-q) q^i"""
    return _geometric(values[0], number)


def _c(values: Sequence[float], number: int) -> tuple[F64, float]:
    """x_i = (1-q)^2 (i+1) q^i"""
    (q,) = values
    level = np.arange(number, dtype=np.float64)
    return (level + 1) * q**level, (1 - q) ** -2


# --- rivals, which all go back to the start ---------------------------------------------------------------------------


def _surviving(onward: F64) -> F64:
    """Visits by level, for each visit of level 0, from the probabilities to go on."""
    return np.concatenate([[1.0], np.cumprod(onward[:-1])])


def _huberman(values: Sequence[float], number: int) -> tuple[F64, float]:
    whole = _inverse_gaussian(float(values[0]), float(values[1]))
    return _first(whole, number), float(whole.sum())


def _first(whole: F64, number: int) -> F64:
    found = np.zeros(number)
    found[: min(number, len(whole))] = whole[:number]
    return found


@lru_cache(maxsize=256)
def _inverse_gaussian(mean: float, shape: float) -> F64:
    """Share of the surfers who come to each level: those whose last page, an inverse Gaussian, is beyond it."""
    found = [1.0]
    factor = math.exp(min(2 * shape / mean, 700.0))
    while found[-1] > 1e-12 and len(found) < DEEPEST:
        x = len(found)
        root = math.sqrt(shape / x)
        below = _normal(root * (x / mean - 1)) + factor * _normal(-root * (x / mean + 1))
        found.append(min(max(1 - below, 0.0), found[-1]))
    return np.asarray(found)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _rates(whole: F64, number: int) -> F64:
    """Probabilities to go on, from the shares of surfers who come to each level."""
    there = np.concatenate([whole, np.zeros(max(0, number + 1 - len(whole)))])[: number + 1]
    return np.asarray(np.divide(there[1:], there[:-1], out=np.zeros(number), where=there[:-1] > 0))


_FINE: Final = 8
"""Values of pages that are told apart, for each standard deviation of a step."""
_RANGE: Final = 14.0
"""How far values are followed, in standard deviations of a step."""
_PATIENCE: Final = 300
DISCOUNT: Final = 0.9
"""How much the next page counts beside this one, to a surfer who discounts what may come."""
_STEPS: Final = 256
"""Levels of the walk; beyond them the share of those who go on stays as it is."""


def _lukose(values: Sequence[float], number: int) -> tuple[F64, float]:
    whole = discounting(float(values[0]), float(values[1]))
    tail = float(whole[-1] / whole[-2]) if whole[-2] > 0 else 0.0
    total = float(whole.sum()) + whole[-1] * tail / (1 - tail) if tail < 1 else math.inf
    if number > len(whole):
        more = whole[-1] * tail ** np.arange(1, number - len(whole) + 1)
        return np.concatenate([whole, more]), float(total)
    return whole[:number], float(total)


@lru_cache(maxsize=256)
def discounting(first: float, drift: float, discount: float = DISCOUNT) -> F64:
    """Share of the surfers who come to each level, where the value of pages is a walk with this drift from a first page
    of this value, in the mean.

    A surfer at a page of value v goes on while v + discount * E(what the next page is worth to him) is above zero.
    """
    value = np.arange(-_RANGE, _RANGE + 1e-9, 1 / _FINE)
    steps = np.exp(-((value[None, :] - value[:, None] - drift) ** 2) / 2)
    steps /= steps.sum(1, keepdims=True)
    worth = np.maximum(value, 0)
    for _ in range(_PATIENCE):
        new = np.maximum(value + discount * (steps @ worth), 0)
        if float(np.abs(new - worth).max()) < 1e-6:
            break
        worth = new
    leaves_at = float(np.interp(0.0, value + discount * (steps @ worth), value))
    stays = np.clip((value - leaves_at) * _FINE + 0.5, 0.0, 1.0)  # smooth in the parameters
    at = np.exp(-((value - first) ** 2) / 2)
    at /= at.sum()
    found = [1.0]
    while len(found) < _STEPS and found[-1] > 1e-12:
        at = at * stays
        found.append(float(at.sum()))
        at = at @ steps
    return np.asarray(found)


def _falling(values: Sequence[float], number: int) -> F64:
    q, factor = values
    return q * factor ** np.arange(number, dtype=np.float64)


def _levene(values: Sequence[float], number: int) -> tuple[F64, float]:
    whole = _surviving(_falling(values, DEEPEST))
    return _first(whole, number), float(whole.sum())


def _learning(values: Sequence[float], number: int) -> F64:
    q, leaving = values
    staying = leaving * q / (1 - q)
    level = np.arange(number, dtype=np.float64)
    return (staying + level) / (staying + leaving + level)


def _memory(values: Sequence[float], number: int) -> tuple[F64, float]:
    q, leaving = values
    staying = leaving * q / (1 - q)
    return _surviving(_learning(values, number)), 1 + staying / (leaving - 1)


_Q: Final = Parameter("q", 1e-4, 0.999, 0.5)
MODELS: Final[dict[str, Surfer]] = {
    each.name: each
    for each in (
        Surfer(
            "A", "A: back one level", "thesis 5.2.1", (Parameter("q", 1e-4, 0.4999, 0.35),), Back.ONE, _constant, _a
        ),
        Surfer("B", "B: back to the start", "thesis 5.2.2", (_Q,), Back.START, _constant, _b),
        Surfer("C", "C: back to any level", "thesis 5.2.3", (_Q,), Back.ANY, _constant, _c),
        Surfer(
            "Huberman",
            "Huberman: inverse Gaussian",
            "thesis 2.1.4, Huberman et al. 1998",
            (Parameter("mean", 0.05, 100.0, 2.0), Parameter("shape", 0.02, 200.0, 2.0)),
            Back.START,
            lambda values, number: _rates(_inverse_gaussian(float(values[0]), float(values[1])), number),
            _huberman,
        ),
        Surfer(
            "Lukose",
            "Lukose: discounted future",
            "thesis 2.1.4, Lukose and Huberman 1998",
            (Parameter("first value", -6.0, 12.0, 0.0), Parameter("drift", -4.0, 0.3, -0.3)),
            Back.START,
            lambda values, number: _rates(_lukose(values, number + 1)[0], number),
            _lukose,
        ),
        Surfer(
            "Levene",
            "Levene: falling q",
            "thesis 2.1.4, Levene et al. 2001",
            (_Q, Parameter("factor", 0.3, 1.0, 0.95)),
            Back.START,
            _falling,
            _levene,
        ),
        Surfer(
            "memory",
            "memory: q grows",
            "thesis 9.2",
            (_Q, Parameter("leaving", 1.001, 1000.0, 5.0)),
            Back.START,
            _learning,
            _memory,
        ),
    )
}
"""The models, by name: those of the thesis, then their rivals."""


def same_depths(q: float) -> float:
    """The q of model A whose visits by level are those of model B with this q (5.2.4)."""
    return q / (1 + q)
