"""Requests by libcurl: one multi handle driven by `socket_action` and the worker's epoll.

HTTP/2 is spoken only if the settings want it, over TLS, and never with two requests at once on a connection: libcurl
may not multiplex. It changes nothing else: a server that answers 421, or breaks such a request off, is asked by
HTTP/1.1 the next time (the page goes back), and heads are written as HTTP/1.1 has them, as is usual in archives.
In the same way a server that answers 416 is asked without Range the next time, and one whose certificate is not valid
without looking at it, if the settings want its pages all the same.

Invariants, each a test of the same name: a socket opens only to the pinned address of its assignment, and to no
forbidden one; a request is sent once; redirects are not followed; of a body no more than its limit is kept, and nothing
of a type that is not gathered; every assignment ends in exactly one `Fetched`; what a server sends takes no more memory
than the bounds of head and body.

A request is sent once: when a connection kept open turns out to be dead, libcurl would repeat the request on a new one
at once, and the server may have seen both. Such a page goes back instead (RETURNED) and waits for its site's next turn.

Handles are reused (their options are set once), connections live in libcurl's own pool: with `CONNECT_TO` one of them
serves only its name, port and address, so that a changed address forces a new one. `perform()` is refused: it pays for
every idle handle. libcurl's low-speed limit is refused, too: it also runs before the first byte, where our limit is
another.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pycurl

from gossamer import __version__
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden, pack
from gossamer.web.fetch.certificates import Trusted
from gossamer.web.fetch.magic import kind_of, lie
from gossamer.web.fetch.response import ERRORS, GATHERED, Fields, Head, broken, mime, part, read_head, tls_fault

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
_SMALL: Final = 1024
"""Bytes below which pieces of a body are kept together: an object for each of two bytes takes 20 times that."""
_REPEATED: Final = "the server had closed the connection that was kept open"
_UNWILLING: Final = "the server does not want HTTP/2 here: it is asked by HTTP/1.1 next time"
_NO_RANGES: Final = "the server does not want Range here: it is asked without it next time"
_CUT: Final = "cut at the largest download"
_MISDIRECTED, _NOT_IN_RANGE, _PARTIAL = 421, 416, 206
_HTTP2_STREAM: Final = 92
"""CURLE_HTTP2_STREAM, which pycurl has no name for."""
_TOO_LARGE: Final = 100
"""CURLE_TOO_LARGE, likewise: a line of the head above 100 KB."""
_HTTP2_FAILED: Final = frozenset((pycurl.E_HTTP2, _HTTP2_STREAM))
_MOST_KNOWN: Final = 50_000
"""Servers about which it is remembered how they are to be asked, of each kind."""
_OURS: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""Why there may be no socket: our fault, not the site's."""


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
    unverified: bool = False
    held: bool = False
    """We held it back: the server is faster than this, or as fast."""
    status: int = 0
    line: bytes = b""
    fields: Fields = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    request: bytes = b""


def request_fields(settings: HarvesterSettings) -> list[str]:
    """The header fields of every request: who we are, where that is explained, whom to write to, what we can read.

    The settings accept nothing that could end a line (`config/accepted.py`); white space is folded here once more.
    """
    contact, about = " ".join(settings.contact.split()), "".join(settings.about.split())
    is_mail = "@" in contact and "/" not in contact
    where = "; ".join(dict.fromkeys(filter(None, (about, "" if about and is_mail else contact))))
    fields = [f"User-Agent: {settings.agent}/{__version__}" + (f" (+{where})" if where else "")]
    if is_mail:
        fields.append(f"From: {contact}")
    return [*fields, f"Accept: {ACCEPT}", f"Accept-Encoding: {ENCODINGS}"]


def part_fields(fields: list[str], most: int) -> list[str]:
    """Those of a request for the first `most` bytes: uncompressed, or it would be for part of what compresses them."""
    return [*fields[:-1], "Accept-Encoding: identity", f"Range: bytes=0-{most - 1}"]


def request_head(url: bytes, fields: bytes) -> bytes:
    """The bytes that libcurl sends for a canonical URL."""
    authority, _, path = url.partition(b"://")[2].partition(b"/")
    return b"GET /" + path + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + fields


class Transfer:
    """A curl handle and the request that it is making."""

    __slots__ = (
        "asked",
        "assignment",
        "chunks",
        "curl",
        "cut",
        "forbidden",
        "head",
        "held",
        "http2",
        "lacking",
        "limit",
        "lines",
        "mark",
        "mark_time",
        "partly",
        "pinned",
        "refused",
        "repeated",
        "size",
        "slowed",
        "start",
        "unverified",
        "unwanted",
    )

    def __init__(self, settings: HarvesterSettings, fields: list[str], forbidden: Forbidden, trusted: str) -> None:
        self.lines: list[bytes] = []
        self.forbidden = forbidden
        self.http2 = self.partly = self.unverified = False
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

    def speak(self, http2: bool) -> None:
        """By HTTP/1.1 on a new connection: libcurl would take an open one of either kind."""
        self.http2 = http2
        version = pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1
        self.curl.setopt(pycurl.HTTP_VERSION, version)
        self.curl.setopt(pycurl.FRESH_CONNECT, not http2)

    def ask_partly(self, partly: bool, fields: list[str]) -> None:
        self.partly = partly
        self.curl.setopt(pycurl.HTTPHEADER, fields)

    def verify(self, verify: bool) -> None:
        """libcurl keeps connections that were verified and others apart."""
        self.unverified = not verify
        self.curl.setopt(pycurl.SSL_VERIFYPEER, 1 if verify else 0)
        self.curl.setopt(pycurl.SSL_VERIFYHOST, 2 if verify else 0)

    def prepare(self, assignment: Assignment, limit: int, now: float) -> None:
        self.assignment = assignment
        self.limit = limit
        self.pinned = pack(assignment.address)
        self.lines.clear()
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.start = now
        self.mark, self.mark_time = 0, 0.0
        self.asked = self.cut = self.refused = self.repeated = self.lacking = False
        self.unwanted = ""
        self.head: Head | None = None
        self.held, self.slowed = 0.0, False  # seconds for which we let its data wait; whether that made it slower
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
        try:
            opened = socket.socket(family, kind, protocol)
            os.close(os.dup(opened.fileno()))  # pycurl needs a second one
            return opened
        except OSError as error:
            if error.errno not in _OURS:
                raise
            self.lacking = True
            return int(pycurl.SOCKET_BAD)

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

    def _unwanted(self, data: bytes) -> str:
        """Why the body is not read, by the head, which is complete when it begins, and by its first bytes. (`getinfo`
        may not be asked in here.)"""
        self.head = line, _, headers = read_head(self.lines)
        if self.assignment.ask not in (Ask.PAGE, Ask.PROBE) or line[8:10] != b" 2":
            return ""
        called = mime(headers)
        if called not in GATHERED:
            return f"{called} is not gathered"
        found = "" if "content-encoding" in headers else kind_of(data)
        return lie(called, found) if found else ""


class Fetcher:
    """All requests of a worker. `epoll` is the worker's: it passes on events of descriptors that are not its own."""

    def __init__(self, settings: HarvesterSettings, epoll: select.epoll) -> None:
        self._settings = settings
        self._epoll = epoll
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._trusted = Trusted(settings.trusted)
        self._fields = request_fields(settings)
        self._part_fields = part_fields(self._fields, settings.max_download)
        self._request, self._part_request = _lines(self._fields), _lines(self._part_fields)
        self._adapts = settings.http2 or settings.range or settings.invalid_certificates
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(8, settings.connections))
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_NOTHING)
        self._plain: dict[bytes, str] = {}
        """Scheme and authority of servers that do not want HTTP/2, and why."""
        self._whole: dict[bytes, str] = {}
        """Those that do not want Range."""
        self._invalid: dict[bytes, str] = {}
        """Those whose certificate is not valid."""
        self._idle: list[Transfer] = []
        self._open: dict[pycurl.Curl, Transfer] = {}
        self._watched: dict[int, int] = {}
        """Descriptors that the epoll most likely has, and for what."""
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
        limit = {Ask.ROBOTS: MAX_ROBOTS, Ask.SITEMAP: self._settings.max_sitemap}.get(
            assignment.ask, self._settings.max_download
        )
        transfer.prepare(assignment, limit, time.monotonic())
        if self._adapts:
            self._adapt(transfer)
        self._open[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def _adapt(self, transfer: Transfer) -> None:
        """To what is known about the server."""
        settings, server = self._settings, _server(transfer.assignment.url)
        if settings.http2:
            transfer.speak(server not in self._plain)
        if settings.range:
            partly = transfer.assignment.ask == Ask.PAGE and server not in self._whole
            transfer.ask_partly(partly, self._part_fields if partly else self._fields)
        if settings.invalid_certificates:
            transfer.verify(server not in self._invalid)

    def _transfer(self) -> Transfer:
        return Transfer(self._settings, self._fields, self._forbidden, self._trusted.path)

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
        self._collect()
        if now - self._swept >= SWEEP:  # of those that have not ended
            self._sweep(now)
        done, self._done = self._done, []
        return done

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        if what == pycurl.POLL_REMOVE:
            self._watched.pop(fd, None)
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)
            return
        mask = select.EPOLLIN if what == pycurl.POLL_IN else select.EPOLLOUT
        if what == pycurl.POLL_INOUT:
            mask = select.EPOLLIN | select.EPOLLOUT
        known = fd in self._watched
        self._watched[fd] = mask
        try:
            (self._epoll.modify if known else self._epoll.register)(fd, mask)
        except FileNotFoundError:
            self._epoll.register(fd, mask)
        except FileExistsError:
            self._epoll.modify(fd, mask)

    def _set_timer(self, milliseconds: int) -> None:
        self._timer = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _collect(self) -> None:
        queued = 1
        while queued:
            queued, ended, failed = self._multi.info_read()
            for curl, code, text in [*((curl, pycurl.E_OK, "") for curl in ended), *failed]:
                transfer, status = self._open[curl], curl.getinfo(pycurl.RESPONSE_CODE)
                failure, detail = failure_of(transfer, code, text) if code else (None, "")
                if transfer.http2 and (status == _MISDIRECTED or transfer.repeated or code in _HTTP2_FAILED):
                    self._back(transfer, self._plain, _UNWILLING)
                elif transfer.partly and status == _NOT_IN_RANGE and failure is None:
                    self._back(transfer, self._whole, _NO_RANGES)
                elif self._is_to_be_trusted(transfer, code):
                    self._back(transfer, self._invalid, detail)
                else:
                    self._end(transfer, failure, detail)

    def _is_to_be_trusted(self, transfer: Transfer, code: int) -> bool:
        wanted = self._settings.invalid_certificates and not transfer.unverified
        return wanted and code == pycurl.E_PEER_FAILED_VERIFICATION

    def _back(self, transfer: Transfer, known: dict[bytes, str], why: str) -> None:
        """The page goes back; its server is asked in another way when its next turn comes."""
        if len(known) >= _MOST_KNOWN:
            del known[next(iter(known))]
        known[_server(transfer.assignment.url)] = why
        self._end(transfer, Outcome.RETURNED, why)

    def _sweep(self, now: float) -> None:
        """The time to the first byte, and the lowest speed after it."""
        self._swept = now
        for transfer in list(self._open.values()):
            if not transfer.lines:
                since = now - transfer.start - transfer.held - self._settings.first_byte_timeout
                if since > 0 and 0 < transfer.curl.getinfo(pycurl.PRETRANSFER_TIME) < since:
                    self._end(transfer, Outcome.TIMED_OUT, "no status line in time")
            elif not transfer.mark_time:
                transfer.mark, transfer.mark_time = transfer.size, now
            elif now - transfer.mark_time >= self._settings.slow_time:
                if transfer.size - transfer.mark < self._settings.lowest_speed * (now - transfer.mark_time):
                    self._end(transfer, Outcome.TOO_SLOW, "slower than the lowest speed")
                else:
                    transfer.mark, transfer.mark_time = transfer.size, now

    def _end(self, transfer: Transfer, failure: Outcome | None, detail: str) -> None:
        now = time.monotonic()
        curl = transfer.curl
        get = curl.getinfo
        size = sum(map(len, transfer.lines))
        line, fields, headers = transfer.head or read_head(transfer.lines)
        status = get(pycurl.RESPONSE_CODE)
        if size > MAX_HEAD:
            failure, detail = Outcome.PROTOCOL_ERROR, "head too long"
        elif failure is None and not transfer.size and not (transfer.lines and transfer.lines[-1].isspace()):
            failure, detail = Outcome.BROKEN_OFF, "ended within the head"
        elif failure is None and (fault := broken(line) or _misplaced(transfer, status, headers)):
            failure, detail = Outcome.PROTOCOL_ERROR, fault
        if transfer.unverified and failure is None:
            detail = "certificate " + self._invalid.get(_server(transfer.assignment.url), "not valid")
        self._done.append(
            Fetched(
                transfer.assignment,
                failure,
                detail,
                transfer.start,
                now,
                connect=get(pycurl.APPCONNECT_TIME) or get(pycurl.CONNECT_TIME),
                first=get(pycurl.STARTTRANSFER_TIME),
                received=size + transfer.size,
                sent=get(pycurl.REQUEST_SIZE),
                reused=get(pycurl.NUM_CONNECTS) == 0 and get(pycurl.REQUEST_SIZE) > 0,
                cut=transfer.cut,
                unverified=transfer.unverified,
                held=transfer.slowed,
                status=status,
                line=line,
                fields=fields,
                headers=headers,
                body=b"".join(transfer.chunks),
                request=request_head(transfer.assignment.url, self._part_request if transfer.partly else self._request),
            )
        )
        self._multi.remove_handle(curl)
        del self._open[curl]
        transfer.chunks = []
        self._idle.append(transfer)


def _server(url: bytes) -> bytes:
    """Scheme and authority of a canonical URL."""
    return url[: url.index(b"/", 8)]


def _lines(fields: list[str]) -> bytes:
    return ("\r\n".join(fields) + "\r\n\r\n").encode("latin-1", "replace")


def _misplaced(transfer: Transfer, status: int, headers: dict[str, str]) -> str:
    """What is wrong with the part of a page that came. If it is the first and there is more, the page is cut."""
    if status != _PARTIAL or (found := part(headers.get("content-range", ""))) is None:
        return ""
    first, last, whole = found
    transfer.cut |= last + 1 < whole or (whole < 0 and last + 1 >= transfer.limit)
    return "a part of the page that was not asked for" if first else ""


def failure_of(transfer: Transfer, code: int, text: str) -> tuple[Outcome | None, str]:
    """A code of libcurl in our words. What we broke off ourselves is none, but for the type."""
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
    """Connected, and no secure connection yet."""
    get = transfer.curl.getinfo
    secure = transfer.assignment.url.startswith(b"https:")
    return secure and not transfer.asked and get(pycurl.CONNECT_TIME) > 0 and get(pycurl.APPCONNECT_TIME) == 0
