"""Rounds of sitemaps: which are still to be asked for, on whose behalf, and what they listed and is not taken yet.

A *round* begins when a robots.txt of a site is read and its sitemaps are due (`desk[DueSitemaps].named`): those that it
names, or else the well-known place. Redirects and the sitemaps that an index names belong to it. It ends when all of
them were read, or it was tried; then they are not asked for again before `seeder.sitemap_every` has passed, or
`harvester.retry` if one could not be read that may be readable then. A round that a stop or a kill interrupts is begun
anew at the start, without those in which there was nothing, and those of which all was taken
(`desk[DueSitemaps].spent`).

Each sitemap is asked for in the turn of the site that has it, if that site's robots.txt allows it (`dispatch.py`).
Pages are taken from it only as far as they are of that site, or of the sites whose robots.txt led to it: by naming it
they speak for it (sitemaps.org, cross-submission). All others are foreign, and refused; so are foreign sitemaps that an
index names. A site that redirects to a sitemap does not speak for it: it may redirect wherever one asks it to.

Host and port of a sitemap must be in scope, and no pattern reject it; those that accept are for pages. A site is not
asked for sitemaps, nor for robots.txt on their behalf, if none of its pages is wanted any more, or it is out of scope.

Invariants, each a test of the same name: a sitemap is asked for once a round; no more of a round than
`seeder.sitemaps_per_site`; foreign pages are refused; foreign sitemaps of an index are refused; a round ends whatever
is answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import NONE, Ask, Outcome, State, Texts
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.journal.effects import ORIGIN, Effects, SiteEvent
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import asked_for
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.web.message import Links, Results

Array = npt.NDArray[Any]

WELL_KNOWN: Final = "/sitemap.xml"
MOST_REDIRECTS: Final = 5
MOST_LEVELS: Final = 2
"""An index may name an index: no further. (The protocol forbids even that.)"""
MOST_ROBOTS: Final = 3
"""How often robots.txt is asked for on behalf of one sitemap."""
PIECE: Final = 4_000
"""Pages that are taken from a sitemap in a tick; more would make the loop deaf for too long."""
LOOK_EVERY: Final = 3_600.0
"""Seconds after which all pages are looked at again, for sites that have none that is wanted."""
_INSIDE, _OUTSIDE = 1, 2

# plain numbers: numpy takes 10 µs to look at a member of an enum
_SITEMAP, _RETURNED, _REDIRECT, _OK = (
    int(Ask.SITEMAP),
    int(Outcome.RETURNED),
    int(Outcome.REDIRECT),
    int(Outcome.OK),
)
_EXCLUDED: Final = int(State.EXCLUDED)
_LATER: Final = frozenset(int(outcome) for outcome in TRANSIENT)


@dataclass(slots=True, eq=False)
class Wanted:
    """A sitemap that is to be asked for, or was and is not settled yet."""

    url: str
    """Canonical, but for `www.`, as it was named."""
    rounds: set[int]
    """By the origins whose robots.txt led to it."""
    hops: int = 0
    level: int = 0
    site: int = NONE
    origin: int = NONE
    asked_robots: int = 0


@dataclass(slots=True)
class _Round:
    left: int = 0
    named: set[str] = field(default_factory=set)
    failed: bool = False


@dataclass(slots=True)
class Piece:
    """Of what a sitemap lists."""

    links: Links
    wanted: Wanted
    last: bool
    """Nothing of the sitemap is left."""


class Rounds:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._on = desk.settings.seeder.sitemaps
        self._rounds: dict[int, _Round] = {}
        self._of_site: dict[int, int] = {}
        """Rounds of a site that have not ended."""
        self._by_url: dict[str, Wanted] = {}
        self.waiting: dict[int, deque[Wanted]] = {}
        """By the site to be asked."""
        self._asked: dict[int, Wanted] = {}
        """In flight, by assignment."""
        self._unplaced: list[Wanted] = []
        self._placed: list[Wanted] = []
        self._pieces: deque[Piece] = deque()
        self._ended: list[tuple[int, float]] = []
        """Sites whose rounds have ended, and for how many seconds they need not be asked again."""
        self._taken: list[tuple[int, int]] = []
        """Sites, and fingerprints of sitemaps of their rounds that were read to the end."""
        self._places = np.zeros(desk.columns.origin.limit, np.uint8)
        """Of each origin: whether it is in scope, as far as was asked."""
        self._unwanted = np.zeros(0, np.bool_)
        """Sites all of whose pages were excluded when they were looked at."""
        self._looked = -np.inf

    @property
    def pressing(self) -> bool:
        """There is something for the next tick."""
        return bool(self._unplaced or self._ended or self._taken)

    @property
    def busy(self) -> bool:
        """There is something to be done before the next answer comes."""
        return self.pressing or bool(self._pieces)

    def begin(self, sites: Iterable[int]) -> None:
        """For each origin of these sites whose robots.txt has been read, unless its round is under way."""
        for site in sites if self._on else ():
            for origin, named in self._desk[DueSitemaps].named.get(site, {}).items():
                if origin not in self._rounds:
                    self._begin(origin, [line for line in named.decode(errors="replace").split("\n") if line])

    def _begin(self, origin: int, named: list[str]) -> None:
        site = int(self._desk.columns.origin.site[origin])
        self._rounds[origin] = _Round(left=1)
        self._of_site[site] = self._of_site.get(site, 0) + 1
        home = self._desk[Places].origin_text(origin) + "/"
        wanted = self._inside(origin) and not self._lost(np.array([site]))[0]
        for url in (named or [WELL_KNOWN]) if wanted else ():
            self._want(urls.canonical(url, home), Wanted("", {origin}))
        self._end({origin}, failed=False)

    def _want(self, url: str | None, like: Wanted) -> None:
        """For those rounds of `like` that have not named it, and may still name one."""
        seeder = self._desk.settings.seeder
        scope = self._desk.scope
        own = None if url is None else scope.canonical(url)
        if url is None or own is None or len(url) > seeder.url_length or not scope.admits(own) or scope.shuns(own):
            return
        if self._is_spent(own, self._desk[Places].site(urls.host(own))):
            return
        site_of = self._desk.columns.origin.site
        new = {
            o
            for o in like.rounds
            if own not in self._rounds[o].named
            and len(self._rounds[o].named) < seeder.sitemaps_per_site
            and not self._is_spent(own, int(site_of[o]))
        }
        for origin in new:
            self._rounds[origin].named.add(own)
            self._rounds[origin].left += 1
        known = self._by_url.get(own)
        if known is not None:
            known.rounds |= new
        elif new:
            self._by_url[own] = replace(like, url=url, rounds=new, site=NONE, origin=NONE, asked_robots=0)
            self._unplaced.append(self._by_url[own])

    def _is_spent(self, url: str, site: int) -> bool:
        """Whether a round of the site needs it no more."""
        spent = self._desk[DueSitemaps].spent.get(site)
        return spent is not None and urls.fingerprint(url, self._desk.seed) in spent

    def _own(self, wanted: Wanted) -> str:
        return self._desk.scope.canonical(wanted.url) or wanted.url

    # --- places -------------------------------------------------------------------------------------------------

    def place(self, effects: Effects) -> None:
        """Before a tick is applied: sites and origins of sitemaps that were named; those never heard of are made."""
        for wanted in self._unplaced:
            parts = urls.split(self._own(wanted))
            wanted.site = site_in(self._desk, parts.host, urls.has_www(wanted.url), effects)
            if wanted.site != NONE:
                wanted.origin = self._origin(wanted, effects, wanted.site, parts.port, parts.scheme == "https")
            self._placed.append(wanted)
        self._unplaced = []

    def _origin(self, wanted: Wanted, effects: Effects, site: int, port: int, secure: bool) -> int:
        fingerprint = urls.fingerprint(urls.origin(self._own(wanted)), self._desk.seed)
        known = int(self._desk.columns.origins.find(np.array([fingerprint], np.uint64))[0])
        if known != NONE:
            return known
        record = (site, port, int(secure))
        new: list[Any] = effects.origins.tolist()
        if record not in new:
            if effects.first_origin + len(new) >= self._desk.columns.origin.limit:
                return NONE
            new.append(record)
            effects.origins = np.array(new, ORIGIN)
        return int(effects.first_origin + new.index(record))

    def arrive(self) -> set[int]:
        """After the tick was applied: sites that have sitemaps to be asked for since."""
        placed, self._placed = self._placed, []
        for wanted in placed:
            if wanted.origin == NONE:
                self._settle(wanted, failed=False)
            else:
                self.waiting.setdefault(wanted.site, deque()).append(wanted)
        return {wanted.site for wanted in placed if wanted.origin != NONE}

    # --- asking -------------------------------------------------------------------------------------------------

    def next_of(self, site: int, wall: float) -> Wanted | None:
        """What to ask the site for, or that for which its robots.txt is to be asked first; those that it forbids are
        dropped. It is taken with `take`."""
        waiting, valid = self.waiting.get(site), self._desk.columns.origin.valid
        while waiting:
            first = waiting[0]
            if valid[first.origin] > wall:
                if self._allowed(first):
                    return first
                self._drop(site, failed=False)
            elif first.asked_robots < MOST_ROBOTS:
                return first
            else:
                self._drop(site, failed=True)
            waiting = self.waiting.get(site)
        return None

    def _allowed(self, wanted: Wanted) -> bool:
        origins = np.array([wanted.origin], np.uint32)
        return bool(self._desk[Rules].allowed_at(origins, [self._own(wanted).encode()])[0])

    def take(self, wanted: Wanted, number: int) -> None:
        """It is asked for, by this assignment."""
        self._pop(wanted.site)
        self._asked[number] = wanted

    def give_up(self, site: int) -> None:
        """The site cannot be asked."""
        while site in self.waiting:
            self._drop(site, failed=True)

    def _drop(self, site: int, failed: bool) -> None:
        self._settle(self._pop(site), failed)

    def _pop(self, site: int) -> Wanted:
        wanted = self.waiting[site].popleft()
        if not self.waiting[site]:
            del self.waiting[site]
        return wanted

    # --- answers ------------------------------------------------------------------------------------------------

    def follow(self, results: Results) -> Results:
        """Before a tick is identified: what sitemaps say is taken out of it, and waits here."""
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
        wanted, outcome = self._asked.pop(int(visit["number"]), None), int(visit["outcome"])
        if wanted is None:
            return
        if outcome == _RETURNED:
            self.waiting.setdefault(wanted.site, deque()).appendleft(wanted)
            return
        if outcome == _REDIRECT and wanted.hops < MOST_REDIRECTS:
            self._moved(wanted, texts["redirect"].decode())
        elif outcome == _OK and wanted.level < MOST_LEVELS:
            spoken_for, like = self._spoken_for(wanted), replace(wanted, hops=0, level=wanted.level + 1)
            for line in texts["sitemaps"].decode(errors="replace").split("\n"):
                own = self._desk.scope.canonical(line) if line else None
                if own is not None and self._desk[Places].site(urls.host(own)) in spoken_for:
                    self._want(urls.canonical(line), like)
        pieces = links.pieces(PIECE)
        self._pieces += [Piece(piece, wanted, i == len(pieces) - 1) for i, piece in enumerate(pieces)]
        if not pieces:
            self._settle(wanted, outcome in _LATER)

    def _moved(self, wanted: Wanted, target: str) -> None:
        """To its own other name it is one and the same, and asked for once more."""
        if self._desk.scope.canonical(target) == self._own(wanted):
            again = replace(wanted, url=target, rounds=set(wanted.rounds), hops=wanted.hops + 1)
            for origin in again.rounds:
                self._rounds[origin].left += 1
            self.waiting.setdefault(wanted.site, deque()).append(again)
        else:
            self._want(urls.canonical(target), replace(wanted, hops=wanted.hops + 1))

    def next_piece(self) -> Piece | None:
        return self._pieces[0] if self._pieces else None

    def _spoken_for(self, wanted: Wanted) -> set[int]:
        """Sites about which the sitemap may say something."""
        return {wanted.site, *self._desk.columns.origin.site[list(wanted.rounds)].tolist()}

    def own(self, piece: Piece) -> npt.NDArray[np.bool_]:
        """Which of its pages the sitemap may speak for."""
        columns, links, spoken_for = self._desk.columns, piece.links, self._spoken_for(piece.wanted)
        origins = columns.origins.find(links.origin)
        sites = columns.origin.site[np.where(origins == NONE, 0, origins)]
        own: npt.NDArray[np.bool_] = (origins != NONE) & np.isin(sites, list(spoken_for))
        unknown, first, back = np.unique(links.origin[origins == NONE], return_index=True, return_inverse=True)
        if len(unknown):
            rows, at = np.flatnonzero(origins == NONE), links.texts.offsets()
            hosts = [urls.host(links.texts.buffer[at[row] : at[row + 1]].decode()) for row in rows[first].tolist()]
            own[rows] = np.array([self._desk[Places].site(host) in spoken_for for host in hosts])[back]
        return own

    def taken(self, piece: Piece) -> None:
        """Its pages are in the journal."""
        self._pieces.popleft()
        if piece.last:
            taken = urls.fingerprint(self._own(piece.wanted), self._desk.seed)
            sites = self._desk.columns.origin.site[list(piece.wanted.rounds)]
            self._taken += [(site, taken) for site in set(sites.tolist())]
            self._settle(piece.wanted, failed=False)

    # --- endings ------------------------------------------------------------------------------------------------

    def _settle(self, wanted: Wanted, failed: bool) -> None:
        if self._by_url.get(self._own(wanted)) is wanted:
            del self._by_url[self._own(wanted)]
        self._end(wanted.rounds, failed)

    def _end(self, rounds: set[int], failed: bool) -> None:
        """One of what was left of each of these rounds is not any more."""
        settings = self._desk.settings
        for origin in rounds:
            of = self._rounds[origin]
            of.left -= 1
            of.failed |= failed
            if of.left:
                continue
            del self._rounds[origin]
            site = int(self._desk.columns.origin.site[origin])
            self._of_site[site] -= 1
            if not self._of_site[site]:
                del self._of_site[site]
                every, retry = float(settings.seeder.sitemap_every), float(settings.harvester.retry)
                self._ended.append((site, min(every, retry) if of.failed else every))

    def events(self, wall: float) -> list[tuple[Any, ...]]:
        """Sitemaps that were taken and rounds that have ended, for the next tick's effects."""
        taken, ended, self._taken, self._ended = self._taken, self._ended, [], []
        return [
            *(
                (site, SiteEvent.SITEMAP_TAKEN, 0, 0, wall, 0.0, [*which.to_bytes(8, "little"), *[0] * 8])
                for site, which in taken
            ),
            *((site, SiteEvent.SITEMAPS_READ, 0, 0, wall, wall + seconds, [0] * 16) for site, seconds in ended),
        ]

    # --- again --------------------------------------------------------------------------------------------------

    def due(self, wall: float) -> Array:
        """Origins whose robots.txt is to be read again because the sitemaps of their site are due."""
        found: Array = np.flatnonzero(self._times() <= wall)
        for origin in found[self._places[found] == 0].tolist():
            self._inside(origin)
        inside: Array = found[self._places[found] == _INSIDE]
        return inside

    def soonest_due(self, until: float) -> float:
        """Wall: when sitemaps will be due somewhere until then, as far as is known."""
        return float(self._times()[self.due(until)].min(initial=np.inf))

    def _times(self) -> Array:
        """When the sitemaps of each origin's site are to be asked for again: not while its robots.txt holds."""
        origin, site = self._desk.columns.origin, self._desk.columns.site
        count = origin.count if self._on else 0
        sites, valid = origin.site[:count], origin.valid[:count]
        times = np.maximum(np.maximum(site.sitemap_due[sites], site.next[sites]), valid)
        out = (valid == 0) | (site.refused[sites] != 0) | (site.pages[sites] == 0) | (site.name_failures[sites] != 0)
        return np.where(out | self._lost(sites), np.inf, times)

    def _lost(self, sites: Array) -> npt.NDArray[np.bool_]:
        """Sites that have pages, none of which is wanted any more: settings or robots.txt exclude all of them."""
        columns, now = self._desk.columns, self._desk.wall
        if now >= self._looked + LOOK_EVERY:
            state, count = columns.page.state[: columns.page.count], columns.site.count
            kept = columns.page.origin[: len(state)][state != _EXCLUDED]
            self._unwanted = np.ones(count, np.bool_)
            self._unwanted[columns.origin.site[kept]] = False
            self._looked = now
        found = np.zeros(len(sites), np.bool_)
        seen = sites < len(self._unwanted)
        found[seen] = self._unwanted[sites[seen]] & (columns.site.pending[sites[seen]] == 0)
        return found

    def _inside(self, origin: int) -> bool:
        """The origin may be asked, and patterns do not reject all of it: neither its start page nor its sitemap."""
        if not self._places[origin]:
            scope, home = self._desk.scope, urls.canonical(self._desk[Places].origin_text(origin) + "/") or ""
            inside = scope.admits(home) and not (scope.shuns(home) and scope.shuns(home[:-1] + WELL_KNOWN))
            self._places[origin] = _INSIDE if inside else _OUTSIDE
        return bool(self._places[origin] == _INSIDE)


def site_in(desk: Desk, name: str, www: bool, effects: Effects) -> int:
    """The number of a site that may be new in this tick, or was never heard of: then it is made. NONE: no room."""
    site = desk[Places].site(name)
    if site == NONE:
        new = effects.sites.split()
        if name.encode() in new:
            return effects.first_site + new.index(name.encode())
        if effects.first_site + len(new) < desk.columns.site.limit:
            site = effects.first_site + len(new)
            effects.sites = Texts.join([*new, name.encode()], "<u2")
            effects.sites_www = np.append(effects.sites_www, np.uint8(www and desk.scope.www))
    return site
