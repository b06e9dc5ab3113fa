"""Finds the valid files of a collection, for readers: only the files that the manifest names.

A crawl may run at the same time. Segments stay where they are, but a journal file is removed when the manifest names
its segment. So the manifest is read again after the journal and, if there is a new segment, everything is read once
more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection import manifest
from gossamer.collection.checked import Checked, compare_any
from gossamer.collection.journal import records
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.layout import (
    ARCHIVE,
    INDEX,
    ROWS,
    TABLES,
    journal_files,
    located,
    require_collection,
    shard_folder,
    table_of,
)
from gossamer.collection.manifest import Contents, Line
from gossamer.manager.scores.stored import sums_of

SCORE_FILES: Final = "scores"
_OF_SITES: Final = "-sites"
_TRIES: Final = 10

Progress = Callable[[str, float], None]
"""Called with what is being done, and the part done, from 0 to 1."""
Span = tuple[int, int]
"""Start and end, in bytes."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a segment."""

    place: Path
    rows: int
    bytes: int
    segment: int
    checksum: str

    @property
    def path(self) -> Path:
        """Where it is now."""
        return located(self.place)


@dataclass(frozen=True, slots=True)
class Fresh:
    """The committed effects of a journal file that are not sealed yet, as encoded bodies."""

    path: Path
    first: int
    """Number of its first record."""
    mark: Mark
    """The last mark, with the lengths of all marks of the file."""
    bodies: list[bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sources:
    """The valid files of a collection."""

    folder: Path
    shard: Path
    contents: Contents
    fresh: list[Fresh]
    checked: Checked
    """Compares files with their checksums before they are read."""

    def check(self, name: str) -> None:
        """Compares the segment files of a table (or of the index) with the manifest; GossamerError if one differs."""
        for file in self.table(name):
            if not file.path.exists():
                raise missing(file.path)
            self.checked.require(file.path, file.bytes, file.checksum)

    def table(self, name: str) -> list[File]:
        """The segment files of a table (or of the index), in the order of segments."""
        files = []
        for number, line in sorted(self.contents.segments.items()):
            for path, file in line["files"].items():
                if table_of(path) == name:
                    facts = file.get("rows", 0), file["bytes"], number, file["checksum"]
                    files.append(File(self.shard / path, *facts))
        return files

    @property
    def tables(self) -> dict[str, list[File]]:
        return {name: self.table(name) for name in self.names}

    @property
    def names(self) -> list[str]:
        """The tables, those of plug-ins too, and the index."""
        files = (path for line in self.contents.segments.values() for path in line["files"])
        return [*TABLES, *sorted({name for path in files if (name := table_of(path)).startswith(ROWS)}), INDEX]

    def lengths(self) -> dict[str, int]:
        """Committed lengths of archive and URL files."""
        found: dict[str, int] = {}
        for _, line in sorted(self.contents.segments.items()):
            found |= line["lengths"]
        for part in self.fresh:
            found |= part.mark.lengths
        return found

    def archive_lengths(self) -> dict[str, int]:
        """Committed lengths of the archive files, in order."""
        return {name: length for name, length in sorted(self.lengths().items()) if name.startswith(f"{ARCHIVE}/")}

    def unindexed(self, all_committed: bool = False) -> dict[str, list[Span]]:
        """Spans of archive files that were sealed without an index; with `all_committed`, also spans not sealed yet."""
        found: dict[str, list[Span]] = defaultdict(list)
        reached: dict[str, int] = {}
        for _, line in sorted(self.contents.segments.items()):
            indexed = any(path.startswith(f"{INDEX}/") for path in line["files"])
            for name, length in line["lengths"].items():
                if name.startswith(f"{ARCHIVE}/"):
                    if not indexed and length > reached.get(name, 0):
                        found[name].append((reached.get(name, 0), length))
                    reached[name] = max(length, reached.get(name, 0))
        if all_committed:
            for name, length in self.archive_lengths().items():
                if length > reached.get(name, 0):
                    found[name].append((reached.get(name, 0), length))
        return found

    def check_scores(self, path: Path) -> None:
        """Compares a file of scores with the checksums stored with it. An earlier version stored none."""
        sums = sums_of(self.shard, path.name)
        if sums:
            self.checked.require_by(path, repr(sums), lambda: compare_any(path, sums))

    def scores(self) -> tuple[Path | None, Path | None]:
        """The newest files with the scores of pages and of sites."""
        paths = sorted((self.shard / SCORE_FILES).glob("*.parquet"))
        of_sites = [p for p in paths if p.stem.endswith(_OF_SITES)]
        of_pages = [p for p in paths if not p.stem.endswith(_OF_SITES)]
        return of_pages[-1] if of_pages else None, of_sites[-1] if of_sites else None


RESTORE: Final = "Restore it from a backup; `gossamer verify` reports what else is missing."


def missing(path: Path) -> StorageError:
    """The error for a file that the manifest names and that does not exist."""
    return StorageError(f"{path} is missing", RESTORE)


def whole(sources: Sources, tables: Sequence[str]) -> tuple[Sources, list[str]]:
    """The sources without segments of which a file of these tables is damaged or missing, and what is wrong there."""
    bad: dict[int, str] = {}
    for name in tables:
        for file in sources.table(name):
            try:
                sources.checked.require(file.path, file.bytes, file.checksum)
            except GossamerError as error:
                bad.setdefault(file.segment, str(error))
    kept = {number: line for number, line in sources.contents.segments.items() if number not in bad}
    damaged = [f"Segment {number} is left out: {fault}" for number, fault in sorted(bad.items())]
    return replace(sources, contents=replace(sources.contents, segments=kept)), damaged


def nothing_sealed(sources: Sources) -> str:
    """A note if nothing is sealed and only sealed data was requested; otherwise empty."""
    if sources.fresh or sources.contents.segments:
        return ""
    return "nothing is sealed yet (collection.seal_every)"


def find(folder: Path, fresh: bool = False, unchecked: bool = False) -> Sources:
    """The valid files; with `fresh`, also the committed effects in the journal that are not sealed yet; `unchecked`
    leaves out the comparison with checksums."""
    require_collection(folder)
    shard = shard_folder(folder)
    checked = Checked(shard, unchecked)
    contents = manifest.read_whole(shard)
    if not fresh:
        return Sources(folder, shard, contents, [], checked)
    for _ in range(_TRIES):
        found = unsealed(shard, contents.segments)
        again = manifest.read_whole(shard)
        if found is not None and list(again.segments) == list(contents.segments):
            return Sources(folder, shard, again, found, checked)
        contents = again
    raise GossamerError(f"{folder} changes faster than it can be read", "Try again, or leave out --fresh.")


def unsealed(shard: Path, segments: dict[int, Line]) -> list[Fresh] | None:
    """The unsealed effects by journal file; None if a file was removed meanwhile."""
    found = []
    for number, path in journal_files(shard).items():
        if number not in segments:
            try:
                part = read_journal(path)
            except StorageError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    return None
                raise
            if part is not None:
                found.append(part)
    return found


def read_journal(path: Path) -> Fresh | None:
    """The committed effects of a journal file; None if there are none."""
    head = records.read_head(path)
    read = list(records.read(path))
    marks = [Mark.decode(r.body) for r in read if r.kind is Kind.MARK]
    if head is None or not marks or marks[-1].record < head.first:
        return None
    lengths: dict[str, int] = {}
    for mark in marks:
        lengths |= mark.lengths
    last = Mark(marks[-1].record, marks[-1].tick, lengths)
    bodies = [r.body for r in read if r.kind is Kind.EFFECTS and r.number <= last.record]
    return Fresh(path, head.first, last, bodies)
