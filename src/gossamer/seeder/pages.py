"""New pages: unknown URLs get their numbers, sites, origins, depths and robots.txt verdicts.

Pages are numbered when they are inserted into the known-page table, in the order of absorption, so two workers that
find one URL get one page. Only that table is changed here; the rest goes into the tick's effects and is applied from
there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array
from gossamer.base.compiled import njit
from gossamer.base.model import (
    HOPS_SHIFT,
    MOST_REDIRECTS,
    NONE,
    Counted,
    LinkFlag,
    LinkKind,
    PageFlag,
    Reason,
    State,
    Texts,
)
from gossamer.collection.forgetting.tombstones import Forgotten
from gossamer.collection.journal.effects import ORIGIN, PAGE, Effects
from gossamer.config.settings import Settings
from gossamer.desk.columns import Columns
from gossamer.desk.domains import Room, domain_key, most_in_kernel, most_of
from gossamer.desk.places import number_in
from gossamer.desk.table import Arrays, add_one, find_one
from gossamer.robots.match import verdicts_many
from gossamer.web.message import Links

LISTED_DEPTH = 1
"""Depth of pages that a sitemap lists: as if the start page linked to each of them. Not 0, which is for start pages and
for links from other sites: those come first where depth counts, and everything that a page links to lies below it."""

# plain numbers: numpy takes 10 µs to read a member of an enum, and kernels cannot
_DYNAMIC, _WWW = int(LinkFlag.DYNAMIC), int(LinkFlag.WWW)
_REDIRECT, _SEED, _SITEMAP = int(LinkKind.REDIRECT), int(LinkKind.SEED), int(LinkKind.SITEMAP)
_PAGE_DYNAMIC = int(PageFlag.DYNAMIC)
_PENDING, _EXCLUDED = int(State.PENDING), int(State.EXCLUDED)
_TOO_DEEP, _REDIRECTS, _UNLISTED = int(Reason.DEPTH), int(Reason.REDIRECTS), int(Reason.UNLISTED)
_DEEPEST = 255
_SITE_FULL, _COLLECTION_FULL = int(Counted.SITE_FULL), int(Counted.COLLECTION_FULL)
_DOMAIN_FULL: Final = NONE - 1
"""Instead of the number of a site that is not made: its domain has enough of them, or the site was forgotten."""


@dataclass(frozen=True, slots=True)
class SeederLimits:
    """The settings that limit which URLs become pages."""

    pages: int
    sites: int
    per_site: int
    depth_static: int
    depth_dynamic: int
    per_domain: Room
    """Sites and pages of a registrable domain that nobody vouches for."""
    follow: bool = True
    """Whether links make pages. If not, the targets of links are known and excluded, except those of redirects."""
    forgotten: Forgotten = field(default_factory=Forgotten)
    """URLs and sites that become no pages again."""

    @staticmethod
    def of(settings: Settings, forgotten: Forgotten | None = None) -> SeederLimits:
        s, c = settings.seeder, settings.collection
        depths, follow = (s.depth_static, s.depth_dynamic), s.follow == "links"
        room = Room.of(settings)
        kept_out = Forgotten() if forgotten is None else forgotten
        return SeederLimits(c.max_pages, c.max_sites, s.pages_per_site, *depths, room, follow, kept_out)

    def of_seeds(self) -> SeederLimits:
        """The same for seeds: the user vouches for their domains."""
        return replace(self, per_domain=Room(self.sites, self.pages))


class Planted(NamedTuple):
    """The result of planting seeds."""

    new: int = 0
    full: tuple[tuple[str, Counted], ...] = ()
    """Seeds beyond the limits, each with its limit: SITE_FULL or COLLECTION_FULL."""
    forbidden: tuple[str, ...] = ()
    """Known seeds that robots.txt forbids."""
    forgotten: tuple[str, ...] = ()
    """Seeds that were forgotten, or whose sites were."""


class Found(NamedTuple):
    """Links to unknown URLs: the indices of these links, and for each its source page and the index of its visit."""

    links: Links
    wanted: Array
    source: Array
    visit: Array


def make_pages(
    columns: Columns,
    found: Found,
    limits: SeederLimits,
    seed: int,
    rules: Array,
    targets: Array,
    counted: Array,
    effects: Effects,
) -> None:
    """Numbers the pages behind `found`: numbers go into `targets`, refusals into `counted`, the rest into `effects`."""
    if len(limits.forgotten.pages):
        found = _without_forgotten(found, limits.forgotten, counted)
    links, wanted = found.links, found.wanted
    origins, sites = _origins(columns, links, wanted, limits, seed, effects)
    pages = np.zeros(len(wanted), PAGE)
    made = np.zeros(len(wanted), np.int64)
    count = _number(
        columns.known.arrays,
        links.fingerprint,
        links.kind,
        links.flags,
        wanted,
        origins,
        sites,
        found.source,
        columns.page.origin,
        columns.page.depth,
        columns.page.flags,
        columns.origin.site,
        columns.site.pages,
        columns.site.domain,
        columns.site.domain_pages,
        columns.site.vouched,
        effects.first_page,
        limits.pages,
        limits.per_site,
        limits.per_domain.pages,
        limits.depth_static,
        limits.depth_dynamic,
        limits.follow,
        found.visit,
        targets,
        counted,
        pages,
        made,
    )
    columns.known.give_back()
    pages, made = pages[:count], made[:count]
    effects.pages = pages
    effects.urls = pick_texts(links.texts, made)
    valid = columns.origin.valid[pages["origin"]] > effects.wall
    if valid.any():
        _judge(columns, pages, effects.urls, valid, rules)


def _without_forgotten(found: Found, forgotten: Forgotten, counted: Array) -> Found:
    """The links to URLs that were not forgotten; the others are counted like those to sites that are full."""
    kept = ~forgotten.has_pages(found.links.fingerprint[found.wanted])
    np.add.at(counted[:, _SITE_FULL], found.visit[~kept], 1)
    return Found(found.links, found.wanted[kept], found.source[kept], found.visit[kept])


def _judge(columns: Columns, pages: Array, texts: Texts, valid: Array, rules: Array) -> None:
    """Applies robots.txt to the new pages whose origin has `valid` rules."""
    origin, buffer = pages["origin"].copy(), np.frombuffer(texts.buffer, np.uint8)
    starts, ends = columns.origin.rules_start, columns.origin.rules_end
    allowed = verdicts_many(rules, starts, ends, buffer, texts.offsets(), origin)
    pages["flags"][valid] |= int(PageFlag.JUDGED)
    forbidden = valid & (allowed == 0) & (pages["state"] == _PENDING)
    pages["state"][forbidden] = _EXCLUDED
    pages["reason"][forbidden] = Reason.ROBOTS


def pick_texts(texts: Texts, which: Array) -> Texts:
    """The texts with these indices; for few of many (`seed.kept_texts` is for many)."""
    if not len(which):
        return Texts(np.zeros(0, "<u2"), b"")
    offsets = texts.offsets()
    starts, ends = offsets[which].tolist(), offsets[which + 1].tolist()
    return Texts(texts.lengths[which], b"".join([texts.buffer[a:b] for a, b in zip(starts, ends, strict=True)]))


def _origins(
    columns: Columns, links: Links, wanted: Array, limits: SeederLimits, seed: int, effects: Effects
) -> tuple[Array, Array]:
    """Origins and sites of the wanted links. Missing ones are made, as far as the limits allow (else NONE)."""
    origins = columns.origins.find(links.origin[wanted])
    sites = columns.origin.site[np.where(origins == NONE, 0, origins)]
    missing = np.flatnonzero(origins == NONE)
    if not len(missing):
        return origins, sites
    offsets = links.texts.offsets()
    www, records = list[int](), list[tuple[int, int, bool]]()
    made, sites_made = dict[int, tuple[int, int]](), _NewSites(columns, limits, seed, effects.first_site)
    names = sites_made.names
    for i in missing.tolist():
        link = int(wanted[i])
        fingerprint = int(links.origin[link])
        if fingerprint not in made:
            parts = urls.split(links.texts.buffer[offsets[link] : offsets[link + 1]].decode())
            site = sites_made.number(parts.host)
            if len(names) > len(www):
                www.append(int(links.flags[link] & _WWW != 0))
            record, limit = (site, parts.port, parts.scheme == "https"), columns.origin.limit
            room = site not in (NONE, _DOMAIN_FULL)
            number = number_in(records, record, effects.first_origin, limit) if room else NONE
            made[fingerprint] = (number, NONE if room and number == NONE else site)
        origins[i], sites[i] = made[fingerprint]
    effects.sites = Texts.join(names, "<u2")
    effects.sites_www = np.array(www, np.uint8)
    effects.origins = np.array(records, ORIGIN)
    return origins, sites


class _NewSites:
    """Numbers for the sites of a tick: known ones, and new ones as far as the collection and their domains have room.

    The domain of a new site is written into its row at once, for the kernel that numbers pages."""

    def __init__(self, columns: Columns, limits: SeederLimits, seed: int, first: int) -> None:
        self.names: list[bytes] = []
        """Names of the new sites."""
        self._columns, self._limits, self._seed, self._first = columns, limits, seed, first
        self._numbers: dict[str, int] = {}
        self._domains: dict[int, int] = {}
        """Maps the fingerprint of a domain that is new in this tick to its first site."""
        self._more: Counter[int] = Counter()
        """New sites of each domain, by its first site."""

    def number(self, name: str) -> int:
        """NONE: the collection has no room for the site; _DOMAIN_FULL: its domain has none, or it was forgotten."""
        site = self._numbers.get(name)
        if site is None:
            site = int(self._columns.hosts.find(np.array([urls.fingerprint(name, self._seed)], np.uint64))[0])
            self._numbers[name] = site = self._new(name) if site == NONE else site
        return site

    def _new(self, name: str) -> int:
        if self._limits.forgotten.has_site(name):
            return _DOMAIN_FULL
        if self._first + len(self.names) >= self._limits.sites:
            return NONE
        key, sites = domain_key(name, self._seed), self._columns.site
        first = self._domains.get(int(key[0]), int(self._columns.domains.find(key)[0]))
        if first != NONE:
            most = most_of(self._limits.per_domain.sites, int(sites.vouched[first]))
            if sites.domain_sites[first] + self._more[first] >= most:
                return _DOMAIN_FULL
        number = number_in(self.names, name.encode(), self._first, self._limits.sites)
        if number != NONE:
            first = number if first == NONE else first
            self._domains[int(key[0])] = sites.domain[number] = first
            self._more[first] += 1
        return number


@njit
def _number(
    known: Arrays,
    fingerprint: Array,
    kind: Array,
    flags: Array,
    wanted: Array,
    origins: Array,
    sites: Array,
    source: Array,
    page_origin: Array,
    page_depth: Array,
    page_flags: Array,
    origin_site: Array,
    site_pages: Array,
    domain: Array,
    domain_pages: Array,
    vouched: Array,
    first_page: int,
    max_pages: int,
    per_site: int,
    per_domain: int,
    depth_static: int,
    depth_dynamic: int,
    follow: bool,
    visit: Array,
    targets: Array,
    counted: Array,
    pages: Array,
    made: Array,
) -> int:
    """Fills `pages` with a record for each new page, `made` with the index of its link; returns the number of pages.
    Refused: grouping the arguments into NamedTuples. numba takes them one by one from each tuple: 5.7 µs per call
    instead of 1.5, measured with 19 arguments in 4 tuples."""
    count = 0
    for i in range(len(wanted)):
        link = wanted[i]
        page = find_one(known, fingerprint[link])
        if page != NONE:  # found a moment ago, in this tick
            targets[link] = page
            continue
        site = sites[i]
        if origins[i] == NONE and site == _DOMAIN_FULL:
            counted[visit[i], _SITE_FULL] += 1
            continue
        if origins[i] == NONE or first_page + count >= max_pages:
            counted[visit[i], _COLLECTION_FULL] += 1
            continue
        first = domain[site]
        full = domain_pages[first] >= per_domain
        full = full and domain_pages[first] >= most_in_kernel(per_domain, vouched[first])
        if full or site_pages[site] >= per_site:
            counted[visit[i], _SITE_FULL] += 1
            continue
        page = np.uint32(first_page + count)
        if add_one(known, fingerprint[link], page) != page:
            counted[visit[i], _COLLECTION_FULL] += 1
            continue
        site_pages[site] += 1  # undone below: only `apply` keeps these two
        domain_pages[first] += 1
        targets[link] = page
        depth = LISTED_DEPTH if kind[link] == _SITEMAP else 0
        if source[i] != NONE and origin_site[page_origin[source[i]]] == site:
            depth = min(_DEEPEST, page_depth[source[i]] + (0 if kind[link] == _REDIRECT else 1))
        hops = 0
        if kind[link] == _REDIRECT and source[i] != NONE:
            hops = (page_flags[source[i]] >> HOPS_SHIFT) + 1
        too_far = hops > MOST_REDIRECTS
        if too_far:  # at this depth, `learn` sees that any other way is shorter
            hops, depth = 0, _DEEPEST
        dynamic = flags[link] & _DYNAMIC != 0
        too_deep = depth > (depth_dynamic if dynamic else depth_static)
        unlisted = not (follow or kind[link] == _REDIRECT or kind[link] == _SEED or kind[link] == _SITEMAP)
        record = pages[count]
        record.fingerprint = fingerprint[link]
        record.origin = origins[i]
        record.site = site
        record.source = source[i]
        record.depth = depth
        record.flags = (_PAGE_DYNAMIC if dynamic else 0) | hops << HOPS_SHIFT
        record.kind = kind[link]
        record.state = _EXCLUDED if too_deep or unlisted else _PENDING
        record.reason = _UNLISTED if unlisted else _REDIRECTS if too_far else _TOO_DEEP if too_deep else 0
        made[count] = link
        count += 1
    for i in range(count):
        site_pages[pages[i].site] -= 1
        domain_pages[domain[pages[i].site]] -= 1
    return count
