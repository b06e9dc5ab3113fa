"""New pages and re-visits on one scale: what a plan needs of the policy of re-visits (`manager.revisit`).

The number of a re-visit by its policy (`policies`) depends on what is believed of the page and on the age of its copy.
It is a table: the logarithm of the number by code of the belief (`rates.encode`) and by age, to be interpolated. Under
`expected`, the default, it is the expected gain in freshness, in seconds, times the worth of the page (q^alpha). A page
never fetched has k q^alpha E[1/rate]: what a visit gains if no copy exists. Since only the order matters, the numbers
of re-visits are divided by k E[1/rate] instead, whose logarithm is the *scale*: new pages are ordered as ever.
`manager/steer.py` finds it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import F32, F64, Array
from gossamer.base.model import Outcome, State
from gossamer.manager.revisits.policies import POLICIES, Moment, chance
from gossamer.manager.revisits.rates import CODES, Belief, Prior, decode

AGES: Final = np.exp(np.linspace(np.log(60.0), np.log(20 * 365 * 86_400.0), 64))
"""Ages of the table, in seconds."""
FIRST_AGE, AGE_STEP = float(np.log(AGES[0])), float(np.log(AGES[1] / AGES[0]))
NO_TABLE: Final = np.zeros((0, len(AGES)), np.float32)


@lru_cache(maxsize=4)
def _table(policy: str, of: tuple[bytes, float], gamma: float, budget: float, visits: float, counts: bytes) -> F32:
    prior = Prior(np.frombuffer(of[0]), of[1])
    codes, rule = np.arange(CODES), POLICIES[policy]
    belief = decode(codes, prior)
    ones = np.ones(CODES)
    if rule.allots is not None or policy in ("webfountain", "adaptive"):
        weight: F64 | float = np.frombuffer(counts) if counts else 1.0
        second = 1.0 / np.maximum(belief.rates, 1e-12)
        per_second = rule.choose(Moment(belief, ones, ones, budget, visits, second, gamma, weight))
        numbers = per_second[:, None] * AGES
    else:
        rows, ages = np.repeat(codes, len(AGES)), np.tile(AGES, CODES)
        later = Belief(belief.mean[rows], belief.spread[rows]).after(ages, prior)
        numbers = rule.choose(Moment(later, np.ones(len(rows)), ages, budget, visits, ages, gamma)).reshape(CODES, -1)
    with np.errstate(divide="ignore"):
        table: F32 = np.maximum(np.log(numbers), -60.0).astype(np.float32)
    return table


def table_of(
    policy: str, prior: Prior, gamma: float, again: float, seconds: float, codes: Array, compared: Array
) -> F32:
    """The logarithms of the numbers. Policies that share out a budget expect as many re-visits as there were until now:
    `again`, in so many `seconds`; they look at the beliefs and comparisons of all pages."""
    budget, visits, counts = 1.0, 0.0, b""
    if policy in ("freshness", "age", "harmonic", "webfountain"):
        pages = np.bincount(codes, minlength=CODES).astype(np.float64)
        pages[0] = 0.0
        counts = pages.tobytes() if pages.any() else b""
        budget = max(again, 1.0) / max(seconds, 1.0)
        visits = float(compared.sum()) / max(1, int((compared > 0).sum()))
    return _table(policy, (prior.shares.tobytes(), prior.apart), gamma, budget, visits, counts)


_RATES: Final = {"hourly": 12.0, "daily": 0.4, "weekly": 0.07, "monthly": 0.01, "rarely": 0.0}
"""Least changes a day of pages that change about as often as the word says."""


def measure(page: Any, prior: Prior, wall: float, most: int = 100_000) -> dict[str, float]:
    """What is expected of the copies now, from a sample: the share that is up to date, for how many days they have been
    outdated on average, and the shares of copies by how often they change."""
    some = np.flatnonzero((page.state[: page.count] == State.DONE) & (page.outcome[: page.count] == Outcome.OK))
    some = some[:: max(1, len(some) // most)]
    if not len(some):
        return {}
    ages = np.maximum(1.0, wall - page.due[some])
    belief = decode(page.belief[some], prior).after(ages, prior)
    stale, rates = chance(belief, ages), belief.rates
    behind = np.maximum(0.0, ages + np.expm1(-rates * ages) / rates)
    found = {"freshness": round(float(1 - stale.mean()), 4), "days_behind": round(float(behind.mean()) / 86_400, 3)}
    above = 1.0
    for word, least in _RATES.items():
        share = float((86_400 * rates < least).mean())
        found[word], above = round(above - share, 4), share
    return found
