"""The journal: the effects of every tick, in the order in which they were absorbed, until they are sealed.

*Commit*: the files that a mark names are synced, the journal is synced, then the mark is appended and synced. So a
readable mark guarantees every record that it covers: if one of these cannot be read, this is damage, never a power cut.
Records that the loop appended meanwhile may lie before the mark without being covered by it. This costs two syncs per
second instead of one, in a thread: the price of distinguishing damage from a power cut.

*Superseded*: a start opens a new file, whose first record follows the last committed one. Records of older files from
that number on were never committed and are ignored; so a crash leaves nothing in the journal that must be cut.

*Closed*: a file is closed by a commit that covers all its records; its last mark is in it, so it can be sealed alone.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark, encode, header
from gossamer.collection.layout import journal_path

Sync = Callable[[], None]
"""Makes a file, or a group of files, survive a power cut."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a commit will cover: the state of the files between two ticks."""

    mark: Mark
    syncs: tuple[Sync, ...]
    """Sync the files that the mark names and that have grown."""
    closed: int | None
    """Number of the journal file that this commit closes, so that it can be sealed."""


class _File:
    """A journal file that is open for appending."""

    def __init__(self, path: Path, salt: int, last: int) -> None:
        self.appender = disk.Appender(path)
        self.salt = salt
        self.last = last
        """Number of its last record."""

    def append(self, kind: Kind, body: bytes) -> int:
        record = encode(kind, body, self.salt)
        self.appender.append(record)
        return len(record)


class Journal:
    """The journal, open for appending. The loop calls `append` and `snapshot`; one background thread calls `commit`."""

    def __init__(self, shard: Path, shard_number: int, number: int, salt: int, last: int, tick: int) -> None:
        """Continues file `number`, whose last record is `last`, of tick `tick`. See `begin`."""
        self._shard = shard
        self._shard_number = shard_number
        self._lock = threading.Lock()
        self._file = _File(journal_path(shard, number), salt, last)
        self._closing: _File | None = None
        self._header = 0
        self._uncommitted: deque[tuple[int, int, float]] = deque()
        self.number = number
        self.last = last
        self.tick = tick
        self.visits = 0
        """Number of visits in the present file."""
        self.behind_bytes = 0
        """Bytes appended and not yet committed."""

    @property
    def bytes(self) -> int:
        """Length of the present file."""
        return self._file.appender.length

    @property
    def is_new(self) -> bool:
        """Whether nothing was written since the last file was closed."""
        return self.bytes == self._header

    @property
    def behind_since(self) -> float | None:
        """Monotonic time of the oldest uncommitted record, for back-pressure; None if there is none."""
        try:
            return self._uncommitted[0][2]
        except IndexError:
            return None

    def append(self, effects: Effects) -> int:
        """Hands the record to the kernel and returns its number. It survives a kill, but not yet a power cut."""
        body = effects.encode()
        with self._lock:
            size = self._file.append(Kind.EFFECTS, body)
            self.last += 1
            self._file.last = self.last
            self.tick = effects.tick
            self.visits += len(effects.visits)
            self.behind_bytes += size
            self._uncommitted.append((self.last, size, effects.monotonic))
        return self.last

    def snapshot(self, lengths: Mapping[str, int], syncs: Iterable[Sync], rotate: bool = False) -> Snapshot:
        """What a commit of everything appended so far covers. `lengths` are the lengths of archive and URL files at the
        last record, because a worker may have written more since. `rotate` closes the present file."""
        mark = Mark(self.last, self.tick, dict(lengths))
        return Snapshot(mark, tuple(syncs), self._rotate() if rotate else None)

    def commit(self, snapshot: Snapshot) -> None:
        """Returns when everything in the snapshot survives a power cut."""
        for sync in snapshot.syncs:
            sync()
        self.sync()
        self.mark(snapshot.mark)
        self.sync()
        with self._lock:
            self._forget(snapshot.mark.record)

    def mark(self, mark: Mark) -> None:
        with self._lock:
            file = self._closing or self._file
            if mark.record > file.last:
                raise GossamerError("commits must be made in the order of their snapshots")
            file.append(Kind.MARK, mark.encode())

    def sync(self) -> None:
        """Syncs the open files, without holding the lock: the loop keeps appending."""
        with self._lock:
            files = [file.appender for file in (self._closing, self._file) if file]
        for file in files:
            file.sync()

    def _rotate(self) -> int:
        """Starts a new file for the next records. Returns the number of the old one, which stays open for its last
        mark."""
        with self._lock:
            if self._closing is not None:
                raise GossamerError("the journal was rotated again before the commit that closes the last file")
            closed = self.number
            file = _File(journal_path(self._shard, closed + 1), secrets.randbits(64), self.last)
            file.appender.append(header(self._shard_number, self.last + 1, file.salt))
            self._closing, self._file, self._header = self._file, file, file.appender.length
            self.number = closed + 1
            self.visits = 0
        return closed

    def _forget(self, committed: int) -> None:
        while self._uncommitted and self._uncommitted[0][0] <= committed:
            self.behind_bytes -= self._uncommitted.popleft()[1]
        if self._closing and committed >= self._closing.last:
            self._closing.appender.close()
            self._closing = None

    def close(self) -> None:
        with self._lock:
            for file in (self._closing, self._file):
                if file:
                    file.appender.close()


def begin(shard: Path, shard_number: int, number: int, mark: Mark, effects: Sequence[Effects] = ()) -> Journal:
    """Starts the journal of a new run: a new file, which continues after `mark` and supersedes all later records.

    The file is created atomically, with `effects` (what a recovery learned) already committed in it.
    """
    salt = secrets.randbits(64)
    parts = [header(shard_number, mark.record + 1, salt)]
    parts += [encode(Kind.EFFECTS, e.encode(), salt) for e in effects]
    tick = effects[-1].tick if effects else mark.tick
    last = Mark(mark.record + len(effects), tick, mark.lengths)
    parts.append(encode(Kind.MARK, last.encode(), salt))
    disk.write_atomic(journal_path(shard, number), *parts)
    return Journal(shard, shard_number, number, salt, last.record, tick)
