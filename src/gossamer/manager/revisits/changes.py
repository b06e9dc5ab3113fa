"""What is kept of the changes of each page: 18 bytes for a fetched page, enough to estimate its rate of change.

A visit compares the page with the copy of the visit before. An interval in which it did not change adds its length to
`unchanged`: for a Poisson process, nothing else of such intervals matters. An interval in which it changed, once or
more often, is counted at one of thirteen lengths, the `NODES`, from five minutes to five years: at one of the two
nearest, each with the probability that makes the mean of the logarithms right, and so, nearly, the likelihood. When
intervals were counted by classes instead, at the mean length of all that fell into a class, predictions were wrong by
up to eight points of a hundred: the intervals of one page are alike, all of them longer than that mean, or shorter.

Habits change: a page that was busy for a year may rest for the next ten. So observations fade, by a factor of e in
`HABIT` seconds. Counts are whole numbers; the fraction of a faded count is rounded up with just that probability. What
has a probability is decided by a hash of page and interval, so that a replay finds the same.

Invariants, each a test of the same name:

- Counts never wrap around.
- Faded counts are right on average.
- Fading is the same in a replay.
- The lengths of changed intervals are right on average.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U8, U64, Array, Bools, Integers

CLASSES: Final = 13
_FIRST, _WIDTH = 300.0, 3.0
NODES: Final = _FIRST * _WIDTH ** np.arange(CLASSES)
"""Seconds; shorter intervals count as the first of these, longer ones as the last."""
MOST: Final = 255
HABIT: Final = 5 * 365 * 86_400.0
"""Seconds. Measured on 25 years of two sites: without it, pages that were once busy are given up for good, and within a
budget of 0.2 visits for each change the freshness is 0.63 in place of 0.70 (uniform visits: 0.71)."""


class Changes(NamedTuple):
    """The columns, one row for each page."""

    unchanged: F32
    """Seconds in which a visit found no change."""
    changed: U8
    """Intervals in which the page changed, at their lengths: `CLASSES` for each page."""
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


def node_of(seconds: F64, mixed: U64) -> Integers:
    """The node at which each of these intervals counts."""
    place = np.clip(np.log(np.maximum(seconds, 1.0) / _FIRST) / np.log(_WIDTH), 0, CLASSES - 1)
    found: Integers = np.floor(place + _fractions(mixed * _ODD[0])).astype(np.intp)
    return np.minimum(found, CLASSES - 1)


def _fractions(mixed: U64) -> F64:
    return np.asarray((mixed >> np.uint64(40)) * 2.0**-24)


def observe(changes: Changes, pages: Array, seconds: F64, changed: Bools) -> None:
    """Adds one comparison for each of these pages, which are all different: the time since the copy before, and whether
    the page has changed in it."""
    kept = np.exp(-seconds / HABIT)
    changes.unchanged[pages] *= kept.astype(np.float32)
    mixed = _mixed(pages, seconds)
    changes.changed[pages] = _faded(changes.changed[pages], kept, mixed)
    same, other = pages[~changed], pages[changed]
    changes.unchanged[same] += seconds[~changed].astype(np.float32)
    nodes = node_of(seconds[changed], mixed[changed])
    changes.changed[other, nodes] += changes.changed[other, nodes] < MOST
    changes.visits[pages] = np.minimum(changes.visits[pages], np.uint8(MOST - 1)) + np.uint8(1)


def _faded(counts: U8, kept: F64, mixed: U64) -> U8:
    scaled = counts * kept[:, None]
    whole = np.floor(scaled)
    chance = _fractions(mixed[:, None] * _ODD[np.arange(1, CLASSES + 1)])
    return (whole + (chance < scaled - whole)).astype(np.uint8)


def _mixed(pages: Array, seconds: F64) -> U64:
    """A hash of page and interval."""
    mixed = pages.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ seconds.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(29))
