"""Mutations: changes that are likely to upset a reader, applied to bytes that it can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

_ODD: Final = b"\0\1\7\t\n\v\f\r\x1b\x1c \"#%&',/:;<=>?@[\\]`{}\x7f\x80\x85\x9b\xa0\xad\xc0\xc2\xe2\xed\xf0\xf4\xfe\xff"
_MOST: Final = 1 << 18
"""Maximum bytes of a repeated part."""
_LONG: Final = 0.25
"""Share of repetitions that may be as long as that; others stay below 256 times."""
_WORDS: Final = (
    b"\r\n",
    b"\n\n",
    b"\r\n\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"\xc2\x9b31m",
    b"\x1b]0;x\x07",
    b"../",
    b"%00",
    b"%0d%0a",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"9" * 40,
    b"1e999",
    b"nan",
)
_Change = Callable[[Random, bytes, Sequence[bytes], bytes], bytes]


def mutated(dice: Random, data: bytes, words: Sequence[bytes], other: bytes, longest: int) -> bytes:
    """`data` after one to a dozen changes; `other` is another input, parts of which may be inserted."""
    for _ in range(min(12, 1 + int(dice.expovariate(0.5)))):
        data = dice.choice(_CHANGES)(dice, data, words, other)[:longest]
    return data


def _slice(dice: Random, data: bytes) -> tuple[int, int]:
    """A random slice, mostly short."""
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + int(len(data) ** dice.random()))


def _flip(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(data), 1 << dice.randrange(4))):
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _odd(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes([dice.choice(_ODD)]) + data[at + dice.randrange(2) :]


def _word(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    word = dice.choice(words if dice.random() < 0.7 else _WORDS)
    return data[:at] + word + data[at + dice.choice((0, 0, len(word))) :]


def _without(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    start, end = _slice(dice, data)
    return data[:start] + data[end:]


def _elsewhere(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    start, end = _slice(dice, data)
    at = dice.randrange(len(data) + 1)
    return data[:at] + data[start:end] + data[at:]


def _many(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    """Repeats a part many times, which reveals quadratic cost."""
    start, end = _slice(dice, data)
    part = data[start:end] if dice.random() < 0.5 else dice.choice(words)
    most = 17 if dice.random() < _LONG else 8
    return data[:end] + part * min(1 << dice.randrange(most), 1 + _MOST // (1 + len(part))) + data[end:]


def _spliced(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    start, end = _slice(dice, other)
    at = dice.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at if dice.random() < 0.5 else len(data) :]


def _cut(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _lines_swapped(dice: Random, data: bytes, words: Sequence[bytes], other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


_CHANGES: Final[tuple[_Change, ...]] = (
    _flip,
    _odd,
    _odd,
    _word,
    _word,
    _word,
    _without,
    _without,
    _elsewhere,
    _many,
    _spliced,
    _cut,
    _lines_swapped,
)
