"""Requests: makes assignments of what the queue hands out.

A page is checked against robots.txt once more, right before it is assigned. For a page whose robots rules have run out,
its robots.txt is requested instead; a turn for errands gets the site's next errand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.arrays import U32
from gossamer.base.model import ERRAND, NONE, Ask, Assignment, PageFlag, Reason, State, VerdictFlag
from gossamer.collection.journal.effects import Verdict
from gossamer.desk.places import Places
from gossamer.desk.proven import Proven
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import Context, Errands, Request
from gossamer.harvester.errands.robots import RobotsErrand
from gossamer.harvester.in_flight import Flight
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.harvester.versions import Versions

Array = npt.NDArray[Any]

# plain numbers: numpy takes 10 µs to read a member of an enum
_PAGE, _ASSIGNED = int(Ask.PAGE), int(PageFlag.ASSIGNED)


class Taken(NamedTuple):
    """Sites that are due now, each with its page and what to request."""

    sites: Array
    pages: Array
    asks: Array

    def where(self, kept: Array) -> Taken:
        """The selected rows."""
        return Taken(self.sites[kept], self.pages[kept], self.asks[kept])


class Assigner:
    """Makes flights and assignments for sites that are due."""

    def __init__(
        self, context: Context, queue: SiteQueue, errands: Errands, versions: Callable[[U32], list[bytes]]
    ) -> None:
        """`versions` reads versions of pages by number."""
        self._desk, self._in_flight, self._outbox = context.desk, context.in_flight, context.outbox
        self._clocks, self._texts, self._queue, self._errands = context.clocks, context.texts, queue, errands
        self._places = context.desk[Places]
        self._proven = context.desk[Proven].parameters
        self._versions, self._read_versions = context.desk[Versions], versions

    def flights(self, taken: Taken, begins: float) -> list[Flight]:
        """The requests to these sites; a site is left out if robots.txt forbids its page or nothing is left to request.
        `begins`: wall time of the latest start of the requests."""
        is_page = taken.asks == _PAGE
        if is_page.all():
            return self._page_flights(taken)
        return self._errand_flights(taken.where(~is_page), begins) + self._page_flights(taken.where(is_page))

    def assignment(self, flight: Flight, not_before: float, cap: int) -> Assignment:
        """The assignment of a flight, which is in flight from now on."""
        columns, site = self._desk.columns, flight.site
        port = int(columns.site.port[site])
        if not port:  # a page has the port of its origin
            is_page = flight.page != NONE
            port = int(columns.origin.port[flight.origin]) if is_page else urls.split(flight.url.decode()).port
        version = self._version(flight.page) if flight.page != NONE else b""
        return Assignment(
            self._in_flight.add(flight),
            flight.ask,
            flight.page,
            flight.origin,
            site,
            flight.url,
            self._places.address(site),
            port,
            cap=cap,
            not_before=not_before,
            proven=self._proven.get(site, 0),
            version=version,
            conditions=self._versions.conditions(flight.page, site, self._clocks.wall) if version else 0,
        )

    def _version(self, page: int) -> bytes:
        """The version of the page that its last fetch brought; b"" if there is none."""
        number = int(self._desk.columns.page.version[page])
        return self._read_versions(np.array([number - 1], np.uint32))[0] if number else b""

    def unassign(self, taken: Taken) -> None:
        """Takes back these pages, which are not requested after all."""
        self._desk.columns.page.flags[taken.pages[taken.asks == _PAGE]] &= 0xFF ^ _ASSIGNED

    def _page_flights(self, taken: Taken) -> list[Flight]:
        if not len(taken.pages):
            return []
        texts = self._texts(taken.pages)
        allowed = self._desk[Rules].allowed(taken.pages, texts)
        refused = allowed == 0
        if refused.any():
            no = (State.EXCLUDED, Reason.ROBOTS, VerdictFlag.ROBOTS)
            self._outbox.verdicts += [Verdict(page, *no) for page in taken.pages[refused].tolist()]
            self.unassign(taken.where(refused))
            self._queue.skip(taken.sites[refused], self._clocks.now)
        origin, www = self._desk.columns.page.origin, self._desk.columns.site.www
        rows = zip(taken.sites.tolist(), taken.pages.tolist(), texts, allowed.tolist(), strict=True)
        return [
            Flight(Ask.PAGE, page, site, int(origin[page]), self._asked_as(site, text) if www[site] else text, text)
            for site, page, text, ok in rows
            if ok
        ]

    def _asked_as(self, site: int, text: bytes) -> bytes:
        return self._places.asked_as(site, text.decode()).encode()

    def _errand_flights(self, taken: Taken, begins: float) -> list[Flight]:
        flights = []
        for site, page, ask in zip(taken.sites.tolist(), taken.pages.tolist(), taken.asks.tolist(), strict=True):
            request = self._errands.next(site, begins) if ask == ERRAND else self._robots_of(site, page, begins)
            if request is None:
                self._clocks.rest(np.array([site], np.uint32))
                self._queue.skip(np.array([site], np.uint32), self._clocks.now)
            else:
                url = request.url.encode()
                flights.append(Flight(request.ask, NONE, site, request.origin, url, url, request.errand))
        return flights

    def _robots_of(self, site: int, page: int, begins: float) -> Request | None:
        """The robots.txt of a page's origin; while it is requested at another site, an errand of the site, if any."""
        robots, origin = self._errands[RobotsErrand], int(self._desk.columns.page.origin[page])
        if not robots.is_away(origin):
            return robots.own(site, origin)
        return self._errands.next(site, begins) if robots.waits_at(site) else None
