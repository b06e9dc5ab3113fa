"""The line: how many bytes all workers together may read, a page of memory that they share with the desk.

A token bucket. The desk writes the rate, workers take what they are about to read, a *quantum* at a time, under a lock
of the kernel's that ends with its holder, and read no more than that (`web/limit/throttle.py`). The bucket is empty at
the start and holds little. So for any stretch of s seconds

    read <= rate s + burst + workers quantum

and the last two are chosen so that ten seconds stay within 1 %, and one within 5 %. Each worker counts what it has read
in a cell of its own, which a successor goes on with: the desk adds them up.

Invariants, each a property test of the same name: what is taken never exceeds the rate by more than the burst; nothing
is there at the start, and before the first grant nothing may be read; a grant of 0 is no limit; debts are paid before
anything is read (who had to read more than it had taken, pays at once); what workers read is added up, those that died
included.

Less than a quantum is not taken: who takes what has come since it looked last gets a few bytes, and has no time for
anything but that. Cost: a take is two system calls, 3 µs; some hundred a second.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Final

MOST_WORKERS: Final = 1_024
SHARE: Final = 0.997
"""Of what is granted: what is given out."""
BURST: Final = 1 / 40
"""Seconds' worth of it that the bucket holds: so late may a worker come without anything being lost."""
QUANTUM: Final = 1 / 100
TOGETHER: Final = 1 / 50
"""Seconds' worth that a worker takes at a time, and that all of them have taken and not read, at most."""
LEAST: Final = 4.0
"""Bytes of burst and quantum, at least: with n workers the bounds hold from 31 (n + 1) bytes a second on."""
_RATE, _BURST, _QUANTUM, _GRANT, _TOKENS, _WHEN = range(6)
"""Places of eight bytes: what is given out a second, how much of it at once, a quantum, the grant, the bucket."""
CELLS_AT: Final = 8
_PLACES: Final = CELLS_AT + MOST_WORKERS
SIZE: Final = 8 * _PLACES
UNLIMITED: Final = 1 << 20
"""Bytes that a take gives where there is no limit."""
_NOT_YET: Final = -1
LONGEST: Final = 0.05
"""Seconds after which a worker looks again, at the latest: what is granted may be more by then."""


def window_of(grant: int) -> int:
    """Bytes of a connection's receive buffer (half of what the kernel makes of it): what arrives unread is bounded, so
    that servers send no faster than we read. A connection across 10 ms can fill the line, across 100 ms a tenth of it.
    """
    return max(2_048, min(1 << 20, grant // 100))


class _Page:
    """Whole words are read and written, each at once: `struct.pack_into` clears its place first, and whoever reads at
    that moment sees nothing, or half of it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._memory = mmap.mmap(fd, SIZE)
        self._bytes = memoryview(self._memory)
        self._whole, self._real = self._bytes.cast("q"), self._bytes.cast("d")

    def close(self) -> None:
        for each in (self._whole, self._real, self._bytes):
            each.release()
        self._memory.close()
        os.close(self._fd)


class Line(_Page):
    """The desk's side."""

    def __init__(self, workers: int) -> None:
        fd = os.memfd_create("gossamer-line")
        os.ftruncate(fd, SIZE)
        super().__init__(fd)
        self._workers = min(workers, MOST_WORKERS)
        self._whole[_GRANT] = _NOT_YET
        self._granted: int | None = None
        self._last = 0

    def fileno(self) -> int:
        return self._fd

    def grant(self, speed: int) -> None:
        """Bytes a second from now on; 0: no limit."""
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
    """A worker's side: what it has taken and not read yet is its `balance`, below 0 what it owes."""

    def __init__(self, fd: int, number: int) -> None:
        super().__init__(fd)
        self._cell = CELLS_AT + number % MOST_WORKERS
        self.read = self._whole[self._cell]
        """Bytes, those of the workers of this number before it included."""
        self.balance = 0.0

    @property
    def granted(self) -> int:
        """Bytes a second; 0: no limit."""
        return max(0, self._whole[_GRANT])

    def take(self, now: float) -> float:
        """Pays what is owed, and takes a quantum if it is there; returns for how many seconds nothing may be read: 0 if
        something may."""
        real, speed = self._real, self._whole[_GRANT]
        if speed <= 0:
            self.balance = UNLIMITED if not speed else 0.0
            return 0.0 if not speed else LONGEST
        if self.balance >= 1:
            self.balance = min(self.balance, real[_QUANTUM])  # there may have been no limit before
            return 0.0
        with locked(self._fd):
            if self._whole[_GRANT] <= 0:
                return LONGEST  # it has changed meanwhile
            rate, quantum, tokens, at = real[_RATE], real[_QUANTUM], real[_TOKENS], real[_WHEN]
            tokens = min(real[_BURST], tokens + rate * max(0.0, now - at)) if at else 0.0
            tokens += self.balance
            self.balance = quantum if tokens >= quantum else 0.0
            tokens -= self.balance
            real[_TOKENS], real[_WHEN] = tokens, max(now, at)
        return 0.0 if self.balance else min(LONGEST, max(0.001, (quantum - tokens) / rate))

    def spend(self, count: int) -> None:
        """So many bytes were read."""
        self.balance -= count
        self.read += count
        self._whole[self._cell] = self.read


class locked:
    """Against other processes; the kernel lets go of it when its holder dies."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
