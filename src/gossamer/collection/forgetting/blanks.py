"""Blanks in the archive: a record of the same length in place of those that are forgotten.

All other records stay where they are, so no visit, no index and no version of another page changes. A blank is one
gzip member, stored and not compressed, so that it can have any length: a `metadata` record (WARC 1.1, 6.5) whose block
is the word `forgotten` and spaces. Readers of archives read on behind it. The bytes are overwritten in place: on most
disks, the old ones are then nowhere any more.

Refused: cutting the records out, which gives the space back, but moves all records behind them: their offsets are in
visits, index, versions and images, and in what others have noted outside.
"""

from __future__ import annotations

import hashlib
import struct
import uuid
import zlib
from base64 import b32encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import gmtime, strftime
from typing import Final

from gossamer.base import disk
from gossamer.collection.forgetting.tombstones import Span
from gossamer.collection.layout import archive_name

WORD: Final = b"forgotten"
_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_TAIL: Final = struct.Struct("<II")
_STORED: Final = struct.Struct("<BHH")
_BLOCK: Final = 0xFFFF
_END: Final = b"\r\n\r\n"


def is_blank(record: bytes) -> bool:
    """Whether a record, as it is in its gzip member, is a blank."""
    head, _, block = record.partition(_END)
    return b"\r\nWARC-Type: metadata" in head and block.startswith(WORD)


def blank(size: int, number: int, offset: int, when: float) -> bytes:
    """A blank of `size` bytes, for this place in the archive. The same place always gets the same bytes."""
    blocks = max(1, -(-(size - len(_HEAD) - _TAIL.size) // (_BLOCK + _STORED.size)))
    room = size - len(_HEAD) - _TAIL.size - blocks * _STORED.size
    record = _record(room, uuid.uuid5(uuid.NAMESPACE_URL, f"{archive_name(number)}/{offset}"), when)
    if record is None:
        return bytes(size)  # less than a request: it was no record
    parts = [_HEAD]
    for block in range(blocks):
        piece = record[block * _BLOCK : (block + 1) * _BLOCK]
        parts += (_STORED.pack(block + 1 == blocks, len(piece), len(piece) ^ _BLOCK), piece)
    parts.append(_TAIL.pack(zlib.crc32(record), len(record) & 0xFFFFFFFF))
    return b"".join(parts)


def _record(size: int, record_id: uuid.UUID, when: float) -> bytes | None:
    """The record, of `size` bytes; None if there is no room for its header."""
    for kind in (b"text/plain", b"text/plain;"):  # the second, if the digits of the length leave one byte
        head = b"\r\n".join(
            (
                b"WARC/1.1",
                b"WARC-Type: metadata",
                b"WARC-Record-ID: <urn:uuid:%s>" % str(record_id).encode(),
                b"WARC-Date: " + strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(when)).encode(),
                b"Content-Type: " + kind,
                b"WARC-Block-Digest: " + _digest(b""),
                b"Content-Length: ",
            )
        )
        room = size - len(head) - 2 * len(_END)
        for digits in range(1, 11):
            if room - digits >= len(WORD) and len(str(room - digits)) == digits:
                block = WORD.ljust(room - digits)
                head = head.replace(_digest(b""), _digest(block))
                return b"".join((head, b"%d" % len(block), _END, block, _END))
    return None


def _digest(block: bytes) -> bytes:
    return b"sha1:" + b32encode(hashlib.sha1(block, usedforsecurity=False).digest())


def write(shard: Path, spans: Sequence[Span], when: float) -> int:
    """Blanks these places; returns the bytes. Those that are blank already stay. Durable when it returns."""
    done = 0
    for number in sorted({file for file, _, _ in spans}):
        path = shard / archive_name(number)
        if not path.exists():
            continue
        size = path.stat().st_size
        here = [(start, end) for file, start, end in spans if file == number and start < end <= size]
        disk.overwrite(path, _pieces(path, number, here, when))
        done += sum(end - start for start, end in here)
    return done


def _pieces(path: Path, number: int, spans: Sequence[tuple[int, int]], when: float) -> Iterator[tuple[int, bytes]]:
    with disk.naming("read", path), path.open("rb") as file:
        for start, end in spans:
            new = blank(end - start, number, start, when)
            file.seek(start)
            if file.read(end - start) != new:
                yield start, new
