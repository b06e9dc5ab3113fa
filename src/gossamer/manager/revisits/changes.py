"""What is kept of the changes of each page: 18 bytes for a fetched page, enough to estimate its rate of change.

A visit compares the page with the copy of the visit before. An interval in which it did not change adds its length to
`unchanged`: for a Poisson process, nothing else of such intervals matters. An interval in which it changed, once or
more often, is counted by its length, in classes of a factor of `WIDTH` (`SHORTEST` to nine years). The likelihood of a
rate needs the lengths themselves; the mean length of each class, which is kept once for all pages, comes close: within
0.03 in the logarithm of the rate after twenty visits.

Habits change: a page that was busy for a year may rest for the next ten. So observations fade, by a factor of e in
`HABIT` seconds. Counts are whole numbers; the fraction of a faded count is rounded up with just that probability, by a
hash of page and interval, so that a replay finds the same.

Invariants, each a test of the same name:

- Counts never wrap around.
- Faded counts are right on average.
- Fading is the same in a replay.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U8, U64, Array, Bools, Integers

CLASSES: Final = 13
WIDTH: Final = 2.6
"""Ratio of the longest and the shortest interval of a class."""
SHORTEST: Final = 1200.0
"""Seconds; shorter intervals count in the first class, whose lengths end at `WIDTH` times this."""
MOST: Final = 255
HABIT: Final = 5 * 365 * 86_400.0
"""Seconds. Measured on 25 years of two sites: without it, pages that were once busy are given up for good, and within a
budget of 0.2 visits for each change the freshness is 0.63 in place of 0.70 (uniform visits: 0.71)."""


class Changes(NamedTuple):
    """The columns, one row for each page."""

    unchanged: F32
    """Seconds in which a visit found no change."""
    changed: U8
    """Intervals in which the page changed, by class of their length: `CLASSES` for each page."""
    visits: U8
    """Comparisons with the copy of the visit before; stays at `MOST`."""

    def of(self, pages: slice | I64) -> Changes:
        """The rows of these pages."""
        return Changes(self.unchanged[pages], self.changed[pages], self.visits[pages])

    @staticmethod
    def none(pages: int) -> Changes:
        return Changes(np.zeros(pages, np.float32), np.zeros((pages, CLASSES), np.uint8), np.zeros(pages, np.uint8))


BYTES: Final = 4 + CLASSES + 1
"""Bytes of a page."""


_ODD: Final = np.arange(1, 2 * CLASSES + 3, dtype=np.uint64) * np.uint64(0x632BE59BD9B4E019) | np.uint64(1)


class Lengths:
    """The mean length of the changed intervals in each class, over all pages: in seconds, geometric."""

    def __init__(self, logs: F64 | None = None, counts: F64 | None = None) -> None:
        """In these arrays, if any are given; they hold lengths already if any count is not 0."""
        self._logs, self._counts = np.zeros(CLASSES) if logs is None else logs, np.zeros(CLASSES)
        self._counts = self._counts if counts is None else counts
        if not self._counts.any():
            self._logs[:] = np.log(SHORTEST) + np.log(WIDTH) * (np.arange(CLASSES) + 0.5)
            self._counts[:] = 1

    def add(self, classes: Integers, seconds: F64) -> None:
        counts = np.bincount(classes, minlength=CLASSES)
        sums = np.bincount(classes, np.log(np.maximum(seconds, 1.0)), minlength=CLASSES)
        self._counts += counts
        self._logs += (sums - counts * self._logs) / self._counts

    @property
    def seconds(self) -> F64:
        found: F64 = np.exp(self._logs)
        return found


def class_of(seconds: F64) -> Integers:
    """The class of intervals of these lengths."""
    with np.errstate(divide="ignore"):
        found: Integers = np.clip(np.floor(np.log(seconds / SHORTEST) / np.log(WIDTH)), 0, CLASSES - 1).astype(np.intp)
    return found


def observe(changes: Changes, lengths: Lengths, pages: Array, seconds: F64, changed: Bools) -> None:
    """Adds one comparison for each of these pages, which are all different: the time since the copy before, and whether
    the page has changed in it."""
    kept = np.exp(-seconds / HABIT)
    changes.unchanged[pages] *= kept.astype(np.float32)
    changes.changed[pages] = _faded(changes.changed[pages], kept, _mixed(pages, seconds))
    same, other = pages[~changed], pages[changed]
    changes.unchanged[same] += seconds[~changed].astype(np.float32)
    classes = class_of(seconds[changed])
    changes.changed[other, classes] += changes.changed[other, classes] < MOST
    lengths.add(classes, seconds[changed])
    changes.visits[pages] = np.minimum(changes.visits[pages], np.uint8(MOST - 1)) + np.uint8(1)


def _faded(counts: U8, kept: F64, mixed: U64) -> U8:
    scaled = counts * kept[:, None]
    whole = np.floor(scaled)
    chance = (mixed[:, None] * _ODD[np.arange(1, CLASSES + 1)] >> np.uint64(40)) * 2.0**-24
    return (whole + (chance < scaled - whole)).astype(np.uint8)


def _mixed(pages: Array, seconds: F64) -> U64:
    """A hash of page and interval."""
    mixed = pages.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ seconds.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(29))
