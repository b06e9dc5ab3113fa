"""Time is an argument. The loop runs on the monotonic clock; wall time is only stored.

`monotonic()` is CLOCK_MONOTONIC: the same clock in every process of the machine, so a worker's times can be
compared with the desk's. It stands still while the machine sleeps.

`wall()` is seconds since 1970 by the crawl's own reckoning: what the clock on the wall showed when the collection was
first opened since the machine was booted, and the time that has passed since (CLOCK_BOOTTIME, sleep included). Setting
the clock moves it neither in a run nor between two: a `Reckoning` is kept in the collection, and holds until the next
boot. Then the clock on the wall is believed again, but not when it shows less than the last time in the collection.

Invariants, each a property test of the same name:

- wall time never goes back, in a run or between two
- no site is asked early, however the clock is set, the machine sleeps and the crawl is killed

What cannot be known: how long the machine was off. Where it was booted and its clock was set forward meanwhile, stored
times pass early; the wait after a start holds even then.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, NamedTuple, Protocol

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
NOTABLE: Final = 1.0
"""Seconds by which a clock is set before anybody is told."""


class Reckoning(NamedTuple):
    """How wall time follows from the time since a boot."""

    boot: str
    """Which boot; empty: not known, and never the same."""
    ahead: float
    """Seconds of wall time at that boot."""


class Clock(Protocol):
    virtual: bool
    """Time passes only when told to: nothing may then depend on how long our own work takes."""

    def monotonic(self) -> float: ...
    def wall(self) -> float: ...

    def go_on(self, before: Reckoning | None, least: float) -> Reckoning:
        """Wall time goes on where a former run left it, which saw `least`; returns how it is reckoned from now on."""

    def set_by(self) -> float | None:
        """Seconds by which the clock on the wall is ahead of `wall`, if that has changed since it was last asked."""


class _Reckoned(ABC):
    """Wall time from what the clock on the wall showed once, and the time since."""

    def __init__(self) -> None:
        self._ahead = self.shown() - self.since_boot()
        self._told = 0.0

    @abstractmethod
    def shown(self) -> float:
        """By the clock on the wall."""

    @abstractmethod
    def since_boot(self) -> float:
        """Seconds, those that the machine slept included."""

    @abstractmethod
    def boot(self) -> str: ...

    def wall(self) -> float:
        return self.since_boot() + self._ahead

    def go_on(self, before: Reckoning | None, least: float) -> Reckoning:
        same = before is not None and before.boot != "" and before.boot == self.boot()
        ahead = before.ahead if before is not None and same else self.shown() - self.since_boot()
        self._ahead = max(ahead, least - self.since_boot())
        return Reckoning(self.boot(), self._ahead)

    def set_by(self) -> float | None:
        ahead = self.shown() - self.wall()
        if abs(ahead - self._told) <= NOTABLE:
            return None
        self._told = ahead
        return ahead


class RealClock(_Reckoned):
    virtual = False

    def monotonic(self) -> float:
        return time.monotonic()

    def shown(self) -> float:
        return time.time()

    def since_boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot(self) -> str:
        try:
            return _BOOT.read_text().strip()
        except OSError:
            return ""


class VirtualClock(_Reckoned):
    """A clock that only moves when told to: simulations and tests run at the speed of the processor."""

    virtual = True

    def __init__(self, monotonic: float = 1000.0, wall: float = 1_600_000_000.0) -> None:
        self._monotonic = self._since_boot = monotonic
        self._wall = wall
        self._boots = 1
        super().__init__()

    def monotonic(self) -> float:
        return self._monotonic

    def shown(self) -> float:
        return self._wall

    def since_boot(self) -> float:
        return self._since_boot

    def boot(self) -> str:
        return f"virtual {self._boots}"

    def advance(self, seconds: float) -> None:
        self._monotonic += _forward(seconds)
        self._since_boot += seconds
        self._wall += seconds

    def sleep(self, seconds: float) -> None:
        """The machine is suspended: its monotonic clock stands still."""
        self._since_boot += _forward(seconds)
        self._wall += seconds

    def set(self, seconds: float) -> None:
        """The clock on the wall is set forward, or back."""
        self._wall += seconds

    def reboot(self, seconds: float) -> None:
        """The machine is off for a while. Monotonic time is not compared between boots: here it goes on."""
        self._wall += _forward(seconds)
        self._since_boot = 0.0
        self._boots += 1
        _Reckoned.__init__(self)


def _forward(seconds: float) -> float:
    if seconds < 0:
        raise ValueError(f"time does not go back: {seconds}")
    return seconds
