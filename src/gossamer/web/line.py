"""The line: how many bytes all workers together may read, a page of memory that they share with the desk.

A token bucket. The desk writes the rate, workers take what they are about to read, a *quantum* at a time, under a lock
of the kernel's that ends with its holder. The bucket is empty at the start and holds little (`Line.grant`). A worker
that read more than it had taken pays at once: then the bucket is below zero, and nobody reads until it is above. So for
any stretch of s seconds

    read <= rate s + burst + workers (quantum + what one action of libcurl reads beyond what was taken)

and the last three are chosen so that ten seconds stay within 1 %. Each worker counts what it has read in a cell of its
own, which a successor goes on with: the desk adds them up.

Invariants, each a property test of the same name: what is taken never exceeds the rate by more than the burst; nothing
is there at the start, and before the first grant nothing may be read; a grant of 0 is no limit; debts are paid before
anything is read; what workers read is added up, those that died included.

Cost: a take is two system calls, 3 µs; some 200 a second and worker.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from typing import Final

MOST_WORKERS: Final = 1_024
SHARE: Final = 0.997
"""Of what is granted: what is given out, so that the bounds hold with all that is counted late."""
SLACK: Final = 0.1
"""Seconds' worth of the grant that may be read too much in any ten seconds: 1 %."""
_HEAD: Final = struct.Struct("<dddqdd")  # given out a second, burst, quantum, grant, tokens, when
_BUCKET: Final = struct.Struct("<dd")
_BUCKET_AT: Final = 32
_CELL: Final = struct.Struct("<Q")
_CELLS_AT: Final = 64
_SIZE: Final = _CELLS_AT + 8 * MOST_WORKERS
UNLIMITED: Final = 1 << 20
"""Bytes that a take gives where there is no limit."""
_NOT_YET: Final = -1
LONGEST: Final = 0.05
"""Seconds after which a worker looks again, at the latest: what is granted may be more by then."""
LEAST_BUFFER: Final = 1_024
MOST_BUFFER: Final = 1 << 17


def buffer_of(grant: int) -> int:
    """Bytes that libcurl reads at a time: it reads one or two of them beyond what was taken."""
    return max(LEAST_BUFFER, min(MOST_BUFFER, grant // 250))


def window_of(grant: int) -> int:
    """Bytes of a connection's receive buffer (half of what the kernel makes of it): what arrives unread is bounded, so
    that servers send no faster than we read, and a connection across 50 ms can still fill the line."""
    return max(2_048, min(1 << 20, grant // 20))


class Line:
    """The desk's side."""

    def __init__(self, workers: int) -> None:
        self._workers = min(workers, MOST_WORKERS)
        self._fd = os.memfd_create("gossamer-line")
        os.ftruncate(self._fd, _SIZE)
        self._memory = mmap.mmap(self._fd, _SIZE)
        _HEAD.pack_into(self._memory, 0, 0.0, 0.0, 0.0, _NOT_YET, 0.0, 0.0)
        self._granted: int | None = None
        self._last = 0

    def fileno(self) -> int:
        return self._fd

    def grant(self, speed: int) -> None:
        """Bytes a second from now on; 0: no limit."""
        if speed == self._granted:
            return
        quantum = max(256.0, speed / 250)
        spared = (SLACK + 10 * (1 - SHARE)) * speed - self._workers * (quantum + buffer_of(speed))
        burst = min(max(spared, speed / 200), speed / 40)
        with locked(self._fd):
            tokens, at = _BUCKET.unpack_from(self._memory, _BUCKET_AT)
            if not self._granted:
                tokens, at = 0.0, 0.0
            _HEAD.pack_into(self._memory, 0, SHARE * speed, burst, quantum, speed, min(tokens, burst), at)
        self._granted = speed

    def read(self) -> int:
        """Bytes that all workers have read so far."""
        if not self._memory.closed:
            self._last = sum(struct.unpack_from(f"<{self._workers}Q", self._memory, _CELLS_AT))
        return self._last

    def close(self) -> None:
        self.read()
        self._memory.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Share:
    """A worker's side: what it has taken and not read yet is its `balance`, below 0 what it owes."""

    def __init__(self, fd: int, number: int) -> None:
        self._fd = fd
        self._memory = mmap.mmap(fd, _SIZE)
        self._cell = _CELLS_AT + 8 * (number % MOST_WORKERS)
        self._read: int = _CELL.unpack_from(self._memory, self._cell)[0]
        self.balance = 0.0

    @property
    def granted(self) -> int:
        """Bytes a second; 0: no limit."""
        speed: int = _HEAD.unpack_from(self._memory)[3]
        return max(0, speed)

    def take(self, now: float) -> float:
        """Pays what is owed and takes a quantum, as far as it is there; returns for how many seconds nothing may be
        read: 0 if something may."""
        rate, burst, quantum, speed, *_ = _HEAD.unpack_from(self._memory)
        if speed <= 0:
            self.balance = UNLIMITED if not speed else 0.0
            return 0.0 if not speed else LONGEST
        if self.balance > 0:
            self.balance = min(self.balance, max(quantum, 1.0))  # there may have been no limit before
            return 0.0
        with locked(self._fd):
            tokens, at = _BUCKET.unpack_from(self._memory, _BUCKET_AT)
            tokens = min(burst, tokens + rate * max(0.0, now - at)) if at else 0.0
            tokens += self.balance
            self.balance = max(0.0, min(tokens, quantum))
            tokens -= self.balance
            _BUCKET.pack_into(self._memory, _BUCKET_AT, tokens, max(now, at))
        return 0.0 if self.balance > 0 else min(LONGEST, max(0.001, (quantum / 4 - tokens) / rate))

    def spend(self, count: int) -> None:
        """So many bytes were read."""
        self.balance -= count
        self._read += count
        _CELL.pack_into(self._memory, self._cell, self._read)


class locked:
    """Against other processes; the kernel lets go of it when its holder dies."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
