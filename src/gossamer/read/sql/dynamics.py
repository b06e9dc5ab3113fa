"""The view `lives`: the life of each page as far as it was seen, and what follows for the Web (thesis 2.1.2).

Nobody sees a life whole. What is not known is not guessed:

    right-censored     a page that was there when it was last visited lives on for an unknown time
    interval-censored  a page ends, or changes, some time between two visits: the middle counts
    left-truncated     a page that existed before the crawl is seen from its first visit on; those that had ended before
                       are never seen. So lives are counted from the first visit, which for a page of constant hazard is
                       as good as from its birth; `born` marks the pages whose birth was seen

Medians are those of the estimator of Kaplan and Meier, which takes censored lives for what they are. Where fewer than
half of the pages end while they are seen, it has no median: then that of a constant hazard, ln 2 x (time seen / number
of ends), is told, and called an extrapolation.

Invariants, each a property test of the same name: without censoring the median is that of the lives; a hazard is found
whatever part of the lives is censored.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, nan
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from gossamer.base.arrays import F64, Bools
from gossamer.base.model import VisitFlag

_THERE: Final = "('ok', 'duplicate', 'not_modified')"
_SAME_PLACE: Final = VisitFlag.RESPELLED | VisitFlag.OTHER_NAME
DAY: Final = 86_400.0
WEEK: Final = 7.0

LIVES_VIEW: Final = f"""
with seen as (
    select page, time, tick, number, outcome, change, modified, outcome in {_THERE} as there
    from stored.visits
    where page is not null and (outcome in {_THERE} or outcome in ('not_found', 'soft_404')
                                or (outcome = 'redirect' and (flags & {_SAME_PLACE:d}) = 0))
),
bounds as (
    select page, min((tick, number)) filter (there) as first,
           min(time) filter (there) as first_seen from seen group by page
),
ends as (
    select s.page, min((s.tick, s.number)) as last, min(s.time) as ended
    from seen s join bounds b on b.page = s.page where not s.there and (s.tick, s.number) > b.first group by s.page
),
lived as (
    select s.*, b.first_seen, s.change = 'major' and (s.tick, s.number) != b.first as major
    from seen s join bounds b on b.page = s.page left join ends e on e.page = s.page
    where s.there and (e.last is null or (s.tick, s.number) < e.last)
),
firsts as (select page, min((tick, number)) as at from lived where major group by page),
summed as (
    select l.page, min(l.first_seen) as first_seen, max(l.time) as last_seen, count(*) as visits,
           count(*) filter (l.major) as changes, min(l.time) filter (l.major) as changed_at,
           max(l.time) filter (f.at is null or (l.tick, l.number) < f.at) as same_at, max(l.modified) as modified
    from lived l left join firsts f on f.page = l.page group by l.page
),
fetched as (select page, min(tick) as tick from seen where there group by page)
select p.page, p.url, p.site, s.first_seen, s.last_seen, e.ended, s.visits, s.changes,
       epoch(s.same_at - s.first_seen) / {DAY} as unchanged, epoch(s.changed_at - s.first_seen) / {DAY} as changed,
       s.modified, coalesce(f.tick < p.tick, false) as born
from summed s join stored.pages p on p.page = s.page left join ends e on e.page = s.page
     left join fetched f on f.page = p.source
"""


class Survival(NamedTuple):
    """How long something lasts, in days."""

    ends: int
    """Ends that were seen."""
    seen: float
    """Days for which all of it was seen together."""
    median: float
    """NaN if no end was seen."""
    extrapolated: bool
    """Fewer than half had ended when they were last seen: the median is that of a constant hazard."""

    @property
    def mean(self) -> float:
        """The mean if the hazard is constant."""
        return self.seen / self.ends if self.ends else nan


def survival(days: F64, ended: Bools) -> Survival:
    """The estimator of Kaplan and Meier. `days`: until the end where `ended`, otherwise for how long it was seen."""
    order = np.lexsort((~ended, days))
    days, ended = np.maximum(days[order], 0.0), ended[order]
    left = np.cumprod(1.0 - ended / np.arange(len(days), 0, -1)) if len(days) else np.zeros(0)
    ends, seen = int(ended.sum()), float(days.sum())
    half = np.flatnonzero(left <= 0.5 + 1e-12)
    if len(half):
        return Survival(ends, seen, float(days[half[0]]), False)
    return Survival(ends, seen, log(2) * seen / ends if ends else nan, True)


@dataclass(frozen=True, slots=True)
class Dynamics:
    """The dynamics of the pages of a collection. Times are in days."""

    pages: int
    visited_again: int
    """Pages of which two visits or more say something; the other figures are of these."""
    days: float
    """From the first visit to the last."""
    age: float
    """Median of visit - modified, of pages with a credible Last-Modified; NaN if there is none."""
    life: Survival
    """From the first visit of a page until it is gone or moved."""
    version: Survival
    """From the first visit of a page until its first major change: its median is the half-life of the Web."""
    intervals: dict[str, float]
    """Shares of the pages by their mean change interval."""
    minor: float
    """Share of minor changes in all changes that were found; NaN if there were none."""
    new_a_week: float
    """Pages born in a week, as a share of the pages that were there."""
    gone_a_week: float
    """The same for pages that ended."""


_CLASSES: Final = {"a day or less": 1.0, "a week or less": 7.0, "a month or less": 30.0, "four months or less": 120.0}
LONGER: Final = "longer, or never seen to change"

PUBLISHED: Final = (
    ("Koehler 2004", "360 random pages", "half-life about 2 years; 33 % lasted for 6 years"),
    ("Markwell and Brooks 2003", "500 scholarly publications", "half-life about 4.5 years"),
    ("Gwertzman and Seltzer 1996", "2,500 pages of a university", "mean lifespan about 50 days, median age 150 days"),
    ("Spinellis 2003", "4,200 scholarly publications", "half-life about 4 years"),
    ("Cho and Garcia-Molina 2000", "720,000 pages of popular sites", "mean lifespan 60 to 240 days; 40 % of .com change"
     " every day, 50 % of .edu and .gov stay the same for 4 months"),
    ("Douglis et al. 1997", "950,000 pages", "mean age 10 days to 10 months; highly linked pages change more often"),
    ("Ntoulas et al. 2004", "4 million pages of popular sites", "8 % new pages and 25 % new links a week; 80 % of the"
     " changes are minor"),
    ("Fetterly et al. 2003", "150 million pages", "65 % do not change in 10 weeks; 30 % have only minor changes"),
    ("Brewington et al. 2000", "800 million pages", "mean lifespan about 140 days"),
)  # fmt: skip
"""Table 2.1 of the thesis: study, sample, results."""


class Answers(Protocol):
    """What answers SQL (`read.sql.database.Database`)."""

    def run(self, statement: str, parameters: Any = ..., views: Any = ...) -> list[tuple[Any, ...]]: ...


def dynamics(database: Answers) -> Dynamics:
    rows = database.run(
        "select epoch(first_seen), epoch(last_seen), epoch(ended), visits, changes, unchanged, changed, "
        "epoch(last_seen - modified), born from lives order by page",
        views=["lives"],
    )
    table = np.array([[nan if value is None else float(value) for value in row] for row in rows]).reshape(-1, 9)
    first, last, ended, visits, changes, unchanged, changed, age, born = table.T
    ((found, minor),) = database.run(
        "select count(*) filter (change in ('minor', 'major')), count(*) filter (change = 'minor') from stored.visits"
    )
    again = (visits > 1) | ~np.isnan(ended)
    spans = np.where(np.isnan(ended), last - first, (last + ended) / 2 - first) / DAY
    to_change = np.where(np.isnan(changed), unchanged, (unchanged + changed) / 2)
    life = survival(spans[again], ~np.isnan(ended[again]))
    return Dynamics(
        len(table),
        int(again.sum()),
        float(np.nanmax([*last, *ended]) - first.min()) / DAY if len(table) else 0.0,
        float(np.median(age[~np.isnan(age)])) / DAY if (~np.isnan(age)).any() else nan,
        life,
        survival(to_change[again], ~np.isnan(changed[again])),
        _intervals(changes[again], visits[again], (last - first)[again] / DAY),
        minor / found if found else nan,
        WEEK * float(born.sum()) / life.seen if life.seen else nan,
        WEEK * life.ends / life.seen if life.seen else nan,
    )


def _intervals(changes: F64, visits: F64, days: F64) -> dict[str, float]:
    """Shares of pages by their mean change interval: (2.3), corrected for its bias, so that a page which had changed at
    every visit has an interval too. A page that was never seen to change is in the last class."""
    compared = np.maximum(visits - 1, 1)
    rates = -np.log((compared - changes + 0.5) / (compared + 0.5)) * compared / np.maximum(days, 1e-9)
    with np.errstate(divide="ignore"):
        interval = np.where(changes > 0, 1.0 / rates, np.inf)
    found, below = {}, 0.0
    for name, most in _CLASSES.items():
        share = float((interval <= most).mean()) if len(interval) else nan
        found[name], below = share - below, share
    return found | {LONGER: 1.0 - below}
