"""Who may write: an flock on the shard's lock file, held by the desk and inherited by its workers.

The kernel drops it when the last process that inherited it ends, so no lock ever has to be cleared by hand, and no
second desk starts while a worker of a dead one may still write. The holder's process number and start are in the file,
for messages and for `gossamer stop`; they are never what decides.
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
"""Seconds that the workers of a desk that died get to notice it."""
_LOOK: Final = 0.05


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    started: int
    """Start of the process in clock ticks since boot: a process number that was given again is not taken for it."""
    since: float
    """Wall time."""

    @property
    def alive(self) -> bool:
        return process_start(self.pid) == self.started

    def __str__(self) -> str:
        return f"process {self.pid}, since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(self.since))}"


class Lock:
    """Held from `take` to `release`, or to the end of the last process that inherited `fileno()`."""

    def __init__(self, file: disk.Appender) -> None:
        self._file = file
        self.since = time.monotonic()
        """From here on nobody but this desk asks anything of a site of the collection."""

    def fileno(self) -> int:
        """Inheritable: give it to workers in `pass_fds`."""
        return self._file.fileno()

    def release(self) -> None:
        self._file.close()


def take(shard: Path, orphans: float = ORPHANS) -> Lock:
    """At once, or LockedError; up to `orphans` seconds later if only workers of a dead desk hold it."""
    file = disk.Appender(shard / LOCK)
    until = time.monotonic() + orphans
    while not _locked(file):
        found = holder(shard)
        living = found is not None and found.alive
        if living or time.monotonic() >= until:
            file.close()
            raise _held(shard, found, living)
        time.sleep(_LOOK)
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
    """LockedError if a desk holds it: for those who want to know before `take`, which alone is sure."""
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
        f"They should end by themselves; see `fuser {shard / LOCK}` if they do not.",
    )


def holder(shard: Path) -> Holder | None:
    """Who wrote its name into the lock last; look at `alive` for whether it still runs."""
    try:
        said = json.loads((shard / LOCK).read_bytes())
        return Holder(int(said["pid"]), int(said["started"]), float(said["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def process_start(pid: int) -> int:
    """Field 22 of /proc/PID/stat; -1 for a process that is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return -1
    return -1 if fields[0] in (b"Z", b"X") else int(fields[19])
