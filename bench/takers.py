"""Servers that only take, over real sockets: `python -m bench.takers [SECONDS]`, about six minutes.

Forty good sites fill a line of 1 MB/s. Then twelve more sites are on the same line, whose every page is a few bytes of
a body and a chunk extension that never ends. Good sites must get at least 80 % of the pages that they get without them.
Cases of the twelve:

    only      a chunk extension without end, and no body: an error each time
    mixed     a good page, then such a one, and so on: no error comes often enough to slow the site down
    a fifth   a body with four times as much framing: a page each time, cut at the largest download

A case is compared with a run without the twelve right before it: other programs slow both. A pair in which crawl and
servers waited long for a processor measures the machine and not the line: it is noted, and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bench.bandwidth import WAITS, _toml
from bench.bounds import Figure, judge
from gossamer import config
from gossamer.config import Settings, override
from tests.support.crawling import Crawling

GOOD: Final = 40
TAKERS: Final = 12
LIMIT: Final = "1MB/s"
SECONDS: Final = 60.0
CASES: Final = ("only", "mixed", "a fifth")
ATTEMPTS: Final = 3
STARVED: Final = 0.3
"""Share of the time in which a process of the machine waited for a processor: above it, a pair is tried again."""
_PRESSURE: Final = Path("/proc/pressure/cpu")
_EXTENSION: Final = b";" + b"x" * 8_191
_FIFTH: Final = b"400;" + b"x" * 4_080 + b"\r\n" + b"y" * 1_024 + b"\r\n"
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def page_of(site: int, number: int, links: int) -> bytes:
    dice = random.Random(site * 100_003 + number)
    anchors = "".join(f'<a href="/{links * number + i}">page</a> ' for i in range(1, links + 1))
    return f"<html><title>{site} {number}</title>{anchors}<p>{dice.randbytes(12_000).hex(' ', 4)}</html>".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, case: str) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            site = int(head.lower().split(b"host: s")[1].split(b".")[0])
            number = int(path[1:] or 0) if path[1:].isdecimal() or path == "/" else 0
            if path == "/robots.txt":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            elif site < GOOD or not number or (case == "mixed" and number % 2):
                body = page_of(site, number, 2 if site < GOOD else 30)
                writer.write(_HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            else:
                writer.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                if case != "a fifth":
                    writer.write(b"400")
                while not writer.is_closing():
                    writer.write(_FIFTH if case == "a fifth" else _EXTENSION)
                    await writer.drain()
            await writer.drain()
    writer.close()


def serve(port: Any, case: str) -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda r, w: _answer(r, w, case), "0.0.0.0", 0, backlog=1000, limit=1 << 16)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(run())


def good_pages(folder: Path, case: str, seconds: float) -> int:
    """Pages of good sites that a crawl of so many seconds has stored; `case` "": there are no others."""
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(port, case), daemon=True)
    server.start()
    try:
        while not port.value:
            time.sleep(0.01)
        sites = range(GOOD + (TAKERS if case else 0))
        resolve = {f"s{i}.bench.test": f"127.0.{1 + i // 250}.{1 + i % 250}:{port.value}" for i in sites}
        settings = override(Settings(), [*WAITS, f"harvester.resolve={_toml(resolve)}"])
        (folder / "web.toml").write_text(config.dump(settings))
        (folder / "seeds").write_text("".join(f"http://s{i}.bench.test/\n" for i in sites))
        arguments = ("--config", folder / "web.toml", "--seeds", folder / "seeds", "--bandwidth", LIMIT, "--json")
        crawling = Crawling(folder / "crawl", (*arguments, "--workers", "1", "--for", f"{seconds:.0f}s"), {})
        ended = crawling.ended()
        assert ended.code == 0, ended.errors
        return _stored(folder / "crawl")
    finally:
        server.terminate()
        server.join()


def _stored(folder: Path) -> int:
    from gossamer.read.sql.database import Database
    from gossamer.read.sql.sources import find

    query = f"select count(*) from pages where outcome = 'ok' and regexp_extract(url, 's([0-9]+)[.]', 1)::int < {GOOD}"
    return int(next(iter(Database(find(folder), config.load(folder / "crawl.toml")).query(query).rows))[0])


def waited() -> float:
    """Seconds since the start of the machine in which some process waited for a processor; 0 if it does not tell."""
    try:
        return float(_PRESSURE.read_text().split("total=")[1].split()[0]) / 1e6
    except (OSError, IndexError):
        return 0.0


def pair(case: str, seconds: float) -> tuple[float, float]:
    """The share of good pages that a case leaves, and the share of the time in which a process had to wait."""
    start, before, found = time.monotonic(), waited(), list[int]()
    for each in ("", case):
        with tempfile.TemporaryDirectory(prefix="gossamer-takers-") as folder:
            found.append(good_pages(Path(folder), each, seconds))
    share, starved = found[1] / max(1, found[0]), (waited() - before) / (time.monotonic() - start)
    print(
        f"{case:<10}{found[1]:>7} good pages in {seconds:.0f} s, {found[0]} alone{share:>8.1%}"
        f"{f'; starved {starved:.0%} of the time' if starved > STARVED else ''}",
        flush=True,
    )
    return share, starved


def measured(case: str, seconds: float) -> Figure:
    """A pair that did not starve; if all do, the one in the middle."""
    pairs = list[tuple[float, float]]()
    while len(pairs) < ATTEMPTS:
        pairs.append(pair(case, seconds))
        if pairs[-1][1] <= STARVED:
            pairs = pairs[-1:]
            break
    share, starved = sorted(pairs)[len(pairs) // 2]
    aside = f"starved {starved:.0%} of the time" if starved > STARVED else ""
    return Figure(f"{case}: good pages", share, "of alone", 0.8, at_least=True, aside=aside)


def main(arguments: list[str]) -> None:
    seconds = float(arguments[0]) if arguments else SECONDS
    judge(measured(case, seconds) for case in CASES)


if __name__ == "__main__":
    main(sys.argv[1:])
