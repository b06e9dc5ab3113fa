"""Serves the demonstration Web: one process, one loop, a listening socket for each 127.x.y.z.

A hand-written reader of requests, because a GET without a body is all that is asked here; it takes a request at a time
from a connection (pipelined ones wait) and keeps the connection open. Measured by bench/demo_speed.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import resource
import signal
import socket
from collections.abc import Callable
from email.utils import formatdate
from time import monotonic, time
from typing import Any, Final, cast

from gossamer.demo.access import CLIENT_LEFT, AccessLog
from gossamer.demo.answer import Answer, Answers, simple, status_line
from gossamer.demo.web import DemoWeb
from gossamer.errors import UsageError

FLUSH: Final = 0.1
LARGEST_HEAD: Final = 65_536
SEND_BUFFER: Final = 1_000_000


class Shared:
    """What all connections share."""

    def __init__(self, web: DemoWeb, log: AccessLog) -> None:
        self.answers = Answers(web)
        self.hosts = web.by_host
        self.log = log
        self.connections = 0
        self.open: set[Connection] = set()
        self.date = b""
        self.lines: dict[int, bytes] = {}

    def head(self, status: int) -> bytes:
        line = self.lines.get(status)
        if line is None:
            line = self.lines[status] = status_line(status)
        return line + self.date

    def tick(self) -> None:
        self.date = f"Date: {formatdate(usegmt=True)}\r\nServer: gossamer-web\r\n".encode()
        self.log.flush()


class Connection(asyncio.Protocol):
    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop) -> None:
        self.shared = shared
        self.loop = loop
        self.buffer = b""
        self.asked: tuple[str, str, str, str] | None = None  # host, method, target, agent: a request in progress
        self.sent: tuple[Answer, int] | None = None  # its answer, on the way out, and its length
        self.closing = False
        self.later: asyncio.TimerHandle | None = None
        self.start = self.wall = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by type
        self.transport.set_write_buffer_limits(0)
        self.address: str = transport.get_extra_info("sockname")[0]
        self.descriptor: int = transport.get_extra_info("socket").fileno()
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
                self.asked, self.closing = ("-", "-", "-", "-"), True
                self._send(simple(431), "GET")
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
        self.asked = (host, method, target, fields.get("user-agent", ""))
        keep = fields.get("connection", "" if version == "HTTP/1.1" else "close").lower()
        self.closing = keep == "close" or "content-length" in fields or "transfer-encoding" in fields
        site = self.shared.hosts.get(host.partition(":")[0])
        if method not in ("GET", "HEAD") or not target.startswith("/"):
            self._send(simple(400 if method == "-" else 405), method)
        elif site is None or site.address != self.address:
            self._send(simple(421), method)
        else:
            found = self.shared.answers.get(site, target, "gzip" in fields.get("accept-encoding", ""))
            if found.is_fresh(fields.get("if-none-match", ""), fields.get("if-modified-since", "")):
                found = Answer(304, b"", b"")
            if site.latency:
                self.later = self.loop.call_later(site.latency, self._send, found, method)
            else:
                self._send(found, method)

    def _send(self, answer: Answer, method: str) -> None:
        self.later = None
        tail = b"Connection: close\r\n\r\n" if self.closing else b"\r\n"
        body = b"" if method == "HEAD" else answer.body
        data = b"".join((self.shared.head(answer.status), answer.fields, tail, body))
        self.sent = (answer, len(data))
        before = monotonic()
        if rest := data[self._push(data) :]:
            self.transport.write(rest)
        else:
            self._sent(before)

    def _push(self, data: bytes) -> int:
        """Hands bytes to the kernel at once (uvloop's `write` would do it later, and the time would be wrong)."""
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.closing = True
            return len(data)

    def resume_writing(self) -> None:
        if self.sent:
            self._sent(monotonic())

    def _sent(self, end: float) -> None:
        assert self.sent
        answer, size = self.sent
        self._note(end, answer.status, size, answer.retry_after)
        if self.closing:
            self.transport.close()
        elif self.buffer:
            self.start, self.wall = monotonic(), time()
            self._read()

    def _note(self, end: float, status: int, size: int, retry_after: str) -> None:
        assert self.asked
        host, method, target, agent = self.asked
        self.asked = self.sent = None
        self.shared.log.add(
            self.start, self.wall, end, self.address, host, method, target, status, size, self.number, retry_after,
            agent,
        )  # fmt: skip

    def connection_lost(self, _error: Exception | None) -> None:
        self.shared.open.discard(self)
        self.give_up()

    def give_up(self) -> None:
        """Notes a request that got no whole answer."""
        if self.later:
            self.later.cancel()
        if self.asked:
            self._note(monotonic(), CLIENT_LEFT, 0, "")


def listen(addresses: list[str], port: int) -> list[socket.socket]:
    """Sockets on one port of all addresses; port 0 finds one that is free everywhere."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard) if soft < hard else (soft, hard))
    for _ in range(20):
        sockets: list[socket.socket] = []
        try:
            wanted = port
            for address in addresses:
                sockets.append(_bound(address, wanted))
                wanted = sockets[0].getsockname()[1]
            return sockets
        except OSError as error:
            for s in sockets:
                s.close()
            if port:
                cure = "Choose another port with --port, or 0 for any that is free."
                raise UsageError(f"Port {port} of {address} cannot be used: {error.strerror}.", cure) from error
    raise UsageError("No port is free on all addresses of the demonstration Web.", "Name one with --port.")


def _bound(address: str, port: int) -> socket.socket:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    try:
        s.bind((address, port))
        s.listen(512)
    except OSError:
        s.close()
        raise
    return s


async def serve(web: DemoWeb, port: int, log: AccessLog, ready: Callable[[int], None], *, stdin: bool = False) -> None:
    """Serves until SIGTERM or SIGINT (unless that is ignored), or, with `stdin`, until standard input ends."""
    loop = asyncio.get_running_loop()
    shared, stop = Shared(web, log), asyncio.Event()
    shared.tick()
    sockets = listen(sorted({s.address for s in web.all_sites}), port)
    servers = [await loop.create_server(lambda: Connection(shared, loop), sock=s) for s in sockets]
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGINT, stop.set)
    if stdin:
        loop.add_reader(0, _end_of_input, stop)
    ready(sockets[0].getsockname()[1])
    ahead = loop.create_task(make_ahead(shared.answers))
    while not stop.is_set():
        shared.tick()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), FLUSH)
    ahead.cancel()
    for server in servers:
        server.close()
    for connection in list(shared.open):
        connection.give_up()
        connection.transport.abort()
    log.close()


async def make_ahead(answers: Answers) -> None:
    """Makes all pages while nobody asks, one at a time: most requests then find theirs ready."""
    if answers.bulk is None:
        for site in answers.web.all_sites:
            for target in answers.web.layout(site.number).target:
                answers.get(site, target, gzip=True)
                await asyncio.sleep(0)


def _end_of_input(stop: asyncio.Event) -> None:
    if not os.read(0, 1024):
        asyncio.get_running_loop().remove_reader(0)
        stop.set()


def run(web: DemoWeb, port: int, log: AccessLog, ready: Callable[[int], None], *, stdin: bool = False) -> None:
    """`serve` in a loop of its own; uvloop's if it is installed."""
    factory: Any = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(web, port, log, ready, stdin=stdin))
