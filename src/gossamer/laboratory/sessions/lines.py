"""Lines of logs in blocks: files, gzip, or a stream, of any size.

A block is some megabytes of whole lines. The file is read once, from its beginning to its end, so it may be a pipe. A
file that is cut short, or damaged after some time, is read as far as it goes, and named.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np
from isal import isal_zlib

from gossamer.base.arrays import I64, U8
from gossamer.base.errors import UsageError

STREAM: Final = Path("-")
SIZE: Final = 8 << 20
"""Bytes of a block."""
LONGEST: Final = 1 << 20
"""Bytes of a line; the rest of a longer one is dropped."""
_InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # the stub declares an instance
_GZIP: Final = b"\x1f\x8b"
_OTHERS: Final = {b"BZh": "bzip2", b"\xfd7zX": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a log."""

    path: Path
    first: int
    """Number of its first line in the file, from 1."""
    buffer: U8
    begin: I64
    end: I64
    """Lines, without their ends. Empty lines are there."""


class Log:
    """A log that is read in blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = ""
        """Why the file could not be read to its end."""
        self._raw = _open(path)
        self._size = path.stat().st_size if path != STREAM else 0
        self._position = 0
        self._read = 0

    @property
    def part(self) -> float:
        """The part of the file that was read; 0 of a stream."""
        if not self._size:
            return 0.0
        return min(1.0, self._position / self._size)

    @property
    def size(self) -> int:
        return self._size

    def blocks(self, size: int = SIZE) -> Iterator[Block]:
        number, rest = 1, b""
        with self._raw:
            stream = _decompressed(self._raw, self.path)
            while True:
                piece = self._piece(stream, size)
                whole = rest + piece
                at = whole.rfind(b"\n") + 1 if piece else len(whole)
                rest = whole[at:]
                rest = rest[:LONGEST]
                if at:
                    block = in_lines(self.path, number, whole[:at])
                    number += len(block.begin)
                    yield block
                if not piece:
                    return

    def _piece(self, stream: BinaryIO, size: int) -> bytes:
        try:
            piece = stream.read(size)
        except (EOFError, OSError, zlib.error, _InflateError) as error:
            self.cut = str(error) or type(error).__name__
            return b""
        finally:
            if self._size:
                self._position = self._raw.tell()
        return piece


def _open(path: Path) -> io.BufferedReader:
    if path == STREAM:
        return _standard()
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Name a readable access log, or - for standard input.") from error


def _standard() -> io.BufferedReader:
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))


def _decompressed(raw: io.BufferedReader, path: Path) -> BinaryIO:
    head = raw.peek(4)[:4]
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            raise UsageError(
                f"{path} is compressed with {name}", f"Decompress it into a pipe: {name} -dc FILE | gossamer sessions -"
            )
    if not head.startswith(_GZIP):
        return raw
    from isal import igzip

    opened: Any = igzip.IGzipFile(fileobj=raw)  # type: ignore[no-untyped-call]
    return cast(BinaryIO, opened)


def in_lines(path: Path, first: int, text: bytes) -> Block:
    """The lines of a text."""
    buffer = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(buffer == 10).astype(np.int64)
    if not len(ends) or ends[-1] != len(buffer) - 1:
        ends = np.append(ends, len(buffer))
    begin = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    carriage = (ends > begin) & (buffer[np.maximum(ends - 1, 0)] == 13)
    return Block(path, first, buffer, begin, ends - carriage)
