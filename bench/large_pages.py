"""Latency of small pages while the same worker reads pages of 5 MB: the longest pause of its loop.

    python -m bench.large_pages [--small N] [--large N]

One worker, 50 requests open, one in ten of them for a large page. The server answers at once, so a small page takes as
long as the loop makes it wait. Prints the median, the 99th percentile and the maximum time from request to end, and the
worker's CPU time per small page.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.fetch import make_page
from gossamer.base.clock import RealClock
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config import Settings, override
from gossamer.web.pool.pool import Pool

OPEN = 50
SIZE = 5_000_000


def large() -> bytes:
    parts, size, number = [], 0, 0
    while size < SIZE:
        parts.append(make_page(number))
        size += len(parts[-1])
        number += 1
    return b"".join(parts)


class Serving(asyncio.Protocol):
    answers: tuple[bytes, bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for line in data.split(b"\r\n"):
            if line.startswith(b"GET "):
                self.transport.write(Serving.answers[b"/large" in line])


async def serve() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: %d"
    bodies = [gzip.compress(body, 6) for body in (make_page(1), large())]
    small, big = (head % len(body) + b"\r\n\r\n" + body for body in bodies)
    Serving.answers = small, big
    server = await asyncio.get_running_loop().create_server(Serving, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def assignment(number: int, is_large: bool, port: int) -> Assignment:
    site = number % OPEN
    url = f"http://site{site}.test:{port}/{'large' if is_large else 'small'}{number}.html".encode()
    return Assignment(number, Ask.PAGE, number, site, site, url, "127.0.0.1", port)


def measure(settings: Settings, port: int, small: int, large: int, shard: Path) -> None:
    pool = Pool(settings, 7, -1, shard, 1, RealClock())
    pool.assign([assignment(0, False, port)])
    while not len(pool.results(1.0)):
        pass
    seconds: list[float] = []
    begun, cpu, given, larges = time.monotonic(), pool.cpu_seconds(), 0, 0
    while len(seconds) < small:
        room = min(pool.free(), OPEN - pool.open)
        batch = []
        for _ in range(room):
            given += 1
            is_large = given % 10 == 0 and larges < large
            larges += is_large
            batch.append(assignment(given, is_large, port))
        pool.assign(batch)
        results = pool.results(1.0)
        assert (results.visits["outcome"] == Outcome.OK).all(), results.visits["outcome"]
        few = results.visits[results.visits["length"] < SIZE // 2]
        seconds += (few["end"] - few["start"]).tolist()
    cpu = pool.cpu_seconds() - cpu
    pool.stop(60)
    pool.close()
    middle, high, longest = 1000 * np.quantile(seconds, (0.5, 0.99, 1.0))
    print(f"{len(seconds)} small pages and {larges} of {SIZE / 1e6:.0f} MB in {time.monotonic() - begun:.1f} s")
    print(f"a small page: median {middle:.0f} ms, 99th percentile {high:.0f} ms, longest {longest:.0f} ms")
    print(f"CPU time of the worker: {1000 * cpu / len(seconds):.2f} ms per small page, the large ones included")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=3000)
    parser.add_argument("--large", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve())
        return
    changes = (
        "harvester.allow_private=true",
        "harvester.workers=1",
        "seeder.domains=test",
        "harvester.contact=a@b.c",
        "harvester.max_download=10MB",
        "gatherer.max_decoded=10MB",
    )
    settings = override(Settings(), changes)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], stdout=-1, env=environment)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            measure(settings, port, asked.small, asked.large, Path(folder))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
