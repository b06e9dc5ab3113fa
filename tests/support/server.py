"""A small server with every kind of fault, on loopback: raw bytes from asyncio, in a thread of its own.

Each path is one way to answer (`ANSWERS`); `requests` has the requests, byte for byte.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import ssl
import threading
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

import brotli
import numpy as np
import zstandard

from gossamer.webs.hostile.saying import answer, bare_deflate, chunked
from tests.support.timing import WITHIN

Writer = asyncio.StreamWriter

LINKS = "".join(f'<p>Paragraph {i} <a href="/page/{i}">link {i}</a></p>\n' for i in range(20))
PAGE = f"<html><head><title>A page</title></head><body>{LINKS}</body></html>".encode()
TALKATIVE = PAGE.replace(
    b"<title>",
    b'<meta name="gossamer" content="unavailable_after: 25-Jun-2010 15:00:00 EST">'
    b'<meta name="description" content="What it is about"><title>',
)
LOG_IN = b"<form><p>Members only</p><input name=user><input type=password name=pass><input type=submit></form>"
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: https://example.org/sitemap.xml\n"


ANSWERS: dict[str, bytes] = {
    "/ok": answer(PAGE),
    "/plain": answer(b"just text", kind="text/plain; charset=utf-8"),
    "/chunked": chunked(PAGE),
    "/chunked-gzip": chunked(gzip.compress(PAGE), "Content-Encoding: gzip"),
    "/gzip": answer(gzip.compress(PAGE), "200 OK", "text/html", "Content-Encoding: gzip"),
    "/deflate": answer(zlib.compress(PAGE), "200 OK", "text/html", "Content-Encoding: deflate"),
    "/bare-deflate": answer(bare_deflate(PAGE), "200 OK", "text/html", "Content-Encoding: deflate"),
    "/br": answer(brotli.compress(PAGE), "200 OK", "text/html", "Content-Encoding: br"),
    "/zstd": answer(zstandard.compress(PAGE), "200 OK", "text/html", "Content-Encoding: zstd"),
    "/lie": answer(PAGE, "200 OK", "text/html", "Content-Encoding: gzip"),
    "/bad-encoding": answer(bytes(range(256)) * 4, "200 OK", "text/html", "Content-Encoding: br"),
    "/bomb": answer(gzip.compress(bytes(30_000_000)), "200 OK", "text/html", "Content-Encoding: gzip"),
    "/empty": answer(b""),
    "/no-content": answer(b"", "204 No Content", ""),
    "/no-type": answer(PAGE, kind=""),
    "/other-type": answer(b"\x89PNG" * 1000, kind="image/png"),
    "/redirect": answer(b"gone there", "302 Found", "text/html", "Location: /ok?from=redirect#part"),
    "/redirect-away": answer(b"", "301 Moved Permanently", "text/html", "Location: https://other.example/x"),
    "/redirect-mail": answer(b"", "302 Found", "text/html", "Location: mailto:a@example.org"),
    "/redirect-nowhere": answer(b"", "302 Found"),
    "/not-found": answer(b"<p>no</p>", "404 Not Found"),
    "/gone": answer(b"", "410 Gone"),
    "/refused": answer(b"", "403 Forbidden"),
    "/error": answer(b"oops", "500 Internal Server Error"),
    "/wait": answer(b"", "429 Too Many Requests", "text/html", "Retry-After: 120"),
    "/wait-date": answer(b"", "503 Unavailable", "text/html", "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT"),
    "/odd-status": answer(PAGE, "799 What"),
    "/big": answer(b"<p>" + b"x" * 2_000_000),
    "/big-gzip": answer(
        gzip.compress((np.arange(2_000_000) ** 2 % 251).astype(np.uint8).tobytes(), 1),
        "200 OK",
        "text/html",
        "Content-Encoding: gzip",
    ),
    "/lf": b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: %d\n\n%s" % (len(PAGE), PAGE),
    "/folded": answer(PAGE, "200 OK", "text/html", "X-Long: one\r\n  two\r\n\tthree"),
    "/accents": answer(PAGE, "200 OK", "text/html", "X-Name: Jos\xe9 \xa9"),
    "/noindex": answer(PAGE, "200 OK", "text/html", "X-Robots-Tag: noindex, nofollow"),
    "/noarchive": answer(PAGE, "200 OK", "text/html", "X-Robots-Tag: otherbot: noindex", "X-Robots-Tag: noarchive"),
    "/expired": answer(TALKATIVE),
    "/hidden-404": answer(b"<p>no</p>", "404 Not Found", "text/html", "X-Robots-Tag: noindex"),
    "/hidden-robots.txt": answer(ROBOTS, "200 OK", "text/plain", "X-Robots-Tag: noindex, noarchive"),
    "/preferences": answer(
        b"<meta name=TDM-Reservation content=1><meta name=tdm-policy content=' https://example.org/p '>" + PAGE,
        "200 OK",
        "text/html",
        "Content-Usage: train-ai=n, search=y",
        "Content-Signal: search=yes,ai-train=no",
        'Link: </a.css>; rel=preload, <https://example.org/licence.xml>; rel="license"; type="application/rsl+xml"',
    ),
    "/paid": answer(b"<p>pay</p>", "402 Payment Required", "text/html", "crawler-price: USD 0.01"),
    "/challenge": answer(b"<p>Just a moment</p>", "403 Forbidden", "text/html", "cf-mitigated: challenge"),
    "/log-in-page": answer(LOG_IN),
    "/redirect-log-in": answer(b"", "302 Found", "text/html", "Location: /login?next=%2Fredirect-log-in"),
    "/redirect-port": answer(b"", "302 Found", "text/html", "Location: http://site.test:22/"),
    "/validators": answer(PAGE, "200 OK", "text/html", 'ETag: "abc"', "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT"),
    "/early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(PAGE),
    "/robots.txt": answer(ROBOTS, kind="text/plain"),
    "/long-robots.txt": answer(b"User-agent: *\nDisallow: /x\n" + b"# padding\n" * 60_000, kind="text/plain"),
    "/not-http": b"SSH-2.0-OpenSSH_9.9\r\n",
}
BREAKS: dict[str, bytes] = {
    "/until-close": answer(PAGE, length=False),
    "/broken": answer(PAGE, "200 OK", "text/html", f"Content-Length: {len(PAGE) + 500}", length=False),
    "/broken-chunks": chunked(PAGE)[:-300],
    "/nothing": b"",
    "/broken-head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "/long-head": answer(PAGE, "200 OK", "text/html", *[f"X-Field-{i}: {'x' * 1000}" for i in range(280)]),
    "/endless-head": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(600)),
}
"""Answers after which the connection is closed."""


def free_port() -> int:
    """A port for a server that must be told one: the kernel assigns it to no other socket until the server listens."""
    while True:
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", random.SystemRandom().randrange(10_000, 30_000)))
            return int(found.getsockname()[1])


class Server:
    """Use as a context manager; `port` is where it listens."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self._tls = tls
        self._writers = set[Writer]()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.special: dict[str, Callable[[Writer], Awaitable[None]]] = {
            "/slow": self._slow,
            "/silent": self._silent,
            "/endless": self._endless,
        }

    def __enter__(self) -> Server:
        self._thread.start()
        assert self._started.wait(WITHIN)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(WITHIN)

    def _end(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    def _close(self, server: asyncio.Server) -> None:
        """Closes all sockets. A transport is closed by a later turn of the loop, that of TLS by the turn after that."""
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        for _ in range(3):
            self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def url(self, path: str, host: str = "site.test") -> bytes:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}".encode()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda *_: None)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        self._close(server)

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while True:
                start = await reader.readexactly(1)
                if start == b"\x16":  # the first byte of TLS
                    writer.write(ANSWERS["/error"])
                    break
                head = start + await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head)
                path = head.split(b" ", 2)[1].decode().partition("?")[0]
                if path in self.special:
                    await self.special[path](writer)
                else:
                    writer.write(BREAKS[path] if path in BREAKS else self._find(path))
                await writer.drain()
                if path in BREAKS or path == "/not-http":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @staticmethod
    def _find(path: str) -> bytes:
        return ANSWERS.get(path, ANSWERS["/ok"] if path.startswith("/page/") else ANSWERS["/not-found"])

    async def _silent(self, writer: Writer) -> None:
        await asyncio.sleep(3600)

    async def _slow(self, writer: Writer) -> None:
        """Sends single bytes, slowly."""
        writer.write(answer(b"", "200 OK", "text/html", "Content-Length: 100000", length=False))
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def _endless(self, writer: Writer) -> None:
        writer.write(answer(b"", "200 OK", "text/html", length=False))
        while True:
            writer.write(b"<p>more and more</p>" * 500)
            await writer.drain()
