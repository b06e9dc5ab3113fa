"""What a page is worth, and what fetching it would add (thesis 3.4 and 7.2.1, figure 7.1).

    quality    q = sum of weight x score / sum of weights         scores and quality lie between 0 and 1
    value      V = q^alpha r^beta f^gamma                         r: representation, f: freshness
    profit     V once fetched (r = f = 1) less V as it stands
    index      V(I) = sum, or minimum, of V over the pages that it holds

Representation is 1 for a page that was fetched and 0 for one that was not; a page that is not there is worth nothing,
whatever beta is. Freshness is the probability that our copy is still what the server has, exp(-age / change_period).
So the profit of a page that is new to us is q^alpha, and that of one fetched before q^alpha (1 - f^gamma). The index
holds the pages whose last outcome was `ok`; duplicates and redirects add nothing to it.

    score       of a page
    opic        its share of all cash given out; of a fetched page what it held then     (a share: see rank/names.py)
    completed   its completed PageRank: what it will have once more is known    (a share: see rank/completed.py)
    pagerank, indegree, siterank, hub, authority         link scores: computed in the background (shares)
    depth       1 / (1 + depth)
    static      1 if it is static, 0 if dynamic
    pending     its site's share of all pending pages (a share, among sites)
    boost       as the patterns of manager.boosts say

The column `merit` has the link scores, times their weights; the rest is looked up as a plan needs it.

The exponents of the presets (`config/presets.py`) say which measure counts most (figure 3.6); general is the thesis'
own, all 1 (7.2.1). Only freshness against quality matters as long as representation is 0 or 1.

Light to import: `terms_of` finds what a plan needs once, with numpy; kernels are in `profit` and `plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.config.accepted import check
from gossamer.config.presets import PRESETS, in_force
from gossamer.config.settings import ManagerSettings
from gossamer.manager.strategies import VALUE, Strategy
from gossamer.rank.names import LINK_SCORES, share_score, straight_log2

Array = npt.NDArray[Any]
F32 = npt.NDArray[np.float32]
T = TypeVar("T")

GIVEN: Final = 1 << 63
"""The bit of `cash` that says: the page has handed on what it held, which is still there to be read."""
TOTAL: Final = 3
"""Place of all cash given out in the desk's totals; `policies.py` has the other places, and needs numba."""

OWN_SCORES: Final = ("opic", "completed", "depth", "static", "pending", "boost")
SCORES: Final = (*OWN_SCORES, *LINK_SCORES)
"""Names that a weight may have."""


REVISITED: Final = frozenset({Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT})
"""Outcomes after which a page is fetched again when manager.min_period has passed."""


@dataclass(frozen=True, slots=True)
class Value:
    """The settings that decide what a page is worth, checked."""

    weights: Mapping[str, float] = field(default_factory=lambda: {"completed": 1.0})
    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    change_period: float = 60 * 86_400.0
    min_period: float = 0.0
    """0: pages are fetched once."""
    minimum: bool = False
    """The value of the index is the smallest of its pages', not their sum."""

    @staticmethod
    def of(settings: ManagerSettings) -> Value:
        """UsageError names the setting at fault and what it accepts."""
        _chosen("manager.preset", settings.preset, PRESETS)
        preset = in_force(settings)
        if settings.change_period <= 0:
            raise UsageError("manager.change_period is 0", "Give it a length of time, as in 60d.")
        return Value(
            check_weights(settings.weights),
            preset.alpha,
            preset.beta,
            preset.gamma,
            float(settings.change_period),
            float(preset.min_period),
            _chosen("manager.index_value", settings.index_value, {"sum": False, "minimum": True}),
        )

    @property
    def sum_of_weights(self) -> float:
        return sum(self.weights.values())

    @property
    def revisits(self) -> bool:
        """Where freshness does not count, fetching a page again would gain nothing."""
        return self.min_period > 0 and self.gamma > 0

    def value(self, quality: float, representation: float, freshness: float) -> float:
        """V of one page."""
        if representation == 0:
            return 0.0
        return float(quality**self.alpha * representation**self.beta * freshness**self.gamma)

    def profit(self, quality: float, representation: float, freshness: float) -> float:
        """What fetching the page adds to the index."""
        return self.value(quality, 1.0, 1.0) - self.value(quality, representation, freshness)


def _chosen(key: str, name: str, table: Mapping[str, T]) -> T:
    try:
        return table[name]
    except KeyError:
        raise UsageError(f"{key} is {name!r}", f"It is one of: {', '.join(table)}.") from None


def check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Those that count. Settings from files are checked when they are read, by the same rules (`config.accepted`)."""
    try:
        check("manager.weights", dict(weights))
    except ValueError as error:
        raise UsageError(f"manager.weights: {error}") from error
    return {name: float(weight) for name, weight in weights.items() if weight > 0}


class PageColumns(Protocol):
    """Columns by page as `collection.columns` has them, in memory or mapped from an image."""

    @property
    def count(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...


class Known(Protocol):
    """What `collection.columns.Columns` is to a plan."""

    @property
    def page(self) -> PageColumns: ...
    @property
    def site(self) -> PageColumns: ...
    @property
    def origin(self) -> PageColumns: ...
    @property
    def ranking(self) -> Array: ...


class Terms(NamedTuple):
    """What the kernels need to know of policy, settings and the moment: numbers found once, before the pass."""

    code: int
    wall: float
    merit: np.float32
    opic: np.float32
    """Weight of opic over log2(1 + n)."""
    coin: float
    """n over all cash given out: cash times this is n x share."""
    completed: np.float32
    """Weight of the completed PageRank over log2(1 + n)."""
    known: float
    """n."""
    static: np.float32
    boost: np.float32
    depths: F32
    """By depth."""
    sites: F32
    """By site: what its pending pages add. Empty without that score."""
    alpha: np.float32
    decay: float
    """f^gamma = exp(-decay x age)."""
    min_period: float
    """inf: no page is fetched again."""


def terms_of(known: Known, code: int, value: Value, issued: int, wall: float) -> Terms:
    """`issued`: all cash given out (totals[TOTAL])."""
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
        value.gamma / value.change_period,
        value.min_period if value.revisits else np.inf,
    )


def _by_site(known: Known, part: np.float32) -> F32:
    sites = known.site.count
    if not part:
        return np.zeros(0, np.float32)
    pending = np.asarray(known.site.pending[:sites], np.float64)
    return (part * share_score(pending / max(1.0, pending.sum()), sites)).astype(np.float32)


def merit_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of link scores among these."""
    return {name: weights[name] for name in LINK_SCORES if weights.get(name, 0) > 0}


def prepared_for(policy: Strategy, weights: Mapping[str, float]) -> str:
    """The score that is to be prepared for a policy (`rank.prepared`); "" for none."""
    wanted = policy.code != VALUE or weights.get("completed", 0) > 0
    return policy.prepares if wanted else ""
