"""Names of sites: a site enters the queue when it has planned pages or an errand, and an address that is still valid.

Otherwise its name is resolved first. `naming.py` applies the answers to the state.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array
from gossamer.base.model import NONE, Outcome, Visits
from gossamer.base.outcomes import ASIDE, DAY
from gossamer.collection.journal.effects import SiteEvent, SiteNews
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.naming import WHY
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.web.addresses import pack
from gossamer.web.seam import Answer, Names

MONTH: Final = 30 * DAY
"""In a continuous crawl a name that failed is tried again after this time at the latest."""
_NO_ANSWER = (int(Outcome.CONNECT_FAILED), int(Outcome.TLS_FAILED))


class SiteNames:
    """Resolves the names of sites, and lets sites with an address enter the queue."""

    def __init__(self, desk: Desk, queue: SiteQueue, names: Names, clocks: QueueClocks) -> None:
        self._queue, self._names, self._clocks = queue, names, clocks
        self._places, self._site, self._harvester = desk[Places], desk.columns.site, desk.settings.harvester
        self._domains: dict[str, int] | None = {} if self._harvester.domain_wait > 0 else None
        """Maps registrable domains to their numbers in the queue; None without a limit by domain."""
        self._continuous = desk.settings.manager.continuous
        self._asking: set[int] = set()
        """Sites whose names are being resolved."""

    def resume(self) -> None:
        """After a start: enters known addresses in the queue. They are looked up again before they are used: names, or
        the settings about them, may have changed."""
        known = np.flatnonzero(self._site.address[: self._site.count] != NONE).tolist()
        for site in known:
            self._set_address(site)
        self._clocks.share(known)
        self._site.resolved[: self._site.count] = 0

    def enter(self, sites: Array) -> None:
        """Lets sites with an address enter the queue; resolves the names of the others."""
        wall = self._clocks.wall
        resolved = (self._site.address[sites] != NONE) & (self._site.resolved[sites] > wall)
        self._queue.enter(sites[resolved], self._clocks.now)
        for site in sites[~resolved & (self._site.refused[sites] == 0)].tolist():
            if self._site.name_failures[site] == 0 or self._site.next[site] <= wall:
                self.resolve(site)

    def resolve(self, site: int) -> None:
        """Begins to resolve the name of a site, unless that is already under way."""
        if site not in self._asking:
            self._asking.add(site)
            self._names.ask(site, self._places.host(site))

    def news(self, answers: list[Answer], wall: float) -> list[SiteNews]:
        """The site events that follow from answers. An answer about a name that its site no longer uses is ignored."""
        return [self._news(answer, wall) for answer in answers if answer.host == self._places.host(answer.site)]

    def _news(self, answer: Answer, wall: float) -> SiteNews:
        """A failed name is tried again as `outcomes.ASIDE` says (A.2.2), the other name of its site at once."""
        site, places = answer.site, self._places
        if answer.address is not None:
            moved = places.has_moved(site, [pack(each) for each in answer.addresses], wall)
            return SiteNews.resolved(site, pack(answer.address), answer.port, wall, wall + answer.ttl, moved)
        failures = min(250, int(self._site.name_failures[site]) + 1)
        forbidden = answer.error == "forbidden"
        never_asked = self._site.asked[site] == 0
        if not forbidden and ((never_asked and places.may_switch(site)) or places.may_switch_back(site)):
            return SiteNews.respelled(site, wall)
        event = SiteEvent.FORBIDDEN_ADDRESS if forbidden else SiteEvent.NAME_FAILED
        until = ASIDE[WHY[event]].until(wall, failures)
        until = min(until, wall + MONTH) if self._continuous else until
        return SiteNews.name_failed(site, failures, wall, until, forbidden)

    def other_names(self, visits: Visits) -> list[SiteNews]:
        """The events of sites that did not answer their very first request: the next one is by their other name."""
        sites = visits["site"][np.isin(visits["outcome"], _NO_ANSWER)].tolist()
        first = [site for site in sites if self._site.asked[site] == 1 and self._places.may_switch(site)]
        return [SiteNews.respelled(site, self._clocks.wall) for site in first]

    def settle(self, answers: list[Answer]) -> list[int]:
        """After the answers were applied: each site now has an address, or a time before which it is not requested.
        Returns the sites without an address."""
        for number in self._places.recycled:  # its former owner may have been requested under it just now
            self._queue.address_not_before(number, self._clocks.now + self._harvester.address_wait)
        self._places.recycled.clear()
        failed = []
        for answer in answers:
            site = answer.site
            self._asking.discard(site)
            if answer.host != self._places.host(site):
                self.resolve(site)  # the answer was about the other name
            elif answer.address is None and self._site.name_failures[site] == 0:
                self.resolve(site)  # by its other name
            elif answer.address is None:
                self._queue.set_address(site, NONE)
                self._clocks.follow(np.array([site], np.uint32))
                failed.append(site)
            else:
                self._set_address(site)
                self._clocks.share([site])
                entering = np.array([site], np.uint32)
                self._clocks.set_waits(entering)
                self.enter(entering)
        return failed

    def _set_address(self, site: int) -> None:
        if self._domains is not None:
            domain = urls.registrable(self._places.names[site])
            self._queue.set_domain(site, self._domains.setdefault(domain, len(self._domains)))
        self._queue.set_address(site, int(self._site.address[site]))
