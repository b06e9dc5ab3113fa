"""The known-page table: 64-bit fingerprint to 32-bit number, open addressing in 256 sub-tables that grow alone.

The top 8 bits of the fingerprint choose the sub-table, the low 32 bits the slot (multiplied into the capacity, so that
capacities need not be powers of two). A sub-table grows by a quarter when it is four fifths full: 15 to 18.75 bytes per
entry, and the pause for growing is that of one 256th of the table (about 1 ms at 10^7 entries). Address space for two
halves of each sub-table is reserved at the limit and touched lazily; growing moves to the other half and gives the old
half back, so no array ever moves. A cell is 12 bytes, key next to number: one cache miss instead of two.

Measured at 10^7 entries (`bench/table.py`, under other load): 80 to 110 ns to find a fingerprint, 150 to find that it
is unknown, 330 to add one, growing included.

Refused: numpy sorted arrays (insertion), Python sets (74 bytes), LMDB and RocksDB (1 to 5 µs per lookup).
"""

from __future__ import annotations

import mmap
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import allocating, inlined, njit
from gossamer.base.errors import StorageError
from gossamer.base.model import NONE

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

SUBTABLES: Final = 256
CELL: Final = np.dtype([("key", "<u8"), ("number", "<u4")])  # key 0: empty
LAYOUT: Final = 1  # version of the cells in an image: changes when `_slot` or the choice of sub-tables changes
_START: Final = 64
_AHEAD: Final = 64  # lookups whose cells are read before the first is answered
_AT_ONCE: Final = 1 << 14  # additions between two returns of memory: sub-tables tend to grow at about the same time
_NORESERVE: Final = 0x4000  # MAP_NORESERVE on Linux: address space without a promise of memory


def reserve(count: int, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], mmap.mmap]:
    """An array of zeros at its maximum size, whose memory is allocated only where it is touched."""
    kind = np.dtype(dtype)
    size = max(mmap.PAGESIZE, count * kind.itemsize)
    try:
        area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except OSError as error:
        raise StorageError(
            f"cannot reserve {size:,} bytes of address space: {error.strerror}",
            "Lower collection.max_pages or collection.max_sites, or raise the limit (ulimit -v).",
        ) from error
    return np.frombuffer(area, kind, count), area


class Arrays(NamedTuple):
    """The arrays of a table: the argument of the kernels."""

    cells: npt.NDArray[np.void]
    capacity: I64
    half: I64
    used: I64
    grown: I64
    room: int


class Table:
    """Maps fingerprints to numbers."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # an entry's sub-table is random: room for the mean and ten deviations, at the load right after growth
        most = limit / SUBTABLES + 10 * (limit / SUBTABLES) ** 0.5 + 16
        step = mmap.PAGESIZE // 4  # so that halves begin where pages of memory do
        room = (int(most * 1.25 / 0.8) // step + 1) * step
        cells, self._cells = reserve(2 * SUBTABLES * room, CELL)
        self.arrays = Arrays(
            cells,
            np.full(SUBTABLES, _START, np.int64),
            np.zeros(SUBTABLES, np.int64),
            np.zeros(SUBTABLES, np.int64),
            np.zeros(SUBTABLES, np.int64),
            room,
        )

    def __len__(self) -> int:
        return int(self.arrays.used.sum())

    def find(self, fingerprints: U64) -> U32:
        """The number of each fingerprint; NONE if unknown."""
        out = np.empty(len(fingerprints), np.uint32)
        find_many(self.arrays, fingerprints, out)
        return out

    def add(self, fingerprints: U64, numbers: U32) -> None:
        """Adds fingerprints; known fingerprints keep their number."""
        for at in range(0, len(fingerprints), _AT_ONCE):
            add_many(self.arrays, fingerprints[at : at + _AT_ONCE], numbers[at : at + _AT_ONCE])
            self.give_back()

    def give_back(self) -> None:
        """Returns the memory of halves that are unused after growing; call it after a kernel that inserts."""
        arrays = self.arrays
        if not _any(arrays.grown):
            return
        for sub in np.flatnonzero(arrays.grown).tolist():
            first = (2 * sub + 1 - int(arrays.half[sub])) * arrays.room
            self._cells.madvise(mmap.MADV_DONTNEED, first * CELL.itemsize, arrays.room * CELL.itemsize)
        arrays.grown[:] = 0

    def cells(self) -> list[npt.NDArray[np.void]]:
        """The cells of each sub-table, as views of memory: for an image, without a copy."""
        a = self.arrays
        starts = (2 * np.arange(SUBTABLES) + a.half) * a.room
        return [a.cells[at : at + size] for at, size in zip(starts.tolist(), a.capacity.tolist(), strict=True)]

    def takes(self, capacity: I64) -> bool:
        """Whether there is room for sub-tables of these capacities."""
        return len(capacity) == SUBTABLES and int(capacity.max()) <= self.arrays.room

    def restore(self, capacity: I64, used: I64) -> list[npt.NDArray[np.void]]:
        """Gives an empty table these capacities; the caller fills the returned cells."""
        self.arrays.capacity[:], self.arrays.used[:] = capacity, used
        return self.cells()


@njit
def _any(numbers: I64) -> bool:
    """Whether any number is not 0; numpy takes ten times as long."""
    found = 0
    for number in numbers:
        found |= number
    return found != 0


@inlined
def _slot(fingerprint: np.uint64, capacity: int) -> int:
    return np.int64(((fingerprint & np.uint64(0xFFFFFFFF)) * np.uint64(capacity)) >> np.uint64(32))  # type: ignore[return-value]


@inlined
def _key(fingerprint: np.uint64) -> np.uint64:
    return fingerprint if fingerprint else np.uint64(1)


@njit
def find_one(table: Arrays, fingerprint: np.uint64) -> np.uint32:
    """The number of the fingerprint; NONE if unknown."""
    key = _key(fingerprint)
    sub = np.int64(key >> np.uint64(56))
    capacity = table.capacity[sub]
    base = (2 * sub + table.half[sub]) * table.room
    at = _slot(key, capacity)
    while True:
        cell = table.cells[base + at]
        if cell.key == key:
            number: np.uint32 = cell.number
            return number
        if cell.key == 0:
            return np.uint32(NONE)
        at += 1
        if at == capacity:
            at = 0


@njit
def _grow(table: Arrays, sub: np.int64) -> None:
    """Moves a sub-table to its other half. Slots rise with the low bits of keys, so both halves are scanned once, from
    one end to the other."""
    old = table.capacity[sub]
    new = min(old + old // 4, table.room)
    source = (2 * sub + table.half[sub]) * table.room
    target = (2 * sub + 1 - table.half[sub]) * table.room
    for i in range(target, target + new):
        table.cells[i].key = 0
    for i in range(source, source + old):
        key = table.cells[i].key
        if key != 0:
            at = _slot(key, new)
            while table.cells[target + at].key != 0:
                at += 1
                if at == new:
                    at = 0
            table.cells[target + at].key = key
            table.cells[target + at].number = table.cells[i].number
    table.half[sub] = 1 - table.half[sub]
    table.capacity[sub] = new
    table.grown[sub] = 1


@njit
def add_one(table: Arrays, fingerprint: np.uint64, number: np.uint32) -> np.uint32:
    """Adds a fingerprint. Returns the number that it has now: `number`, or its earlier number.

    NONE if its sub-table is full: with fingerprints that nobody can predict, ten deviations beyond the limit.
    """
    key = _key(fingerprint)
    sub = np.int64(key >> np.uint64(56))
    if 5 * (table.used[sub] + 1) > 4 * table.capacity[sub] and table.capacity[sub] < table.room:
        _grow(table, sub)
    capacity = table.capacity[sub]
    if table.used[sub] + 1 >= capacity:  # one cell stays empty, so that every search ends
        return find_one(table, fingerprint)
    base = (2 * sub + table.half[sub]) * table.room
    at = _slot(key, capacity)
    while True:
        cell = table.cells[base + at]
        if cell.key == key:
            there: np.uint32 = cell.number
            return there
        if cell.key == 0:
            cell.key, cell.number = key, number
            table.used[sub] += 1
            return number
        at += 1
        if at == capacity:
            at = 0


@njit
def _guess(table: Arrays, fingerprints: U64, out: U32, start: int, end: int) -> None:
    """Prefetch: reads the cell at which each search begins. The number is a first, often wrong answer; the read brings
    the cell into the cache.

    A search must wait for memory at each step; these reads do not depend on each other, so many run at once.
    """
    for i in range(start, end):
        key = _key(fingerprints[i])
        sub = np.int64(key >> np.uint64(56))
        base = (2 * sub + table.half[sub]) * table.room
        out[i] = table.cells[base + _slot(key, table.capacity[sub])].number


@njit
def find_many(table: Arrays, fingerprints: U64, out: U32) -> None:
    for start in range(0, len(fingerprints), _AHEAD):
        end = min(start + _AHEAD, len(fingerprints))
        _guess(table, fingerprints, out, start, end)
        for i in range(start, end):
            out[i] = find_one(table, fingerprints[i])


@allocating
def add_many(table: Arrays, fingerprints: U64, numbers: U32) -> None:
    out = np.empty(len(fingerprints), np.uint32)
    for start in range(0, len(fingerprints), _AHEAD):
        end = min(start + _AHEAD, len(fingerprints))
        _guess(table, fingerprints, out, start, end)
        for i in range(start, end):
            out[i] = add_one(table, fingerprints[i], numbers[i])
