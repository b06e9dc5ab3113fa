"""Cross-site duplicates: pairs of an original page and a page of another site that duplicates it.

A pair takes 8 bytes. Pairs are only ever added: a reader checks whether the copy is still a duplicate. When a site
moves to another server (A.2.4), the pairs say which pages may no longer be duplicates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE, State
from gossamer.base.outcomes import Outcome
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk, Part

Array = npt.NDArray[Any]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_DUPLICATE, _DONE = int(Outcome.DUPLICATE), int(State.DONE)


class Credits:
    """The pairs, in a growing array."""

    def __init__(self) -> None:
        self._pairs = np.zeros(64, np.uint64)
        self._count = 0
        self._sorted = 0
        """Number of pairs when they were last sorted."""

    def add(self, originals: Array, copies: Array) -> None:
        pairs = originals.astype(np.uint64) << _HALF | copies.astype(np.uint64)
        if self._count + len(pairs) > len(self._pairs):
            self._grow(pairs)
        else:
            self._pairs[self._count : self._count + len(pairs)] = pairs
            self._count += len(pairs)

    def _grow(self, pairs: Array) -> None:
        """Adds pairs when the array is full. Repeated pairs, of pages that are fetched again, are dropped."""
        kept = np.unique(np.concatenate([self._pairs[: self._count], pairs]))
        self._pairs = np.zeros(max(64, len(kept) * 3 // 2), np.uint64)
        self._pairs[: len(kept)] = kept
        self._count = len(kept)

    def all(self) -> tuple[Array, Array]:
        """The originals, and the copy of each: sorted, each pair once."""
        pairs = self.dump()
        return (pairs >> _HALF).astype(np.uint32), (pairs & _LOW).astype(np.uint32)

    def dump(self) -> Array:
        """The pairs: sorted, each once."""
        if self._sorted != self._count:
            kept = np.unique(self._pairs[: self._count])
            self._pairs[: len(kept)] = kept
            self._count = self._sorted = len(kept)
        return self._pairs[: self._count]

    def load(self, pairs: Array) -> None:
        self._pairs, self._count, self._sorted = pairs.copy(), len(pairs), 0


class Copies(Part):
    """The cross-site duplicates, as a part of the desk."""

    name = "copies"
    needs = ("credits",)

    def __init__(self, desk: Desk) -> None:
        self.credits = Credits()

    def arrays(self) -> dict[str, Array | Parts]:
        return {"credits": self.credits.dump()}

    def load(self, image: Image) -> None:
        self.credits.load(image.array("credits"))


def note_copies(desk: Desk, applied: Applied) -> None:
    """Notes pages that duplicate a page of another site."""
    visits = applied.visits
    copies = visits[(visits["outcome"] == _DUPLICATE) & (visits["duplicate_of"] != NONE)]
    if len(copies):
        site_of, origin = desk.columns.origin.site, desk.columns.page.origin
        away = copies[site_of[origin[copies["duplicate_of"]]] != copies["site"]]
        desk[Copies].credits.add(away["duplicate_of"], away["page"])


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
    originals, copies = desk[Copies].credits.all()
    found = _are_of(desk, sites, originals)
    found[found] = desk.columns.page.outcome[copies[found]] == _DUPLICATE
    return originals[found], copies[found]
