"""Bodies that pages which stay share with a forgotten page.

Their records are revisit records: they have a head of their own, and name the record that has the body (WARC 1.1,
6.7.2). When that one goes, the first of them becomes a response record with the body, and the cleaned text if there was
one; the others name it instead. A revisit record says `WARC-Refers-To-Target-URI` too, which is the URL that is to be
forgotten. The new records are longer or shorter than the old ones: so they, and the requests before them, are written
to a new archive file, and their visits refer to it. Their ids and dates stay. The record of an answer that a page has
not changed (304) also says where the copy is: it goes behind the records of its copies, and names their new places.

If a record cannot be read, the page keeps a record without a body: there was none that could be read.
"""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from isal import isal_zlib

from gossamer.base import disk
from gossamer.base.arrays import U64, Array, Records
from gossamer.base.errors import StorageError
from gossamer.base.model import Outcome, VisitFlag
from gossamer.collection import cdx
from gossamer.collection.cdx import UNCHANGED, Replayed
from gossamer.collection.forgetting.tables import Gone, Place, columns, numbers_of
from gossamer.collection.forgetting.tombstones import Span
from gossamer.collection.layout import archive_name
from gossamer.collection.manifest import Line
from gossamer.collection.tables.forms import Archive, Raw, Word, one_chunk

_ALL: Final = 1 << 62
_HEAD: Final = 1 << 13
_STORED, _REPEATED, _TEXT = int(VisitFlag.STORED), int(VisitFlag.REPEATED), int(VisitFlag.TEXT)
_END: Final = b"\r\n\r\n"
_UNMODIFIED: Final = b"/server-not-modified"
_REFERS: Final = b"WARC-Refers-To"
_OF_REVISITS: Final = (b"WARC-Profile", b"WARC-Truncated", _REFERS, _REFERS + b"-Target-URI", _REFERS + b"-Date")
_ARCHIVED: Final = ("page", "site", "flags", "outcome", "warc_file", "warc_offset", "warc_end", "payload")

KINDS: Final = np.dtype(
    [
        ("segment", "<i8"),
        ("row", "<i8"),
        ("file", "<u2"),
        ("offset", "<u8"),
        ("end", "<u8"),
        ("start", "<u8"),
        ("flags", "<u2"),
        ("gone", "?"),
        ("unmodified", "?"),
        ("payload", "V20"),
    ]
)


def archived(shard: Path, lines: Sequence[Line], gone: Gone) -> Records:
    """The visits that archived something, by file and place: `start` is where the data of each begins."""
    found = [_archived(shard, line, gone) for line in lines]
    visits = np.concatenate([np.zeros(0, KINDS), *found])
    visits = visits[np.lexsort((visits["end"], visits["file"]))]
    visits["start"][1:] = np.where(visits["file"][1:] == visits["file"][:-1], visits["end"][:-1], 0)
    firsts = np.flatnonzero(visits["start"] == 0)
    visits["start"][firsts] = [_behind_warcinfo(shard / archive_name(int(file))) for file in visits["file"][firsts]]
    return visits


def _archived(shard: Path, line: Line, gone: Gone) -> Records:
    table = columns(shard, line, "visits", _ARCHIVED)
    if table is None:
        return np.zeros(0, KINDS)
    visits = np.zeros(len(table), KINDS)
    visits["segment"], visits["row"] = line["segment"], np.arange(len(table))
    visits["file"] = Archive().read(one_chunk(table, "warc_file"))
    for name, column in (("offset", "warc_offset"), ("end", "warc_end"), ("flags", "flags")):
        visits[name] = numbers_of(table, column)
    outcomes = Word(Outcome).read(one_chunk(table, "outcome"))
    visits["unmodified"] = outcomes == int(Outcome.NOT_MODIFIED)
    if "payload" in table.column_names:
        visits["payload"] = np.ascontiguousarray(Raw(20).read(one_chunk(table, "payload"))).view("V20").reshape(-1)
    visits["gone"] = gone.has_page(numbers_of(table, "page")) | gone.has_site(numbers_of(table, "site"))
    return visits[visits["end"] > 0]


def _behind_warcinfo(path: Path) -> int:
    """Where the first record behind the head of an archive file is; 0 if that cannot be read."""
    with suppress(OSError, StorageError, StopIteration):
        _, size, raw = next(cdx.members(path, 0, path.stat().st_size, _HEAD))
        return size if b"WARC-Type: warcinfo" in raw else 0
    return 0


class Record(NamedTuple):
    """A WARC record: its header, and its block."""

    fields: list[tuple[bytes, bytes]]
    block: bytes

    @staticmethod
    def read(raw: bytes) -> Record:
        head, _, block = raw.partition(_END)
        pairs = (line.partition(b": ")[::2] for line in head.split(b"\r\n")[1:])
        return Record([(name, value) for name, value in pairs], block[:-4])

    def field(self, name: bytes) -> bytes:
        return next((value for known, value in self.fields if known == name), b"")

    def without(self, names: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        return [(name, value) for name, value in self.fields if name not in names]

    def plain(self) -> bytes:
        """The record, not compressed; length and digest of its block are computed."""
        own = {b"WARC-Block-Digest": _digest(self.block), b"Content-Length": b"%d" % len(self.block)}
        lines = [name + b": " + own.get(name, value) for name, value in self.fields]
        return b"\r\n".join([b"WARC/1.1", *lines]) + _END + self.block + _END

    def member(self) -> bytes:
        """The record as a gzip member."""
        member: bytes = isal_zlib.compress(self.plain(), 1, wbits=31)
        return member


def _digest(block: bytes) -> bytes:
    return b"sha1:" + b32encode(hashlib.sha1(block, usedforsecurity=False).digest())


@dataclass(slots=True)
class Moved:
    """What is to be moved: places by segment and row of `visits`, the old places, and the contents of the new file."""

    number: int
    places: dict[int, dict[int, Place]] = field(default_factory=lambda: defaultdict(dict))
    blank: list[Span] = field(default_factory=list)
    length: int = 0
    lost: int = 0
    """Bodies that could not be read."""
    copies: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    """What the record of a 304 says of a copy that was moved, by its old offset and file."""

    def referring(self, unchanged: bytes) -> bytes:
        """What the record of a 304 says from now on of where its copy is."""
        offset, _, _, file, *_ = [*unchanged.split(b" "), b"", b"", b"", b""]
        return self.copies.get((offset, file), unchanged)


def move(shard: Path, visits: Records, number: int, warcinfo: bytes) -> Moved:
    """Writes the archive file `number` with the records that refer to forgotten ones, if there are any."""
    moved = Moved(number)
    groups = _groups(shard, visits)
    if not groups:
        return moved
    path = shard / archive_name(number)
    disk.remove(path)
    file = disk.Appender(path)
    try:
        file.append(warcinfo)
        for original, copies in groups:
            _write(shard, file, visits[original], visits[copies], moved)
        file.sync()
        moved.length = file.length
    finally:
        file.close()
    return moved


def _groups(shard: Path, visits: Records) -> list[tuple[int, list[int]]]:
    """Each forgotten visit to whose record others refer, with these, in the order of the archive."""
    repeated = (visits["flags"] & _REPEATED) != 0
    stored = visits["gone"] & ~repeated & (visits["flags"] & _STORED != 0)
    payloads = np.intersect1d(_keys(visits[stored]), _keys(visits[repeated & ~visits["gone"]]))
    if not len(payloads):
        return []
    among = np.isin(_keys(visits), payloads)
    ids = {_field(shard, visits[i], b"WARC-Record-ID"): i for i in np.flatnonzero(stored & among).tolist()}
    ids.pop(b"", None)
    found: dict[int, list[int]] = defaultdict(list)
    for i in np.flatnonzero(repeated & ~visits["gone"] & among).tolist():
        original = ids.get(_field(shard, visits[i], _REFERS))
        if original is not None:
            found[original].append(i)
    return sorted(found.items())


def _keys(visits: Records) -> U64:
    """The first eight bytes of each payload: enough to find candidates, whose records are read."""
    raw = np.ascontiguousarray(visits["payload"]).view("u1").reshape(-1, 20)
    return np.ascontiguousarray(raw[:, :8]).view("<u8")[:, 0]


def _field(shard: Path, visit: Array, name: bytes) -> bytes:
    with suppress(OSError, StorageError, StopIteration):
        place = int(visit["offset"]), int(visit["end"])
        _, _, raw = next(cdx.members(shard / archive_name(int(visit["file"])), *place, _HEAD))
        return Record.read(raw).field(name)
    return b""


def _write(shard: Path, file: disk.Appender, original: Array, copies: Records, moved: Moved) -> None:
    """Moves the records of `copies`; the first that can have the body gets it. Those of a 304 come last."""
    body, text = _contents(shard, original)
    first: Record | None = None
    for copy in copies[np.argsort(copies["unmodified"], kind="stable")]:
        request, revisit = _exchange(shard, copy)
        if revisit is None:
            continue
        flags = int(copy["flags"])
        unmodified = revisit.field(b"WARC-Profile").endswith(_UNMODIFIED)
        if first is None and body is not None and not unmodified:
            first = record = _with_body(revisit, body)
            members, flags = [first.member()], flags & ~_REPEATED
            if text is not None:
                members.append(_text_of(first, text).member())
                flags |= _TEXT
        else:
            record = _referring(revisit, first, moved)
            members = [record.member()]
            moved.lost += first is None and not unmodified
        start = file.append(request + b"".join(members))
        place = Place(moved.number, start + len(request), file.length, flags)
        here = Replayed.of(record.plain(), place.offset, len(members[0]), Path(archive_name(moved.number)).name)
        moved.copies[b"%d" % copy["offset"], Path(archive_name(int(copy["file"]))).name.encode()] = bytes(here)
        moved.places[int(copy["segment"])][int(copy["row"])] = place
        moved.blank.append((int(copy["file"]), int(copy["start"]), int(copy["end"])))


def _contents(shard: Path, original: Array) -> tuple[Record | None, Record | None]:
    """The response of a forgotten visit, and the record of its cleaned text."""
    found: list[Record | None] = [None, None]
    path = shard / archive_name(int(original["file"]))
    with suppress(OSError, StorageError):
        for _, _, raw in cdx.members(path, int(original["offset"]), int(original["end"]), _ALL):
            record = Record.read(raw)
            if record.field(b"WARC-Type") == b"response":
                found[0] = record
            elif record.field(b"WARC-Type") == b"conversion":
                found[1] = record
    return found[0], found[1]


def _exchange(shard: Path, visit: Array) -> tuple[bytes, Record | None]:
    """The gzip member of a visit's request, as it is, and its revisit record; None if that cannot be read."""
    path, request = shard / archive_name(int(visit["file"])), b""
    with suppress(OSError, StorageError):
        for at, size, raw in cdx.members(path, int(visit["start"]), int(visit["end"]), _ALL):
            record = Record.read(raw)
            if at == visit["offset"]:
                return request, record
            request = _bytes(path, at, size) if record.field(b"WARC-Type") == b"request" else b""
    return request, None


def _bytes(path: Path, at: int, size: int) -> bytes:
    with disk.naming("read", path), path.open("rb") as file:
        file.seek(at)
        return file.read(size)


def _with_body(revisit: Record, response: Record) -> Record:
    """A response record of the head of a revisit record and the body of the record that it refers to."""
    fields = [(n, b"response" if n == b"WARC-Type" else v) for n, v in revisit.without(_OF_REVISITS)]
    if cut := response.field(b"WARC-Truncated"):
        fields.insert(-1, (b"WARC-Truncated", cut))
    head, body = revisit.block.partition(_END)[0], response.block.partition(_END)[2]
    return Record(fields, head + _END + body)


def _text_of(response: Record, text: Record) -> Record:
    own = {b"WARC-Target-URI": b"WARC-Target-URI", b"WARC-Date": b"WARC-Date", _REFERS: b"WARC-Record-ID"}
    fields = [(n, response.field(own[n]) if n in own else v) for n, v in text.fields]
    return Record(fields, text.block)


def _referring(revisit: Record, first: Record | None, moved: Moved) -> Record:
    """A revisit record that refers to this response; without one, it says only what it is."""
    named = {
        UNCHANGED: moved.referring(revisit.field(UNCHANGED)),
        _REFERS: b"" if first is None else first.field(b"WARC-Record-ID"),
        _REFERS + b"-Target-URI": b"" if first is None else first.field(b"WARC-Target-URI"),
        _REFERS + b"-Date": b"" if first is None else first.field(b"WARC-Date"),
    }
    fields = [(n, named.get(n, v)) for n, v in revisit.fields]
    return Record([(n, v) for n, v in fields if v], revisit.block)
