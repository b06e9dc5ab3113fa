"""A bell: wakes a loop that sleeps in an epoll, from another thread, another process or a signal handler."""

from __future__ import annotations

import os
import threading
from contextlib import suppress


class Bell:
    """A descriptor that is readable from `ring` to `hush`."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.RLock()  # a signal handler may ring while its own thread has it

    def fileno(self) -> int:
        return self._fd

    def ring(self) -> None:
        """Does nothing once the bell is closed: a thread may end later than the loop."""
        with self._lock:
            if self._fd >= 0:
                ring(self._fd)

    def hush(self) -> None:
        """Called when the loop is awake: it may sleep again."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


def ring(fd: int) -> None:
    """Rings a bell by its descriptor, which a process may have inherited."""
    os.eventfd_write(fd, 1)
