"""Reads tables and journal: how each page was found, and the effects that no segment contains yet.

Pages of segments are numbered in order, so the row counts of the manifest tell which file contains a page. A URL is
looked up by its fingerprint: one column of `pages`, 8 bytes per page. The texts of URLs come from the block file, 64 at
a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.base import disk
from gossamer.base.arrays import F64, Array
from gossamer.base.errors import StorageError
from gossamer.base.model import NONE, LinkKind, Reason, State
from gossamer.base.view import viewed
from gossamer.collection import manifest
from gossamer.collection.blocks import HEAD, PER_BLOCK, Offsets, offsets_until, texts_of
from gossamer.collection.checked import Checked
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.layout import URL_FILE, journal_files, read_segment
from gossamer.collection.manifest import Contents

LOCAL: Final = 0xFFFFFFFF
"""Mask of the bits of a page's number in tables that are not the number of its shard."""
_TRIES: Final = 5
_WAY: Final = ("source", "kind")
_FOUND: Final = ("time", "depth", "state", "reason")
_OF_LINKS: Final = ("link_targets", "link_kinds", "link_tags", "link_positions", "anchors", "seen", "hints")


@dataclass(frozen=True, slots=True)
class Segment:
    """A sealed segment."""

    first: int
    """Number of its first page."""
    end: int
    """Number of the first page after it."""
    tables: dict[str, Path]


class Discovery(NamedTuple):
    """The link by which a page was found."""

    page: int
    source: int
    """The page that contains the link; NONE for a seed."""
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class NewPage:
    """A page as it was when it became known."""

    time: float
    depth: int
    state: State
    reason: Reason


class Files:
    """The tables and the journal of a shard, opened for reading."""

    def __init__(self, shard: Path, running: bool, checked: Checked) -> None:
        self.shard, self.checked = shard, checked
        contents, self.journal = _read_both(shard, running)
        self.contents = contents
        self.meta, self.image, self.last_record = contents.meta, contents.image, 0
        self.segments: list[Segment] = []
        self._sums: dict[Path, tuple[int, str]] = {}
        self.sealed = 0
        """Pages in segments."""
        for _, line in sorted(contents.segments.items()):
            tables = {name.partition("/")[0]: shard / name for name in line["files"]}
            self._sums |= {shard / name: (file["bytes"], file["checksum"]) for name, file in line["files"].items()}
            first = self.sealed
            self.sealed += sum(f["rows"] for name, f in line["files"].items() if name.startswith("pages/"))
            self.segments.append(Segment(first, self.sealed, tables))
            self.last_record = line["last_record"]
        self.offsets: Offsets | None = None
        """Offsets of the first blocks of URLs, if known (from an image): finding them takes 10 ms at 10^6 pages."""
        self._columns: dict[tuple[Path, str], Any] = {}

    @property
    def known(self) -> int:
        return max([self.sealed, *(e.first_page + len(e.pages) for e in self.journal)])

    def tables(self, name: str, since: int = 0) -> list[Path]:
        """Files of a table, oldest first, without segments that ended before page `since` was known."""
        return [s.tables[name] for s in self.segments if name in s.tables and s.end > since]

    def read(self, path: Path, names: Sequence[str]) -> list[Any]:
        """Columns of a table, as pyarrow columns; None for a column that a file of an older version lacks."""
        missing = [name for name in names if (path, name) not in self._columns]
        if missing:
            table = read_segment(path, partial(self._table, missing, self._sums[path]))
            for name in missing:
                self._columns[path, name] = table.column(name) if name in table.column_names else None
        return [self._columns[path, name] for name in names]

    def _table(self, names: Sequence[str], expected: tuple[int, str], path: Path) -> pa.Table:
        self.checked.require(path, *expected)
        with disk.naming("read", path):
            path.stat()  # pyarrow's own error does not name the file
            try:
                file = pq.ParquetFile(path, memory_map=True)
                return file.read([name for name in names if name in file.schema_arrow.names], use_threads=False)
            except pa.ArrowException as error:
                raise StorageError(f"{path} is damaged: {error}", "Restore it from a backup.") from error

    def numbers(self, path: Path, name: str) -> Array:
        """A column of whole numbers; NONE where it is null."""
        (column,) = self.read(path, (name,))
        return _joined([_integers(chunk) for chunk in column.chunks])

    def times(self, path: Path, name: str) -> F64:
        """A column of times without nulls, as wall times in seconds."""
        (column,) = self.read(path, (name,))
        parts = [np.frombuffer(c.buffers()[1] or b"", np.int64)[c.offset : c.offset + len(c)] for c in column.chunks]
        return _joined(parts) / 1e6

    def words(self, path: Path, name: str) -> tuple[Array, list[str]]:
        """A column of words: a code for each row, and the list of words that the codes number."""
        (column,) = self.read(path, (name,))
        words = {word: None for chunk in column.chunks for word in chunk.dictionary.to_pylist()}
        code_of = {word: i for i, word in enumerate(words)}
        codes = [
            np.array([code_of[w] for w in chunk.dictionary.to_pylist()] or [0])[_integers(chunk.indices)]
            for chunk in column.chunks
        ]
        return _joined(codes), list(words)

    def find(self, fingerprints: Sequence[int]) -> list[int]:
        """Numbers of the pages with these fingerprints; NONE where there is no such page."""
        wanted, found = np.array(fingerprints, np.uint64), [NONE] * len(fingerprints)
        for segment in self.segments:
            if "pages" in segment.tables:
                _match(self.numbers(segment.tables["pages"], "fingerprint"), wanted, segment.first, found)
        for effects in self.journal:
            _match(effects.pages["fingerprint"], wanted, effects.first_page, found)
        return found

    def page(self, page: int) -> NewPage:
        if page >= self.sealed:
            effects, row = self._unsealed(page)
            return NewPage(effects.wall, int(row["depth"]), State(int(row["state"])), Reason(int(row["reason"])))
        path, at = self._place(page)
        time, depth, state, reason = (plain(column[at]) for column in self.read(path, _FOUND))
        return NewPage(time, depth, State[state.upper()], Reason[reason.upper()])

    def discovery(self, page: int) -> Discovery:
        if page >= self.sealed:
            _, row = self._unsealed(page)
            return Discovery(page, int(row["source"]), LinkKind(int(row["kind"])))
        path, at = self._place(page)
        source, kind = (plain(column[at]) for column in self.read(path, _WAY))
        return Discovery(page, NONE if source is None else source & LOCAL, LinkKind[kind.upper()])

    def _place(self, page: int) -> tuple[Path, int]:
        with_pages = [s for s in self.segments if "pages" in s.tables]
        segment = with_pages[bisect_right([s.first for s in with_pages], page) - 1]
        return segment.tables["pages"], page - segment.first

    def _unsealed(self, page: int) -> tuple[Effects, Any]:
        effects = next(e for e in self.journal if e.first_page <= page < e.first_page + len(e.pages))
        return effects, effects.pages[page - effects.first_page]

    def way(self, page: int, most: int) -> list[Discovery]:
        """The page, the page on which it was found, and so on, back to a seed. Page numbers only decrease."""
        chain = [self.discovery(page)]
        while chain[-1].source < chain[-1].page and len(chain) < most:
            chain.append(self.discovery(chain[-1].source))
        return chain

    def urls(self, pages: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for effects in self.journal:
            here = [p for p in pages if effects.first_page <= p < effects.first_page + len(effects.pages)]
            if here:
                texts = effects.urls.split()
                found |= {p: texts[p - effects.first_page].decode() for p in here}
        found |= self._from_blocks([p for p in pages if p not in found])
        for page in set(pages) - set(found):  # in the last block, which is not full
            path, row = self._place(page)
            found[page] = self.read(path, ("url",))[0][row].as_py()
        return found

    def _from_blocks(self, pages: list[int]) -> dict[int, str]:
        path = self.shard / URL_FILE
        if not pages or not path.exists() or path.stat().st_size <= HEAD.size:
            return {}
        found: dict[int, str] = {}
        size = path.stat().st_size
        offsets = offsets_until(path, self.offsets, size).tolist()
        whole = len(offsets) - 1 - (offsets[-1] > size)  # a block may be half written at this moment
        with disk.naming("read", path), viewed(path, size) as raw:
            for block in {p // PER_BLOCK for p in pages if p // PER_BLOCK < whole}:
                texts = texts_of(raw[offsets[block] : offsets[block + 1]])
                found |= {p: texts[p % PER_BLOCK].decode() for p in pages if p // PER_BLOCK == block}
        return found

    def site_number(self, name: str) -> int:
        """NONE when no site has this name."""
        for path in self.tables("sites"):
            names, sites = self.read(path, ("name", "site"))
            rows = np.flatnonzero(np.array(names.to_pylist(), object) == name)
            if len(rows):
                return int(sites[int(rows[0])].as_py())
        for effects in self.journal:
            new = effects.sites.split()
            if name.encode() in new:
                return effects.first_site + new.index(name.encode())
        return NONE


def _read_both(shard: Path, running: bool) -> tuple[Contents, list[Effects]]:
    """Manifest and journal; both again if a running crawl sealed and removed a journal file between the two reads."""
    for left in reversed(range(_TRIES)):
        contents = manifest.read_whole(shard)
        try:
            journal = _read_journal(shard, contents, running)
        except (StorageError, FileNotFoundError):
            if not left:
                raise
            continue
        if not left or len(manifest.read(shard).segments) == len(contents.segments):
            break
    return contents, journal


def _read_journal(shard: Path, contents: Contents, running: bool) -> list[Effects]:
    """The unsealed effects in order, without links. Of a running crawl, all that can be read; otherwise only the
    committed effects, because the rest is void."""
    files = {n: path for n, path in journal_files(shard).items() if n not in contents.segments}
    heads = {n: records.read_head(path) for n, path in files.items()}
    found: list[Effects] = []
    for number, path in files.items():
        later = [head.first for n, head in heads.items() if n > number and head is not None]
        found += _effects(path, min(later, default=1 << 63), running)
    return found


def _effects(path: Path, before: int, running: bool) -> list[Effects]:
    """The effects of a file with record numbers below `before`, where the file of a later start begins."""
    last, found = 0, list[tuple[int, Effects]]()
    for record in records.read(path):
        if record.kind is Kind.MARK:
            last = max(last, Mark.decode(record.body).record)
        elif record.number < before:
            found.append((record.number, _without_links(Effects.decode(record.body))))
    return [effects for number, effects in found if running or number <= last]


def _without_links(effects: Effects) -> Effects:
    """The effects without their links, which are nine tenths of a journal."""
    nothing = Effects(effects.tick, effects.wall, effects.monotonic)
    return replace(effects, **{name: getattr(nothing, name) for name in _OF_LINKS})


def _match(column: Array, wanted: Array, first: int, found: list[int]) -> None:
    for i, fingerprint in enumerate(wanted):
        rows = np.flatnonzero(column == fingerprint)
        if len(rows):
            found[i] = first + int(rows[0])


def _integers(array: Any) -> Array:
    """The values of an array, NONE for null. Done by hand, because pyarrow's own conversion costs 0.1 s of imports."""
    bits, data = array.buffers()
    used = slice(array.offset, array.offset + len(array))
    values: Array = np.frombuffer(data or b"", array.type.to_pandas_dtype())[used]
    if not array.null_count:
        return values
    valid = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[used]
    return np.where(valid != 0, values, NONE).astype(np.int64)


def _joined(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def plain(scalar: Any) -> Any:
    """A value of a table as a Python value; timestamps become wall times in seconds."""
    if scalar.is_valid and hasattr(scalar, "value") and hasattr(scalar.type, "tz"):
        return scalar.value / 1e6
    return scalar.as_py()
