"""The view `clocks`, and what follows from it: sites whose pages change at certain hours, or not at weekends (2.1.2).

A re-visit soon after the visit before tells when a page changed, or did not: about halfway between. After `SHORT` hours
it tells the hour, after `LONG` the day. A site keeps hours if its pages are found changed more often in some of them.
The crawler chooses when it visits, and pages that change often are visited often; so each page is compared with itself:
if there were no hours, the visits of a page that found a change would be a random choice of its visits (the test of
Mantel and Haenszel). All windows of a few lengths are tried, at every hour, on all days or from Monday to Friday, and
these days as a whole. A site is told to keep hours only if its best window would come about by chance with a
probability of `CHANCE` in all windows of all sites together, and if at least `MOSTLY` of the changes lie in it. Hours
are UTC.

Invariants, each a test of the same name: a site without hours is told none; the hours of a site are found.
"""

from __future__ import annotations

from itertools import product
from math import erfc, sqrt
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from gossamer.base.arrays import F64, Bools

SHORT, LONG = 12, 36
"""Hours between two visits."""
CHANCE: Final = 0.001
MOSTLY: Final = 0.6
_LENGTHS: Final = (6, 8, 10, 12)
_WEEK: Final = 7 * 24
_DAYS: Final = ("every day", "Monday to Friday")

CLOCKS_VIEW: Final = f"""
with seen as (
    select v.page, p.site, v.change,
           lag(v.time) over (partition by v.page order by v.tick, v.number) as before, v.time
    from stored.visits v join stored.pages p on p.page = v.page
    where v.page is not null and v.outcome in ('ok', 'duplicate', 'not_modified')
),
halfway as (
    select page, site, change = 'major' as changed, before + (time - before) / 2 as moment,
           time - before <= interval {SHORT} hours as short from seen
    where change <> 'unknown' and time - before <= interval {LONG} hours
)
select site, page, isodow(moment)::utinyint as weekday, hour(moment)::utinyint as hour, short, count(*) as visits,
       count(*) filter (changed) as changed
from halfway group by all
"""


_ROWS: Final = "select site, page, 24 * (weekday - 1) + hour, visits, changed, short::utinyint from clocks"


class Answers(Protocol):
    """What answers SQL (`read.sql.database.Database`)."""

    def run(self, statement: str, parameters: Any = ..., views: Any = ...) -> list[tuple[Any, ...]]: ...


class Hours(NamedTuple):
    """When the pages of a site change."""

    site: int
    first: int
    """Hour of the day at which the window begins, UTC."""
    length: int
    weekdays: bool
    """From Monday to Friday alone."""
    share: float
    """Share of the changes in the window."""
    visits: int
    changes: int

    def __str__(self) -> str:
        if self.length == 24:
            return f"{_DAYS[True]}: {self.share:.0%} of {self.changes:,} changes"
        window = f"{self.first:02d}:00 to {(self.first + self.length) % 24:02d}:00 UTC"
        return f"{_DAYS[self.weekdays]}, {window}: {self.share:.0%} of {self.changes:,} changes"

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name != "site"} | {"words": str(self)}


def _windows() -> tuple[list[tuple[int, int, bool]], Bools]:
    """All windows, and which hours of the week each has."""
    kinds = [*product(range(24), _LENGTHS, (False, True)), (0, 24, True)]
    hour, day = np.arange(_WEEK) % 24, np.arange(_WEEK) // 24
    rows = [((hour - first) % 24 < length) & ((day < 5) | (not weekdays)) for first, length, weekdays in kinds]
    return kinds, np.array(rows)


def hours_of(rows: F64, of_sites: int = 0) -> list[Hours]:
    """The sites that keep hours. `rows`: site, page, hour of the week, visits, how many of these found a change, and
    whether they came within `SHORT` hours. `of_sites`: how many sites there are, if not all of them are in the rows."""
    if not len(rows):
        return []
    sites = np.unique(rows[:, 0])
    tests = max(of_sites, len(sites))
    kinds, inside = _windows()
    found = []
    for site in sites.tolist():
        of = rows[rows[:, 0] == site]
        tried = (_best(of[of[:, 5] > 0], inside[:-1], 0), _best(of, inside[-1:], len(kinds) - 1))
        best = max((each for each in tried if each is not None), key=lambda each: each.z, default=None)
        if best is None or best.share < MOSTLY:
            continue
        if erfc(best.z / sqrt(2)) / 2 * len(kinds) * tests < CHANCE:
            found.append(Hours(int(site), *kinds[best.window], best.share, best.visits, best.changes))
    return found


class _Window(NamedTuple):
    window: int
    z: float
    """Surplus of changes in it, in standard deviations."""
    share: float
    visits: int
    changes: int


def _best(rows: F64, inside: Bools, first: int) -> _Window | None:
    """The window of a site with the largest surplus. `first`: number of the first of these windows."""
    pages, of = np.unique(rows[:, 1], return_inverse=True)
    visits, changed = np.zeros((len(pages), _WEEK)), np.zeros((len(pages), _WEEK))
    np.add.at(visits, (of, rows[:, 2].astype(int)), rows[:, 3])
    np.add.at(changed, (of, rows[:, 2].astype(int)), rows[:, 4])
    n, k = visits.sum(1), changed.sum(1)
    telling = (k > 0) & (k < n)
    if not telling.any():
        return None
    some, n, k = visits[telling] @ inside.T, n[telling, None], k[telling, None]
    surplus = (changed[telling] @ inside.T - some * k / n).sum(0)
    variance = (k * (n - k) * some * (n - some) / (n * n * (n - 1))).sum(0)
    z = surplus / np.sqrt(np.maximum(variance, 1e-9))
    z[variance <= 0] = 0
    at, total = int(z.argmax()), float(k.sum())
    share = float((changed[telling] @ inside[at]).sum() / total)
    return _Window(first + at, float(z[at]), share, int(n.sum()), int(total))


def clocks(database: Answers) -> list[Hours]:
    rows = database.run(_ROWS, views=["clocks"])
    return hours_of(np.array(rows, np.float64).reshape(-1, 6))
