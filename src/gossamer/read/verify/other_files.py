"""Checks the files next to the tables and the archive: the settings, the list of runs, and stray files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from gossamer import config
from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.collection import runs
from gossamer.collection.layout import ARCHIVE, SETTINGS, archive_files
from gossamer.collection.lock import holder
from gossamer.collection.runs import RUNS
from gossamer.config import Settings
from gossamer.read.sql.sources import Sources
from gossamer.read.verify.faults import Fault, VerifyReport

SHOWN: Final = 5
"""Maximum number of stray files that are named."""


def check_settings(sources: Sources, report: VerifyReport) -> Settings:
    """The settings of crawl.toml. If it cannot be read, the settings of the last run, so that the other checks can go
    on."""
    lines = _runs(sources, report)
    try:
        return config.load(sources.folder / SETTINGS)
    except UsageError as error:
        cure = f"Restore it from a backup. The settings of the last run are in {sources.shard.name}/{RUNS}."
        missing = not (sources.folder / SETTINGS).exists()
        report.add(Fault(SETTINGS, "", "is missing" if missing else f"cannot be used: {error.message}", cure))
    try:
        return config.from_json(json.dumps(lines[-1]["settings"])) if lines else Settings()
    except UsageError:
        return Settings()


def _runs(sources: Sources, report: VerifyReport) -> list[dict[str, Any]]:
    """The readable lines of the list of runs."""
    try:
        raw = (sources.shard / RUNS).read_bytes().splitlines()
    except OSError as error:
        wrong = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        wrong += ": the settings of the runs are unknown"
        if sources.unindexed():  # collections of the first version have no list
            report.notes.append(f"{RUNS} {wrong}.")
        else:
            report.add(Fault(RUNS, "", wrong, "Restore it from a backup. Without it, the next run begins a new list."))
        return []
    report.count("runs", len(raw))
    for number, line in enumerate(raw, 1):
        if not runs.sound(line):
            report.add(Fault(RUNS, f"line {number}", "is damaged: the settings of that run are unknown", runs.CURE))
    return [json.loads(line) for line in raw if runs.sound(line)]


def check_strays(sources: Sources, report: VerifyReport) -> None:
    """Notes files in the archive's folder to which no visit can refer. They are not a fault, but their owner should
    know."""
    folder, committed = sources.shard / ARCHIVE, sources.lengths()
    archives = {path.name for path in archive_files(sources.shard).values()}
    running = (process := holder(sources.shard)) is not None and process.alive
    strange, uncommitted = [], []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name not in archives and not path.name.endswith(disk.TEMPORARY):
            strange.append(path)
        elif f"{ARCHIVE}/{path.name}" not in committed and not running:
            uncommitted.append(path)
    _note(strange, "not of this collection, and not checked:", report)
    _note(uncommitted, "never committed, will be removed by the next start:", report)


def _note(paths: list[Path], what: str, report: VerifyReport) -> None:
    if paths:
        names = ", ".join(f"{ARCHIVE}/{path.name}" for path in paths[:SHOWN])
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        report.notes.append(f"{what[0].upper()}{what[1:]} {names}{more}.")
