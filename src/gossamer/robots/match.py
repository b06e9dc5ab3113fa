"""Verdicts of robots.txt rules on many URLs at once: `robots.pattern`, compiled. For the desk only: needs numba.

Cost: 0.23 µs a short URL against six rules. URLs are in canonical form, rules as `Rules.compiled` writes them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.compiled import njit
from gossamer.robots import pattern

Array = npt.NDArray[Any]
Int = Any
"""int outside, int64 inside compiled code."""

_ESCAPED: Final = pattern.ESCAPED
_STEPS: Final = pattern.STEPS
_STAR, _DOLLAR, _PERCENT, _QUESTION, _SLASH = 42, 36, 37, 63, 47
_HEADER, _RULE = 1, 3
_ROBOTS: Final = np.frombuffer(b"/robots.txt", np.uint8)


def _table(octets: bytes) -> Array:
    table = np.zeros(256, np.bool_)
    table[list(octets)] = True
    return table


def _hex_values() -> Array:
    """Of each octet; 255 if it is no hexadecimal digit."""
    values = np.full(256, 255, np.int64)
    for digit in range(16):
        values[ord(f"{digit:x}")] = values[ord(f"{digit:X}")] = digit
    return values


_IS_RESERVED: Final = _table(pattern.RESERVED)
_IS_LOOSE: Final = _table(pattern.LOOSE)
_IS_LOOSE_IN_QUERY: Final = _table(pattern.LOOSE + pattern.LOOSE_IN_QUERY)
_VALUE: Final = _hex_values()


def verdicts(compiled: Array, texts: Array, offsets: Array) -> Array:
    """1 = allowed, for each URL `texts[offsets[i]:offsets[i + 1]]` of one origin."""
    n = len(offsets) - 1
    origins = np.zeros(n, np.uint32)
    start, end = np.zeros(1, np.int64), np.full(1, len(compiled), np.int64)
    return verdicts_many(compiled, start, end, texts, offsets, origins)


@njit
def verdicts_many(
    rules: Array, rule_start: Array, rule_end: Array, texts: Array, offsets: Array, origins: Array
) -> Array:
    """The same for URLs of many origins, whose rules are `rules[rule_start[o]:rule_end[o]]`."""
    n = len(origins)
    allowed = np.ones(n, np.uint8)
    longest = 0
    for i in range(n):
        longest = max(longest, offsets[i + 1] - offsets[i])
    tokens = np.empty(longest, np.int16)
    loose = np.empty(longest, np.bool_)
    for i in range(n):
        start, end = np.int64(rule_start[origins[i]]), np.int64(rule_end[origins[i]])
        if start < end:
            path = _path_start(texts, offsets[i], offsets[i + 1])
            if not _is_robots_txt(texts, path, offsets[i + 1]):
                size = _read_path(texts, path, offsets[i + 1], tokens, loose)
                allowed[i] = _allows(rules, start + _HEADER, end, tokens, loose, size)
    return allowed


@njit
def _path_start(texts: Array, at: Int, end: Int) -> Int:
    """The third slash."""
    slashes = 0
    while at < end:
        slashes += texts[at] == _SLASH
        if slashes == 3:
            break
        at += 1
    return at


@njit
def _is_robots_txt(texts: Array, at: Int, end: Int) -> bool:
    return bool(end - at == len(_ROBOTS) and np.all(texts[at:end] == _ROBOTS))


@njit
def _token(text: Array, at: Int, end: Int) -> tuple[Int, Int]:
    """The token at `at`, and where the next begins."""
    octet = np.int64(text[at])
    if octet == _PERCENT and at + 2 < end:
        high, low = _VALUE[text[at + 1]], _VALUE[text[at + 2]]
        if high < 16 and low < 16:
            octet = high << 4 | low
            return (octet + _ESCAPED if _IS_RESERVED[octet] else octet), at + 3
    return octet, at + 1


@njit
def _read_path(texts: Array, at: Int, end: Int, tokens: Array, loose: Array) -> Int:
    """Tokens of a URL's path and query, and where escaped and raw are one; returns their number."""
    size, in_query = 0, False
    while at < end:
        token, at = _token(texts, at, end)
        octet = token & 255
        loose[size] = _IS_LOOSE_IN_QUERY[octet] if in_query else _IS_LOOSE[octet]
        tokens[size] = octet if loose[size] else token
        in_query |= token == _QUESTION
        size += 1
    return size


@njit
def _allows(rules: Array, at: Int, end: Int, tokens: Array, loose: Array, size: Int) -> bool:
    """The first rule that matches decides."""
    left = _STEPS
    while at < end:
        allow = bool(rules[at])
        length = np.int64(rules[at + 1]) | np.int64(rules[at + 2]) << 8
        at += _RULE
        hit, left = _matches(rules, at, at + length, tokens, loose, size, left)
        if left < 0:
            return False
        if hit:
            return allow
        at += length
    return True


@njit
def _matches(rules: Array, at: Int, end: Int, tokens: Array, loose: Array, size: Int, left: Int) -> tuple[bool, Int]:
    """See `pattern._matches`: step by step the same."""
    to_end = end > at and rules[end - 1] == _DOLLAR
    if to_end:
        end -= 1
    given, star, mark = 0, -1, 0
    while left >= 0:
        left -= 1
        if at == end:
            if not to_end or given == size:
                return True, left
        elif rules[at] == _STAR:
            at += 1
            star, mark = at, given
            continue
        elif given < size:
            wanted, after = _token(rules, at, end)
            if wanted == tokens[given] or (loose[given] and wanted == tokens[given] + _ESCAPED):
                at = after
                given += 1
                continue
        if star < 0 or mark >= size:
            return False, left
        mark += 1
        at, given = star, mark
    return False, left
