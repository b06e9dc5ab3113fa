"""One request in libcurl: a handle, its options and callbacks, and what has come of the answer.

Handles are reused: most options are set once. Connections live in libcurl's own pool; with `CONNECT_TO` a connection
serves only its name, port and address, so that a changed address forces a new one.

A request is sent once: when a connection kept open turns out to be dead, libcurl would repeat the request on a new one
at once, and the server may have seen both. Such a page goes back instead (RETURNED) and waits for its site's next turn.

The version of TLS stands in libcurl's debug log alone. That log calls Python for each of some 80 pieces, which takes
0.1 ms, so that only requests for robots.txt are logged: they are the first of each origin.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

import pycurl

from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden, pack
from gossamer.web.fetch.meter import Meter, Meters, most_off_wire
from gossamer.web.fetch.response import (
    ERRORS,
    GATHERED,
    Head,
    kind_of,
    lie,
    mime,
    part,
    read_head,
    tls_fault,
    tls_version,
)

KEEP: Final = 60
"""Seconds for which an idle connection may be used again."""
_BUFFER: Final = 512 * 1024
_SMALL: Final = 1024
"""Pieces of a body below this size are joined: one object for each piece of two bytes takes 20 times its size."""
_REPEATED: Final = "the server had closed the connection that was kept open"
_CUT: Final = "cut at the largest download"
_NO_BODY: Final = "more came than framing takes, and no body"
MAX_HEAD: Final = 256 * 1024
_PARTIAL: Final = 206
_TOO_LARGE: Final = 100
"""CURLE_TOO_LARGE, which pycurl has no name for: a line of the head above 100 KB."""
_OUR_FAULT: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""Why there may be no socket: our fault, not the site's."""


class Limit(Protocol):
    """The hooks of a bandwidth limit: all that fetcher and transfers know about it.

    `web/limit/limited_fetch.py` implements them. Without a limit, a hook costs a comparison with None.
    """

    holding: bool
    """Whether the server whose data libcurl is reading at this moment had to wait for us."""

    def configure(self, transfer: Transfer) -> None:
        """A handle was made: sets the options that all its requests share."""

    def prepare(self, transfer: Transfer) -> None:
        """The handle has got its next assignment."""

    def opened(self, new: socket.socket) -> None:
        """A socket was made, and is not connected yet."""

    def watched(self, fd: int, removed: bool) -> None:
        """libcurl waits for this descriptor, or (`removed`) no longer waits for it."""

    def timeout(self, wait: float) -> float:
        """Seconds until the fetcher must act; `wait`: as it would be without the limit."""

    def act(self, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Moves data as far as the limit allows; returns those of the events that are for libcurl."""

    def overdue(self, now: float, passed: float) -> Iterator[tuple[Transfer, Outcome, str]]:
        """Transfers that must end, and why. `passed`: seconds since the last call. Replaces libcurl's timeouts."""

    def meter(self, fd: int) -> Meter | None:
        """What counts the bytes of the connection with this descriptor."""

    def ending(self, transfer: Transfer) -> None:
        """The transfer is about to end."""

    def ended(self, transfer: Transfer, fd: int) -> None:
        """The transfer has ended, and no longer uses its descriptor."""


class _Opened:
    """A descriptor for libcurl: pycurl duplicates it and drops this object, which closes it."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)


class Transfer:
    """A curl handle and the request that it is making."""

    def __init__(
        self,
        settings: HarvesterSettings,
        fields: list[str],
        forbidden: Forbidden,
        trusted: str,
        meters: Meters[Transfer],
        limit: Limit | None,
    ) -> None:
        self._meters = meters
        self.lines: list[bytes] = []
        self.forbidden = forbidden
        self.http2 = self.partly = self.unverified = self.logged = False
        self.conditions: list[bytes] = []
        """Header fields by which the page is requested only if it has changed."""
        self.cap = 0
        """Bytes per second that libcurl may read for this request; 0: any number. Only with a limit."""
        self.made = -1
        """The descriptor of the connection that libcurl makes for this request, if it makes one. Only with a limit."""
        self._limit = limit
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
        curl.setopt(pycurl.DEBUGFUNCTION, self._log)
        if trusted:
            curl.setopt(pycurl.CAINFO, trusted)
        if limit is not None:
            limit.configure(self)

    def speak(self, http2: bool) -> None:
        """HTTP/1.1 needs a new connection: libcurl would take an open one of either kind."""
        self.http2 = http2
        version = pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1
        self.curl.setopt(pycurl.HTTP_VERSION, version)
        self.curl.setopt(pycurl.FRESH_CONNECT, not http2)

    def ask_if(self, fields: list[str], conditions: list[bytes]) -> None:
        """Adds conditions to the header fields of the next request, or takes back those of the last."""
        if conditions or self.conditions:
            self.curl.setopt(pycurl.HTTPHEADER, [*fields, *conditions])
        self.conditions = conditions

    def ask_partly(self, partly: bool, fields: list[str]) -> None:
        self.partly = partly
        self.curl.setopt(pycurl.HTTPHEADER, fields)

    def verify(self, verify: bool) -> None:
        """libcurl keeps verified and unverified connections apart."""
        self.unverified = not verify
        self.curl.setopt(pycurl.SSL_VERIFYPEER, 1 if verify else 0)
        self.curl.setopt(pycurl.SSL_VERIFYHOST, 2 if verify else 0)

    def prepare(self, assignment: Assignment, limit: int, now: float) -> None:
        """Sets the handle up for its next request; `limit`: bytes of the body that are kept, at most."""
        self.assignment = assignment
        self.limit = limit
        self.pinned = pack(assignment.address)
        self.lines.clear()
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.start = now
        self.mark, self.mark_time = 0, 0.0
        self.asked = self.cut = self.refused = self.repeated = self.lacking = False
        self.unwanted = self.tls = ""
        self.head: Head | None = None
        self.meter: Meter | None = None
        self.fd = -1
        self.held, self.slowed = 0.0, False  # seconds for which we let its data wait; whether that made it slower
        host = f"[{assignment.address}]" if ":" in assignment.address else assignment.address
        self.curl.setopt(pycurl.URL, assignment.url)
        # as it is: libcurl would write the hex digits of its escapes in capitals
        self.curl.setopt(pycurl.REQUEST_TARGET, assignment.url[assignment.url.index(b"/", 8) :])
        self.curl.setopt(pycurl.CONNECT_TO, [f"::{host}:{assignment.port}"])
        logged = assignment.ask is Ask.ROBOTS and assignment.url.startswith(b"https:")
        if logged != self.logged:
            self.logged = logged
            self.curl.setopt(pycurl.VERBOSE, logged)
        if self._limit is not None:
            self._limit.prepare(self)

    def _open(self, purpose: int, address: Any) -> socket.socket | _Opened | int:
        """Decides where a request really goes: libcurl calls it whenever it is about to connect."""
        if self.asked:
            self.repeated = True
            return int(pycurl.SOCKET_BAD)
        family, kind, protocol, where = address
        packed = pack(where[0])
        if packed != self.pinned or where[1] != self.assignment.port or self.forbidden(packed):
            self.refused = True
            return int(pycurl.SOCKET_BAD)
        try:
            new = socket.socket(family, kind, protocol)
            os.close(os.dup(new.fileno()))  # pycurl needs a second descriptor
        except OSError as error:
            if error.errno not in _OUR_FAULT:
                raise
            self.lacking = True
            return int(pycurl.SOCKET_BAD)
        self._meters.opened(self, new)
        return new if self.meter is not None else _Opened(new.detach())  # a meter keeps and closes it

    def _log(self, kind: int, line: bytes) -> None:
        """A piece of libcurl's debug log."""
        if kind == pycurl.INFOTYPE_TEXT and not self.tls:
            self.tls = tls_version(line)

    def _about_to_ask(self, *_: object) -> int:
        """libcurl is connected, by a new connection or an old one, and about to send the request."""
        if self.asked:
            self.repeated = True
            return int(pycurl.PREREQFUNC_ABORT)
        self.asked = True
        self._meters.asks(self)
        return int(pycurl.PREREQFUNC_OK)

    def _body(self, data: bytes) -> int | None:
        """Takes a piece of the body. None: go on; 0: break the transfer off."""
        if self._limit is not None and self._limit.holding:
            self.slowed = True
        before = self.size
        self.size += len(data)
        if not before:
            self.unwanted = self._unwanted(data)
            if self.unwanted:
                return 0
        if self.size > self.limit:
            self.chunks.append(data[: self.limit - before])
            self.cut = True
            return 0
        if len(data) >= _SMALL:
            self.chunks.append(data)
        elif self.chunks and isinstance(last := self.chunks[-1], bytearray):
            last += data
        else:
            self.chunks.append(bytearray(data))
        return None

    def overflows(self) -> bool:
        """Whether more came than head, body and their framing take. The server is ended then: it may go on for ever."""
        meter = self.meter
        if meter is None or meter.received - meter.counted <= most_off_wire(0, self.size, self.limit):
            return False
        # libcurl keeps the line that has not ended; it ends a head that is too long itself
        whole = self.size or (self.lines and self.lines[-1].isspace())
        head = min(sum(map(len, self.lines)), MAX_HEAD) if whole else MAX_HEAD
        return meter.passed - meter.counted > most_off_wire(head, self.size, self.limit)

    def overflowed(self) -> tuple[Outcome | None, str]:
        """What becomes of a transfer that overflows: a page that is cut, if something of its body came."""
        self.cut = self.size > 0
        return (None, _CUT) if self.cut else (Outcome.PROTOCOL_ERROR, _NO_BODY)

    def whole_head(self) -> Head:
        """The head of the answer, with the trailers that came after the body."""
        if self.head is not None and self.lines and self.lines[-1].isspace():
            return self.head
        return read_head(self.lines)

    def _unwanted(self, data: bytes) -> str:
        """Why the body is not read, by its head, which is complete now, and by its first bytes; "" if it is read.

        (`getinfo` may not be called in here.)
        """
        self.head = read_head(self.lines)
        if self.assignment.ask not in (Ask.PAGE, Ask.PROBE) or self.head.line[8:10] != b" 2":
            return ""
        headers = self.head.headers
        called = mime(headers)
        if called not in GATHERED:
            return f"{called} is not gathered"
        kind = "" if "content-encoding" in headers else kind_of(data)
        return lie(called, kind) if kind else ""


def misplaced(transfer: Transfer, status: int, headers: dict[str, str]) -> str:
    """What is wrong with the part of a page that came; "" if nothing is.

    If the part is the first and there is more, the page is marked as cut.
    """
    if status != _PARTIAL or (span := part(headers.get("content-range", ""))) is None:
        return ""
    first, last, whole = span
    transfer.cut |= last + 1 < whole or (whole < 0 and last + 1 >= transfer.limit)
    return "a part of the page that was not asked for" if first else ""


def failure_of(transfer: Transfer, code: int, text: str) -> tuple[Outcome | None, str]:
    """A code of libcurl in our words. What we broke off ourselves is no failure, unless for its type."""
    if transfer.unwanted:
        return Outcome.OTHER_TYPE, transfer.unwanted
    if transfer.cut:
        return None, _CUT
    if transfer.refused:
        return Outcome.FORBIDDEN_ADDRESS, text
    if transfer.repeated:
        return Outcome.RETURNED, _REPEATED
    if transfer.lacking:
        return Outcome.RETURNED, text
    outcome = ERRORS.get(code, Outcome.PROTOCOL_ERROR)
    if code == pycurl.E_RECV_ERROR and "chunk" in text:
        outcome = Outcome.PROTOCOL_ERROR
    elif code == pycurl.E_OPERATION_TIMEDOUT and _in_handshake(transfer):
        outcome = Outcome.TLS_FAILED
    if outcome is Outcome.TLS_FAILED:
        return outcome, tls_fault(text, transfer.curl.getinfo(pycurl.SSL_VERIFYRESULT))
    return outcome, text or ("a line of the head is too long" if code == _TOO_LARGE else f"error {code} of libcurl")


def _in_handshake(transfer: Transfer) -> bool:
    """Whether there is a connection, but no secure one yet."""
    get = transfer.curl.getinfo
    secure = transfer.assignment.url.startswith(b"https:")
    return secure and not transfer.asked and get(pycurl.CONNECT_TIME) > 0 and get(pycurl.APPCONNECT_TIME) == 0
