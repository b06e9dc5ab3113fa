"""Servers of different and changing speeds, over real sockets: the Web of the reproduction of 003, in its own process.

Site i answers at 127.3.i.1 as `s<i>.bandwidth.test`, at the speed that `speed_of` says: a third are slow, one in
fifteen is faster than all that the crawl is granted, a sixth change every five seconds. Pages have no links: what is
fetched is what was given, the paper's "predefined queue". robots.txt allows everything and is as long as a page: a
short one would be all latency, and teach a speed that the server does not have.

A page is sent in a piece every 50 ms: some 20 wake-ups a second for each transfer, a few percent of a core.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.base.errors import GossamerError
from gossamer.base.process import die_with_parent
from gossamer.webs.demo.server import listen

SITES: Final = 120
DOMAIN: Final = "bandwidth.test"
CHANGE: Final = 5.0
"""Seconds between changes of those that change."""
EVERY: Final = 0.05
LEAST: Final = 256
SEND_BUFFER: Final = 8_192
"""Bytes: what a crawler does not read is not sent either."""
_MEDIAN, _SPREAD, _SHORTEST, _LONGEST = 10_000, 0.6, 2_000, 30_000
_STOP_WITHIN: Final = 5.0


def speed_of(site: int, seconds: float) -> float:
    """Bytes a second that a server sends, so many seconds after it was started."""
    if site % 3 == 0:
        return 5_000.0 + 1_000 * (site // 3 % 9)
    if site % 15 == 1:
        return 250_000.0
    usual = 15_000.0 * 1.25 ** (site % 8)
    return usual / 4 if site % 6 == 5 and int(seconds / CHANGE) % 2 else usual


def latency_of(site: int) -> float:
    return 0.03 * (site % 5)


def host(site: int) -> str:
    return f"s{site}.{DOMAIN}"


def address(site: int) -> str:
    return f"127.3.{site}.1"


def page_of(site: int, path: str) -> bytes:
    """Always the same; lengths are log-normal, 10 KB in the middle. No two are alike."""
    dice = random.Random(f"{site}{path}")
    length = min(_LONGEST, max(_SHORTEST, int(_MEDIAN * dice.lognormvariate(0.0, _SPREAD))))
    words = dice.randbytes(4 * length // 9).hex(" ", 4)
    if path == "/robots.txt":
        return f"User-agent: *\nDisallow:\n# {words}\n".encode()
    return f"<html><title>{site} {path}</title><p>{words}</html>".encode()


@contextmanager
def served(sites: int = SITES, hurry: float = 1.0) -> Iterator[int]:
    """The port at which they listen; all are `hurry` times as fast. The process ends with the
    block, and with this process whatever happens."""
    source = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps([sites, hurry, os.getpid()])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise GossamerError("the servers did not start", "Their own message stands above.")
        yield int(line)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


# --- in the process -----------------------------------------------------------------------------------------------


async def _serve(sites: int, hurry: float) -> None:
    loop, begun, stop = asyncio.get_running_loop(), time.monotonic(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError
        ):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await _answer(head, writer, begun, hurry)
        writer.close()

    listening = listen([address(site) for site in range(sites)], 0)
    for each in listening:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    servers = [await asyncio.start_server(answer, sock=each) for each in listening]
    print(listening[0].getsockname()[1], flush=True)
    await stop.wait()
    for server in servers:
        server.close()


async def _answer(head: bytes, writer: asyncio.StreamWriter, begun: float, hurry: float) -> None:
    path = head.split(b" ", 2)[1].decode()
    site = int(head.lower().split(b"\r\nhost: s", 1)[1].split(b".", 1)[0])
    body, kind = page_of(site, path), b"plain" if path == "/robots.txt" else b"html"
    data = b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)
    await asyncio.sleep(latency_of(site))
    due = time.monotonic()
    while data:
        speed = hurry * speed_of(site, time.monotonic() - begun)
        piece, data = data[: max(LEAST, int(speed * EVERY))], data[max(LEAST, int(speed * EVERY)) :]
        due = max(due, time.monotonic() - EVERY) + len(piece) / speed
        await asyncio.sleep(due - time.monotonic())
        writer.write(piece)
        await writer.drain()


def main() -> None:
    sites, hurry, parent = json.loads(sys.argv[1])
    die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() == parent:
        asyncio.run(_serve(sites, hurry))


if __name__ == "__main__":
    main()
