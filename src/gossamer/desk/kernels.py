"""The compiled part of `crawler/apply.py`: one pass over all visits of a tick instead of one numpy call per question.

Most ticks have a few visits, and numpy takes as long for one visit as for a hundred: 1 to 2 µs per call, and there were
thirty calls. So rare kinds (robots.txt, copies, redirects) are counted here first, and cost nothing if there are none.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.base.model import NONE, Ask, PageFlag, VisitFlag, Visits
from gossamer.base.outcomes import NO_OUTCOME, Outcome
from gossamer.desk.columns import Group

Array = npt.NDArray[Any]
Records = npt.NDArray[np.void]

_NONE: Final = np.uint32(NONE)
_PAGE, _ROBOTS, _SITEMAP, _PROBE = (int(ask) for ask in (Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP, Ask.PROBE))
_DUPLICATE, _REDIRECT, _SOFT, _RETURNED = (
    int(o) for o in (Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.SOFT_404, Outcome.RETURNED)
)
_CONNECT_FAILED, _TLS_FAILED = int(Outcome.CONNECT_FAILED), int(Outcome.TLS_FAILED)
_STORED, _RESPELLED, _OTHER_NAME = int(VisitFlag.STORED), int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_JUDGED: Final = int(PageFlag.JUDGED)


class Tally(NamedTuple):
    """Number of visits of each kind."""

    robots: int
    sitemaps: int
    probes: int
    compared: int
    """Pages of sites that have a useful probe answer."""
    copies: int
    """Duplicates of a known page."""
    moved: int
    """Pages that are redirected, except to themselves under the site's other name."""
    unconnected: int
    respelled: int
    """Redirects to another name of the site."""
    made: int
    """Visits of pages, without assignments that were returned unrequested."""
    stored: int
    received: int
    """Bytes."""


NO_VISITS: Final = Tally(*(0,) * len(Tally._fields))


def writable(records: Records) -> Records:
    """The records of a tick in the form that kernels take. Records of a journal are read-only: numba would compile the
    kernels once more for them."""
    if records.flags.writeable and records.flags.c_contiguous:
        return records
    return np.frombuffer(bytearray(records.tobytes()), records.dtype)


@njit
def _tally(visits: Visits, telling: Array, outcomes: Array, counts: Array) -> None:
    for i in range(len(visits)):
        visit = visits[i]
        ask, outcome, flags = visit.ask, visit.outcome, visit.flags
        counts[0] += ask == _ROBOTS
        counts[1] += ask == _SITEMAP
        counts[2] += ask == _PROBE
        counts[4] += outcome == _DUPLICATE and visit.duplicate_of != _NONE
        counts[6] += outcome == _CONNECT_FAILED
        counts[7] += flags & _OTHER_NAME != 0
        counts[10] += visit.received
        if ask == _PAGE:
            counts[3] += telling[visit.site]
            counts[5] += outcome in (_REDIRECT, _SOFT) and flags & _RESPELLED == 0
            counts[9] += outcome <= _DUPLICATE and flags & _STORED != 0
            if outcome != _RETURNED:
                counts[8] += 1
                outcomes[outcome] += 1


def tally(visits: Visits, telling: Array, outcomes: Array) -> Tally:
    """Counts the visits by kind. `telling`: by site. `outcomes`: number of pages by outcome; these visits are added."""
    counts = np.zeros(len(Tally._fields), np.int64)
    _tally(visits, telling, outcomes, counts)
    return Tally._make(counts.tolist())


@njit
def asked_for(visits: Visits, ask: int) -> bool:
    """Whether any of these visits requested `ask`."""
    found = False
    for i in range(len(visits)):
        found |= visits[i].ask == ask
    return found


@njit
def unanswered(visits: Visits) -> bool:
    """Whether any of these visits got no connection."""
    found = False
    for i in range(len(visits)):
        found |= visits[i].outcome == _CONNECT_FAILED or visits[i].outcome == _TLS_FAILED
    return found


@njit
def spoken_against(sites: Array, refused: Array, resolved: Array, wall: float) -> bool:
    """Whether any of these sites must not be requested, or has an address that is too old."""
    found = False
    for i in range(len(sites)):
        found |= refused[sites[i]] != 0 or resolved[sites[i]] <= wall
    return found


class _Entered(NamedTuple):
    """Columns that a page has when it becomes known."""

    origin: Array
    state: Array
    reason: Array
    depth: Array
    flags: Array
    outcome: Array


def enter(pages: Group, sites: Group, new: Records, first: int) -> bool:
    """Enters new pages, numbered from `first`, and counts them for their sites and domains. Returns whether the robots
    rules are still to be applied to any of them."""
    columns = _Entered(pages.origin, pages.state, pages.reason, pages.depth, pages.flags, pages.outcome)
    return bool(_enter(columns, sites.pages, sites.domain, sites.domain_pages, new, first))


@njit
def _enter(pages: _Entered, site_pages: Array, domain: Array, domain_pages: Array, new: Records, first: int) -> bool:
    unjudged = False
    for i in range(len(new)):
        record, page = new[i], first + i
        pages.origin[page] = record.origin
        pages.state[page] = record.state
        pages.reason[page] = record.reason
        pages.depth[page] = record.depth
        pages.flags[page] = record.flags
        pages.outcome[page] = NO_OUTCOME
        site_pages[record.site] += 1
        domain_pages[domain[record.site]] += 1
        unjudged |= record.flags & _JUDGED == 0
    return unjudged
