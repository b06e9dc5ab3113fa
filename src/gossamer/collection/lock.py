"""The write lock of a collection: an flock on the shard's lock file, held by the desk and inherited by its workers.

The kernel releases it when the last process that inherited it ends. So no lock ever has to be removed by hand, and no
second desk starts while a worker of a dead desk may still write. The file contains the holder's process id and start
time, for messages and for `gossamer stop`; only the flock decides.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import LockedError, StorageError

LOCK: Final = "lock"
ORPHANS: Final = 5.0
"""Seconds in which the workers of a dead desk notice its death and end."""
_POLL: Final = 0.05


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that took the lock last."""

    pid: int
    started: int
    """Start of the process in clock ticks since boot: distinguishes it from a later process with the same id."""
    since: float
    """Wall time at which the lock was taken."""

    @property
    def alive(self) -> bool:
        return process_start(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid}, since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since))}"


class Lock:
    """The lock, held from `take` to `release`, or to the end of the last process that inherited `fileno()`."""

    def __init__(self, file: disk.Appender) -> None:
        self._file = file
        self.since = time.monotonic()
        """Monotonic time from which on only this desk sends requests for the collection."""

    def fileno(self) -> int:
        """The descriptor, which is inheritable: give it to workers in `pass_fds`."""
        return self._file.fileno()

    def release(self) -> None:
        self._file.close()


def take(shard: Path, orphans: float = ORPHANS) -> Lock:
    """Takes the lock at once, or raises LockedError; waits up to `orphans` seconds if only workers of a dead desk hold
    it."""
    file = disk.Appender(shard / LOCK)
    until = time.monotonic() + orphans
    while not _locked(file):
        found = holder(shard)
        living = found is not None and found.alive
        if living or time.monotonic() >= until:
            file.close()
            raise _held(shard, found, living)
        time.sleep(_POLL)
    os.set_inheritable(file.fileno(), True)
    me = {"pid": os.getpid(), "started": process_start(os.getpid()), "since": time.time()}
    try:
        file.truncate(0)
        file.append(json.dumps(me).encode() + b"\n")
    except StorageError:
        file.close()
        raise
    return Lock(file)


def refuse_if_held(shard: Path) -> None:
    """Raises LockedError if a desk holds the lock: an early check; only `take` is certain."""
    found = holder(shard)
    if found is not None and found.alive:
        raise _held(shard, found, True)


def _locked(file: disk.Appender) -> bool:
    try:
        with disk.naming("lock", file.path):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except StorageError as error:
        if isinstance(error.__cause__, BlockingIOError):
            return False
        raise
    return True


def _held(shard: Path, found: Holder | None, living: bool) -> LockedError:
    if found is None:
        return LockedError(f"{shard.parent} is in use by another process", "Wait for it to end, or end it.")
    if living:
        return LockedError(f"{shard.parent} is in use by {found}", f"Stop it first: gossamer stop {shard.parent}")
    return LockedError(
        f"{shard.parent} was crawled by {found}, which has died, but its workers still run",
        f"They should end soon; if they do not, find them with `fuser {shard / LOCK}`.",
    )


def holder(shard: Path) -> Holder | None:
    """The process that took the lock last; check `alive`. None if the file does not name one."""
    try:
        fields = json.loads((shard / LOCK).read_bytes())
        return Holder(int(fields["pid"]), int(fields["started"]), float(fields["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def process_start(pid: int) -> int:
    """Start time of a process, field 22 of /proc/PID/stat; -1 if it has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return -1
    return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
