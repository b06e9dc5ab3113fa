"""Sealing in the background: closed journal files become segments, one at a time, each in a process of its own.

The process writes the segment's files (`tables/seal.py`); the commit thread then appends the segment's line to the
manifest and removes the journal file. What fails is raised in the loop, and the crawl stops: nothing is lost, the next
start seals. A process that cannot be started (too many files or processes, no memory) is tried again later.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Final, Protocol

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.process import Process
from gossamer.collection.journal.journal import Journal
from gossamer.collection.layout import JOURNAL, journal_path
from gossamer.collection.manifest import Line, Manifest
from gossamer.config.settings import CollectionSettings

MOST_JOURNAL: Final = 256 << 20
"""Bytes. A larger journal file is sealed whatever the settings say, because a start has to read it."""
LONGEST_SEAL: Final = 900.0
"""Timeout in seconds for sealing one journal file: it takes some seconds, or a minute on a busy machine."""
TRY_AGAIN: Final = 10.0
"""Seconds until a process that could not be started is tried again."""


class Seal(Protocol):
    """The sealing of one journal file: a `Process`, or a stand-in for it."""

    @property
    def ended(self) -> bool: ...
    @property
    def output(self) -> str:
        """The segment's line of the manifest, as JSON."""

    @property
    def code(self) -> int: ...
    @property
    def failure(self) -> str: ...
    def wait(self) -> None: ...
    def kill(self) -> None: ...


Sealer = Callable[[Path, int, int], Seal]
"""Starts the sealing of a journal file, given the shard's folder, the file's number and the descriptor of the lock."""


def seal_in_process(shard: Path, number: int, lock: int) -> Seal:
    return Process("gossamer.collection.tables.seal", [str(shard), str(number)], b"", lock, LONGEST_SEAL)


class Sealing:
    """The journal files that wait to be sealed, and the one that is being sealed."""

    def __init__(
        self,
        shard: Path,
        lock: int,
        manifest: Manifest,
        settings: CollectionSettings,
        clock: Clock,
        thread: Executor,
        waiting: list[int],
        sealer: Sealer,
    ) -> None:
        """`waiting` are the numbers of journal files to seal, in order; more are appended to it."""
        self.waiting = waiting
        self.notes: list[str] = []
        """Warnings for the user; the reader empties the list."""
        self.segments = 0
        """Sealed since the start."""
        self._shard, self._lock, self._manifest, self._sealer = shard, lock, manifest, sealer
        self._settings, self._clock, self._thread = settings, clock, thread
        self._next_rotation = clock.monotonic() + settings.seal_every
        self._next_try = 0.0
        self._running: tuple[int, Seal] | None = None
        self._finishing: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being sealed, or waits to be."""
        return bool(self.waiting or self._running or self._finishing)

    def rotates(self, journal: Journal, now: float) -> bool:
        """Whether the next commit closes the journal file, so that it can be sealed: it is full, or old enough."""
        full = journal.visits >= self._settings.seal_visits or journal.bytes > MOST_JOURNAL
        if not full and now < self._next_rotation:
            return False
        self._next_rotation = now + self._settings.seal_every
        return journal.visits > 0

    def turn(self, wait: bool = False) -> None:
        """Takes over what has ended, and begins the next one. With `wait` it waits for what runs."""
        if self._finishing is not None and (wait or self._finishing.done()):
            self._finishing.result()
            self._finishing = None
            self.segments += 1
        if self._running is not None and (wait or self._running[1].ended):
            number, process = self._running
            self._running = None
            process.wait()
            if process.failure:
                raise _failed(number, process.code, process.failure)
            self._finishing = self._thread.submit(self._finish, json.loads(process.output))
        elif self._running is None and self._finishing is None and self.waiting:
            self._begin(wait)

    def finish(self) -> None:
        """Returns when everything is sealed."""
        while self.busy:
            self.turn(wait=True)

    def kill(self) -> None:
        """Ends the process that runs; the next start seals its file."""
        if self._running is not None:
            self._running[1].kill()
            self._running = None

    def _begin(self, wait: bool) -> None:
        now = self._clock.monotonic()
        if now < self._next_try and not wait:
            return
        number = self.waiting[0]
        try:
            self._running = number, self._sealer(self._shard, number, self._lock)
        except OSError as error:
            if wait:
                raise _failed(number, StorageError.exit_code, str(error)) from error
            self._next_try = now + TRY_AGAIN
            self.notes.append(f"journal file {number} cannot be sealed now, and will be tried again: {error.strerror}")
            return
        self.waiting.pop(0)

    def _finish(self, line: Line) -> None:
        finish(self._shard, self._manifest, line)
        self.notes += [f"{name} is not in the index: {why}" for name, why in line.get("unindexed", {}).items()]


def finish(shard: Path, manifest: Manifest, line: Line) -> None:
    """Appends the segment's line to the manifest, and removes its journal file."""
    manifest.append(line)
    disk.remove(journal_path(shard, line["segment"]))
    disk.sync_directory(shard / JOURNAL)


def _failed(number: int, code: int, reason: str) -> GossamerError:
    """`reason` is what the process printed; exit code 4 means the disk."""
    kind = StorageError if code == StorageError.exit_code else GossamerError
    cure = "Nothing is lost: the next start seals it."
    return kind(f"journal file {number} could not be sealed: {reason}", cure)
