"""Bytes and CPU of a re-visit: pages of 25 KB and 75 links, over loopback HTTP, whose server has validators.

    python -m bench.revisits [SITES]

All pages are fetched once; then they are requested again, on condition that they have changed, and have not. Some
of these requests are made in full, to test the server; their cost is taken from the first visits. The server runs in a
process of its own, which is not counted. A missed bound ends it with a nonzero exit code.
"""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.bounds import Figure, judge
from bench.fetch import WORDS
from gossamer import config
from gossamer.crawl.run import run
from gossamer.crawl.start import CrawlRequest
from gossamer.observe.statistics import Statistics
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find

PAGES: Final = 76
"""Pages of each site: a root, and those that it links to."""
BYTES: Final = 600
"""On the line, both ways, for a page that has not changed."""
CPU: Final = 0.5
"""Milliseconds of CPU time, of worker and desk, for such a page."""
ETAG: Final = '"5f3c-62a1b2c3d4e5f"'
MODIFIED: Final = "Tue, 17 Nov 2026 10:00:00 GMT"


def page(host: str, path: str) -> bytes:
    """A page of 25 KB with 75 links."""
    words = [WORDS[(len(host) * i + hash_of(host + path) // (i + 1)) % len(WORDS)] for i in range(3_400)]
    parts = [f"<html><head><title>{host}{path}</title><meta charset=utf-8></head><body>"]
    for i in range(PAGES - 1):
        text = " ".join(words[45 * i : 45 * (i + 1)])
        parts.append(f'<div class="item"><p>{text} <a href="/{i}.html">{words[i]} {i}</a>.</p></div>\n')
    return ("".join(parts) + "</body></html>").encode()


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode(), "big") % 1_000_003


async def serve() -> None:
    """Serves any host; prints the port."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(answer(head.decode("latin-1")))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def answer(head: str) -> bytes:
    lines = head.split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    path = lines[0].split(" ")[1]
    validators = f"ETag: {ETAG}\r\nLast-Modified: {MODIFIED}\r\nDate: {MODIFIED}\r\nServer: bench\r\n"
    if path == "/robots.txt":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    if fields.get("if-none-match") == ETAG:
        return f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
    body = gzip.compress(page(fields["host"], path), 1)
    kind = "Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"
    return f"HTTP/1.1 200 OK\r\n{validators}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Moments:
    """Keeps the statistics when half of the pages were fetched, when all were, and when all were requested again."""

    def __init__(self, pages: int) -> None:
        self._at = [pages // 2, pages, round(1.2 * pages), round(1.9 * pages)]
        self.found: list[Statistics] = []

    def due(self) -> bool:
        return len(self.found) < len(self._at)

    def show(self, statistics: Statistics) -> None:
        if statistics.requests.visits >= self._at[len(self.found)]:
            self.found.append(statistics)

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


def cost(before: Statistics, after: Statistics) -> tuple[int, float, int]:
    """Visits, milliseconds of CPU, and visits of pages that have not changed, between two moments."""
    unchanged = [s.requests.outcomes.get("not_modified", 0) for s in (before, after)]
    cpu = after.run.resources.cpu_seconds - before.run.resources.cpu_seconds
    return after.run.visits - before.run.visits, 1_000 * cpu, unchanged[1] - unchanged[0]


def main() -> None:
    sites = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    moments = Moments(sites * PAGES)
    server = subprocess.Popen([sys.executable, "-m", "bench.revisits", "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline())
    try:
        with tempfile.TemporaryDirectory() as folder:
            collection = Path(folder) / "crawl"
            waits = ("harvester.wait=20ms", "harvester.wait_large=20ms", "harvester.address_wait=0s")
            told = (f'harvester.resolve={{"*" = "127.0.0.1:{port}"}}', "manager.min_period=10s", *waits)
            changes = (*told, "harvester.allow_private=true", "harvester.domain_wait=0s", "seeder.sitemaps=false")
            seeds = tuple(f"http://site{i}.example/" for i in range(sites))
            report = run(CrawlRequest(collection, seeds=seeds, changes=changes, seconds=120.0), moments)
            assert report.statistics.requests.outcomes.get("not_modified"), report.statistics.requests.outcomes
            database = Database(find(collection), config.load(collection / "crawl.toml"))
            (line,) = database.query(
                "select avg(received + sent), avg(received), avg(sent) from visits where outcome = 'not_modified'"
            ).rows
    finally:
        server.kill()
        server.wait()
    first, _, second, last = moments.found
    full_visits, full_cpu, _ = cost(first, moments.found[1])
    visits, cpu, unchanged = cost(second, last)
    full = full_cpu / full_visits
    print(f"{visits} re-visits, {unchanged} of pages that have not changed; {line[1]:.0f} bytes in, {line[2]:.0f} out")
    print(f"a first visit takes {full:.2f} ms")
    judge(
        [
            Figure("bytes of a re-visit, both ways", float(line[0]), "", BYTES),
            Figure("CPU of a re-visit", (cpu - full * (visits - unchanged)) / unchanged, "ms", CPU),
        ]
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main()
