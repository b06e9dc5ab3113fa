"""What the server remembers of a collection between two questions, so that many who look cost as much as one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeVar, cast

T = TypeVar("T")

POINTS: Final = 300
"""Maximum number of points in the charts of the last minutes."""
MOST: Final = 64
"""Maximum number of things that are kept: the least recently used one is dropped first."""
IDLE: Final = 300.0
"""Seconds after which an unused thing is dropped."""
SHARE: Final = 0.05
"""Share of its time that the server may spend on making one thing again."""

Point = tuple[float, float, float, float]
"""Wall time, visits and bytes per second, open connections."""


class Seen:
    """A cache for any thread. Invariant, a test of the same name: a thing is made once, however many ask for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept = OrderedDict[str, _Kept]()
        self._all, self.lock = threading.Lock(), threading.Lock()
        """One lock for the cache; one for the tables, which answer one question at a time."""
        self.lately = deque[Point](maxlen=POINTS)

    def once(self, key: str, seconds: float, make: Callable[[], T]) -> T:
        """The thing with this key: made now, unless it was made less than `seconds` ago. What takes long to make is
        kept longer. An error is not kept."""
        kept = self._of(key)
        with kept.lock:
            begun = self._clock()
            if not kept.made or begun >= kept.until:
                thing = make()
                now = self._clock()
                kept.thing, kept.made, kept.until = thing, True, now + max(seconds, (now - begun) / SHARE)
            return cast(T, kept.thing)

    def forget(self, *keys: str) -> None:
        """These things are made anew when they are next asked for: an order has changed them."""
        with self._all:
            for key in keys:
                self._kept.pop(key, None)

    def _of(self, key: str) -> _Kept:
        with self._all:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            kept.asked = now = self._clock()
            first = next(iter(self._kept))
            while len(self._kept) > MOST or self._kept[first].asked < now - IDLE:
                del self._kept[first]
                first = next(iter(self._kept))
            return kept


class _Kept:
    """A cached thing, and when it expires."""

    __slots__ = ("asked", "lock", "made", "thing", "until")

    def __init__(self) -> None:
        self.lock, self.made, self.until, self.asked = threading.Lock(), False, 0.0, 0.0
        self.thing: object = None
