"""Compaction: merges neighbouring small segments, while no crawl runs. Rows and their order do not change.

    new files, under new names  ->  new manifest, atomically  ->  old files are removed

If it is killed at any time, the manifest, old or new, names only complete files. Files that no line names are never
read, and the next compaction removes them. The merged segment has the number of the last of its parts, and its files
are named after the first and the last. Recovery treats it like any other segment.

Invariants, tests of the same names: `effects_of_a_merged_segment_are_those_of_its_parts`,
`merged_tables_are_those_of_one_segment`.

Memory: twice that of one merged segment, which is bounded by `MOST` rows, and by `LARGEST` bytes per file.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import xxhash

from gossamer.base import disk
from gossamer.collection import lock, manifest
from gossamer.collection.layout import ARCHIVE, INDEX, MANIFEST, TABLES, journal_path, require_collection, shard_folder
from gossamer.collection.manifest import Line
from gossamer.collection.recovery import recover

MOST: Final = {"visits": 1_000_000, "links": 30_000_000, "anchors": 30_000_000, "pages": 10_000_000}
"""Maximum number of rows of a merged table."""
LARGEST: Final = 500_000_000
"""Maximum size of a merged file, in bytes."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of a compaction."""

    segments_before: int
    segments: int
    files_before: int
    files: int
    bytes_before: int
    bytes: int


def compact(folder: Path, say: Say = lambda line: None) -> Compacted:
    """Compacts a collection. Raises LockedError if a crawl runs."""
    require_collection(folder)
    shard = shard_folder(folder)
    held = lock.take(shard)
    try:
        recover(shard)  # raises if the manifest is damaged: then files that it does not name may be needed
        contents = manifest.read(shard)
        before = list(contents.segments.values())
        _remove(shard, _unnamed(shard, before))
        for group in groups(list(contents.segments.values())):
            numbers = [line["segment"] for line in group]
            say(f"segments {numbers[0]} to {numbers[-1]}: {_sum(group, 'visits', 'rows'):,} visits")
            _replace(shard, group, merge(shard, group))
        after = list(manifest.read(shard).segments.values())
    finally:
        held.release()
    files_before, files = ([file for line in lines for file in line["files"].values()] for lines in (before, after))
    sizes = (sum(file["bytes"] for file in each) for each in (files_before, files))
    return Compacted(len(before), len(after), len(files_before), len(files), *sizes)


def _sum(lines: Sequence[Line], table: str, what: str) -> int:
    """Rows or bytes of a table in these segments."""
    files = [item for line in lines for item in line["files"].items()]
    return sum(file.get(what, 0) for path, file in files if path.partition("/")[0] == table)


def groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Groups of two or more neighbouring segments to merge.

    A segment whose part of the archive is indexed is never merged with one whose part is not (sealed by a version that
    made no index), because a segment with an index file counts as indexed as a whole. A segment that archived nothing
    goes with both.
    """
    group: list[Line] = []
    indexed: bool | None = None
    reached: dict[str, int] = {}
    for line in sorted(lines, key=lambda one: int(one["segment"])):
        is_indexed = _indexed(line, reached)
        if group and (not _fit([*group, line]) or (None not in (is_indexed, indexed) and is_indexed != indexed)):
            if len(group) > 1:
                yield group
            group, indexed = [], None
        group.append(line)
        indexed = is_indexed if indexed is None else indexed
        reached |= line["lengths"]
    if len(group) > 1:
        yield group


def _indexed(line: Line, reached: dict[str, int]) -> bool | None:
    """Whether the segment is indexed; None if it archived nothing. `reached`: lengths of the archive before it."""
    if any(path.startswith(f"{INDEX}/") for path in line["files"]):
        return True
    archived = {name: length for name, length in line["lengths"].items() if name.startswith(f"{ARCHIVE}/")}
    return False if any(length > reached.get(name, 0) for name, length in archived.items()) else None


def _fit(group: Sequence[Line]) -> bool:
    few = all(_sum(group, table, "rows") <= most for table, most in MOST.items())
    return few and all(_sum(group, table, "bytes") <= LARGEST for table in TABLES)


def merge(shard: Path, group: Sequence[Line]) -> Line:
    """Writes the files of the merged segment, and returns its line for the manifest."""
    from gossamer.read.compact import merging  # imports pyarrow only if there is something to do

    first, last = group[0], group[-1]
    name = f"{int(first['segment']):012d}-{int(last['segment']):012d}"
    files = merging.write_tables(shard, group, name)
    index = _merge_index(shard, group, f"{INDEX}/{name}.cdxj")
    lengths: dict[str, int] = {}
    for line in group:
        lengths |= line["lengths"]
    return {
        **last,
        "first_tick": first["first_tick"],
        "first_record": first["first_record"],
        "files": files | index,
        "lengths": lengths,
    }


def _merge_index(shard: Path, group: Sequence[Line], name: str) -> dict[str, dict[str, int | str]]:
    """Merges the sorted index files of the segments. Empty if they have none."""
    paths = [shard / path for line in group for path in line["files"] if path.startswith(f"{INDEX}/")]
    if not paths:
        return {}
    opened = []
    try:
        for path in paths:
            with disk.naming("read", path):
                opened.append(path.open("rb"))
        data = b"".join(heapq.merge(*opened))
    finally:
        for file in opened:
            file.close()
    disk.write_atomic(shard / name, data)
    checksum = xxhash.xxh3_64_hexdigest(data)
    return {name: {"rows": data.count(b"\n"), "bytes": len(data), "checksum": checksum}}


def _replace(shard: Path, group: Sequence[Line], merged: Line) -> None:
    """Replaces the parts by the merged segment in the manifest, and removes their files.

    Journal files that a kill left next to their segments are removed first: afterwards no line would say that they are
    sealed.
    """
    numbers = {line["segment"] for line in group}
    _remove(shard, [journal_path(shard, number) for number in numbers])
    path = shard / MANIFEST
    with disk.naming("read", path):
        raw = path.read_bytes().splitlines(keepends=True)
    lines: list[bytes] = []
    for encoded in raw:
        line = manifest.decode(encoded)
        if line is None:
            continue  # a torn last line; `manifest.read` has refused any other damage
        if "segment" not in line or line["segment"] not in numbers:
            lines.append(encoded)
        elif line["segment"] == merged["segment"]:
            lines.append(manifest.encode(merged))
    disk.write_atomic(path, *lines)
    _remove(shard, [shard / name for line in group for name in line["files"]])


def _remove(shard: Path, paths: Sequence[Path]) -> None:
    there = [path for path in paths if path.exists()]
    for path in there:
        disk.remove(path)
    for folder in sorted({path.parent for path in there}):
        disk.sync_directory(folder)


def _unnamed(shard: Path, lines: Sequence[Line]) -> list[Path]:
    """Files of tables that no line names: left by a seal or a compaction that was killed."""
    named = {shard / path for line in lines for path in line["files"]}
    paths = [path for name in (*TABLES, INDEX) for path in sorted((shard / name).glob("*")) if path.is_file()]
    return [path for path in paths if path not in named]
