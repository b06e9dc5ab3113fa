"""A file as a row of bytes that are read when they are asked for.

A memory map would be as simple, but what fails under a map (a bad sector, a file that is cut meanwhile) ends the
process by SIGBUS. Here it is an OSError, and a reader goes on, or says which file it was.

Invariants, each a test of the same name: the view equals the bytes of the file; a file that is cut under a view is an
error and no signal.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_AHEAD: Final = 1 << 18
"""Bytes that are read at once: readers go from the front to the back, by pieces of some hundred bytes."""


class View:
    """The first `length` bytes of an open file, or all that it has now."""

    __slots__ = ("_begin", "_fd", "_length", "_read")

    def __init__(self, fd: int, length: int | None = None) -> None:
        size = os.fstat(fd).st_size
        self._fd, self._length = fd, size if length is None else length
        self._begin, self._read = 0, b""
        if self._length > size:
            raise OSError(errno.ENODATA, f"it has {size} bytes, and should have {self._length}")

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> bytes:
        start, end, _ = part.indices(self._length)
        if not self._begin <= start <= end <= self._begin + len(self._read):
            self._begin, self._read = start, self._fetch(start, end)
        return self._read[start - self._begin : max(end - self._begin, 0)]

    def find(self, what: bytes, start: int, end: int | None = None) -> int:
        """Where `what` first is, from `start` on; -1 if it is nowhere."""
        end = self._length if end is None else min(end, self._length)
        while start < end:
            if (at := self[start : min(start + _AHEAD + len(what), end)].find(what)) >= 0:
                return start + at
            start += _AHEAD
        return -1

    def _fetch(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`, and some more if they are there."""
        found = b""
        while start + len(found) < end:
            at = start + len(found)
            if not (more := os.pread(self._fd, min(max(end - at, _AHEAD), self._length - at), at)):
                raise OSError(errno.ENODATA, f"it was cut before byte {at} while it was read")
            found += more
        return found


@contextmanager
def viewed(path: Path, length: int | None = None) -> Iterator[View]:
    """The first `length` bytes of a file, or all that it has now."""
    with path.open("rb", buffering=0) as file:
        yield View(file.fileno(), length)
