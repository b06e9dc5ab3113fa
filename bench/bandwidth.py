"""The bandwidth contract, over real sockets: `python -m bench.bandwidth [CASE ...]`, all cases in about eight minutes.

A Web of servers of different speeds on loopback, a third of them slow, some changing; each crawl is `gossamer crawl
--bandwidth L`. What its workers have read from their sockets is sampled every 5 ms from the page that they share
(`web/limit/bucket.py`), by this process, and must stay within

    every 1 s window     L + max(5 %, 64 KiB)
    every 10 s window    L + 1 %
    while there is work  at least 95 % of L used (aim 98 %)

The count itself is checked at the server: what it sent is read, or lies in buffers. Cases: limits from 2 KB/s to
10 MB/s, plain and over TLS; one in which a worker is killed (its successor goes on), and one in which the desk is, and
started again: windows run across the gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import multiprocessing
import os
import random
import ssl
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bench.bounds import Figure, judge
from gossamer import config
from gossamer.base.units import Speed
from gossamer.config import Settings, override
from gossamer.web.limit.bucket import CELLS_AT, SIZE
from gossamer.webs.demo.certificates import make_certificate
from tests.support.crawling import Crawling, kill

SITES: Final = 300
SAMPLE: Final = 0.005
SETTLED: Final = 3.0
"""Seconds after the first byte from which use is measured: robots.txt is small, and of each site."""
WAITS: Final = (
    "harvester.wait=200ms",
    "harvester.wait_large=200ms",
    "harvester.address_wait=0s",
    "harvester.allow_private=true",
    "collection.max_pages=200000",
    "collection.max_sites=1000",
    "seeder.sitemaps=false",
    "harvester.soft_404=false",
    "seeder.domains=bench.test",
    "harvester.contact=bench@example.org",
    "seeder.ports=*",
)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    limit: str
    seconds: float = 15.0
    tls: bool = False
    kill: str = ""
    """"worker" or "desk", at half time."""

    @property
    def speed(self) -> int:
        return int(Speed.parse(self.limit))


CASES: Final = (
    Case("2KB/s", "2KB/s", 35.0),
    Case("20KB/s", "20KB/s", 35.0),
    Case("200KB/s", "200KB/s"),
    Case("2MB/s", "2MB/s"),
    Case("10MB/s", "10MB/s"),
    Case("2KB/s, TLS", "2KB/s", 35.0, tls=True),
    Case("20KB/s, TLS", "20KB/s", 35.0, tls=True),
    Case("200KB/s, TLS", "200KB/s", tls=True),
    Case("2MB/s, TLS", "2MB/s", tls=True),
    Case("10MB/s, TLS", "10MB/s", tls=True),
    Case("2MB/s, a worker killed", "2MB/s", kill="worker"),
    Case("2MB/s, the desk killed", "2MB/s", 24.0, kill="desk"),
)


# --- the servers --------------------------------------------------------------------------------------------------


def speed_of(site: int, now: float) -> float:
    """Bytes a second that a server sends at most: a third are slow, a sixth change every five seconds."""
    fast = float(50_000 << (site % 7))
    if site % 3 == 0:
        return 3_000.0 + 1_000 * (site % 8)
    return fast if site % 6 != 1 or int(now / 5) % 2 else fast / 16


def page_of(site: int, number: int) -> bytes:
    """Links to two more; sizes as in the HTTP Archive: half below 35 KB, nine tenths below 152 KB."""
    dice = random.Random(site * 100_003 + number)
    links = "".join(f'<a href="/{2 * number + i}">page {2 * number + i}</a> ' for i in (1, 2))
    words = dice.randbytes(int(4 * min(200_000.0, dice.lognormvariate(8.266, 1.147)))).hex(" ", 4)
    return f"<html><title>{site} {number}</title>{links}<p>{words}</html>".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Any) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            site = int(head.lower().split(b"host: s")[1].split(b".")[0])
            if path == "/robots.txt":
                await _send(writer, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", site, sent)
                continue
            body = page_of(site, int(path[1:] or 0))
            answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            await asyncio.sleep(0.02 * (site % 5))
            await _send(writer, answer, site, sent)
    writer.close()


async def _send(writer: asyncio.StreamWriter, data: bytes, site: int, sent: Any) -> None:
    done = 0
    while done < len(data):
        speed = speed_of(site, time.monotonic())
        piece = data[done : done + max(512, int(speed * 0.05))]
        writer.write(piece)
        await writer.drain()
        done += len(piece)
        sent.value += len(piece)
        await asyncio.sleep(len(piece) / speed)


def serve(port: Any, sent: Any, certificate: str, key: str) -> None:
    async def run() -> None:
        context = None
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate, key)
        answer = await asyncio.start_server(
            lambda r, w: _answer(r, w, sent), "0.0.0.0", 0, ssl=context, backlog=1000, limit=1 << 16
        )
        port.value = answer.sockets[0].getsockname()[1]
        await answer.serve_forever()

    asyncio.run(run())


# --- what was read ------------------------------------------------------------------------------------------------


@dataclass
class Log:
    """Bytes read so far, at times: of several crawls after one another."""

    before_times: list[float] = field(default_factory=list)
    """Right before each sample was taken, and in `times` right after: this process may be stopped in between."""
    times: list[float] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    before: int = 0
    """Of crawls that have ended."""

    def sample(self, crawling: Crawling, seconds: float) -> None:
        """While it runs, for so long from its first byte on."""
        path, until = None, time.monotonic() + seconds + 60
        while path is None and not crawling.over:
            path = _line_of(crawling.pid)
            time.sleep(SAMPLE)
        assert path is not None, crawling.ended().errors
        begun = 0.0
        with open(path, "rb") as file, mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ) as memory:
            cells = np.frombuffer(memory, np.int64)[CELLS_AT:]
            while not crawling.over and time.monotonic() < until:
                self.before_times.append(time.monotonic())
                count = int(cells.sum())
                self.times.append(time.monotonic())
                self.read.append(self.before + count)
                if count and not begun:
                    begun, until = self.times[-1], self.times[-1] + seconds
                time.sleep(SAMPLE)
            del cells
        self.before = self.read[-1]

    def arrays(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        return np.array(self.times), np.array(self.read)

    def most(self, window: float) -> int:
        """Bytes within any window of so many seconds."""
        times, read = self.arrays()
        last = np.searchsorted(times, np.array(self.before_times) + window, side="right") - 1
        return int((read[np.maximum(last, np.arange(len(last)))] - read).max())

    def used(self, since: float) -> float:
        """Bytes a second from so many seconds after the first byte to the end."""
        times, read = self.arrays()
        first = int(np.searchsorted(times, times[np.argmax(read > 0)] + since))
        return float((read[-1] - read[first]) / (times[-1] - times[first]))


def _line_of(pid: int) -> str | None:
    folder = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        for each in folder.iterdir():
            with contextlib.suppress(OSError):
                if "gossamer-rate-limiter" in os.readlink(each):
                    return str(each)
    return None


def measure(case: Case, folder: Path) -> tuple[Log, int, dict[str, Any]]:
    """What was read, what was sent, and the standing of the crawl at the end."""
    certificate = make_certificate([f"s{i}.bench.test" for i in range(SITES)], folder) if case.tls else None
    context = multiprocessing.get_context("spawn")
    port, sent = context.Value("i", 0), context.Value("q", 0)
    paths = (str(certificate.own), str(certificate.key)) if certificate else ("", "")
    server = context.Process(target=serve, args=(port, sent, *paths), daemon=True)
    server.start()
    try:
        return _crawled(case, folder, port, sent, str(certificate.trusted) if certificate else "")
    finally:
        server.terminate()
        server.join()


def _crawled(case: Case, folder: Path, port: Any, sent: Synchronized[int], trusted: str) -> tuple[Log, int, Any]:
    while not port.value:
        time.sleep(0.01)
    resolve = {f"s{i}.bench.test": f"127.0.{1 + i // 250}.{1 + i % 250}:{port.value}" for i in range(SITES)}
    settings = override(Settings(), [*WAITS, f"harvester.resolve={_toml(resolve)}", f'harvester.trusted="{trusted}"'])
    toml, seeds = folder / "web.toml", folder / "seeds"
    toml.write_text(config.dump(settings))
    scheme = "https" if case.tls else "http"
    seeds.write_text("".join(f"{scheme}://s{i}.bench.test/\n" for i in range(SITES)))
    log = Log()
    arguments = ("--config", toml, "--seeds", seeds, "--bandwidth", case.limit, "--json", "--workers", "2")
    halves = (case.seconds / 2, case.seconds / 2) if case.kill else (case.seconds,)
    for at, seconds in enumerate(halves):
        last = at == len(halves) - 1
        if case.kill != "worker" or at == 0:
            crawling = Crawling(folder / "crawl", arguments, {})
        log.before = 0 if case.kill == "worker" else log.before
        log.sample(crawling, seconds)
        if case.kill == "worker" and not last:
            kill(crawling.workers()[0])
        elif not last:
            crawling.kill()
            crawling.process.wait()
        else:
            crawling.signal(15)
            ended = crawling.ended()
            assert "Traceback" not in ended.errors, ended.errors
            figures = ended.figures if ended.output else {"errors": ended.errors}
            return log, sent.value, figures
    raise AssertionError


def _toml(table: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in table.items()) + " }"


def _desk(said: dict[str, Any]) -> float:
    """Milliseconds of the desk's processor time a request, start and stop included."""
    requests = int(said.get("visits", 0)) + int(said.get("robots_visits", 0))
    return 1000 * float(said.get("desk_seconds", 0.0)) / max(1, requests)


def main(names: list[str]) -> None:
    figures: list[Figure] = []
    head = f"{'case':<26}{'used':>8}{'1 s':>9}{'10 s':>9}{'pages':>7}{'inversions':>12}{'capped':>8}{'read/sent':>11}"
    print(f"{head}{'desk':>9}", flush=True)
    for case in CASES:
        if names and case.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="gossamer-bandwidth-") as folder:
            log, sent, said = measure(case, Path(folder))
        second, ten, used = log.most(1.0) / case.speed, log.most(10.0) / case.speed / 10, log.used(SETTLED) / case.speed
        shown = said.get("bandwidth") or {"inversions": 0, "capped": 0}
        print(
            f"{case.name:<26}{used:>8.1%}{second:>9.1%}{ten:>9.2%}{said.get('stored', 0):>7}{shown['inversions']:>12}"
            f"{shown['capped']:>8}{log.read[-1] / max(1, sent):>11.3f}{_desk(said):>6.2f} ms",
            flush=True,
        )
        figures += [
            Figure(f"{case.name}: most in 1 s", second, "of L", 1 + max(0.05, 65_536 / case.speed)),
            Figure(f"{case.name}: most in 10 s", ten, "of L", 1.01),
        ]
        if case.kill != "desk":
            figures.append(Figure(f"{case.name}: used", used, "of L", 0.95, at_least=True))
    judge(figures)


if __name__ == "__main__":
    main(sys.argv[1:])
