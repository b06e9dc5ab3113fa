"""Links, seeds and URLs that sitemaps list become page numbers (thesis 7.2.4, 7.3.3).

Workers have decided everything that follows from URL and settings alone (canonical form, class, scope, length). The
seeder decides what needs state: whether a URL is known, its site, depth, limits and robots.txt. `pages` makes pages,
`copies` finds duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array, Records
from gossamer.base.compiled import allocating, njit
from gossamer.base.model import NONE, Counted, LinkFlag, LinkKind, Outcome, PageFlag, Reason, State, Texts, VerdictFlag
from gossamer.collection.journal.effects import HINT, VERDICT, Effects
from gossamer.desk.columns import Columns
from gossamer.desk.table import Arrays, find_many
from gossamer.seeder.pages import LISTED_DEPTH, Found, Planted, SeederLimits, make_pages, pick_texts
from gossamer.web.message import Links, Results

# plain numbers: numpy takes 10 µs to read a member of an enum, and kernels cannot
_NOFOLLOW, _DYNAMIC, _WWW = int(LinkFlag.NOFOLLOW), int(LinkFlag.DYNAMIC), int(LinkFlag.WWW)
_STORED = int(LinkFlag.NOFOLLOW | LinkFlag.DYNAMIC | LinkFlag.HEADING | LinkFlag.BOLD)
_PENDING, _EXCLUDED = int(State.PENDING), int(State.EXCLUDED)
_TOO_DEEP, _REDIRECTS, _ROBOTS = int(Reason.DEPTH), int(Reason.REDIRECTS), int(Reason.ROBOTS)
_UNLISTED, _DUPLICATE, _SOFT = int(Reason.UNLISTED), int(Outcome.DUPLICATE), int(Outcome.SOFT_404)
_NONE = np.uint32(NONE)


def identify(
    columns: Columns, results: Results, limits: SeederLimits, seed: int, rules: Array, effects: Effects
) -> None:
    """Fills sites, origins, pages, urls, visits and links of `effects` from the results of a tick."""
    effects.visits, effects.visit_texts = results.visits, results.texts
    effects.seen, effects.rows = results.seen, results.rows
    if len(results.links):
        _identify_links(columns, results, limits, seed, rules, effects)


def _identify_links(
    columns: Columns, results: Results, limits: SeederLimits, seed: int, rules: Array, effects: Effects
) -> None:
    visits, links, n = results.visits, results.links, len(results.links)
    if n == 1:  # a read-only view of the message from the worker: numba would compile once more for it
        links = links.where(np.ones(1, np.bool_))
    targets, owner, wanted = np.empty(n, np.uint32), np.empty(n, np.int64), np.empty(n, np.int64)
    unknown = _seek(columns.known.arrays, visits, links.fingerprint, links.flags, targets, owner, wanted)
    if unknown:
        wanted = wanted[:unknown]
        counted, found = visits["counted"].copy(), Found(links, wanted, visits["page"][owner[wanted]], owner[wanted])
        make_pages(columns, found, limits, seed, rules, targets, counted, effects)
        visits["counted"] = counted
    kept, link_targets, link_kinds = np.empty(n, np.bool_), np.empty(n, np.uint32), np.empty(n, np.uint8)
    nofollow = np.zeros(len(visits), np.uint16)
    count = _keep(visits, links.kind, links.flags, targets, owner, kept, link_targets, link_kinds, nofollow)
    if nofollow.any():
        visits["counted"][:, Counted.NOFOLLOW] += nofollow
    effects.link_targets, effects.link_kinds = link_targets[:count], link_kinds[:count]
    if len(links.anchors.buffer):
        effects.link_tags, effects.link_positions = links.tag[kept], links.position[kept]
        effects.anchors = links.anchors if count == n else kept_texts(links.anchors, kept)


@njit
def _seek(
    known: Arrays, visits: Array, fingerprint: Array, flags: Array, targets: Array, owner: Array, wanted: Array
) -> int:
    """Fills `targets` (known page or NONE), `owner` (index of the visit) and `wanted` (links that are to become pages);
    returns the number of wanted links."""
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
    nofollow: Array,
) -> int:
    """Keeps the links of followed visits that lead to known pages; returns their number. From here on `visits["links"]`
    counts them. `nofollow` counts, by visit, the links that are dropped because the page asks not to follow them."""
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
            link_kinds[count] = kind[link] | (flags[link] & _STORED) << 4
            count += 1
        elif follow and flags[link] & _NOFOLLOW != 0:
            nofollow[owner[link]] += 1
    return count


def kept_texts(texts: Texts, kept: Array) -> Texts:
    """The texts that `kept` marks, copied piece by piece: the texts of all links of a page are some kilobytes."""
    buffer = np.empty(len(texts.buffer), np.uint8)
    size = _keep_texts(texts.lengths, np.frombuffer(texts.buffer, np.uint8), kept, buffer)
    return Texts(texts.lengths[kept], buffer[:size].tobytes())


@allocating
def _keep_texts(lengths: Array, buffer: Array, kept: Array, out: Array) -> int:
    start = size = 0
    for i in range(len(lengths)):
        length = int(lengths[i])
        if kept[i]:
            out[size : size + length] = buffer[start : start + length]
            size += length
        start += length
    return size


def plant(
    columns: Columns,
    seeds: Sequence[str],
    limits: SeederLimits,
    scope: urls.Scope,
    seed: int,
    rules: Array,
    effects: Effects,
) -> Planted:
    """Makes pages of seeds. Known pages are marked as seeds, and opened unless robots.txt forbids them. Seeds are
    canonical except for the `www.` that they were given with: their sites are first requested with it."""
    forgotten = tuple(seed for seed in seeds if limits.forgotten.tombstone(scope.canonical(seed, None) or seed))
    seeds = [seed for seed in seeds if seed not in forgotten] if forgotten else seeds
    canonical = [scope.canonical(text, None) or text for text in seeds]
    texts = [url.encode() for url in canonical]
    flags = [
        (_DYNAMIC if scope.classes.of(url).dynamic else 0) | (_WWW if urls.host(text) != urls.host(url) else 0)
        for text, url in zip(seeds, canonical, strict=True)
    ]
    links = Links.plain(
        np.array([urls.fingerprint(t, seed) for t in texts], np.uint64),
        np.array([urls.fingerprint(urls.origin(u), seed) for u in canonical], np.uint64),
        np.full(len(texts), LinkKind.SEED, np.uint8),
        np.array(flags, np.uint8),
        Texts.join(texts, "<u2"),
    )
    targets = columns.known.find(links.fingerprint)
    effects.verdicts, forbidden = _known_seeds(columns, targets)
    wanted = np.flatnonzero(targets == NONE)
    found, counted = _unlinked(links, wanted)
    make_pages(columns, found, limits.of_seeds(), seed, rules, targets, counted, effects)
    effects.pages["flags"] |= int(PageFlag.SEED)
    full = [(seeds[wanted[i]], Counted(int(counted[i].argmax()))) for i in np.flatnonzero(counted.any(axis=1))]
    return Planted(len(effects.pages), tuple(full), tuple(seeds[i] for i in forbidden.tolist()), forgotten)


def _known_seeds(columns: Columns, targets: Array) -> tuple[Records, Array]:
    """Verdicts on known pages that become seeds, and the indices of the seeds that robots.txt forbids. The limits of
    depth, domains and patterns do not apply to seeds, so pages that they excluded are opened."""
    page, known = columns.page, np.flatnonzero(targets != NONE)
    shut = page.state[targets[known]] == _EXCLUDED
    forbidden = known[shut & (page.reason[targets[known]] == _ROBOTS)]
    pages = np.unique(targets[known])
    pages = pages[page.flags[pages] & int(PageFlag.SEED) == 0]
    return _verdicts(columns, pages, VerdictFlag.SEED, page.reason[pages] != _ROBOTS), forbidden


def enlist(
    columns: Columns, links: Links, own: Array, limits: SeederLimits, seed: int, rules: Array, effects: Effects
) -> int:
    """Makes pages of the URLs that a sitemap lists, as far as they are its `own`, and opens known pages that were
    excluded for their depth, or as unlisted; returns the number of new pages.

    The text of a link is the time when the page was changed, in seconds since 1970, or empty: it becomes a hint. The
    pages have no source and the URLs are no links: a list gives a page nothing of its own worth.
    """
    targets = columns.known.find(links.fingerprint)
    effects.verdicts = listed_verdicts(columns, np.unique(targets[own & (targets != NONE)]), limits)
    found, counted = _unlinked(links, np.flatnonzero(own & (targets == NONE)))
    make_pages(columns, found, limits, seed, rules, targets, counted, effects)
    dated = np.flatnonzero(own & (targets != NONE) & (links.anchors.lengths > 0))
    effects.hints = np.zeros(len(dated), HINT)
    effects.hints["page"] = targets[dated]
    effects.hints["lastmod"] = [float(text) for text in pick_texts(links.anchors, dated).split()]
    return len(effects.pages)


def listed_verdicts(columns: Columns, pages: Array, limits: SeederLimits) -> Records:
    """Verdicts on known pages that are now listed and lie deeper than listed pages do, or were not listed before."""
    page = columns.page
    pages = pages[(page.depth[pages] > LISTED_DEPTH) | (page.reason[pages] == _UNLISTED)]
    limit = np.where(page.flags[pages] & int(PageFlag.DYNAMIC) != 0, limits.depth_dynamic, limits.depth_static)
    too_far = np.isin(page.reason[pages], (_TOO_DEEP, _REDIRECTS, _UNLISTED))
    return _verdicts(columns, pages, VerdictFlag.LISTED, too_far & (limit >= LISTED_DEPTH))


def _verdicts(columns: Columns, pages: Array, judged: VerdictFlag, opens: Array) -> Records:
    """Verdicts that mark the pages; those that are excluded and that `opens` marks become pending."""
    verdicts = np.zeros(len(pages), VERDICT)
    verdicts["page"], verdicts["judged"] = pages, int(judged)
    verdicts["state"], verdicts["reason"] = columns.page.state[pages], columns.page.reason[pages]
    opens &= verdicts["state"] == _EXCLUDED
    verdicts["state"][opens], verdicts["reason"][opens] = _PENDING, int(Reason.NONE)
    return verdicts


def _unlinked(links: Links, wanted: Array) -> tuple[Found, Array]:
    """The wanted URLs, which no page links to, and counts of what is refused of them, by URL and `Counted`."""
    found = Found(links, wanted, np.full(len(wanted), NONE, np.uint32), np.arange(len(wanted), dtype=np.int64))
    return found, np.zeros((len(wanted), len(Counted)), np.uint16)
