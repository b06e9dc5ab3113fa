"""Checks the archive against the visits: every record is complete and matches its digests, each visit that archived
something has its record, and each record has a visit.

A visit owns the bytes from the end of the visit before it to its own `warc_end`: a request, a response or revisit at
`warc_offset`, and possibly a conversion; or a blank, if it was forgotten. So a file is checked in pieces, cut at the
ends of visits, each in a separate process with the visits that belong to it. Memory is that of a few pieces.

Cost: decompression, and SHA-1 of each block and payload; `bench/verify.py` prints the speed.
"""

from __future__ import annotations

import hashlib
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import xxhash

from gossamer.base.errors import StorageError
from gossamer.base.model import VisitFlag
from gossamer.base.view import viewed
from gossamer.collection import cdx
from gossamer.collection.forgetting.blanks import is_blank
from gossamer.config.settings import SeederSettings
from gossamer.read.verify.dates import Dates
from gossamer.urls import Scope
from gossamer.urls.names import spelled

_ALL: Final = 1 << 62
_GZIP: Final = b"\x1f\x8b\x08"
_WARC: Final = b"WARC/1."
_START: Final = 1 << 10
"""Compressed bytes of a gzip member that are enough to read its first words."""
_UNMODIFIED: Final = b"/server-not-modified"
_REPLAYED: Final = (b"response", b"revisit")
_REPEATED, _TEXT = int(VisitFlag.REPEATED), int(VisitFlag.TEXT)
_HASH: Final = (1 << 64) - 1


class ArchivedVisit(NamedTuple):
    """A visit that archived something."""

    offset: int
    end: int
    url: str | None
    """The canonical URL; None for robots.txt, which may have moved."""
    flags: int
    payload: bytes | None
    begun: float
    """Wall time of the request."""
    off: float
    """Seconds by which that time is to be corrected, as far as it is marked."""
    forgotten: bool = False
    """What it brought is to be a blank."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an archive file, cut at the ends of visits."""

    path: Path
    start: int
    end: int
    visits: list[ArchivedVisit] | None
    """None if they are unknown (tables are damaged): then only the records themselves are checked."""
    seeder: SeederSettings
    unindexed: tuple[tuple[int, int], ...]
    """Spans of the file that no index covers."""


class Revisit(NamedTuple):
    """A revisit record."""

    offset: int
    payload: str
    record_id: bytes
    """The record that it refers to."""


@dataclass(slots=True)
class CheckedPiece:
    """The result of checking a piece."""

    path: Path
    bytes: int
    reached: int
    """End of the last readable record."""
    records: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)
    """Offsets, and what is wrong there."""
    unreadable: bool = False
    """A record could not be decompressed."""
    lines: int = 0
    """Number of index lines that the records must have."""
    checksum: int = 0
    """Sum of the checksums of these lines."""
    revisits: list[Revisit] = field(default_factory=list)
    dates: Dates = field(default_factory=Dates)


def check(piece: Piece) -> CheckedPiece:
    """Checks a piece. After an unreadable record, the next visit follows, or the next bytes that look like a record."""
    done = CheckedPiece(piece.path, piece.end - piece.start, piece.start)
    while done.reached < piece.end:
        try:
            _read(piece, done.reached, done)
            break
        except StorageError as error:
            done.unreadable = True
            done.wrong.append((done.reached, error.message))
            done.reached = _behind(piece, done.reached)
    return done


def _behind(piece: Piece, damaged: int) -> int:
    """Where to continue after an unreadable record: nowhere, if the disk fails there."""
    if piece.visits is not None:
        return next((v.end for v in piece.visits if v.end > damaged), piece.end)
    with suppress(OSError), viewed(piece.path) as raw:
        at = raw.find(_GZIP, damaged + 1, piece.end)
        while at >= 0:
            with suppress(zlib.error):
                if zlib.decompressobj(wbits=31).decompress(raw[at : at + _START], len(_WARC)) == _WARC:
                    return at
            at = raw.find(_GZIP, at + 1, piece.end)
    return piece.end


@dataclass(slots=True)
class _Stretch:
    """What was read so far of the bytes that one visit owns."""

    found: bool = False
    record_id: bytes = b""
    concurrent: bytes = b""
    text: bool = False
    blank: bool = False


def _read(piece: Piece, start: int, done: CheckedPiece) -> None:
    coming = iter([v for v in piece.visits or () if v.end > start])
    visit, stretch = next(coming, None), _Stretch()
    for offset, size, raw in cdx.members(piece.path, start, piece.end, _ALL):
        done.records += 1
        done.reached = offset + size
        record = WarcRecord(raw, offset)
        wrong = record.damage()
        if wrong:
            done.wrong.append((offset, wrong))
        elif piece.visits is not None:
            _place_record(piece, record, visit, stretch, done)
        if visit is not None and offset + size >= visit.end:
            done.wrong += [(visit.offset, text) for text in _missing(visit, stretch, offset + size, wrong)]
            visit, stretch = next(coming, None), _Stretch()
    if visit is not None:
        done.wrong.append((visit.offset, "a visit refers to this place, but the file ends before it"))


def _missing(visit: ArchivedVisit, stretch: _Stretch, end: int, damaged: str) -> list[str]:
    if end != visit.end:
        return [f"a visit ends at byte {visit.end}, where no record ends"]
    if visit.forgotten:
        return [] if stretch.blank else ["what was forgotten is still here"]
    if not stretch.found and not damaged:
        return ["a visit refers to this place, where no response or revisit record starts"]
    if visit.flags & _TEXT and stretch.found and not stretch.text and not visit.flags & _REPEATED:
        return ["its visit archived the cleaned text, but no conversion record follows"]
    return []


def _place_record(
    piece: Piece, record: WarcRecord, visit: ArchivedVisit | None, stretch: _Stretch, done: CheckedPiece
) -> None:
    kind, offset = record.field(b"WARC-Type"), record.offset
    if kind == b"warcinfo" and offset == 0:
        return
    if is_blank(record.raw):  # it may also have the place of records that were moved
        stretch.blank |= visit is not None and offset <= visit.offset < done.reached
        return
    if visit is None:
        done.wrong.append((offset, f"no visit refers to this {kind.decode('latin-1')} record"))
    elif visit.forgotten:
        pass  # `_missing` says it once for the visit
    elif kind == b"request":
        stretch.concurrent = record.field(b"WARC-Concurrent-To")
    elif kind == b"conversion":
        stretch.text = True
        if record.field(b"WARC-Refers-To") != stretch.record_id:
            done.wrong.append((offset, "this conversion record does not refer to the response before it"))
    elif kind in _REPLAYED and offset == visit.offset:
        stretch.found, stretch.record_id = True, record.field(b"WARC-Record-ID")
        done.wrong += [(offset, text) for text in _unlike(piece, record, kind, visit, stretch)]
        fields = record.field(b"WARC-Date"), record.field(b"WARC-Target-URI")
        done.dates.take(offset, *fields, record.raw, record.behind, visit.begun, visit.off)
        unknown = visit.payload is None or not record.field(b"WARC-Refers-To")
        if kind == b"revisit" and not (unknown and record.field(b"WARC-Profile").endswith(_UNMODIFIED)):
            digest = record.field(b"WARC-Payload-Digest").removeprefix(b"sha1:").decode("latin-1")
            done.revisits.append(Revisit(offset, digest, record.field(b"WARC-Refers-To")))
        if not any(a <= offset < b for a, b in piece.unindexed):
            line = cdx.line_of(record.raw, offset, done.reached - offset, piece.path.name)
            if line:
                done.lines += 1
                done.checksum = (done.checksum + xxhash.xxh3_64_intdigest(line)) & _HASH
    else:
        done.wrong.append((offset, f"no visit refers to this {kind.decode('latin-1')} record"))


def _unlike(piece: Piece, record: WarcRecord, kind: bytes, visit: ArchivedVisit, stretch: _Stretch) -> list[str]:
    """The differences between a visit and its record."""
    wrong = []
    requested = record.field(b"WARC-Target-URI").decode("latin-1")
    if visit.url is not None and requested != visit.url and requested != spelled(visit.url, True):
        canonical = _scope(piece.seeder).canonical(requested)
        if canonical != visit.url:
            wrong.append(f"the record is of {requested}, but its visit requested {visit.url}")
    if stretch.concurrent and stretch.concurrent != stretch.record_id:
        wrong.append("the request before it belongs to another record")
    if (kind == b"revisit") != bool(visit.flags & _REPEATED):
        wrong.append(f"it is a {kind.decode()} record, which contradicts the flags of its visit ({visit.flags})")
    payload = visit.payload
    if payload is not None and payload != record.sha1 and not says(record.field(b"WARC-Payload-Digest"), payload):
        wrong.append("its visit has the digest of another body")
    return wrong


_scopes: Final = dict[str, Scope]()


def _scope(seeder: SeederSettings) -> Scope:
    """The scope of these settings, made once per process. The key is their text, because they cannot be hashed."""
    key = repr(seeder)
    if key not in _scopes:
        _scopes[key] = Scope.of(seeder)
    return _scopes[key]


class WarcRecord:
    """A WARC record: the content of one gzip member."""

    __slots__ = ("_fields", "behind", "offset", "raw", "sha1")

    def __init__(self, raw: bytes, offset: int = 0) -> None:
        self.raw, self.offset = raw, offset
        self.sha1 = b""
        """SHA-1 of the payload, after `damage` has computed it."""
        self.behind = raw.find(b"\r\n\r\n") + 4
        """Where its block begins."""
        lines = raw[: self.behind - 4].split(b"\r\n")
        self._fields = {name: value for name, _, value in [line.partition(b": ") for line in lines]}

    def field(self, name: bytes) -> bytes:
        return self._fields.get(name, b"")

    def damage(self) -> str:
        """What is wrong with the record itself; "" if nothing is."""
        raw, behind, fields = self.raw, self.behind, self._fields
        if not raw.startswith(_WARC) or behind < 4:
            return "this is not a WARC record"
        if not raw.endswith(b"\r\n\r\n") or fields.get(b"Content-Length") != b"%d" % (len(raw) - behind - 4):
            return "the length of the record is not the stated one"
        whole = memoryview(raw)
        digest = fields.get(b"WARC-Block-Digest")
        if digest and not says(digest, _sha1(whole[behind:-4])):
            return "the record is damaged: its block does not match its digest"
        digest = fields.get(b"WARC-Payload-Digest")
        if digest and fields.get(b"WARC-Type") == b"response":
            body = raw.find(b"\r\n\r\n", behind) + 4
            self.sha1 = _sha1(whole[body:-4])
            if not says(digest, self.sha1):
                return "the record is damaged: its payload does not match its digest"
        return ""


def _sha1(data: memoryview) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGITS: Final = bytes(
    b"0123456789abcdefghijklmnopqrstuv"[_ALPHABET.index(c)] if c in _ALPHABET else ord("!") for c in range(256)
)


def says(field: bytes, sha1: bytes) -> bool:
    """Whether a digest as the archive writes it, in base 32 (RFC 4648), equals this SHA-1.

    It is compared as a number, which takes a twentieth of the time of the library's decoder.
    """
    if len(field) != 37 or not field.startswith(b"sha1:"):
        return False
    try:
        return int(field[5:].translate(_DIGITS), 32) == int.from_bytes(sha1, "big")
    except ValueError:
        return False
