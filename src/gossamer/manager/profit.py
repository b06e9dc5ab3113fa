"""The compiled pass over all pages: which may be planned, and the score of each. The formulas are those of `value`.

Scores by policy. The plan takes the largest first; equal scores are ordered by page number, the order of discovery.

                     a page not fetched yet          a page to be fetched again
    value            q^alpha                         q^alpha (1 - f^gamma)
    opic, backlinks, its cash                        the cash it held when fetched, times (1 - f^gamma)
      fractional
    merit            its merit                       the same, times (1 - f^gamma)
    completed        its completed PageRank          the same, times (1 - f^gamma)
    partial          its merit, or its cash
    random           a hash of its number
    breadth-first    0                               after all others, the oldest copy first
    shallow-first    -depth                          the same
    mercator         minus its time in the queue     the same

In a continuous crawl a page to be fetched again has, in place of the factor (1 - f^gamma), its number by the policy of
re-visits, on the scale that `revisits/scale.py` explains. The last three policies have no numbers for new pages: a page
whose number on that scale is 1 or more comes before all new pages, and one with a smaller number after them.

Pages are appraised some thousand neighbours at a time, score by score: columns that do not count are not read, the
compiler vectorises the rest, and no kernel passes arrays to another page by page (numba would count references each
time: 200 ns per page were measured). Powers and exponentials use single precision, and only where they matter.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gossamer.base import askable
from gossamer.base.arrays import F32, F64, U8
from gossamer.base.compiled import allocating, inlined, njit
from gossamer.base.model import Outcome, PageFlag, State
from gossamer.manager import strategies
from gossamer.manager.policies import PageArrays, completed_of
from gossamer.manager.revisits.policies import LOT
from gossamer.manager.revisits.scale import AGE_STEP, AGES, FIRST_AGE, Heeded
from gossamer.manager.revisits.signals import BELIEVED
from gossamer.manager.value import GIVEN, Terms

_WAITING, _DONE, _OK = int(State.WAITING), int(State.DONE), int(Outcome.OK)
_DYNAMIC: Final = np.uint8(PageFlag.DYNAMIC)
_CASH: Final = np.uint64(GIVEN - 1)
_ONE: Final = np.float32(1)
_AGES: Final = len(AGES)
_LAST: Final = _AGES - 1.001
_PAGE, _VISITED, _BOTH = LOT

CLOSED, NEW, AGAIN = 0, 1, 2
"""How a page may be planned: not now, as one not fetched yet, or to be fetched again."""

is_new = inlined(askable.is_new)
is_to_be_retried = inlined(askable.is_to_be_retried)
is_due_again = inlined(askable.is_due_again)
may_be_fetched_again = inlined(askable.may_be_fetched_again)
has_rested = inlined(askable.has_rested)
rest_of = inlined(askable.rest_of)


@allocating
def appraise(pages: PageArrays, terms: Terms, first: int, count: int, ways: U8, scores: F32, index: F64) -> int:
    """Fills `ways` (whether each of `count` pages from `first` on may be planned) and `scores` (its score if it may).
    Adds the values of the pages in the index to `index`: sum and number; and, in a continuous crawl, how many pages may
    be fetched again. Returns how many pages may be planned."""
    end = first + count
    found, again = _find_ways(pages, terms, first, end, ways)
    in_index = _in_index(pages.state[first:end], pages.outcome[first:end])
    if in_index or terms.code == strategies.VALUE:
        _qualities(pages, terms, first, end, scores)
        if terms.alpha != _ONE:
            for i in range(count):
                scores[i] = scores[i] ** terms.alpha
    weighed = len(terms.again.numbers) > 0
    kept = _kept(pages, terms, first, end) if in_index or (again and not weighed) else scores
    if in_index:
        _add_up(pages.state[first:end], pages.outcome[first:end], scores, kept, index)
    if terms.code != strategies.VALUE:
        depth, cash = pages.depth[first:end], pages.cash[first:end]
        merit = pages.completed[first:end] if terms.code == strategies.COMPLETED else pages.merit[first:end]
        for i in range(count):
            scores[i] = simple_score(terms.code, first + i, depth[i], cash[i], merit[i], pages.ranking)
    at_last = (
        terms.code == strategies.BREADTH_FIRST or terms.code == strategies.SHALLOW or terms.code == strategies.MERCATOR
    )
    if again and weighed:
        index[2] += again
        _weigh(pages, first, end, ways, terms, scores, at_last)
    elif again and at_last:
        visited = pages.due[first:end]
        for i in range(count):
            if ways[i] == AGAIN:
                scores[i] = np.float32(strategies.LAST / (1.0 + max(0.0, terms.wall - visited[i])))
    elif again:
        for i in range(count):
            if ways[i] == AGAIN:
                scores[i] *= _ONE - kept[i]
    return found


@njit
def _weigh(pages: PageArrays, first: int, end: int, ways: U8, terms: Terms, scores: F32, at_last: bool) -> None:
    """The scores of pages to be fetched again in a continuous crawl."""
    belief, visited, signals, origin = (
        pages.belief[first:end],
        pages.due[first:end],
        pages.signals[first:end],
        pages.origin[first:end],
    )
    again, site, wall = terms.again, pages.site, terms.wall
    heeds = len(again.heeded.staleness) > 0
    for i in range(end - first):
        if ways[i] == AGAIN:
            at = (math.log(max(1.0, wall - visited[i])) - FIRST_AGE) / AGE_STEP
            of = site[origin[i]]
            if heeds and signals[i] > 0 and again.trust.doubt[of] > BELIEVED:
                number = _heed(
                    again.heeded, belief[i], at, signals[i] - 1, again.trust.doubt[of], again.trust.announced[of]
                )
            else:
                number = _read(again.numbers, belief[i], min(max(at, 0.0), _LAST))
            if again.random:
                number -= math.log(_lot(np.uint64(first + i), np.uint64(visited[i])))
            number = math.exp(number - again.scale)
            if at_last:
                scores[i] = np.float32(number if number >= 1.0 else strategies.LAST / (1.0 + number))
            else:
                scores[i] = np.float32((float(scores[i]) if again.weighs else 1.0) * number)


@inlined
def _lot(page: np.uint64, visited: np.uint64) -> float:
    """As `policies.lots_of` has it."""
    mixed = page * _PAGE ^ visited * _VISITED
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _BOTH
    both = (mixed >> np.uint64(40)) + ((mixed >> np.uint64(16)) & np.uint64(0xFFFFFF)) + np.uint64(1)
    return np.float64(both) * 2.0**-24


@inlined
def _read(table: F32, code: int, at: float) -> float:
    place = int(at)
    low, high = float(table[code, place]), float(table[code, place + 1])
    return low + (at - place) * (high - low)


@inlined
def _heed(tables: Heeded, code: int, at: float, signals: int, doubt: float, announced: float) -> float:
    """The logarithm of the number of a dated page, as `revisits.scale.heed` has it."""
    stale = tables.staleness
    at = min(max(at + math.log(1.0 - announced) / AGE_STEP, 0.0), _LAST)
    if signals > 0:
        wanted, place = _read(stale, code, at) + signals * doubt, int(at)
        while place < _AGES - 2 and stale[code, place + 1] < wanted:
            place += 1
        low, high = float(stale[code, place]), float(stale[code, place + 1])
        found = place + min(1.0, max(0.0, (wanted - low) / max(high - low, 1e-9)))
        at = min(max(at, found), _LAST)
    return _read(tables.worths, code, at) - math.log(1.0 - announced * math.exp(-_read(stale, code, at)))


@inlined
def simple_score(code: int, page: int, depth: int, cash: np.uint64, merit: np.float32, ranking: F64) -> np.float32:
    """The score of one page under any policy but VALUE. For COMPLETED, `merit` is its completed PageRank."""
    if code == strategies.BREADTH_FIRST:
        return np.float32(0)
    if code == strategies.SHALLOW:
        return np.float32(-np.int64(depth))
    if code == strategies.MERIT:
        return np.float32(merit)
    if code == strategies.COMPLETED:
        return completed_of(page, merit, ranking)
    if code == strategies.RANDOM:
        mixed = np.uint64(page) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        return np.float32(np.int64(mixed >> np.uint64(40)))
    held = np.float32(np.int64(cash & _CASH))
    if code == strategies.MERCATOR:
        return -held
    if code == strategies.PARTIAL:
        return merit if merit > 0 else held / np.float32(strategies.UNIT)
    return held


@allocating
def _kept(pages: PageArrays, terms: Terms, first: int, end: int) -> F32:
    """f^gamma of the pages that are done: the share of the value of our copies that is left."""
    state, due, belief, decays = (
        pages.state[first:end],
        pages.due[first:end],
        pages.belief[first:end],
        terms.again.decays,
    )
    kept = np.empty(len(state), np.float32)
    for i in range(len(state)):
        if state[i] == _DONE:
            kept[i] = math.exp(np.float32(-decays[belief[i]] * max(0.0, terms.wall - due[i])))
    return kept


@njit
def _find_ways(pages: PageArrays, terms: Terms, first: int, end: int, ways: U8) -> tuple[int, int]:
    """Fills `ways`; returns how many pages may be planned, and how many of these were fetched before."""
    state, flags = pages.state[first:end], pages.flags[first:end]
    found = again = waiting = 0
    for i in range(len(state)):
        ways[i] = is_new(state[i], flags[i])
        found += ways[i]
        waiting += state[i] == _WAITING
    if waiting:
        due, wall = pages.due[first:end], np.uint32(terms.wall)
        for i in range(len(state)):
            if is_to_be_retried(state[i], flags[i], due[i], wall):
                ways[i] = NEW
                found += 1
    if terms.again.min_period < np.inf:
        visited, reason, outcome = pages.due[first:end], pages.reason[first:end], pages.outcome[first:end]
        tries, latest, returns = (
            pages.tries[first:end],
            terms.wall - terms.again.min_period,
            len(terms.again.numbers) > 0,
        )
        for i in range(len(state)):
            if is_due_again(state[i], flags[i], visited[i], latest, reason[i]):
                back = returns and has_rested(outcome[i], tries[i], visited[i], terms.wall)
                if back or may_be_fetched_again(reason[i], outcome[i]):
                    ways[i] = AGAIN
                    again += 1
    return found + again, again


@njit
def _in_index(state: U8, outcome: U8) -> int:
    """The number of these pages that are in the index."""
    count = 0
    for i in range(len(state)):
        count += (state[i] == _DONE) & (outcome[i] == _OK)
    return count


@njit
def _add_up(state: U8, outcome: U8, worth: F32, kept: F32, index: F64) -> None:
    """Adds the values of the pages that are in the index to `index`."""
    total, count = 0.0, 0
    for i in range(len(state)):
        if state[i] == _DONE and outcome[i] == _OK:
            total += float(worth[i] * kept[i])
            count += 1
    index[0] += total
    index[1] += count


@njit
def _qualities(pages: PageArrays, terms: Terms, first: int, end: int, out: F32) -> None:
    """Fills `out` with the quality of each page, as `value` defines it; the logarithm is `rank.names.straight_log2`."""
    merit = pages.merit[first:end]
    for i in range(len(merit)):
        out[i] = terms.merit * merit[i]
    if terms.opic > 0:
        cash = pages.cash[first:end]
        for i in range(len(cash)):
            share = np.float64(np.int64(cash[i] & _CASH)) * terms.coin
            out[i] += terms.opic * np.float32(np.float64(1.0 + share).view(np.int64) * 2.0**-52 - 1023.0)
    if terms.completed > 0:
        completed = pages.completed[first:end]
        for i in range(len(completed)):
            share = np.float64(completed_of(first + i, completed[i], pages.ranking)) * terms.known
            out[i] += terms.completed * np.float32(np.float64(1.0 + share).view(np.int64) * 2.0**-52 - 1023.0)
    if terms.boost > 0:
        boost = pages.boost[first:end]
        for i in range(len(boost)):
            out[i] += terms.boost * boost[i]
    if terms.static > 0:
        flags = pages.flags[first:end]
        for i in range(len(flags)):
            out[i] += terms.static if flags[i] & _DYNAMIC == 0 else np.float32(0)
    if terms.depths[0] > 0:
        depth, depths = pages.depth[first:end], terms.depths
        for i in range(len(depth)):
            out[i] += depths[depth[i]]
    if len(terms.sites):
        origin, site, sites = pages.origin[first:end], pages.site, terms.sites
        for i in range(len(origin)):
            out[i] += sites[site[origin[i]]]
