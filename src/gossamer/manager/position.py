"""The position of one page among all: its scores, profit and rank, and whether the next plan would hold it.

It uses numpy alone, so that `gossamer explain` does not load a compiler: the same arithmetic as `profit.appraise`, in
the same precision and order, some thousand pages at a time. A page is in the plan if its rank within its site is at
most `per_site`, and fewer than `batch_size` pages are both better and within the caps of their sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gossamer.base import askable
from gossamer.base.arrays import F32, F64, I64, Array, Bools
from gossamer.base.model import Outcome, PageFlag, State
from gossamer.base.outcomes import FOR_GOOD
from gossamer.manager import strategies
from gossamer.manager.revisits.policies import lots_of
from gossamer.manager.revisits.scale import heed, places_of, read
from gossamer.manager.revisits.signals import BELIEVED
from gossamer.manager.value import GIVEN, Known, Terms, Value, terms_of
from gossamer.rank.names import straight_log2

CHUNK: Final = 1 << 15
_NO_FLAGS: Final = np.uint8(0)


@dataclass(frozen=True, slots=True)
class Standing:
    """The position of a page."""

    score: float
    """The policy orders pages by it; larger is better."""
    quality: float
    parts: dict[str, float]
    """The terms of the quality by score name; all link scores together as `links`."""
    freshness: float
    """Freshness of our copy; 0 without a copy."""
    value: float
    """Value of our copy now."""
    profit: float
    """Value that fetching the page now would add to the index."""
    candidates: int
    """Number of pages that may be planned now, without those of suspended sites."""
    rank: int
    """Rank among these, 1 is best; 0 if the page is not among them."""
    site_rank: int
    """Rank among the pages of its site."""
    planned: bool
    """The next plan would hold it."""
    reason: str
    """Why the next plan would not hold it; empty if it would."""


def standing_of(
    known: Known,
    policy: str,
    value: Value,
    issued: int,
    wall: float,
    page: int,
    batch_size: int,
    per_site: int,
    horizon: float = np.inf,
) -> Standing:
    """The position of `page`. `policy` is a name; other arguments are those of `plan.make_plan`. `known` are columns in
    memory or mapped from an image."""
    terms = terms_of(known, strategies.LIVE[policy].code, value, issued, wall)
    alone = _Chunk(known, terms, page, page + 1)
    sites = known.site.count
    suspended = askable.is_suspended(known.site.refused[:sites], known.site.next[:sites], wall + horizon)
    site = int(known.origin.site[known.page.origin[page]])
    fetched = bool(known.page.state[page] == State.DONE and int(known.page.outcome[page]) in askable.REVISITED)
    age = max(0.0, wall - float(known.page.due[page]))
    quality, fresh = float(alone.quality()[0]), _freshness(known, terms, value, page, age) if fetched else 0.0
    in_index = fetched and known.page.outcome[page] == Outcome.OK
    open_now = bool(alone.may_be_planned()[0]) and not suspended[site]
    score = alone.scores()[0]
    candidates, better = _compare(known, terms, suspended, page, score)
    capped = int(np.minimum(better, per_site).sum())
    reason = _closed(known, terms, page) or (_why_suspended(known, site, wall) if suspended[site] else "")
    if not reason and better[site] >= per_site:
        reason = f"{better[site]:,} better pages of its site come first; a plan holds {per_site:,} per site"
    if not reason and capped >= batch_size:
        reason = f"{capped:,} better pages come first; a plan holds {batch_size:,}"
    return Standing(
        float(score),
        quality,
        alone.parts(),
        fresh,
        value.value(quality, float(in_index), fresh),
        value.profit(quality, float(fetched), fresh),
        candidates,
        int(better.sum()) + 1 if open_now else 0,
        int(better[site]) + 1 if open_now else 0,
        not reason,
        reason,
    )


def _freshness(known: Known, terms: Terms, value: Value, page: int, age: float) -> float:
    if not len(terms.again.numbers):
        return float(np.exp(-age / value.change_period))
    return float(np.exp(-age * terms.again.decays[known.page.belief[page]] / max(value.gamma, 1e-9)))


def _closed(known: Known, terms: Terms, page: int) -> str:
    """Why the page may not be planned now, whatever its site; empty if it may."""
    pages = known.page
    state = State(int(pages.state[page]))
    if pages.flags[page] & PageFlag.ASSIGNED:
        return "it is being fetched"
    if state == State.EXCLUDED:
        return "it is excluded"
    if state == State.WAITING and pages.due[page] > np.uint32(terms.wall):
        return "it waits for its next try"
    if state != State.DONE:
        return ""
    if int(pages.outcome[page]) not in askable.REVISITED:
        if not len(terms.again.numbers):
            return "it is done"
        rested = askable.has_rested(pages.outcome[page], pages.tries[page], float(pages.due[page]), terms.wall)
        if not rested:
            return "it is asked for again later, since it could not be fetched"
    if terms.again.min_period == np.inf:
        return "it was fetched, and pages are fetched only once (manager.min_period)"
    if pages.reason[page]:
        return "robots.txt has forbidden it since it was fetched"
    return (
        ""
        if pages.due[page] <= terms.wall - terms.again.min_period
        else "it was fetched less than manager.min_period ago"
    )


def _why_suspended(known: Known, site: int, wall: float) -> str:
    if known.site.refused[site] & askable.BLOCKED:
        return "its site is blocked (gossamer steer)"
    if known.site.refused[site]:
        return "its site is suspended: its Crawl-delay is longer than harvester.max_delay"
    if known.site.next[site] >= FOR_GOOD:
        return "its site is suspended for good"
    return f"its site is suspended for another {known.site.next[site] - wall:,.0f} s"


def _compare(known: Known, terms: Terms, suspended: Bools, page: int, score: np.float32) -> tuple[int, Array]:
    """The number of pages that may be planned and, by site, the number of these that come before `page`."""
    better = np.zeros(len(suspended), np.int64)
    candidates = 0
    site_of, any_suspended = known.origin.site, bool(suspended.any())
    for chunk in chunks(known, terms):
        may = chunk.may_be_planned()
        origin = known.page.origin[chunk.first : chunk.end]
        if any_suspended:
            may &= ~suspended[site_of[origin]]
        candidates += int(np.count_nonzero(may))
        scores = chunk.scores()
        before = chunk.end <= page
        ahead = may & (scores >= score if before else scores > score)
        if chunk.first <= page < chunk.end:
            ahead[: page - chunk.first] |= (may & (scores == score))[: page - chunk.first]
        if ahead.any():
            better += np.bincount(site_of[origin[ahead]], minlength=len(better))
    return candidates, better


def score_of(known: Known, terms: Terms, page: int) -> float:
    """The score of one page at the time of the terms."""
    return float(_Chunk(known, terms, page, page + 1).scores()[0])


def chunks(known: Known, terms: Terms) -> Iterator[_Chunk]:
    count = known.page.count
    for first in range(0, count, CHUNK):
        yield _Chunk(known, terms, first, min(first + CHUNK, count))


class _Chunk:
    """The pages from `first` up to, not including, `end`."""

    def __init__(self, known: Known, terms: Terms, first: int, end: int) -> None:
        self.known, self.terms, self.first, self.end = known, terms, first, end

    def _column(self, name: str) -> Array:
        column: Array = getattr(self.known.page, name)[self.first : self.end]
        return column

    def _again(self, flags: Any) -> Bools:
        """The pages that are due to be fetched again, if these are their flags."""
        if self.terms.again.min_period == np.inf:
            return np.zeros(self.end - self.first, np.bool_)
        latest, reason = self.terms.wall - self.terms.again.min_period, self._column("reason")
        due = askable.is_due_again(self._column("state"), flags, self._column("due"), latest, reason)
        outcome = self._column("outcome")
        again: Bools = due & askable.may_be_fetched_again(reason, outcome)
        if len(self.terms.again.numbers):
            again |= due & askable.has_rested(outcome, self._column("tries"), self._column("due"), self.terms.wall)
        return again

    def may_be_planned(self) -> Bools:
        """As `profit.appraise` finds it."""
        state, flags = self._column("state"), self._column("flags")
        may: Bools = askable.is_new(state, flags)
        if (state == State.WAITING).any():
            may |= askable.is_to_be_retried(state, flags, self._column("due"), np.uint32(self.terms.wall))
        may |= self._again(flags)
        return may

    def parts(self) -> dict[str, float]:
        """The terms of the quality of a chunk of one page."""
        return {name: float(part[0]) for name, part in self._terms()}

    def quality(self) -> F32:
        total = np.zeros(self.end - self.first, np.float32)
        for _, part in self._terms():
            total += part
        return total

    def _terms(self) -> Iterator[tuple[str, F32]]:
        terms = self.terms
        yield "links", terms.merit * self._column("merit")
        if terms.opic > 0:
            share = self._cash().astype(np.float64) * terms.coin
            yield "opic", terms.opic * straight_log2(share).astype(np.float32)
        if terms.completed > 0:
            share = self._completed().astype(np.float64) * terms.known
            yield "completed", terms.completed * straight_log2(share).astype(np.float32)
        if terms.boost > 0:
            yield "boost", terms.boost * self._column("boost")
        if terms.static > 0:
            yield "static", terms.static * (self._column("flags") & PageFlag.DYNAMIC == 0).astype(np.float32)
        if terms.depths[0] > 0:
            yield "depth", terms.depths[self._column("depth")]
        if len(terms.sites):
            yield "pending", terms.sites[self.known.origin.site[self._column("origin")]]

    def _cash(self) -> I64:
        return (self._column("cash") & np.uint64(GIVEN - 1)).astype(np.int64)

    def _completed(self) -> F32:
        """As `policies.completed_of`."""
        base, ranked = self.known.ranking
        since = np.arange(self.first, self.end) >= ranked
        return (self._column("completed") + np.where(since, base, 0.0)).astype(np.float32)

    def kept(self) -> F32:
        """f^gamma of pages that were fetched."""
        age = np.maximum(0.0, self.terms.wall - self._column("due"))
        kept: F32 = np.exp((-self.terms.again.decays[self._column("belief")] * age).astype(np.float32))
        return kept

    def _numbers(self) -> F64:
        """The numbers of re-visits, as in `profit._weigh`."""
        again, code, signals = self.terms.again, self._column("belief"), self._column("signals")
        age = np.maximum(1.0, self.terms.wall - self._column("due"))
        numbers = read(again.numbers, code, places_of(age))
        if len(again.heeded.staleness) and signals.any():
            trust = again.trust.of(self.known.origin.site[self._column("origin")])
            heard = np.flatnonzero((signals > 0) & (trust.doubt > BELIEVED))
            numbers[heard] = heed(again.heeded, code[heard], age[heard], signals[heard] - 1.0, trust.of(heard))
        if again.random:
            numbers = numbers - np.log(lots_of(np.arange(self.first, self.end), self._column("due")))
        found: F64 = np.exp(numbers - again.scale)
        return found

    def scores(self) -> F32:
        terms, again = self.terms, self._again(_NO_FLAGS)
        if terms.code in strategies.AT_LAST:
            if len(terms.again.numbers):
                numbers = self._numbers()
                found = np.where(numbers >= 1, numbers, strategies.LAST / (1.0 + numbers))
            else:
                found = strategies.LAST / (1.0 + np.maximum(0.0, terms.wall - self._column("due")))
            with np.errstate(over="ignore"):
                return np.where(again, found.astype(np.float32), self._by_place())
        worth = self.worth()
        if not again.any():
            return worth
        if len(terms.again.numbers):
            weighed = (worth.astype(np.float64) if terms.again.weighs else 1.0) * self._numbers()
            with np.errstate(over="ignore"):  # beyond all others, as in the kernel
                return np.where(again, weighed.astype(np.float32), worth)
        return np.where(again, worth * (np.float32(1) - self.kept()), worth)

    def _by_place(self) -> F32:
        """The scores of pages that were not fetched yet, under these strategies."""
        if self.terms.code == strategies.MERCATOR:
            return self.worth()
        depth = self._column("depth") * np.float32(self.terms.code == strategies.SHALLOW)
        return -depth.astype(np.float32)

    def worth(self) -> F32:
        """The scores that the pages would have if none was fetched before."""
        if self.terms.code != strategies.VALUE:
            return self._simple()
        return self.quality() if self.terms.alpha == 1 else self.quality() ** self.terms.alpha

    def _simple(self) -> F32:
        """As `profit.simple_score`."""
        code, merit = self.terms.code, np.asarray(self._column("merit"), np.float32)
        if code == strategies.MERIT:
            return merit
        if code == strategies.COMPLETED:
            return self._completed()
        if code == strategies.RANDOM:
            mixed = np.arange(self.first, self.end, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            return (mixed >> np.uint64(40)).astype(np.float32)
        held = self._cash().astype(np.float32)
        if code == strategies.MERCATOR:
            return -held
        return np.where(merit > 0, merit, held / np.float32(strategies.UNIT)) if code == strategies.PARTIAL else held
