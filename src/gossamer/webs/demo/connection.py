"""One connection to the demonstration Web.

The parser of requests is hand-written, because only GET without a body is served here. It takes one request at a time
from a connection (pipelined requests wait) and keeps the connection open.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from email.utils import formatdate
from time import monotonic, time
from typing import Final, cast

from gossamer.webs.demo import dice, moods
from gossamer.webs.demo.access import CLIENT_LEFT, AccessLog, LoggedRequest
from gossamer.webs.demo.answer import DemoAnswer, DemoAnswers, simple, status_line
from gossamer.webs.demo.living import LivingAnswers
from gossamer.webs.demo.pace import STEP, AnswerPace
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.site import Down, Site

LARGEST_HEAD: Final = 65_536
_RESET: Final = struct.pack("ii", 1, 0)


class Shared:
    """The state that all connections share."""

    def __init__(self, web: Places, log: AccessLog) -> None:
        self.answers = LivingAnswers(web) if web.speed else DemoAnswers(web)
        self.pace = AnswerPace(web)
        self.shape = web
        self.hosts = web.by_host
        self.moved = {s.moved_name: f"{s.scheme}://{s.name}" for s in web.all_sites if s.moved_name}
        """Names whose every path redirects, and the origin to which it does."""
        self.alone = _alone(web)
        self.log = log
        self.seed = web.seed
        self.connections = self.sessions = 0
        self.open: set[Connection] = set()
        self.date = b""
        self.lines: dict[tuple[int, bool], bytes] = {}

    def head(self, status: int, old: bool) -> bytes:
        line = self.lines.get((status, old))
        if line is None:
            line = self.lines[status, old] = status_line(status, old)
        return line + self.date

    def session(self) -> str:
        """A new session id at each call."""
        self.sessions += 1
        return f"{dice.number(self.seed, 'session', self.sessions):032x}"

    def tick(self) -> None:
        self.date = f"Date: {formatdate(usegmt=True)}\r\nServer: gossamer-web\r\n".encode()
        self.log.flush()


def _alone(web: Places) -> dict[str, Site]:
    """By address: the HTTP/1.0 site that is alone there. A request without a Host is for this site."""
    at: dict[str, list[Site]] = {}
    for site in web.all_sites:
        at.setdefault(site.address, []).append(site)
    return {address: sites[0] for address, sites in at.items() if len(sites) == 1 and sites[0].http.old}


class Connection(asyncio.Protocol):
    """Reads requests, answers them and writes them to the access log."""

    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop) -> None:
        self.shared = shared
        self.loop = loop
        self.buffer = b""
        self.asked: LoggedRequest | None = None  # the current request
        self.sent: tuple[DemoAnswer, int] | None = None  # the answer that is being sent, and its length
        self.closing = False
        self.old = False
        self.later: asyncio.TimerHandle | None = None
        self.start = self.wall = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport has another type
        self.transport.set_write_buffer_limits(0)
        self.address: str = transport.get_extra_info("sockname")[0]
        self.secure = transport.get_extra_info("sslcontext") is not None
        self.socket: socket.socket = transport.get_extra_info("socket")
        self.descriptor: int = self.socket.fileno()
        self.shared.connections += 1
        self.number = self.shared.connections
        self.shared.open.add(self)

    def data_received(self, data: bytes) -> None:
        if not self.buffer and not self.asked:
            self.start, self.wall = monotonic(), time()
        self.buffer += data
        if not self.asked:
            self._read()

    def _read(self) -> None:
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > LARGEST_HEAD:
                self._ask("-", "-", "-", {})
                self.closing = True
                self._send(simple(431), "GET", 0)
            return
        head, self.buffer = self.buffer[:end].decode("latin-1"), self.buffer[end + 4 :]
        first, *lines = head.split("\r\n")
        fields = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        self._answer(first, fields)

    def _answer(self, first: str, fields: dict[str, str]) -> None:
        parts = first.split(" ")
        method, target, version = parts if len(parts) == 3 else ("-", "-", "HTTP/1.0")
        host = fields.get("host", "").lower()
        if not host and self.address in self.shared.alone:
            host = self.shared.alone[self.address].host
        self._ask(host, method, target, fields)
        keep = fields.get("connection", "" if version == "HTTP/1.1" else "close").lower()
        self.closing = keep == "close" or "content-length" in fields or "transfer-encoding" in fields
        name = host.partition(":")[0]
        site = self.shared.hosts.get(name)
        if method not in ("GET", "HEAD") or not target.startswith("/"):
            self._send(simple(400 if method == "-" else 405), method, 0)
        elif site is None or site.address != self.address:
            self._send(simple(421), method, 0)
        elif site.down is Down.NO:
            self._serve(site, name, method, target, fields)

    def _ask(self, host: str, method: str, target: str, fields: dict[str, str]) -> None:
        sender, agent = fields.get("from", ""), fields.get("user-agent", "")
        here = (self.start, self.wall, self.address, self.number)
        self.asked = LoggedRequest(*here, host, method, target, sender, agent)

    def _serve(self, site: Site, name: str, method: str, target: str, fields: dict[str, str]) -> None:
        if name in self.shared.moved:
            found = simple(301, f"Location: {self.shared.moved[name]}{target}")
        else:
            moody = moods.answer(self.shared.shape, site, target, self.start, self.wall)
            if moody and moody.status == moods.NO_ANSWER:
                self._refuse()
                return
            found = moody or self.shared.answers.answer(site, target, fields, self.wall)
        if site.http.old:
            self.old = self.closing = True
        latency, rate = self.shared.pace(site)
        if latency:
            self.later = self.loop.call_later(latency, self._send, found, method, rate)
        else:
            self._send(found, method, rate)

    def _send(self, answer: DemoAnswer, method: str, rate: int) -> None:
        """`rate`: bytes of the body per `STEP`; 0: all at once."""
        self.later = None
        tail = b"Connection: close\r\n\r\n" if self.closing and not self.old else b"\r\n"
        body = b"" if method == "HEAD" else answer.body
        if answer.mark:
            body = body.replace(answer.mark, self.shared.session().encode(_codec(answer.mark)))
        if answer.torn:
            body = body[: len(body) // 2]
        head = b"".join((self.shared.head(answer.status, self.old), answer.fields, tail))
        self.sent = (answer, len(head) + len(body))
        first = len(body) if rate == 0 or len(body) <= rate else rate
        self._hand_over(head + body[:first], body[first:], rate)

    def _hand_over(self, data: bytes, rest: bytes, rate: int) -> None:
        """Sends `data` now and `rest` later; both as fast as the kernel takes them if it cannot take `data` now."""
        self.later = None
        before = monotonic()
        taken = self._push(data)
        if taken < len(data):
            self.transport.write(data[taken:] + rest)
            if not self.transport.get_write_buffer_size():
                self._sent(monotonic())
        elif rest:
            self.later = self.loop.call_later(STEP, self._hand_over, rest[:rate], rest[rate:], rate)
        else:
            self._sent(before)

    def _push(self, data: bytes) -> int:
        """Hands bytes to the kernel at once (uvloop's `write` would do it later, and the logged time would be wrong).

        Encrypted bytes go through the transport, so their `end` is a moment too early: that accuses nobody wrongly.
        """
        if self.secure:
            self.transport.write(data)
            return len(data)
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.closing = True
            return len(data)

    def resume_writing(self) -> None:
        if self.sent and not self.secure:
            self._sent(monotonic())

    def _sent(self, end: float) -> None:
        assert self.sent
        answer, size = self.sent
        self._note(end, answer.status, size, answer.retry_after, answer.location)
        if answer.torn:
            self._tear(answer)
        elif self.closing:
            self.transport.close()
        elif self.buffer:
            self.start, self.wall = monotonic(), time()
            self._read()

    def _tear(self, answer: DemoAnswer) -> None:
        """Ends the connection in the middle of the body: normally, or by a reset."""
        if len(answer.body) % 2:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _refuse(self) -> None:
        """Ends the connection without an answer."""
        self._note(monotonic(), moods.NO_ANSWER, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _note(self, end: float, status: int, size: int, retry_after: str = "", location: str = "") -> None:
        assert self.asked
        self.shared.log.add(self.asked, end, status, size, retry_after, location)
        self.asked = self.sent = None

    def connection_lost(self, _error: Exception | None) -> None:
        self.shared.open.discard(self)
        self.give_up()

    def give_up(self) -> None:
        """Logs a request that got no complete answer."""
        if self.later:
            self.later.cancel()
        if self.asked:
            self._note(monotonic(), CLIENT_LEFT, 0)


def _codec(mark: bytes) -> str:
    return "utf-16-le" if b"\0" in mark else "ascii"
