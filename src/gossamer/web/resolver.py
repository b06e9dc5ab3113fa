"""Names to addresses, beside the desk's loop: c-ares works in its own thread, the desk collects.

Invariants: every `ask` gets exactly one `Answer`; at most `lookups` names are being looked up at any time, the others
wait in order; no answer carries an address that the settings forbid. All state belongs to the thread that asks and
collects: c-ares' thread only appends to a queue and rings `fileno()`.

`/etc/hosts` is honoured, search domains are not: a host in a URL is a whole name.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pycares

from gossamer.clock import Clock, RealClock
from gossamer.config.endpoints import endpoint
from gossamer.config.settings import HarvesterSettings
from gossamer.errors import UsageError
from gossamer.web.addresses import Forbidden, literal
from gossamer.web.seam import Answer

SHORTEST: Final = 60.0
LONGEST: Final = 24 * 3600.0
"""Bounds of the time for which an address holds, whatever its record says."""
FAILURE: Final = 60.0
"""Seconds for which a failure is remembered."""
TRIES: Final = 2
_CACHED: Final = 200_000
_NO_ADDRESS: Final = {
    pycares.errno.ARES_ENODATA: "no address",
    pycares.errno.ARES_ENOTFOUND: "no such name",
    pycares.errno.ARES_ETIMEOUT: "timed out",
    pycares.errno.ARES_EBADRESP: "malformed answer",
    pycares.errno.ARES_EBADNAME: "malformed name",
}


@dataclass(slots=True)
class _Lookup:
    host: str
    number: int
    deadline: float
    sites: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reply:
    """What c-ares' thread hands over."""

    host: str
    number: int
    family: int
    result: Any
    error: int | None


class Resolver:
    def __init__(self, settings: HarvesterSettings, lookups: int = 64, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or RealClock()
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._patterns = {pattern.lower(): _target(pattern, to) for pattern, to in settings.resolve.items()}
        self._most = lookups
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._replies: deque[_Reply] = deque()
        self._ready: list[Answer] = []
        self._waiting: dict[str, list[int]] = {}
        self._lookups: dict[str, _Lookup] = {}
        self._cache: dict[str, tuple[float, Answer]] = {}
        self._number = 0
        self._channel = pycares.Channel(
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=max(0.05, settings.name_timeout / (2**TRIES - 1)),
            tries=TRIES,
            servers=[_server(text) for text in settings.resolvers] or None,
        )

    @property
    def open(self) -> int:
        """Asked and not answered."""
        lookups = sum(len(lookup.sites) for lookup in self._lookups.values())
        return lookups + sum(map(len, self._waiting.values())) + len(self._ready)

    def fileno(self) -> int:
        """Readable when `answers` may have something."""
        return self._bell

    def ask(self, site: int, host: str) -> None:
        """`host` as in a canonical URL."""
        answer = self._at_once(host)
        if answer is not None:
            self._answer(replace(answer, site=site))
        elif host in self._lookups:
            self._lookups[host].sites.append(site)
        else:
            self._waiting.setdefault(host, []).append(site)
            self._start()

    def answers(self) -> list[Answer]:
        """What is known since the last call; never waits."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        while self._replies:
            reply = self._replies.popleft()
            lookup = self._lookups.get(reply.host)
            if lookup is not None and lookup.number == reply.number:
                self._hear(lookup, reply)
        now = self._clock.monotonic()
        for lookup in [each for each in self._lookups.values() if each.deadline <= now]:
            self._end(lookup, _failed(lookup.host, "timed out"))
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        self._channel.close()
        os.close(self._bell)

    def _at_once(self, host: str) -> Answer | None:
        """By the settings, by its spelling, or from the cache."""
        for pattern in _patterns(host) if self._patterns else ():
            if pattern in self._patterns:
                target, port = self._patterns[pattern]
                return self._checked(host, [target], LONGEST, port) if target else _failed(host, "no such name")
        address = literal(host)
        if address is not None:
            return self._checked(host, [address], LONGEST)
        until, answer = self._cache.get(host, (0.0, None))
        now = self._clock.monotonic()
        return replace(answer, ttl=until - now) if answer is not None and until > now else None

    def _start(self) -> None:
        while self._waiting and len(self._lookups) < self._most:
            host = next(iter(self._waiting))
            self._number += 1
            deadline = self._clock.monotonic() + self._settings.name_timeout
            lookup = _Lookup(host, self._number, deadline, self._waiting.pop(host))
            self._lookups[host] = lookup
            self._query(lookup, socket.AF_INET)

    def _query(self, lookup: _Lookup, family: socket.AddressFamily) -> None:
        host, number = lookup.host, lookup.number

        def reply(result: Any, error: int | None) -> None:
            """In c-ares' thread."""
            self._replies.append(_Reply(host, number, family, result, error))
            os.eventfd_write(self._bell, 1)

        try:
            self._channel.getaddrinfo(host, None, family=family, type=socket.SOCK_STREAM, callback=reply)
        except (pycares.AresError, UnicodeError, ValueError):
            self._end(lookup, _failed(host, "malformed name"))

    def _hear(self, lookup: _Lookup, reply: _Reply) -> None:
        nodes = reply.result.nodes if reply.result is not None else []
        found = [(_text(node.addr[0]), float(node.ttl)) for node in nodes]
        if found:
            ttl = min(max(min(ttl for _, ttl in found), SHORTEST), LONGEST)
            self._end(lookup, self._checked(lookup.host, [address for address, _ in found], ttl))
        elif reply.family == socket.AF_INET and reply.error in (None, pycares.errno.ARES_ENODATA):
            self._query(lookup, socket.AF_INET6)
        else:
            error = pycares.errno.ARES_ENODATA if reply.error is None else reply.error
            self._end(lookup, _failed(lookup.host, _NO_ADDRESS.get(error) or _text(pycares.errno.strerror(error))))

    def _checked(self, host: str, addresses: list[str], ttl: float, port: int = 0) -> Answer:
        """The first address that may be visited."""
        for address in addresses:
            if not self._forbidden(address):
                return Answer(-1, host, address, port, ttl)
        return Answer(-1, host, None, 0, ttl, "forbidden")

    def _end(self, lookup: _Lookup, answer: Answer) -> None:
        del self._lookups[lookup.host]
        now = self._clock.monotonic()
        if len(self._cache) >= _CACHED:
            self._cache = {host: entry for host, entry in self._cache.items() if entry[0] > now}
        self._cache[lookup.host] = (now + answer.ttl, answer)
        for site in lookup.sites:
            self._answer(replace(answer, site=site))
        self._start()

    def _answer(self, answer: Answer) -> None:
        self._ready.append(answer)
        os.eventfd_write(self._bell, 1)


def _failed(host: str, error: str) -> Answer:
    return Answer(-1, host, None, 0, FAILURE, error)


def _text(address: str | bytes) -> str:
    return address.decode() if isinstance(address, bytes) else address


def _patterns(host: str) -> Iterator[str]:
    """All that match it, the closest first: itself, below each suffix (`*.example`), any name (`*`)."""
    yield host
    at = host.find(".")
    while at >= 0:
        yield "*" + host[at:]
        at = host.find(".", at + 1)
    yield "*"


def _target(pattern: str, text: str) -> tuple[str, int]:
    """Address and port (0: none given) of "127.0.0.1:8080", "[::1]:8080", "127.0.0.1", "::1"; "none" has neither."""
    if text == "none":
        return "", 0
    found = endpoint(text)
    if found is None:
        raise UsageError(
            f"harvester.resolve: {pattern!r} leads to {text!r}, which is no address and port",
            "Write it like '*.example' = '127.0.0.1:8080'.",
        )
    return literal(found[0]) or found[0], found[1]


def _server(text: str) -> str:
    """A name server in the form that c-ares reads, whatever its family."""
    found = endpoint(text)
    if found is None:
        raise UsageError(f"harvester.resolvers: {text!r} is no address of a name server", "Write it like 192.0.2.53.")
    address, port = found
    return f"[{address}]:{port or 53}" if ":" in address else f"{address}:{port or 53}"
