"""Clocks. Time is an argument: the loop runs on the monotonic clock, and wall time is only stored.

`monotonic()` is CLOCK_MONOTONIC: the same clock in every process of the machine, so the times of workers and desk can
be compared. It stands still while the machine is suspended.

`wall()` is seconds since 1970 by the crawl's own reckoning: the system time when the collection was first opened after
the machine was booted, plus the time that has passed since (CLOCK_BOOTTIME, which includes suspension). The collection
keeps a `Reckoning`, which is valid until the next boot. After a boot the system clock is believed again, unless it
shows less than the latest time in the collection.

Setting the system clock has no effect on it by itself, neither within a run nor between two runs. The crawl follows the
system clock only in a *correction* (`crawler/timekeeper.py`): then all stored times move with it.

Invariants, each a property test of the same name: wall time never goes back, in a run or between two; no site is
requested early, however the clock is set, the machine sleeps and the crawl is killed.

Nobody can know how long the machine was off. If it was rebooted and its clock was set forward in the meantime, stored
times pass early; the wait after a start holds even then.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, NamedTuple, Protocol

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
NOTABLE: Final = 1.0
"""Smallest change of the system clock that is reported and followed, in seconds."""
EARLIEST: Final = 1_577_836_800.0
"""2020-01-01: this program is younger, so a clock that shows less is wrong."""


class Reckoning(NamedTuple):
    """How wall time follows from the time since a boot."""

    boot: str
    """Identifier of the boot; empty if unknown, and then never equal to another."""
    ahead: float
    """Wall time of that boot, in seconds."""
    corrected: float = 0.0
    """Sum of the corrections that it contains. The state has such a sum, too: after a kill between the two, the
    difference is made up for."""


class Clock(Protocol):
    virtual: bool
    """Whether time passes only by calls: then nothing may depend on how long our own work takes."""

    def monotonic(self) -> float: ...
    def wall(self) -> float: ...

    @property
    def ahead(self) -> float:
        """Wall time minus the time since the boot, in seconds."""

    def shown(self) -> float:
        """The system time."""

    def go_on(self, before: Reckoning | None, least: float, corrected: float = 0.0) -> Reckoning:
        """Continues the wall time of former runs, whose latest time is `least` and whose corrections add up to
        `corrected`; returns the reckoning from now on."""

    def correct(self, seconds: float) -> Reckoning:
        """Moves wall time; the caller moves all stored times as far. Returns the reckoning from now on."""

    def ahead_of_wall(self) -> float:
        """How far the system clock is ahead of `wall`, in seconds."""

    def set_by(self) -> float | None:
        """How far the system clock is ahead of `wall`, in seconds; None if that is unchanged since the last call."""


class _Reckoned(ABC):
    """Wall time computed from one reading of the system clock and the time that has passed since."""

    def __init__(self) -> None:
        self._ahead = self.shown() - self.since_boot()
        self._told = self._corrected = 0.0

    @abstractmethod
    def shown(self) -> float:
        """The system time."""

    @abstractmethod
    def since_boot(self) -> float:
        """Seconds since the boot, including suspension."""

    @abstractmethod
    def boot(self) -> str: ...

    def wall(self) -> float:
        return self.since_boot() + self._ahead

    @property
    def ahead(self) -> float:
        return self._ahead

    def go_on(self, before: Reckoning | None, least: float, corrected: float = 0.0) -> Reckoning:
        same = before is not None and before.boot != "" and before.boot == self.boot()
        if before is not None and same:
            ahead = before.ahead + (corrected - before.corrected)
        else:
            ahead = self.shown() - self.since_boot()
        self._ahead, self._corrected = max(ahead, least - self.since_boot()), corrected
        return Reckoning(self.boot(), self._ahead, corrected)

    def correct(self, seconds: float) -> Reckoning:
        self._ahead += seconds
        self._corrected += seconds
        self._told -= seconds
        return Reckoning(self.boot(), self._ahead, self._corrected)

    def ahead_of_wall(self) -> float:
        return self.shown() - self.wall()

    def set_by(self) -> float | None:
        ahead = self.ahead_of_wall()
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


class DeskTime:
    """Wall time in a worker, by the desk's reckoning: so archive and tables say the same."""

    def __init__(self) -> None:
        self.ahead = RealClock().ahead
        """As in `Clock`. The desk sends its own, and sends it again after a correction."""

    def wall(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) + self.ahead


class VirtualClock(_Reckoned):
    """A clock that moves only by calls: simulations and tests run as fast as the processor allows."""

    virtual = True

    def __init__(self, monotonic: float = 1000.0, wall: float = 1_600_000_000.0) -> None:
        self._monotonic = self._since_boot = monotonic
        self._wall, self._boots = wall, 1
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
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds}")
        self._monotonic += seconds
        self._since_boot += seconds
        self._wall += seconds
