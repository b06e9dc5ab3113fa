"""The collection open for a crawl: the desk appends, a thread commits every second, a process seals.

The loop only hands bytes to the kernel (`append`) and takes snapshots (`turn`); syncs, the standing for `status` and
manifest lines are the commit thread's. Whatever fails there is raised in the loop at its next turn, and the crawl
stops: what was committed before is intact.

Back-pressure: while the oldest record that is not committed is older than `MOST_BEHIND`, or `MOST_BYTES` are not
committed, `behind` says so and no assignment leaves; open transfers end, nothing is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import VISIT
from gossamer.base.process import Process
from gossamer.collection import image
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.journal import Journal, Syncable
from gossamer.collection.layout import JOURNAL, STOPPED, URLS, journal_path
from gossamer.collection.lock import Lock
from gossamer.collection.manifest import Contents, Manifest
from gossamer.collection.status_file import write_status
from gossamer.config.settings import CollectionSettings

URL_FILE: Final = f"{URLS}/pages.blocks"
COMMIT_EVERY: Final = 1.0
MOST_BEHIND: Final = 2.0 + COMMIT_EVERY
MOST_BYTES: Final = 64 << 20
MOST_JOURNAL: Final = 256 << 20
"""Bytes of a journal file that is sealed whatever the settings say: a start has to read it."""
LONGEST_SEAL: Final = 900.0
"""Seconds that sealing a journal file may take: it takes some, or a minute on a busy machine."""
TRY_AGAIN: Final = 10.0
TEXTS_AHEAD: Final = 50_000
"""Texts read ahead and not yet used; more are dropped."""


class Archive(Protocol):
    """What the store needs of the web: its archive files."""

    def warc_lengths(self) -> dict[str, int]: ...
    def sync_warc(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _ArchiveFiles:
    """To a commit, all archive files are one."""

    archive: Archive

    def sync(self) -> None:
        self.archive.sync_warc()


class Store:
    def __init__(
        self,
        shard: Path,
        lock: Lock,
        manifest: Manifest,
        journal: Journal,
        urls: BlockFile,
        settings: CollectionSettings,
        clock: Clock,
        unsealed: list[int],
        warnings: list[str],
        next_archive: int,
        stopped: bool = False,
    ) -> None:
        """`stopped`: the run before ended by itself, and no request of it is unknown."""
        self.shard, self.lock, self.urls, self.warnings = shard, lock, urls, warnings
        self.next_archive, self.stopped = next_archive, stopped
        self._manifest, self._journal, self._settings, self._clock = manifest, journal, settings, clock
        self._archive: Archive | None = None
        self._thread = ThreadPoolExecutor(1, "commit")
        self._reader = ThreadPoolExecutor(1, "texts")
        self._commit: Future[int | None] | None = None
        self._next_commit = clock.monotonic() + COMMIT_EVERY
        self._next_seal = clock.monotonic() + settings.seal_every
        self._to_seal = unsealed
        self._sealing: tuple[int, Process] | None = None
        self._sealed: Future[None] | None = None
        self._next_try = 0.0
        self._imaged: Future[None] | None = None
        self._reading: Future[list[bytes]] | None = None
        self._reading_pages: list[int] = []
        self._ahead: dict[int, bytes] = {}
        self.standing: Callable[[], dict[str, Any]] | None = None
        """Figures for `gossamer status`, asked for at every commit."""
        self.committed: Callable[[npt.NDArray[np.void]], None] | None = None
        """Is told the visits whose commit is synced."""
        self._uncommitted: list[npt.NDArray[np.void]] = []
        self._committing: list[npt.NDArray[np.void]] = []
        self.notes: list[str] = []
        """What people should know of what was sealed; whoever says it empties the list."""
        self.commits = 0
        self.segments = 0
        """Sealed since the start."""

    def follow(self, archive: Archive) -> None:
        """From now on commits vouch for these files too."""
        self._archive = archive

    # --- the loop's side ----------------------------------------------------------------------------------------

    def append(self, effects: Effects) -> None:
        self._journal.append(effects)
        if len(effects.pages):
            self.urls.append(effects.urls.split())
        if self.committed is not None and len(effects.visits):
            self._uncommitted.append(effects.visits)

    def behind(self) -> bool:
        since = self._journal.behind_since
        late = since is not None and self._clock.monotonic() - since > MOST_BEHIND
        return late or self._journal.behind_bytes > MOST_BYTES

    def turn(self) -> None:
        """Once a tick: begins a commit, a rotation or a sealing when it is time, and takes over what has ended."""
        now = self._clock.monotonic()
        if self._commit is not None and (self._commit.done() or self._clock.virtual):
            self._committed()
        if self._commit is None and now >= self._next_commit:
            self._next_commit = now + COMMIT_EVERY
            self._begin_commit(rotate=self._seal_is_due(now))
        if self._imaged is not None and self._imaged.done():
            self._imaged.result()
            self._imaged = None
        self._seal()

    def texts(self, pages: npt.NDArray[np.uint32]) -> list[bytes]:
        """URLs of these pages: read ahead, or now."""
        self._take_ahead(wait=False)
        numbers = pages.tolist()
        missing = [p for p in numbers if p not in self._ahead]
        if missing:
            self._ahead.update(zip(missing, self.urls.read_many(missing), strict=True))
        return [self._ahead.pop(p) for p in numbers]

    def read_ahead(self, pages: npt.NDArray[np.uint32]) -> None:
        """Reads texts that will soon be asked for, in a thread; one batch at a time."""
        self._take_ahead(wait=False)
        if self._reading is None:
            wanted = [p for p in pages.tolist() if p not in self._ahead]
            if wanted:
                self._reading_pages = wanted
                self._reading = self._reader.submit(self.urls.read_many, wanted)

    def _take_ahead(self, wait: bool) -> None:
        if self._reading is not None and (wait or self._reading.done()):
            if len(self._ahead) > TEXTS_AHEAD:
                self._ahead.clear()
            self._ahead.update(zip(self._reading_pages, self._reading.result(), strict=True))
            self._reading = None

    # --- committing ---------------------------------------------------------------------------------------------

    def _begin_commit(self, rotate: bool) -> None:
        lengths = {URL_FILE: self.urls.length}
        files: list[Syncable] = [self.urls.appender]
        if self._archive is not None:
            lengths |= self._archive.warc_lengths()
            files.append(_ArchiveFiles(self._archive))
        snapshot = self._journal.snapshot(lengths, files, rotate)
        self._committing, self._uncommitted = self._uncommitted, []
        figures = self.standing() if self.standing is not None else None

        def commit() -> int | None:
            self._journal.commit(snapshot)
            if figures is not None:
                write_status(self.shard, figures)
            return snapshot.closed

        self._commit = self._thread.submit(commit)

    def _committed(self) -> None:
        """Raises what went wrong in the thread."""
        assert self._commit is not None
        closed = self._commit.result()
        self._commit = None
        self.commits += 1
        if self._committing and self.committed is not None:
            self.committed(_joined(self._committing))
        if closed is not None:
            self._to_seal.append(closed)

    def _seal_is_due(self, now: float) -> bool:
        full = self._journal.visits >= self._settings.seal_visits or self._journal.bytes > MOST_JOURNAL
        if not full and now < self._next_seal:
            return False
        self._next_seal = now + self._settings.seal_every
        return self._journal.visits > 0

    # --- sealing ------------------------------------------------------------------------------------------------

    def _seal(self, wait: bool = False) -> None:
        """One journal file at a time becomes segments, in a process of its own; its manifest line is the thread's."""
        if self._sealed is not None and (wait or self._sealed.done()):
            self._sealed.result()
            self._sealed = None
            self.segments += 1
        if self._sealing is not None and (wait or self._sealing[1].ended):
            number, process = self._sealing
            self._sealing = None
            process.wait()
            if process.failure:
                raise _sealing_failed(number, process.code, process.failure)
            self._sealed = self._thread.submit(self._finish_seal, number, json.loads(process.output))
        elif self._sealing is None and self._sealed is None and self._to_seal:
            self._begin_seal(wait)

    def _begin_seal(self, wait: bool) -> None:
        """A process that cannot be started (too many files or processes, no memory) is tried again later."""
        now = self._clock.monotonic()
        if now < self._next_try and not wait:
            return
        number = self._to_seal[0]
        try:
            self._sealing = number, self._start_seal(number)
        except OSError as error:
            if wait:
                raise _sealing_failed(number, StorageError.exit_code, str(error)) from error
            self._next_try = now + TRY_AGAIN
            self.notes.append(f"journal file {number} cannot be sealed now, and will be tried again: {error.strerror}")
            return
        self._to_seal.pop(0)

    def _start_seal(self, number: int) -> Process:
        arguments = [str(self.shard), str(number)]
        return Process("gossamer.collection.tables.seal", arguments, b"", self.lock.fileno(), LONGEST_SEAL)

    def _finish_seal(self, number: int, line: dict[str, Any]) -> None:
        self._manifest.append(line)
        self.notes += [f"{name} is not in the index: {why}" for name, why in line.get("unindexed", {}).items()]
        disk.remove(journal_path(self.shard, number))
        disk.sync_directory(self.shard / JOURNAL)

    @property
    def busy(self) -> bool:
        """Something is being sealed, or waits to be."""
        return bool(self._to_seal or self._sealing or self._sealed)

    def manifest(self) -> Contents:
        """As it stands; only the thread changes it, and replaces it whole."""
        return self._manifest.contents

    @property
    def taking_image(self) -> bool:
        return self._imaged is not None

    def take_image(self, line: dict[str, Any]) -> None:
        """An image that was made beside the crawl counts from now on."""
        self._imaged = self._thread.submit(image.finish, self.shard, self._manifest, line)

    # --- the end ------------------------------------------------------------------------------------------------

    def finish(
        self, arrays: dict[str, npt.NDArray[Any] | image.Parts], meta: dict[str, Any], seal: bool = True
    ) -> None:
        """A clean stop: everything is committed and sealed, and an image is written. Without `seal` the next start
        seals: that takes memory."""
        self.commit(rotate=True)
        if seal:
            self.seal_all()
        stopped = meta | {STOPPED: self._journal.number}
        image.finish(
            self.shard, self._manifest, image.write(self.shard, self._journal.tick, self._journal.last, arrays, stopped)
        )

    def seal_all(self) -> None:
        """Returns when nothing is left to be sealed."""
        while self.busy:
            self._seal(wait=True)

    def commit(self, rotate: bool = False) -> None:
        """Now, and returns when it is done."""
        if self._commit is not None:
            self._committed()
        self._begin_commit(rotate)
        self._committed()

    def close(self) -> None:
        """Also after a fault: nothing more is written."""
        self._thread.shutdown(wait=True)
        self._reader.shutdown(wait=True)
        if self._sealing is not None:
            self._sealing[1].kill()
            self._sealing = None
        for file in (self._journal, self.urls, self._manifest):
            file.close()
        self.lock.release()


def _joined(visits: list[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Byte by byte: `np.concatenate` compares the types of all of them field by field, 30 µs each."""
    return np.frombuffer(b"".join([some.tobytes() for some in visits]), VISIT)


def _sealing_failed(number: int, code: int, reason: str) -> GossamerError:
    """The process says itself what was wrong; exit code 4 is the disk's."""
    kind = StorageError if code == StorageError.exit_code else GossamerError
    cure = "Nothing is lost: it is sealed at the next start."
    return kind(f"journal file {number} could not be sealed: {reason}", cure)
