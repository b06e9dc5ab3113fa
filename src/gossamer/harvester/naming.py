"""What answers to name lookups change: the address of a site, the name that is requested, and how long it waits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.model import NONE, VisitFlag
from gossamer.base.outcomes import DAY, Aside, Outcome
from gossamer.collection.journal.effects import SiteEvent
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk
from gossamer.desk.places import MOST_SWITCHES, Places, folded
from gossamer.harvester.backoff import OF_NAMES, Backoff
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.robots import outdate_rules

WHY: Final = {SiteEvent.NAME_FAILED: Aside.NAME_FAILED, SiteEvent.FORBIDDEN_ADDRESS: Aside.FORBIDDEN_ADDRESS}
_CONNECT_FAILED, _RETURNED = int(Outcome.CONNECT_FAILED), int(Outcome.RETURNED)
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)


def take_address(desk: Desk, event: Any) -> None:
    """RESOLVED: the name of a site has an address."""
    sites, site, packed = desk.columns.site, int(event["site"]), event["address"].tobytes()
    sites.name_failures[site] = event["failures"]
    sites.home[site] = folded(packed)
    sites.resolved[site] = event["until"]
    sites.port[site] = event["port"]
    number, new = desk[Places].address_number(packed)
    speeds = desk[ServerSpeeds].speeds
    if new:
        speeds.met(number, packed)
    speeds.moved(int(sites.address[site]), number)
    sites.address[site] = number


def move(desk: Desk, event: Any) -> None:
    """MOVED: as RESOLVED, and the name no longer has its former address."""
    sites, site = desk.columns.site, int(event["site"])
    sites.moved[site] = float(event["time"]) + DAY * 2.0 ** min(10, int(sites.moves[site]))
    sites.moves[site] = min(250, int(sites.moves[site]) + 1)
    take_address(desk, event)


def fail(desk: Desk, event: Any) -> None:
    """NAME_FAILED, FORBIDDEN_ADDRESS: the name has no address that may be used."""
    sites, site = desk.columns.site, int(event["site"])
    sites.name_failures[site] = event["failures"]
    desk[Backoff].suspend(site, float(event["until"]), WHY[SiteEvent(int(event["event"]))])
    _forget_address(desk, site)


def switch(desk: Desk, event: Any) -> None:
    """RESPELLED: the current name of the site did not work; switches to its other name."""
    site = int(event["site"])
    desk.columns.site.name_failures[site] = event["failures"]
    _ask_as(desk, site, not desk.columns.site.www[site])


def look_up_again(desk: Desk, event: Any) -> None:
    """NAME_AGAIN: the settings under which the name failed have changed. Other reasons to wait remain."""
    sites, site = desk.columns.site, int(event["site"])
    sites.name_failures[site] = event["failures"]
    if sites.why[site] in OF_NAMES:
        sites.next[site], sites.why[site] = sites.rest[site], sites.rest_why[site]


def forget_unconnected(desk: Desk, applied: Applied) -> None:
    """Forgets the addresses of sites that could not be connected to: their names may have other addresses now."""
    visits = applied.visits
    desk.columns.site.resolved[visits["site"][visits["outcome"] == _CONNECT_FAILED]] = 0


def follow_other_names(desk: Desk, applied: Applied) -> None:
    """Switches sites that redirect a page to their other name; the page itself is requested again."""
    visits, texts = applied.visits.copy(), applied.effects.texts().all()
    for i in np.flatnonzero(visits["flags"] & _OTHER_NAME).tolist():
        site, www = int(visits["site"][i]), b"://www." in texts[i]["redirect"]
        if visits["flags"][i] & _RESPELLED:
            if _ask_as(desk, site, www):
                visits["outcome"][i] = _RETURNED
        elif not desk.columns.site.respelled[site]:  # to another page, under the other name
            _ask_as(desk, site, www)
    applied.for_pages = visits


def _ask_as(desk: Desk, site: int, www: bool) -> bool:
    """Sets whether the site is requested with `www.`. False if it has redirected to one or the other too often."""
    sites = desk.columns.site
    sites.respelled[site] = min(250, int(sites.respelled[site]) + 1)
    if sites.respelled[site] > MOST_SWITCHES:
        return False
    if bool(sites.www[site]) != www:
        sites.www[site] = www
        _forget_address(desk, site)
        outdate_rules(desk, site)
    return True


def _forget_address(desk: Desk, site: int) -> None:
    desk.columns.site.resolved[site] = 0
    desk.columns.site.address[site] = NONE


def failed_names(desk: Desk, wall: float) -> Array:
    """Sites that wait because their name failed, or leads to a forbidden address."""
    site, count = desk.columns.site, desk.columns.site.count
    return np.flatnonzero(np.isin(site.why[:count], OF_NAMES) & (site.next[:count] > wall))
