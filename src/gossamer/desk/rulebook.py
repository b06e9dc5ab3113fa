"""Compiled robots rules of all origins, in one buffer for the kernel that matches them; equal rules are shared.

The buffer is 4 GB of address space that never moves. Rules of up to `LARGE` bytes are stored one after the other in
memory, from its beginning. Larger rules are on disk: from `BIG_RULES` on, the buffer maps an unnamed file, whose pages
are read when they are matched and dropped when memory is scarce. The journal has all rules, so the file need not
outlive the process. A page fault costs the loop a read, but only for a site with such rules, and the kernel holds no
GIL.

A `Table` finds equal rules by a fingerprint of 64 bits; a comparison then proves that they are equal. So a site costs
its columns; if no other site has the same rules, also 15 to 19 bytes and the rules.

Rules have a budget: `A_SITE` bytes for all origins of a site, and for one origin at most a `SHARE`th of the room that
is left, in memory or on disk. So no number of sites with large files fills the book: what fits gets smaller, and small
rules always fit. What does not fit becomes `TOO_MANY`, which forbids its origin.

Invariants, each a test of the same name: what is placed can be read, and equal rules are placed once; rules that nobody
has any more are forgotten; rules that do not fit forbid everything. Rules are forgotten when more was added than was in
use the last time, and more than a mebibyte, or when others do not fit.
"""

from __future__ import annotations

import ctypes
import mmap
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from gossamer.base import disk
from gossamer.base.compiled import njit
from gossamer.base.errors import StorageError
from gossamer.base.model import NONE
from gossamer.collection.layout import BIG_RULES
from gossamer.desk.table import Table, reserve
from gossamer.robots.rules import TOO_MANY

Array = npt.NDArray[Any]

LARGE: Final = 4096
"""Rules of up to this many bytes are kept in memory."""
SLACK: Final = 1 << 20
"""Bytes of unused rules that are tolerated before rules are packed."""
A_SITE: Final = 2 << 20
"""Maximum bytes of the rules of all origins of a site. A file of 500 KiB has 1.5 MiB of rules at most."""
SHARE: Final = 16
_A_SET: Final = 16
"""Bytes that each set of rules counts in addition to its own size."""
_SPARE: Final = 1 << 16
ROOM: Final = (1 << 31) - mmap.PAGESIZE
"""Bytes for all rules in memory, and as many for those on disk."""
_FIXED: Final = 0x10  # MAP_FIXED on Linux


class RuleBook:
    """The buffer of rules, with the table that finds equal rules."""

    def __init__(self, origins: int, seed: int = 0, folder: Path | None = None) -> None:
        """For the rules of at most `origins` origins. Large rules are in `folder`, or in a temporary folder."""
        self.buffer, self._area = reserve(2 * BIG_RULES, np.uint8)
        self.lock = threading.Lock()
        """Held while rules move. Readers in other threads hold it while they look up a place and use it."""
        self._seed, self._folder = seed, folder
        self._origins = origins
        self._known = self._table()
        self._ends = [0, BIG_RULES]
        self._file: disk.Scratch | None = None
        self._kept = 0
        """Bytes in use when rules were last packed."""

    def _table(self) -> Table:
        return Table(self._origins + _SPARE + 1)

    @property
    def in_memory(self) -> int:
        """Bytes of rules and table in memory."""
        return self._ends[0] + sum(cells.nbytes for cells in self._known.cells())

    @property
    def on_disk(self) -> int:
        return self._ends[1] - BIG_RULES

    @property
    def wasteful(self) -> bool:
        """Whether more was added than was in use when rules were last packed: `pack` is due."""
        return self._held() - self._kept > max(SLACK, self._kept) or len(self._known) >= self._origins + _SPARE

    def _held(self) -> int:
        return self._ends[0] + self.on_disk + _A_SET * len(self._known)

    def crowded(self, size: int) -> bool:
        """Whether rules of this size do not fit into the room that is left, but may after `pack`."""
        return size > self._left(size) and self._held() - self._kept > ROOM // SHARE

    def _left(self, size: int) -> int:
        """The most bytes that one origin may add, if its rules have this size."""
        large = size > LARGE
        return (ROOM + BIG_RULES * large - self._ends[large]) // SHARE

    def find(self, compiled: bytes) -> int:
        """Where these rules are; NONE if they are not in the book."""
        start = int(self._known.find(self._key(compiled))[0])
        same = start != NONE and self.buffer[start : start + len(compiled)].tobytes() == compiled
        return start if same else NONE

    def _key(self, compiled: bytes) -> Array:
        return np.array([xxh3_64_intdigest(compiled, self._seed) or 1], np.uint64)

    def place(self, compiled: bytes, of_site: int = 0) -> tuple[int, int]:
        """Start and end of these rules in the buffer, or of `TOO_MANY` if they do not fit; adds them if they are new.

        `of_site`: bytes of the rules that other origins of its site have.
        """
        if not compiled:
            return 0, 0
        start, large = self.find(compiled), len(compiled) > LARGE
        if start == NONE:
            if compiled != TOO_MANY and len(compiled) > min(A_SITE - of_site, self._left(len(compiled))):
                return self.place(TOO_MANY)
            start = self._make_room(len(compiled), large)
            self.buffer[start : start + len(compiled)] = np.frombuffer(compiled, np.uint8)
            self._known.add(self._key(compiled), np.array([start], np.uint32))
        if large:
            self._let_go(start, start + len(compiled))
        return start, start + len(compiled)

    def _make_room(self, size: int, large: bool) -> int:
        start = self._ends[large]
        if start + size > ROOM + BIG_RULES * large:
            raise StorageError(
                f"the robots.txt rules of all sites take more than {BIG_RULES:,} bytes", "Lower collection.max_sites."
            )
        if large:
            self._map().take(start - BIG_RULES, size)
        self._ends[large] += size
        return start

    def _map(self) -> disk.Scratch:
        """The file of large rules, mapped into the buffer when it is first needed."""
        if self._file is None:
            self._file = disk.Scratch(self._folder or Path(tempfile.gettempdir()))
            call = ctypes.CDLL(None, use_errno=True).mmap
            call.restype = ctypes.c_void_p
            call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
            place, protection = self.buffer.ctypes.data + BIG_RULES, mmap.PROT_READ | mmap.PROT_WRITE
            if call(place, BIG_RULES, protection, mmap.MAP_SHARED | _FIXED, self._file.fileno(), 0) != place:
                raise StorageError("the file for large robots.txt rules cannot be mapped", "Use a local disk.")
        return self._file

    def _let_go(self, start: int, end: int) -> None:
        """Tells the kernel that these pages need not stay in memory."""
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        self._area.madvise(mmap.MADV_DONTNEED, first, end - first)

    def pack(self, starts: Array, ends: Array) -> tuple[Array, Array]:
        """Keeps only the rules at these places and moves them together. Returns their new starts and ends."""
        old, at = np.unique(starts.astype(np.int64), return_inverse=True)
        lengths = np.zeros(len(old), np.int64)
        np.maximum.at(lengths, at, ends.astype(np.int64) - starts)
        after = np.cumsum(lengths)
        is_big = old >= BIG_RULES
        small = int(lengths[~is_big].sum())
        new = after - lengths + np.where(is_big, BIG_RULES - small, 0)
        _move(self.buffer, old, new, lengths)
        self._cut(small, BIG_RULES + int(after[-1]) - small)
        self._forget_others(old[lengths > 0], new[lengths > 0])
        self._kept = self._held()
        moved = new[at].astype(np.uint32)
        return moved, moved + (ends - starts)

    def _forget_others(self, old: Array, new: Array) -> None:
        """Rebuilds the table with only these rules, at their new places."""
        cells = np.concatenate(self._known.cells())
        cells = cells[(cells["key"] != 0) & np.isin(cells["number"], old)]
        self._known = self._table()
        self._known.add(cells["key"].copy(), new[np.searchsorted(old, cells["number"])].astype(np.uint32))

    def _cut(self, small: int, big: int) -> None:
        """Returns memory and disk behind these ends to the system."""
        used = -(-small // mmap.PAGESIZE) * mmap.PAGESIZE
        if self._ends[0] > used:
            self._area.madvise(mmap.MADV_DONTNEED, used, self._ends[0] - used)
        if self._file is not None:
            self._let_go(BIG_RULES, self._ends[1])
            self._file.cut(big - BIG_RULES)
        self._ends = [small, big]

    def dump(self) -> dict[str, Array]:
        """Arrays for an image."""
        cells = np.concatenate(self._known.cells())
        cells = cells[cells["key"] != 0]
        cells = cells[np.argsort(cells["number"])]
        return {
            "rules": self.buffer[: self._ends[0]],
            "big_rules": self.buffer[BIG_RULES : self._ends[1]],
            "rule_keys": cells["key"].copy(),
            "rule_starts": cells["number"].copy(),
            "rules_kept": np.array([self._kept], np.int64),
        }

    def room(self, small: int, big: int) -> tuple[Array, Array]:
        """Makes room in an empty book for this many bytes of small and of large rules. Returns the arrays to fill."""
        if big:
            self._map().take(0, big)
        self._ends = [small, BIG_RULES + big]
        return self.buffer[:small], self.buffer[BIG_RULES : BIG_RULES + big]

    def load(self, keys: Array, starts: Array, kept: int) -> None:
        """Loads the rest of an image, after the rules."""
        self._known.add(keys, starts)
        self._kept = kept
        if self.on_disk:
            self._let_go(BIG_RULES, self._ends[1])


@njit
def _move(buffer: Array, old: Array, new: Array, lengths: Array) -> None:
    """Moves rules in the order of their places, so that none is overwritten before it is moved."""
    for k in range(len(old)):
        if old[k] != new[k]:
            for i in range(lengths[k]):
                buffer[new[k] + i] = buffer[old[k] + i]
