"""Texts as columns of a table, and back, without an object per text: 10^7 URLs are read in seconds, not in a minute.

An empty text is null in the table. Text that is not UTF-8 is shown with replacement characters; the caller keeps its
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gossamer.base.arrays import U8, Array
from gossamer.base.model import Texts


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
