"""The write lock of a collection: an flock on the shard's folder itself, held by the desk and inherited by its workers.

The kernel releases it when the last process that inherited it ends. So no lock ever has to be removed by hand, and no
second desk starts while a worker of a dead desk may still write. The folder cannot be removed by mistake, as a file
can: it is not empty. The desk also holds an flock on the file `lock`, which is all that earlier versions know: each
keeps the other out. The file contains the holder's process id and start time, for messages and for `gossamer stop`. On
file systems that lock no folders (NFS), the file decides alone.

Before each commit, `Lock.check` compares inodes. A lock file that was removed is made and locked again; if another
process has locked it, or the folder at the path is another one, the crawl stops before it writes.

Invariants, each a test of the same name: removing the lock file lets no second desk in; a folder that was replaced is
never written to; earlier versions and this one keep each other out; a signal reaches the holder and nobody else.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import LockedError, StorageError

LOCK: Final = "lock"
ORPHANS: Final = 5.0
"""Seconds in which the workers of a dead desk notice its death and end."""
_POLL: Final = 0.05
_NO_FOLDERS: Final = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of file systems that do not lock folders."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that took the lock last."""

    pid: int
    started: int
    """Start of the process in clock ticks since boot: distinguishes it from a later process with the same id."""
    since: float
    """Wall time at which the lock was taken."""
    shard: Path

    @property
    def alive(self) -> bool:
        """Whether the process still holds the lock. Its id and its start are not enough: after a reboot, or in a copy
        of the folder, the file may name a process of another program, which does not have the folder open."""
        return process_start(self.pid) == self.started and _has_open(self.pid, self.shard)

    def __str__(self) -> str:
        return f"process {self.pid}, since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since))}"


class Lock:
    """The lock, held from `take` to `release`, or to the end of the last process that inherited `fileno()`."""

    def __init__(self, shard: Path, inode: tuple[int, int], folder: int, file: disk.Appender) -> None:
        """`inode`: of the folder. `folder`: its locked descriptor; -1 if it cannot be locked."""
        self._shard, self._inode, self._folder, self._file = shard, inode, folder, file
        self.since = time.monotonic()
        """Monotonic time from which on only this desk sends requests for the collection."""

    def fileno(self) -> int:
        """The descriptor, which is inheritable: give it to workers in `pass_fds`."""
        return self._folder if self._folder >= 0 else self._file.fileno()

    def check(self) -> None:
        """Raises LockedError if the folder or its lock file is another's by now."""
        if _inode(self._shard) != self._inode:
            raise LockedError(
                f"{self._shard} was moved, removed or replaced during the crawl: nothing more is written to it",
                "Put the folder back in its place; then the same command resumes the crawl from its last commit.",
            )
        if not _in_place(self._file):
            file = disk.Appender(self._shard / LOCK)
            if not _locked(file):
                file.close()
                raise LockedError(
                    f"{self._shard / LOCK} was removed during the crawl, and another process has taken the lock",
                    "Nothing more is written here. Stop the other process, check the collection with `gossamer verify`,"
                    " and never remove the lock file: the lock ends with its process.",
                )
            self._file.close()
            self._file = _signed(file)

    def release(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
        self._file.close()


def take(shard: Path, orphans: float = ORPHANS) -> Lock:
    """Takes the lock at once, or raises LockedError; waits up to `orphans` seconds if only workers of a dead desk hold
    it."""
    until = time.monotonic() + orphans
    with disk.naming("open", shard):
        folder = os.open(shard, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    own = os.fstat(folder)
    try:
        if not _lockable(shard, folder, until):
            os.close(folder)
            folder = -1
        file = disk.Appender(shard / LOCK)
        try:
            _wait(shard, lambda: _locked(file), until)
            if not _in_place(file):
                raise LockedError(f"{shard / LOCK} was removed just now", "Start again.")
            _signed(file)
        except BaseException:
            file.close()
            raise
    except BaseException:
        if folder >= 0:
            os.close(folder)
        raise
    if folder >= 0:
        os.set_inheritable(folder, True)
    return Lock(shard, (own.st_dev, own.st_ino), folder, file)


def _lockable(shard: Path, folder: int, until: float) -> bool:
    """Locks the folder; False if its file system cannot lock folders."""
    try:
        _wait(shard, lambda: _flocked(folder), until)
    except OSError as error:
        if error.errno in _NO_FOLDERS:
            return False
        raise StorageError(f"cannot lock {shard}: {error.strerror}") from error
    return True


def _wait(shard: Path, locked: Callable[[], bool], until: float) -> None:
    """Returns when `locked` is true. Raises LockedError if a living desk holds the lock, or at the time `until`."""
    while not locked():
        found = holder(shard)
        living = found is not None and found.alive
        if living or time.monotonic() >= until:
            raise _held(shard, found, living)
        time.sleep(_POLL)


def _signed(file: disk.Appender) -> disk.Appender:
    """Writes who holds the lock into the file."""
    os.set_inheritable(file.fileno(), True)
    me = {"pid": os.getpid(), "started": process_start(os.getpid()), "since": time.time()}
    file.truncate(0)
    file.append(json.dumps(me).encode() + b"\n")
    return file


def _inode(path: Path) -> tuple[int, int] | None:
    """Device and inode of what is at the path now; None: nothing."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"cannot look at {path}: {error.strerror}", "Check the disk.") from error
    return found.st_dev, found.st_ino


def _in_place(file: disk.Appender) -> bool:
    """Whether the open file is still what its path names."""
    own = os.fstat(file.fileno())
    return _inode(file.path) == (own.st_dev, own.st_ino)


def refuse_if_held(shard: Path) -> None:
    """Raises LockedError if a desk holds the lock: an early check; only `take` is certain."""
    found = holder(shard)
    if found is not None and found.alive:
        raise _held(shard, found, True)


def _locked(file: disk.Appender) -> bool:
    with disk.naming("lock", file.path):
        return _flocked(file.fileno())


def _flocked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(shard: Path, found: Holder | None, living: bool) -> LockedError:
    if found is None:
        return LockedError(f"{shard.parent} is in use by another process", "Wait for it to end, or end it.")
    if living:
        return LockedError(f"{shard.parent} is in use by {found}", f"Stop it first: gossamer stop {shard.parent}")
    return LockedError(
        f"{shard.parent} was crawled by {found}, which has died, but its workers still run",
        f"They should end soon; if they do not, find them with `fuser {shard}`.",
    )


def holder(shard: Path) -> Holder | None:
    """The process that took the lock last; check `alive`. None if the file does not name one."""
    try:
        fields = json.loads((shard / LOCK).read_bytes())
        return Holder(int(fields["pid"]), int(fields["started"]), float(fields["since"]), shard)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def signalled(shard: Path, number: signal.Signals) -> Holder | None:
    """Sends a signal to the desk that holds the lock; None if there is none. PermissionError: it is another user's. No
    other process can take the place of the desk between the look and the signal."""
    found = holder(shard)
    if found is None:
        return None
    try:
        process = os.pidfd_open(found.pid)
    except OSError:
        return None
    try:
        if not found.alive:
            return None
        signal.pidfd_send_signal(process, number)
    except ProcessLookupError:
        return None
    finally:
        os.close(process)
    return found


def _has_open(pid: int, shard: Path) -> bool:
    """Whether a process has the folder or its lock file open; true if it is another user's, who alone may look."""
    own, opened = (_inode(shard), _inode(shard / LOCK)), Path(f"/proc/{pid}/fd")
    try:
        files = list(opened.iterdir())
    except PermissionError:
        return True
    except OSError:
        return False
    for file in files:
        with suppress(OSError):
            found = file.stat()
            if (found.st_dev, found.st_ino) in own:
                return True
    return False


def process_start(pid: int) -> int:
    """Start time of a process, field 22 of /proc/PID/stat; -1 if it has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return -1
    return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
