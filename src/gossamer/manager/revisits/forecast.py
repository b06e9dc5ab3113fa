"""What a budget gives: how fresh the copies of a collection would be in the long run, if it went on like this.

A crawl that visits the pages with the largest numbers (`policies`) visits each page as soon as its number reaches a
*price*, the same for all pages. The price follows from the budget: the higher it is, the longer are the intervals. A
site is never asked more often than its waits allow; where they bind, the site has a price of its own, which is higher
(Kolobov et al. 2019). The interval of a page then says how fresh its copy is on average, by what is believed of its
rate. So a forecast is one search for a price, over groups of copies that are alike.

A page whose number never reaches the price within `LONGEST` is not visited again; its copy counts as that old. Pages
whose sitemaps are believed are visited at random intervals: `dated`.

Invariants, each a test of the same name:

- A larger budget never makes copies less fresh.
- No budget is exceeded.
- No site is asked more often than its waits allow.
- One page is as fresh as the closed form says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, Array
from gossamer.manager.revisits.dated import LEVELS, Dated
from gossamer.manager.revisits.policies import behind, chance, up_to_date
from gossamer.manager.revisits.rates import Belief
from gossamer.manager.revisits.scale import AGE_STEP, AGES, FIRST_AGE

LONGEST: Final = float(AGES[-1])
_STEP: Final = 1 / 4
"""Copies whose logarithms of worth differ by less are alike."""
_LOW, _HIGH, _ROUNDS = -150.0, 50.0, 30
"""Logarithms between which prices are searched, and how many times the range is halved."""
_APART: Final = 1000.0
"""More than any two logarithms of numbers or prices differ."""


class Copies(NamedTuple):
    """Copies in groups of such as are alike."""

    code: I64
    """What is believed of their rate (`rates.encode`)."""
    worth: F64
    """Logarithm of what they are worth, which their numbers are multiplied by."""
    site: I64
    """Place in the caps."""
    pages: F64
    """How many there are of each."""
    level: I64
    """How far signals of their changes are believed (`dated.levels_of`)."""

    @staticmethod
    def of(
        codes: Array, worths: Array, sites: Array, caps: F64, min_period: float, levels: Array | None = None
    ) -> tuple[Copies, F64]:
        """The groups of these copies, and the caps of their sites, in visits per second. Sites whose waits cannot bind,
        since no page is visited more often than every `min_period`, are taken together: few are left."""
        pages = np.bincount(sites, minlength=len(caps))
        bound = np.flatnonzero(pages > caps * max(min_period, float(AGES[0])))
        place = np.zeros(len(caps), np.int64)
        place[bound] = 1 + np.arange(len(bound))
        step = np.rint(np.log(np.maximum(worths, 1e-30)) / _STEP).astype(np.int64)
        least, steps = int(step.min()), int(np.ptp(step)) + 1
        level = np.zeros(len(codes), np.int64) if levels is None else levels
        keys = ((place[sites] * LEVELS + level) * steps + (step - least)) * 65_536 + codes
        keys, counts = np.unique(keys, return_counts=True)
        rest, codes = keys // 65_536, keys % 65_536
        worth, rest = _STEP * (rest % steps + least), rest // steps
        found = Copies(codes, worth, rest // LEVELS, counts.astype(np.float64), rest % LEVELS)
        return found, np.concatenate(([np.inf], caps[bound]))


class Costs(NamedTuple):
    """Mean bytes of a visit on the line, both ways."""

    unchanged: float
    """For a page that has not changed, with or without a body."""
    changed: float
    new: float
    """For a page that was never fetched."""


class New(NamedTuple):
    """What new pages take of the budget."""

    share: float
    """Share of all requests."""
    most: float
    """Requests per second, since there are no more such pages."""

    def beside(self, again: float) -> float:
        """Requests for new pages beside this many re-visits."""
        return min(self.most, again * self.share / (1 - self.share))


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a price gives in the long run. Requests and bytes are per second."""

    again: float
    new: float
    bytes: float
    freshness: float
    """Share of the copies that are up to date."""
    age: float
    """Seconds since copies became outdated, on average."""
    never: float
    """Share of the copies that are not visited again."""
    bound: int
    """Sites that would be visited more often if their waits allowed it."""

    @property
    def requests(self) -> float:
        return self.again + self.new


class Forecast:
    """The copies, and what restricts their visits."""

    def __init__(
        self,
        copies: Copies,
        belief: Belief,
        table: F32,
        min_period: float,
        caps: F64,
        costs: Costs,
        new: New,
        delay: float = 0.0,
    ) -> None:
        """`belief` and `table`, the logarithms of the numbers at the ages `AGES`, are by code; sitemaps are read every
        `delay` seconds."""
        self._copies, self._min_period, self._caps, self._costs, self._new = copies, min_period, caps, costs, new
        self._belief = Belief(belief.mean[copies.code], belief.spread[copies.code])
        self._some = np.flatnonzero(copies.level > 0)
        of_some = Belief(self._belief.mean[self._some], self._belief.spread[self._some])
        self._dated = Dated(copies.level[self._some], of_some, min_period, delay)
        self._table = np.maximum.accumulate(table.astype(np.float64), axis=1)
        self._flat = (self._table + _APART * np.arange(len(table))[:, None]).ravel()
        self._floors = self._solved(lambda prices: self._wanted(prices) > caps, len(caps))

    def within(self, budget: float, in_bytes: bool) -> Outlook:
        """What a budget gives, of requests or bytes per second."""

        def exceeds(price: F64) -> Array:
            again, new, received = self._taken(self._prices(price), in_bytes)
            return np.array([(received if in_bytes else again + new) > budget])

        return self._at(self._solved(exceeds, 1))

    def _prices(self, price: F64) -> F64:
        """The price of each group: divided by what its pages are worth, and not below that at which its site is
        requested as often as it may be."""
        found: F64 = np.maximum(price, self._floors)[self._copies.site] - self._copies.worth
        return found

    def _taken(self, prices: F64, in_bytes: bool) -> tuple[float, float, float]:
        """Re-visits, new pages and bytes, per second."""
        intervals, costs = self._intervals(prices), self._costs
        visits = self._copies.pages / intervals
        again = float(visits.sum())
        new = self._new.beside(again)
        changed = 0.0
        if in_bytes:
            found = self._with_signals(chance(self._belief, np.minimum(intervals, LONGEST)), prices, Dated.changed)
            changed = float(visits @ found)
        return again, new, changed * costs.changed + (again - changed) * costs.unchanged + new * costs.new

    def _with_signals(self, found: F64, prices: F64, of: Callable[[Dated, F64], F64]) -> F64:
        """Sets the elements of groups with signals."""
        if len(self._some):
            found[self._some] = of(self._dated, prices[self._some])
        return found

    def _solved(self, exceeds: Callable[[F64], Array], count: int) -> F64:
        """The lowest logarithms of prices that do not exceed."""
        low, high = np.full(count, _LOW), np.full(count, _HIGH)
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            above = exceeds(middle)
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return high

    def _wanted(self, prices: F64) -> F64:
        """Visits per second of each site at these prices."""
        visits = self._copies.pages / self._intervals(prices[self._copies.site] - self._copies.worth)
        return np.bincount(self._copies.site, visits, minlength=len(prices)).astype(np.float64)

    def _at(self, price: F64) -> Outlook:
        prices = self._prices(price)
        intervals = self._intervals(prices)
        counts, held = self._copies.pages, np.minimum(intervals, LONGEST)
        total, never = float(counts.sum()), np.isinf(intervals)
        fresh, old = (
            np.where(never, each, self._with_signals(each.copy(), prices, of))
            for each, of in (
                (up_to_date(self._belief, held), Dated.fresh),
                (behind(self._belief, held), Dated.behind),
            )
        )
        return Outlook(
            *self._taken(prices, in_bytes=True),
            float(counts @ fresh) / total,
            float(counts @ old) / total,
            float(counts[never].sum()) / total,
            int((self._floors > price).sum()),
        )

    def _intervals(self, prices: F64) -> F64:
        """The age at which the number of each group, without its worth, reaches its price; infinite where it never
        does. With signals it is the mean age."""
        code, ages = self._copies.code, self._table.shape[1]
        low = np.searchsorted(self._flat, prices + _APART * code) - ages * code
        after, before = self._table[code, np.minimum(low, ages - 1)], self._table[code, np.maximum(low - 1, 0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(after > before, (prices - before) / (after - before), 1.0)
        found = np.exp(FIRST_AGE + AGE_STEP * np.maximum(0.0, low - 1 + part))
        even = np.where(low == ages, np.inf, np.maximum(found, self._min_period))
        return self._with_signals(even, prices, Dated.intervals)
