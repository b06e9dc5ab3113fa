"""Finds pages that resemble other pages of their site: the compiled part of `soft404.py`.

For each site it remembers the contents of the last `RECENT` pages (`probes.contents_of`), and what is needed to know
whether titles identify pages. All of it is volatile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import U64, Array, Bools
from gossamer.base.compiled import allocating, njit
from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Outcome, VisitFlag, Visits
from gossamer.desk.columns import Columns
from gossamer.harvester.errands.probes import NEAR, contents_of

RECENT: Final = 4

_NONE: Final = np.uint32(NONE)
_PAGE, _PROBE = int(Ask.PAGE), int(Ask.PROBE)
_OK, _DUPLICATE, _REDIRECT = int(Outcome.OK), int(Outcome.DUPLICATE), int(Outcome.REDIRECT)
_RESPELLED: Final = int(VisitFlag.RESPELLED)
_TITLE: Final = VISIT_TEXTS.index("title")


class _Memory(NamedTuple):
    """Arrays by site."""

    recent: Array
    """Contents of its last pages."""
    place: Array
    title: U64
    """Title of its last page that has a title."""
    told: U64
    """Contents of that page."""
    common: U64
    """A title that pages with different contents share."""
    varied: Bools
    """Whether its pages have different titles."""


class Said(NamedTuple):
    """The contents of the pages of a tick, by visit."""

    values: U64
    """0: no contents."""
    titles: Sequence[tuple[int, int, int]]
    """For visits with contents and a title: the visit, and start and end of the title in the texts of the tick."""
    probes: int
    """Number of probes among the visits."""
    redirects: int
    """Number of pages that are redirected."""


class Alike:
    """Remembers recent pages by site, and finds pages that resemble them."""

    def __init__(self, sites: int) -> None:
        recent, place = np.zeros((sites, RECENT), np.uint64), np.zeros(sites, np.uint8)
        title, told, common = (np.zeros(sites, np.uint64) for _ in range(3))
        self._memory = _Memory(recent, place, title, told, common, varied=np.zeros(sites, np.bool_))

    def tells(self, site: int, title: int) -> bool:
        """Whether the title identifies a page at this site: the site uses several titles, and no two different pages
        share this one."""
        return bool(self._memory.varied[site]) and int(self._memory.common[site]) != title

    def add(self, columns: Columns, visits: Visits, values: U64, titles: U64) -> Bools:
        """Remembers these pages. Returns which of them resemble earlier pages. `titles`: fingerprints; 0: no title."""
        alike = np.empty(len(visits), np.bool_)
        _add(self._memory, visits, values, titles, columns.page.origin, columns.origin.site, alike)
        return alike


def said_in(visits: Visits) -> Said:
    """The contents of the pages that were fetched."""
    values, titles = np.empty(len(visits), np.uint64), np.empty((len(visits), 3), np.int64)
    count, probes, redirects = _read(visits, values, titles)
    return Said(values, titles[:count].tolist(), probes, redirects)


@njit
def _read(visits: Visits, values: U64, titles: Array) -> tuple[int, int, int]:
    start = count = probes = redirects = 0
    for i in range(len(visits)):
        visit = visits[i]
        probes += visit.ask == _PROBE
        redirects += visit.ask == _PAGE and visit.outcome == _REDIRECT
        fetched = visit.ask == _PAGE and visit.outcome <= _DUPLICATE
        values[i] = contents_of(visit) if fetched else np.uint64(0)
        for text in range(len(visit.texts)):
            end = start + int(visit.texts[text])
            if text == _TITLE and end > start and values[i] != 0:
                titles[count, 0], titles[count, 1], titles[count, 2] = i, start, end
                count += 1
            start = end
    return count, probes, redirects


@njit
def _bits(number: np.uint64) -> int:
    count = 0
    while number != 0:
        number &= number - np.uint64(1)
        count += 1
    return count


@allocating
def _add(
    memory: _Memory, visits: Visits, values: U64, titles: U64, page_origin: Array, origin_site: Array, alike: Bools
) -> None:
    """Compares contents only with pages before this tick, since the pages of a tick may have come at the same time;
    titles are compared one after the other."""
    n = len(visits)
    for i in range(n):
        site, value, found = visits[i].site, values[i], False
        if value != 0:
            for k in range(RECENT):
                before = memory.recent[site, k]
                found |= before != 0 and _bits(before ^ value) <= NEAR
        original = visits[i].duplicate_of
        if original != _NONE and visits[i].ask == _PAGE and visits[i].outcome <= _DUPLICATE:
            found |= origin_site[page_origin[original]] == site
        alike[i] = found
    for i in range(n):
        if titles[i] != 0:
            _compare_title(memory, visits[i].site, titles[i], values[i])
    places = np.empty(n, np.uint8)
    for i in range(n):
        if values[i] != 0:
            site = visits[i].site
            memory.recent[site, memory.place[site]] = values[i]
            places[i] = (memory.place[site] + 1) % RECENT
    for i in range(n):
        if values[i] != 0:
            memory.place[visits[i].site] = places[i]


@njit
def _compare_title(memory: _Memory, site: int, title: np.uint64, value: np.uint64) -> None:
    """Compares a title with that of the page before at its site."""
    before = memory.title[site]
    if before != 0 and title != before:
        memory.varied[site] = True
    elif before != 0 and _bits(value ^ memory.told[site]) > NEAR:
        memory.common[site] = title
    memory.title[site], memory.told[site] = title, value


@njit
def look_at(visits: Visits, telling: Bools, moved: Array, many: int, found: Bools) -> int:
    """Marks in `found` the pages that may be soft 404s: pages of sites with a useful probe answer (`telling`), and
    redirects of origins with `many` redirects to one target. Returns how many."""
    count = 0
    for i in range(len(visits)):
        visit = visits[i]
        found[i] = False
        if visit.ask == _PAGE:
            redirected = visit.outcome == _REDIRECT and visit.flags & _RESPELLED == 0
            suspected = telling[visit.site] or moved[visit.origin] >= many
            found[i] = (visit.outcome == _OK and telling[visit.site]) or (redirected and suspected)
            count += found[i]
    return count
