"""Duplicates by content: a page with the text and links of an earlier page (thesis 7.2.3).

The table of digests maps the content of a page to the first page that had it. `mark_duplicates` adds to it before the
tick is written to the journal, so that the first of two equal pages of one tick is the original; `keep_contents` adds
the same entries when the tick is applied, live and at recovery.

The part `Copies` has the pages that duplicate a page of another site. When a site moves to another server (A.2.4), it
says which pages may no longer be duplicates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.compiled import njit
from gossamer.base.model import NONE, Outcome, State, VisitFlag
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Columns
from gossamer.desk.desk import Desk, Part
from gossamer.desk.table import Arrays, add_one
from gossamer.web.message import Results

_OK, _DUPLICATE, _DONE = int(Outcome.OK), int(Outcome.DUPLICATE), int(State.DONE)
_NO_ORIGINAL = int(VisitFlag.EMPTY | VisitFlag.NOINDEX)
_NONE = np.uint32(NONE)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def mark_duplicates(columns: Columns, results: Results, seed: int) -> None:
    """Marks the visits whose content an earlier page had: they are duplicates, and their links are not followed."""
    if _add_contents(columns.digests.arrays, results.visits, np.uint64(seed), True):
        columns.digests.give_back()


def keep_contents(columns: Columns, visits: Array, seed: int) -> None:
    """Adds the contents of these visits to the table of digests."""
    if _add_contents(columns.digests.arrays, visits, np.uint64(seed), False):
        columns.digests.give_back()


@njit
def _add_contents(digests: Arrays, visits: Array, seed: np.uint64, mark: bool) -> bool:
    """Returns whether the table may have grown. With `mark`, visits with a known content become duplicates."""
    added = False
    for i in range(len(visits)):
        visit = visits[i]
        if mark:
            visit.duplicate_of = _NONE
        if _can_be_repeated(visit):
            added = True
            first = add_one(digests, _content_key(visit.digest, seed), visit.page)
            if mark and first != visit.page and first != _NONE:
                visit.duplicate_of = first
                visit.outcome = _DUPLICATE
    return added


@njit
def _can_be_repeated(visit: Any) -> bool:
    """Whether another page can be a duplicate of this one: fetched whole, not almost empty, not excluded by noindex."""
    whole: bool = visit.digest != 0 and visit.outcome == _OK and visit.page != _NONE
    return whole and visit.flags & _NO_ORIGINAL == 0


@njit
def _content_key(digest: np.uint64, seed: np.uint64) -> np.uint64:
    """Mixes a digest with the collection's seed, so that nobody can prepare pages that crowd one part of the table."""
    key = digest ^ seed
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


class Copies(Part):
    """Pairs of an original page and a page of another site that duplicates it, in a growing array. A pair takes 8
    bytes. Pairs are only ever added: a reader checks whether the copy is still a duplicate."""

    name = "copies"
    needs = ("credits",)

    def __init__(self, desk: Desk) -> None:
        self._pairs = np.zeros(64, np.uint64)
        self._count = 0
        self._sorted = 0
        """Number of pairs when they were last sorted."""

    def arrays(self) -> dict[str, Array | Parts]:
        return {"credits": self._ordered()}

    def load(self, image: Image) -> None:
        pairs = image.array("credits")
        self._pairs, self._count, self._sorted = pairs.copy(), len(pairs), 0

    def add(self, originals: Array, copies: Array) -> None:
        """Adds pairs. When the array is full, repeated pairs, of pages that are fetched again, are dropped."""
        pairs = originals.astype(np.uint64) << _HALF | copies.astype(np.uint64)
        end = self._count + len(pairs)
        if end > len(self._pairs):
            pairs = np.unique(np.concatenate([self._pairs[: self._count], pairs]))
            self._pairs, end = np.zeros(max(64, len(pairs) * 3 // 2), np.uint64), len(pairs)
        self._pairs[end - len(pairs) : end] = pairs
        self._count = end

    def all(self) -> tuple[Array, Array]:
        """The originals, and the copy of each: sorted, each pair once."""
        pairs = self._ordered()
        return (pairs >> _HALF).astype(np.uint32), (pairs & _LOW).astype(np.uint32)

    def _ordered(self) -> Array:
        """The pairs: sorted, each once."""
        if self._sorted != self._count:
            kept = np.unique(self._pairs[: self._count])
            self._pairs[: len(kept)] = kept
            self._count = self._sorted = len(kept)
        return self._pairs[: self._count]


def note_copies(desk: Desk, applied: Applied) -> None:
    """Notes pages that duplicate a page of another site."""
    visits = applied.visits
    copies = visits[(visits["outcome"] == _DUPLICATE) & (visits["duplicate_of"] != NONE)]
    if len(copies):
        site_of, origin = desk.columns.origin.site, desk.columns.page.origin
        away = copies[site_of[origin[copies["duplicate_of"]]] != copies["site"]]
        desk[Copies].add(away["duplicate_of"], away["page"])


def inherit(desk: Desk, sites: list[int]) -> None:
    """After these sites have moved: the first copy of each of their pages becomes the original."""
    originals, copies = _credited(desk, sites)
    if len(originals):
        heir = np.full(desk.columns.page.count, NONE, np.uint32)
        heir[originals[::-1]] = copies[::-1]  # the first of several copies
        for cells in desk.columns.digests.cells():
            used = np.flatnonzero(cells["key"] != 0)
            heirs = heir[cells["number"][used]]
            cells["number"][used[heirs != NONE]] = heirs[heirs != NONE]


def duplicates_of(desk: Desk, sites: list[int]) -> Array:
    """Pages that are duplicates of pages of these sites, and pages of these sites that are duplicates. One pass over
    all pages."""
    page = desk.columns.page
    duplicates = np.flatnonzero(page.outcome[: page.count] == _DUPLICATE)
    found: Array = np.union1d(duplicates[_are_of(desk, sites, duplicates)], _credited(desk, sites)[1])
    may_be_opened: Array = (page.state[found] == _DONE) & (page.reason[found] == 0)
    return found[may_be_opened]


def _are_of(desk: Desk, sites: list[int], pages: Array) -> Array:
    """Which of the pages belong to these sites."""
    among = np.zeros(desk.columns.site.count, np.bool_)
    among[sites] = True
    found: Array = among[desk.columns.origin.site[desk.columns.page.origin[pages]]]
    return found


def _credited(desk: Desk, sites: list[int]) -> tuple[Array, Array]:
    """Pages of these sites, each with a page of another site that still counts as its duplicate."""
    originals, copies = desk[Copies].all()
    found = _are_of(desk, sites, originals)
    found[found] = desk.columns.page.outcome[copies[found]] == _DUPLICATE
    return originals[found], copies[found]
