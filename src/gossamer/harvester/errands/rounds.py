"""Rounds of sitemaps: which sitemaps are still to be read, and for which origins.

A *round* begins when a robots.txt of a site is read and its sitemaps are due (`due_sitemaps.py`): with the sitemaps
that it names, or else with the well-known place. Redirects, and the sitemaps that an index names, belong to the round.
It ends when all of them were read or tried. Then they are not requested again before `seeder.sitemap_every` has passed,
or `harvester.retry` if the failure of one was temporary. After a stop or a kill, the next start begins the round again,
without the spent sitemaps.

Host and port of a sitemap must be in scope, and no `seeder.reject` pattern may match it; `seeder.accept` patterns are
for pages only.

Invariants, each a test of the same name: a sitemap is asked for once a round; an index leads to further sitemaps and no
more of a round than the settings allow; a round ends whatever is answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array, Bools
from gossamer.base.model import NONE, State
from gossamer.collection.journal.effects import SiteNews
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.harvester.errands.due_sitemaps import DueSitemaps, sitemaps_every

WELL_KNOWN: Final = "/sitemap.xml"
SCAN_EVERY: Final = 3_600.0
"""Seconds between scans of all pages for sites without a wanted page."""
_INSIDE, _OUTSIDE = 1, 2
_EXCLUDED: Final = int(State.EXCLUDED)


@dataclass(slots=True, eq=False)
class Wanted:
    """A sitemap that is to be read, or was requested and is not settled yet."""

    url: str
    """Canonical, but with or without `www.` as it was named."""
    rounds: set[int]
    """The origins whose robots.txt led to it."""
    hops: int = 0
    """Number of redirects that led to it."""
    level: int = 0
    """Number of indexes above it."""
    site: int = NONE
    origin: int = NONE
    asked_robots: int = 0
    """How often robots.txt was requested for it."""


@dataclass(slots=True)
class _Round:
    """The round of an origin."""

    left: int = 0
    """Number of sitemaps that are not settled."""
    named: set[str] = field(default_factory=set)
    failed: bool = False


class Rounds:
    """All rounds that have not ended."""

    def __init__(self, desk: Desk, reach: Reach) -> None:
        self._desk, self._reach, self._due = desk, reach, desk[DueSitemaps]
        self._places, self._site_of = desk[Places], desk.columns.origin.site
        self._rounds: dict[int, _Round] = {}
        """By origin."""
        self._of_site: dict[int, int] = {}
        """By site: number of rounds that have not ended."""
        self._by_url: dict[str, Wanted] = {}
        self.unplaced: list[Wanted] = []
        """Sitemaps whose sites and origins are found, or made, in the next tick."""
        self._ended: list[tuple[int, float]] = []
        """Sites whose rounds have ended, and the seconds until their sitemaps are due again."""
        self._taken: list[tuple[int, int]] = []
        """Pairs (site, fingerprint) of sitemaps that were read to the end."""

    @property
    def pressing(self) -> bool:
        """Whether there is something for the next tick."""
        return bool(self.unplaced or self._ended or self._taken)

    def begin(self, sites: Iterable[int]) -> None:
        """Begins a round for each origin of these sites whose robots.txt was read, unless its round is under way."""
        for site in sites if self._desk.settings.seeder.reads_sitemaps else ():
            for origin, named in self._due.named.get(site, {}).items():
                if origin not in self._rounds:
                    self._begin(origin, [line for line in named.decode(errors="replace").split("\n") if line])

    def _begin(self, origin: int, named: list[str]) -> None:
        site = int(self._site_of[origin])
        self._rounds[origin] = _Round(left=1)
        self._of_site[site] = self._of_site.get(site, 0) + 1
        home = self._places.origin_text(origin) + "/"
        wanted = self._reach.inside(origin) and not self._reach.lost(np.array([site]))[0]
        for url in (named or [WELL_KNOWN]) if wanted else ():
            self.want(urls.canonical(url, home), Wanted("", {origin}))
        self._end({origin}, failed=False)

    def want(self, url: str | None, like: Wanted) -> None:
        """Adds a sitemap to the rounds of `like`, except rounds that already have it or have reached their limit."""
        seeder, scope = self._desk.settings.seeder, self._desk.scope
        own = None if url is None else scope.canonical(url)
        if url is None or own is None or len(url) > seeder.url_length or not scope.admits(own) or scope.shuns(own):
            return
        if self._is_spent(own, self._places.site(urls.host(own))):
            return
        new = {
            origin
            for origin in like.rounds
            if own not in self._rounds[origin].named
            and len(self._rounds[origin].named) < seeder.sitemaps_per_site
            and not self._is_spent(own, int(self._site_of[origin]))
        }
        for origin in new:
            self._rounds[origin].named.add(own)
            self._rounds[origin].left += 1
        known = self._by_url.get(own)
        if known is not None:
            known.rounds |= new
        elif new:
            self._by_url[own] = replace(like, url=url, rounds=new, site=NONE, origin=NONE, asked_robots=0)
            self.unplaced.append(self._by_url[own])

    def _is_spent(self, url: str, site: int) -> bool:
        """Whether the sitemap is spent: a round of the site no longer needs it."""
        spent = self._due.spent.get(site)
        return spent is not None and urls.fingerprint(url, self._desk.seed) in spent

    def canonical(self, wanted: Wanted) -> str:
        """The canonical URL of a sitemap."""
        return self._desk.scope.canonical(wanted.url) or wanted.url

    def by_other_name(self, wanted: Wanted, url: str) -> Wanted:
        """The same sitemap, to be requested once more, by the other name of its host."""
        again = replace(wanted, url=url, rounds=set(wanted.rounds), hops=wanted.hops + 1)
        for origin in again.rounds:
            self._rounds[origin].left += 1
        return again

    def spoken_for(self, wanted: Wanted) -> set[int]:
        """Sites whose pages the sitemap may list: its own site, and the sites whose robots.txt led to it."""
        return {wanted.site, *self._site_of[list(wanted.rounds)].tolist()}

    def taken(self, wanted: Wanted) -> None:
        """All pages that the sitemap lists are in the journal."""
        fingerprint = urls.fingerprint(self.canonical(wanted), self._desk.seed)
        sites = set(self._site_of[list(wanted.rounds)].tolist())
        self._taken += [(site, fingerprint) for site in sites]
        self.settle(wanted, failed=False)

    def settle(self, wanted: Wanted, failed: bool) -> None:
        """The sitemap is finished: its rounds no longer wait for it."""
        url = self.canonical(wanted)
        if self._by_url.get(url) is wanted:
            del self._by_url[url]
        self._end(wanted.rounds, failed)

    def _end(self, rounds: set[int], failed: bool) -> None:
        """One outstanding sitemap of each of these rounds is finished."""
        settings = self._desk.settings
        every, retry = sitemaps_every(settings), settings.harvester.retry
        for origin in rounds:
            one = self._rounds[origin]
            one.left -= 1
            one.failed |= failed
            if one.left:
                continue
            del self._rounds[origin]
            site = int(self._site_of[origin])
            self._of_site[site] -= 1
            if not self._of_site[site]:
                del self._of_site[site]
                self._ended.append((site, float(min(every, retry) if one.failed else every)))

    def news(self, wall: float) -> list[SiteNews]:
        """Site events for the next tick: sitemaps that were taken, and rounds that have ended."""
        taken, ended, self._taken, self._ended = self._taken, self._ended, [], []
        return [
            *(SiteNews.sitemap_taken(site, fingerprint, wall) for site, fingerprint in taken),
            *(SiteNews.sitemaps_read(site, wall, wall + seconds) for site, seconds in ended),
        ]

    def __len__(self) -> int:
        return len(self._rounds)


class Reach:
    """Which origins and sites are worth requests for sitemaps: origins in scope, sites with a page that is wanted."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._columns = desk, desk.columns
        self._origins = np.zeros(desk.columns.origin.limit, np.uint8)
        """By origin: whether it is in scope; 0: not checked yet."""
        self._unwanted = np.zeros(0, np.bool_)
        """By site: whether all its pages were excluded at the last scan."""
        self._scanned = -np.inf

    def inside(self, origin: int) -> bool:
        """Whether the origin is in scope, and patterns do not reject both its start page and its sitemap."""
        if not self._origins[origin]:
            scope = self._desk.scope
            home = urls.canonical(self._desk[Places].origin_text(origin) + "/") or ""
            inside = scope.admits(home) and not (scope.shuns(home) and scope.shuns(home[:-1] + WELL_KNOWN))
            self._origins[origin] = _INSIDE if inside else _OUTSIDE
        return bool(self._origins[origin] == _INSIDE)

    def those_inside(self, origins: Array) -> Array:
        """The origins that are inside."""
        for origin in origins[self._origins[origins] == 0].tolist():
            self.inside(origin)
        found: Array = origins[self._origins[origins] == _INSIDE]
        return found

    def lost(self, sites: Array) -> Bools:
        """Which sites have no wanted page any more: settings or robots.txt exclude all their pages."""
        columns, now = self._columns, self._desk.wall
        if now >= self._scanned + SCAN_EVERY:
            state, count = columns.page.state[: columns.page.count], columns.site.count
            wanted = columns.page.origin[: len(state)][state != _EXCLUDED]
            self._unwanted = np.ones(count, np.bool_)
            self._unwanted[columns.origin.site[wanted]] = False
            self._scanned = now
        found = np.zeros(len(sites), np.bool_)
        scanned = sites < len(self._unwanted)
        found[scanned] = self._unwanted[sites[scanned]] & (columns.site.pending[sites[scanned]] == 0)
        return found
