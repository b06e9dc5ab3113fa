"""Forms: they turn the fields of records into readable columns of a table, and back into exactly the same bytes.

A form writes values as SQL users expect them (a word for a code, a timestamp for seconds, null for "none") and reads
them back. Values that a form cannot represent (a time between two microseconds, a text that is not UTF-8, a code
without a word) go to the column `exact` as field numbers and raw bytes; it is null for all other rows. So every table
is lossless for all values, by construction: `pack` reads back what it wrote, and compares.

Texts become columns without an object per text: 10^7 URLs are read in seconds, not in a minute. An empty text is null.
Text that is not UTF-8 is shown with replacement characters; the caller keeps its bytes.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gossamer.base.arrays import U8, Array, Arrays, Records
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, SHARD_SHIFT, Texts
from gossamer.collection.layout import archive_name

Fields = Arrays
"""Fields of records by name, each an array. A field that is itself an array has one entry per element: `name.0`, …"""

EXACT: Final = "exact"
_TEXT: Final = 128
"""First field number of texts in `exact`."""
_TEXT_HEAD: Final = struct.Struct("<BI")


class Form(Protocol):
    """How one field is written as a column, and read."""

    def write(self, fields: Fields, name: str) -> pa.Array: ...

    def read(self, column: pa.Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """The value unchanged; `absent` becomes null."""

    absent: float | None = None

    def write(self, fields: Fields, name: str) -> pa.Array:
        values = fields[name]
        return pa.array(values, mask=None if self.absent is None else values == self.absent)

    def read(self, column: pa.Array) -> Array:
        return _filled(column, 0 if self.absent is None else self.absent)


@dataclass(frozen=True, slots=True)
class Page:
    """A page number: shard << 40 | local number; NONE becomes null. int64, because not every reader knows uint64."""

    shard: int

    def write(self, fields: Fields, name: str) -> pa.Array:
        local = fields[name]
        return pa.array(local.astype(np.int64) | self.shard << SHARD_SHIFT, mask=local == NONE)

    def read(self, column: pa.Array) -> Array:
        numbers = _filled(column, NONE)
        return (numbers & NONE).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Word:
    """A member of a closed set, as its name in lower case."""

    words: type[IntEnum]

    def write(self, fields: Fields, name: str) -> pa.Array:
        members = list(self.words)
        place = np.full(256, len(members), np.uint8)
        place[[int(m) for m in members]] = np.arange(len(members))
        at = place[fields[name]]
        names = pa.array([m.name.lower() for m in members])
        return pa.DictionaryArray.from_arrays(pa.array(at, mask=at == len(members)), names)

    def read(self, column: pa.Array) -> Array:
        codes = [int(self.words[w.upper()]) for w in column.dictionary.to_pylist()]
        return np.array([*codes, 0], np.uint8)[_filled(column.indices, len(codes))]


class Time:
    """Wall time in microseconds: not every reader knows a finer unit."""

    def write(self, fields: Fields, name: str) -> pa.Array:
        seconds = fields[name]
        good = np.isfinite(seconds) & (np.abs(seconds) < 1e11)
        micros = np.rint(np.where(good, seconds, 0) * 1e6).astype(np.int64)
        return pa.array(micros, mask=~good).cast(pa.timestamp("us", tz="UTC"))

    def read(self, column: pa.Array) -> Array:
        return _filled(column.cast(pa.int64()), 0) / 1e6


class Archive:
    """The archive file of a visit, as its path; null for a visit that archived nothing."""

    def write(self, fields: Fields, name: str) -> pa.Array:
        used, at = np.unique(fields[name], return_inverse=True)
        paths = pa.array([archive_name(int(n)) for n in used], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(at.astype(np.int32), mask=fields["warc_end"] == 0), paths)

    def read(self, column: pa.Array) -> Array:
        numbers = [int(path[-14:-8]) for path in column.dictionary.to_pylist()]
        return np.array([*numbers, 0], np.uint16)[_filled(column.indices, len(numbers))]


class Address:
    """An IP address as text; 16 zero bytes become null."""

    def write(self, fields: Fields, name: str) -> pa.Array:
        raw = np.ascontiguousarray(fields[name]).view("V16").reshape(-1)
        used, at = np.unique(raw, return_inverse=True)
        texts = [self._text(v.tobytes()) for v in used]
        return pa.array([texts[i] for i in at.tolist()], pa.string())

    @staticmethod
    def _text(raw: bytes) -> str | None:
        address = ipaddress.IPv6Address(raw)
        return None if not any(raw) else str(address.ipv4_mapped or address)

    def read(self, column: pa.Array) -> Array:
        known: dict[str | None, bytes] = {None: bytes(16)}
        for text in set(column.to_pylist()) - {None}:
            family, before = (socket.AF_INET6, b"") if ":" in text else (socket.AF_INET, bytes(10) + b"\xff\xff")
            known[text] = before + socket.inet_pton(family, text)
        return np.frombuffer(b"".join(known[t] for t in column.to_pylist()), np.uint8).reshape(-1, 16)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes of a fixed length; all zeros become null."""

    size: int

    def write(self, fields: Fields, name: str) -> pa.Array:
        values = np.ascontiguousarray(fields[name])
        rows = pa.FixedSizeBinaryArray.from_buffers(pa.binary(self.size), len(values), [None, pa.py_buffer(values)])
        return pc.if_else(pa.array(values.any(axis=1)), rows, pa.nulls(len(values), rows.type))

    def read(self, column: pa.Array) -> Array:
        filled = column.fill_null(bytes(self.size)) if column.null_count else column
        if not len(filled):
            return np.zeros((0, self.size), np.uint8)
        rows = np.frombuffer(filled.buffers()[1], np.uint8).reshape(-1, self.size)
        return rows[filled.offset : filled.offset + len(filled)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and the field of the record that it holds."""

    name: str
    field: str
    form: Form


def _filled(column: pa.Array, absent: float) -> Array:
    if column.null_count:
        column = column.fill_null(pa.scalar(absent, column.type))
    values: Array = column.to_numpy(zero_copy_only=False)
    return values


def fields_of(records: Records, split: Sequence[str] = ()) -> Fields:
    """The fields of `records`; the array fields named in `split` become one entry per element."""
    fields: Fields = {}
    for name in records.dtype.names or ():
        values = records[name]
        if name in split:
            fields |= {f"{name}.{i}": np.ascontiguousarray(values[:, i]) for i in range(values.shape[1])}
        else:
            fields[name] = np.ascontiguousarray(values)
    return fields


def pack(columns: Sequence[Column], fields: Fields, texts: dict[str, Texts] | None = None) -> dict[str, pa.Array]:
    """The readable columns by name, including `texts`, and the column `exact`."""
    rows = len(next(iter(fields.values())))
    packed: dict[str, pa.Array] = {}
    exact: dict[int, bytes] = {}
    for number, column in enumerate(columns):
        packed[column.name] = column.form.write(fields, column.field)
        wrong = _unlike(fields[column.field], column.form.read(packed[column.name]))
        for row in wrong:
            exact[row] = exact.get(row, b"") + bytes([number]) + fields[column.field][row].tobytes()
    for number, (name, items) in enumerate((texts or {}).items(), _TEXT):
        packed[name], bad = text_column(items)
        raw = items.split() if bad else []
        for row in bad:
            exact[row] = exact.get(row, b"") + _TEXT_HEAD.pack(number, len(raw[row])) + raw[row]
    packed[EXACT] = pa.array([exact.get(i) for i in range(rows)] if exact else pa.nulls(rows, pa.binary()), pa.binary())
    return packed


def _unlike(a: Array, b: Array) -> list[int]:
    """The rows whose bytes differ (a NaN equals itself, 0.0 differs from -0.0)."""
    same = np.ascontiguousarray(b, a.dtype)
    size = a.dtype.itemsize * (a.shape[1] if a.ndim > 1 else 1)
    if a.dtype.kind != "f" and a.ndim == 1:
        return [int(i) for i in np.flatnonzero(a != same)]
    left, right = (x.view(np.uint8).reshape(len(x), size) for x in (np.ascontiguousarray(a), same))
    return [int(i) for i in np.flatnonzero((left != right).any(axis=1))]


def unpack(
    columns: Sequence[Column], table: pa.Table, dtypes: dict[str, np.dtype[Any]], texts: Sequence[str] = ()
) -> tuple[Fields, dict[str, Texts]]:
    """The inverse of `pack`. Versions only ever add columns: a missing column is left out of the result, and a missing
    text is empty."""
    there = set(table.column_names)
    fields = {
        c.field: np.array(c.form.read(one_chunk(table, c.name)), dtypes[c.field].base, copy=True)
        for c in columns
        if c.name in there
    }
    empty = Texts(np.zeros(len(table), "<u4"), b"")
    by_name = {name: texts_of(one_chunk(table, name)) if name in there else empty for name in texts}
    exact = one_chunk(table, EXACT)
    if exact.null_count < len(exact):
        items = {name: column.split() for name, column in by_name.items()}
        for row, raw in enumerate(exact.to_pylist()):
            if raw is not None:
                _restore(raw, row, columns, fields, list(items.values()))
        by_name = {name: Texts.join(column) for name, column in items.items()}
    return fields, by_name


def _restore(raw: bytes, row: int, columns: Sequence[Column], fields: Fields, texts: Sequence[list[bytes]]) -> None:
    """Replaces values of one row by those stored in its `exact` value, `raw`."""
    at = 0
    while at < len(raw):
        if raw[at] >= _TEXT:
            number, length = _TEXT_HEAD.unpack_from(raw, at)
            at += _TEXT_HEAD.size
            texts[number - _TEXT][row] = raw[at : at + length]
            at += length
        else:
            values = fields[columns[raw[at]].field]
            size = values[row].nbytes
            values[row] = np.frombuffer(raw[at + 1 : at + 1 + size], values.dtype).reshape(values[row].shape)
            at += 1 + size


def one_chunk(table: pa.Table, name: str) -> pa.Array:
    """A column of a table as one array."""
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks > 1:
            raise GossamerError(f"the column {name} is too large for a segment")
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column


def binary_column(texts: Texts) -> pa.Array:
    """A column of bytes; empty ones are null."""
    present = pa.py_buffer(np.packbits(texts.lengths != 0, bitorder="little").tobytes())
    parts = [present, pa.py_buffer(texts.offsets().tobytes()), pa.py_buffer(texts.buffer)]
    return pa.Array.from_buffers(pa.large_binary(), len(texts.lengths), parts)


def text_column(texts: Texts) -> tuple[pa.Array, list[int]]:
    """A column of text, and the numbers of the rows that are not UTF-8."""
    try:
        return binary_column(texts).cast(pa.large_string()), []
    except pa.ArrowInvalid:
        items = texts.split()
        shown = [item.decode("utf-8", "replace") for item in items]
        bad = [row for row, item in enumerate(items) if shown[row].encode() != item]
        return pa.array([text or None for text in shown], pa.large_string()), bad


def texts_of(column: pa.Array) -> Texts:
    """The inverse of `binary_column` and `text_column`, except for rows that are not UTF-8."""
    full = column.cast(pa.large_binary()).fill_null(b"")
    if not len(full):
        return Texts.join([])
    _, offsets, data = full.buffers()
    at = np.frombuffer(offsets, np.int64)[full.offset : full.offset + len(full) + 1]
    size = int(at[-1] - at[0])
    return Texts(np.diff(at), data.slice(int(at[0]), size).to_pybytes() if size else b"")


def joined(texts: Sequence[Texts]) -> Texts:
    """The concatenation of these texts."""
    return Texts(np.concatenate([t.lengths for t in texts]), b"".join([t.buffer for t in texts]))


def by_name(lengths: Array, buffer: bytes, names: Sequence[str]) -> dict[str, Texts]:
    """Texts by name, from one buffer that has them row by row, `lengths[row, name]` bytes each."""
    ends = np.cumsum(lengths.reshape(-1), dtype=np.int64).reshape(lengths.shape)
    raw = np.frombuffer(buffer, np.uint8)
    return {
        name: Texts(lengths[:, i].copy(), _taken(raw, ends[:, i] - lengths[:, i], lengths[:, i]))
        for i, name in enumerate(names)
    }


class ByRow:
    """The inverse of `by_name`."""

    def __init__(self, texts: Sequence[Texts]) -> None:
        self.lengths = np.array([t.lengths for t in texts], np.int64).T
        offsets = np.array([t.offsets()[:-1] for t in texts], np.int64)
        before = np.cumsum([0, *(len(t.buffer) for t in texts)])[:-1]
        self._starts = (offsets + before[:, None]).T
        self._raw = np.frombuffer(b"".join([t.buffer for t in texts]), np.uint8)

    def rows(self, which: slice) -> bytes:
        return _taken(self._raw, self._starts[which].reshape(-1), self.lengths[which].reshape(-1))


def _taken(raw: U8, starts: Array, lengths: Array) -> bytes:
    """The concatenated bytes of these texts."""
    ends = np.cumsum(lengths, dtype=np.int64)
    if not len(ends):
        return b""
    taken: bytes = raw[np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)].tobytes()
    return taken
