"""libcurl's multi handle, driven by `socket_action` and an epoll.

Refused: `perform()`, which pays for every idle handle.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Iterable
from typing import Any

import pycurl

from gossamer.web.fetch.transfer import Limit


class Driver:
    """Tells libcurl what the epoll reports, and the epoll what libcurl waits for. The epoll is the worker's."""

    def __init__(self, epoll: select.epoll, connections: int) -> None:
        """`connections`: how many libcurl keeps open at most (but at least 8)."""
        self.epoll = epoll
        self.masks: dict[int, int] = {}
        """Descriptors that the epoll most likely has, and their event masks."""
        self.timer: float | None = None
        """When libcurl wants to act even if nothing happens; None: never."""
        self.limit: Limit | None = None
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self.multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self.multi.setopt(pycurl.M_MAXCONNECTS, max(8, connections))
        self.multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_NOTHING)

    def act(self, events: Iterable[tuple[int, int]]) -> float:
        """Lets libcurl work on what the epoll reported, and on what its timer is due for; returns the time."""
        action = self.multi.socket_action
        for fd, event in events:
            bits = 0
            if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                bits |= pycurl.CSELECT_IN
            if event & select.EPOLLOUT:
                bits |= pycurl.CSELECT_OUT
            if event & select.EPOLLERR:
                bits |= pycurl.CSELECT_ERR
            action(fd, bits)
        now = time.monotonic()
        if self.timer is not None and self.timer <= now:
            self.timer = None
            action(pycurl.SOCKET_TIMEOUT, 0)
        return now

    def readable(self, fd: int) -> None:
        """Lets libcurl read from `fd`."""
        self.multi.socket_action(fd, pycurl.CSELECT_IN)

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        """Called by libcurl: it begins to wait for `fd`, waits for something else, or no longer waits."""
        if what == pycurl.POLL_REMOVE:
            self.masks.pop(fd, None)
            with contextlib.suppress(OSError):
                self.epoll.unregister(fd)
        else:
            mask = select.EPOLLIN if what == pycurl.POLL_IN else select.EPOLLOUT
            if what == pycurl.POLL_INOUT:
                mask = select.EPOLLIN | select.EPOLLOUT
            self._register(fd, mask)
        if self.limit is not None:
            self.limit.watched(fd, what == pycurl.POLL_REMOVE)

    def _register(self, fd: int, mask: int) -> None:
        """libcurl may close and open a descriptor without a word: the epoll then has it no longer, or another one."""
        known = fd in self.masks
        self.masks[fd] = mask
        try:
            (self.epoll.modify if known else self.epoll.register)(fd, mask)
        except FileNotFoundError:
            self.epoll.register(fd, mask)
        except FileExistsError:
            self.epoll.modify(fd, mask)

    def _set_timer(self, milliseconds: int) -> None:
        self.timer = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000
