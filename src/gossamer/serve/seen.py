"""What the server remembers of a collection between two questions, so that many who look cost as much as one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeVar, cast

T = TypeVar("T")

POINTS: Final = 300
"""Points of time that charts of the last minutes have, at most."""
MOST: Final = 64
"""Things that are kept: what was asked for longest ago is forgotten first."""
IDLE: Final = 300.0
"""Seconds after which a thing is forgotten that nobody has asked for."""
SHARE: Final = 0.05
"""Part of its time that the server may spend on making one thing again and again."""

Point = tuple[float, float, float, float]
"""Wall time, visits and bytes in a second, open connections."""


class Seen:
    """Any thread may use it. Invariant, a test of the same name: a thing is made once, however many ask for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept = OrderedDict[str, _Kept]()
        self._all, self.lock = threading.Lock(), threading.Lock()
        """Of the things that are kept; and of the tables, which answer one question at a time."""
        self.lately = deque[Point](maxlen=POINTS)

    def once(self, key: str, seconds: float, make: Callable[[], T]) -> T:
        """The thing of that name: made now, unless it was made less than `seconds` ago. What takes long to make is kept
        longer. An error is not kept."""
        kept = self._of(key)
        with kept.lock:
            begun = self._clock()
            if not kept.made or begun >= kept.until:
                thing = make()
                now = self._clock()
                kept.thing, kept.made, kept.until = thing, True, now + max(seconds, (now - begun) / SHARE)
            return cast(T, kept.thing)

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
    """A thing, and until when it is kept."""

    __slots__ = ("asked", "lock", "made", "thing", "until")

    def __init__(self) -> None:
        self.lock, self.made, self.until, self.asked = threading.Lock(), False, 0.0, 0.0
        self.thing: object = None
