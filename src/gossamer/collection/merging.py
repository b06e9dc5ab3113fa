"""Merging in the background: neighbouring segments become a larger one, while the crawl goes on and readers read.

    a process writes the files of the merged segment, in a folder of their own (`read/compact/background.py`)
    ->  the commit thread moves them to the others, and replaces the lines of the parts in the manifest, atomically
    ->  it moves the files of the parts to the folder `merged`, where readers that began before find them for an hour

So whoever takes all files of a table sees each row once, but for the moment of the change. A kill at any time leaves a
manifest, old or new, that names only complete files. What it does not name is removed at the next start. A process that
fails, or cannot be started, is a note, and is tried again later: more files are slower, and no harm. If a folder of a
table is a link to another disk, nothing is merged: files could not be moved at once.

Invariants, each a test of the same name: readers that began before a merge read on; a kill of a merge loses nothing; a
crawl of weeks has as many files and starts as soon as one of days.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.process import Process
from gossamer.collection.layout import MERGED, folders_of_segments, journal_path, merged_away
from gossamer.collection.manifest import Contents, Line, Manifest
from gossamer.collection.sealing import Seal

FANOUT: Final = 10
"""Segments that become one."""
GRACE: Final = 3_600.0
"""Seconds for which files of merged segments stay."""
TRY_AGAIN: Final = 3_600.0
"""Seconds after a failure."""
LONGEST: Final = 3_600.0
"""Timeout in seconds for one merge."""

Merger = Callable[[Path, int], Seal]
"""Starts a merge, given the shard's folder and the descriptor of the lock. Its output is JSON: the numbers of the
`parts`, and the `line` of the merged segment; or nothing."""


def merge_in_process(shard: Path, lock: int) -> Seal:
    return Process("gossamer.read.compact.background", [str(shard)], b"", lock, LONGEST)


class Merging:
    """One merge at a time, and the files that are to be removed."""

    def __init__(
        self, shard: Path, lock: int, manifest: Manifest, clock: Clock, thread: Executor, merger: Merger
    ) -> None:
        self._shard, self._lock, self._manifest, self._clock = shard, lock, manifest, clock
        self._thread, self._merger = thread, merger
        self.may_begin = True
        """Whether there is memory for a merge."""
        folders = [shard / name for name in (*folders_of_segments(shard), MERGED) if (shard / name).exists()]
        self._one_disk = {folder.stat().st_dev for folder in folders} <= {shard.stat().st_dev}
        self.notes: list[str] = []
        self._next = max(0, FANOUT - len(manifest.contents.segments))
        """How many journal files the run has sealed when it is worthwhile to look for something to merge."""
        self._not_before = 0.0
        self._running: Seal | None = None
        self._finishing: Future[None] | None = None
        self._removed: list[tuple[float, list[Path]]] = [
            (0.0, [*unnamed(shard, manifest.contents), shard / MERGED / "new"]),
            (self._now() + GRACE, _old(shard)),
        ]

    def _now(self) -> float:
        return self._clock.monotonic()

    def turn(self, sealed: int) -> None:
        """Takes over what has ended, begins what is due. `sealed`: journal files that the run has sealed."""
        if self._finishing is not None:
            if self._finishing.done() or self._clock.virtual:
                self._finishing.result()
                self._finishing = None
        elif self._running is not None:
            if self._running.ended:
                self._take(self._running)
        elif sealed >= self._next and self.may_begin and self._one_disk and self._now() >= self._not_before:
            self._begin(sealed)
        elif self._removed and self._now() >= self._removed[0][0]:
            self._finishing = self._thread.submit(self._clean, self._removed.pop(0)[1])

    def _begin(self, sealed: int) -> None:
        self._next = sealed + FANOUT
        try:
            self._running = self._merger(self._shard, self._lock)
        except OSError as error:
            self._fail(str(error.strerror))

    def _take(self, process: Seal) -> None:
        self._running = None
        process.wait()
        if process.failure:
            self._fail(process.failure)
        elif process.output.strip():
            made = json.loads(process.output)
            self._next = 0  # the merged segment may be merged with others
            self._finishing = self._thread.submit(self._finish, made["parts"], made["line"])

    def _fail(self, reason: str) -> None:
        self._not_before = self._now() + TRY_AGAIN
        self.notes.append(f"segments cannot be merged now, and will be tried again: {reason}")

    def _finish(self, parts: Sequence[int], line: Line) -> None:
        """Replaces the parts in the manifest. A journal file that a kill left next to its segment goes first: no line
        would say that it is sealed."""
        _remove([journal_path(self._shard, number) for number in parts])
        image = self._manifest.contents.image
        if image is not None and line["first_record"] <= image["record"] < line["last_record"]:
            _remove([self._shard / MERGED / "new"])  # the image was made meanwhile
            return
        files = [self._shard / name for number in parts for name in self._manifest.contents.segments[number]["files"]]
        _move({self._shard / MERGED / "new" / name: self._shard / name for name in line["files"]})
        self._manifest.replace(parts, line)
        moved = {path: merged_away(path) for path in files}
        _move(moved)
        self._removed.append((self._now() + GRACE, list(moved.values())))

    def _clean(self, paths: Sequence[Path]) -> None:
        """Removes files that no line names. What a merge left that was killed may have been written again since."""
        named = {self._shard / path for line in self._manifest.contents.segments.values() for path in line["files"]}
        _remove([path for path in paths if path not in named])

    def kill(self) -> bool:
        """Gives up what runs; returns whether anything did."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
        return running is not None


def unnamed(shard: Path, contents: Contents) -> list[Path]:
    """Files of segments that no line names: parts of merged segments, and what a merge left that was killed."""
    named = {shard / path for line in contents.segments.values() for path in line["files"]}
    last = max(contents.segments, default=0)
    paths = [path for name in folders_of_segments(shard) for path in (shard / name).glob("*") if path.is_file()]
    return [path for path in paths if path not in named and _number(path) <= last]


def _old(shard: Path) -> list[Path]:
    """Files of merged segments that an earlier run left. Links to folders are not followed: they are not ours."""
    return [path for path in (shard / MERGED).glob("old/*/*") if not path.parent.is_symlink()]


def _number(path: Path) -> float:
    """The number of the segment; infinite if it is not a file of one."""
    number = path.name.partition(".")[0].rpartition("-")[2]
    return int(number) if number.isdecimal() else float("inf")


def _move(paths: Mapping[Path, Path]) -> None:
    for path in {new.parent for new in paths.values()}:
        disk.make_directory(path.parent.parent)
        disk.make_directory(path.parent)
        disk.make_directory(path)
    for old, new in paths.items():
        disk.rename(old, new)
    for folder in {path.parent for pair in paths.items() for path in pair}:
        disk.sync_directory(folder)


def _remove(paths: Sequence[Path]) -> None:
    there = [path for path in paths if path.exists()]
    for path in there:
        disk.remove(path)
    for folder in {path.parent for path in there}:
        disk.sync_directory(folder)
