"""Serves the demonstration Web: one process, one event loop, one listening socket for each address 127.x.y.z.

All sockets listen on one port; https sites have their own addresses, which speak TLS. Nothing listens at the addresses
of sites that are down. Measured by bench/demo_speed.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.webs.demo.access import AccessLog
from gossamer.webs.demo.answer import DemoAnswers
from gossamer.webs.demo.certificates import Certificate
from gossamer.webs.demo.connection import Connection, Shared
from gossamer.webs.demo.site import Down
from gossamer.webs.demo.web import DemoWeb

FLUSH: Final = 0.1
SEND_BUFFER: Final = 1_000_000
AHEAD: Final = 8
"""Pages that are made ahead for each request."""

Ready = Callable[[int], None]
"""Called with the port once all sockets listen."""


def listen(addresses: list[str], port: int) -> list[socket.socket]:
    """Sockets on the same port of all addresses; port 0 finds one that is free on all."""
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
                cure = "Choose another port with --port, or 0 for any free port."
                raise UsageError(f"Port {port} of {address} cannot be used: {error.strerror}.", cure) from error
    raise UsageError("No port is free on all addresses of the demonstration Web.", "Choose one with --port.")


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


async def serve(
    web: DemoWeb, port: int, log: AccessLog, certificate: Certificate | None, ready: Ready, *, stdin: bool = False
) -> None:
    """Serves `until_stopped`. Without a certificate the Web must have no https sites."""
    loop, shared = asyncio.get_running_loop(), Shared(web, log)
    shared.tick()
    addresses = sorted({s.address for s in web.all_sites if s.down in (Down.NO, Down.SILENT)})
    secure = {s.address for s in web.all_sites if s.http.secure}
    context = _context(certificate) if certificate else None
    sockets = listen(addresses, port)
    servers = [
        await loop.create_server(lambda: Connection(shared, loop), sock=s, ssl=context if at in secure else None)
        for at, s in zip(addresses, sockets, strict=True)
    ]
    ahead = loop.create_task(make_ahead(shared.answers))
    await until_stopped(partial(ready, sockets[0].getsockname()[1]), shared.tick, stdin)
    ahead.cancel()
    for server in servers:
        server.close()
    for connection in list(shared.open):
        connection.give_up()
        connection.transport.abort()
    log.close()


async def until_stopped(ready: Callable[[], None], tick: Callable[[], None], stdin: bool) -> None:
    """Serves until SIGTERM or SIGINT (unless that is ignored), or, with `stdin`, until standard input ends. Calls
    `ready` at the beginning, and `tick` every tenth of a second."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(unless_the_client_left)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGINT, stop.set)
    if stdin:
        loop.add_reader(0, end_of_input, stop)
    ready()
    while not stop.is_set():
        tick()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), FLUSH)


def unless_the_client_left(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignores clients that break off or do not trust the certificate."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


def _context(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.own, certificate.key)
    return context


async def make_ahead(answers: DemoAnswers) -> None:
    """Makes all pages in the background, one at a time, so that most requests find theirs ready; not many more than
    were requested, so that a short crawl does not pay for all of them. Those of a living Web do not stay."""
    if answers.bulk is None and not answers.web.speed:
        made = 0
        for site in (s for s in answers.web.all_sites if s.down is Down.NO):
            for target in answers.web.layout(site.number).target:
                while made > AHEAD * (answers.given - made):
                    await asyncio.sleep(FLUSH)
                answers.get(site, target, gzip=True)
                made += 1
                await asyncio.sleep(0)


def end_of_input(stop: asyncio.Event) -> None:
    if not os.read(0, 1024):
        asyncio.get_running_loop().remove_reader(0)
        stop.set()


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Runs `serve` in a new event loop; uvloop's if it is installed."""
    factory: Any = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)
