"""What lies beside the tables and the archive: the settings, the list of runs, and files that nothing names."""

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
from gossamer.read.verify.report import Finding, Report

SHOWN: Final = 5
"""Strange files that are named."""


def check_settings(sources: Sources, report: Report) -> Settings:
    """Those of crawl.toml; of the last run, if that cannot be read: a check of the rest need not end here."""
    lines = _runs(sources, report)
    try:
        return config.load(sources.folder / SETTINGS)
    except UsageError as error:
        cure = f"Restore it from a backup. The settings of the last run are in {sources.shard.name}/{RUNS}."
        missing = not (sources.folder / SETTINGS).exists()
        report.add(Finding(SETTINGS, "", "is missing" if missing else f"cannot be used: {error.message}", cure))
    try:
        return config.from_json(json.dumps(lines[-1]["settings"])) if lines else Settings()
    except UsageError:
        return Settings()


def _runs(sources: Sources, report: Report) -> list[dict[str, Any]]:
    """The lines that are whole."""
    try:
        raw = (sources.shard / RUNS).read_bytes().splitlines()
    except OSError as error:
        wrong = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        wrong += ": with which settings the runs were made is not known"
        if sources.unindexed():  # those of the first version have none
            report.notes.append(f"{RUNS} {wrong}.")
        else:
            report.add(Finding(RUNS, "", wrong, "Restore it from a backup. Without it the next run begins anew."))
        return []
    report.count("runs", len(raw))
    for number, line in enumerate(raw, 1):
        if not runs.sound(line):
            report.add(Finding(RUNS, f"line {number}", "is damaged: the settings of that run are not known", runs.CURE))
    return [json.loads(line) for line in raw if runs.sound(line)]


def check_strays(sources: Sources, report: Report) -> None:
    """Files in the archive's folder that no visit can name: no fault, but whoever put them there should know."""
    folder, committed = sources.shard / ARCHIVE, sources.lengths()
    own = {path.name for path in archive_files(sources.shard).values()}
    running = (found := holder(sources.shard)) is not None and found.alive
    strange, uncommitted = [], []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name not in own and not path.name.endswith(disk.TEMPORARY):
            strange.append(path)
        elif f"{ARCHIVE}/{path.name}" not in committed and not running:
            uncommitted.append(path)
    _tell(strange, "not of this collection: nothing was looked at in", report)
    _tell(uncommitted, "never committed, and removed by the next start:", report)


def _tell(paths: list[Path], what: str, report: Report) -> None:
    if paths:
        names = ", ".join(f"{ARCHIVE}/{path.name}" for path in paths[:SHOWN])
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        report.notes.append(f"{what[0].upper()}{what[1:]} {names}{more}.")
