"""One name server, asked through c-ares, which works in a thread of its own.

Invariants: at most `most` lookups are under way at any time; a server that fails time after time is left in peace but
for one lookup now and then.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

import pycares

TRIES: Final = 2
FAILURES: Final = 5
"""So many in a row, and the server rests."""
REST: Final = 1.0
LONGEST_REST: Final = 60.0
"""Seconds of rest: the first time, and at most; twice as long each time."""
_NO_SORT: Final = 1 << 7
"""ARES_AI_NOSORT: sorting would open a socket for each address."""
ARES: Final = pycares.errno


class Bell:
    """What c-ares' threads ring, and the desk waits for. They may still ring when it is closed."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()

    def ring(self) -> None:
        with self._lock:
            if self.fd >= 0:
                os.eventfd_write(self.fd, 1)

    def quiet(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.fd)

    def close(self) -> None:
        with self._lock:
            os.close(self.fd)
            self.fd = -1


@dataclass(slots=True)
class Line:
    """A channel of c-ares, and how many lookups are under way in it."""

    channel: pycares.Channel
    open: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What c-ares' thread hands over."""

    number: int
    server: NameServer
    line: Line
    result: Any
    error: int | None


@dataclass(slots=True)
class NameServer:
    address: str
    most: int
    timeout: float
    """Seconds until it counts as one that does not answer."""
    replies: deque[Reply]
    bell: Bell
    asked: int = 0
    """Lookups so far."""
    open: int = 0
    """Lookups under way: those for which nobody waits any more count until c-ares has given them up."""
    _failures: int = 0
    _rests_until: float = 0.0
    _lines: list[Line] = field(default_factory=list)
    """The last is used; those before it come to their end."""

    def __post_init__(self) -> None:
        self.forget()

    @property
    def resting(self) -> bool:
        return self._failures >= FAILURES

    def room(self, now: float) -> bool:
        """May it be asked for one name more?"""
        if self.resting:
            return self.open == 0 and now >= self._rests_until
        return self.open < self.most

    def query(self, number: int, host: str, family: socket.AddressFamily, alone: bool = False) -> None:
        """Its `Reply` comes later. ValueError if that is no name. `alone`: in a channel of its own."""
        line = self._line() if alone else self._lines[-1]
        if alone:
            self._lines.insert(0, line)

        def reply(result: Any, error: int | None) -> None:
            """In c-ares' thread."""
            self.replies.append(Reply(number, self, line, result, error))
            self.bell.ring()

        try:
            line.channel.getaddrinfo(host, None, family=family, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=reply)
        except (pycares.AresError, UnicodeError, ValueError) as error:
            self._close_ended()
            raise ValueError(f"no name: {host!r}") from error
        self.asked += 1
        self.open += 1
        line.open += 1

    def ended(self, reply: Reply) -> None:
        """To be told of each reply, once."""
        self.open -= 1
        reply.line.open -= 1
        self._close_ended()

    def fared(self, well: bool, now: float) -> None:
        """Did it answer, whatever it said?"""
        if well:
            self._failures = 0
            return
        self._failures += 1
        if self.resting:
            doubled = min(20, self._failures - FAILURES)
            self._rests_until = now + min(LONGEST_REST, REST * 2.0**doubled)

    def forget(self) -> None:
        """c-ares keeps answers for itself, and only a new channel has none."""
        self._lines.append(self._line())
        self._close_ended()

    def _line(self) -> Line:
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_NO_DFLT_SVR
        timeout = max(0.05, self.timeout / (2**TRIES - 1))
        return Line(pycares.Channel(flags=flags, timeout=timeout, tries=TRIES, servers=[self.address]))

    def _close_ended(self) -> None:
        if len(self._lines) == 1:
            return
        for line in [line for line in self._lines[:-1] if not line.open]:
            self._lines.remove(line)
            line.channel.close()

    def close(self) -> None:
        for line in self._lines:
            line.channel.close()


def system_servers() -> list[str]:
    """Those that the system asks, in the form that c-ares reads."""
    channel = pycares.Channel()
    try:
        return list(channel.servers)
    finally:
        channel.close()
