"""Rounds of sitemaps: which sitemaps are still to be read, and on whose behalf.

A *round* begins when a robots.txt of a site is read and its sitemaps are due (`due_sitemaps.py`): with those that
it names, or else the well-known place. Redirects, and the sitemaps that an index names, belong to it. It ends when all
of them were read or tried. Then they are not asked for again before `seeder.sitemap_every` has passed, or before
`harvester.retry` if one could not be read that may be readable then. A round that a stop or a kill interrupts is begun
again at the next start, without the sitemaps that are spent.

Host and port of a sitemap must be in scope, and no pattern may reject it; patterns that accept are for pages.

Invariants, each a test of the same name: a sitemap is asked for once a round; an index leads to further sitemaps and no
more of a round than the settings allow; a round ends whatever is answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from gossamer import urls
from gossamer.base.model import NONE
from gossamer.collection.journal.effects import SiteNews
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.harvester.errands.reach import WELL_KNOWN, Reach


@dataclass(slots=True, eq=False)
class Wanted:
    """A sitemap that is to be read, or was asked for and is not settled yet."""

    url: str
    """Canonical, but for `www.`, which is as it was named."""
    rounds: set[int]
    """The origins whose robots.txt led to it."""
    hops: int = 0
    """Redirects behind it."""
    level: int = 0
    """Indexes above it."""
    site: int = NONE
    origin: int = NONE
    asked_robots: int = 0
    """How often robots.txt was asked for on its behalf."""


@dataclass(slots=True)
class _Round:
    left: int = 0
    """Sitemaps that are not settled."""
    named: set[str] = field(default_factory=set)
    failed: bool = False


class Rounds:
    def __init__(self, desk: Desk, reach: Reach) -> None:
        self._desk, self._reach, self._due = desk, reach, desk[DueSitemaps]
        self._places, self._site_of = desk[Places], desk.columns.origin.site
        self._rounds: dict[int, _Round] = {}
        """By origin."""
        self._of_site: dict[int, int] = {}
        """Rounds of a site that have not ended."""
        self._by_url: dict[str, Wanted] = {}
        self.unplaced: list[Wanted] = []
        """Sitemaps whose sites and origins are to be found, or made, with the next tick."""
        self._ended: list[tuple[int, float]] = []
        """Sites whose rounds have ended, and for how many seconds they need not be asked again."""
        self._taken: list[tuple[int, int]] = []
        """Sites, and fingerprints of sitemaps of their rounds that were read to the end."""

    @property
    def pressing(self) -> bool:
        """There is something for the next tick."""
        return bool(self.unplaced or self._ended or self._taken)

    def begin(self, sites: Iterable[int]) -> None:
        """For each origin of these sites whose robots.txt has been read, unless its round is under way."""
        for site in sites if self._desk.settings.seeder.sitemaps else ():
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
        """For those rounds of `like` that have not named it, and may still name one."""
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
        """Whether a round of the site needs it no more."""
        spent = self._due.spent.get(site)
        return spent is not None and urls.fingerprint(url, self._desk.seed) in spent

    def canonical(self, wanted: Wanted) -> str:
        return self._desk.scope.canonical(wanted.url) or wanted.url

    def by_other_name(self, wanted: Wanted, url: str) -> Wanted:
        """The same sitemap, to be asked for once more, by the other name of its host."""
        again = replace(wanted, url=url, rounds=set(wanted.rounds), hops=wanted.hops + 1)
        for origin in again.rounds:
            self._rounds[origin].left += 1
        return again

    def spoken_for(self, wanted: Wanted) -> set[int]:
        """Sites about which the sitemap may say something: its own, and those whose robots.txt led to it."""
        return {wanted.site, *self._site_of[list(wanted.rounds)].tolist()}

    def taken(self, wanted: Wanted) -> None:
        """All pages that it lists are in the journal."""
        fingerprint = urls.fingerprint(self.canonical(wanted), self._desk.seed)
        sites = set(self._site_of[list(wanted.rounds)].tolist())
        self._taken += [(site, fingerprint) for site in sites]
        self.settle(wanted, failed=False)

    def settle(self, wanted: Wanted, failed: bool) -> None:
        """Its rounds no longer wait for it."""
        url = self.canonical(wanted)
        if self._by_url.get(url) is wanted:
            del self._by_url[url]
        self._end(wanted.rounds, failed)

    def _end(self, rounds: set[int], failed: bool) -> None:
        """One outstanding sitemap of each of these rounds is finished."""
        every, retry = self._desk.settings.seeder.sitemap_every, self._desk.settings.harvester.retry
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
        """Sitemaps that were taken and rounds that have ended, for the next tick's effects."""
        taken, ended, self._taken, self._ended = self._taken, self._ended, [], []
        return [
            *(SiteNews.sitemap_taken(site, fingerprint, wall) for site, fingerprint in taken),
            *(SiteNews.sitemaps_read(site, wall, wall + seconds) for site, seconds in ended),
        ]

    def __len__(self) -> int:
        return len(self._rounds)
