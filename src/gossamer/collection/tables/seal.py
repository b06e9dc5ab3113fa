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
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark, Record, read_head
from gossamer.collection.journal.records import read as read_journal
from gossamer.collection.layout import ARCHIVE, JOURNAL, index_name, journal_path, table_name
from gossamer.collection.manifest import Contents, Line, Manifest, read
from gossamer.collection.tables import segments

Files = dict[str, dict[str, int | str]]
"""Path in the shard's folder to its entry in the manifest: rows, bytes, checksum."""

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
    head = read_head(path)
    marks = [Mark.decode(r.body) for r in read_journal(path) if r.kind is Kind.MARK]
    if head is None or not marks:
        raise GossamerError(f"{path} has no committed record, so there is nothing to seal")
    last = max(m.record for m in marks)
    found = [Effects.decode(r.body) for r in _committed(path, last)]
    contents = read(shard)
    made = segments.tables(found, contents.meta.shard) if found else {}
    lengths: dict[str, int] = {}
    for mark in marks:
        lengths |= mark.lengths
    files = {table_name(name, number): _write(shard, name, number, table) for name, table in made.items()}
    unindexed: dict[str, str] = {}
    files |= _write_index(shard, number, contents, lengths, unindexed)
    return {
        "segment": number,
        "first_tick": found[0].tick if found else marks[-1].tick + 1,
        "last_tick": marks[-1].tick,
        "first_record": head.first,
        "last_record": last,
        "files": files,
        "lengths": lengths,
        **({"unindexed": unindexed} if unindexed else {}),
    }


def _write_index(
    shard: Path, number: int, contents: Contents, lengths: dict[str, int], unindexed: dict[str, str]
) -> Files:
    """Writes the CDXJ index of what the segment's visits added to the archive. A missing archive file is skipped, an
    unreadable one is named in `unindexed`: the index can be rebuilt, the segment must not wait for it."""
    before: dict[str, int] = {}
    for line in contents.segments.values():
        if line["segment"] < number:
            before |= line["lengths"]
    spans = {
        name: (before.get(name, 0), length)
        for name, length in lengths.items()
        if name.startswith(ARCHIVE + "/") and length > before.get(name, 0) and (shard / name).exists()
    }
    lines: list[bytes] = []
    for name, (start, end) in spans.items():
        try:
            lines += cdx.lines(shard / name, start, end)
        except StorageError as error:
            unindexed[name] = error.message
    index = b"".join(sorted(lines))
    if not index:
        return {}
    disk.write_atomic(shard / index_name(number), index)
    entry: dict[str, int | str] = {
        "rows": index.count(b"\n"),
        "bytes": len(index),
        "checksum": xxhash.xxh3_64_hexdigest(index),
    }
    return {index_name(number): entry}


def _committed(path: Path, last: int) -> Iterator[Record]:
    return (r for r in read_journal(path) if r.kind is Kind.EFFECTS and r.number <= last)


def _write(shard: Path, name: str, number: int, table: pa.Table) -> dict[str, int | str]:
    return write_file(shard / table_name(name, number), table)


def write_file(path: Path, table: pa.Table) -> dict[str, int | str]:
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
    )
    data = memoryview(sink.getvalue())
    disk.write_atomic(path, data)
    return {"rows": len(table), "bytes": len(data), "checksum": xxhash.xxh3_64_hexdigest(data)}


def effects_of(line: Line, shard: Path, shard_number: int) -> Iterator[Effects]:
    """The effects that the segment was made from, one per record."""
    pa.set_memory_pool(pa.system_memory_pool())  # returns memory to the system; the default pool keeps it
    files = {path.partition("/")[0]: (shard / path, file["checksum"]) for path, file in line["files"].items()}
    yield from segments.effects(lambda name: _read(*files[name]) if name in files else None, shard_number)


def _read(path: Path, checksum: str) -> pa.Table:
    with disk.naming("read", path):
        data = path.read_bytes()
    if xxhash.xxh3_64_hexdigest(data) != checksum:
        raise GossamerError(
            f"{path} is damaged: its checksum differs from the one in the manifest", "Restore it from a backup."
        )
    return pq.read_table(pa.BufferReader(data))


def read_file(path: Path, checksum: str) -> pa.Table:
    """Reads a table of a segment; GossamerError if the file is not what was written."""
    return _read(path, checksum)


def main(arguments: list[str]) -> int:
    try:
        line = seal(Path(arguments[0]), int(arguments[1]))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(line))
    return 0


def finish(shard: Path, manifest: Manifest, line: Line) -> None:
    """The desk's part: appends the segment's line to the manifest, and removes its journal file."""
    manifest.append(line)
    disk.remove(journal_path(shard, line["segment"]))
    disk.sync_directory(shard / JOURNAL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
