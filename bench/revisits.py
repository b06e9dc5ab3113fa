"""Bytes and CPU of a re-visit: pages of 25 KB and 75 links that have not changed, and a server that has validators.

    python -m bench.revisits [PAGES]

The worker is a real one, over loopback HTTP: all pages are fetched once, then requested again on condition that they
have changed. The desk runs against a simulated Web, whose CPU time counts with it. A missed bound ends it with an
exit code that is not 0.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np

from bench.bounds import Figure, judge
from bench.fetch import DISTINCT, OPEN, assignment, make_page
from gossamer.base.clock import RealClock, VirtualClock
from gossamer.base.model import Assignment, Outcome, Validators, Visits
from gossamer.collection.journal.effects import Effects
from gossamer.collection.versions import versions_of
from gossamer.config import Settings, override
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.desk.account import Account
from gossamer.web.pool.pool import Pool
from gossamer.webs.simulated import Labels, Reply, SimulatedNames, SimulatedWeb

BYTES: Final = 600
"""On the line, both ways, for a page that has not changed."""
CPU: Final = 0.5
"""Milliseconds of CPU time, of worker and desk, for such a page."""
SITES: Final = 400
VALIDATORS: Final = b'ETag: "5f3c-62a1b2c3d4e5f"\r\nLast-Modified: Tue, 17 Nov 2026 10:00:00 GMT\r\n'
HEAD: Final = b"Date: Wed, 18 Nov 2026 10:00:00 GMT\r\nServer: bench\r\n" + VALIDATORS


class Serving(asyncio.Protocol):
    """Answers every condition with 304, and other requests with a page."""

    pages: list[bytes]
    asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if b"If-None-Match" in data:
            self.transport.write(b"HTTP/1.1 304 Not Modified\r\n" + HEAD + b"\r\n")
            return
        Serving.asked += 1
        body = Serving.pages[Serving.asked % DISTINCT]
        kind = b"Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(b"HTTP/1.1 200 OK\r\n" + HEAD + kind % len(body) + body)


async def serve() -> None:
    Serving.pages = [gzip.compress(make_page(i), 6) for i in range(DISTINCT)]
    server = await asyncio.get_running_loop().create_server(Serving, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def asked(pool: Pool, assignments: list[Assignment]) -> tuple[list[Visits], dict[int, bytes], float]:
    """The visits that come of these, the version of each page, and milliseconds of the worker's CPU for each."""
    found, versions, cpu, given, done = list[Visits](), dict[int, bytes](), pool.cpu_seconds(), OPEN, 0
    pool.assign(assignments[:OPEN])
    while done < len(assignments):
        results = pool.results(1.0)
        done += len(results)
        effects = Effects(1, 0.0, 0.0, visits=results.visits, visit_texts=results.texts)
        versions |= zip(results.visits["page"].tolist(), versions_of(effects), strict=False)
        found.append(results.visits)
        pool.assign(assignments[given : given + len(results)])
        given += len(results)
    return found, versions, 1_000 * (pool.cpu_seconds() - cpu) / done


def worker(pages: int) -> tuple[float, float, float, float]:
    """Bytes in and out of a re-visit; milliseconds of a first visit, and of a re-visit."""
    settings = override(Settings(), ["harvester.allow_private=true", "harvester.workers=1", "seeder.domains=test"])
    server = subprocess.Popen([sys.executable, "-m", "bench.revisits", "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port, both = int(server.stdout.readline()), int(Validators.BY_ETAG | Validators.BY_DATE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            pool = Pool(settings, 7, -1, Path(folder), 1, RealClock())
            asked(pool, [assignment(n, port) for n in range(1, 500)])
            pages_asked = [assignment(n, port) for n in range(1, pages + 1)]
            _, versions, full = asked(pool, pages_asked)
            again = [a._replace(version=versions[a.page], conditions=both) for a in pages_asked]
            found, _, cpu = asked(pool, again)
            pool.stop(5)
            pool.close()
    finally:
        server.kill()
        server.wait()
    visits = np.concatenate(found)
    assert (visits["outcome"] == Outcome.NOT_MODIFIED).all(), visits["outcome"]
    return float(visits["received"].mean()), float(visits["sent"].mean()), full, cpu


def desk(pages: int) -> float:
    """Milliseconds of the desk's CPU for a re-visit."""
    per_site = pages // SITES
    settings = override(
        Settings(),
        ["collection.max_pages=100000", "collection.max_sites=1000", "manager.min_period=20s", "harvester.wait=1s"],
    )

    def reply(url: str) -> Reply:
        root, _, name = url.rpartition("/")
        if not name.isdigit() and name:
            return Reply(outcome=Outcome.NOT_FOUND, status=404)
        links = [f"{root}/{n}" for n in range(per_site)] if not name else ()
        return Reply(links=links, digest=hash(url) & (2**62 - 1) | 1, labels=Labels(etag='"5f3c-62a1b2c3d4e5f"'))

    unsynced = patch.multiple(os, fsync=lambda fd: None, fdatasync=lambda fd: None)
    with tempfile.TemporaryDirectory() as folder, unsynced:
        clock = VirtualClock()
        store, state, _ = open_collection(Path(folder), settings, clock)
        web, names = SimulatedWeb(reply, clock, state.seed), SimulatedNames(lambda host: f"192.0.2.{hash(host) % 200}")
        crawl = Crawl(state, store, web, names, clock, Bounds(seconds=3_000.0, patience=1_200.0))
        crawl.plant([f"http://site{n}.example/" for n in range(SITES)])
        outcomes, fetched, begun = state[Account].outcomes, (per_site + 1) * SITES, 0.0
        while outcomes[Outcome.NOT_MODIFIED] < fetched:
            crawl.turn()
            if not begun and outcomes[Outcome.NOT_MODIFIED] >= fetched // 10:
                begun, before = time.process_time(), int(outcomes.sum())
        spent = time.process_time() - begun
        crawl.planner.close()
        store.close()
        return 1_000 * spent / (int(outcomes.sum()) - before)


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    received, sent, full, again = worker(pages)
    of_desk = desk(2 * pages)
    print(f"worker: {full:.3f} ms for a first visit, {again:.3f} ms for a re-visit; desk: {of_desk:.3f} ms")
    print(f"{received:.0f} bytes come, {sent:.0f} go")
    judge(
        [
            Figure("bytes of a re-visit, both ways", received + sent, "", BYTES),
            Figure("CPU of a re-visit", again + of_desk, "ms", CPU),
        ]
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        main()
