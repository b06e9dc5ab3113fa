"""A bell: wakes a loop that sleeps in an epoll, from another thread, another process or a signal handler."""

from __future__ import annotations

import os
from contextlib import suppress


class Bell:
    """A descriptor that is readable from `ring` to `hush`."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        return self._fd

    def ring(self) -> None:
        ring(self._fd)

    def hush(self) -> None:
        """Called when the loop is awake: it may sleep again."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def __del__(self) -> None:
        os.close(self._fd)


def ring(fd: int) -> None:
    """Rings a bell by its descriptor, which a process may have inherited."""
    os.eventfd_write(fd, 1)
