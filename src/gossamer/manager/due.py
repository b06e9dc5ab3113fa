"""When the first page that waits is due."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.collection.columns import Columns
from gossamer.compiled import njit
from gossamer.model import State

Array = npt.NDArray[Any]

_WAITING = int(State.WAITING)


def soonest_due(columns: Columns, horizon: float = np.inf) -> float:
    """Wall time at which the first waiting page may be tried again, at sites not set aside beyond `horizon`, or inf."""
    page, site = columns.page, columns.site
    return float(
        _soonest(
            page.count, page.state, page.due, page.origin, columns.origin.site, site.refused, site.next, float(horizon)
        )
    )


@njit
def _soonest(
    pages: int, state: Array, due: Array, origin: Array, origin_site: Array, refused: Array, next_: Array,
    horizon: float,
) -> float:  # fmt: skip
    soonest = np.inf
    for p in range(pages):
        if state[p] == _WAITING:
            site = origin_site[origin[p]]
            if refused[site] == 0 and next_[site] <= horizon:
                soonest = min(soonest, max(float(due[p]), next_[site]))
    return soonest
