"""Block files: short texts by number (URLs, validators), 64 per block; a random read takes about 14 µs.

The file is `HEAD`, then blocks: `BLOCK` (uint32 bytes that follow, uint32 checksum, uint8 form) and the texts,
compressed with zstd: all texts with a line feed between them (form 0), or 64 uint32 lengths and the texts, if one of
them contains a line feed (form 1). A text's number is its place in the order of appending.

Only full blocks are in the file. The last texts, fewer than 64, are in memory; they are in the journal or a segment
too, and a replay restores them: `put` skips what the file already has. So the file can be cut at the length in any mark
without losing a text, and every block has 64 texts.

Measured on crawl-like URLs of 55 bytes: 16 bytes per URL. Front-coding before zstd gives 16.2, a trained dictionary
15.5; neither is worth its code.

One thread appends; any thread may read at the same time.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import xxhash
import zstandard

from gossamer.base import disk
from gossamer.base.arrays import U32, U64, Array
from gossamer.base.errors import GossamerError
from gossamer.base.view import View, viewed

PER_BLOCK: Final = 64
LEVEL: Final = 3
HEAD: Final = struct.Struct("<4sHHQ")  # magic, format, texts per block, unused
BLOCK: Final = struct.Struct("<IIB")
_MAGIC: Final = b"GBLK"
_FORMAT: Final = 1
_LENGTHS: Final = struct.Struct(f"<{PER_BLOCK}I")

CACHED: Final = 256
"""Most blocks that are cached in memory: usually 2 MB, 33 MB with URLs of 2,000 bytes."""
TEXTS_AHEAD: Final = 50_000
"""Most texts that are read ahead and not yet used; when there are more, all are dropped."""

Offsets = U64
"""Where each block starts in the file."""


class _State(NamedTuple):
    """What a reader needs. It is replaced as a whole, so that a reader never sees half a change."""

    blocks: int
    offsets: Offsets
    """Where each block starts, and where the next one will; it has room for more."""
    tail: list[bytes]


class BlockFile:
    def __init__(self, path: Path, offsets: Offsets | None = None) -> None:
        """`offsets` (from `offsets()`, stored in an image) saves scanning the file for the blocks that it covers."""
        self.path = path
        self._local = threading.local()
        self._cache: dict[int, list[bytes]] = {}
        self._packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False)
        self._file = disk.Appender(path)
        if self._file.length == 0:
            self._file.append(HEAD.pack(_MAGIC, _FORMAT, PER_BLOCK, 0))
        with disk.naming("read", path):
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._state = self._found(self._file.length, offsets)

    @property
    def length(self) -> int:
        """Bytes of the file, which has only full blocks."""
        return self._file.length

    @property
    def count(self) -> int:
        """Number of texts, including those in memory."""
        blocks, _, tail = self._state
        return blocks * PER_BLOCK + len(tail)

    @property
    def appender(self) -> disk.Appender:
        """The file, for the commit to sync."""
        return self._file

    def offsets(self) -> Offsets:
        blocks, offsets, _ = self._state
        return offsets[: blocks + 1].copy()

    def tail(self) -> list[bytes]:
        return list(self._state.tail)

    def append(self, texts: Iterable[bytes]) -> int:
        """Appends texts; returns the number of the first."""
        first = self.count
        self.put(first, list(texts))
        return first

    def put(self, first: int, texts: Sequence[bytes]) -> None:
        """Appends the texts numbered from `first` on; skips those that are already here."""
        known = self.count
        if first > known:
            raise GossamerError(f"{self.path} has {known} texts, so number {first} cannot be the next")
        for text in texts[known - first :]:
            tail = self._state.tail
            tail.append(text)
            if len(tail) == PER_BLOCK:
                self._flush(tail)

    def _flush(self, tail: list[bytes]) -> None:
        blocks, offsets, _ = self._state
        self._file.append(self._packed(tail))
        if blocks + 2 > len(offsets):
            offsets = np.concatenate([offsets, np.zeros(len(offsets) // 4 + 1024, np.uint64)])
        offsets[blocks + 1] = self._file.length
        self._state = _State(blocks + 1, offsets, [])

    def _packed(self, texts: list[bytes]) -> bytes:
        raw = b"\n".join(texts)
        form = int(raw.count(b"\n") != PER_BLOCK - 1)
        if form:
            raw = _LENGTHS.pack(*map(len, texts)) + b"".join(texts)
        body = self._packer.compress(raw)
        return BLOCK.pack(len(body), xxhash.xxh3_64_intdigest(body) & 0xFFFFFFFF, form) + body

    def read(self, number: int) -> bytes:
        return self.read_many([number])[0]

    def read_many(self, numbers: Sequence[int] | Array) -> list[bytes]:
        """The texts with these numbers; each block is read once."""
        blocks, offsets, tail = self._state
        found: dict[int, list[bytes]] = {blocks: tail}
        texts: list[bytes] = []
        for number in map(int, numbers):
            block, place = divmod(number, PER_BLOCK)
            if block not in found and 0 <= block < blocks:
                found[block] = self._whole(block, offsets)
            if place >= len(found.get(block, ())):
                raise GossamerError(f"{self.path} has no text {number}")
            texts.append(found[block][place])
        return texts

    def _whole(self, block: int, offsets: Offsets) -> list[bytes]:
        """All texts of a block, cached: pages of a plan were often found together, and lie close together. Several
        threads may call this; each sees a complete block in the cache, or none."""
        texts = self._cache.get(block)
        if texts is None:
            texts = _all(*self._block(block, offsets))
            if len(self._cache) >= CACHED:
                self._cache = {}
            self._cache[block] = texts
        return texts

    def _block(self, block: int, offsets: Offsets) -> tuple[bytes, int]:
        """The uncompressed contents of a block, and their form."""
        start, end = int(offsets[block]), int(offsets[block + 1])
        with disk.naming("read", self.path):
            raw = os.pread(self._fd, end - start, start)
        body, form = _body(raw)
        if body is None:
            raise GossamerError(f"{self.path} is damaged at byte {start}", "Repair it: gossamer verify DIR --repair")
        return self._unpacker().decompress(body), form

    def _unpacker(self) -> zstandard.ZstdDecompressor:
        """One per thread: the object must not be shared."""
        if not hasattr(self._local, "unpacker"):
            self._local.unpacker = zstandard.ZstdDecompressor()
        unpacker: zstandard.ZstdDecompressor = self._local.unpacker
        return unpacker

    def raw(self, start: int, end: int) -> bytes:
        """Bytes of the file."""
        with disk.naming("read", self.path):
            return os.pread(self._fd, end - start, start)

    def with_texts(self, block: int, texts: Mapping[int, bytes]) -> bytes:
        """A block with some texts replaced, by their places in it."""
        found = self.read_many(range(block * PER_BLOCK, (block + 1) * PER_BLOCK))
        return self._packed([texts.get(place, text) for place, text in enumerate(found)])

    def truncate(self, length: int, tail: Sequence[bytes] = ()) -> None:
        """Cuts the file to a length that it once had, and sets the texts in memory to `tail`."""
        _, offsets, _ = self._state
        blocks = int(np.searchsorted(self.offsets(), length))
        if blocks >= len(offsets) or offsets[blocks] != length:
            raise GossamerError(f"{self.path} has no block that ends at byte {length}")
        self._file.truncate(length)
        self._cache = {}
        self._state = _State(blocks, offsets.copy(), list(tail))

    def close(self) -> None:
        self._file.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _found(self, length: int, known: Offsets | None) -> _State:
        with disk.naming("read", self.path):
            raw = View(self._fd, length)
            if not is_block_file(raw):
                raise GossamerError(f"{self.path} is not a block file that this version reads")
            usable = known is not None and len(known) > 0 and int(known[-1]) <= length
            offsets = _continued(raw, known if usable else None, length)
        if int(offsets[-1]) != length:
            raise GossamerError(f"{self.path} is damaged: its last block is incomplete", "Restore it from a backup.")
        return _State(len(offsets) - 1, offsets, [])


def rewrite(path: Path, texts: Mapping[int, bytes]) -> None:
    """Replaces texts by number, in a new file that takes the place of the old one; texts that are not in the file are
    passed over. Blocks in which nothing changes stay as they are."""
    file = BlockFile(path)
    temporary = path.with_name(path.name + disk.TEMPORARY)
    disk.remove(temporary)
    try:
        starts = file.offsets().tolist()
        parts = defaultdict[int, dict[int, bytes]](dict)
        for number, text in texts.items():
            if number < file.count and file.read(number) != text:
                parts[number // PER_BLOCK][number % PER_BLOCK] = text
        if not parts:
            return
        out = disk.Appender(temporary)
        try:
            out.append(HEAD.pack(_MAGIC, _FORMAT, PER_BLOCK, 0))
            for block, (start, end) in enumerate(pairwise(starts)):
                out.append(file.with_texts(block, parts[block]) if block in parts else file.raw(start, end))
            out.sync()
        finally:
            out.close()
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)


class TextsAhead:
    """Texts that will be needed soon, read by a thread, one batch at a time, so that the loop need not wait for them.
    Used by the loop only."""

    def __init__(self, read_many: Callable[[Array], list[bytes]]) -> None:
        """`read_many` reads the texts with these numbers."""
        self._read_many = read_many
        self._thread = ThreadPoolExecutor(1, "texts")
        self._batch: list[int] = []
        self._reading: Future[list[bytes]] | None = None
        self._texts: dict[int, bytes] = {}

    def get(self, pages: U32) -> list[bytes]:
        """The texts of these pages: those that were read ahead, and the others read now."""
        self._take()
        numbers = pages.tolist()
        missing = [page for page in numbers if page not in self._texts]
        if missing:
            self._texts.update(zip(missing, self._read_many(np.array(missing)), strict=True))
        return [self._texts.pop(page) for page in numbers]

    def read(self, pages: U32) -> None:
        """Begins to read the texts of these pages, unless a batch is being read already."""
        self._take()
        if self._reading is None:
            missing = [page for page in pages.tolist() if page not in self._texts]
            if missing:
                self._batch = missing
                self._reading = self._thread.submit(self._read_many, np.array(missing))

    def _take(self) -> None:
        if self._reading is not None and self._reading.done():
            if len(self._texts) > TEXTS_AHEAD:
                self._texts.clear()
            self._texts.update(zip(self._batch, self._reading.result(), strict=True))
            self._reading = None

    def close(self) -> None:
        self._thread.shutdown(wait=True)


def offsets_until(path: Path, known: Offsets | None, length: int) -> Offsets:
    """Where the blocks of the first `length` bytes start; `known` are the first of them. Only reads."""
    with disk.naming("read", path), viewed(path, length) as raw:
        return _continued(raw, known, length)


def _continued(raw: View, known: Offsets | None, length: int) -> Offsets:
    start = known.astype(np.uint64) if known is not None and len(known) else np.array([HEAD.size], np.uint64)
    return np.concatenate([start, np.array(_chain(raw, int(start[-1]), length), np.uint64)])


def is_block_file(raw: View) -> bool:
    """Whether the file begins like a block file that this version reads."""
    return len(raw) >= HEAD.size and HEAD.unpack(raw[: HEAD.size])[:3] == (_MAGIC, _FORMAT, PER_BLOCK)


def is_sound(path: Path, length: int) -> bool:
    """Whether the first `length` bytes are complete blocks, each as it was written."""
    try:
        with viewed(path, length) as raw:
            starts = [HEAD.size, *_chain(raw, HEAD.size, length)]
            whole = all(_body(raw[a:b])[0] is not None for a, b in pairwise(starts))
            return whole and starts[-1] == length and HEAD.unpack(raw[: HEAD.size])[0] == _MAGIC
    except (OSError, ValueError, struct.error):
        return False


def texts_of(block: bytes) -> list[bytes]:
    """All texts of a block as it is in the file, including its header; for readers without a `BlockFile`."""
    body, form = _body(block)
    if body is None:
        raise GossamerError("a block of URLs is damaged", "Repair it: gossamer verify DIR --repair")
    return _all(zstandard.ZstdDecompressor().decompress(body), form)


def _body(block: bytes) -> tuple[bytes | None, int]:
    """The compressed texts of a block, None if they are damaged; and their form."""
    if len(block) < BLOCK.size:
        return None, 0
    length, checksum, form = BLOCK.unpack_from(block)
    body = block[BLOCK.size :]
    sound = form <= 1 and length == len(body) and checksum == xxhash.xxh3_64_intdigest(body) & 0xFFFFFFFF
    return body if sound else None, form


def _all(texts: bytes, form: int) -> list[bytes]:
    """The checksum does not cover the form: texts in the other one show it."""
    if not form:
        found = texts.split(b"\n")
        if len(found) != PER_BLOCK:
            raise _misformed()
        return found
    ends = np.cumsum(_LENGTHS.unpack_from(texts)).tolist() if len(texts) >= _LENGTHS.size else [-1]
    if _LENGTHS.size + ends[-1] != len(texts):
        raise _misformed()
    return [texts[_LENGTHS.size + a : _LENGTHS.size + b] for a, b in pairwise([0, *ends])]


def _misformed() -> GossamerError:
    return GossamerError(
        "a block of URLs is damaged: its form is not the stated one", "Repair: gossamer verify DIR --repair"
    )


def _chain(raw: View, at: int, length: int) -> list[int]:
    """Where each block from offset `at` on ends, found header by header (10^7 texts: 0.2 s with the file in memory)."""
    ends: list[int] = []
    unpack, size = struct.Struct("<I").unpack, BLOCK.size
    while at < length:
        at += size + (unpack(raw[at : at + 4])[0] if at + size <= length else 0)
        ends.append(at)
    return ends
