"""Scans of all pages besides the plan: when the next page is due, and which pages robots.txt has not judged yet."""

from __future__ import annotations

import numpy as np

from gossamer.base import askable
from gossamer.base.arrays import F64, U8, U32
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import PageFlag, Reason, State
from gossamer.desk.columns import Columns
from gossamer.manager.policies import PageArrays, pages_of
from gossamer.manager.profit import may_be_fetched_again, rest_of
from gossamer.manager.value import Value

_WAITING, _DONE, _EXCLUDED = int(State.WAITING), int(State.DONE), int(State.EXCLUDED)
_JUDGED, _ROBOTS = int(PageFlag.JUDGED), int(Reason.ROBOTS)
_DEFAULT = Value()

is_suspended = inlined(askable.is_suspended)


def soonest_due(columns: Columns, horizon: float = np.inf, value: Value = _DEFAULT) -> float:
    """Wall time at which the first waiting page may be retried or the first fetched page fetched again; inf if there is
    none. Sites that are suspended until after `horizon` do not count."""
    site, period = columns.site, value.min_period if value.revisits else np.inf
    rules = period, value.continuous, site.refused, site.next, float(horizon)
    return float(_soonest(pages_of(columns), columns.page.count, *rules))


@njit
def _soonest(
    pages: PageArrays, known: int, period: float, returns: bool, refused: U8, next_: F64, horizon: float
) -> float:
    state, visited, reason, outcome, tries = pages.state, pages.due, pages.reason, pages.outcome, pages.tries
    origin, site_of = pages.origin, pages.site
    soonest = np.inf
    for p in range(known):
        due = np.inf
        if state[p] == _WAITING:
            due = float(visited[p])
        elif state[p] == _DONE and may_be_fetched_again(reason[p], outcome[p]):
            due = visited[p] + period
        elif state[p] == _DONE and returns and reason[p] == 0:
            due = visited[p] + max(period, rest_of(outcome[p], tries[p]))
        if due < soonest:
            site = site_of[origin[p]]
            if not is_suspended(refused[site], next_[site], horizon):
                soonest = min(soonest, max(due, next_[site]))
    return soonest


def find_unjudged(columns: Columns, wall: float, most: int) -> U32:
    """The first `most` pages, in order of discovery, whose origin has valid rules that were not applied to them yet:
    pages found before the rules were read, or before they changed."""
    out = np.empty(most, np.uint32)
    return out[: _find_unjudged(pages_of(columns), columns.page.count, columns.origin.valid, wall, out)]


@njit
def _find_unjudged(pages: PageArrays, known: int, valid: F64, wall: float, out: U32) -> int:
    state, reason, flags, origin = pages.state, pages.reason, pages.flags, pages.origin
    n = 0
    for p in range(known):
        if flags[p] & _JUDGED or (state[p] in (_DONE, _EXCLUDED) and reason[p] != _ROBOTS):
            continue
        if valid[origin[p]] > wall:
            out[n] = p
            n += 1
            if n == len(out):
                break
    return n
