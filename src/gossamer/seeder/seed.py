"""Identify: the fingerprints and texts of a tick become page numbers (thesis 7.2.4, 7.3.3).

Workers have decided what follows from URL and settings alone (canonical form, class, scope, length). Here is decided
what needs state: known or new, which site, depth, limits, robots.txt. New pages are numbered at insertion into the
known-page table, in the order of absorption, so two workers that find one URL get one page. Nothing else is changed:
all the rest is written into the tick's effects and applied from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.compiled import njit
from gossamer.base.model import (
    HOPS_SHIFT,
    MOST_REDIRECTS,
    NONE,
    Counted,
    LinkFlag,
    LinkKind,
    Outcome,
    PageFlag,
    Reason,
    State,
    Texts,
    VerdictFlag,
    VisitFlag,
)
from gossamer.collection.journal.effects import HINT, ORIGIN, PAGE, VERDICT, Effects
from gossamer.config.settings import Settings
from gossamer.desk.columns import Columns
from gossamer.desk.table import Arrays, add_one, find_many, find_one
from gossamer.robots.match import verdicts_many
from gossamer.web.message import Links, Results

Array = npt.NDArray[Any]

# plain numbers: numpy takes 10 µs to look at a member of an enum, and kernels cannot
_NOFOLLOW = int(LinkFlag.NOFOLLOW)
_DYNAMIC = int(LinkFlag.DYNAMIC)
_WWW = int(LinkFlag.WWW)
_REDIRECT, _SITEMAP = int(LinkKind.REDIRECT), int(LinkKind.SITEMAP)
_PAGE_DYNAMIC = int(PageFlag.DYNAMIC)
_PENDING, _EXCLUDED = int(State.PENDING), int(State.EXCLUDED)
_OK, _DUPLICATE, _SOFT = int(Outcome.OK), int(Outcome.DUPLICATE), int(Outcome.SOFT_404)
_NO_ORIGINAL = int(VisitFlag.EMPTY | VisitFlag.NOINDEX)
_TOO_DEEP, _REDIRECTS = int(Reason.DEPTH), int(Reason.REDIRECTS)
_DEEPEST = 255
_NONE = np.uint32(NONE)
_SITE_FULL, _COLLECTION_FULL = int(Counted.SITE_FULL), int(Counted.COLLECTION_FULL)


@dataclass(frozen=True, slots=True)
class Limits:
    pages: int
    sites: int
    per_site: int
    depth_static: int
    depth_dynamic: int

    @staticmethod
    def of(settings: Settings) -> Limits:
        s = settings.seeder
        c = settings.collection
        return Limits(c.max_pages, c.max_sites, s.pages_per_site, s.depth_static, s.depth_dynamic)


@njit
def _can_be_repeated(visit: Any) -> bool:
    """Whether another page can be a duplicate of this one: fetched whole, not almost empty, not kept out by noindex."""
    whole: bool = visit.digest != 0 and visit.outcome == _OK and visit.page != _NONE
    return whole and visit.flags & _NO_ORIGINAL == 0


@njit
def _content_key(digest: np.uint64, seed: np.uint64) -> np.uint64:
    """A digest under the collection's seed, so that nobody can prepare pages that crowd one part of the table."""
    key = digest ^ seed
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def mark_duplicates(columns: Columns, results: Results, seed: int) -> None:
    """A page with the text and links of one known before is a duplicate; its links are not followed (7.2.3)."""
    if _add_contents(columns.digests.arrays, results.visits, np.uint64(seed), True):
        columns.digests.give_back()


def keep_contents(columns: Columns, visits: Array, seed: int) -> None:
    """What these pages say is known from now on."""
    if _add_contents(columns.digests.arrays, visits, np.uint64(seed), False):
        columns.digests.give_back()


@njit
def _add_contents(digests: Arrays, visits: Array, seed: np.uint64, mark: bool) -> bool:
    """Whether the table may have grown. `mark`: those that were known before as duplicates."""
    found = False
    for i in range(len(visits)):
        visit = visits[i]
        if mark:
            visit.duplicate_of = _NONE
        if _can_be_repeated(visit):
            found = True
            first = add_one(digests, _content_key(visit.digest, seed), visit.page)
            if mark and first != visit.page and first != _NONE:
                visit.duplicate_of = first
                visit.outcome = _DUPLICATE
    return found


def identify(columns: Columns, results: Results, limits: Limits, seed: int, rules: Array, effects: Effects) -> None:
    """Fills sites, origins, pages, urls, visits and links of `effects` from a tick of results."""
    effects.visits, effects.visit_texts, effects.seen = results.visits, results.texts, results.seen
    if len(results.links):
        _identify_links(columns, results, limits, seed, rules, effects)


def _identify_links(
    columns: Columns, results: Results, limits: Limits, seed: int, rules: Array, effects: Effects
) -> None:
    visits, links, n = results.visits, results.links, len(results.links)
    if n == 1:  # a view of what came over the wire, which is read-only: numba would compile once more for it
        links = links.where(np.ones(1, np.bool_))
    targets, owner, wanted = np.empty(n, np.uint32), np.empty(n, np.int64), np.empty(n, np.int64)
    unknown = _seek(columns.known.arrays, visits, links.fingerprint, links.flags, targets, owner, wanted)
    if unknown:
        wanted = wanted[:unknown]
        counted, found = visits["counted"].copy(), _Found(links, wanted, visits["page"][owner[wanted]], owner[wanted])
        _make_pages(columns, found, limits, seed, rules, targets, counted, effects)
        visits["counted"] = counted
    kept, link_targets, link_kinds = np.empty(n, np.bool_), np.empty(n, np.uint32), np.empty(n, np.uint8)
    passed_over = np.zeros(len(visits), np.uint16)
    count = _keep(visits, links.kind, links.flags, targets, owner, kept, link_targets, link_kinds, passed_over)
    if passed_over.any():
        visits["counted"][:, Counted.NOFOLLOW] += passed_over
    effects.link_targets, effects.link_kinds = link_targets[:count], link_kinds[:count]
    if len(links.anchors.buffer):
        effects.link_tags, effects.link_positions = links.tag[kept], links.position[kept]
        effects.anchors = links.anchors if count == n else kept_texts(links.anchors, kept)


@njit
def _seek(
    known: Arrays, visits: Array, fingerprint: Array, flags: Array, targets: Array, owner: Array, wanted: Array
) -> int:
    """Which links lead to a known page (`targets`), whose they are (`owner`), and which are to become pages, as many as
    it returns (`wanted`)."""
    find_many(known, fingerprint, targets)
    link = unknown = 0
    for i in range(len(visits)):
        follow = visits[i].outcome != _DUPLICATE and visits[i].outcome != _SOFT
        for _ in range(visits[i].links):
            owner[link] = i
            if follow and targets[link] == _NONE and flags[link] & _NOFOLLOW == 0:
                wanted[unknown] = link
                unknown += 1
            link += 1
    return unknown


@njit
def _keep(
    visits: Array,
    kind: Array,
    flags: Array,
    targets: Array,
    owner: Array,
    kept: Array,
    link_targets: Array,
    link_kinds: Array,
    passed_over: Array,
) -> int:
    """Links to known pages, of those that are followed; `visits["links"]` counts them from now on. `passed_over`: how
    many of each visit are not, because the page said so."""
    for i in range(len(visits)):
        visits[i].links = 0
    count = 0
    for link in range(len(targets)):
        visit = visits[owner[link]]
        follow = visit.outcome != _DUPLICATE and visit.outcome != _SOFT
        kept[link] = follow and targets[link] != _NONE
        if kept[link]:
            visit.links += 1
            link_targets[count] = targets[link]
            link_kinds[count] = kind[link] | (flags[link] & (_NOFOLLOW | _DYNAMIC)) << 4
            count += 1
        elif follow and flags[link] & _NOFOLLOW != 0:
            passed_over[owner[link]] += 1
    return count


def kept_texts(texts: Texts, kept: Array) -> Texts:
    """Those that are kept, piece by piece: the texts of all links of a page are some kilobytes."""
    buffer = np.empty(len(texts.buffer), np.uint8)
    size = _keep_texts(texts.lengths, np.frombuffer(texts.buffer, np.uint8), kept, buffer)
    return Texts(texts.lengths[kept], buffer[:size].tobytes())


@njit
def _keep_texts(lengths: Array, buffer: Array, kept: Array, out: Array) -> int:
    at = size = 0
    for i in range(len(lengths)):
        length = int(lengths[i])
        if kept[i]:
            out[size : size + length] = buffer[at : at + length]
            size += length
        at += length
    return size


class Planted(NamedTuple):
    """What became of seeds."""

    new: int = 0
    full: tuple[tuple[str, Counted], ...] = ()
    """Seeds beyond the limits, and which limit: SITE_FULL or COLLECTION_FULL."""
    forbidden: tuple[str, ...] = ()
    """Seeds that are known and that robots.txt forbids."""


def plant(
    columns: Columns, seeds: Sequence[str], limits: Limits, scope: urls.Scope, seed: int, rules: Array, effects: Effects
) -> Planted:
    """Makes pages of seeds. Those that are known are marked as seeds, and opened unless robots.txt forbids them.

    Seeds are canonical, but for the `www.` that they were given with: with it their sites are asked first.
    """
    decoded = [scope.canonical(text, None) or text for text in seeds]
    texts = [url.encode() for url in decoded]
    flags = [
        (_DYNAMIC if scope.classes.of(url).dynamic else 0) | (_WWW if urls.host(text) != urls.host(url) else 0)
        for text, url in zip(seeds, decoded, strict=True)
    ]
    links = Links.plain(
        np.array([urls.fingerprint(t, seed) for t in texts], np.uint64),
        np.array([urls.fingerprint(urls.origin(u), seed) for u in decoded], np.uint64),
        np.full(len(texts), LinkKind.SEED, np.uint8),
        np.array(flags, np.uint8),
        Texts.join(texts, "<u2"),
    )
    targets = columns.known.find(links.fingerprint)
    effects.verdicts, forbidden = _known_seeds(columns, targets)
    wanted = np.flatnonzero(targets == NONE)
    found = _Found(links, wanted, np.full(len(wanted), NONE, np.uint32), np.arange(len(wanted), dtype=np.int64))
    counted = np.zeros((len(wanted), len(Counted)), np.uint16)
    _make_pages(columns, found, limits, seed, rules, targets, counted, effects)
    effects.pages["flags"] |= int(PageFlag.SEED)
    full = [(seeds[wanted[i]], Counted(int(counted[i].argmax()))) for i in np.flatnonzero(counted.any(axis=1))]
    return Planted(len(effects.pages), tuple(full), tuple(seeds[i] for i in forbidden.tolist()))


def _known_seeds(columns: Columns, targets: Array) -> tuple[Array, Array]:
    """Verdicts on those that are known and were not seeds: the limits of depth, domains and patterns do not hold for
    them any more. And which of all seeds robots.txt forbids."""
    page, known = columns.page, np.flatnonzero(targets != NONE)
    shut = page.state[targets[known]] == _EXCLUDED
    forbidden = known[shut & (page.reason[targets[known]] == int(Reason.ROBOTS))]
    found = np.unique(targets[known])
    found = found[page.flags[found] & int(PageFlag.SEED) == 0]
    verdicts = np.zeros(len(found), VERDICT)
    verdicts["page"], verdicts["judged"] = found, int(VerdictFlag.SEED)
    verdicts["state"], verdicts["reason"] = page.state[found], page.reason[found]
    opens = (verdicts["state"] == _EXCLUDED) & (verdicts["reason"] != int(Reason.ROBOTS))
    verdicts["state"][opens], verdicts["reason"][opens] = _PENDING, int(Reason.NONE)
    return verdicts, forbidden


LISTED_DEPTH = 1
"""Of pages that a sitemap lists: as if the start page had a link to each. Not 0, which is for start pages and entries
from outside: those come first where depth counts, and everything that a page links to lies below it."""


def enlist(
    columns: Columns, links: Links, own: Array, limits: Limits, seed: int, rules: Array, effects: Effects
) -> int:
    """Makes pages of what a sitemap lists, as far as it is its `own`, and opens those that lay too deep; returns how
    many are new. The text of each link is when the page was changed, in seconds since 1970, or empty: the hint.

    They have no source, and are no links: whoever lists a page gives it nothing of its own worth.
    """
    targets = columns.known.find(links.fingerprint)
    effects.verdicts = _listed_verdicts(columns, np.unique(targets[own & (targets != NONE)]), limits)
    wanted = np.flatnonzero(own & (targets == NONE))
    found = _Found(links, wanted, np.full(len(wanted), NONE, np.uint32), np.arange(len(wanted), dtype=np.int64))
    counted = np.zeros((len(wanted), len(Counted)), np.uint16)
    _make_pages(columns, found, limits, seed, rules, targets, counted, effects)
    dated = np.flatnonzero(own & (targets != NONE) & (links.anchors.lengths > 0))
    effects.hints = np.zeros(len(dated), HINT)
    effects.hints["page"] = targets[dated]
    effects.hints["lastmod"] = [float(text) for text in _take(links.anchors, dated).split()]
    return len(effects.pages)


def _listed_verdicts(columns: Columns, pages: Array, limits: Limits) -> Array:
    """On known pages that lie deeper than those that are listed."""
    page = columns.page
    pages = pages[page.depth[pages] > LISTED_DEPTH]
    verdicts = np.zeros(len(pages), VERDICT)
    verdicts["page"], verdicts["judged"] = pages, int(VerdictFlag.LISTED)
    verdicts["state"], verdicts["reason"] = page.state[pages], page.reason[pages]
    limit = np.where(page.flags[pages] & _PAGE_DYNAMIC != 0, limits.depth_dynamic, limits.depth_static)
    too_far = (verdicts["reason"] == _TOO_DEEP) | (verdicts["reason"] == _REDIRECTS)
    opens = (verdicts["state"] == _EXCLUDED) & too_far & (limit >= LISTED_DEPTH)
    verdicts["state"][opens], verdicts["reason"][opens] = _PENDING, int(Reason.NONE)
    return verdicts


class _Found(NamedTuple):
    """Links to URLs that are not known: which of the tick's links, from which page, by which visit."""

    links: Links
    wanted: Array
    source: Array
    visit: Array


def _make_pages(
    columns: Columns,
    found: _Found,
    limits: Limits,
    seed: int,
    rules: Array,
    targets: Array,
    counted: Array,
    effects: Effects,
) -> None:
    """Numbers the pages behind `found`: numbers go into `targets`, refusals into `counted`, the rest into `effects`."""
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
        effects.first_page,
        limits.pages,
        limits.per_site,
        limits.depth_static,
        limits.depth_dynamic,
        found.visit,
        targets,
        counted,
        pages,
        made,
    )
    columns.known.give_back()
    pages, made = pages[:count], made[:count]
    effects.pages = pages
    effects.urls = _take(links.texts, made)
    valid = columns.origin.valid[pages["origin"]] > effects.wall
    if valid.any():
        _judge(columns, pages, effects.urls, valid, rules)


def _judge(columns: Columns, pages: Array, texts: Texts, valid: Array, rules: Array) -> None:
    """robots.txt verdicts on new pages of origins whose rules are at hand."""
    origin = pages["origin"].copy()
    allowed = verdicts_many(
        rules,
        columns.origin.rules_start,
        columns.origin.rules_end,
        np.frombuffer(texts.buffer, np.uint8),
        texts.offsets(),
        origin,
    )
    pages["flags"][valid] |= int(PageFlag.JUDGED)
    forbidden = valid & (allowed == 0) & (pages["state"] == _PENDING)
    pages["state"][forbidden] = _EXCLUDED
    pages["reason"][forbidden] = Reason.ROBOTS


def _take(texts: Texts, which: Array) -> Texts:
    if not len(which):
        return Texts(np.zeros(0, "<u2"), b"")
    at = texts.offsets()
    starts, ends = at[which].tolist(), at[which + 1].tolist()
    buffer = texts.buffer
    return Texts(texts.lengths[which], b"".join([buffer[a:b] for a, b in zip(starts, ends, strict=True)]))


def _origins(
    columns: Columns, links: Links, wanted: Array, limits: Limits, seed: int, effects: Effects
) -> tuple[Array, Array]:
    """Origins and sites of the wanted links; new ones are made, as far as the limits go (else NONE)."""
    origins = columns.origins.find(links.origin[wanted])
    sites = columns.origin.site[np.where(origins == NONE, 0, origins)]
    missing = np.flatnonzero(origins == NONE)
    if not len(missing):
        return origins, sites
    at = links.texts.offsets()
    names: list[bytes] = []
    www: list[int] = []
    records: list[tuple[int, int, bool]] = []
    made: dict[int, tuple[int, int]] = {}
    made_sites: dict[str, int] = {}
    for i in missing.tolist():
        link = int(wanted[i])
        fingerprint = int(links.origin[link])
        if fingerprint not in made:
            parts = urls.split(links.texts.buffer[at[link] : at[link + 1]].decode())
            site = _site(columns, parts.host, seed, made_sites, names, limits, effects)
            if len(names) > len(www):
                www.append(int(links.flags[link] & _WWW != 0))
            number = effects.first_origin + len(records)
            if site == NONE or number >= columns.origin.limit:
                made[fingerprint] = (NONE, NONE)
            else:
                made[fingerprint] = (number, site)
                records.append((site, parts.port, parts.scheme == "https"))
        origins[i], sites[i] = made[fingerprint]
    effects.sites = Texts.join(names, "<u2")
    effects.sites_www = np.array(www, np.uint8)
    effects.origins = np.array(records, ORIGIN)
    return origins, sites


def _site(
    columns: Columns, name: str, seed: int, made: dict[str, int], names: list[bytes], limits: Limits, effects: Effects
) -> int:
    site = made.get(name)
    if site is None:
        site = int(columns.hosts.find(np.array([urls.fingerprint(name, seed)], np.uint64))[0])
        if site == NONE and effects.first_site + len(names) < limits.sites:
            site = effects.first_site + len(names)
            names.append(name.encode())
        made[name] = site
    return site


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
    first_page: int,
    max_pages: int,
    per_site: int,
    depth_static: int,
    depth_dynamic: int,
    visit: Array,
    targets: Array,
    counted: Array,
    pages: Array,
    made: Array,
) -> int:
    count = 0
    for i in range(len(wanted)):
        link = wanted[i]
        page = find_one(known, fingerprint[link])
        if page != NONE:  # found a moment ago, in this tick
            targets[link] = page
            continue
        site = sites[i]
        if origins[i] == NONE or first_page + count >= max_pages:
            counted[visit[i], _COLLECTION_FULL] += 1
            continue
        if site_pages[site] >= per_site:
            counted[visit[i], _SITE_FULL] += 1
            continue
        page = np.uint32(first_page + count)
        if add_one(known, fingerprint[link], page) != page:
            counted[visit[i], _COLLECTION_FULL] += 1
            continue
        site_pages[site] += 1  # taken back below: only `apply` keeps it
        targets[link] = page
        depth = LISTED_DEPTH if kind[link] == _SITEMAP else 0
        if source[i] != NONE and origin_site[page_origin[source[i]]] == site:
            depth = min(_DEEPEST, page_depth[source[i]] + (0 if kind[link] == _REDIRECT else 1))
        hops = 0
        if kind[link] == _REDIRECT and source[i] != NONE:
            hops = (page_flags[source[i]] >> HOPS_SHIFT) + 1
        too_far = hops > MOST_REDIRECTS
        if too_far:  # the depth lets `learn` see that any other way is shorter
            hops, depth = 0, _DEEPEST
        dynamic = flags[link] & _DYNAMIC != 0
        too_deep = depth > (depth_dynamic if dynamic else depth_static)
        record = pages[count]
        record.fingerprint = fingerprint[link]
        record.origin = origins[i]
        record.site = site
        record.source = source[i]
        record.depth = depth
        record.flags = (_PAGE_DYNAMIC if dynamic else 0) | hops << HOPS_SHIFT
        record.kind = kind[link]
        record.state = _EXCLUDED if too_deep else _PENDING
        record.reason = _REDIRECTS if too_far else _TOO_DEEP if too_deep else 0
        made[count] = link
        count += 1
    for i in range(count):
        site_pages[pages[i].site] -= 1
    return count
