"""Steers the scale on which re-visits compete with new pages in a continuous crawl (`revisits/scale.py`).

The scale is steered so that `manager.new_share` of the requests goes to new pages. Each plan compares the pages at the
depth to which plans were used lately: the scale makes the two kinds meet there in the wanted proportion. What was
requested since then corrects it: sites, not plans, have the last word on what is requested. Neither kind gets less than
a fiftieth of a plan; what one kind cannot use, because too few of its pages are due, goes to the other by itself.

Policies that only order new pages (`strategies.AT_LAST`) give them no numbers to compare with. There the scale is the
number of the last re-visit that has a turn: such pages come before all new ones, the others after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F32, I64, Array, Bools
from gossamer.manager.policies import PageArrays
from gossamer.manager.profit import AGAIN, NEW, appraise
from gossamer.manager.strategies import AT_LAST
from gossamer.manager.value import Terms

SAMPLE: Final = 1 << 15
"""Number of pages in a sample."""
_LIFT: Final = 60.0
"""Under `AT_LAST`: the logarithm by which numbers are raised, so that all of them are at least 1."""
_LEAST: Final = 0.02
"""Neither kind gets less of a plan."""
_DEPTH: Final = 64
"""Least depth at which the kinds are compared."""
_ENOUGH, _GAIN, _MOST = 5, 1.0, 12.0
"""The correction changes by `_GAIN` times the missing share with each plan; by less, if a plan brought
fewer requests than `_ENOUGH`."""


@dataclass(slots=True)
class Steering:
    """Finds the scale of each plan."""

    share: float
    """`manager.new_share`."""
    correction: float = 0.0
    depth: float = 0.0
    """Requests from a plan lately; 0: not known yet."""
    asked: tuple[int, int] = (0, 0)
    """Requests until the last plan: for new pages, and for others."""

    def heed(self, asked: tuple[int, int], due_new: int, due_again: int) -> None:
        """What was requested until now. The last plan had so many pages of both kinds to choose from."""
        (new, again), self.asked = (now - before for now, before in zip(asked, self.asked, strict=True)), asked
        total = new + again
        if total == 0:
            return
        self.depth = float(total) if self.depth == 0 else 0.7 * self.depth + 0.3 * total
        if min(due_new, due_again) < total:
            self.correction *= 0.9  # one kind gave all it had, and the other took the rest
            return
        missing = self.share - new / total
        change = _GAIN * missing * min(1.0, total / _ENOUGH)
        self.correction = min(_MOST, max(-_MOST, self.correction + change))

    def scale(self, new: F32, again: F32, each: float, batch: int) -> float:
        """The logarithm by which the numbers of re-visits are divided, from the scores of sampled pages of both kinds;
        each stands for `each` pages, and those of re-visits are not divided yet."""
        new, again = new[new > 0], again[again > 0]
        if not len(new) or not len(again):
            return 0.0
        for_new, for_again = self._depths(each, batch)
        return float(np.log(_at(again, for_again)) - np.log(_at(new, for_new))) + self.correction

    def turn(self, again: F32, each: float, batch: int) -> float:
        """The logarithm of the number of the last re-visit that has a turn, where new pages have no numbers."""
        return float(np.log(_at(again, self._depths(each, batch)[1]))) + self.correction if len(again) else 0.0

    def _depths(self, each: float, batch: int) -> tuple[float, float]:
        """How many sampled pages of both kinds are requested from a plan."""
        depth = min(float(batch), max(_DEPTH, self.depth)) / each
        share = min(1 - _LEAST, max(_LEAST, self.share))
        return share * depth, (1 - share) * depth


def _at(values: Array, depth: float) -> float:
    """The value at this depth, if the largest come first."""
    place = min(len(values) - 1, max(0, int(depth)))
    return float(np.partition(values, len(values) - 1 - place)[len(values) - 1 - place])


def scale_of(
    pages: PageArrays, known: int, suspended: Bools, terms: Terms, batch_size: int, steering: Steering
) -> float:
    """The scale of re-visits, from a sample of all pages."""
    stride = max(1, known // SAMPLE)
    sample = sampled(known, stride)
    sample = sample[~suspended[pages.site[pages.origin[sample]]]]
    ways, scores = np.zeros(len(sample), np.uint8), np.empty(len(sample), np.float32)
    at_last = terms.code in AT_LAST
    lifted = terms.scaled(-_LIFT if at_last else 0.0)
    appraise(columns_of(pages, sample), lifted, 0, len(sample), ways, scores, np.zeros(4))
    new, again = scores[ways == NEW], scores[ways == AGAIN]
    if at_last:
        return steering.turn(again, float(stride), batch_size) - _LIFT
    return steering.scale(new, again, float(stride), batch_size)


def columns_of(pages: PageArrays, some: I64) -> PageArrays:
    """The columns of some pages."""
    return PageArrays._make([*(column[some] for column in pages[:-3]), *pages[-3:]])


def sampled(known: int, stride: int) -> I64:
    """One pseudo-random page of every `stride` pages."""
    i = np.arange(known // stride, dtype=np.uint64)
    noise = (i * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (i * np.uint64(stride) + noise % np.uint64(stride)).astype(np.int64)
