"""Keys of orders: who sends an order again under the same key gets the answer of the first time, and nothing is done.

A key is sent as `Idempotency-Key`, or by a form. What is remembered ends with the server; orders that stay are known to
the crawl by their keys, whatever server they came through (`collection/steering.py`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gossamer.base.errors import UsageError

MOST: Final = 1_000
LONGEST: Final = 100
"""Characters of a key."""


class KeyUsedError(UsageError):
    """The key was used for another order."""


class Answers:
    """Any thread may use it. Invariant, a test of the same name: an order with a key is carried out once."""

    def __init__(self) -> None:
        self._kept = OrderedDict[str, _Kept]()
        self._lock = threading.Lock()

    def once(self, key: str, order: str, carry_out: Callable[[], object]) -> object:
        """The answer to the order. An error is not kept. KeyUsedError if the key was used for another order."""
        if not key:
            return carry_out()
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        with kept.lock:
            if kept.answer is None:
                kept.answer, kept.order = carry_out(), order
            elif kept.order != order:
                raise KeyUsedError("this key was used for another order", "Use a new key for each order.")
            return kept.answer

    def of(self, key: str) -> object | None:
        """What was answered under this key."""
        with self._lock:
            kept = self._kept.get(key)
        return None if kept is None else kept.answer


class _Kept:
    __slots__ = ("answer", "lock", "order")

    def __init__(self) -> None:
        self.order, self.lock = "", threading.Lock()
        self.answer: object | None = None
