"""Time is an argument. The loop runs on the monotonic clock; wall time is only stored.

`monotonic()` is CLOCK_MONOTONIC: the same clock in every process of the machine, so a worker's times can be
compared with the desk's. `wall()` is seconds since 1970.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    virtual: bool
    """Time passes only when told to: nothing may then depend on how long our own work takes."""

    def monotonic(self) -> float: ...
    def wall(self) -> float: ...


class RealClock:
    virtual = False

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()


class VirtualClock:
    """A clock that only moves when told to: simulations and tests run at the speed of the processor."""

    virtual = True

    def __init__(self, monotonic: float = 1000.0, wall: float = 1_600_000_000.0) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        return self._monotonic

    def wall(self) -> float:
        return self._wall

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"time does not go back: advance({seconds})")
        self._monotonic += seconds
        self._wall += seconds
