"""Checks the CDXJ index against the records of the archive, and revisit records against the records that they refer to.

For each file of the archive, the sums of the checksums of its lines are compared, so that neither side has to be kept
in memory. Only if the sums differ, the lines are compared one by one.
"""

from __future__ import annotations

import re
from base64 import b32decode
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import xxhash

from gossamer.base.errors import StorageError
from gossamer.base.model import VisitFlag
from gossamer.collection import cdx
from gossamer.collection.layout import ARCHIVE, INDEX
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Sources, Span
from gossamer.read.verify.archive import CheckedPiece, Revisit, WarcRecord
from gossamer.read.verify.faults import BACKUP, REPORT, Fault, VerifyReport

SHOWN: Final = 20
"""Maximum number of lines of one kind that are reported."""
_HASH: Final = (1 << 64) - 1
_FILE: Final = re.compile(rb'"filename": ?"([^"]*)"(?:, ?"revisit": ?"([^"]*)")?')
_CURE: Final = f"Remove the files of {INDEX}/ and make the index again from the archive, with any CDXJ tool."
_HEAD: Final = 1 << 13
_BATCH: Final = 1_000


class IndexCheck:
    """Collects, while the archive is read, which lines the index must have; then compares."""

    def __init__(self, sources: Sources) -> None:
        self._shard = sources.shard
        self._files = sources.table(INDEX)
        self._expected: dict[str, tuple[int, int]] = {}
        self._unreadable = set[str]()
        self._without = sources.unindexed(all_committed=True)
        self._lengths = sources.lengths()

    def leave_out(self, names: Iterable[str]) -> None:
        """Excludes incomplete archive files: which lines they must have is unknown."""
        self._unreadable.update(Path(name).name for name in names)

    def without(self, name: str) -> tuple[Span, ...]:
        """Spans of an archive file that no index covers: not sealed yet, or sealed by a version without index."""
        return tuple(self._without.get(name, ()))

    def expect(self, checked: CheckedPiece) -> None:
        """Adds the lines that the records of a piece must have."""
        name = checked.path.name
        lines, checksum = self._expected.get(name, (0, 0))
        self._expected[name] = lines + checked.lines, (checksum + checked.checksum) & _HASH
        if checked.unreadable:
            self._unreadable.add(name)

    def compare(self, report: VerifyReport) -> None:
        """Reports the lines that are missing, wrong or not sorted."""
        if not self._files:
            report.notes.append("There is no CDXJ index to compare with the archive.")
            return
        sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for file in self._files:
            before = b""
            with file.path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line < before:
                        report.add(Fault(_name(file.path), f"line {number}", "the lines are not sorted", _CURE))
                    before = line
                    key = _file_of(line)
                    count, checksum = sums[key]
                    sums[key] = count + 1, (checksum + xxhash.xxh3_64_intdigest(line)) & _HASH
                    report.count("index lines")
        for name in sorted({*sums, *self._expected}):
            if name in self._unreadable:
                report.notes.append(f"The index of {name} was not compared with it: repair the file first.")
            elif sums[name] != self._expected.get(name, (0, 0)):
                self._compare_lines(name, report)

    def _compare_lines(self, name: str, report: VerifyReport) -> None:
        """Reports which lines differ. All lines of one archive file are in memory meanwhile."""
        present = {
            line: (_name(file.path), number)
            for file in self._files
            for number, line in enumerate(file.path.read_bytes().splitlines(keepends=True), 1)
            if _file_of(line) == name
        }
        path = self._shard / ARCHIVE / name
        right = set(self._lines(path))
        false, missing = sorted(present.keys() - right), sorted(right - present.keys())
        wrong = f"no record of {name} has this line:"
        places = [(line, *present[line]) for line in false[:SHOWN]]
        faults = [Fault(file, f"line {number}", f"{wrong} {_start(line)}", _CURE) for line, file, number in places]
        report.add_some(faults, len(false))
        faults = [
            Fault(f"{INDEX}/", "", f"a record of {name} is not in the index: {_start(line)}", _CURE)
            for line in missing[:SHOWN]
        ]
        report.add_some(faults, len(missing))
        if present.keys() == right:
            report.add(Fault(f"{INDEX}/", "", f"a line of {name} occurs more than once", _CURE))

    def _lines(self, path: Path) -> list[bytes]:
        name, at, made = f"{ARCHIVE}/{path.name}", 0, list[bytes]()
        if not path.exists():
            return made
        for start, end in [*self.without(name), (self._lengths.get(name, 0), 0)]:
            if at < start:
                made += cdx.lines(path, at, start)
            at = end
        return made


def check_revisits(
    sources: Sources, database: Database, revisits: dict[str, list[Revisit]], report: VerifyReport
) -> None:
    """Checks that each revisit record refers to an existing response with the body that it repeats."""
    wanted: dict[tuple[str, bytes], tuple[str, int]] = {}
    for file, these in revisits.items():
        report.count("revisits", len(these))
        for revisit in these:
            wanted.setdefault((revisit.payload, revisit.record_id), (file, revisit.offset))
    each = list(wanted.items())
    for at in range(0, len(each), _BATCH):
        batch = dict(each[at : at + _BATCH])
        found = _originals(sources, database, {payload for payload, _ in batch})
        for (payload, record_id), (file, offset) in batch.items():
            if record_id not in found.get(payload, set()):
                wrong = "this revisit record refers to a record that does not exist: its body is lost"
                report.add(Fault(file, f"byte {offset}", wrong, BACKUP if payload not in found else REPORT))


def _originals(sources: Sources, database: Database, payloads: set[str]) -> dict[str, set[bytes]]:
    """WarcRecord ids of the responses with these bodies."""
    places = database.run(
        "select payload, warc_file, warc_offset, warc_end from stored.visits where warc_end > 0 and "
        f"(flags & {int(VisitFlag.REPEATED)}) = 0 and payload in (select unnest(?::blob[]))",
        [[b32decode(payload) for payload in payloads]],
    )
    names = {b32decode(payload): payload for payload in payloads}
    found: dict[str, set[bytes]] = defaultdict(set)
    for payload, file, offset, end in places:
        try:
            _, _, raw = next(cdx.members(sources.shard / file, offset, end, _HEAD))
        except (StorageError, StopIteration):
            continue
        found[names[bytes(payload)]].add(WarcRecord(raw).field(b"WARC-Record-ID"))
    return found


def _start(line: bytes) -> str:
    return f"{line[:100].decode('latin-1')}…"


def _file_of(line: bytes) -> str:
    """The archive file with the record that a line is of: that of a 304, not of the copy."""
    named = _FILE.search(line)
    return (named[2] or named[1]).decode("latin-1") if named else "?"


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
