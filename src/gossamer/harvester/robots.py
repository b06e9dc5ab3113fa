"""What a robots.txt answer changes: the rules of its origin, the delay of its site, and how long both wait for it.

A 2xx answer brings rules, a 4xx answer means that there are none (RFC 9309, 2.3.1). Any other answer forbids the whole
origin until robots.txt is requested again; after `harvester.robots_unreachable` the last rules apply again, or none if
there never were any (2.3.1.4).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.base.askable import BLOCKED, DELAYED
from gossamer.base.model import Ask, PageFlag, VisitFlag
from gossamer.base.outcomes import ASIDE, DAY, Aside, Outcome
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk
from gossamer.desk.places import MOST_SWITCHES
from gossamer.desk.rules import Rules
from gossamer.harvester.backoff import Backoff

READABLE: Final = frozenset(
    {Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.NOT_FOUND, Outcome.REFUSED, Outcome.OTHER_TYPE}
    | {Outcome.NO_CONTENT, Outcome.RETURNED, Outcome.PAYMENT_REQUIRED}
)
"""Outcomes of robots.txt that say what is allowed, or nothing; after any other outcome nothing is allowed."""
UNREADABLE: Final = ASIDE[Aside.ROBOTS_UNREADABLE]
AFTER_REST: Final = 60.0
"""Seconds for which rules stay valid at least once their site is due: the site may have to wait in the queue."""
OUTDATED: Final = 1.0
"""Wall time in `valid` of rules that were requested once, and are no longer valid."""

_ROBOTS: Final = int(Ask.ROBOTS)
_JUDGED: Final = int(PageFlag.JUDGED)
_NAMED: Final = int(VisitFlag.NAMED)
_RESPELLED, _NOT_FOLLOWED = int(VisitFlag.RESPELLED), int(VisitFlag.NOT_FOLLOWED)


def take_rules(desk: Desk, visit: Any, texts: dict[str, bytes]) -> None:
    """Takes the answer to a request for robots.txt."""
    origin, outcome = int(visit["origin"]), Outcome(int(visit["outcome"]))
    origins, sites = desk.columns.origin, desk.columns.site
    site = int(origins.site[origin])
    moved = outcome == Outcome.REDIRECT and not visit["flags"] & _NOT_FOLLOWED
    in_ring = bool(visit["flags"] & _RESPELLED) and sites.respelled[site] >= MOST_SWITCHES
    lost = in_ring and site == int(visit["site"])
    if outcome == Outcome.RETURNED or (moved and not lost):
        return
    odd = lost or (outcome == Outcome.NO_CONTENT and not 200 <= visit["status"] < 300)
    if outcome not in READABLE or odd:
        until = _note_unreadable(desk, origin, float(visit["time"]))
        if until >= sites.next[site]:
            sites.next[site], sites.why[site] = until, Aside.ROBOTS_UNREADABLE
        return
    origins.failures[origin], origins.unreachable[origin] = 0, 0.0
    desk[Rules].place(origin, texts["rules"] if outcome in (Outcome.OK, Outcome.DUPLICATE) else b"")
    origins.valid[origin] = visit["time"] + desk.settings.harvester.robots_valid
    origins.delay[origin] = max(0.0, float(visit["delay"]))
    origins.named[origin] = visit["flags"] & _NAMED != 0
    _heed_delays(desk, site)
    if site != int(visit["site"]):  # it was read at another site, and is valid from now on
        until = float(visit["time"]) + float(desk[Backoff].waits(np.array([site]))[0])
        sites.next[site] = max(float(sites.next[site]), until)
    desk[Rules].unjudged = True


def _heed_delays(desk: Desk, site: int) -> None:
    """Sets the delay of a site: the longest delay in the robots.txt files of its origins. It may be shorter than the
    usual wait if each of these files names us."""
    origins, sites = desk.columns.origin, desk.columns.site
    of_site = origins.site[: origins.count] == site
    sites.delay[site] = origins.delay[: origins.count][of_site].max()
    sites.named[site] = origins.named[: origins.count][of_site].all()
    too_long = sites.delay[site] > desk.settings.harvester.max_delay
    sites.refused[site] = sites.refused[site] & BLOCKED | (DELAYED if too_long else 0)


def judge_again(desk: Desk, applied: Applied) -> None:
    """Marks pages of origins whose rules have changed, to be judged again. One pass over all pages for all origins."""
    rules = desk[Rules]
    if rules.changed:
        page = desk.columns.page
        changed = np.zeros(desk.columns.origin.count, np.bool_)
        changed[rules.changed] = True
        page.flags[: page.count][changed[page.origin[: page.count]]] &= 0xFF ^ _JUDGED
        rules.changed.clear()


def _note_unreadable(desk: Desk, origin: int, time: float) -> float:
    """Notes that a robots.txt could not be read; returns until when its site waits because of that.

    A time of more than a day in which robots.txt could have been requested, but was not, does not count towards
    `harvester.robots_unreachable`.
    """
    origins, harvester = desk.columns.origin, desk.settings.harvester
    since = float(origins.unreachable[origin]) or time
    late = time - max(float(origins.valid[origin]), float(desk.columns.site.next[origins.site[origin]]))
    if origins.failures[origin] and late > DAY:
        since = min(time, since + late)
    origins.unreachable[origin] = since
    origins.failures[origin] = min(250, int(origins.failures[origin]) + 1)
    if time - since < harvester.robots_unreachable:
        return UNREADABLE.until(time, int(origins.failures[origin]), float(harvester.retry))
    origins.valid[origin] = time + harvester.robots_valid
    _heed_delays(desk, int(origins.site[origin]))
    desk[Rules].unjudged = True
    return 0.0


def outlast_rests(desk: Desk, applied: Applied) -> None:
    """If the usual wait of a site is longer than rules are valid, keeps them valid until the site has rested: a day at
    most (RFC 9309, 2.4). Otherwise only robots.txt would ever be requested from such a site.

    Old rules that are used because robots.txt cannot be read are valid for the usual time after the rest, since each
    failure makes the site rest.
    """
    visits, origins, valid = applied.visits, desk.columns.origin, float(desk.settings.harvester.robots_valid)
    for i in np.flatnonzero(visits["ask"] == _ROBOTS).tolist():
        origin, time = int(visits["origin"][i]), float(visits["time"][i])
        if origins.valid[origin] < time:
            continue
        site = int(origins.site[origin])
        rested, until = max(time, float(desk.columns.site.next[site])), 0.0
        if origins.failures[origin]:
            until = rested + valid
        elif desk[Backoff].waits(np.array([site]))[0] >= valid:
            until = min(rested + AFTER_REST, time + DAY)
        origins.valid[origin] = max(float(origins.valid[origin]), until)


def outdate_rules(desk: Desk, site: int) -> None:
    """Ends the validity of the rules of a site: the robots.txt of each origin is requested before anything else."""
    origins = desk.columns.origin
    of_site = origins.site[: origins.count] == site
    origins.valid[: origins.count][of_site] = np.minimum(origins.valid[: origins.count][of_site], OUTDATED)


def heed_away(desk: Desk, event: Any) -> None:
    """ROBOTS_AWAY: the robots.txt of an origin has moved to a site that cannot be requested."""
    origins = desk.columns.origin
    used = slice(0, origins.count)
    found = np.flatnonzero((origins.site[used] == event["site"]) & (origins.port[used] == event["port"]))
    waits = [_note_unreadable(desk, origin, float(event["time"])) > 0 for origin in found.tolist()]
    if any(waits) or not waits:
        desk[Backoff].suspend(int(event["site"]), float(event["until"]), Aside.ROBOTS_UNREADABLE)


def heed_delay_again(desk: Desk, event: Any) -> None:
    """DELAY_AGAIN: a site asked for too long a delay; its robots.txt may have changed and is read again."""
    site = int(event["site"])
    outdate_rules(desk, site)
    sites = desk.columns.site
    sites.delay[site], sites.named[site] = 0.0, 0
    sites.refused[site] &= BLOCKED


def add_origins(desk: Desk, applied: Applied) -> None:
    """A new origin has not named us yet: its site has the usual wait until its robots.txt is read."""
    desk.columns.site.named[applied.effects.origins["site"]] = 0
