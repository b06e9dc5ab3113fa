"""The value of a page, and the profit of fetching it (thesis 3.4 and 7.2.1, figure 7.1).

    quality    q = sum of weight x score / sum of weights         scores and quality lie between 0 and 1
    value      V = q^alpha f^gamma if the page was fetched, else 0        f: freshness
    profit     V after a fetch (f = 1) minus V now
    index      V(I) = sum of V over the pages of the index

A page is fetched or not: there are no grades of representation (3.4), and so no exponent beta for them. Freshness is
the probability that our copy still equals the page at the server, exp(-age / change_period); in a continuous crawl, by
the rate that is believed of the page (`revisits/`). So the profit of a page that was never fetched is q^alpha, and of a
page fetched before q^alpha (1 - f^gamma). The index holds the pages whose last outcome was `ok`; duplicates and
redirects add nothing to it.

    score       of a page
    opic        its share of all cash given out; for a fetched page the cash it held then (a share: see rank/names.py)
    completed   its completed PageRank: an estimate for the complete graph       (a share: see rank/completed.py)
    pagerank, indegree, siterank, hub, authority         link scores: computed in the background (shares)
    depth       1 / (1 + depth)
    static      1 for a static page, 0 for a dynamic one
    pending     the share of its site in all pending pages (a share, among sites)
    boost       the value that the patterns of manager.boosts give

The column `merit` holds the link scores times their weights; the other scores are computed when a plan needs them.

The exponents of the presets (`config/presets.py`) set which measure counts most (figure 3.6); `general` is the thesis'
own choice, all 1 (7.2.1).

Light to import: `terms_of` computes once, with numpy, what a plan needs; kernels are in `profit` and `plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from gossamer.base.arrays import F32, F64, Array
from gossamer.base.errors import UsageError
from gossamer.config.accepted import check
from gossamer.config.presets import PRESETS, in_force
from gossamer.config.settings import ManagerSettings
from gossamer.manager.revisits.common import AGAIN, BEGUN, SCALE, prior_of
from gossamer.manager.revisits.policies import POLICIES
from gossamer.manager.revisits.rates import CODES, decode
from gossamer.manager.revisits.scale import NO_TABLE, Heeded, heeded_by, table_of
from gossamer.manager.revisits.signals import Trust
from gossamer.manager.strategies import VALUE, Strategy
from gossamer.rank.names import LINK_SCORES, share_score, straight_log2

T = TypeVar("T")

GIVEN: Final = 1 << 63
"""The bit of `cash` which says that the page has handed on its cash; the amount can still be read."""
TOTAL: Final = 3
"""Place of all cash given out in the desk's totals; `policies.py` has the other places, and needs numba."""

OWN_SCORES: Final = ("opic", "completed", "depth", "static", "pending", "boost")
SCORES: Final = (*OWN_SCORES, *LINK_SCORES)
"""Names of all scores that can have a weight."""


_NOBODY: Final = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Value:
    """The checked settings that decide the value of a page."""

    weights: Mapping[str, float] = field(default_factory=lambda: {"completed": 1.0})
    alpha: float = 1.0
    gamma: float = 1.0
    change_period: float = 60 * 86_400.0
    min_period: float = 0.0
    """0: pages are fetched once."""
    continuous: bool = False
    revisit: str = "expected"
    """The policy of re-visits of a continuous crawl (`revisits/policies.py`)."""

    @staticmethod
    def of(settings: ManagerSettings) -> Value:
        """Raises UsageError with the wrong setting and the values that it accepts."""
        _chosen("manager.preset", settings.preset, PRESETS)
        preset = in_force(settings)
        if settings.change_period <= 0:
            raise UsageError("manager.change_period is 0", "Set it to a duration, for example 60d.")
        return Value(
            check_weights(settings.weights),
            preset.alpha,
            preset.gamma,
            float(settings.change_period),
            float(preset.min_period),
            settings.continuous,
            settings.revisit,
        )

    @property
    def sum_of_weights(self) -> float:
        return sum(self.weights.values())

    @property
    def revisits(self) -> bool:
        """Whether pages are fetched again; if freshness does not count, that would gain nothing."""
        return self.min_period > 0 and (self.gamma > 0 or self.continuous)

    def value(self, quality: float, representation: float, freshness: float) -> float:
        """V of one page. `representation`: 1 if it was fetched, else 0."""
        return float(representation * quality**self.alpha * freshness**self.gamma)

    def profit(self, quality: float, representation: float, freshness: float) -> float:
        """The value that fetching the page adds to the index."""
        return self.value(quality, 1.0, 1.0) - self.value(quality, representation, freshness)


def _chosen(key: str, name: str, table: Mapping[str, T]) -> T:
    try:
        return table[name]
    except KeyError:
        raise UsageError(f"{key} is {name!r}", f"Use one of: {', '.join(table)}.") from None


def check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights above 0, checked. Settings from files are checked by the same rules (`config.accepted`) when read."""
    try:
        check("manager.weights", dict(weights))
    except ValueError as error:
        raise UsageError(f"manager.weights: {error}") from error
    return {name: float(weight) for name, weight in weights.items() if weight > 0}


class Known(Protocol):
    """The groups of columns of `desk.columns.Columns` that a plan reads, in memory or mapped from an image."""

    @property
    def page(self) -> Any: ...
    @property
    def site(self) -> Any: ...
    @property
    def origin(self) -> Any: ...
    @property
    def ranking(self) -> Array: ...
    @property
    def habits(self) -> Array: ...


class AgainTerms(NamedTuple):
    """The terms of pages that were fetched before."""

    decays: F64
    """f^gamma = exp(-decay x age), by code of the belief about the page."""
    min_period: float
    """inf: no page is fetched again."""
    numbers: F32
    """Logarithms of the numbers of re-visits by code and age (`revisits/scale.py`); empty unless the crawl is
    continuous."""
    scale: float
    """The logarithm by which these are divided."""
    weighs: bool
    """Whether they are multiplied by the worth of the page."""
    random: bool
    """Whether they are divided by the lot of the page (`policies.lots_of`)."""
    heeded: Heeded
    """For pages with signals, by code and age; empty: signals do not count."""
    trust: Trust
    """By site."""


class Terms(NamedTuple):
    """Policy, settings and time as numbers for the kernels, computed once before the pass."""

    code: int
    wall: float
    merit: np.float32
    opic: np.float32
    """Weight of opic divided by log2(1 + n)."""
    coin: float
    """n divided by all cash given out: cash times this is n x share."""
    completed: np.float32
    """Weight of the completed PageRank divided by log2(1 + n)."""
    known: float
    """n, the number of known pages."""
    static: np.float32
    boost: np.float32
    depths: F32
    """Term of the quality by depth."""
    sites: F32
    """Term of the quality by site, from its pending pages. Empty if `pending` has no weight."""
    alpha: np.float32
    again: AgainTerms

    def scaled(self, scale: float) -> Terms:
        return self._replace(again=self.again._replace(scale=scale))


def terms_of(known: Known, code: int, value: Value, issued: int, wall: float) -> Terms:
    """Computes the terms; `issued` is all cash given out (totals[TOTAL])."""
    pages, total = known.page.count, value.sum_of_weights
    part = {name: np.float32(value.weights.get(name, 0.0) / total) for name in OWN_SCORES}
    whole = float(straight_log2(np.array([float(max(1, pages))]))[0])
    depths = part["depth"] / (1 + np.arange(256, dtype=np.float32))
    coin = pages / issued if issued > 0 else 0.0
    return Terms(
        code,
        float(wall),
        np.float32(1.0 / total),
        np.float32(part["opic"] / whole),
        coin,
        np.float32(part["completed"] / whole),
        float(pages),
        part["static"],
        part["boost"],
        depths.astype(np.float32),
        _by_site(known, part["pending"]),
        np.float32(value.alpha),
        _again(known, value, wall),
    )


def _again(known: Known, value: Value, wall: float) -> AgainTerms:
    """The terms of re-visits."""
    if not value.continuous:
        once = np.full(CODES, value.gamma / value.change_period)
        least = value.min_period if value.revisits else np.inf
        return AgainTerms(once, least, NO_TABLE, 0.0, True, False, Heeded(NO_TABLE, NO_TABLE), Trust(_NOBODY, _NOBODY))
    page, habits = known.page, known.habits
    prior = prior_of(habits, value.change_period)
    decays = value.gamma * decode(np.arange(CODES), prior).rates
    begun, used = float(habits[BEGUN]), slice(0, page.count)
    passed, again = wall - begun if begun else 0.0, float(habits[AGAIN])
    table = table_of(value.revisit, prior, value.gamma, again, passed, page.belief[used], page.compared[used])
    policy, sites = POLICIES[value.revisit], slice(0, known.site.count)
    trust = Trust(known.site.doubt[sites], known.site.announced[sites])
    heeded = heeded_by(value.revisit, prior)
    scale, random = float(habits[SCALE]), value.revisit == "random"
    return AgainTerms(decays, value.min_period, table, scale, policy.weighs, random, heeded, trust)


def _by_site(known: Known, part: np.float32) -> F32:
    sites = known.site.count
    if not part:
        return np.zeros(0, np.float32)
    pending = np.asarray(known.site.pending[:sites], np.float64)
    return (part * share_score(pending / max(1.0, pending.sum()), sites)).astype(np.float32)


def merit_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the link scores."""
    return {name: weights[name] for name in LINK_SCORES if weights.get(name, 0) > 0}


def prepared_for(policy: Strategy, weights: Mapping[str, float]) -> str:
    """Name of the score that the policy needs prepared (`rank.prepared`); "" for none."""
    wanted = policy.code != VALUE or weights.get("completed", 0) > 0
    return policy.prepares if wanted else ""
