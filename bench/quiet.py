"""What a crawl costs that mostly waits, and whether its requests are on time: `python -m bench.quiet [--seconds 30]`

750 sites on as many loopback addresses, each asked every 15 seconds: 50 pages per second, spread evenly, since each
site answers its robots.txt at another moment. Then 50 sites that must not be asked for an hour: nothing is due.

The share of a core is that of the desk, and that of all processes while nothing is due. A request is late by the time
from its site's last answer to it, minus the wait, as the server sees it. Longer ticks must not make it later.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import signal
import socket
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from gossamer.config.settings import HarvesterSettings, Settings
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest, LocalWeb
from gossamer.observe.statistics import Statistics

BUSY: Final = 2.0
IDLE: Final = 0.5
"""Bounds in per cent of a core."""
LATE: Final = 0.01
"""Bound in seconds, of 99 of 100 requests."""
SITES, WAIT = 750, 15.0
NOTHING_DUE: Final = 50
LINKS: Final = 75
WORDS: Final = b"<p>" + b"the quiet river carries old letters to the market " * 10 + b"</p>\n"

Times = dict[str, list[tuple[float, float]]]
"""By host: when each request came, and when its answer was written."""


def page(path: bytes) -> bytes:
    """A page of about 25 KB; the links of all pages of a site lead to the same thousand pages."""
    number = int(path[2:] or 0) if path.startswith(b"/p") else 0
    links = b"".join(b'<li><a href="/p%d">page %d</a>\n' % (n, n) for n in range(number + 1, number + LINKS + 1))
    return b"<title>Page %d</title><ul>%s</ul>" % (number, links) + WORDS * 40


class Server:
    """A Web server for all sites, which notes when it is asked."""

    def __init__(self) -> None:
        self.times: Times = defaultdict(list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                came = time.monotonic()
                path = head.split(b" ", 2)[1]
                host = head.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0].partition(b":")[0].decode()
                if path == b"/robots.txt":
                    await asyncio.sleep(WAIT * (int(host[4:].partition(".")[0]) % SITES) / SITES)
                    status, body = b"404 Not Found", b""
                else:
                    status, body = b"200 OK", page(path)
                answered = time.monotonic()
                head = b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\n" % status
                writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
                self.times[host].append((came, answered))
        writer.close()

    async def run(self, addresses: list[str], wire: Connection) -> None:
        port = 0
        for address in addresses:
            listening = socket.create_server((address, port), backlog=16)
            port = listening.getsockname()[1]
            await asyncio.start_server(self.serve, sock=listening)
        wire.send(port)
        await asyncio.to_thread(wire.recv)
        wire.send(dict(self.times))


def _serve(addresses: list[str], wire: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(Server().run(addresses, wire))


class Watched:
    """Takes the statistics when the measured time begins and when it ends."""

    def __init__(self, first: float, last: float) -> None:
        """Seconds after the start of the crawl."""
        self._at = [first, last]
        self._begun = time.monotonic()
        self.taken: list[tuple[float, Statistics]] = []

    def due(self) -> bool:
        return bool(self._at) and time.monotonic() - self._begun >= self._at[0]

    def show(self, statistics: Statistics) -> None:
        self._at.pop(0)
        self.taken.append((time.monotonic(), statistics))

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


def crawl(sites: int, wait: float, first: float, last: float) -> tuple[Watched, Times]:
    """Crawls so many sites, and measures between two moments."""
    names = {f"site{n}.example": f"127.1.{n // 250}.{n % 250 + 1}" for n in range(sites)}
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(list(names.values()), theirs))
    server.start()
    theirs.close()
    port = ours.recv()

    @contextmanager
    def served(say: object) -> Iterator[LocalWeb]:
        resolve = {name: f"{address}:{port}" for name, address in names.items()}
        settings = Settings(harvester=HarvesterSettings(resolve=resolve, allow_private=True))
        yield LocalWeb(settings, tuple(f"http://{name}/" for name in names))

    waits = (f"harvester.wait={wait:g}s", f"harvester.wait_large={wait:g}s")
    changes = (*waits, "seeder.sitemaps=false", "harvester.contact=bench@example.org")
    watched = Watched(first, last)
    try:
        with tempfile.TemporaryDirectory() as folder:
            run(
                CrawlRequest(Path(folder) / "crawl", serve=served, changes=changes, seconds=last, patience=1e6), watched
            )
        ours.send(None)
        times: Times = ours.recv()
    finally:
        server.terminate()
        server.join()
    return watched, times


def late(times: Times, since: float) -> list[float]:
    """Seconds by which each request was later than its wait, sorted."""
    pairs = [pair for asked in times.values() for pair in pairwise(asked)]
    return sorted(came - before - WAIT for (_, before), (came, _) in pairs if came > since)


def figures(seconds: float) -> Iterator[Figure]:
    watched, times = crawl(SITES, WAIT, 2 * WAIT, 2 * WAIT + seconds)
    (begun, before), (ended, after) = watched.taken
    took, visits = ended - begun, after.run.visits - before.run.visits
    used, first = after.run.resources, before.run.resources
    print(f"{visits / took:.0f} pages per second")
    print(f"all processes: {100 * (used.cpu_seconds - first.cpu_seconds) / took:.2f} % of a core")
    lateness = late(times, begun)
    print(f"late: median {1000 * lateness[len(lateness) // 2]:.1f} ms, longest {1000 * lateness[-1]:.1f} ms")
    yield Figure("the desk", 100 * (used.desk_seconds - first.desk_seconds) / took, "% of a core", BUSY)
    yield Figure("99 of 100 requests are late by", 1000 * lateness[len(lateness) * 99 // 100], "ms", 1000 * LATE)
    yield Figure("the earliest request is late by", 1000 * lateness[0], "ms", 0.0, at_least=True)
    watched, _ = crawl(NOTHING_DUE, 3600.0, WAIT + 5, WAIT + 5 + seconds)
    (begun, before), (ended, after) = watched.taken
    used, first = after.run.resources, before.run.resources
    idle = 100 * (used.cpu_seconds - first.cpu_seconds) / (ended - begun)
    yield Figure("all processes, with nothing due", idle, "% of a core", IDLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to measure")
    judge(figures(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
