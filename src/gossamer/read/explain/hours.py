"""The hours at which the pages of a site change (thesis 2.1.2), from the same visits as the view `clocks`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, Array
from gossamer.base.model import NONE, Change, Outcome
from gossamer.read.explain.files import LOCAL, Files
from gossamer.read.sql.clocks import LONG, SHORT, Hours, hours_of

_THERE: Final = (Outcome.OK, Outcome.DUPLICATE, Outcome.NOT_MODIFIED)
_HOUR: Final = 3600.0
_FIRST: Final = 72
"""Hour of the week at which 1970 began, on a Thursday."""


class _Visits(NamedTuple):
    """Visits of pages of the site that were there, in the order of time."""

    page: Array
    time: F64
    change: Array
    """`Change`."""


def change_hours(files: Files, site: int) -> Hours | None:
    """When its pages change; None if it keeps no hours, as far as is known."""
    parts, sites = list[_Visits](), 1
    for of, numbers in _visits(files, site):
        parts.append(of)
        sites = max(sites, 1 + int(numbers.max(initial=0)))
    if not parts:
        return None
    page, time, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(page, kind="stable")
    page, time, change = page[order], time[order], change[order]
    apart = np.diff(time)
    telling = (np.diff(page) == 0) & (change[1:] != Change.UNKNOWN) & (apart <= LONG * _HOUR)
    halfway = (time[:-1] + apart / 2)[telling]
    hours = (np.floor(halfway / _HOUR).astype(np.int64) + _FIRST) % (7 * 24)
    changed, short = (change[1:] == Change.MAJOR)[telling], (apart <= SHORT * _HOUR)[telling]
    columns = np.full(len(hours), site), page[1:][telling], hours, np.ones(len(hours)), changed, short
    return next(iter(hours_of(np.column_stack(columns).astype(np.float64), sites)), None)


def _visits(files: Files, site: int) -> Iterator[tuple[_Visits, Array]]:
    """Also the sites of all visits beside them."""
    for path in files.tables("visits"):
        page, of = files.numbers(path, "page"), files.numbers(path, "site")
        rows = np.flatnonzero((page != NONE) & (of == site))
        if not len(rows) or files.read(path, ("change",)) == [None]:
            continue  # none of the site, or of a version that compared nothing
        outcome = _codes(files, path, "outcome", Outcome)[rows]
        rows = rows[np.isin(outcome, _THERE)]
        change = _codes(files, path, "change", Change)[rows]
        yield _Visits(page[rows] & LOCAL, files.times(path, "time")[rows], change), of
    for effects in files.journal:
        visits = effects.visits
        some = visits[(visits["site"] == site) & (visits["page"] != NONE) & np.isin(visits["outcome"], _THERE)]
        yield _Visits(some["page"].astype(np.int64), some["time"].astype(np.float64), some["change"]), visits["site"]


def _codes(files: Files, path: Path, name: str, of: type[IntEnum]) -> Array:
    codes, words = files.words(path, name)
    return np.array([int(of[word.upper()]) for word in words] or [0])[codes]
