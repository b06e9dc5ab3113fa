"""Sealing: turns a closed journal file into a segment, in a short-lived process of its own, not in the loop:

    python -m gossamer.collection.tables.seal SHARD NUMBER

prints the segment's line for the manifest as JSON. The desk, the only writer of the manifest, appends it and removes
the journal file (`collection/sealing.py`). The process dies with its desk; it may leave files that nothing refers to,
and that the next one replaces.

The line: {"segment", "first_tick", "last_tick", "first_record", "last_record", "files": {path: {"rows", "bytes",
"checksum"}}, "lengths"}: `lengths` are the last lengths of archive and URL files in the journal file's marks; recovery
needs them when the journal file is gone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection import cdx
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind
from gossamer.collection.layout import ARCHIVE, ROWS, index_name, journal_path, read_segment, table_name
from gossamer.collection.manifest import Contents, Line, read
from gossamer.collection.tables import segments

Entry = dict[str, int | str]
"""Entry of a file in the manifest: rows, bytes, checksum."""
Files = dict[str, Entry]
"""Entries by path in the shard's folder."""

LEVEL: Final = 3
"""Compression level of zstd. Level 9 saves a twelfth of the space, but takes four times as long."""

_WORDS: Final = ("kind", "state", "reason", "ask", "outcome", "event", "mime", "charset", "address", "warc_file")
_STEPS: Final = ("page", "source", "tick", "number", "warc_offset", "warc_end", "origin", "site")
"""Columns of slowly changing numbers, stored as differences."""
_FRONTED: Final = ("url", "name")
"""Columns of texts that share a prefix with the text before: stored as its length and the rest."""


def seal(shard: Path, number: int) -> Line:
    """Writes the segment of journal file `number`, up to its last mark, and returns its line."""
    path = journal_path(shard, number)
    committed = records.committed(path)
    if committed is None:
        raise GossamerError(f"{path} has no committed record, so there is nothing to seal")
    first, last = committed
    found = [Effects.decode(r.body) for r in records.read(path) if r.kind is Kind.EFFECTS and r.number <= last.record]
    contents = read(shard)
    files: Files = {}
    for name, table in segments.each(found, contents.meta.shard) if found else ():
        if name.startswith(ROWS):
            disk.make_directory(shard / name)
        files[table_name(name, number)] = write_file(shard / table_name(name, number), table)
        del table  # before the next one is made
    index, unindexed = _index(shard, number, contents, last.lengths)
    if index:
        disk.write_atomic(shard / index_name(number), index)
        files[index_name(number)] = _entry(index.count(b"\n"), index)
    return {
        "segment": number,
        "first_tick": found[0].tick if found else last.tick + 1,
        "last_tick": last.tick,
        "first_record": first,
        "last_record": last.record,
        "files": files,
        "lengths": last.lengths,
        **({"unindexed": unindexed} if unindexed else {}),
    }


def _index(shard: Path, number: int, contents: Contents, lengths: dict[str, int]) -> tuple[bytes, dict[str, str]]:
    """The CDXJ index of what the segment's visits added to the archive. A missing archive file is skipped; an
    unreadable one is returned with the reason: the index can be rebuilt, the segment must not wait for it."""
    before: dict[str, int] = {}
    for line in contents.segments.values():
        if line["segment"] < number:
            before |= line["lengths"]
    lines: list[bytes] = []
    unindexed: dict[str, str] = {}
    for name, end in lengths.items():
        start = before.get(name, 0)
        if name.startswith(ARCHIVE + "/") and end > start and (shard / name).exists():
            try:
                lines += cdx.lines(shard / name, start, end)
            except StorageError as error:
                unindexed[name] = error.message
    return b"".join(sorted(lines)), unindexed


def write_file(path: Path, table: pa.Table) -> Entry:
    """Writes a table of a segment and returns the file's entry for the manifest."""
    names = set(table.column_names)
    encodings = {"DELTA_BINARY_PACKED": _STEPS, "DELTA_BYTE_ARRAY": _FRONTED}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[c for c in _WORDS if c in names],
        column_encoding={c: coding for coding, columns in encodings.items() for c in columns if c in names},
        write_statistics=[c for c in table.column_names if c in _WORDS or not _is_text_with_nulls(table.column(c))],
    )
    data = memoryview(sink.getvalue())
    disk.write_atomic(path, data)
    return _entry(len(table), data)


def _is_text_with_nulls(column: pa.ChunkedArray) -> bool:
    """Readers gain nothing from the least and the greatest of free texts. DuckDB 2.0 even reads every row as null, if
    these are equal, the text is not stored as a dictionary, and a query asks for nulls (`where redirect is null`)."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) and column.null_count > 0


def _entry(rows: int, data: bytes | memoryview) -> Entry:
    return {"rows": rows, "bytes": len(data), "checksum": xxhash.xxh3_64_hexdigest(data)}


def effects_of(line: Line, shard: Path, shard_number: int) -> Iterator[Effects]:
    """The effects that the segment was made from, one per record."""
    pa.set_memory_pool(pa.system_memory_pool())  # returns memory to the system; the default pool keeps it
    files = {path.partition("/")[0]: (shard / path, file["checksum"]) for path, file in line["files"].items()}
    yield from segments.effects(lambda name: read_file(*files[name]) if name in files else None, shard_number)


def read_file(path: Path, checksum: str) -> pa.Table:
    """Reads a table of a segment; GossamerError if the file is not what was written."""
    with disk.naming("read", path):
        data = read_segment(path, Path.read_bytes)
    if xxhash.xxh3_64_hexdigest(data) != checksum:
        raise GossamerError(
            f"{path} is damaged: its checksum differs from the one in the manifest", "Restore it from a backup."
        )
    return pq.read_table(pa.BufferReader(data))


def main(arguments: list[str]) -> int:
    try:
        line = seal(Path(arguments[0]), int(arguments[1]))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
