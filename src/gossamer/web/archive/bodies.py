"""An index of archived bodies: a table in shared memory that all workers read, and only the desk writes.

The memory is a memfd, inherited by descriptor: 2^20 entries in sets of eight, first the keys of all sets, then their
values. A key is the first eight bytes of a body's SHA-1, 0 for an empty entry; a value is file number << 48 | offset of
the response record. The size is fixed: 16 MB, touched as it fills. So it finds repeats among about the last 10^6
bodies; within a set the oldest entry gives way.

Readers take no lock. An entry is emptied before it gets another value, and its key is written last, so that a key that
is seen has a value that was written whole. On machines where other cores see stores in another order, a wrong value
costs a full copy, never a wrong record: the reader checks the digest of the record (`web/archive/archive.py`).

An entry may be published only when the commit that covers its record is synced. Otherwise a power cut could take the
original from a revisit record that survives.

Invariants, each a test of the same name: what was published is found; within a set the oldest gives way; a reader never
sees a key with the value of another; the memory does not grow.

Cost: `find` 1.2 µs; `publish` 0.5 µs per entry in batches of 1,000. Refused: asking the desk about each body (a round
trip, and the worker's page waits); a table per worker (finds no repeats of bodies that others stored).
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U8, U64, Array
from gossamer.base.errors import StorageError
from gossamer.base.model import VisitFlag, Visits

LEAST: Final = 256
"""Smallest body, in bytes, for which a revisit record is worth its length."""
WAYS: Final = 8
SETS: Final = 1 << 17
_KEY: Final = 8
_SET: Final = WAYS * _KEY
_KEYS: Final = SETS * _SET
_SIZE: Final = 2 * _KEYS
_VALUE: Final = struct.Struct("<Q")
_FILE_SHIFT: Final = 48
_OFFSET: Final = (1 << _FILE_SHIFT) - 1


class Payloads:
    """The table. Without a descriptor it is the desk's: new and empty. With one it is a worker's: read only."""

    def __init__(self, fd: int = -1) -> None:
        self._turn = np.zeros(0, np.uint8)
        self._writing = threading.Lock()
        """Held by the thread of the desk that writes."""
        if fd >= 0:
            self._fd = -1
            self._memory = mmap.mmap(fd, _SIZE, prot=mmap.PROT_READ)
            return
        try:
            self._fd = os.memfd_create("gossamer-payloads")
            os.ftruncate(self._fd, _SIZE)
            self._memory = mmap.mmap(self._fd, _SIZE)
        except OSError as error:
            cure = "Allow files of 16 MB (ulimit -f), or do without: --set collection.revisit_records=false"
            raise StorageError(f"no shared memory for the table of bodies: {error.strerror}", cure) from error
        self._turn = np.zeros(SETS, np.uint8)
        """By set: the entry that is filled next, which is empty or the oldest."""

    def fileno(self) -> int:
        """The descriptor to pass to a worker; it stays open until `close`."""
        return self._fd

    def find(self, sha1: bytes) -> tuple[int, int] | None:
        """File number and offset of the response record whose body most likely has this SHA-1; None: not found."""
        key = sha1[:_KEY]
        start = (int.from_bytes(key, "little") % SETS) * _SET
        keys = self._memory[start : start + _SET]
        at = keys.find(key)
        while at % _KEY and at > 0:
            at = keys.find(key, at + 1)
        if at < 0:
            return None
        value: int = _VALUE.unpack_from(self._memory, _KEYS + start + at)[0]
        if not value or self._memory[start + at : start + at + _KEY] != key:
            return None
        return value >> _FILE_SHIFT, value & _OFFSET

    def publish(self, keys: U64, files: Array, offsets: Array) -> None:
        """Adds entries, in order of age, the oldest first. Known keys, and a key of 0, are skipped.

        After `close` it does nothing: a crawl that fails may still commit.
        """
        with self._writing:
            if not self._memory.closed:
                self._publish(keys, files, offsets)

    def _publish(self, keys: U64, files: Array, offsets: Array) -> None:
        values = files.astype(np.uint64) << np.uint64(_FILE_SHIFT) | offsets.astype(np.uint64)
        table, places = np.frombuffer(self._memory, "<u8").reshape(2, -1)  # not kept: they hold the memory open
        first = np.sort(np.unique(keys, return_index=True)[1])
        sets = (keys[first] % np.uint64(SETS)).astype(np.int64)
        known = (table.reshape(SETS, WAYS)[sets] == keys[first, None]).any(axis=1)
        fresh = ~known & (keys[first] != 0)
        chosen, slots = self._places(first[fresh], sets[fresh])
        table[slots] = 0
        places[slots] = values[chosen]
        table[slots] = keys[chosen]

    def publish_visits(self, visits: Visits) -> None:
        """Adds the bodies that these visits archived in full. Their commit must be synced."""
        stored = (visits["flags"] & (VisitFlag.STORED | VisitFlag.REPEATED)) == VisitFlag.STORED
        new = visits[stored & (visits["warc_end"] > 0) & (visits["length"] >= LEAST)]
        self.publish(keys_of(new["payload"]), new["warc_file"], new["warc_offset"])

    def _places(self, chosen: I64, sets: I64) -> tuple[I64, I64]:
        """Chooses an entry for each, all different. If more than `WAYS` fall into one set, only the last are left."""
        order = np.argsort(sets, kind="stable")
        chosen, sets = chosen[order], sets[order]
        _, starts, counts = np.unique(sets, return_index=True, return_counts=True)
        rank = np.arange(len(sets)) - np.repeat(starts, counts)
        slots = sets * WAYS + (self._turn[sets] + rank) % WAYS
        self._turn[sets[starts]] = (self._turn[sets[starts]] + counts) % WAYS
        last = rank >= np.repeat(counts, counts) - WAYS
        return chosen[last], slots[last]

    def close(self) -> None:
        with self._writing:
            self._memory.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def keys_of(payloads: U8) -> U64:
    """The keys of SHA-1 digests, given as rows of 20 bytes, as in `VISIT["payload"]`."""
    return np.ascontiguousarray(payloads[:, :_KEY]).view("<u8")[:, 0]
