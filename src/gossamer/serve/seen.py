"""What the server remembers of a collection between two questions, so that many who look cost as much as one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

POINTS: Final = 300
"""Points of time that charts of the last minutes have, at most."""
SHARE: Final = 0.05
"""Part of its time that the server may spend on making one thing again and again."""

Point = tuple[float, float, float, float]
"""Wall time, visits and bytes in a second, open connections."""


class Seen:
    """Any thread may use it. Invariant, a test of the same name: a thing is made once, however many ask for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, object]] = {}
        """Until when a thing is kept, and the thing."""
        self._locks: dict[str, threading.Lock] = {}
        self.lately = deque[Point](maxlen=POINTS)

    def once(self, key: str, seconds: float, make: Callable[[], T]) -> T:
        """The thing of that name: made now, unless it was made less than `seconds` ago. What takes long to make is kept
        longer. An error is not kept."""
        with self._locks.setdefault(key, threading.Lock()):
            until, thing = self._kept.get(key, (0.0, cast(Any, None)))
            begun = self._clock()
            if key not in self._kept or begun >= until:
                thing = make()
                now = self._clock()
                self._kept[key] = now + max(seconds, (now - begun) / SHARE), thing
            return cast(T, thing)
