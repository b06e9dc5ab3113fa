"""Commits: once per second, what was appended is made to survive a power cut, by a thread in the background.

The loop appends and takes the snapshot of what a commit covers; syncing, and the figures for `gossamer status`, are the
thread's work. An error in the thread is raised in the loop when it takes the commit over (`take`).

Back-pressure: while the oldest uncommitted record is older than `MOST_BEHIND`, or more than `MOST_BYTES` are
uncommitted, `behind` is true and the crawl hands out no assignments; open transfers end, nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Final, Protocol

from gossamer.base.arrays import Records
from gossamer.base.clock import Clock
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal.effects import Effects, concatenated
from gossamer.collection.journal.journal import Journal
from gossamer.collection.layout import URL_FILE
from gossamer.collection.runs import write_status
from gossamer.collection.versions import VersionFile, versions_of

COMMIT_EVERY: Final = 1.0
"""Seconds."""
MOST_BEHIND: Final = 2.0 + COMMIT_EVERY
"""Seconds."""
MOST_BYTES: Final = 64 << 20


class Archive(Protocol):
    """The archive files, which workers write."""

    def warc_lengths(self) -> dict[str, int]: ...
    def sync_warc(self) -> None: ...


class Commits:
    """Journal, URLs and versions, with the commits that make them durable. One commit runs at a time."""

    def __init__(
        self,
        shard: Path,
        journal: Journal,
        urls: BlockFile,
        versions: VersionFile,
        clock: Clock,
        thread: Executor,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`check` is called before every commit: it raises an error if the folder is another's."""
        self.journal = journal
        self.archive: Archive | None = None
        """Files that every commit covers too; None: there are none yet."""
        self.standing: Callable[[], dict[str, Any]] | None = None
        """Returns the figures for `gossamer status`; called at every commit."""
        self.committed: Callable[[Records], None] | None = None
        """Called with the visits of every commit, once they are synced."""
        self.count = 0
        self._shard, self._urls, self._versions, self._clock, self._thread = shard, urls, versions, clock, thread
        self._check = check
        self._next = clock.monotonic() + COMMIT_EVERY
        self._running: Future[int | None] | None = None
        self._uncommitted: list[Records] = []
        self._committing: list[Records] = []

    def append(self, effects: Effects) -> None:
        """Hands one record to the kernel; the next commit covers it."""
        self.journal.append(effects)
        if len(effects.pages):
            self._urls.append(effects.urls.split())
        if len(effects.visits):
            self._versions.append(versions_of(effects))
            if self.committed is not None:
                self._uncommitted.append(effects.visits)

    @property
    def all_closed(self) -> bool:
        """Whether everything is committed, in closed files: another one would be empty."""
        return self._running is None and self.journal.is_new

    def behind(self) -> bool:
        """Whether the disk is too slow for the crawl."""
        return self.lag() > MOST_BEHIND or self.journal.behind_bytes > MOST_BYTES

    def lag(self) -> float:
        """Age of the oldest uncommitted record, in seconds; 0 if all are committed."""
        since = self.journal.behind_since
        return 0.0 if since is None else self._clock.monotonic() - since

    def turn(self, rotates: Callable[[Journal, float], bool]) -> int | None:
        """Takes over a commit that has ended, and begins one when it is time; `rotates` decides, by the monotonic time,
        whether that one closes the journal file. Returns the number of the file that the ended commit closed."""
        now = self._clock.monotonic()
        closed = None
        if self._running is not None and (self._running.done() or self._clock.virtual):
            closed = self._take()
        if self._running is None and now >= self._next:
            self._next = now + COMMIT_EVERY
            self._begin(rotate=rotates(self.journal, now))
        return closed

    def soon(self) -> int:
        """Begins a commit at the next turn. Returns the number of commits after which all that was appended is
        durable."""
        self._next = -float("inf")
        return self.count + (1 if self._running is None else 2)

    def now(self, rotate: bool) -> list[int]:
        """Commits everything; returns, when it is done, the numbers of the journal files that were closed."""
        closed = [self._take()] if self._running is not None else []
        self._begin(rotate)
        closed.append(self._take())
        return [number for number in closed if number is not None]

    def _begin(self, rotate: bool) -> None:
        self._check()
        versions = self._versions.blocks
        lengths = {URL_FILE: self._urls.length, self._versions.name: versions.length}
        syncs = [self._urls.appender.sync, versions.appender.sync]
        if self.archive is not None:
            lengths |= self.archive.warc_lengths()
            syncs.append(self.archive.sync_warc)
        snapshot = self.journal.snapshot(lengths, syncs, rotate)
        self._committing, self._uncommitted = self._uncommitted, []
        figures = self.standing() if self.standing is not None else None

        def commit() -> int | None:
            self.journal.commit(snapshot)
            if figures is not None:
                write_status(self._shard, figures)
            return snapshot.closed

        self._running = self._thread.submit(commit)

    def _take(self) -> int | None:
        """Waits for the commit and takes it over; raises what went wrong in the thread."""
        assert self._running is not None
        closed = self._running.result()
        self._running = None
        self.count += 1
        if self._committing and self.committed is not None:
            self.committed(concatenated(self._committing))
        return closed
