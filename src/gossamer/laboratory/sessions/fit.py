"""Fits models of surfers to visits by level: by least squares, as the thesis does, and by likelihood.

Least squares (5.4): the curve of cumulated visits of a model is fitted to that of the log, level by level with equal
weights. The *error* of table 5.3 is the asymptotic standard error of q, in per cent of q, as programs for such fits
print it: sqrt(sum of squares / (levels - parameters) / sum of squared slopes).

Likelihood: each visit is taken as drawn from the model's levels. So levels count as often as they are visited. Visits
of one session are not independent, so the standard error is too small; models are compared by sessions of clients that
they were not fitted to (`scored`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.laboratory.sessions.counts import Counts
from gossamer.rank.surfers import MODELS, Parameter, Surfer

MOST: Final = 30
"""The deepest level of a fit by least squares: the range of figure 5.12."""
LEAST: Final = 1e-12
"""The least probability of a level: a visit that a model thinks impossible costs 40 bits."""
_TURNS: Final = 200
_SMALL: Final = 1e-7


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model with the values that fit best."""

    model: Surfer
    values: tuple[float, ...]
    error: float | None = None
    """Standard error of q, as a share of q; only for models with one parameter."""

    @property
    def q(self) -> float:
        return self.values[0]


def least_squares(model: Surfer, visits: I64) -> Fitted:
    """Fits the curve of cumulated visits. `visits`: by level."""
    deepest = min(int(np.flatnonzero(visits)[-1]), MOST) if visits.any() else 0
    number = max(deepest + 1, 3)
    curve = np.cumsum(visits[:number]) / max(1, int(visits.sum()))

    def distance(values: Sequence[float]) -> float:
        return float(((model.cumulated(values, number) - curve) ** 2).sum())

    values = minimum(distance, model.parameters)
    error = None
    if len(values) == 1:
        step = 1e-5
        q = min(max(values[0], model.parameters[0].least + step), model.parameters[0].most - step)
        slope = (model.cumulated((q + step,), number) - model.cumulated((q - step,), number)) / (2 * step)
        error = math.sqrt(distance(values) / (number - 1) / float((slope**2).sum())) / q
    return Fitted(model, values, error)


def by_likelihood(model: Surfer, visits: I64) -> Fitted:
    """Fits the levels of visits."""
    number = int(np.flatnonzero(visits)[-1]) + 1 if visits.any() else 1
    counted = visits[:number]

    def cost(values: Sequence[float]) -> float:
        return -float(counted @ np.log(np.maximum(model.levels(values, number), LEAST)))

    values = minimum(cost, model.parameters)
    error = None
    if len(values) == 1:
        step = 1e-4 * min(values[0], 1 - values[0])
        q = values[0]
        bend = (cost((q + step,)) - 2 * cost((q,)) + cost((q - step,))) / step**2
        error = 1 / math.sqrt(bend) / q if bend > 0 else None
    return Fitted(model, values, error)


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model says what it has not seen."""

    fitted: Fitted
    """Fitted by likelihood to all visits."""
    visits: float
    """Bits for each visit of the half of the clients that the model was not fitted to, by its level; the mean of both
    halves. Fewer are better."""
    sessions: float
    """Bits for each session of that half, by its length."""


def scored(counts: Counts) -> list[Score]:
    """The models, fitted to half of the clients and judged by the other half, twice. The best by levels first."""
    found = []
    for model in MODELS.values():
        bits = np.zeros(2)
        for half in range(2):
            if not counts.visits[half].any():
                continue
            values = by_likelihood(model, counts.visits[half]).values
            other = 1 - half
            bits += (
                _bits(model.levels(values, counts.visits.shape[1]), counts.visits[other]) / 2,
                _bits(np.concatenate([[0.0], model.lengths(values, LENGTHS)]), counts.lengths[other][: LENGTHS + 1])
                / 2,
            )
        found.append(Score(by_likelihood(model, counts.visits.sum(0)), float(bits[0]), float(bits[1])))
    return sorted(found, key=lambda each: each.visits)


LENGTHS: Final = 300
"""Visits of a session by which models are judged; the few longer sessions are not."""


def _bits(probability: F64, counted: I64) -> float:
    total = int(counted.sum())
    return -float(counted @ np.log2(np.maximum(probability, LEAST))) / total if total else 0.0


# --- the least of a function of one or two numbers ------------------------------------------------------------------


def minimum(cost: Callable[[Sequence[float]], float], parameters: Sequence[Parameter]) -> tuple[float, ...]:
    """Where a function is least within the ranges of its parameters: by the golden section, or by the simplex of Nelder
    and Mead (1965) over logits of the ranges."""
    if len(parameters) == 1:
        return (_section(lambda value: cost((value,)), parameters[0].least, parameters[0].most),)

    def value(place: F64) -> tuple[float, ...]:
        shares = 1 / (1 + np.exp(-np.clip(place, -30, 30)))
        return tuple(p.least + (p.most - p.least) * float(s) for p, s in zip(parameters, shares, strict=True))

    begin = np.asarray([math.log((p.first - p.least) / (p.most - p.first)) for p in parameters])
    return value(_simplex(lambda place: cost(value(place)), begin))


def _section(cost: Callable[[float], float], low: float, high: float) -> float:
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = cost(a), cost(b)
    while high - low > _SMALL:
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = cost(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = cost(b)
    return (low + high) / 2


def _simplex(cost: Callable[[F64], float], begin: F64) -> F64:
    points = [begin, *(begin + np.eye(len(begin))[i] for i in range(len(begin)))]
    costs = [cost(point) for point in points]
    for _ in range(_TURNS):
        order = np.argsort(costs, kind="stable").tolist()
        points, costs = [points[i] for i in order], [costs[i] for i in order]
        spread = float(np.abs(np.asarray(points[1:]) - points[0]).max())
        if spread < 1e-5 and abs(costs[-1] - costs[0]) <= 1e-12 * (1 + abs(costs[0])):
            break
        middle = np.mean(points[:-1], axis=0)
        tried = middle + (middle - points[-1])
        at = cost(tried)
        if at < costs[0]:
            further = middle + 2 * (middle - points[-1])
            if (there := cost(further)) < at:
                tried, at = further, there
        elif at >= costs[-2]:
            tried = middle + ((tried if at < costs[-1] else points[-1]) - middle) / 2
            at = cost(tried)
            if at >= costs[-1]:
                points = [points[0], *((each + points[0]) / 2 for each in points[1:])]
                costs = [costs[0], *(cost(each) for each in points[1:])]
                continue
        points[-1], costs[-1] = tried, at
    return np.asarray(points[int(np.argmin(costs))])
