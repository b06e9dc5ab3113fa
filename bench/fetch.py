"""CPU of a worker for a page of 25 KB and 75 links over loopback HTTP, everything on: fetch, decode, gather, WARC.

    python -m bench.fetch [--pages N] [--profile]

Prints milliseconds of the worker's CPU a page (bound: 0.9), and pages a second. `--profile` runs the worker's parts in
this process under cProfile instead, to show where the time goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gzip
import os
import pstats
import random
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gossamer.base.clock import RealClock
from gossamer.base.disk import Appender
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config import Settings, override
from gossamer.gatherer.reader import Reader
from gossamer.web.archive.archive import Archive
from gossamer.web.fetch.fetch import Fetcher
from gossamer.web.pool.pool import Pool

DISTINCT = 50
OPEN = 50
TEXT = """the of and to in for is on that by this with you it not or be are from at as your all have new more an was we
will home can us about if page my has search free but our one other do no information time they site he up may what
which their news out use any there see only so his when contact here business who web also now help get view"""
WORDS = TEXT.split()


def make_page(number: int) -> bytes:
    dice = random.Random(number)

    def text(words: int) -> str:
        return " ".join(
            dice.choice(WORDS) + ("" if dice.random() < 0.7 else str(dice.randrange(999))) for _ in range(words)
        )

    parts = [
        f"<html><head><title>{text(6)}</title><meta charset=utf-8><link rel=stylesheet href=/style.css></head><body>"
    ]
    for i in range(75):
        target = f"/section{dice.randrange(40)}/{dice.choice(WORDS)}-{dice.randrange(10**6)}.html"
        parts.append(
            f'<div class="item i{i}"><p>{text(40)} <a href="{target}" title="{text(3)}">{text(4)}</a>.</p></div>\n'
        )
    return ("".join(parts) + "</body></html>").encode()


def answers() -> list[bytes]:
    bodies = [gzip.compress(make_page(i), 6) for i in range(DISTINCT)]
    head = b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 16 Nov 2026 10:00:00 GMT\r\n"
    head += b"Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    return [head % len(body) + body for body in bodies]


class Serving(asyncio.Protocol):
    answers: list[bytes]
    asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            Serving.asked += 1
            self.transport.write(Serving.answers[Serving.asked % DISTINCT])


async def serve() -> None:
    Serving.answers = answers()
    server = await asyncio.get_running_loop().create_server(Serving, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def assignment(number: int, port: int) -> Assignment:
    """Ten pages to a site, one after the other, as in a long turn."""
    site = number % OPEN
    url = f"http://site{site}.test:{port}/page{number}.html".encode()
    return Assignment(number, Ask.PAGE, number, site, site, url, "127.0.0.1", port)


def measure(settings: Settings, port: int, pages: int, shard: Path) -> None:
    pool = Pool(settings, 7, -1, shard, 1, RealClock())
    pool.assign([assignment(i, port) for i in range(1, OPEN + 1)])
    given, done, received, links = OPEN, 0, 0, 0
    warm_cpu, warm_at = 0.0, 0.0
    while done < pages:
        results = pool.results(1.0)
        done += len(results)
        assert (results.visits["outcome"] == Outcome.OK).all(), results.visits
        received += int(results.visits["length"].sum())
        links += int(results.visits["links"].sum())
        more = min(pool.free(), len(results), pages + OPEN - given)
        pool.assign([assignment(given + i + 1, port) for i in range(more)])
        given += more
        if not warm_at and done >= pages // 10:
            warm_cpu, warm_at, warm_done = pool.cpu_seconds(), time.monotonic(), done
    cpu, seconds = pool.cpu_seconds() - warm_cpu, time.monotonic() - warm_at
    pool.stop(5)
    pool.close()
    counted = done - warm_done
    print(f"{received / done / 1000:.1f} KB and {links / done:.1f} links a page, {counted} pages")
    print(f"worker CPU {cpu / counted * 1000:.3f} ms a page (bound 0.9), {counted / seconds:.0f} pages/s of one worker")


def profile(settings: Settings, port: int, pages: int, shard: Path) -> None:
    epoll = select.epoll()
    fetcher, reader = Fetcher(settings.harvester, epoll), Reader(settings, 7)
    (shard / "warc").mkdir()
    reader.archive = Archive(1, Appender(shard / "warc" / "a.warc.gz"), settings.gatherer.max_stored)
    profiler = cProfile.Profile()
    started, done = 0, 0
    cpu = time.process_time()
    profiler.enable()
    while done < pages:
        while len(fetcher) < OPEN:
            started += 1
            fetcher.start(assignment(started, port))
        for fetched in fetcher.act(epoll.poll(fetcher.timeout())):
            reader.result(fetched)
            done += 1
    profiler.disable()
    print(f"{(time.process_time() - cpu) / pages * 1000:.3f} ms a page under the profiler")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve())
        return
    settings = override(
        Settings(),
        ["harvester.allow_private=true", "harvester.workers=1", "seeder.domains=test", "harvester.contact=a@b.c"],
    )
    server = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            (profile if asked.profile else measure)(settings, port, asked.pages, Path(folder))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
