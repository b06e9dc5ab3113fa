"""Repeatable random numbers: every decision of the demonstration Web comes from a key, never from a run.

`Random.random()` is the only method whose sequence Python promises to keep for an integer seed, so nothing else of it
is used. The seed is a digest of the key, because `hash()` differs between processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def number(*key: int | str) -> int:
    """A number of 64 bits for a key."""
    return int.from_bytes(blake2b("/".join(map(str, key)).encode(), digest_size=8).digest(), "little")


class Dice:
    """A sequence of random numbers for one key. The order of the calls decides the content of the Web: keep it."""

    __slots__ = ("unit",)

    def __init__(self, *key: int | str) -> None:
        self.unit = Random(number(*key)).random
        """Returns a number in [0, 1)."""

    def below(self, n: int) -> int:
        return int(self.unit() * n)

    def chance(self, p: float) -> bool:
        return self.unit() < p

    def pick(self, items: Sequence[T], skew: float = 1.0) -> T:
        """One of `items`; a skew above 1 prefers the first ones (density ~ x^(1/skew - 1))."""
        return items[int(self.unit() ** skew * len(items))]

    def whole(self, x: float) -> int:
        """`x` rounded up or down at random, so that the mean is `x`."""
        return int(x) + (self.unit() < x - int(x))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [item for _, _, item in sorted((self.unit(), n, item) for n, item in enumerate(items))]
