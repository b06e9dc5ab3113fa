"""robots.txt in the turn of a site: of an origin whose pages need it, and of one whose robots.txt has moved there.

Where a robots.txt redirects to another site, it is asked for in that site's own turn (RFC 9309, 2.3.1.2). Meanwhile its
origin is *away*: it is not asked for at its own site. If the other site cannot be asked, it counts as a robots.txt that
cannot be read.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import NONE, Ask, Outcome, VisitFlag
from gossamer.base.outcomes import DAY
from gossamer.collection.journal.effects import Effects, SiteNews
from gossamer.desk.kernels import asked_for
from gossamer.desk.places import Places
from gossamer.harvester.errands.errand import Context, Errand, Errands, Request, Standing
from gossamer.harvester.errands.placing import site_in
from gossamer.web.message import Results

Array = npt.NDArray[Any]

MOST_REDIRECTS: Final = 5
TOO_LONG: Final = 60.0
"""Seconds: a site that rests so much longer than usual runs no errands for others."""
REFUSED_AGAIN: Final = 6 * DAY
"""Seconds after its rules have run out that a site which asked for too long a delay is asked for robots.txt again."""
_ROBOTS, _REDIRECT, _RESPELLED = int(Ask.ROBOTS), int(Outcome.REDIRECT), int(VisitFlag.RESPELLED)


class _Waiting(NamedTuple):
    origin: int
    url: str
    hops: int
    """Redirects behind it."""


class RobotsErrand(Errand):
    name = "robots"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight, self._outbox = context.desk, context.in_flight, context.outbox
        self._clocks, self._places = context.clocks, context.desk[Places]
        self._waiting: dict[int, deque[_Waiting]] = {}
        """By the site to be asked."""
        self._away: set[int] = set()
        """Origins whose robots.txt waits here or is in flight: not asked for at their own site meanwhile."""
        self._sent_on: dict[int, int] = {}
        """Origins whose robots.txt this tick's answers sent to another site, and that site."""

    def waits_at(self, site: int) -> bool:
        return site in self._waiting

    def any(self) -> bool:
        return bool(self._waiting)

    def next(self, site: int, begins: float) -> Request | None:
        waiting = self._waiting.get(site)
        if waiting is None:
            return None
        first = waiting.popleft()
        if not waiting:
            del self._waiting[site]
        own = self._desk.scope.canonical(first.url, None)
        url = first.url if own is None else self._places.asked_as(site, own)
        return Request(Ask.ROBOTS, first.origin, url, first.hops)

    # --- an origin's own robots.txt --------------------------------------------------------------------------------

    def is_away(self, origin: int) -> bool:
        return origin in self._away

    def own(self, site: int, origin: int) -> Request:
        """The robots.txt of an origin of the site, at the site itself."""
        return Request(Ask.ROBOTS, origin, self._own_url(site, origin), 0)

    def _own_url(self, site: int, origin: int) -> str:
        url = urls.canonical(self._places.origin_text(origin) + "/robots.txt") or ""
        return self._places.asked_as(site, url)

    def read_again(self, site: int, origin: int) -> bool:
        """The robots.txt of an origin of the site is to be read though no page needs it; False: it is under way."""
        if site in self._waiting or origin in self._away:
            return False
        self._waiting[site] = deque([_Waiting(origin, self._own_url(site, origin), 0)])
        self._away.add(origin)
        return True

    # --- redirects ------------------------------------------------------------------------------------------------

    def follow_redirects(self, results: Results, effects: Effects) -> None:
        """Before a tick is applied: redirects of robots.txt become errands, or count as no rules."""
        visits = results.visits
        if not asked_for(visits, _ROBOTS):
            return
        moved = np.flatnonzero((visits["ask"] == _ROBOTS) & (visits["outcome"] == _REDIRECT))
        if not len(moved):
            return
        texts = results.visit_texts().all()
        for i in moved.tolist():
            flight = self._in_flight.get(int(visits["number"][i]))
            hops = MOST_REDIRECTS if flight is None else int(flight.errand)
            if hops == 0 and visits["flags"][i] & _RESPELLED:
                continue  # its own site is asked by its other name
            origin, named = int(visits["origin"][i]), texts[i]["redirect"]
            target = self._target(named.decode())
            site = NONE
            if target is not None:
                name = urls.host(self._desk.scope.canonical(target, None) or target)
                site = site_in(self._desk, name, urls.has_www(target), effects)
            if hops >= MOST_REDIRECTS or not named:
                visits["flags"][i] |= int(VisitFlag.NOT_FOLLOWED)
            elif site == NONE:
                self._cannot_be_read(origin)
            else:
                self._waiting.setdefault(site, deque()).append(_Waiting(origin, target or "", hops + 1))
                self._away.add(origin)
                self._sent_on[origin] = site

    def _target(self, redirect: str) -> str | None:
        """Where it leads, if that may be asked."""
        target = urls.canonical(redirect)
        longest = self._desk.settings.seeder.url_length
        if target is None or len(target.encode()) > longest or not self._desk.scope.accepts_port(target):
            return None
        return target

    def settle(self, results: Results) -> set[int]:
        """Whose robots.txt was answered is asked at its own site again, unless it was sent on."""
        visits = results.visits
        if asked_for(visits, _ROBOTS):
            answered = visits[visits["ask"] == _ROBOTS]["origin"].tolist()
            self._away -= set(answered) - self._sent_on.keys()
        touched = set(self._sent_on.values())
        self._sent_on.clear()
        return touched

    # --- endings --------------------------------------------------------------------------------------------------

    def bears(self, site: int, standing: Standing) -> bool:
        owner = self._desk.columns.origin.site
        for_others = any(owner[waiting.origin] != site for waiting in self._waiting.get(site, ()))
        too_long = for_others and standing.rests > TOO_LONG + standing.usual
        return not (standing.refused or standing.nameless or too_long)

    def give_up(self, site: int) -> None:
        for waiting in self._waiting.pop(site, ()):
            self._away.discard(waiting.origin)
            self._cannot_be_read(waiting.origin)

    def _cannot_be_read(self, origin: int) -> None:
        """It lies where we cannot ask, or will not."""
        origins, wall = self._desk.columns.origin, self._clocks.wall
        until = wall + self._desk.settings.harvester.retry
        news = SiteNews.robots_away(int(origins.site[origin]), int(origins.port[origin]), wall, until)
        self._outbox.news.append(news)

    def look(self, wall: float) -> set[int]:
        """Sites that asked for too long a delay may have changed their minds."""
        site, origin = self._desk.columns.site, self._desk.columns.origin
        refused = np.flatnonzero(site.refused[: site.count])
        if len(refused):
            held = np.zeros(site.count)
            np.maximum.at(held, origin.site[: origin.count], origin.valid[: origin.count])
            for number in refused[held[refused] + REFUSED_AGAIN <= wall].tolist():
                self._outbox.news.append(SiteNews.delay_again(number, wall))
        return set()
