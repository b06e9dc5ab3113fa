"""One crawl with a given number of open connections, against slow servers.

    python -m bench.beside.connected CONNECTIONS [SECONDS]

Each site has its own address (127.8.x.y) and answers after CONNECTIONS / RATE seconds: about RATE pages per second
arrive for any number of open connections, so that only this number differs. Prints a JSON object: CPU per page from the
second third of the time on, how long the loop did not poll (each turn, from the results to the next wait), and memory
of all processes over time.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from gossamer.observe.statistics import Statistics

RATE: Final = 300
PAGES: Final = 60
"""Pages per site."""
SIZE: Final = 25_000
LINKS: Final = 75
_WORDS: Final = "the quick brown fox jumps over a lazy dog while rain falls on hills and rivers rise "


def address(number: int) -> str:
    return f"127.8.{number // 250}.{number % 250 + 1}"


def body(number: int) -> bytes:
    """A page with its own text that links to most other pages of its site."""
    links = "".join(f'<li><a href="/p/{(number * 7 + k) % PAGES}.html">entry {k}</a>\n' for k in range(LINKS))
    turn = number * 13 % len(_WORDS)
    text = (_WORDS[turn:] + _WORDS[:turn]) * (SIZE // len(_WORDS))
    return f"<html><head><title>Page {number}</title></head><body><p>{text[: SIZE - len(links)]}</p>{links}".encode()


class Slow(asyncio.Protocol):
    """HTTP/1.1, one request at a time, answered after a delay."""

    def __init__(self, latency: float) -> None:
        self.latency, self.read = latency, b""
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.read += data
        if self.read.endswith(b"\r\n\r\n"):
            target = self.read.split(b" ", 2)[1].decode()
            self.read = b""
            soon = target == "/robots.txt" or target.startswith("/sitemap")
            asyncio.get_running_loop().call_later(0.0 if soon else self.latency, self.answer, target)

    def answer(self, target: str) -> None:
        number = target.removeprefix("/p/").removesuffix(".html")
        found = ANSWERS.get("0" if target == "/" else number, b"")
        status = "200 OK" if found else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(found)}\r\n\r\n"
        self.transport.write(head.encode() + found)


ANSWERS: dict[str, bytes] = {}


async def serve(sites: int, latency: float) -> None:
    """Serves until standard input ends."""
    ANSWERS.update({str(n): body(n) for n in range(PAGES)})
    loop = asyncio.get_running_loop()
    port = 0
    for i in range(sites):
        server = await loop.create_server(lambda: Slow(latency), address(i), port)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


class Watcher:
    """Samples the crawl once per second."""

    def __init__(self) -> None:
        self.next, self.seen = 0.0, list[dict[str, float]]()

    def due(self) -> bool:
        return time.monotonic() >= self.next

    def show(self, statistics: Statistics) -> None:
        from bench.beside.watch import memory

        self.next = time.monotonic() + 1.0
        self.seen.append(
            {
                "seconds": statistics.run.seconds,
                "open": statistics.run.resources.open,
                "run_visits": statistics.run.visits,
                "cpu_seconds": statistics.run.resources.cpu_seconds,
                "memory": memory(os.getpid()),
            }
        )

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        print(line, file=sys.stderr)


def crawl(connections: int, seconds: float, folder: Path, port: int, sites: int) -> dict[str, Any]:
    from gossamer.crawler.loop import Crawl
    from gossamer.crawler.run import run
    from gossamer.crawler.start import CrawlRequest

    pauses: list[tuple[float, float]] = []
    begun: list[tuple[float, float]] = []
    absorb = Crawl.absorb

    def timed(self: Crawl, *given: Any) -> Any:
        """The part of a turn after the wait for results."""
        begun[:] = [(time.perf_counter(), time.thread_time())]
        return absorb(self, *given)

    turn = Crawl.turn

    def whole(self: Crawl) -> None:
        turn(self)
        clock, cpu = begun[0]
        pauses.append((time.perf_counter() - clock, time.thread_time() - cpu))

    Crawl.absorb, Crawl.turn = timed, whole  # type: ignore[method-assign, assignment]
    watcher = Watcher()
    changes = (
        "harvester.allow_private=true",
        f"harvester.connections={connections}",
        "harvester.wait=50ms",
        "harvester.wait_large=50ms",
        "harvester.address_wait=50ms",
        "harvester.soft_404=false",
        f"harvester.first_byte_timeout={60 + 2 * connections // RATE}s",
    )
    plea = CrawlRequest(
        folder / "crawl", tuple(f"http://{address(i)}:{port}/" for i in range(sites)), changes=changes, seconds=seconds
    )
    report = run(plea, watcher)
    end, seen = report.crawling.run, watcher.seen
    middle = next((s for s in seen if s["seconds"] >= seconds / 3), seen[-1])
    visits = end.visits - middle["run_visits"]
    by_clock, of_cpu = 1e3 * np.array(pauses).T
    thirds = [[s["memory"] for s in seen if a * seconds / 3 <= s["seconds"] < (a + 1) * seconds / 3] for a in range(3)]
    return {
        "connections": connections,
        "open": float(np.mean([s["open"] for s in seen if s["seconds"] >= seconds / 3])),
        "ms": 1e3 * (end.resources.cpu_seconds - middle["cpu_seconds"]) / max(1, visits),
        "rate": visits / max(1e-9, end.seconds - middle["seconds"]),
        "turns": len(pauses),
        "pause_p99.9": float(np.quantile(by_clock, 0.999)),
        "pause_longest": float(by_clock.max()),
        "pause_cpu": float(of_cpu.max()),
        "memory": [float(np.max(third)) if third else 0.0 for third in thirds],
    }


def main(connections: int, seconds: float) -> dict[str, Any]:
    sites = max(100, connections * 11 // 10)
    command = [sys.executable, "-m", "bench.beside.connected", "serve", str(sites), str(connections / RATE)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            return crawl(connections, seconds, Path(folder), port, sites)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if sys.argv[1] == "serve":
        asyncio.run(serve(int(sys.argv[2]), float(sys.argv[3])))
    else:
        print(json.dumps(main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 45.0)))
