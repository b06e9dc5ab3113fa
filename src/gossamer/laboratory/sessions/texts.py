"""Texts in a buffer, as arrays of where each begins and ends: what a log says, without an object for each line.

Kernels take the three arrays one by one. A text may be empty: a field that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import I32, I64, U8, U64, Bools, Integers
from gossamer.base.compiled import i64, njit

_QUOTE, _PERCENT, _SLASH, _DOT, _MARK, _HASH, _SPACE = 34, 37, 47, 46, 63, 35, 32
_SEMICOLON, _COLON, _BACKSLASH, _PLUS, _MINUS = 59, 58, 92, 43, 45
NO_TIME: Final = np.int64(-(2**62))
"""The time of a text that is none."""
_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x100000001B3)
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_HALF: Final = np.uint64(33)


class Texts(NamedTuple):
    """Texts, one for each line of a block."""

    buffer: U8
    begin: I64
    end: I64

    def of(self, at: int) -> str:
        return self.buffer[self.begin[at] : self.end[at]].tobytes().decode("utf-8", "replace")

    def take(self, at: Bools | Integers | slice) -> Texts:
        """Those at some places, or where a mask is true."""
        return Texts(self.buffer, self.begin[at], self.end[at])


def none(number: int) -> Texts:
    """Texts of a field that a log does not have."""
    return Texts(np.zeros(1, np.uint8), np.zeros(number, np.int64), np.zeros(number, np.int64))


def joined(parts: Iterable[bytes]) -> Texts:
    """Texts from bytes, in a buffer of their own."""
    listed = list(parts)
    ends = np.cumsum([len(each) for each in listed], dtype=np.int64)
    begins = ends - np.asarray([len(each) for each in listed], np.int64)
    return Texts(np.frombuffer(b"".join(listed) or b"\0", np.uint8), begins, ends)


# --- numbers of texts: equal texts have equal numbers ---------------------------------------------------------------


def numbers(texts: Texts) -> U64:
    """A number of 64 bits for each text. Two of 10^7 texts are equal by chance once in 370,000 logs."""
    found = np.empty(len(texts.begin), np.uint64)
    _numbers(*texts, found)
    return found


@njit
def _mixed(value: np.uint64) -> np.uint64:
    value ^= value >> _HALF
    value *= _FIRST
    value ^= value >> _HALF
    value *= _SECOND
    return value ^ (value >> _HALF)


@njit
def _numbers(buffer: U8, begin: I64, end: I64, found: U64) -> None:
    for i in range(len(begin)):
        value = _OFFSET
        for at in range(begin[i], end[i]):
            value = (value ^ np.uint64(buffer[at])) * _PRIME
        found[i] = _mixed(value)


# --- parts of addresses -----------------------------------------------------------------------------------------------


class Parts(NamedTuple):
    """What matters of the address of a page."""

    page: U64
    """Number of its path and query; a fragment does not count, and no path is "/"."""
    host: U64
    """Number of its host, without www. and port and in lower case; 0 if it has none."""
    extension: U64
    """Extension of the path as bytes in lower case, the first byte lowest; 0 if there is none, or a longer one."""
    directories: U8
    home: Bools
    """Whether it is the home page: "/", or an index page beside it."""


def parts(texts: Texts, queries: Texts) -> Parts:
    """The parts of addresses: absolute, or from the path on. `queries`: further texts, where a log keeps them apart."""
    n = len(texts.begin)
    found = Parts(
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(n, np.uint8),
        np.empty(n, np.bool_),
    )
    _parts(*texts, *queries, found.page, found.host, found.extension, found.directories, found.home)
    return found


def packed(extension: str) -> int:
    """An extension as `Parts.extension` has it; 0 if it is too long."""
    return int.from_bytes(extension.encode(), "little") if len(extension) <= 8 else 0


@njit
def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


@njit
def _after_scheme(buffer: U8, begin: int, end: int) -> int:
    """Where the host begins, behind `http://` or `https://`; -1 if there is none."""
    at = begin
    while at < end and at - begin < 6 and buffer[at] != _COLON:
        at += 1
    if at + 2 < end and buffer[at] == _COLON and buffer[at + 1] == _SLASH and buffer[at + 2] == _SLASH:
        return at + 3
    return -1


@njit
def _host(buffer: U8, begin: int, end: int) -> np.uint64:
    if end - begin > 4 and buffer[begin + 3] == _DOT:
        w = 119
        if (
            _lower(i64(buffer[begin])) == w
            and _lower(i64(buffer[begin + 1])) == w
            and _lower(i64(buffer[begin + 2])) == w
        ):
            begin += 4
    value = _OFFSET
    for at in range(begin, end):
        byte = i64(buffer[at])
        if byte == _COLON:
            break
        value = (value ^ np.uint64(_lower(byte))) * _PRIME
    return _mixed(value)


@njit
def _is_index(buffer: U8, begin: int, end: int) -> bool:
    """Whether the last segment is empty, or a name like index.html."""
    if begin == end:
        return True
    dot = begin
    while dot < end and buffer[dot] != _DOT:
        dot += 1
    index = (105, 110, 100, 101, 120)
    if dot - begin != 5:
        return False
    same = True
    for k in range(5):
        same &= _lower(i64(buffer[begin + k])) == index[k]
    return same


@njit
def _parts(
    buffer: U8, begin: I64, end: I64, queries: U8, query_begin: I64, query_end: I64,
    page: U64, host: U64, extension: U64, directories: U8, home: Bools,
) -> None:  # fmt: skip
    for i in range(len(begin)):
        at, last = begin[i], end[i]
        host[i] = np.uint64(0)
        name = _after_scheme(buffer, at, last)
        if name >= 0:
            at = name
            while at < last and buffer[at] != _SLASH and buffer[at] != _MARK and buffer[at] != _HASH:
                at += 1
            host[i] = _host(buffer, name, at)
        path = at
        segment, dot, slashes = at, i64(-1), i64(0)
        value = _OFFSET
        if at == last or buffer[at] != _SLASH:
            value = (value ^ np.uint64(_SLASH)) * _PRIME
        while at < last and buffer[at] != _MARK and buffer[at] != _HASH:
            byte = buffer[at]
            if byte == _SLASH:
                segment, dot = at + 1, i64(-1)
                slashes += 1
            elif byte == _DOT:
                dot = at
            value = (value ^ np.uint64(byte)) * _PRIME
            at += 1
        stop = at
        has_query = at < last and buffer[at] == _MARK and at + 1 < last and buffer[at + 1] != _HASH
        if has_query:
            while at < last and buffer[at] != _HASH:
                value = (value ^ np.uint64(buffer[at])) * _PRIME
                at += 1
        elif query_end[i] - query_begin[i] > 1:
            has_query = True
            value = (value ^ np.uint64(_MARK)) * _PRIME
            for k in range(query_begin[i], query_end[i]):
                value = (value ^ np.uint64(queries[k])) * _PRIME
        page[i] = _mixed(value)
        extension[i] = np.uint64(0)
        if dot >= 0:
            to = dot + 1
            while to < stop and buffer[to] != _SEMICOLON:
                to += 1
            if to - dot - 1 <= 8:
                for k in range(to - 1, dot, -1):
                    extension[i] = (extension[i] << np.uint64(8)) | np.uint64(_lower(i64(buffer[k])))
        directories[i] = min(max(slashes - 1, 0), 255)
        home[i] = slashes <= 1 and not has_query and (stop == path or _is_index(buffer, segment, stop))


# --- phrases ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that are looked for all at once, whatever their case: the automaton of Aho and Corasick (1975)."""

    next: I32
    """By state and byte: the next state."""
    found: Bools
    """By state: whether a phrase ends here."""

    @staticmethod
    def of(phrases: Iterable[str]) -> Phrases:
        children: list[dict[int, int]] = [{}]
        ends = [False]
        for phrase in phrases:
            at = 0
            for byte in phrase.lower().encode():
                if byte not in children[at]:
                    children[at][byte] = len(children)
                    children.append({})
                    ends.append(False)
                at = children[at][byte]
            ends[at] = True
        table = np.zeros((len(children), 256), np.int32)
        queue = [0]
        back = [0] * len(children)
        for at in queue:
            ends[at] |= ends[back[at]]
            table[at] = table[back[at]] if at else 0
            for byte, child in children[at].items():
                back[child] = int(table[at, byte])
                table[at, byte] = child
                queue.append(child)
        for capital in range(65, 91):
            table[:, capital] = table[:, capital + 32]
        return Phrases(table.reshape(-1), np.asarray(ends))

    def are_in(self, texts: Texts) -> Bools:
        """Whether a text has any of the phrases; %xx is read as its byte, once."""
        found = np.zeros(len(texts.begin), np.bool_)
        _look(*texts, self.next, self.found, found)
        return found


@njit
def _hex(byte: int) -> int:
    if 48 <= byte <= 57:
        return byte - 48
    low = _lower(byte)
    return low - 87 if 97 <= low <= 102 else -1


@njit
def _look(buffer: U8, begin: I64, end: I64, following: I32, ends: Bools, found: Bools) -> None:
    for i in range(len(begin)):
        state, at, last = i64(0), begin[i], end[i]
        while at < last:
            byte = i64(buffer[at])
            if byte == _PERCENT and at + 2 < last:
                high, low = _hex(i64(buffer[at + 1])), _hex(i64(buffer[at + 2]))
                if high >= 0 and low >= 0:
                    byte = 16 * high + low
                    at += 2
            state = i64(following[256 * state + byte])
            at += 1
            if ends[state]:
                found[i] = True
                break


# --- times and small numbers ------------------------------------------------------------------------------------------


def times(texts: Texts) -> I64:
    """Seconds since 1970 (UTC): of `17/May/2015:10:05:03 +0000`, `2015-05-17T10:05:03.1Z` or `1431857103.123`;
    `NO_TIME` for other texts."""
    found = np.empty(len(texts.begin), np.int64)
    _times(*texts, found)
    return found


def statuses(texts: Texts) -> I64:
    """Numbers of three digits; 0 for other texts."""
    found = np.empty(len(texts.begin), np.int64)
    _statuses(*texts, found)
    return found


@njit
def _number(buffer: U8, begin: int, end: int) -> int:
    """A number of digits only; -1 if it is none."""
    value = i64(0)
    if begin >= end or end - begin > 17:
        return -1
    for at in range(begin, end):
        if not 48 <= buffer[at] <= 57:
            return -1
        value = 10 * value + i64(buffer[at]) - 48
    return value


@njit
def _statuses(buffer: U8, begin: I64, end: I64, found: I64) -> None:
    for i in range(len(begin)):
        value = _number(buffer, begin[i], end[i])
        found[i] = value if end[i] - begin[i] == 3 and value >= 100 else 0


@njit
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970: the count of Gregorian days, with years that begin in March."""
    y = year - 1 if month <= 2 else year
    shifted = month - 3 if month > 2 else month + 9
    return 365 * y + y // 4 - y // 100 + y // 400 + (153 * shifted + 2) // 5 + day - 1 - 719468


@njit
def _month(buffer: U8, at: int) -> int:
    """1 to 12, of an English abbreviation; -1 for other texts."""
    a, b, c = _lower(i64(buffer[at])), _lower(i64(buffer[at + 1])), _lower(i64(buffer[at + 2]))
    key = (a << 16) | (b << 8) | c
    months = (
        6971758,
        6710626,
        7168370,
        6385778,
        7168377,
        6976878,
        6976876,
        6387047,
        7562608,
        7299956,
        7237494,
        6579555,
    )
    for k in range(12):
        if months[k] == key:
            return k + 1
    return -1


@njit
def _second(hour: int, minute: int, second: int) -> int:
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second <= 60):
        return -1
    return 3600 * hour + 60 * minute + second


@njit
def _zone(buffer: U8, at: int, end: int) -> int:
    """Seconds east of UTC, of +0200 or +02:00; 0 for anything else."""
    while at < end and buffer[at] == _SPACE:
        at += 1
    if end - at < 5 or (buffer[at] != _PLUS and buffer[at] != _MINUS):
        return 0
    to = at + 4 if buffer[at + 3] == _COLON else at + 3
    hours, minutes = _number(buffer, at + 1, at + 3), _number(buffer, to, to + 2) if to + 2 <= end else i64(-1)
    if hours < 0 or minutes < 0:
        return 0
    east = 3600 * hours + 60 * minutes
    return east if buffer[at] == _PLUS else -east


@njit
def _time(buffer: U8, at: int, end: int) -> int:
    if end - at >= 20 and buffer[at + 2] == _SLASH and buffer[at + 6] == _SLASH:
        day, month, year = _number(buffer, at, at + 2), _month(buffer, at + 3), _number(buffer, at + 7, at + 11)
        clock, after = at + 12, at + 20
    elif end - at >= 19 and buffer[at + 4] == _MINUS and buffer[at + 7] == _MINUS:
        year, month, day = (
            _number(buffer, at, at + 4),
            _number(buffer, at + 5, at + 7),
            _number(buffer, at + 8, at + 10),
        )
        clock, after = at + 11, at + 19
        if after < end and buffer[after] == _DOT:
            after += 1
            while after < end and 48 <= buffer[after] <= 57:
                after += 1
    else:
        to = at
        while to < end and buffer[to] != _DOT:
            to += 1
        value = _number(buffer, at, to)
        return value // 1000 if value > 20_000_000_000 else value
    hour, minute = _number(buffer, clock, clock + 2), _number(buffer, clock + 3, clock + 5)
    of_day = _second(hour, minute, _number(buffer, clock + 6, clock + 8))
    if of_day < 0 or year < 0 or not (1 <= month <= 12 and 1 <= day <= 31):
        return -1
    return 86_400 * _days(year, month, day) + of_day - _zone(buffer, after, end)


@njit
def _times(buffer: U8, begin: I64, end: I64, found: I64) -> None:
    for i in range(len(begin)):
        value = _time(buffer, begin[i], end[i])
        found[i] = value if value >= 0 else NO_TIME
