"""The CDXJ index against the records of the archive, and revisit records against the records that they name.

Lines are compared as sums of their checksums, file by file of the archive: neither side is kept. Only where the sums
differ are the lines looked for one by one.
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
from gossamer.read.verify.archive import Checked, Record, Revisit
from gossamer.read.verify.report import BACKUP, REPORT, Finding, Report

SHOWN: Final = 20
_HASH: Final = (1 << 64) - 1
_FILE: Final = re.compile(rb'"filename": ?"([^"]*)"')
_CURE: Final = f"Remove the files of {INDEX}/ and make the index anew from the archive, with any CDXJ tool."
_HEAD: Final = 1 << 13
_BATCH: Final = 1_000


class Index:
    """What the index files should hold, as the archive is read."""

    def __init__(self, sources: Sources) -> None:
        self._shard = sources.shard
        self._files = sources.table(INDEX)
        self._expected: dict[str, tuple[int, int]] = {}
        self._unreadable = set[str]()
        self._without = sources.unindexed(all_committed=True)
        self._lengths = sources.lengths()

    def leave_out(self, names: Iterable[str]) -> None:
        """Archive files that are not whole: which lines they should have is not known."""
        self._unreadable.update(Path(name).name for name in names)

    def without(self, name: str) -> tuple[Span, ...]:
        """Stretches of an archive file that no index covers: not sealed yet, or sealed when there was none."""
        return tuple(self._without.get(name, ()))

    def expect(self, checked: Checked) -> None:
        name = checked.path.name
        lines, checksum = self._expected.get(name, (0, 0))
        self._expected[name] = lines + checked.lines, (checksum + checked.checksum) & _HASH
        if checked.unreadable:
            self._unreadable.add(name)

    def compare(self, report: Report) -> None:
        if not self._files:
            report.notes.append("There is no CDXJ index to be compared with the archive.")
            return
        found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for file in self._files:
            before = b""
            with file.path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line < before:
                        place = Finding(_name(file.path), f"line {number}", "the lines are not sorted", _CURE)
                        report.add(place)
                    before = line
                    named = _FILE.search(line)
                    key = named[1].decode("latin-1") if named else "?"
                    count, checksum = found[key]
                    found[key] = count + 1, (checksum + xxhash.xxh3_64_intdigest(line)) & _HASH
                    report.count("index lines")
        for name in sorted({*found, *self._expected}):
            if name in self._unreadable:
                report.notes.append(f"The index of {name} was not compared with it: mend the file first.")
            elif found[name] != self._expected.get(name, (0, 0)):
                self._tell(name, report)

    def _tell(self, name: str, report: Report) -> None:
        """Which lines: all those of one archive file are in memory meanwhile."""
        mark = f'"filename": "{name}"'.encode()
        said = {
            line: (_name(file.path), number)
            for file in self._files
            for number, line in enumerate(file.path.read_bytes().splitlines(keepends=True), 1)
            if mark in line
        }
        path = self._shard / ARCHIVE / name
        right = set(self._lines(path))
        false, missing = sorted(said.keys() - right), sorted(right - said.keys())
        told = [
            Finding(said[line][0], f"line {said[line][1]}", f"no record of {name} has this line: {_start(line)}", _CURE)
            for line in false[:SHOWN]
        ]
        report.add_some(told, len(false))
        told = [
            Finding(f"{INDEX}/", "", f"a record of {name} is not in the index: {_start(line)}", _CURE)
            for line in missing[:SHOWN]
        ]
        report.add_some(told, len(missing))
        if said.keys() == right:
            report.add(Finding(f"{INDEX}/", "", f"a line of {name} is there more than once", _CURE))

    def _lines(self, path: Path) -> list[bytes]:
        name, at, made = f"{ARCHIVE}/{path.name}", 0, list[bytes]()
        if not path.exists():
            return made
        for start, end in [*self.without(name), (self._lengths.get(name, 0), 0)]:
            if at < start:
                made += cdx.lines(path, at, start)
            at = end
        return made


def check_revisits(sources: Sources, database: Database, revisits: dict[str, list[Revisit]], report: Report) -> None:
    """Each names a response that is there, with the body that it repeats."""
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
                wrong = "this revisit record refers to a record that is not there: its body is lost"
                report.add(Finding(file, f"byte {offset}", wrong, BACKUP if payload not in found else REPORT))


def _originals(sources: Sources, database: Database, payloads: set[str]) -> dict[str, set[bytes]]:
    """Record ids of the responses that have these bodies."""
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
        found[names[bytes(payload)]].add(Record(raw).field(b"WARC-Record-ID"))
    return found


def _start(line: bytes) -> str:
    return f"{line[:100].decode('latin-1')}…"


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
