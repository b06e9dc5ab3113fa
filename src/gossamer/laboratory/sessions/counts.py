"""What is kept of the sessions of a log: counts by level, length and depth, not the sessions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U8, U64
from gossamer.laboratory.sessions.trace import ACTIONS, COUNTS, LEVELS, Sessions

LONGEST: Final = 1_000
"""Visits of a session that are told apart; longer ones count as the longest."""
PAGES: Final = 1 << 20
"""Different pages that are held; of more, a sample."""


class Sample:
    """Different pages with the number of directories that each is in: all of them, or those of the smallest numbers.
    These are a fair sample, as the numbers of pages are as good as random."""

    def __init__(self, most: int = PAGES) -> None:
        self._most = most
        self.page, self.directories = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        self._below = np.uint64(2**64 - 1)

    def add(self, page: U64, directories: U8) -> None:
        kept = page <= self._below
        page, at = np.unique(np.concatenate([self.page, page[kept]]), return_index=True)
        self.page, self.directories = page, np.concatenate([self.directories, directories[kept]])[at]
        if len(page) > self._most:
            self._below = page[self._most // 2]
            self.page, self.directories = page[: self._most // 2 + 1], self.directories[: self._most // 2 + 1]

    @property
    def by_directories(self) -> F64:
        """How many pages are in so many directories; estimated, if there are more than are held."""
        return np.asarray(np.bincount(self.directories) * (float(2**64) / (float(self._below) + 1)), np.float64)


def _levels() -> I64:
    return np.zeros((2, LEVELS), np.int64)


@dataclass
class Counts:
    """Counts of sessions. The first axis of most: half of the clients each."""

    visits: I64 = field(default_factory=_levels)
    """By level."""
    actions: I64 = field(default_factory=lambda: np.zeros((2, LEVELS, len(ACTIONS)), np.int64))
    lengths: I64 = field(default_factory=lambda: np.zeros((2, LONGEST + 1), np.int64))
    """Sessions by number of visits."""
    depths: I64 = field(default_factory=_levels)
    """Sessions by their deepest level."""
    depth_by_length: I64 = field(default_factory=lambda: np.zeros(LONGEST + 1, np.int64))
    """Sum of the depths of the sessions of each length."""
    home: int = 0
    """Sessions that began at the home page."""
    told: I64 = field(default_factory=lambda: np.zeros(COUNTS, np.int64))
    visited: int = 0
    """Sum of the visits of all sessions."""
    pages: Sample = field(default_factory=Sample)
    entries: Sample = field(default_factory=Sample)

    @property
    def sessions(self) -> int:
        return int(self.lengths.sum())

    @property
    def length(self) -> float:
        return self.visited / max(1, self.sessions)

    @property
    def depth(self) -> float:
        """Mean of the deepest levels."""
        return float((self.depths.sum(0) @ np.arange(LEVELS)) / max(1, self.sessions))

    @property
    def cumulated(self) -> F64:
        """Share of the visits up to each level."""
        total = self.visits.sum(0)
        return np.cumsum(total) / max(1, int(total.sum()))

    def depth_for(self, share: float) -> int:
        """The least depth up to which this share of the visits lies."""
        return int(np.argmax(self.cumulated >= share - 1e-12))

    @property
    def deepest(self) -> int:
        return int(np.flatnonzero(self.visits.sum(0))[-1]) if self.visits.any() else 0

    def add(self, found: Sessions) -> None:
        lengths = np.minimum(found.views, LONGEST)
        half = found.fold.astype(np.int64)
        np.add.at(self.lengths, (half, lengths), 1)
        np.add.at(self.depths, (half, found.depth), 1)
        np.add.at(self.depth_by_length, lengths, found.depth)
        self.visited += int(found.views.sum())
        self.visits += found.visits
        self.actions += found.actions
        self.told += found.counts
