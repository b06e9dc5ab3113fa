"""What strategies learn from visits: the cash that pages hand on, and other numbers that links carry.

A strategy is a row of `strategies.STRATEGIES` and a branch, by its code, in the functions below and in
`profit.appraise`. They are compiled into the kernels of `plan` and `learn`: module-level functions chosen by a number,
because numba's disk cache misses functions that are passed as arguments or made by closures.

    seen         a page became known
    crawled      a page reached its final outcome

**Cash** (OPIC; Abiteboul, Preda and Cobena 2003; thesis 4.3; read as ERRATA.md says). Every seed gets `SEED_CASH`,
other pages start with nothing. A crawled page gives an equal share to each of its links, those that are only counted
included; shares of pages that are already fetched or not known, and the remainder of the division, are lost. A page
without links, or that failed for good, spends its cash. A redirect hands on all of it. The cash that a page held when
it was crawled stays in its cell, marked as given away (`GIVEN`): it is the worth of the page from then on, and fetching
the page again moves nothing. Cash is whole numbers, so that

    kept + spent + lost == total     always; kept is all cash that is not marked

and a replay of the journal gives the same bits. Only ratios of cash matter, so a fixed amount for each seed equals the
thesis' cash of 1 shared by all, and needs no knowledge of later seeds. A million seeds fit in the total; more seeds
get nothing.

Other strategies use the cell of cash for their own numbers: BACKLINKS for the links from fetched pages; FRACTIONAL for
cash that loses a part at every step (`DAMPING`); PARTIAL for the PageRank that links bring, in units of 2^-50, to pages
that have none of their own yet (`merit`); MERCATOR for the time when the page is drawn from its front queue.

**Front queues** (002; Heydon and Najork 1999). A page joins the queue of its depth when it becomes known. Pages are
drawn from the queues at random, from each queue half as often as from the queue before. That is one stream of draws in
which the times between two pages of a queue are exponential, with a mean that doubles from queue to queue. So each page
gets its time when it joins, after the last page of its queue and not before the last page that was fetched, and the
earliest comes first. No queue needs to be stored, and a replay draws the same.

**Completed PageRank** (`rank.completed`) has its own column. Until it is first computed, every seed has an equal share;
afterwards the column holds the computed values. A crawled page adds its part to its targets, live only: computed values
are not in the journal.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U8, U16, U32, U64
from gossamer.base.askable import REVISITED
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import LinkKind, Outcome, PageFlag, State
from gossamer.desk.columns import Columns
from gossamer.manager.strategies import BACKLINKS, COMPLETED, FRACTIONAL, MERCATOR, OPIC, PARTIAL, UNIT, VALUE
from gossamer.manager.value import GIVEN, TOTAL

SEED_CASH: Final = 2**43
SEED_SHARE: Final = np.float32(2.0**-10)
"""Completed PageRank of a seed before the first computation."""
BASE, RANKED = 0, 1
"""Indices into `columns.ranking`: completed PageRank of pages found since the computation, and the number of pages that
the computation knew."""
KEPT, SPENT, LOST = 0, 1, 2
"""Indices into the totals of cash; `value.TOTAL` is the next."""
DRAWN: Final = 4
"""Index into the totals, for MERCATOR: the time of the last page fetched; after it the last time of each queue."""
FRONTS: Final = 8
"""Number of front queues; the last one takes all deeper pages too."""
_DRAW: Final = 2.0**16
"""Units per unit of a drawing time."""

_DONE, _REDIRECTED, _REDIRECT = int(State.DONE), int(Outcome.REDIRECT), int(LinkKind.REDIRECT)
_SEED: Final = np.uint8(PageFlag.SEED)
_FAILED: Final = np.array([o not in REVISITED for o in Outcome])
_GIVEN, _CASH = np.uint64(GIVEN), np.uint64(GIVEN - 1)
DAMPING: Final = 0.85
"""Damping of FRACTIONAL; the same as that of PageRank."""
_COUNTS: Final = np.array(
    [c in (BACKLINKS, COMPLETED, FRACTIONAL, MERCATOR, OPIC, PARTIAL, VALUE) for c in range(MERCATOR + 1)]
)
"""By code: whether the strategy uses the cells of cash."""


class PageArrays(NamedTuple):
    """The columns of pages that kernels read and write."""

    origin: U32
    state: U8
    reason: U8
    depth: U8
    flags: U8
    outcome: U8
    tries: U8
    due: U32
    cash: U64
    merit: F32
    boost: F32
    completed: F32
    belief: U16
    signals: U8
    site: U32  # by origin
    pending: U32  # by site
    ranking: F64


_columns = attrgetter(*PageArrays._fields[:-3])


def pages_of(columns: Columns) -> PageArrays:
    others = columns.origin.site, columns.site.pending, columns.ranking
    return PageArrays._make(_columns(columns.page) + others)


def new_totals() -> I64:
    """Totals at zero: cash kept, spent, lost and in total, and the times of the front queues."""
    return np.zeros(DRAWN + 1 + FRONTS, np.int64)


@inlined
def seen(code: int, pages: PageArrays, totals: I64, page: int) -> None:
    is_seed = pages.flags[page] & _SEED != 0
    if code == MERCATOR:
        pages.cash[page] = _queue_up(totals, page, pages.depth[page])
        return
    if is_seed and pages.ranking[RANKED] == 0 and code in (COMPLETED, VALUE):
        pages.completed[page] = SEED_SHARE
    if not is_seed or totals[TOTAL] > np.int64(2**63 - 1 - SEED_CASH):
        return
    if code in (OPIC, VALUE, FRACTIONAL):
        pages.cash[page] += np.uint64(SEED_CASH)
        totals[KEPT] += SEED_CASH
        totals[TOTAL] += SEED_CASH


@njit
def _queue_up(totals: I64, page: int, depth: int) -> np.uint64:
    """The time at which the page is drawn from the front queue of its depth."""
    queue = min(depth, FRONTS - 1)
    x = np.uint64(page + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    gap = -math.log((np.int64(x >> np.uint64(11)) + 0.5) / 2.0**53) * 2.0**queue
    last = max(totals[DRAWN], totals[DRAWN + 1 + queue])
    totals[DRAWN + 1 + queue] = last + 1 + np.int64(gap * _DRAW)
    return np.uint64(totals[DRAWN + 1 + queue])


@inlined
def crawled(
    code: int, pages: PageArrays, totals: I64, page: int, outcome: int, out_degree: int, targets: U32, kinds: U8
) -> None:
    """Hands on the worth of `page`, which ended in `outcome`. It is already DONE, so a share for itself is lost."""
    state, cash, completed = pages.state, pages.cash, pages.completed
    if not _COUNTS[code] or cash[page] & _GIVEN:
        return
    degree = max(out_degree, len(targets))
    if code in (OPIC, VALUE, FRACTIONAL):
        _spend(code, state, cash, totals, page, outcome, degree, targets, kinds)
    elif code == MERCATOR:
        totals[DRAWN] = max(totals[DRAWN], np.int64(cash[page]))
    elif code == BACKLINKS:
        _add(state, cash, targets, 1)
    elif code == PARTIAL and degree > 0:
        rank = max(float(pages.merit[page]), np.int64(cash[page] & _CASH) / UNIT)
        _add(state, cash, targets, int(rank * UNIT / degree))
    if code in (COMPLETED, VALUE) and degree > 0 and not _FAILED[outcome]:
        _promise(state, completed, completed_of(page, completed[page], pages.ranking) * DAMPING / degree, targets)
    cash[page] |= _GIVEN


@inlined
def completed_of(page: int, completed: np.float32, ranking: F64) -> np.float32:
    """The completed PageRank of a page; pages found since the computation have the base in addition."""
    return np.float32(completed + ranking[BASE] if page >= ranking[RANKED] else completed)


@inlined
def _promise(state: U8, completed: F32, share: np.float32, targets: U32) -> None:
    for target in targets:
        if state[target] != _DONE:
            completed[target] += np.float32(share)


@inlined
def _add(state: U8, cash: U64, targets: U32, share: int) -> int:
    """Adds `share` to each target that has not been fetched; returns the sum that was given."""
    given = 0
    for target in targets:
        if state[target] != _DONE and cash[target] & _GIVEN == 0:
            cash[target] += np.uint64(share)
            given += share
    return given


@inlined
def _spend(
    code: int, state: U8, cash: U64, totals: I64, page: int, outcome: int, degree: int, targets: U32, kinds: U8
) -> None:
    held: int = np.int64(cash[page])  # type: ignore[assignment]
    totals[KEPT] -= held
    if outcome == _REDIRECTED:
        given = _hand_on(state, cash, held, targets, kinds)
    elif _FAILED[outcome] or degree == 0:
        totals[SPENT] += held
        return
    else:
        moves = int(held * DAMPING) if code == FRACTIONAL else held
        given = _add(state, cash, targets, moves // degree)
    totals[KEPT] += given
    totals[LOST] += held - given


@inlined
def _hand_on(state: U8, cash: U64, held: int, targets: U32, kinds: U8) -> int:
    for i in range(len(targets)):
        target = targets[i]
        if kinds[i] & 15 == _REDIRECT and state[target] != _DONE and cash[target] & _GIVEN == 0:
            cash[target] += np.uint64(held)
            return held
    return 0
