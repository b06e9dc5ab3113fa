"""Who is credited with what others have too: pairs of a page and a page of another site that was taken for its copy.

8 bytes for each such copy. Pairs are only ever added: what became of the copy since is for whoever asks to look up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class Credits:
    def __init__(self) -> None:
        self._pairs = np.zeros(64, np.uint64)
        self._count = 0
        self._sorted = 0
        """How many were there when they were last put in order."""

    def add(self, originals: Array, copies: Array) -> None:
        pairs = originals.astype(np.uint64) << _HALF | copies.astype(np.uint64)
        if self._count + len(pairs) > len(self._pairs):
            self._grow(pairs)
        else:
            self._pairs[self._count : self._count + len(pairs)] = pairs
            self._count += len(pairs)

    def _grow(self, pairs: Array) -> None:
        """Pages that are fetched again and again would be here as often."""
        kept = np.unique(np.concatenate([self._pairs[: self._count], pairs]))
        self._pairs = np.zeros(max(64, len(kept) * 3 // 2), np.uint64)
        self._pairs[: len(kept)] = kept
        self._count = len(kept)

    def all(self) -> tuple[Array, Array]:
        """Originals, and the copy of each, in order, each pair once."""
        pairs = self.dump()
        return (pairs >> _HALF).astype(np.uint32), (pairs & _LOW).astype(np.uint32)

    def dump(self) -> Array:
        """Pairs in order, each once."""
        if self._sorted != self._count:
            kept = np.unique(self._pairs[: self._count])
            self._pairs[: len(kept)] = kept
            self._count = self._sorted = len(kept)
        return self._pairs[: self._count]

    def load(self, pairs: Array) -> None:
        self._pairs, self._count, self._sorted = pairs.copy(), len(pairs), 0
