"""When a page changes: a pure function of its key, computed for any time without what was before.

Time is divided into blocks of whole weeks in which a page changes four times on average, or more often. The changes of
a block come from dice of the block's own, so that any time can be asked about at once, in any order, by any process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, log
from typing import Final, NamedTuple

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.life.habits import DAY, Rhythm

WEEK: Final = 7 * DAY
MONDAY: Final = 4 * DAY
"""The first Monday after 1 January 1970."""
FASTEST: Final = 1 / 1800
"""Changes per second that no page exceeds: the dice of a block have to be thrown one by one."""
_IN_A_BLOCK: Final = 4
_OFFICE, _SHARE = (9.0, 19.0), 0.8
_BURST, _APART = 5, 3600.0


class Beat(NamedTuple):
    """A change of a page."""

    time: float
    """Seconds of the life of the Web since 1970."""
    major: bool
    """Text and links change; otherwise date and counter alone."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """The changes of a page.

    Invariants, each a test of the same name: the schedule is the same whatever the order of questions; the changes of
    an interval are those of its parts.
    """

    seed: int
    key: str
    rate: float
    """Changes per second."""
    rhythm: Rhythm = Rhythm.STEADY
    minor: float = 0.3
    """Share of the changes that are minor; below 1."""

    @property
    def length(self) -> float:
        """Seconds of a block."""
        return WEEK * max(1, ceil(_IN_A_BLOCK / (self.rate * WEEK)))

    def last(self, at: float, major: bool = False) -> Beat:
        """The last change, or the last major one, at or before a time."""
        block = floor(at / self.length)
        while True:
            for beat in reversed(_beats(self, block)):
                if beat.time <= at and (beat.major or not major):
                    return beat
            block -= 1

    def between(self, begin: float, end: float) -> Iterator[Beat]:
        """The changes after `begin`, up to `end`."""
        for block in range(floor(begin / self.length), floor(end / self.length) + 1):
            yield from (beat for beat in _beats(self, block) if begin < beat.time <= end)


@lru_cache(1 << 16)
def _beats(pulse: Pulse, block: int) -> tuple[Beat, ...]:
    dice, start = Dice(pulse.seed, "pulse", pulse.key, block), block * pulse.length
    mean = min(pulse.rate, FASTEST) * pulse.length
    bursts = pulse.rhythm is Rhythm.BURSTS
    times = [start + pulse.length * dice.unit() for _ in range(_poisson(dice, mean / (_BURST if bursts else 1)))]
    if bursts:
        times = [time for first in times for time in _burst(dice, first)]
    elif pulse.rhythm is Rhythm.OFFICE:
        times = [_at_work(dice, time, start) if dice.chance(_SHARE) else time for time in times]
    inside = sorted({time for time in times if time < start + pulse.length})
    return tuple(Beat(time, not dice.chance(pulse.minor)) for time in inside)


def _poisson(dice: Dice, mean: float) -> int:
    count, product, end = 0, dice.unit(), exp(-mean)
    while product > end:
        count, product = count + 1, product * dice.unit()
    return count


def _burst(dice: Dice, first: float) -> list[float]:
    times = [first]
    while dice.chance(1 - 1 / _BURST):
        times.append(times[-1] - _APART * log(1 - dice.unit()))
    return times


def _at_work(dice: Dice, time: float, start: float) -> float:
    """A time in the business hours of the same week of the block, which begins on a Thursday as 1970 did."""
    week = start + (time - start) // WEEK * WEEK
    hour = _OFFICE[0] + (_OFFICE[1] - _OFFICE[0]) * dice.unit()
    day = (MONDAY + dice.below(5) * DAY) % WEEK
    return week + day + hour * 3600
