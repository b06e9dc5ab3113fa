"""Requests by libcurl: one multi handle driven by `socket_action` and the worker's epoll.

Invariants, each a test of the same name: a socket opens only to the pinned address of its assignment, and to no
forbidden one; a request is sent once; redirects are not followed; of a body no more than its limit is kept, and nothing
of a type that is not gathered; every assignment ends in exactly one `Fetched`.

A request is sent once: when a connection kept open turns out to be dead, libcurl would repeat the request on a new one
at once, and the server may have seen both. Such a page goes back instead (RETURNED) and waits for its site's next turn.

Handles are reused (their options are set once), connections live in libcurl's own pool: with `CONNECT_TO` one of them
serves only its name, port and address, so that a changed address forces a new one. `perform()` is refused: it pays for
every idle handle. libcurl's low-speed limit is refused, too: it also runs before the first byte, where our limit is
another.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pycurl

from gossamer import __version__
from gossamer.config.settings import HarvesterSettings
from gossamer.model import Ask, Assignment, Outcome
from gossamer.web.addresses import Forbidden, pack
from gossamer.web.answer import ERRORS, GATHERED, Fields, Head, mime, read_head
from gossamer.web.trusted import Trusted

ACCEPT: Final = "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"
ENCODINGS: Final = "gzip, deflate, br, zstd"
MAX_HEAD: Final = 256 * 1024
MAX_ROBOTS: Final = 512_001
"""RFC 9309, 2.5: at least 500 kibibytes. One byte more than is read as rules: so that a line that was cut is known."""
KEEP: Final = 60
"""Seconds that an idle connection may be used again."""
SWEEP: Final = 0.25
"""Seconds between looks at the limits that libcurl does not keep."""
_BUFFER: Final = 512 * 1024
_REPEATED: Final = "the server had closed the connection that was kept open"


@dataclass(slots=True)
class Fetched:
    """What became of a request."""

    assignment: Assignment
    failure: Outcome | None
    """None: an answer came, and as much of its body as we wanted."""
    detail: str
    start: float
    end: float
    connect: float = 0.0
    first: float = 0.0
    received: int = 0
    sent: int = 0
    reused: bool = False
    cut: bool = False
    status: int = 0
    line: bytes = b""
    fields: Fields = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    request: bytes = b""


def request_fields(settings: HarvesterSettings) -> list[str]:
    """The header fields of every request: who we are, whom to write to, what we can read."""
    contact = " ".join(settings.contact.split())
    fields = [f"User-Agent: {settings.agent}/{__version__}" + (f" (+{contact})" if contact else "")]
    if "@" in contact and "/" not in contact:
        fields.append(f"From: {contact}")
    return [*fields, f"Accept: {ACCEPT}", f"Accept-Encoding: {ENCODINGS}"]


def request_head(url: bytes, fields: bytes) -> bytes:
    """The bytes that libcurl sends for a canonical URL."""
    authority, _, path = url.partition(b"://")[2].partition(b"/")
    return b"GET /" + path + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + fields


class _Transfer:
    """A curl handle and the request that it is making."""

    __slots__ = (
        "asked", "assignment", "chunks", "curl", "cut", "forbidden", "head", "limit", "lines", "mark", "mark_time",
        "pinned", "refused", "repeated", "size", "start", "unwanted",
    )  # fmt: skip

    def __init__(self, settings: HarvesterSettings, fields: list[str], forbidden: Forbidden, trusted: str) -> None:
        self.lines: list[bytes] = []
        self.forbidden = forbidden
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.NOPROXY, "*")
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.HTTPHEADER, fields)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(settings.connect_timeout * 1000)))
        curl.setopt(pycurl.TIMEOUT_MS, max(1, int(settings.whole_timeout * 1000)))
        curl.setopt(pycurl.BUFFERSIZE, _BUFFER)
        curl.setopt(pycurl.MAXAGE_CONN, KEEP)
        curl.setopt(pycurl.WRITEFUNCTION, self._body)
        curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        curl.setopt(pycurl.PREREQFUNCTION, self._about_to_ask)
        if trusted:
            curl.setopt(pycurl.CAINFO, trusted)

    def prepare(self, assignment: Assignment, limit: int, now: float) -> None:
        self.assignment = assignment
        self.limit = limit
        self.pinned = pack(assignment.address)
        self.lines.clear()
        self.chunks: list[bytes] = []
        self.size = 0
        self.start = now
        self.mark, self.mark_time = 0, 0.0
        self.asked = self.cut = self.refused = self.repeated = self.unwanted = False
        self.head: Head | None = None
        host = f"[{assignment.address}]" if ":" in assignment.address else assignment.address
        self.curl.setopt(pycurl.URL, assignment.url)
        self.curl.setopt(pycurl.CONNECT_TO, [f"::{host}:{assignment.port}"])

    def _open(self, purpose: int, address: Any) -> socket.socket | int:
        """The last word on where a request goes: asked by libcurl whenever it is about to connect."""
        if self.asked:
            self.repeated = True
            return int(pycurl.SOCKET_BAD)
        family, kind, protocol, where = address
        packed = pack(where[0])
        if packed != self.pinned or where[1] != self.assignment.port or self.forbidden(packed):
            self.refused = True
            return int(pycurl.SOCKET_BAD)
        return socket.socket(family, kind, protocol)

    def _about_to_ask(self, *_: object) -> int:
        """Connected, on a new connection or an old one: libcurl is about to send the request."""
        if self.asked:
            self.repeated = True
            return int(pycurl.PREREQFUNC_ABORT)
        self.asked = True
        return int(pycurl.PREREQFUNC_OK)

    def _body(self, data: bytes) -> int | None:
        """None goes on, 0 breaks the transfer off."""
        before = self.size
        self.size += len(data)
        if not before and self._is_unwanted():
            self.unwanted = True
            return 0
        if self.size > self.limit:
            self.chunks.append(data[: self.limit - before])
            self.cut = True
            return 0
        self.chunks.append(data)
        return None

    def _is_unwanted(self) -> bool:
        """By the head: it is complete when the body begins. (`getinfo` may not be asked in here.)"""
        self.head = line, _, headers = read_head(self.lines)
        return self.assignment.ask == Ask.PAGE and line[8:10] == b" 2" and mime(headers) not in GATHERED


class Fetcher:
    """All requests of a worker. `epoll` is the worker's: it passes on events of descriptors that are not its own."""

    def __init__(self, settings: HarvesterSettings, epoll: select.epoll) -> None:
        self._settings = settings
        self._epoll = epoll
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._trusted = Trusted(settings.trusted)
        fields = request_fields(settings)
        self._fields = fields
        self._request = ("\r\n".join(fields) + "\r\n\r\n").encode("latin-1", "replace")
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(8, settings.connections))
        self._idle: list[_Transfer] = []
        self._open: dict[pycurl.Curl, _Transfer] = {}
        self._timer: float | None = None
        self._swept = 0.0
        self._done: list[Fetched] = []

    def __len__(self) -> int:
        return len(self._open)

    def start(self, assignment: Assignment) -> None:
        if self._forbidden(assignment.address):
            now = time.monotonic()
            detail = f"{assignment.address} may not be visited"
            refusal = Fetched(assignment, Outcome.FORBIDDEN_ADDRESS, detail, now, now)
            self._done.append(refusal)
            return
        transfer = self._idle.pop() if self._idle else self._transfer()
        limit = MAX_ROBOTS if assignment.ask == Ask.ROBOTS else self._settings.max_download
        transfer.prepare(assignment, limit, time.monotonic())
        self._open[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def _transfer(self) -> _Transfer:
        return _Transfer(self._settings, self._fields, self._forbidden, self._trusted.path)

    def timeout(self) -> float:
        """Seconds until `act` must be called, whatever happens on the sockets; -1: never."""
        if self._done:
            return 0.0
        if not self._open:
            return -1.0
        now = time.monotonic()
        wait = self._swept + SWEEP - now
        if self._timer is not None:
            wait = min(wait, self._timer - now)
        return max(0.0, wait)

    def act(self, events: Iterable[tuple[int, int]]) -> list[Fetched]:
        """Let libcurl work on what `epoll` reported; what has ended since the last call."""
        action = self._multi.socket_action
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
        if self._timer is not None and self._timer <= now:
            self._timer = None
            action(pycurl.SOCKET_TIMEOUT, 0)
        if now - self._swept >= SWEEP:
            self._sweep(now)
        self._collect()
        done, self._done = self._done, []
        return done

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        if what == pycurl.POLL_REMOVE:
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)
            return
        mask = select.EPOLLIN if what == pycurl.POLL_IN else select.EPOLLOUT
        if what == pycurl.POLL_INOUT:
            mask = select.EPOLLIN | select.EPOLLOUT
        try:
            self._epoll.modify(fd, mask)
        except FileNotFoundError:
            self._epoll.register(fd, mask)

    def _set_timer(self, milliseconds: int) -> None:
        self._timer = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _collect(self) -> None:
        queued = 1
        while queued:
            queued, ended, failed = self._multi.info_read()
            for curl in ended:
                self._end(self._open[curl], None, "")
            for curl, code, text in failed:
                transfer = self._open[curl]
                self._end(transfer, _failure(transfer, code), _REPEATED if transfer.repeated else text)

    def _sweep(self, now: float) -> None:
        """The time to the first byte, and the lowest speed after it."""
        self._swept = now
        for transfer in list(self._open.values()):
            if not transfer.lines:
                since = now - transfer.start - self._settings.first_byte_timeout
                if since > 0 and 0 < transfer.curl.getinfo(pycurl.PRETRANSFER_TIME) < since:
                    self._end(transfer, Outcome.TIMED_OUT, "no first byte in time")
            elif not transfer.mark_time:
                transfer.mark, transfer.mark_time = transfer.size, now
            elif now - transfer.mark_time >= self._settings.slow_time:
                if transfer.size - transfer.mark < self._settings.lowest_speed * (now - transfer.mark_time):
                    self._end(transfer, Outcome.TOO_SLOW, "slower than the lowest speed")
                else:
                    transfer.mark, transfer.mark_time = transfer.size, now

    def _end(self, transfer: _Transfer, failure: Outcome | None, detail: str) -> None:
        now = time.monotonic()
        curl = transfer.curl
        get = curl.getinfo
        size = sum(map(len, transfer.lines))
        line, fields, headers = transfer.head or read_head(transfer.lines)
        if size > MAX_HEAD:
            failure, detail = Outcome.PROTOCOL_ERROR, "head too long"
        elif failure is None and not transfer.size and not (transfer.lines and transfer.lines[-1].isspace()):
            failure, detail = Outcome.BROKEN_OFF, "ended within the head"
        self._done.append(
            Fetched(
                transfer.assignment, failure, detail, transfer.start, now,
                connect=get(pycurl.APPCONNECT_TIME) or get(pycurl.CONNECT_TIME),
                first=get(pycurl.STARTTRANSFER_TIME),
                received=size + transfer.size,
                sent=get(pycurl.REQUEST_SIZE),
                reused=get(pycurl.NUM_CONNECTS) == 0 and get(pycurl.REQUEST_SIZE) > 0,
                cut=transfer.cut,
                status=get(pycurl.RESPONSE_CODE),
                line=line,
                fields=fields,
                headers=headers,
                body=b"".join(transfer.chunks),
                request=request_head(transfer.assignment.url, self._request),
            )
        )  # fmt: skip
        self._multi.remove_handle(curl)
        del self._open[curl]
        transfer.chunks = []
        self._idle.append(transfer)


def _failure(transfer: _Transfer, code: int) -> Outcome | None:
    """A code of libcurl in our words. What we broke off ourselves is none, but for the type."""
    if transfer.unwanted:
        return Outcome.OTHER_TYPE
    if transfer.cut:
        return None
    if transfer.refused:
        return Outcome.FORBIDDEN_ADDRESS
    if transfer.repeated:
        return Outcome.RETURNED
    return ERRORS.get(code, Outcome.PROTOCOL_ERROR)
