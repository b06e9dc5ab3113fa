"""Duplicates by content: a page with the text and links of an earlier page (thesis 7.2.3).

The table of digests maps the content of a page to the first page that had it. `mark_duplicates` adds to it before the
tick is written to the journal, so that the first of two equal pages of one tick is the original; `keep_contents` adds
the same entries when the tick is applied, live and at recovery.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.base.model import NONE, Outcome, VisitFlag
from gossamer.desk.columns import Columns
from gossamer.desk.table import Arrays, add_one
from gossamer.web.message import Results

Array = npt.NDArray[Any]

_OK, _DUPLICATE = int(Outcome.OK), int(Outcome.DUPLICATE)
_NO_ORIGINAL = int(VisitFlag.EMPTY | VisitFlag.NOINDEX)
_NONE = np.uint32(NONE)


def mark_duplicates(columns: Columns, results: Results, seed: int) -> None:
    """Marks the visits whose content an earlier page had: they are duplicates, and their links are not followed."""
    if _add_contents(columns.digests.arrays, results.visits, np.uint64(seed), True):
        columns.digests.give_back()


def keep_contents(columns: Columns, visits: Array, seed: int) -> None:
    """Adds the contents of these visits to the table of digests."""
    if _add_contents(columns.digests.arrays, visits, np.uint64(seed), False):
        columns.digests.give_back()


@njit
def _add_contents(digests: Arrays, visits: Array, seed: np.uint64, mark: bool) -> bool:
    """Returns whether the table may have grown. With `mark`, visits with a known content become duplicates."""
    added = False
    for i in range(len(visits)):
        visit = visits[i]
        if mark:
            visit.duplicate_of = _NONE
        if _can_be_repeated(visit):
            added = True
            first = add_one(digests, _content_key(visit.digest, seed), visit.page)
            if mark and first != visit.page and first != _NONE:
                visit.duplicate_of = first
                visit.outcome = _DUPLICATE
    return added


@njit
def _can_be_repeated(visit: Any) -> bool:
    """Whether another page can be a duplicate of this one: fetched whole, not almost empty, not excluded by noindex."""
    whole: bool = visit.digest != 0 and visit.outcome == _OK and visit.page != _NONE
    return whole and visit.flags & _NO_ORIGINAL == 0


@njit
def _content_key(digest: np.uint64, seed: np.uint64) -> np.uint64:
    """Mixes a digest with the collection's seed, so that nobody can prepare pages that crowd one part of the table."""
    key = digest ^ seed
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
