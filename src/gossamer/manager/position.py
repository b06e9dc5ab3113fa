"""Where one page stands among all: its scores, its profit, its rank, and whether the next plan would hold it.

With numpy alone, so that `gossamer explain` need not load a compiler; the same arithmetic as `profit.appraise`, in the
same precision and order, some thousand pages at a time. A page is in the plan if its rank within its site is at most
`per_site`, and fewer than `batch_size` pages of other sites and its own are both better and within their sites' caps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import Outcome, PageFlag, State
from gossamer.base.outcomes import FOR_GOOD
from gossamer.manager.strategies import (
    BREADTH_FIRST,
    COMPLETED,
    LAST,
    LIVE,
    MERCATOR,
    MERIT,
    PARTIAL,
    RANDOM,
    SHALLOW,
    UNIT,
    VALUE,
)
from gossamer.manager.value import F32, GIVEN, REVISITED, Known, Terms, Value, terms_of
from gossamer.rank.names import straight_log2

Bools = npt.NDArray[np.bool_]

CHUNK: Final = 1 << 15
_REVISITED: Final = np.array([o in REVISITED for o in Outcome] + [False] * (256 - len(Outcome)))


@dataclass(frozen=True, slots=True)
class Standing:
    score: float
    """By which the policy orders pages; larger is better."""
    quality: float
    parts: dict[str, float]
    """What each score adds to the quality, by name; link scores together as `links`."""
    freshness: float
    """Of our copy; 0 without one."""
    value: float
    """Of our copy, as it stands."""
    profit: float
    """What fetching it now would add to the index."""
    candidates: int
    """Pages that may be planned now, those of sites set aside left out."""
    rank: int
    """Among them, 1 being the best; 0 if it is none of them."""
    site_rank: int
    """Among those of its site."""
    planned: bool
    """The next plan would hold it."""
    reason: str
    """Why not; empty if it would."""


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
    """`policy` by name, the rest as for `plan.make_plan`. `known` are columns in memory or mapped from an image."""
    terms = terms_of(known, LIVE[policy].code, value, issued, wall)
    at = _Chunk(known, terms, page, page + 1)
    aside = _aside(known, wall + horizon)
    site = int(known.origin.site[known.page.origin[page]])
    fetched = bool(known.page.state[page] == State.DONE and _REVISITED[known.page.outcome[page]])
    age = max(0.0, wall - float(known.page.due[page]))
    quality, fresh = float(at.quality()[0]), float(np.exp(-age / value.change_period)) if fetched else 0.0
    in_index = fetched and known.page.outcome[page] == Outcome.OK
    open_now = bool(at.may_be_planned()[0]) and not aside[site]
    score = at.scores()[0]
    candidates, better = _compare(known, terms, aside, page, score)
    capped = int(np.minimum(better, per_site).sum())
    reason = _closed(known, terms, page) or (_why_aside(known, site, wall) if aside[site] else "")
    if not reason and better[site] >= per_site:
        reason = f"{better[site]:,} better pages of its site come first; a plan holds {per_site:,} of a site"
    if not reason and capped >= batch_size:
        reason = f"{capped:,} better pages come first; a plan holds {batch_size:,}"
    return Standing(
        float(score),
        quality,
        at.parts(),
        fresh,
        value.value(quality, float(in_index), fresh),
        value.profit(quality, float(fetched), fresh),
        candidates,
        int(better.sum()) + 1 if open_now else 0,
        int(better[site]) + 1 if open_now else 0,
        not reason,
        reason,
    )


def _aside(known: Known, until: float) -> Bools:
    sites = known.site.count
    found: Bools = (known.site.refused[:sites] != 0) | (known.site.next[:sites] > until)
    return found


def _closed(known: Known, terms: Terms, page: int) -> str:
    """Why the page itself may not be planned now; empty if it may."""
    pages = known.page
    state = State(int(pages.state[page]))
    if pages.flags[page] & PageFlag.ASSIGNED:
        return "it is being fetched"
    if state == State.EXCLUDED:
        return "it is excluded"
    if state == State.WAITING and pages.due[page] > np.uint32(terms.wall):
        return "it waits to be tried again"
    if state != State.DONE:
        return ""
    if not _REVISITED[pages.outcome[page]]:
        return "it is done"
    if terms.min_period == np.inf:
        return "it was fetched, and pages are fetched once (manager.min_period)"
    if pages.reason[page]:
        return "robots.txt has come to forbid it since it was fetched"
    return "" if pages.due[page] <= terms.wall - terms.min_period else "it was fetched less than manager.min_period ago"


def _why_aside(known: Known, site: int, wall: float) -> str:
    if known.site.refused[site]:
        return "its site asks for a longer delay than is honoured, and is left alone"
    if known.site.next[site] >= FOR_GOOD:
        return "its site is not asked any more"
    return f"its site is set aside for another {known.site.next[site] - wall:,.0f} s"


def _compare(known: Known, terms: Terms, aside: Bools, page: int, score: np.float32) -> tuple[int, npt.NDArray[Any]]:
    """How many pages may be planned, and by site how many of them come before this one."""
    better = np.zeros(len(aside), np.int64)
    candidates = 0
    site_of, any_aside = known.origin.site, bool(aside.any())
    for chunk in _chunks(known, terms):
        may = chunk.may_be_planned()
        origin = known.page.origin[chunk.first : chunk.end]
        if any_aside:
            may &= ~aside[site_of[origin]]
        candidates += int(np.count_nonzero(may))
        scores = chunk.scores()
        before = chunk.end <= page
        ahead = may & (scores >= score if before else scores > score)
        if chunk.first <= page < chunk.end:
            ahead[: page - chunk.first] |= (may & (scores == score))[: page - chunk.first]
        if ahead.any():
            better += np.bincount(site_of[origin[ahead]], minlength=len(better))
    return candidates, better


def _chunks(known: Known, terms: Terms) -> Iterator[_Chunk]:
    count = known.page.count
    for first in range(0, count, CHUNK):
        yield _Chunk(known, terms, first, min(first + CHUNK, count))


class _Chunk:
    """Pages `first` to `end`."""

    def __init__(self, known: Known, terms: Terms, first: int, end: int) -> None:
        self.known, self.terms, self.first, self.end = known, terms, first, end

    def _column(self, name: str) -> npt.NDArray[Any]:
        column: npt.NDArray[Any] = getattr(self.known.page, name)[self.first : self.end]
        return column

    def _again(self) -> Bools:
        if self.terms.min_period == np.inf:
            return np.zeros(self.end - self.first, np.bool_)
        old = self._column("due") <= self.terms.wall - self.terms.min_period
        done = (self._column("state") == State.DONE) & (self._column("reason") == 0)
        found: Bools = done & old & _REVISITED[self._column("outcome")]
        return found

    def may_be_planned(self) -> Bools:
        state = self._column("state")
        waits = state == State.WAITING
        found: Bools = state == State.PENDING
        if waits.any():
            found |= waits & (self._column("due") <= np.uint32(self.terms.wall))
        found |= self._again()
        found &= self._column("flags") & PageFlag.ASSIGNED == 0
        return found

    def parts(self) -> dict[str, float]:
        """Of a chunk of one page."""
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

    def _cash(self) -> npt.NDArray[np.int64]:
        return (self._column("cash") & np.uint64(GIVEN - 1)).astype(np.int64)

    def _completed(self) -> F32:
        """As `policies.completed_of`."""
        base, ranked = self.known.ranking
        found = np.arange(self.first, self.end) >= ranked
        return (self._column("completed") + np.where(found, base, 0.0)).astype(np.float32)

    def kept(self) -> F32:
        """f^gamma, of pages that were fetched."""
        age = np.maximum(0.0, self.terms.wall - self._column("due"))
        found: F32 = np.exp((-self.terms.decay * age).astype(np.float32))
        return found

    def scores(self) -> F32:
        terms, again = self.terms, self._again()
        if terms.code in (BREADTH_FIRST, SHALLOW):
            depth = self._column("depth") * np.float32(terms.code == SHALLOW)
            return -(depth + 256 * again.astype(np.float32))
        worth = self.quality() if terms.code == VALUE else self._simple()
        if terms.code == MERCATOR:
            return np.where(again, np.float32(LAST), worth)
        if terms.code == VALUE and terms.alpha != 1:
            worth = worth**terms.alpha
        return np.where(again, worth * (np.float32(1) - self.kept()), worth) if again.any() else worth

    def _simple(self) -> F32:
        """As `profit.simple_score`."""
        code, merit = self.terms.code, np.asarray(self._column("merit"), np.float32)
        if code == MERIT:
            return merit
        if code == COMPLETED:
            return self._completed()
        if code == RANDOM:
            stirred = np.arange(self.first, self.end, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            stirred = (stirred ^ (stirred >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            return (stirred >> np.uint64(40)).astype(np.float32)
        held = self._cash().astype(np.float32)
        if code == MERCATOR:
            return -held
        return np.where(merit > 0, merit, held / np.float32(UNIT)) if code == PARTIAL else held
