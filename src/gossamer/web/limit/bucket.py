"""The rate limiter: how many bytes all workers together may read, in a page of memory that they share with the desk.

A token bucket. The desk writes the rate. Before a worker reads, it takes a *quantum* of bytes from the bucket, under a
lock of the kernel's that ends with its holder, and reads no more than that (`web/limit/throttle.py`). The bucket is
empty at the start and holds little. So for any period of s seconds

    read <= rate s + burst + workers quantum

and the last two are chosen so that ten seconds stay within 1 %, and one within 5 %. Each worker counts what it has read
in a cell of its own, which its successor continues; the desk adds the cells up.

Invariants, each a test of the same name: what is taken never exceeds the rate by more than the burst; nothing is there
at the start; before the first grant nothing may be read; a grant of 0 is no limit; debts are paid before anything is
read; what workers read is added up, those that died included.

A worker is in debt if it had to read more than it had taken.

Less than a quantum is not taken: a worker that takes what has come since its last attempt gets a few bytes, and has no
time for anything else. Cost: a take is two system calls, 3 µs; some hundred per second.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Final

MOST_WORKERS: Final = 1_024
SHARE: Final = 0.997
"""The part of the grant that is given out."""
BURST: Final = 1 / 40
"""Size of the bucket, in seconds of the rate: a worker may be late by this without losing anything."""
QUANTUM: Final = 1 / 100
TOGETHER: Final = 1 / 50
"""In seconds of the rate: what one worker takes at a time, and what all workers together have taken and not read."""
LEAST: Final = 4.0
"""Bytes of burst and quantum, at least: with n workers the bounds hold from 31 (n + 1) bytes per second on."""
_RATE, _BURST, _QUANTUM, _GRANT, _TOKENS, _WHEN = range(6)
"""Words of eight bytes: bytes given out per second, burst, quantum, grant, tokens in the bucket, and as of when."""
CELLS_AT: Final = 8
_PLACES: Final = CELLS_AT + MOST_WORKERS
SIZE: Final = 8 * _PLACES
UNLIMITED: Final = 1 << 20
"""Bytes that a take gives when there is no limit."""
_NOT_YET: Final = -1
LONGEST: Final = 0.05
"""Seconds after which a worker tries again, at the latest: the grant may be larger by then."""


def window_of(grant: int) -> int:
    """Bytes of a connection's receive buffer (half of what the kernel makes of it).

    It bounds what arrives unread, so that servers send no faster than we read. A connection with a round trip of 10 ms
    can use the whole grant, one of 100 ms a tenth of it.
    """
    return max(2_048, min(1 << 20, grant // 100))


class _Page:
    """The shared page, mapped. Words are read and written whole, each at once: `struct.pack_into` clears its place
    first, and a reader at that moment sees nothing, or half a word."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._memory = mmap.mmap(fd, SIZE)
        self._bytes = memoryview(self._memory)
        self._whole, self._real = self._bytes.cast("q"), self._bytes.cast("d")

    def close(self) -> None:
        for view in (self._whole, self._real, self._bytes):
            view.release()
        self._memory.close()
        os.close(self._fd)


class RateLimiter(_Page):
    """The desk's side: sets the rate, and adds up what was read."""

    def __init__(self, workers: int) -> None:
        fd = os.memfd_create("gossamer-rate-limiter")
        os.ftruncate(fd, SIZE)
        super().__init__(fd)
        self._workers = min(workers, MOST_WORKERS)
        self._whole[_GRANT] = _NOT_YET
        self._granted: int | None = None
        self._last = 0

    def fileno(self) -> int:
        return self._fd

    def grant(self, speed: int) -> None:
        """Sets the rate: bytes per second from now on; 0: no limit."""
        if speed == self._granted:
            return
        quantum = max(LEAST, speed * min(QUANTUM, TOGETHER / self._workers))
        burst = max(LEAST, speed * BURST)
        real = self._real
        with locked(self._fd):
            if not self._granted:
                real[_TOKENS] = real[_WHEN] = 0.0
            real[_TOKENS] = min(real[_TOKENS], burst)
            real[_RATE], real[_BURST], real[_QUANTUM] = SHARE * speed, burst, quantum
            self._whole[_GRANT] = speed
        self._granted = speed

    def read(self) -> int:
        """Bytes that all workers have read so far."""
        if not self._memory.closed:
            self._last = sum(self._whole[CELLS_AT : CELLS_AT + self._workers])
        return self._last

    def close(self) -> None:
        if not self._memory.closed:
            self.read()
            super().close()


class Share(_Page):
    """A worker's side. `balance` is what it has taken and not read yet; below 0, its debt."""

    def __init__(self, fd: int, number: int) -> None:
        super().__init__(fd)
        self._cell = CELLS_AT + number % MOST_WORKERS
        self.read = self._whole[self._cell]
        """Bytes read so far, including those of earlier workers with this number."""
        self.balance = 0.0

    @property
    def granted(self) -> int:
        """Bytes per second; 0: no limit."""
        return max(0, self._whole[_GRANT])

    def take(self, now: float) -> float:
        """Pays the debt, and takes a quantum if there is one. Returns for how many seconds nothing may be read; 0 if
        something may be read."""
        real, speed = self._real, self._whole[_GRANT]
        if speed <= 0:
            self.balance = UNLIMITED if not speed else 0.0
            return 0.0 if not speed else LONGEST
        if self.balance >= 1:
            self.balance = min(self.balance, real[_QUANTUM])  # there may have been no limit before
            return 0.0
        with locked(self._fd):
            if self._whole[_GRANT] <= 0:
                return LONGEST  # the grant has changed meanwhile
            rate, quantum, tokens, at = real[_RATE], real[_QUANTUM], real[_TOKENS], real[_WHEN]
            tokens = min(real[_BURST], tokens + rate * max(0.0, now - at)) if at else 0.0
            tokens += self.balance
            self.balance = quantum if tokens >= quantum else 0.0
            tokens -= self.balance
            real[_TOKENS], real[_WHEN] = tokens, max(now, at)
        return 0.0 if self.balance else min(LONGEST, max(0.001, (quantum - tokens) / rate))

    def spend(self, count: int) -> None:
        """Accounts for `count` bytes that were read."""
        self.balance -= count
        self.read += count
        self._whole[self._cell] = self.read


class locked:
    """A lock against other processes; the kernel releases it when its holder dies."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
