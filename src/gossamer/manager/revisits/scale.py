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
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, Array
from gossamer.base.model import Outcome, State
from gossamer.manager.revisits.policies import POLICIES, Moment, chance, up_to_date, worth
from gossamer.manager.revisits.rates import BELIEFS, CODES, Belief, Prior, decode
from gossamer.manager.revisits.signals import Trust, told

AGES: Final = np.exp(np.linspace(np.log(60.0), np.log(20 * 365 * 86_400.0), 64))
"""Ages of the table, in seconds."""
FIRST_AGE, AGE_STEP = float(np.log(AGES[0])), float(np.log(AGES[1] / AGES[0]))
_Hashable = tuple[bytes, float]
HEEDS: Final = "expected"
"""The policy that heeds signals."""
NO_TABLE: Final = np.zeros((0, len(AGES)), np.float32)


@lru_cache(maxsize=4)
def _table(policy: str, of: _Hashable, gamma: float, budget: float, visits: float, counts: bytes) -> F32:
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
        belief, ages = _at_ages(prior)
        later = belief.after(ages, prior)
        numbers = _all(rule.choose(Moment(later, np.ones(len(ages)), ages, budget, visits, ages, gamma)))
    with np.errstate(divide="ignore"):
        table: F32 = np.maximum(np.log(numbers), -60.0).astype(np.float32)
    return table


def _hashable(prior: Prior) -> _Hashable:
    return prior.shares.tobytes(), prior.apart


def _at_ages(prior: Prior) -> tuple[Belief, F64]:
    """Every belief, whatever the last visit found, at every age."""
    codes = np.arange(1 + BELIEFS)
    return decode(np.repeat(codes, len(AGES)), prior), np.tile(AGES, len(codes))


def _all(numbers: F64) -> F64:
    """Rows for all codes: a belief is the same whatever the last visit found."""
    rows = numbers.reshape(1 + BELIEFS, -1)
    return np.concatenate((rows, rows[1:]))


def table_of(
    policy: str, prior: Prior, gamma: float, again: float, seconds: float, codes: Array, compared: Array
) -> F32:
    """The logarithms of the numbers. Policies that share out a budget expect as many re-visits as there were until now:
    `again`, in so many `seconds`; they look at the beliefs and comparisons of all pages."""
    budget, visits, counts = 1.0, 0.0, b""
    if policy in ("freshness", "age", "harmonic", "webfountain", "fronts", "fronts-evenly"):
        pages = np.bincount(codes, minlength=CODES).astype(np.float64)
        pages[0] = 0.0
        counts = pages.tobytes() if pages.any() else b""
        budget = max(again, 1.0) / max(seconds, 1.0)
        visits = float(compared.sum()) / max(1, int((compared > 0).sum()))
    return _table(policy, _hashable(prior), gamma, budget, visits, counts)


class Heeded(NamedTuple):
    """Tables for the worth of pages with signals, by code and age. Here old beliefs do not return to the prior: the
    effective age of a copy may be years, and its belief of yesterday. Empty under policies that heed no signals."""

    staleness: F32
    """Minus the logarithm of the probability that a copy is up to date."""
    worths: F32
    """Logarithms of the gain in freshness, in seconds."""


@lru_cache(maxsize=2)
def _heeded(of: _Hashable) -> Heeded:
    belief, ages = _at_ages(Prior(np.frombuffer(of[0]), of[1]))
    stale = -np.log(np.maximum(1 - chance(belief, ages), 1e-30))
    worths = _all(np.log(np.maximum(worth(belief, ages), 1e-26)))
    return Heeded(np.maximum.accumulate(_all(stale), axis=1).astype(np.float32), worths.astype(np.float32))


def heeded_by(policy: str, prior: Prior) -> Heeded:
    return _heeded(_hashable(prior)) if policy == HEEDS else Heeded(NO_TABLE, NO_TABLE)


def read(table: F32, codes: Array, places: F64) -> F64:
    """The table at these places between its ages, interpolated."""
    at = places.astype(np.int64)
    low, high = table[codes, at].astype(np.float64), table[codes, at + 1].astype(np.float64)
    found: F64 = low + (places - at) * (high - low)
    return found


def places_of(ages: F64) -> F64:
    """Where these ages lie in the tables."""
    found: F64 = np.clip((np.log(np.maximum(1.0, ages)) - FIRST_AGE) / AGE_STEP, 0.0, len(AGES) - 1.001)
    return found


def effective(staleness: F32, codes: Array, ages: F64, signals: Array, trust: Trust) -> F64:
    """The places of the effective ages of dated pages (`signals`)."""
    places = places_of(ages * trust.share)
    told = np.flatnonzero(signals > 0)
    of = staleness[codes[told]]
    wanted = read(staleness, codes[told], places[told]) + signals[told] * trust.doubt[told]
    at, rows = np.clip((of < wanted[:, None]).sum(1) - 1, 0, len(AGES) - 2), np.arange(len(told))
    low, high = of[rows, at].astype(np.float64), of[rows, at + 1].astype(np.float64)
    found = at + np.clip((wanted - low) / np.maximum(high - low, 1e-9), 0.0, 1.0)
    places[told] = np.clip(found, places[told], len(AGES) - 1.001)
    return places


def heed(tables: Heeded, codes: Array, ages: F64, signals: Array, trust: Trust) -> F64:
    """The logarithms of the numbers of dated pages; `profit._heed` computes the same."""
    places = effective(tables.staleness, codes, ages, signals, trust)
    fresh = np.exp(-read(tables.staleness, codes, places))
    found: F64 = read(tables.worths, codes, places) - np.log(1 - trust.announced * fresh)
    return found


_RATES: Final = {"hourly": 12.0, "daily": 0.4, "weekly": 0.07, "monthly": 0.01, "rarely": 0.0}
"""Least changes a day of pages that change about as often as the word says."""


class Staleness(NamedTuple):
    """What is expected of some copies."""

    outdated: F64
    """With which probability each is outdated."""
    behind: F64
    """For how many seconds each has been outdated, on average over what may have happened."""
    rates: F64


def copies_of(columns: Any) -> I64:
    """The pages whose copies are in the index. Pages may be added meanwhile: their count is looked at once."""
    page, used = columns.page, slice(0, columns.page.count)
    found: I64 = np.flatnonzero((page.state[used] == State.DONE) & (page.outcome[used] == Outcome.OK))
    return found


def staleness(columns: Any, prior: Prior, wall: float, copies: I64) -> Staleness:
    page, site = columns.page, columns.site
    ages = np.maximum(1.0, wall - page.due[copies])
    belief = decode(page.belief[copies], prior).after(ages, prior)
    sites, signals = columns.origin.site[page.origin[copies]], page.signals[copies]
    trust, heard = Trust(site.doubt, site.announced).of(sites), signals > 0
    stale = told(belief, ages, signals - 1.0, trust)
    stale[~heard] = chance(Belief(belief.mean[~heard], belief.spread[~heard]), ages[~heard])
    return Staleness(stale, ages * (1 - up_to_date(belief, ages)), belief.rates)


def measure(columns: Any, prior: Prior, wall: float, most: int = 100_000) -> dict[str, float]:
    """What is expected of the copies now, from a sample: the share that is up to date, for how many days they have been
    outdated on average, and the shares of copies by how often they change. A plan's thread calls it."""
    some = copies_of(columns)
    some = some[:: max(1, len(some) // most)]
    if not len(some):
        return {}
    outdated, behind, rates = staleness(columns, prior, wall, some)
    found = {"freshness": round(float(1 - outdated.mean()), 4), "days_behind": round(float(behind.mean()) / 86_400, 3)}
    above = 1.0
    for word, least in _RATES.items():
        share = float((86_400 * rates < least).mean())
        found[word], above = round(above - share, 4), share
    return found
