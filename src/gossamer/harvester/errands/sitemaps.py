"""The errand of sitemaps: requests each sitemap in the turn of its site, if that site's robots.txt allows it.

Pages are taken from a sitemap only if they belong to the same site, or to a site whose robots.txt led to the sitemap:
by naming the sitemap, the site vouches for it (sitemaps.org, cross-submission). All other pages are foreign and
refused; so are foreign sitemaps that an index names. A site that redirects to a sitemap does not vouch for it: the
site may redirect to any URL that a client gives it.

`rounds.py` decides which sitemaps are read. The pages that a sitemap lists go to the seeder in pieces.

Invariants, each a test of the same name: foreign pages are refused; foreign sitemaps of an index are refused.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array, Bools
from gossamer.base.model import NONE, Ask, Outcome
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.journal.effects import Effects
from gossamer.desk.kernels import asked_for
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.harvester.errands.errand import Context, Errand, Errands, Listed, Request
from gossamer.harvester.errands.placing import origin_in, site_in
from gossamer.harvester.errands.robots import MOST_REDIRECTS, RobotsErrand
from gossamer.harvester.errands.rounds import Reach, Rounds, Wanted
from gossamer.web.message import Links, Results

MOST_LEVELS: Final = 2
"""An index may name an index, but no deeper. (The protocol forbids even that.)"""
MOST_ROBOTS: Final = 3
"""How often robots.txt is requested for one sitemap, at most."""
MOST_AGAIN: Final = 1_000
"""Maximum number of sites per check whose robots.txt is read again because their sitemaps are due."""
PIECE: Final = 4_000
"""Pages that are taken from a sitemap per tick; more would stop the loop for too long."""

# plain numbers: numpy takes 10 µs to read a member of an enum
_SITEMAP, _ROBOTS = int(Ask.SITEMAP), int(Ask.ROBOTS)
_RETURNED, _REDIRECT, _OK = int(Outcome.RETURNED), int(Outcome.REDIRECT), int(Outcome.OK)
_LATER: Final = frozenset(int(outcome) for outcome in TRANSIENT)


class _Piece(NamedTuple):
    """Some of the pages that a sitemap lists."""

    links: Links
    wanted: Wanted
    last: bool
    """Whether this is the last piece of the sitemap."""


class SitemapErrand(Errand):
    """Requests sitemaps, and hands their pages out in pieces."""

    name = "sitemaps"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight = context.desk, context.in_flight
        self._outbox, self._clocks = context.outbox, context.clocks
        self._robots, self._without_pages = others[RobotsErrand], context.without_pages
        self._places, self._columns = context.desk[Places], context.desk.columns
        self._reach = Reach(context.desk)
        self._rounds = Rounds(context.desk, self._reach)
        self._waiting: dict[int, deque[Wanted]] = {}
        self._placed: list[Wanted] = []
        self._pieces: deque[_Piece] = deque()

    def pressing(self) -> bool:
        return self._rounds.pressing

    def busy(self) -> bool:
        return self.pressing() or bool(self._pieces)

    # --- places ---------------------------------------------------------------------------------------------------

    def add_effects(self, results: Results, effects: Effects) -> None:
        """Finds or makes the sites and origins of sitemaps that were named, and tells which rounds have ended."""
        for wanted in self._rounds.unplaced:
            url = self._rounds.canonical(wanted)
            wanted.site = site_in(self._desk, urls.host(url), urls.has_www(wanted.url), effects)
            if wanted.site != NONE:
                wanted.origin = origin_in(self._desk, url, wanted.site, effects)
            self._placed.append(wanted)
        self._rounds.unplaced = []
        self._outbox.news += self._rounds.news(self._clocks.wall)

    def settle(self, results: Results) -> set[int]:
        """Begins rounds for sites whose robots.txt was read; placed sitemaps now wait for a turn of their site."""
        visits = results.visits
        if asked_for(visits, _ROBOTS):
            origins = visits[visits["ask"] == _ROBOTS]["origin"]
            self._rounds.begin(set(self._columns.origin.site[origins].tolist()))
        placed, self._placed = self._placed, []
        for wanted in placed:
            if wanted.origin == NONE:
                self._rounds.settle(wanted, failed=False)
            else:
                self._waiting.setdefault(wanted.site, deque()).append(wanted)
        return {wanted.site for wanted in placed if wanted.origin != NONE}

    def resume(self) -> None:
        self._rounds.begin(list(self._desk[DueSitemaps].named))

    # --- requests -------------------------------------------------------------------------------------------------

    def next(self, site: int, begins: float) -> Request | None:
        """The next sitemap of the site, or the robots.txt that is needed first. Forbidden sitemaps are dropped."""
        wanted = self._first(site, begins)
        if wanted is None:
            return None
        if self._columns.origin.valid[wanted.origin] <= begins:
            if self._robots.is_away(wanted.origin):
                return None
            wanted.asked_robots += 1
            return self._robots.own(site, wanted.origin)
        self._pop(site)
        url = self._places.asked_as(site, self._rounds.canonical(wanted))
        return Request(Ask.SITEMAP, wanted.origin, url, wanted)

    def _first(self, site: int, begins: float) -> Wanted | None:
        valid = self._columns.origin.valid
        while waiting := self._waiting.get(site):
            first = waiting[0]
            if valid[first.origin] > begins:
                if self._desk[Rules].allows(first.origin, self._rounds.canonical(first)):
                    return first
                self._rounds.settle(self._pop(site), failed=False)
            elif first.asked_robots < MOST_ROBOTS:
                return first
            else:
                self._rounds.settle(self._pop(site), failed=True)
        return None

    def give_up(self, site: int) -> None:
        while site in self._waiting:
            self._rounds.settle(self._pop(site), failed=True)

    def _pop(self, site: int) -> Wanted:
        wanted = self._waiting[site].popleft()
        if not self._waiting[site]:
            del self._waiting[site]
        return wanted

    # --- answers --------------------------------------------------------------------------------------------------

    def read(self, results: Results) -> Results:
        """Takes the pages that sitemaps list out of the results, before links become pages; they wait here."""
        visits = results.visits
        if not asked_for(visits, _SITEMAP):
            return results
        found = np.flatnonzero(visits["ask"] == _SITEMAP)
        ends, texts = np.cumsum(visits["links"], dtype=np.int64), results.visit_texts().all()
        kept = np.repeat(visits["ask"] != _SITEMAP, visits["links"])
        for i in found.tolist():
            of_visit = np.zeros(len(kept), np.bool_)
            of_visit[ends[i] - int(visits["links"][i]) : ends[i]] = True
            self._answered(visits[i], texts[i], results.links.where(of_visit))
        visits["links"][found] = 0
        return replace(results, links=results.links.where(kept))

    def _answered(self, visit: Any, texts: dict[str, bytes], links: Links) -> None:
        flight, outcome = self._in_flight.get(int(visit["number"])), int(visit["outcome"])
        if flight is None or not isinstance(flight.errand, Wanted):
            return
        wanted = flight.errand
        if outcome == _RETURNED:
            self._waiting.setdefault(wanted.site, deque()).appendleft(wanted)
            return
        if outcome == _REDIRECT and wanted.hops < MOST_REDIRECTS:
            self._moved(wanted, texts["redirect"].decode())
        elif outcome == _OK and wanted.level < MOST_LEVELS:
            self._indexed(wanted, texts["sitemaps"].decode(errors="replace").split("\n"))
        pieces = links.pieces(PIECE)
        self._pieces += [_Piece(piece, wanted, i == len(pieces) - 1) for i, piece in enumerate(pieces)]
        if not pieces:
            self._rounds.settle(wanted, outcome in _LATER)

    def _indexed(self, wanted: Wanted, lines: list[str]) -> None:
        """Adds the sitemaps of an index, if they belong to sites whose pages it may list."""
        spoken_for, like = self._rounds.spoken_for(wanted), replace(wanted, hops=0, level=wanted.level + 1)
        for line in lines:
            own = self._desk.scope.canonical(line) if line else None
            if own is not None and self._places.site(urls.host(own)) in spoken_for:
                self._rounds.want(urls.canonical(line), like)

    def _moved(self, wanted: Wanted, target: str) -> None:
        """Follows a redirect. If only `www.` differs it is the same sitemap, requested once more."""
        if self._desk.scope.canonical(target) == self._rounds.canonical(wanted):
            again = self._rounds.by_other_name(wanted, target)
            self._waiting.setdefault(wanted.site, deque()).append(again)
        else:
            self._rounds.want(urls.canonical(target), replace(wanted, hops=wanted.hops + 1))

    # --- pages that are listed ------------------------------------------------------------------------------------

    def listed(self) -> Listed | None:
        if not self._pieces:
            return None
        links, wanted, _ = self._pieces[0]
        return Listed(links, self._own(links, wanted), wanted.url, self._taken)

    def _own(self, links: Links, wanted: Wanted) -> Bools:
        """Which of these pages the sitemap may list."""
        spoken_for = self._rounds.spoken_for(wanted)
        origins = self._columns.origins.find(links.origin)
        sites = self._columns.origin.site[np.where(origins == NONE, 0, origins)]
        own: Bools = (origins != NONE) & np.isin(sites, list(spoken_for))
        unknown, first, back = np.unique(links.origin[origins == NONE], return_index=True, return_inverse=True)
        if len(unknown):
            rows, at = np.flatnonzero(origins == NONE), links.texts.offsets()
            hosts = [urls.host(links.texts.buffer[at[row] : at[row + 1]].decode()) for row in rows[first].tolist()]
            own[rows] = np.array([self._places.site(host) in spoken_for for host in hosts])[back]
        return own

    def _taken(self) -> None:
        """The pages of the first piece are in the journal."""
        piece = self._pieces.popleft()
        if piece.last:
            self._rounds.taken(piece.wanted)

    # --- again ----------------------------------------------------------------------------------------------------

    def look(self, wall: float) -> set[int]:
        """Finds sites without planned pages whose sitemaps are due again: their robots.txt is requested first."""
        due = self._due(wall)
        sites = self._columns.origin.site[due]
        idle = np.isin(sites, self._without_pages(np.unique(sites)))
        sent = set[int]()
        for origin, site in zip(due[idle].tolist(), sites[idle].tolist(), strict=True):
            if len(sent) < MOST_AGAIN and self._robots.read_again(site, origin):
                sent.add(site)
        return sent

    def soonest_due(self, until: float) -> float:
        return float(self._times()[self._due(until)].min(initial=np.inf))

    def _due(self, wall: float) -> Array:
        """Origins whose robots.txt is read again because the sitemaps of their site are due."""
        return self._reach.those_inside(np.flatnonzero(self._times() <= wall))

    def _times(self) -> Array:
        """By origin: when the sitemaps of its site are due again; not while its robots rules are valid."""
        origin, site = self._columns.origin, self._columns.site
        count = origin.count if self._desk.settings.seeder.reads_sitemaps else 0
        sites, valid = origin.site[:count], origin.valid[:count]
        times = np.maximum(np.maximum(site.sitemap_due[sites], site.next[sites]), valid)
        out = (valid == 0) | (site.refused[sites] != 0) | (site.pages[sites] == 0) | (site.name_failures[sites] != 0)
        return np.where(out | self._reach.lost(sites), np.inf, times)
