"""The errand of robots.txt: requests it for origins of the site, and for other origins whose robots.txt has moved here.

If a robots.txt redirects to another site, it is requested in that site's own turn (RFC 9309, 2.3.1.2). Meanwhile its
origin is *away*: its robots.txt is not requested at its own site. If the other site cannot be requested, the robots.txt
counts as unreadable.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.askable import DELAYED
from gossamer.base.model import NONE, Ask, Outcome, VisitFlag
from gossamer.base.outcomes import DAY
from gossamer.collection.journal.effects import Effects, SiteNews
from gossamer.desk.kernels import asked_for
from gossamer.desk.places import Places
from gossamer.harvester.errands.errand import Context, Errand, Errands, Request, SiteCondition
from gossamer.harvester.errands.placing import site_in
from gossamer.web.message import Results

MOST_REDIRECTS: Final = 5
"""Redirects of a robots.txt, or of a sitemap, that are followed (RFC 9309, 2.3.1.2: at least five)."""
TOO_LONG: Final = 60.0
"""Seconds: a site that rests this much longer than usual runs no errands for other sites."""
REFUSED_AGAIN: Final = 6 * DAY
"""If a site asked for too long a delay, its robots.txt is requested again this many seconds after its rules expire."""
_ROBOTS, _REDIRECT, _RESPELLED = int(Ask.ROBOTS), int(Outcome.REDIRECT), int(VisitFlag.RESPELLED)


class _Waiting(NamedTuple):
    """A robots.txt that is to be requested."""

    origin: int
    url: str
    hops: int
    """Number of redirects that led here."""


class RobotsErrand(Errand):
    """Requests robots.txt files, and follows their redirects."""

    name = "robots"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight, self._outbox = context.desk, context.in_flight, context.outbox
        self._clocks, self._places = context.clocks, context.desk[Places]
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._away: set[int] = set()
        """Origins whose robots.txt waits here or is in flight: not requested at their own site meanwhile."""
        self._sent_on: dict[int, int] = {}
        """Origins whose robots.txt was redirected in this tick: the site of the target."""

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
        """Whether the robots.txt of the origin waits here or is in flight."""
        return origin in self._away

    def own(self, site: int, origin: int) -> Request:
        """The request for the robots.txt of an origin of the site, at the site itself."""
        return Request(Ask.ROBOTS, origin, self._own_url(site, origin), 0)

    def _own_url(self, site: int, origin: int) -> str:
        url = urls.canonical(self._places.origin_text(origin) + "/robots.txt") or ""
        return self._places.asked_as(site, url)

    def read_again(self, site: int, origin: int) -> bool:
        """Requests the robots.txt of an origin of the site although no page needs it; False: already under way."""
        if site in self._waiting or origin in self._away:
            return False
        self._waiting[site] = deque([_Waiting(origin, self._own_url(site, origin), 0)])
        self._away.add(origin)
        return True

    # --- redirects ------------------------------------------------------------------------------------------------

    def add_effects(self, results: Results, effects: Effects) -> None:
        """Makes errands of redirects of robots.txt, or counts them as no rules."""
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
                continue  # its own site is requested by its other name
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
        """The canonical target of a redirect; None if it must not be requested."""
        target = urls.canonical(redirect)
        longest = self._desk.settings.seeder.url_length
        if target is None or len(target.encode()) > longest or not self._desk.scope.accepts_port(target):
            return None
        return target

    def settle(self, results: Results) -> set[int]:
        """Origins whose robots.txt was answered are no longer away, unless the answer was another redirect."""
        visits = results.visits
        if asked_for(visits, _ROBOTS):
            answered = visits[visits["ask"] == _ROBOTS]["origin"].tolist()
            self._away -= set(answered) - self._sent_on.keys()
        touched = set(self._sent_on.values())
        self._sent_on.clear()
        return touched

    # --- endings --------------------------------------------------------------------------------------------------

    def bears(self, site: int, condition: SiteCondition) -> bool:
        owner = self._desk.columns.origin.site
        for_others = any(owner[waiting.origin] != site for waiting in self._waiting.get(site, ()))
        too_long = for_others and condition.rests > TOO_LONG + condition.usual
        return not (condition.refused or condition.nameless or too_long)

    def give_up(self, site: int) -> None:
        for waiting in self._waiting.pop(site, ()):
            self._away.discard(waiting.origin)
            self._cannot_be_read(waiting.origin)

    def _cannot_be_read(self, origin: int) -> None:
        """Reports a robots.txt at a place that cannot or must not be requested."""
        origins, wall = self._desk.columns.origin, self._clocks.wall
        until = wall + self._desk.settings.harvester.retry
        news = SiteNews.robots_away(int(origins.site[origin]), int(origins.port[origin]), wall, until)
        self._outbox.news.append(news)

    def look(self, wall: float) -> set[int]:
        """Finds sites that asked for too long a delay, long ago: their robots.txt is read again."""
        site, origin = self._desk.columns.site, self._desk.columns.origin
        refused = np.flatnonzero(site.refused[: site.count] == DELAYED)
        if len(refused):
            held = np.zeros(site.count)
            np.maximum.at(held, origin.site[: origin.count], origin.valid[: origin.count])
            for number in refused[held[refused] + REFUSED_AGAIN <= wall].tolist():
                self._outbox.news.append(SiteNews.delay_again(number, wall))
        return set()
