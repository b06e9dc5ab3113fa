"""Back-off: how long a site rests after an answer. `outcomes.TREATMENTS` says which outcomes slow or suspend a site.

A site has a *factor*, 1 at first. An outcome that slows doubles it; each other answer takes a tenth off it. A site also
has a *stretch*, 1 as long as its pages come as fast as usual. When the first byte has lately taken at least `RISEN`
times its usual time, and `NOTABLE` seconds more, the stretch is that ratio, up to `MOST_STRETCH`. "Lately" is a moving
average over about 4 pages. "Usual" is a moving average of logarithms over `USUAL` pages, so that a few slow pages
hardly change it. A server that stays slow counts as usual again some 50 pages later.

After the end of an answer the site rests

    wait times stretch                              while its factor is 1
    max(wait, 1 s) times factor times stretch       otherwise, and at a slow site of the operator

and at least wait_factor times the duration of the answer (not at sites of the operator), at least its Retry-After, and
at least `harvester.retry` when enough failures in a row suspend the site; but a week at most. Invariants, each a
property test of the same name:

- the factor doubles with each outcome that slows and loses a tenth with each other answer
- a rising response time only ever makes the rest longer
- the rest is at least what each of the rules asks for, and a week at most
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.compiled import allocating, njit
from gossamer.base.model import Ask, Visits
from gossamer.base.outcomes import LONGEST_PAUSE, TREATMENTS, Aside, Outcome
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Group
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.harvester.waits import OWN_WAIT, Waits, seconds_between

SLOWS: Final = np.array([TREATMENTS[outcome].slows for outcome in Outcome])
"""By outcome: whether it doubles the factor of its site."""
_ENDS: Final = np.array([TREATMENTS[outcome].ends for outcome in Outcome])
_RETURNED: Final = int(Outcome.RETURNED)
_PAGE: Final = int(Ask.PAGE)
_ASKED, _FAILING, _SLOWED, _NO_WHY = (
    int(why) for why in (Aside.ASKED_TO_WAIT, Aside.FAILING, Aside.SLOWED, Aside.NONE)
)

MOST_SLOW: Final = 256.0
"""With the usual wait this is an hour: a site that comes back is requested often enough to recover."""
RECOVERY: Final = 0.9
RISEN: Final = 2.0
NOTABLE: Final = 0.5
MOST_STRETCH: Final = 8.0
USUAL: Final = 32
_LATELY: Final = 0.25
_MOST_FAILURES: Final = 16


class SiteClocks(NamedTuple):
    """Columns of `Backoff`, by site."""

    next: Array
    asked: Array
    failures: Array
    why: Array
    slow: Array
    stretch: Array
    usual: Array
    lately: Array

    @staticmethod
    def of(sites: Group) -> SiteClocks:
        return SiteClocks(*(getattr(sites, name) for name in SiteClocks._fields))

    def copy(self, used: int, count: int) -> SiteClocks:
        """A copy for `count` sites: the first `used` as they are, the rest with the values of new sites."""
        found = SiteClocks(*(np.zeros(count, column.dtype) for column in self))
        for ours, theirs in zip(found, self, strict=True):
            ours[:used] = theirs[:used]
        found.slow[used:] = found.stretch[used:] = 1.0
        return found


class Answers(NamedTuple):
    """What visits say about their sites: one row per visit."""

    site: Array
    outcome: Array
    time: Array
    """Wall time at the end."""
    retry_after: Array
    wait: Array
    """Wait of the site, by settings, robots.txt and owner."""
    owned: Array
    answered: Array
    took: Array
    """Seconds from start to end."""
    first: Array
    """Seconds to the first byte of a page; 0: no byte came, or it was no page."""

    @staticmethod
    def of(visits: Visits, wait: Array, owned: Array) -> Answers:
        site, outcome, time, after = (visits[name].copy() for name in ("site", "outcome", "time", "retry_after"))
        answered, took = visits["status"] > 0, visits["end"] - visits["start"]
        first = np.where(visits["ask"] == _PAGE, visits["first"], 0.0)
        return Answers(site, outcome, time, after, wait, owned, answered, took, first)


_wait = njit(seconds_between)


@allocating
def waits_at(waits: Waits, sites: Array) -> Array:
    """Seconds between turns at each of these sites. Compiled."""
    found = np.empty(len(sites))
    for i in range(len(sites)):
        found[i] = _wait(waits, sites[i])
    return found


@allocating
def pauses_at(waits: Waits, sites: Array, pause: float) -> Array:
    """Seconds between the requests of a turn at each of these sites: the setting, or what its robots.txt asks for."""
    found = np.empty(len(sites))
    for i in range(len(sites)):
        shortest = OWN_WAIT if waits.owned[sites[i]] else pause
        found[i] = max(float(waits.delay[sites[i]]), shortest)
    return found


@allocating
def clocks_after(visits: Visits, waits: Waits, sites: SiteClocks, retry: float, wait_factor: float) -> None:
    """As `clocks`, for the visits of a tick."""
    n = len(visits)
    site, outcome, retry_after = np.empty(n, np.uint32), np.empty(n, np.uint8), np.empty(n, np.float32)
    time, wait, answered, took, first = np.empty(n), np.empty(n), np.empty(n, np.bool_), np.empty(n), np.empty(n)
    owned = np.empty(n, np.uint8)
    answers = Answers(site, outcome, time, retry_after, wait, owned, answered, took, first)
    for i in range(n):
        visit = visits[i]
        answers.site[i], answers.outcome[i], answers.time[i] = visit.site, visit.outcome, visit.time
        answers.retry_after[i], answers.wait[i] = visit.retry_after, _wait(waits, visit.site)
        answers.owned[i] = waits.owned[visit.site]
        answers.answered[i], answers.took[i] = visit.status > 0, visit.end - visit.start
        answers.first[i] = visit.first if visit.ask == _PAGE else 0.0
    clocks(answers, sites, retry, wait_factor)


def rests(wait: Array, slow: Array, stretch: Array, owned: Array) -> Array:
    """Seconds that sites rest, by factor and stretch, after an answer that adds no longer rest of its own."""
    slowed = (slow > 1) | ((stretch > 1) & (owned != 0))
    longer = np.where(slowed, np.maximum(wait, 1.0) * slow, wait) * stretch
    found: Array = np.maximum(wait, np.minimum(longer, LONGEST_PAUSE))
    return found


@njit
def clocks(answers: Answers, sites: SiteClocks, retry: float, wait_factor: float) -> None:
    """Applies these answers in order: sets when each site may be requested again (`next`), and why not sooner."""
    for i in range(len(answers.site)):
        site = answers.site[i]
        pause, reason = _heed(answers, i, sites, retry, wait_factor)
        until = answers.time[i] + pause
        if until >= sites.next[site]:
            sites.next[site] = until
            sites.why[site] = reason


@njit
def _heed(answers: Answers, i: int, sites: SiteClocks, retry: float, wait_factor: float) -> tuple[float, int]:
    """Applies one answer to its site. Returns how long the site rests, and why that is longer than usual."""
    site, of = answers.site[i], answers.outcome[i]
    if of != _RETURNED:
        sites.asked[site] += 1
        if SLOWS[of]:
            sites.failures[site] = min(sites.failures[site] + 1, _MOST_FAILURES)
            sites.slow[site] = min(2.0 * sites.slow[site], MOST_SLOW)
        elif answers.answered[i]:
            sites.failures[site] = 0
            sites.slow[site] = max(1.0, RECOVERY * sites.slow[site])
            if answers.first[i] > 0:
                _respond(sites, site, answers.first[i])
    pause, reason = float(answers.wait[i]) * sites.stretch[site], _NO_WHY
    if sites.slow[site] > 1 or (sites.stretch[site] > 1 and answers.owned[i]):
        pause = max(1.0, answers.wait[i]) * sites.slow[site] * sites.stretch[site]
    if sites.slow[site] > 1 or sites.stretch[site] > 1:
        reason = _FAILING if sites.failures[site] else _SLOWED
    if of != _RETURNED:
        if _ENDS[of] and sites.failures[site] >= _ENDS[of]:
            pause = max(pause, retry)
        if not answers.owned[i]:
            pause = max(pause, wait_factor * answers.took[i])
        if answers.retry_after[i] >= pause:
            pause, reason = float(answers.retry_after[i]), _ASKED
    return min(pause, LONGEST_PAUSE), reason


@njit
def _respond(sites: SiteClocks, site: int, first: float) -> None:
    """Updates the averages and the stretch: the first byte of a page came after `first` seconds."""
    if sites.usual[site] == 0:
        sites.usual[site] = sites.lately[site] = first
    else:
        sites.usual[site] *= (first / sites.usual[site]) ** (1.0 / min(USUAL, sites.asked[site]))
        sites.lately[site] += (first - sites.lately[site]) * _LATELY
    usual, lately = float(sites.usual[site]), float(sites.lately[site])
    risen = lately > RISEN * usual and lately > usual + NOTABLE
    sites.stretch[site] = min(MOST_STRETCH, lately / usual) if risen else 1.0


class Backoff(Part):
    """When each site may be requested again, why not sooner, and how it has answered lately."""

    name = "backoff"
    columns: ClassVar[Declared] = {
        "site": {
            "asked": "<u4",  # requests made
            "failures": "u1",  # failures in a row that count against the site
            "next": "<f8",  # wall time: not requested before
            "why": "u1",  # Aside: why it is not requested before `next`
            "rest": "<f8",  # `next` and `why` as they were before its name made it wait longer
            "rest_why": "u1",
            "slow": "<f4",  # factor of its wait, at least 1: outcomes that slow double it, others take a tenth off it
            "stretch": "<f4",  # factor of its wait while its pages come more slowly than usual, at least 1
            "usual": "<f4",  # usual seconds until the first byte of a page; 0 until the first page
            "lately": "<f4",  # the same for the last few pages
        }
    }
    times = ("site.next", "site.rest")

    def __init__(self, desk: Desk) -> None:
        harvester = desk.settings.harvester
        self._site = desk.columns.site
        self.clocks, self._waits = SiteClocks.of(self._site), Waits.of(self._site, harvester)
        self._pause, self._retry = float(harvester.pause), float(harvester.retry)
        self._factor = float(harvester.wait_factor)

    def waits(self, sites: Array) -> Array:
        """Seconds between turns at each of these sites: the setting, or what its robots.txt asks for."""
        return waits_at(self._waits, np.ascontiguousarray(sites, np.uint32))

    def rests(self, sites: Array) -> Array:
        """As `waits`, or longer for a site that is slowed."""
        columns = self._site
        return rests(self.waits(sites), columns.slow[sites], columns.stretch[sites], columns.owned[sites])

    def pauses(self, sites: Array) -> Array:
        """Seconds between the requests of a turn at each of these sites."""
        return pauses_at(self._waits, np.ascontiguousarray(sites, np.uint32), self._pause)

    def suspend(self, site: int, until: float, why: Aside) -> None:
        """Suspends the site until `until`, unless it already waits longer. The earlier time and reason are kept, in
        case its name is looked up again."""
        columns = self._site
        if until >= columns.next[site]:
            if columns.why[site] not in OF_NAMES:
                columns.rest[site], columns.rest_why[site] = columns.next[site], columns.why[site]
            columns.next[site] = until
            columns.why[site] = why

    def after(self, visits: Visits) -> None:
        """Sets the clocks of the sites that were visited."""
        clocks_after(visits, self._waits, self.clocks, self._retry, self._factor)

    def would_follow(self, visits: Visits, waits: Array, count: int) -> Array:
        """`next` of each of `count` sites as it would be after these visits, which are not applied. `waits` by site."""
        clocks_copy = self.clocks.copy(self._site.count, count)
        nobody = np.zeros(len(visits), np.uint8)
        clocks(Answers.of(visits, waits[visits["site"]], nobody), clocks_copy, self._retry, self._factor)
        return clocks_copy.next


OF_NAMES: Final = (int(Aside.NAME_FAILED), int(Aside.FORBIDDEN_ADDRESS))
"""Reasons to wait that come from a site's name, and have cost the site no request."""


def add_sites(desk: Desk, applied: Applied) -> None:
    """New sites get factor 1 and stretch 1."""
    first, count = applied.effects.first_site, desk.columns.site.count
    desk.columns.site.slow[first:count] = desk.columns.site.stretch[first:count] = 1.0


def set_clocks(desk: Desk, applied: Applied) -> None:
    """Sets the clocks of the sites that were visited in a tick."""
    desk[Backoff].after(applied.visits)


def heed_patience(desk: Desk, event: Any) -> None:
    """PATIENCE: a request whose record was lost may have been made just now."""
    desk[Backoff].suspend(int(event["site"]), float(event["until"]), Aside.JUST_STARTED)


def heed_forgetting(desk: Desk, event: Any) -> None:
    """FORGOTTEN: the site is not requested any more."""
    desk[Backoff].suspend(int(event["site"]), float(event["until"]), Aside.FORGOTTEN)


def heed_slowing(desk: Desk, event: Any) -> None:
    """SLOWED: an answer whose record was lost has doubled the factor."""
    slow, site = desk.columns.site.slow, int(event["site"])
    slow[site] = min(2.0 * slow[site], MOST_SLOW)
