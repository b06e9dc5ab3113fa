"""Pages without a current robots.txt verdict: found before the rules of their origin were read, or before a change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.base.model import PageFlag, Reason, State
from gossamer.desk.columns import Columns

Array = npt.NDArray[Any]

_JUDGED = int(PageFlag.JUDGED)
_DONE, _EXCLUDED = int(State.DONE), int(State.EXCLUDED)
_ROBOTS = int(Reason.ROBOTS)


def find_unjudged(columns: Columns, wall: float, most: int) -> Array:
    """The first `most` pages, in order of discovery, whose origin has valid rules that were not applied to them yet."""
    out = np.empty(most, np.uint32)
    page = columns.page
    count = _find(page.count, page.state, page.reason, page.flags, page.origin, columns.origin.valid, wall, out)
    return out[:count]


@njit
def _find(
    pages: int, state: Array, reason: Array, flags: Array, origin: Array, valid: Array, wall: float, out: Array
) -> int:
    n = 0
    for p in range(pages):
        if flags[p] & _JUDGED or (state[p] in (_DONE, _EXCLUDED) and reason[p] != _ROBOTS):
            continue
        if valid[origin[p]] > wall:
            out[n] = p
            n += 1
            if n == len(out):
                break
    return n
