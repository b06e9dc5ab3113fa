"""The graph on disk: compressed rows, one file per sealed segment, memory-mapped and decoded block by block.

    head      magic, key, rows, links, most targets of a row, greatest page + 1, checksum of these and what follows
    sources   uint32 each, ascending
    rows      for each source: number of targets, first target minus source (zigzag), then each gap minus one; varints

The targets of a row are ascending. Pages are numbered in order of discovery, so most gaps are small: 1.2 to 1.6 bytes
per link. The files are a cache of the `links` tables. `key` identifies the data that a file was made from; a file that
is damaged or has another key is made again. A page may be a source in several files: the row of the last file counts,
which `owner` records.

Memory: 4 bytes per page for `owner`, and one block. Decoding takes 2 to 3 ns per link.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import xxhash

from gossamer.base.arrays import I32, I64, U8, U32
from gossamer.base.compiled import allocating, inlined, njit
from gossamer.rank.graph import Block

_HEAD: Final = struct.Struct("<8sQQQQQQ")
_MAGIC: Final = b"gossROW1"
_PIECE: Final = 1 << 20
_VARINT: Final = 5
"""Maximum bytes of a number below 2^33."""
BLOCK: Final = 1 << 16
"""Targets of a block, or of one row if it has more: they are decoded and used while they are in the CPU cache."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """One memory-mapped file."""

    sources: U32
    body: U8
    links: int
    widest: int
    limit: int
    """Greatest page number in the file, plus one."""


def encode(sources: U32, degrees: I64, targets: U32, key: int) -> tuple[bytes, bytes, bytes]:
    """The parts of a file. `targets` has the targets of all sources one after the other, `degrees` of each, unsorted.
    No page may be a source twice. Repeated targets of a source count once."""
    order = np.argsort(sources, kind="stable")
    begins = np.cumsum(degrees) - degrees
    body = np.empty(_VARINT * (len(targets) + len(sources)), np.uint8)
    used, links, widest = _encode(sources, order, begins, degrees, targets, body)
    limit = int(max(sources.max(), targets.max(initial=0))) + 1 if len(sources) else 0
    raw, data = sources[order].astype("<u4").tobytes(), body[:used].tobytes()
    facts = key, len(sources), int(links), int(widest), limit
    return _HEAD.pack(_MAGIC, *facts, _checksum(facts, (raw, data))), raw, data


def open_rows(path: Path, key: int) -> RowFile | None:
    """Verify the checksum of a file, and map it; None if it is missing, damaged, unreadable or made from other data.

    It is read before it is mapped: where the disk fails, a read is an error, and a page of the map ends the process.
    """
    try:
        with path.open("rb") as file:
            head, length = file.read(_HEAD.size), os.fstat(file.fileno()).st_size
            if len(head) < _HEAD.size:
                return None
            magic, key_of_file, *facts, checksum = _HEAD.unpack(head)
            rows, links, widest, limit = facts
            middle = _HEAD.size + 4 * rows
            if magic != _MAGIC or key_of_file != key or middle > length:
                return None
            if _checksum((key, *facts), iter(lambda: file.read(_PIECE), b"")) != checksum:
                return None
            mapped = np.asarray(np.memmap(file, np.uint8, "r"))
    except (OSError, ValueError):
        return None
    return RowFile(mapped[_HEAD.size : middle].view("<u4"), mapped[middle:], links, widest, limit)


def _checksum(facts: tuple[int, ...], parts: Iterable[bytes]) -> int:
    """A checksum that covers the head too: kernels trust its numbers."""
    digest = xxhash.xxh3_64(struct.pack(f"<{len(facts)}Q", *facts))
    for part in parts:
        digest.update(part)
    return digest.intdigest()


class MappedRows:
    """The graph of several files, in order; a `graph.Graph`."""

    def __init__(self, files: Sequence[RowFile], pages: int) -> None:
        self._files = files
        self.pages = max([pages, *(file.limit for file in files)])
        self._owner: I32 = np.full(self.pages, -1, np.int32)
        for number, file in enumerate(files):
            self._owner[file.sources] = number
        widest = max([BLOCK, *(file.widest for file in files)])
        self._block = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.int64), np.empty(widest, np.uint32)

    def blocks(self) -> Iterator[Block]:
        sources, ends, targets = self._block
        for number, file in enumerate(self._files):
            at = row = 0
            while row < len(file.sources):
                at, row, count, used = _decode(
                    file.body, at, file.sources, row, self._owner, number, sources, ends, targets
                )
                yield Block(sources[:count], ends[:count], 0, targets[:used])


@inlined
def _put(body: U8, at: int, number: int) -> int:
    while number >= 128:
        body[at] = (number & 127) | 128
        number >>= 7
        at += 1
    body[at] = number
    return at + 1


@allocating
def _encode(sources: U32, order: I64, begins: I64, degrees: I64, targets: U32, body: U8) -> tuple[int, int, int]:
    at = links = widest = 0
    for i in order:
        ordered = np.sort(targets[begins[i] : begins[i] + degrees[i]])
        degree = 0
        for j in range(len(ordered)):
            if j == 0 or ordered[j] != ordered[j - 1]:
                ordered[degree] = ordered[j]
                degree += 1
        at = _put(body, at, degree)
        last: int = np.int64(sources[i])  # type: ignore[assignment]
        for j in range(degree):
            target: int = np.int64(ordered[j])  # type: ignore[assignment]
            step = target - last
            at = _put(body, at, step - 1 if j else (step << 1) ^ (step >> 63))
            last = target
        links += degree
        widest = max(widest, degree)
    return at, links, widest


@inlined
def _take(body: U8, at: int) -> tuple[int, int]:
    """The number at byte `at`, and the position of the next one."""
    byte: int = np.int64(body[at])  # type: ignore[assignment]
    number = byte & 127
    at += 1
    shift = 7
    while byte >= 128:
        byte = np.int64(body[at])  # type: ignore[assignment]
        number |= (byte & 127) << shift
        shift += 7
        at += 1
    return number, at


@njit
def _decode(
    body: U8, at: int, rows: U32, row: int, owner: I32, file: int, sources: U32, ends: I64, targets: U32
) -> tuple[int, int, int, int]:
    """Decode rows from `row`, which begins at byte `at`, until a buffer is full. Returns the next byte and row, and the
    number of sources and targets decoded."""
    count = used = 0
    while row < len(rows) and count < len(sources):
        degree, after = _take(body, at)
        if used + degree > len(targets):
            break
        at = after
        source = rows[row]
        last: int = np.int64(source)  # type: ignore[assignment]
        for j in range(degree):
            step, at = _take(body, at)
            last += step + 1 if j else (step >> 1) ^ -(step & 1)
            targets[used + j] = last
        if owner[source] == file:
            sources[count] = source
            used += degree
            ends[count] = used
            count += 1
        row += 1
    return at, row, count, used
