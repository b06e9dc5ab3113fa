"""Serves the hostile Web: one process, one event loop, one address for each site, all on one port.

`handle` serves a connection with any function that answers requests, so that behaviours can be used in other Webs.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic, time
from typing import Final

from gossamer.webs.demo.access import CLIENT_LEFT, AccessLog, LoggedRequest
from gossamer.webs.demo.certificates import DAYS, Certificate, make_certificate
from gossamer.webs.demo.server import Ready, listen, until_stopped
from gossamer.webs.hostile.behaviour import Door, HostileRequest, Serve
from gossamer.webs.hostile.client import Client, ClientProtocol
from gossamer.webs.hostile.saying import answer, page
from gossamer.webs.hostile.web import HostileWeb

LARGEST_HEAD: Final = 65_536
DRIP: Final = 0.2
"""Seconds between two bytes of a dripping handshake."""
_NOT_FOUND: Final = answer(b"<p>There is no such page.</p>", "404 Not Found")
_MISDIRECTED: Final = answer(b"<p>No such site.</p>", "421 Misdirected Request")

Note = Callable[[HostileRequest, Client, float, float], None]
"""Called for every request with the request, the client, and its start by the monotonic and by the wall clock."""


def respond(web: HostileWeb) -> Serve:
    """The function that answers the requests to the sites of a hostile Web."""

    async def answered(request: HostileRequest, client: Client) -> bool:
        behaviour = web.behaviour_of(request.host)
        if behaviour is None:
            client.write(_MISDIRECTED)
        elif behaviour.whole:
            return await behaviour.serve(request, client)
        elif request.target == "/robots.txt":
            client.write(answer(behaviour.robots.encode(), kind="text/plain") if behaviour.robots else _NOT_FOUND)
        elif request.target == "/":
            client.write(answer(page(f"{request.host}, the start page", *web.links(behaviour))))
        elif request.target.startswith("/good/") and request.target in web.links(behaviour):
            client.write(answer(page(f"{request.host}, the good page {request.target[6:]}")))
        elif web.friendly or (not behaviour.ends_of(request.target) and request.path == "/sitemap.xml"):
            client.write(_NOT_FOUND)
        else:
            return await behaviour.serve(request, client)
        return True

    return answered


async def handle(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, respond: Serve, note: Note | None = None
) -> None:
    """Serves a connection to its end: one request after the other, each answered by `respond`."""
    client, goes_on = Client(writer), True
    try:
        while goes_on:
            head = await reader.readuntil(b"\r\n\r\n")
            start, wall, request = monotonic(), time(), _read(head)
            client.begin()
            try:
                goes_on = await respond(request, client)
                await client.drain()
            finally:
                if note:
                    note(request, client, start, wall)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        pass
    finally:
        writer.close()


def noted(log: AccessLog, address: str, number: int) -> Note:
    """Writes the requests of a connection to an access log. A client that left may have done so at any time since the
    first byte was sent. The server does not know when, so it logs that first moment: the log accuses nobody wrongly."""

    def note(request: HostileRequest, client: Client, start: float, wall: float) -> None:
        left = client.left and not client.broken
        host, sender, agent = (request.fields.get(name, "") for name in ("host", "from", "user-agent"))
        asked = LoggedRequest(start, wall, address, number, host.lower(), "GET", request.target, sender, agent)
        end, status = (client.first, CLIENT_LEFT) if left else (client.last, client.status)
        log.add(asked, end, status, client.sent, client.retry_after, client.location)

    return note


def _read(head: bytes) -> HostileRequest:
    first, *rest = head[:-4].decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    parts = first.split(" ")
    return HostileRequest(fields.get("host", "").partition(":")[0].lower(), parts[1] if len(parts) > 1 else "/", fields)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of all certificates of the https sites: each has its own defect."""

    trusted: Path
    """File with the certificates of all authorities."""
    of: dict[Door, Certificate]


@contextmanager
def certified(web: HostileWeb) -> Iterator[tuple[HostileWeb, Certificates | None]]:
    """The Web with certificates, or the Web without the sites that need them; the files are removed afterwards."""
    doors = {b.door: host for host, b in web.by_host.items() if b.door.handshake}
    with tempfile.TemporaryDirectory(prefix="gossamer-web-") as folder:
        found = _make(doors, Path(folder)) if doors else None
        yield (web if found or not doors else replace(web, tls=False)), found


def _make(doors: dict[Door, str], folder: Path) -> Certificates | None:
    """Each certificate is signed by its own authority."""
    found: dict[Door, Certificate] = {}
    for door, host in doors.items():
        own = folder / door.name.lower()
        own.mkdir()
        name = f"other.{host}" if door is Door.WRONG_NAME else host
        made = make_certificate([name], own, -1 if door is Door.EXPIRED else DAYS, door is Door.SELF_SIGNED)
        if made is None:
            return None
        found[door] = made
    trusted = folder / "trusted.pem"
    trusted.write_bytes(b"".join(made.trusted.read_bytes() for made in found.values()))
    return Certificates(trusted, found)


class Dripping(asyncio.Protocol):
    """Sends the beginning of a long TLS record byte by byte, as long as the client waits for its end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._left = transport, iter(b"\x16\x03\x03\x3f\xff" + bytes(0x3FFF))
        self._drip()

    def _drip(self) -> None:
        if not self._transport.is_closing() and (octet := next(self._left, None)) is not None:
            self._transport.write(bytes([octet]))
            asyncio.get_running_loop().call_later(DRIP, self._drip)


class _Serving:
    """All listening sockets and their connections."""

    def __init__(self, web: HostileWeb, log: AccessLog, certificates: Certificates | None) -> None:
        self._web, self._log, self._certificates = web, log, certificates
        self._respond = respond(web)
        self._connections = 0
        self._servers: list[asyncio.Server] = []
        self._sockets: list[socket.socket] = []
        self._open: set[asyncio.Task[None]] = set()

    async def begin(self, port: int) -> int:
        """Starts to listen; returns the port."""
        doors = {address: self._web.by_host[host].door for host, address in self._web.addresses.items()}
        if self._web.friendly:
            doors = dict.fromkeys(doors, Door.OPEN)
        doors |= dict.fromkeys(self._web.places.values(), Door.OPEN)
        self._sockets = listen(list(doors), port)
        loop = asyncio.get_running_loop()
        for (address, door), own in zip(doors.items(), self._sockets, strict=True):
            if door is Door.STUCK:
                self._servers.append(await loop.create_server(asyncio.Protocol, sock=own))
            elif door is Door.DRIPPING:
                self._servers.append(await loop.create_server(Dripping, sock=own))
            elif door is not Door.UNANSWERED:
                context = self._context(door) if door.handshake else None
                self._servers.append(await loop.create_server(partial(self._protocol, address), sock=own, ssl=context))
        return int(self._sockets[0].getsockname()[1])

    def end(self) -> None:
        for server in self._servers:
            server.close()
        for own in self._sockets:
            own.close()
        for task in self._open:
            task.cancel()

    def _protocol(self, address: str) -> asyncio.Protocol:
        reader = asyncio.StreamReader(LARGEST_HEAD)
        return ClientProtocol(reader, partial(self._serve, address))

    async def _serve(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        await handle(reader, writer, self._respond, noted(self._log, address, self._connections))

    def _context(self, door: Door) -> ssl.SSLContext:
        assert self._certificates is not None
        own = self._certificates.of[door]
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        if door is Door.OLD_TLS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(own.own, own.key)
        return context


async def serve(
    web: HostileWeb, port: int, log: AccessLog, certificates: Certificates | None, ready: Ready, *, stdin: bool = False
) -> None:
    """Serves `until_stopped`."""
    serving = _Serving(web, log, certificates)
    await until_stopped(partial(ready, await serving.begin(port)), log.flush, stdin)
    serving.end()
    await asyncio.sleep(0)
    log.close()
