"""Runs all checks in order. The archive is checked in pieces, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from gossamer.base.units import plural
from gossamer.collection import lock
from gossamer.collection.forgetting.finish import finish
from gossamer.collection.layout import ARCHIVE, INDEX, MANIFEST, require_collection, shard_folder
from gossamer.collection.repair import repair
from gossamer.collection.runs import in_form
from gossamer.config import Settings
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Progress, Sources
from gossamer.read.verify import archive, files, index, invariants, times
from gossamer.read.verify.archive import ArchivedVisit, CheckedPiece, Piece
from gossamer.read.verify.dates import Dates
from gossamer.read.verify.faults import BACKUP, REPORT, Fault, VerifyReport
from gossamer.read.verify.forgotten import FORGOTTEN_VISIT, check_forgotten, check_unfinished

MEMORY: Final = "1GB"
PIECE: Final = 16 << 20
"""Bytes of the archive that one process checks at a time."""
ALONE: Final = 4 * PIECE
"""An archive of at most this many bytes is checked in this process: starting others would take longer."""


def repaired(folder: Path) -> list[str]:
    """Repairs what can be repaired (`collection/repair.py`), and returns what was done. No crawl may run."""
    require_collection(folder)
    shard = shard_folder(folder)
    held = lock.take(shard)
    try:
        done = repair(shard)
        if finished := finish(shard):
            done.append(f"{plural(finished, 'order')} to forget had been begun, and was carried out")
        return done
    finally:
        held.release()


def verify(folder: Path, quick: bool = False, progress: Progress = lambda what, part: None) -> VerifyReport:
    """Checks everything; with `quick`, everything except the records and the index of the archive."""
    report = VerifyReport()
    sources = files.open_sources(folder, report)
    files.check_chain(sources, report)
    gaps = any((f.file, f.place) != (MANIFEST, files.FIRST_LINE) for f in report.findings)
    damaged = set(sources.names) if gaps else set[str]()  # rows of every table may be missing
    settings = in_form(files.check_settings(sources, report), sources.contents.meta.url_form)
    files.check_strays(sources, report)
    total = sum(f.bytes for these in sources.tables.values() for f in these)
    done = 0
    for size in files.check_segments(sources, report, damaged):
        done += size
        progress("segments", done / max(1, total))
    files.check_image(sources, report)
    files.check_standing(sources.shard, report)
    files.check_watches(sources.folder, report)
    check_unfinished(sources.shard, report)
    with tempfile.TemporaryDirectory() as spilled:
        database = Database(sources, settings, MEMORY, Path(spilled))
        marks = times.Marks() if "ticks" in damaged else times.marks_of(database)
        _Contents(sources, settings, database, damaged, report, progress, marks).check(quick)
    return report


@dataclass(frozen=True, slots=True)
class _Contents:
    """The checks of tables and archive. A check that needs a damaged table is left out."""

    sources: Sources
    settings: Settings
    database: Database
    damaged: set[str]
    """Names of damaged tables."""
    report: VerifyReport
    progress: Progress
    marks: times.Marks
    """Corrections of the clock."""

    def check(self, quick: bool) -> None:
        if self.damaged:
            without = ", ".join(name for name in self.sources.names if name in self.damaged)
            self.report.notes.append(f"Checks that need {without} were skipped: repair the files first.")
        tables = invariants.check_tables(self.sources, self.database, self.report, self.damaged)
        for number, table in enumerate(tables):
            self.progress(f"invariants of {table}", number / (1 + len(invariants.CHECKS)))
        if not self.damaged & {"ticks", "visits"}:
            times.check_spans(self.database, self.marks, self.report)
        if "pages" not in self.damaged:
            invariants.check_urls(self.sources, self.database, self.report)
        if "visits" not in self.damaged:
            invariants.check_versions(self.sources, self.database, self.report)
        if not self.damaged & {"pages", "visits", "sites"}:
            check_forgotten(self.sources, self.database, self.report)
        lengths = _archive_lengths(self.sources, self.report)
        if quick:
            self.report.notes.append("The records of the archive were not read (--quick).")
        else:
            self._check_archive(lengths)

    def _check_archive(self, there: dict[str, int]) -> None:
        report, indexed = self.report, index.IndexCheck(self.sources)
        indexed.leave_out(name for name, length in self.sources.lengths().items() if there.get(name, 0) < length)
        total, done = sum(there.values()), 0
        revisits: dict[str, list[archive.Revisit]] = defaultdict(list)
        dates: dict[str, list[Dates]] = defaultdict(list)
        for checked in _checked(self._pieces(there, indexed), total):
            name = f"{ARCHIVE}/{checked.path.name}"
            report.add(*(Fault(name, f"byte {at}", wrong, _cure(wrong)) for at, wrong in checked.wrong))
            report.count("archive bytes", checked.bytes)
            report.count("archive records", checked.records)
            indexed.expect(checked)
            revisits[name] += checked.revisits
            dates[name].append(checked.dates)
            done += checked.bytes
            self.progress("archive", done / max(1, total))
        for name, found in sorted(dates.items()):
            times.check_dates(name, found, bool(self.marks.all), report)
        if self._visits_known:
            index.check_revisits(self.sources, self.database, revisits, report)
            if INDEX not in self.damaged:
                indexed.compare(report)

    @property
    def _visits_known(self) -> bool:
        return not self.damaged & {"visits", "pages", "sites"}

    def _pieces(self, there: dict[str, int], indexed: index.IndexCheck) -> Iterator[Piece]:
        """The pieces of the archive. Visits are read file by file, so memory is that of the visits of one file."""
        for name, length in there.items():
            path, without = self.sources.shard / name, indexed.without(name)
            visits = self._visits_in(name) if self._visits_known else None
            if visits is not None and length < self.sources.lengths()[name]:  # the file was cut: check what is left
                visits = [visit for visit in visits if visit.end <= length]
                length = visits[-1].end if visits else 0
            if not visits:
                yield Piece(path, 0, length, visits, self.settings.seeder, without)
            start = first = 0
            for number, visit in enumerate(visits or (), 1):
                last = number == len(visits or ())
                end = length if last else min(visit.end, length)
                if end - start >= PIECE or last:
                    yield Piece(path, start, end, (visits or [])[first:number], self.settings.seeder, without)
                    start, first = end, number

    def _visits_in(self, name: str) -> list[ArchivedVisit]:
        found = self.database.run(
            'select v.warc_offset, v.warc_end, p.url, v.flags, v.payload, epoch(v."time") - (v."end" - v.start), '
            f"v.tick, {FORGOTTEN_VISIT} from stored.visits v left join stored.pages p on p.page = v.page "
            "where v.warc_end > 0 and v.warc_file = ? order by 1",
            [name],
        )
        return [ArchivedVisit._make([*row, self.marks.after(tick), gone]) for *row, tick, gone in found]


def _archive_lengths(sources: Sources, report: VerifyReport) -> dict[str, int]:
    """Committed length of each archive file, as far as the file exists."""
    lengths = {}
    for name, length in sources.archive_lengths().items():
        path = sources.shard / name
        if not path.exists():
            wrong = "is missing: its visits are known, but their bodies are lost"
            report.add(Fault(name, "", wrong, BACKUP))
        elif path.stat().st_size < length:
            wrong = f"has {path.stat().st_size} bytes, but {length} were committed: the end is missing"
            report.add(Fault(name, "", wrong, BACKUP))
        if path.exists():
            lengths[name] = min(length, path.stat().st_size)
    return lengths


def _cure(wrong: str) -> str:
    return BACKUP if "damaged" in wrong or "not a WARC" in wrong or "length" in wrong else REPORT


def _checked(pieces: Iterable[Piece], total: int) -> Iterator[CheckedPiece]:
    """Checks the pieces, several at a time, and yields the results in any order."""
    cores = len(os.sched_getaffinity(0))
    if total <= ALONE or cores == 1:
        yield from map(archive.check, pieces)
        return
    waiting = iter(pieces)
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        running: set[Future[CheckedPiece]] = {pool.submit(archive.check, p) for p in islice(waiting, 2 * cores)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(archive.check, p) for p in islice(waiting, len(ended))}
            for future in ended:
                yield future.result()
