"""The format of journal files, and how they are read whatever has happened to them.

A file is `HEAD` (magic, format, shard, number of its first record, salt, checksum), then records: `RECORD` (uint32
length of the body, uint8 kind, uint64 checksum: xxh3 of the body, seeded with salt and kind) and the body. The salt is
random, so no page can contain text that passes for a record when the reader searches for marks after a torn record.

    EFFECTS   `Effects.encode()`, whose first field is the tick; numbered from 1 through the life of the collection
    MARK      JSON {"record": r, "tick": t, "lengths": {path: bytes}}: records up to r are committed, and so are the
              named files up to these lengths. A file that a mark does not name keeps its former length.

Record numbers are counted, not stored. If a record were lost, the next one would get its number; but ticks grow with
every record, so record r has tick t only if no record before it is lost. A mark contains both, so it reveals the loss.
"""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final

import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.view import View, viewed

HEAD: Final = struct.Struct("<4sHIQQQ")
RECORD: Final = struct.Struct("<IBQ")
MAGIC: Final = b"GJNL"
FORMAT: Final = 1
"""Format of journal files. Collections of format 2 have journals of format 1."""
_MARK_START: Final = b'{"record":'


class Kind(IntEnum):
    EFFECTS = 1
    MARK = 2


@dataclass(frozen=True, slots=True)
class Record:
    """A record as read from a file."""

    number: int
    """Number of the effects; for a mark: of the last effects before it in the file."""
    kind: Kind
    body: bytes
    end: int
    """Offset of the first byte after the record."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The body of a mark: the commit of all records up to `record`."""

    record: int
    tick: int
    """Tick of that record."""
    lengths: dict[str, int] = field(default_factory=dict)

    def encode(self) -> bytes:
        fields = {"record": self.record, "tick": self.tick, "lengths": self.lengths}
        return json.dumps(fields, separators=(",", ":")).encode()

    @staticmethod
    def decode(body: bytes) -> Mark:
        fields = json.loads(body)
        return Mark(fields["record"], fields["tick"], fields["lengths"])


def header(shard: int, first: int, salt: int) -> bytes:
    head = HEAD.pack(MAGIC, FORMAT, shard, first, salt, 0)[:-8]
    return head + xxhash.xxh3_64_intdigest(head).to_bytes(8, "little")


def encode(kind: Kind, body: bytes, salt: int) -> bytes:
    return RECORD.pack(len(body), kind, xxhash.xxh3_64_intdigest(body, salt ^ kind)) + body


@dataclass(frozen=True, slots=True)
class Head:
    first: int
    """Number of the file's first record."""
    salt: int


def read_head(path: Path) -> Head | None:
    """The file's header; None if a power cut tore it: then nothing in the file is committed."""
    with disk.naming("read", path), path.open("rb") as file:
        return _head(path, file.read(HEAD.size))


def _head(path: Path, raw: bytes) -> Head | None:
    if len(raw) < HEAD.size:
        return None
    magic, version, _, first, salt, checksum = HEAD.unpack(raw)
    if magic != MAGIC or checksum != xxhash.xxh3_64_intdigest(raw[:-8]):
        return None
    if version > FORMAT:  # every format keeps this header, and the checksum excludes damage
        raise UsageError(f"{path} has format {version}; this Gossamer reads up to {FORMAT}", "Use a newer version.")
    return Head(first, salt)


def read(path: Path, until: int | None = None) -> Iterator[Record]:
    """The records in order, up to the first torn one; then the complete marks after it, if they cover only records that
    can be read. With `until`, as if the file ended there.

    A mark that covers a missing record proves damage: GossamerError with file and offset. A file whose header is torn
    has no records; a mark in it would prove damage too, because the header is synced before the first mark.
    """
    with disk.naming("read", path), viewed(path, until) as raw:
        if len(raw) < HEAD.size:
            return
        head = _head(path, raw[: HEAD.size])
        if head is not None:
            yield from _records(path, raw, head)
        elif any(_marks_behind(raw, 0, None)):
            raise _damage(path, 0)


def newest(path: Path, since: int, most: int) -> tuple[list[bytes], int]:
    """The bodies of the last effects that are committed, at most so many, and the end of the last mark. Only what
    follows `since`, the end of an earlier mark (0: the start of the file), is looked at, and of most records only the
    header: 3 µs each. Empty, and `since`, if there is no mark yet."""
    head = read_head(path)
    if head is None:
        return [], since
    bodies, pending, end = deque[tuple[int, int]](maxlen=most), list[tuple[int, int]](), since
    with disk.naming("read", path), viewed(path) as raw:
        at = max(since, HEAD.size)
        while at + RECORD.size <= len(raw):
            length, kind, _ = RECORD.unpack(raw[at : at + RECORD.size])
            start, at = at, at + RECORD.size + length
            if at > len(raw) or kind not in (Kind.EFFECTS, Kind.MARK):
                break
            if kind == Kind.EFFECTS:
                pending.append((start, at))
            else:
                bodies.extend(pending)
                pending, end = [], at
        found = [_record(raw, start, head.salt) for start, _ in bodies]
    return [record[1] for record in found if record is not None], end


def committed(path: Path) -> tuple[int, Mark] | None:
    """Number of the file's first record, and its last mark, with the lengths of all its marks; None without a mark."""
    head = read_head(path)
    marks = [Mark.decode(r.body) for r in read(path) if r.kind is Kind.MARK]
    if head is None or not marks:
        return None
    lengths = {name: length for mark in marks for name, length in mark.lengths.items()}
    return head.first, Mark(marks[-1].record, marks[-1].tick, lengths)


def _records(path: Path, raw: View, head: Head) -> Iterator[Record]:
    ticks = list[int]()
    at = HEAD.size
    while (found := _record(raw, at, head.salt)) is not None:
        kind, body, at = found
        if kind is Kind.EFFECTS:
            ticks.append(_tick(body))
        elif not _holds(body, head.first, ticks):
            raise _damage(path, at)
        yield Record(head.first + len(ticks) - 1, kind, body, at)
    for body, end in _marks_behind(raw, at, head.salt):
        if not _holds(body, head.first, ticks):
            raise _damage(path, at)
        yield Record(head.first + len(ticks) - 1, Kind.MARK, body, end)


def _tick(effects: bytes) -> int:
    return int.from_bytes(effects[:8], "little")


def _holds(mark: bytes, first: int, ticks: list[int]) -> bool:
    """Whether all records that a mark covers are there; `ticks` are the ticks of the records before it in its file."""
    decoded = Mark.decode(mark)
    place = decoded.record - first
    return place < 0 or (place < len(ticks) and ticks[place] == decoded.tick)


def sound_until(path: Path) -> int | None:
    """For a damaged file, the length up to which everything is readable and committed; None if it is not damaged."""
    try:
        for _ in read(path):
            pass
    except UsageError:
        raise
    except GossamerError:
        with disk.naming("read", path), viewed(path) as raw:
            head, at, end, ticks = _head(path, raw[: HEAD.size]), HEAD.size, 0, list[int]()
            while head is not None and (found := _record(raw, at, head.salt)) is not None:
                kind, body, at = found
                if kind is Kind.EFFECTS:
                    ticks.append(_tick(body))
                elif _holds(body, head.first, ticks):
                    end = at
                else:  # a complete record is lost
                    break
        return end
    return None


def _damage(path: Path, at: int) -> GossamerError:
    return GossamerError(
        f"{path} is damaged at byte {at}: what was committed there cannot be read",
        "Restore the file from a backup, or give up what was committed after that byte: gossamer verify DIR --repair",
    )


def _record(raw: View, at: int, salt: int | None) -> tuple[Kind, bytes, int] | None:
    """The record at offset `at`, and its end; None at the end of the file or if it is torn (not checked without
    salt)."""
    if at + RECORD.size > len(raw):
        return None
    length, kind, checksum = RECORD.unpack(raw[at : at + RECORD.size])
    end = at + RECORD.size + length
    if end > len(raw) or kind not in (Kind.EFFECTS, Kind.MARK):
        return None
    body = raw[at + RECORD.size : end]
    whole = salt is None or xxhash.xxh3_64_intdigest(body, salt ^ kind) == checksum
    return (Kind(kind), body, end) if whole else None


def _marks_behind(raw: View, at: int, salt: int | None) -> Iterator[tuple[bytes, int]]:
    """The complete marks from offset `at` on, with their ends."""
    while (start := raw.find(_MARK_START, at)) >= 0:
        record = _record(raw, max(start - RECORD.size, 0), salt)
        if record is not None and record[0] is Kind.MARK and record[1].endswith(b"}}"):
            yield record[1], record[2]
        at = start + 1
