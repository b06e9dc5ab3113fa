"""How long a site is left in peace after an answer. What slows it and what ends it is said in `outcomes.TREATMENTS`.

A site has a *factor*, 1 at first. An outcome that slows doubles it; each other answer takes a tenth off it. It has a
*stretch*, 1 as long as its pages come as they usually do: where the first byte has lately taken `RISEN` times what it
usually takes, and `NOTABLE` seconds more, the stretch is how many times, up to `MOST_STRETCH`. "Lately" is a moving
average over about 4 pages; "usually" one over `USUAL`, of logarithms, so that a few slow pages hardly move it. A server
that stays slow is as usual again some 50 pages later.

From the end of an answer the site rests

    wait times stretch                              while its factor is 1
    max(wait, 1 s) times factor times stretch       else

and at least wait_factor times what the answer took, as long as its Retry-After says, and `harvester.retry` where so
many failures in a row set it aside; a week at most. Invariants, each a property test of the same name:

- the factor doubles with each outcome that slows and loses a tenth with each other answer
- a rising response time only ever makes the rest longer
- the rest is at least what each of the rules asks for, and a week at most
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.base.model import Ask, Visits
from gossamer.base.outcomes import LONGEST_PAUSE, TREATMENTS, Aside, Outcome
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Group
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.harvester.waits import Waits as Waits
from gossamer.harvester.waits import seconds_between

Array = npt.NDArray[Any]

_SLOWS: Final = np.array([TREATMENTS[outcome].slows for outcome in Outcome])
_ENDS: Final = np.array([TREATMENTS[outcome].ends for outcome in Outcome])
_RETURNED: Final = int(Outcome.RETURNED)
_PAGE: Final = int(Ask.PAGE)
_ASKED, _FAILING, _SLOWED, _NO_WHY = (
    int(why) for why in (Aside.ASKED_TO_WAIT, Aside.FAILING, Aside.SLOWED, Aside.NONE)
)

MOST_SLOW: Final = 256.0
"""An hour, of the usual wait: a site that comes back is asked often enough to recover."""
RECOVERY: Final = 0.9
RISEN: Final = 2.0
NOTABLE: Final = 0.5
MOST_STRETCH: Final = 8.0
USUAL: Final = 32
_LATELY: Final = 0.25
_MOST_FAILURES: Final = 16


class Clocks(NamedTuple):
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
    def of(sites: Group) -> Clocks:
        return Clocks(*(getattr(sites, name) for name in Clocks._fields))

    def copy(self, used: int, count: int) -> Clocks:
        """Of `count` sites, `used` of which are known; those behind them as new ones are."""
        found = Clocks(*(np.zeros(count, column.dtype) for column in self))
        for ours, theirs in zip(found, self, strict=True):
            ours[:used] = theirs[:used]
        found.slow[used:] = found.stretch[used:] = 1.0
        return found


class Answers(NamedTuple):
    """What visits tell about their sites."""

    site: Array
    outcome: Array
    time: Array
    """Wall, at the end."""
    retry_after: Array
    wait: Array
    """Of the site, by settings and robots.txt."""
    answered: Array
    took: Array
    """Seconds from start to end."""
    first: Array
    """Seconds to the first byte of a page; 0: none came, or of something else."""

    @staticmethod
    def of(visits: Visits, wait: Array) -> Answers:
        return Answers(
            visits["site"].copy(),
            visits["outcome"].copy(),
            visits["time"].copy(),
            visits["retry_after"].copy(),
            wait,
            visits["status"] > 0,
            visits["end"] - visits["start"],
            np.where(visits["ask"] == _PAGE, visits["first"], 0.0),
        )


_wait = njit(seconds_between)


@njit
def waits_at(waits: Waits, sites: Array) -> Array:
    """Seconds between turns at each of these sites."""
    found = np.empty(len(sites))
    for i in range(len(sites)):
        found[i] = _wait(waits, sites[i])
    return found


@njit
def pauses_at(waits: Waits, sites: Array, pause: float) -> Array:
    """Seconds between the requests of a turn at each of these sites: the setting, or what its robots.txt asks for."""
    found = np.empty(len(sites))
    for i in range(len(sites)):
        found[i] = max(float(waits.delay[sites[i]]), pause)
    return found


@njit
def clocks_after(visits: Visits, waits: Waits, sites: Clocks, retry: float, wait_factor: float) -> None:
    """As `clocks`, for visits as they are in a tick."""
    n = len(visits)
    answers = Answers(
        np.empty(n, np.uint32),
        np.empty(n, np.uint8),
        np.empty(n),
        np.empty(n, np.float32),
        np.empty(n),
        np.empty(n, np.bool_),
        np.empty(n),
        np.empty(n),
    )
    for i in range(n):
        visit = visits[i]
        answers.site[i], answers.outcome[i], answers.time[i] = visit.site, visit.outcome, visit.time
        answers.retry_after[i], answers.wait[i] = visit.retry_after, _wait(waits, visit.site)
        answers.answered[i], answers.took[i] = visit.status > 0, visit.end - visit.start
        answers.first[i] = visit.first if visit.ask == _PAGE else 0.0
    clocks(answers, sites, retry, wait_factor)


def slows(outcome: Array) -> Array:
    """For each of these outcomes: does it double the factor of its site?"""
    found: Array = _SLOWS[outcome]
    return found


def rests(wait: Array, slow: Array, stretch: Array) -> Array:
    """Seconds that sites rest, by their factors, after an answer that says nothing else."""
    longer = np.where(slow > 1, np.maximum(wait, 1.0) * slow, wait) * stretch
    found: Array = np.maximum(wait, np.minimum(longer, LONGEST_PAUSE))
    return found


@njit
def clocks(answers: Answers, sites: Clocks, retry: float, wait_factor: float) -> None:
    """After these answers, in order: when each site may be asked again (`next`), and why not sooner."""
    for i in range(len(answers.site)):
        site = answers.site[i]
        pause, reason = _heed(answers, i, sites, retry, wait_factor)
        until = answers.time[i] + pause
        if until >= sites.next[site]:
            sites.next[site] = until
            sites.why[site] = reason


@njit
def rests_after(answers: Answers, sites: Clocks, retry: float, wait_factor: float) -> Array:
    """Seconds that each of these answers, in order, asks its site to be left in peace."""
    found = np.empty(len(answers.site))
    for i in range(len(found)):
        found[i] = _heed(answers, i, sites, retry, wait_factor)[0]
    return found


@njit
def _heed(answers: Answers, i: int, sites: Clocks, retry: float, wait_factor: float) -> tuple[float, int]:
    """Learns what one answer says about its site; the rest that follows, and why it is longer than usual."""
    site, of = answers.site[i], answers.outcome[i]
    if of != _RETURNED:
        sites.asked[site] += 1
        if _SLOWS[of]:
            sites.failures[site] = min(sites.failures[site] + 1, _MOST_FAILURES)
            sites.slow[site] = min(2.0 * sites.slow[site], MOST_SLOW)
        elif answers.answered[i]:
            sites.failures[site] = 0
            sites.slow[site] = max(1.0, RECOVERY * sites.slow[site])
            if answers.first[i] > 0:
                _respond(sites, site, answers.first[i])
    pause, reason = float(answers.wait[i]) * sites.stretch[site], _NO_WHY
    if sites.slow[site] > 1:
        pause = max(1.0, answers.wait[i]) * sites.slow[site] * sites.stretch[site]
    if sites.slow[site] > 1 or sites.stretch[site] > 1:
        reason = _FAILING if sites.failures[site] else _SLOWED
    if of != _RETURNED:
        if _ENDS[of] and sites.failures[site] >= _ENDS[of]:
            pause = max(pause, retry)
        pause = max(pause, wait_factor * answers.took[i])
        if answers.retry_after[i] >= pause:
            pause, reason = float(answers.retry_after[i]), _ASKED
    return min(pause, LONGEST_PAUSE), reason


@njit
def _respond(sites: Clocks, site: int, first: float) -> None:
    """A page came, its first byte after so many seconds."""
    if sites.usual[site] == 0:
        sites.usual[site] = sites.lately[site] = first
    else:
        sites.usual[site] *= (first / sites.usual[site]) ** (1.0 / min(USUAL, sites.asked[site]))
        sites.lately[site] += (first - sites.lately[site]) * _LATELY
    usual, lately = float(sites.usual[site]), float(sites.lately[site])
    risen = lately > RISEN * usual and lately > usual + NOTABLE
    sites.stretch[site] = min(MOST_STRETCH, lately / usual) if risen else 1.0


class Backoff(Part):
    """When each site may be asked again, why not sooner, and how it has answered lately."""

    name = "backoff"
    columns: ClassVar[Declared] = {
        "site": {
            "asked": "<u4",  # requests made
            "failures": "u1",  # requests in a row that speak against the site
            "next": "<f8",  # wall: not to be asked before
            "why": "u1",  # Aside: why it is not asked before `next`
            "rest": "<f8",  # `next` and `why` as they were before its name made it wait longer
            "rest_why": "u1",
            "slow": "<f4",  # factor of its wait: doubled by what slows, a tenth less with each good answer, at least 1
            "stretch": "<f4",  # factor of its wait while its pages come more slowly than they usually do, at least 1
            "usual": "<f4",  # seconds until the first byte of a page, as a rule; 0 while none has come
            "lately": "<f4",  # the same of the last few pages
        }
    }

    def __init__(self, desk: Desk) -> None:
        harvester = desk.settings.harvester
        self._site = desk.columns.site
        self.clocks, self._waits = Clocks.of(self._site), Waits.of(self._site, harvester)
        self._pause, self._retry = float(harvester.pause), float(harvester.retry)
        self._factor = float(harvester.wait_factor)

    def waits(self, sites: Array) -> Array:
        """Seconds between turns at each of these sites: the setting, or what its robots.txt asks for."""
        return waits_at(self._waits, np.ascontiguousarray(sites, np.uint32))

    def rests(self, sites: Array) -> Array:
        """As `waits`, or longer where a site is slowed."""
        return rests(self.waits(sites), self._site.slow[sites], self._site.stretch[sites])

    def pauses(self, sites: Array) -> Array:
        """Seconds between the requests of a turn at each of these sites."""
        return pauses_at(self._waits, np.ascontiguousarray(sites, np.uint32), self._pause)

    def suspend(self, site: int, until: float, why: Aside) -> None:
        """The site is not asked before `until`, unless it already waits longer. What made it wait before is kept, for
        the case that its name is looked up again."""
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
        """`next` of each of `count` sites after visits that are not applied, with these waits by site."""
        clocks_copy = self.clocks.copy(self._site.count, count)
        clocks(Answers.of(visits, waits[visits["site"]]), clocks_copy, self._retry, self._factor)
        return clocks_copy.next


OF_NAMES: Final = (int(Aside.NAME_FAILED), int(Aside.FORBIDDEN_ADDRESS))
"""Reasons to wait that lie in a site's name, and have cost the site nothing."""


def add_sites(desk: Desk, applied: Applied) -> None:
    """Sites that become known have no factor and no stretch."""
    first, count = applied.effects.first_site, desk.columns.site.count
    desk.columns.site.slow[first:count] = desk.columns.site.stretch[first:count] = 1.0


def set_clocks(desk: Desk, applied: Applied) -> None:
    desk[Backoff].after(applied.visits)


def heed_patience(desk: Desk, event: Any) -> None:
    """PATIENCE: a request whose record was lost may just have been made."""
    desk[Backoff].suspend(int(event["site"]), float(event["until"]), Aside.JUST_STARTED)


def heed_slowing(desk: Desk, event: Any) -> None:
    """SLOWED: an answer whose record was lost has doubled the factor."""
    site = desk.columns.site
    number = int(event["site"])
    site.slow[number] = min(2.0 * site.slow[number], MOST_SLOW)
