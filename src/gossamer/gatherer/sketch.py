"""A 64-bit sketch of a text: similar pages have sketches that differ in few bits.

It is a simhash (Charikar 2002; Manku, Jain, Das Sarma 2007 accept at most 3 of 64 bits for near duplicates): every
sequence of three words votes on each bit. A word consists of letters and digits; case does not matter. All other ASCII
characters separate words. Each Chinese or Japanese character is a word of its own, because no white space separates
their words.

Invariants: `texts_equal_but_for_white_space_have_equal_sketches`, `a_changed_word_changes_few_bits`,
`unrelated_texts_differ_in_half_of_the_bits`.

It uses numpy, without a loop over words. The hash of a word is its polynomial in a fixed base modulo 2^64, computed
from running sums of the products of all bytes with powers of the base: sums wrap, and so do their differences. The
votes are added up in lanes of 8 bits, 255 at a time. 2,000 words take 0.06 ms. Refused: `reduceat` instead of running
sums, which takes three times as long.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import U32, U64

LONGEST: Final = 1 << 18
"""Maximum bytes of a text that are read."""
FEWEST: Final = 8
"""Minimum sequences of three words. With fewer, one changed word would change many bits: there is no sketch."""

_U64 = np.uint64
_BASE: Final = 0x9E3779B97F4A7C15
_MIX: Final = _U64(0xBF58476D1CE4E5B9)
_HALF, _THIRD = _U64(32), _U64(29)
_PLACES: Final = (_U64(0xD6E8FEB86659FD93), _U64(0xA0761D6478BD642F), _U64(0xE7037ED1A0B428DB))
_LANES: Final = 255
_BIT_OF_LANE: Final = np.arange(8, dtype=_U64)[:, None]
_LOWEST: Final = _U64(0x0101010101010101)
_WEIGHTS: Final = _U64(1) << np.arange(64, dtype=_U64)

_FOLDED: Final = bytes(c if c >= 128 else ord(chr(c).lower()) if chr(c).isalnum() else 0 for c in range(256))
_KINDS: Final = bytes((f > 0) + (0xE3 <= c <= 0xE9) for c, f in enumerate(_FOLDED))
"""0: between words, 1: in a word, 2: first byte of U+3000 to U+9FFF. A word begins where the kind increases."""


def _powers(base: int) -> U64:
    factors = np.full(LONGEST, base, _U64)
    factors[0] = 1
    return np.cumprod(factors, dtype=_U64)


_POWERS: Final = _powers(_BASE)
_INVERSES: Final = _powers(pow(_BASE, -1, 1 << 64))


def sketch(text: bytes) -> int:
    """The sketch of a text in UTF-8; 0 if it is almost empty."""
    runs = _runs(text[:LONGEST])
    if runs is None:
        return 0
    bits = 2 * _votes(runs) > len(runs)
    return int(_WEIGHTS[bits].sum(dtype=_U64)) or 1


def _runs(text: bytes) -> U64 | None:
    """A hash for every sequence of three words; None if there are too few."""
    kinds = np.frombuffer(b"\0" + text.translate(_KINDS), np.uint8)
    starts = (kinds[1:] > kinds[:-1]).nonzero()[0]
    if len(starts) < FEWEST + 2:
        return None
    letters = np.frombuffer(text.translate(_FOLDED), np.uint8)
    sums = letters.astype(_U64)
    sums *= _POWERS[: len(sums)]
    np.cumsum(sums, out=sums)
    words: U64 = sums[np.append(starts[1:], len(sums)) - 1]
    words[1:] -= words[:-1]  # before the first word there are only zeros
    words *= _INVERSES[starts]
    first, second, third = _PLACES
    runs: U64 = words[:-2] * first
    runs += words[1:-1] * second
    runs += words[2:] * third
    runs ^= runs >> _HALF
    runs *= _MIX
    runs ^= runs >> _THIRD
    return runs


def _votes(runs: U64) -> U32:
    """For each bit, how many hashes have it set. One lane (a byte) holds the votes of 255 hashes (little-endian)."""
    blocks = -(-len(runs) // _LANES)
    padded = np.zeros(blocks * _LANES, _U64)
    padded[: len(runs)] = runs
    lanes = padded >> _BIT_OF_LANE
    lanes &= _LOWEST
    sums = lanes.reshape(8, blocks, _LANES).sum(axis=2)
    by_byte: U32 = sums.view(np.uint8).reshape(8, blocks, 8).sum(axis=1, dtype=np.uint32)
    return by_byte.T.ravel()
