"""Compaction: merges neighbouring small segments, while no crawl runs. Rows and their order do not change. A crawl that
runs merges its segments itself, by and by (`background.py`).

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

import xxhash

from gossamer.base import disk
from gossamer.collection import lock, manifest
from gossamer.collection.checked import compare
from gossamer.collection.forgetting.finish import finish
from gossamer.collection.layout import (
    ARCHIVE,
    INDEX,
    folders_of_segments,
    journal_path,
    require_collection,
    shard_folder,
    table_of,
)
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
        finish(shard)
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


def groups(
    lines: Sequence[Line], most: Mapping[str, int] | None = None, before: Mapping[str, int] | None = None
) -> Iterator[list[Line]]:
    """Groups of two or more neighbouring segments to merge, of `most` rows of each table. `before`: lengths of the
    archive before the first segment.

    A segment whose part of the archive is indexed is never merged with one whose part is not (sealed by a version that
    made no index), because a segment with an index file counts as indexed as a whole. A segment that archived nothing
    goes with both.
    """
    group: list[Line] = []
    indexed: bool | None = None
    reached = dict(before or {})
    for line in sorted(lines, key=lambda one: int(one["segment"])):
        is_indexed = _indexed(line, reached)
        differs = None not in (is_indexed, indexed) and is_indexed != indexed
        if group and (differs or not _fit([*group, line], most or MOST)):
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


def _fit(group: Sequence[Line], most: Mapping[str, int]) -> bool:
    few = all(_sum(group, table, "rows") <= rows for table, rows in most.items())
    tables = {table_of(path) for line in group for path in line["files"]} - {INDEX}
    return few and all(_sum(group, table, "bytes") <= LARGEST for table in tables)


def first_of(line: Line) -> int:
    """The number of the first journal file that is in the segment."""
    stems = [PurePath(name).stem for name in line["files"]]
    return min((int(stem.partition("-")[0]) for stem in stems), default=int(line["segment"]))


def merge(shard: Path, group: Sequence[Line], out: Path | None = None) -> Line:
    """Writes the files of the merged segment (into the folder `out`, if given), and returns its line for the
    manifest."""
    from gossamer.read.compact import merging  # imports pyarrow only if there is something to do

    first, last = group[0], group[-1]
    name = f"{first_of(first):012d}-{int(last['segment']):012d}"
    files = merging.write_tables(shard, group, name, out or shard)
    index = _merge_index(shard, group, f"{INDEX}/{name}.cdxj", out or shard)
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


def _merge_index(shard: Path, group: Sequence[Line], name: str, out: Path) -> dict[str, dict[str, int | str]]:
    """Merges the sorted index files of the segments. Empty if they have none."""
    said = {shard / path: f for line in group for path, f in line["files"].items() if path.startswith(f"{INDEX}/")}
    if not said:
        return {}
    for path, facts in said.items():
        compare(path, facts["bytes"], facts["checksum"])
    opened = []
    try:
        for path in said:
            with disk.naming("read", path):
                opened.append(path.open("rb"))
        data = b"".join(heapq.merge(*opened))
    finally:
        for file in opened:
            file.close()
    disk.write_atomic(out / name, data)
    checksum = xxhash.xxh3_64_hexdigest(data)
    return {name: {"rows": data.count(b"\n"), "bytes": len(data), "checksum": checksum}}


def _replace(shard: Path, group: Sequence[Line], merged: Line) -> None:
    """Replaces the parts by the merged segment in the manifest, and removes their files.

    Journal files that a kill left next to their segments are removed first: afterwards no line would say that they are
    sealed.
    """
    numbers = {line["segment"] for line in group}
    _remove(shard, [journal_path(shard, number) for number in numbers])
    manifest.rewrite(shard, numbers, merged)
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
    paths = [path for name in folders_of_segments(shard) for path in sorted((shard / name).glob("*")) if path.is_file()]
    return [path for path in paths if path not in named]
