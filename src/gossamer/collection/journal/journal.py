"""The journal: every tick's effects, in the order in which they were absorbed. All that is not yet sealed is here.

*Commit*: the files that a mark names are synced, the journal is synced, then the mark is appended and synced. So a mark
that can be read vouches for every record it covers: if one of those can't be read that is damage, never a power cut.
Records that the loop appended meanwhile may lie before the mark without being covered by it. Two syncs a second instead
of one, in a thread: the price of telling damage from a power cut.

*Superseded*: a start opens a new file, whose first record follows the last one committed. Records of older files from
that number on were never committed and count no more; so a crash leaves nothing in the journal that must be cut.

*Closed*: a file is closed by a commit that covers all its records; its last mark lies in it, so it can be sealed alone.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark, encode, header, read_head
from gossamer.collection.layout import journal_path


class Syncable(Protocol):
    """A file, or several that stand for one, that can be made to survive a power cut."""

    def sync(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a commit will vouch for, as it stood between two ticks."""

    mark: Mark
    files: tuple[Syncable, ...]
    """To be synced: all that the mark names and that has grown."""
    closed: int | None
    """Number of the journal file that ends with this commit, ready to be sealed after it."""


class _File:
    """A journal file that is open for appending."""

    def __init__(self, path: Path, salt: int, last: int) -> None:
        self.appender = disk.Appender(path)
        self.salt = salt
        self.last = last
        """Number of its last record."""

    @staticmethod
    def create(path: Path, shard: int, first: int) -> _File:
        file = _File(path, secrets.randbits(64), first - 1)
        file.appender.append(header(shard, first, file.salt))
        return file

    @staticmethod
    def again(path: Path, last: int) -> _File:
        head = read_head(path)
        if head is None:
            raise GossamerError(f"{path} is not a journal file")
        return _File(path, head.salt, last)

    def append(self, kind: Kind, body: bytes) -> int:
        record = encode(kind, body, self.salt)
        self.appender.append(record)
        return len(record)


class Journal:
    """Open for appending. `append` and `snapshot` belong to the loop, `commit` to one thread beside it."""

    def __init__(self, shard: Path, shard_number: int, number: int, last: int, tick: int) -> None:
        """Goes on in file `number`, whose last record is `last`, of tick `tick`. See `begin`."""
        self._shard = shard
        self._shard_number = shard_number
        self._lock = threading.Lock()
        self._file = _File.again(journal_path(shard, number), last)
        self._closing: _File | None = None
        self._uncommitted: deque[tuple[int, int, float]] = deque()
        self.number = number
        self.last = last
        self.tick = tick
        self.visits = 0
        """In the present file."""
        self.behind_bytes = 0
        """Appended and not yet committed."""

    @property
    def bytes(self) -> int:
        """In the present file."""
        return self._file.appender.length

    @property
    def behind_since(self) -> float | None:
        """Monotonic time of the oldest record that is not committed: for back-pressure."""
        try:
            return self._uncommitted[0][2]
        except IndexError:
            return None

    def append(self, effects: Effects) -> int:
        """Hands the record to the kernel and returns its number: a kill no longer loses it, a power cut may."""
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

    def snapshot(self, lengths: Mapping[str, int], files: Iterable[Syncable], rotate: bool = False) -> Snapshot:
        """`lengths` are those of archive and URL files as of the last record: a worker may have written further."""
        mark = Mark(self.last, self.tick, dict(lengths))
        return Snapshot(mark, tuple(files), self._rotate() if rotate else None)

    def commit(self, snapshot: Snapshot) -> None:
        """Returns when everything in the snapshot survives a power cut."""
        for file in snapshot.files:
            file.sync()
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
        """Without the lock: the loop goes on appending."""
        with self._lock:
            files = [file.appender for file in (self._closing, self._file) if file]
        for file in files:
            file.sync()

    def _rotate(self) -> int:
        """Records go to a new file from now on. The old one, whose number is returned, stays open for its last mark."""
        with self._lock:
            if self._closing is not None:
                raise GossamerError("the journal was rotated again before the commit that closes the last file")
            closed = self.number
            file = _File.create(journal_path(self._shard, closed + 1), self._shard_number, self.last + 1)
            self._closing, self._file = self._file, file
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
    """A new file for a new run, which follows what `mark` covers and supersedes what lies behind it.

    It is there whole or not at all, with `effects` (what a recovery learned) committed in it already.
    """
    salt = secrets.randbits(64)
    parts = [header(shard_number, mark.record + 1, salt)]
    parts += [encode(Kind.EFFECTS, e.encode(), salt) for e in effects]
    tick = effects[-1].tick if effects else mark.tick
    reached = Mark(mark.record + len(effects), tick, mark.lengths)
    parts.append(encode(Kind.MARK, reached.encode(), salt))
    disk.write_atomic(journal_path(shard, number), *parts)
    return Journal(shard, shard_number, number, reached.record, tick)
