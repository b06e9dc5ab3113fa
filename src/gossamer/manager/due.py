"""The time at which the next page is due: the first to be retried or fetched again."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base import askable
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import State
from gossamer.desk.columns import Columns
from gossamer.manager.policies import U8
from gossamer.manager.profit import F64, Pages, may_be_fetched_again, pages_of
from gossamer.manager.value import Value

_WAITING: Final = int(State.WAITING)
_DONE: Final = int(State.DONE)
_DEFAULT: Final = Value()

is_suspended = inlined(askable.is_suspended)


def soonest_due(columns: Columns, horizon: float = np.inf, value: Value = _DEFAULT) -> float:
    """Wall time at which the first waiting page may be retried or the first fetched page fetched again; inf if there is
    none. Sites that are suspended until after `horizon` do not count."""
    site, period = columns.site, value.min_period if value.revisits else np.inf
    return float(_soonest(pages_of(columns), columns.page.count, period, site.refused, site.next, float(horizon)))


@njit
def _soonest(pages: Pages, known: int, period: float, refused: U8, next_: F64, horizon: float) -> float:
    state, visited, reason, outcome = pages.state, pages.due, pages.reason, pages.outcome
    origin, site_of = pages.origin, pages.site
    soonest = np.inf
    for p in range(known):
        due = np.inf
        if state[p] == _WAITING:
            due = float(visited[p])
        elif state[p] == _DONE and may_be_fetched_again(reason[p], outcome[p]):
            due = visited[p] + period
        if due < soonest:
            site = site_of[origin[p]]
            if not is_suspended(refused[site], next_[site], horizon):
                soonest = min(soonest, max(due, next_[site]))
    return soonest
