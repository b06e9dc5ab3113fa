"""The order of the checks, and the archive in pieces, in as many processes as there are cores."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any, Final

from gossamer import config
from gossamer.collection.layout import ARCHIVE, SETTINGS
from gossamer.collection.standing import STANDING
from gossamer.config import Settings
from gossamer.sql.database import Database
from gossamer.sql.sources import Sources
from gossamer.verify import archive, files, index, invariants
from gossamer.verify.archive import Checked, Piece, Visit
from gossamer.verify.report import BACKUP, REPORT, Finding, Report

MEMORY: Final = "1GB"
PIECE: Final = 16 << 20
"""Bytes of archive that one process checks at a time."""
ALONE: Final = 4 * PIECE
"""Up to so many bytes of archive, no other process is worth its start."""

Progress = Callable[[str, float], None]
"""What is being done, and how much of it, from 0 to 1."""


def verify(folder: Path, quick: bool = False, progress: Progress = lambda what, part: None) -> Report:
    """`quick`: all but the archive's records and index."""
    report = Report()
    sources = files.open_sources(folder, report)
    settings = config.load(folder / SETTINGS)
    files.check_chain(sources, report)
    total = sum(f.bytes for these in sources.tables.values() for f in these)
    done = 0
    for size in files.check_segments(sources, report):
        done += size
        progress("segments", done / max(1, total))
    sound = report.good
    files.check_image(sources, report)
    invariants.check_standing(sources.shard, _standing(sources.shard), report)
    with tempfile.TemporaryDirectory() as spilled:
        if sound:
            _check_contents(sources, settings, quick, Path(spilled), report, progress)
        else:
            report.notes.append("What is in the tables and the archive was not looked at: mend the files first.")
    return report


def _check_contents(
    sources: Sources, settings: Settings, quick: bool, spilled: Path, report: Report, progress: Progress
) -> None:
    database = Database(sources, settings, MEMORY, spilled)
    for number, table in enumerate(invariants.check_tables(sources, database, report)):
        progress(f"invariants of {table}", number / (1 + len(invariants.CHECKS)))
    invariants.check_urls(sources, database, report)
    lengths = _archive_lengths(sources, report)
    if quick:
        report.notes.append("The records of the archive were not read (--quick).")
        return
    _check_archive(sources, settings, database, lengths, report, progress)


def _standing(shard: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((shard / STANDING).read_bytes())
    except (OSError, ValueError):
        return None
    return found


def _archive_lengths(sources: Sources, report: Report) -> dict[str, int]:
    """Of the files that are there, as far as they are committed."""
    found = {}
    for name, length in sorted(sources.lengths().items()):
        path = sources.shard / name
        if not name.startswith(f"{ARCHIVE}/"):
            continue
        if not path.exists():
            wrong = "is missing: its visits are known, their bodies are not"
            report.add(Finding(name, "", wrong, BACKUP))
        elif path.stat().st_size < length:
            wrong = f"has {path.stat().st_size} bytes, but {length} were committed: the end is missing"
            report.add(Finding(name, "", wrong, BACKUP))
        else:
            found[name] = length
    return found


def _check_archive(
    sources: Sources, settings: Settings, database: Database, lengths: dict[str, int], report: Report,
    progress: Progress,
) -> None:  # fmt: skip
    indexed = index.Index(sources)
    total, done = sum(lengths.values()), 0
    revisits: dict[str, list[archive.Revisit]] = defaultdict(list)
    for checked in _checked(_pieces(sources, settings, database, lengths, indexed), total):
        name = f"{ARCHIVE}/{checked.path.name}"
        report.add(*(Finding(name, f"byte {at}", wrong, _cure(wrong)) for at, wrong in checked.wrong))
        report.count("archive bytes", checked.bytes)
        report.count("archive records", checked.records)
        indexed.expect(checked)
        revisits[name] += checked.revisits
        done += checked.bytes
        progress("archive", done / max(1, total))
    index.check_revisits(sources, database, revisits, report)
    indexed.compare(report)


def _cure(wrong: str) -> str:
    return BACKUP if "damaged" in wrong or "not a WARC" in wrong or "length" in wrong else REPORT


def _pieces(
    sources: Sources, settings: Settings, database: Database, lengths: dict[str, int], indexed: index.Index
) -> Iterator[Piece]:
    """Visits are asked for file by file: memory is that of one file's."""
    for name, length in lengths.items():
        found = database.run(
            "select v.warc_offset, v.warc_end, p.url, v.flags, v.payload from stored.visits v left join stored.pages p "
            "on p.page = v.page where v.warc_end > 0 and v.warc_file = ? order by 1", [name],
        )  # fmt: skip
        visits = [Visit(*row) for row in found]
        start = first = 0
        for number, visit in enumerate(visits, 1):
            last = number == len(visits)
            end = length if last else min(visit.end, length)
            if end - start >= PIECE or last:
                own = visits[first:number]
                yield Piece(sources.shard / name, start, end, own, settings.seeder, indexed.without(name))
                start, first = end, number
        if not visits:
            yield Piece(sources.shard / name, 0, length, [], settings.seeder, indexed.without(name))


def _checked(pieces: Iterable[Piece], total: int) -> Iterator[Checked]:
    """In no order, some at a time."""
    cores = len(os.sched_getaffinity(0))
    if total <= ALONE or cores == 1:
        yield from map(archive.check, pieces)
        return
    waiting = iter(pieces)
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        running: set[Future[Checked]] = {pool.submit(archive.check, p) for p in islice(waiting, 2 * cores)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(archive.check, p) for p in islice(waiting, len(ended))}
            for future in ended:
                yield future.result()
