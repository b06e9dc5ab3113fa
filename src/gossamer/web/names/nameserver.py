"""One name server, queried through c-ares, which works in a thread of its own.

Invariants, each a test of the same name: at most so many lookups are under way at each server, and all share the work;
a server that fails time after time is asked little until it works again.
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

from gossamer.web.names import lenient

TRIES: Final = 2
FAILURES: Final = 5
"""Failures in a row after which the server rests."""
REST: Final = 1.0
LONGEST_REST: Final = 60.0
"""Seconds of rest: the first time, and at most; the time doubles."""
_NO_SORT: Final = 1 << 7
"""ARES_AI_NOSORT: sorting would open a socket for each address."""
ARES: Final = pycares.errno


class EventFd:
    """An eventfd that c-ares' threads write to, and the desk polls. They may still write when it is closed."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()

    def notify(self) -> None:
        with self._lock:
            if self.fd >= 0:
                os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.fd)

    def close(self) -> None:
        with self._lock:
            os.close(self.fd)
            self.fd = -1


@dataclass(slots=True)
class Channel:
    """A channel of c-ares, and how many lookups are under way in it."""

    ares: pycares.Channel
    open: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a lookup, as c-ares' thread hands it over."""

    number: int
    server: NameServer
    channel: Channel
    result: Any
    error: int | None


@dataclass(slots=True)
class NameServer:
    """A name server, the lookups under way at it, and how it fares."""

    address: str
    most: int
    """Lookups under way at a time."""
    timeout: float
    """Seconds after which a lookup counts as unanswered."""
    replies: deque[Reply]
    """Where its replies go."""
    eventfd: EventFd
    """Notified of every reply."""
    asked: int = 0
    """Lookups so far."""
    open: int = 0
    """Lookups under way. Those that the resolver has given up count until c-ares has given them up, too."""
    _failures: int = 0
    _rests_until: float = 0.0
    _channels: list[Channel] = field(default_factory=list)
    """The last is used; the ones before it end with their last lookup."""

    def __post_init__(self) -> None:
        self.forget()

    @property
    def resting(self) -> bool:
        return self._failures >= FAILURES

    def room(self, now: float) -> bool:
        """Whether one more lookup may begin."""
        if self.resting:
            return self.open == 0 and now >= self._rests_until
        return self.open < self.most

    def query(self, number: int, host: str, family: socket.AddressFamily, alone: bool = False) -> None:
        """Begins a lookup; its `Reply` comes later. ValueError: `host` is no name. `alone`: in a channel of its own."""
        channel = self._channel() if alone else self._channels[-1]
        if alone:
            self._channels.insert(0, channel)

        def reply(result: Any, error: int | None) -> None:
            """Called in c-ares' thread."""
            self.replies.append(Reply(number, self, channel, result, error))
            self.eventfd.notify()

        try:
            channel.ares.getaddrinfo(host, None, family=family, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=reply)
        except (pycares.AresError, UnicodeError, ValueError) as error:
            self._close_ended()
            raise ValueError(f"no name: {host!r}") from error
        self.asked += 1
        self.open += 1
        channel.open += 1

    def query_leniently(self, number: int, host: str, family: socket.AddressFamily) -> None:
        """The same for a name whose answer c-ares finds malformed: what can be read of it is used."""
        channel = self._channels[-1]

        def reply(found: lenient.Nodes) -> None:
            error = None if found.nodes else ARES.ARES_EBADRESP
            self.replies.append(Reply(number, self, channel, found, error))
            self.eventfd.notify()

        def work() -> None:
            reply(lenient.ask(self.address, host, family, self.timeout))

        self.asked += 1
        self.open += 1
        channel.open += 1
        try:
            threading.Thread(target=work, name="lenient lookup", daemon=True).start()
        except RuntimeError:  # no more threads
            reply(lenient.Nodes([]))

    def ended(self, reply: Reply) -> None:
        """Must be called once for each reply."""
        self.open -= 1
        reply.channel.open -= 1
        self._close_ended()

    def fared(self, well: bool, now: float) -> None:
        """Notes whether the server answered (`well`), whatever the answer was."""
        if well:
            self._failures = 0
            return
        self._failures += 1
        if self.resting:
            doubled = min(20, self._failures - FAILURES)
            self._rests_until = now + min(LONGEST_REST, REST * 2.0**doubled)

    def forget(self) -> None:
        """Drops the answers that c-ares keeps: only a new channel has none."""
        self._channels.append(self._channel())
        self._close_ended()

    def _channel(self) -> Channel:
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_NO_DFLT_SVR
        timeout = max(0.05, self.timeout / (2**TRIES - 1))
        return Channel(pycares.Channel(flags=flags, timeout=timeout, tries=TRIES, servers=[self.address]))

    def _close_ended(self) -> None:
        if len(self._channels) == 1:
            return
        for channel in [channel for channel in self._channels[:-1] if not channel.open]:
            self._channels.remove(channel)
            channel.ares.close()

    def close(self) -> None:
        for channel in self._channels:
            channel.ares.close()


def system_servers() -> list[str]:
    """The name servers of the system, in the form that c-ares reads."""
    channel = pycares.Channel()
    try:
        return list(channel.servers)
    finally:
        channel.close()
