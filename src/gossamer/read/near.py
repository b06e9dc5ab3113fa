"""Finds pages whose sketches nearly agree.

Two sketches that differ in at most three of 64 bits agree in one of four bands of 16 bits, at least. So only sketches
that share a band are compared: at a million pages some sixteen each, in four bands (2 s).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import U64, Bools

BITS: Final = 3
_BANDS: Final = 4
_FURTHEST: Final = 2_000
"""Within a band, sketches are compared that are at most this far apart in the order of the whole sketch. It bounds the
work where very many pages share a band."""


def near(sketches: U64) -> Bools:
    """By page: whether another page has a sketch that differs in at most BITS bits."""
    distinct, place, counts = np.unique(sketches, return_inverse=True, return_counts=True)
    found = counts > 1
    for band in range(_BANDS):
        key = (distinct >> np.uint64(16 * band)) & np.uint64(0xFFFF)
        order = np.argsort(key, kind="stable")
        ordered, keys = distinct[order], key[order]
        left = np.arange(len(order))
        for step in range(1, min(_FURTHEST, len(order))):
            left = left[left + step < len(order)]
            left = left[keys[left] == keys[left + step]]
            if not len(left):
                break
            close = left[np.bitwise_count(ordered[left] ^ ordered[left + step]) <= BITS]
            found[order[close]] = True
            found[order[close + step]] = True
    return np.asarray(found[place])
