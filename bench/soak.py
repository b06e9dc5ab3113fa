"""A third of a million requests over thirty minutes to a Web in which a third of the sites misbehave.

    python -m bench.soak [--minutes 30] [--requests 333333] [--keep FOLDER]

Every third site has one of the behaviours of the hostile Web (`gossamer web --hostile`) on a quarter of its pages; the
others are good. Shown, with bounds: that memory is flat once the crawl is under way, that no rule of politeness is
broken (by `gossamer check`'s verdict on the log of the server), and that every page is accounted for: each request of
the log is a visit of the collection, each visit a request, and each known page in one state. Then all is verified.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final

from bench.bounds import Figure, judge
from gossamer import config
from gossamer.webs import checker
from gossamer.webs.demo.access import AccessLog
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.server import end_of_input, listen, unless_the_client_left
from gossamer.webs.demo.words import sentence
from gossamer.webs.hostile.behaviour import Behaviour, Door, HostileRequest
from gossamer.webs.hostile.client import Client, ClientProtocol
from gossamer.webs.hostile.saying import answer
from gossamer.webs.hostile.server import LARGEST_HEAD, handle, noted
from gossamer.webs.hostile.table import BEHAVIOURS
from gossamer.webs.local import demo_settings
from tests.support.crawling import Crawling, children, gossamer

MINUTES, REQUESTS = 30.0, 333_333
FLAT: Final = 1.05
"""Peak of memory in the last third of the time beside that in the middle third, without what known pages take."""
A_PAGE: Final = 64
"""Bytes that a known page may take."""
SETTINGS: Final = (
    "harvester.wait=1500ms",
    "harvester.wait_large=1500ms",
    "harvester.address_wait=50ms",
    "harvester.retry=30s",
    "harvester.connect_timeout=5s",
    "harvester.first_byte_timeout=5s",
    "harvester.whole_timeout=30s",
    "harvester.slow_time=5s",
    "harvester.contact=soak@gossamer.test",
    "collection.max_pages=4000000",
    "collection.max_sites=2000",
    "harvester.connections=500",
)
DOMAIN: Final = "soak.test"
ROBOTS: Final = b"User-agent: *\nDisallow: /private/\n"
_KNOWN: Final = "select count(*) as n from pages where epoch(time) <= {}"
_NOT_FOUND: Final = answer(b"<p>There is no such page.</p>", "404 Not Found")
_LEFT: Final = 499


@dataclass(frozen=True)
class SoakWeb:
    sites: int = 600
    pages: int = 1_500
    """Of each site."""

    changing = False

    @cached_property
    def addresses(self) -> dict[str, str]:
        return {f"s{n}.{DOMAIN}": f"127.88.{n // 250}.{n % 250 + 1}" for n in range(self.sites)}

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}/" for host in self.addresses]

    def behaviour(self, host: str) -> Behaviour | None:
        number = int(host[1 : host.index(".")])
        bad = bad_behaviours()
        return bad[number // 3 % len(bad)] if number % 3 == 0 else None

    def robots(self, host: str) -> bytes:
        behaviour = self.behaviour(host)
        return behaviour.robots.encode() if behaviour is not None and behaviour.robots else ROBOTS

    def robots_of(self, request: checker.Request) -> bytes | None:
        return self.robots(request.host.partition(":")[0]) if request.origin else None

    def target(self, behaviour: Behaviour | None, number: int) -> str:
        """Of a page; a quarter of those of a bad site are bad."""
        if behaviour is None or number % 4 != 3:
            return f"/p/{number}"
        bad = behaviour.targets[number // 4 % len(behaviour.targets)]
        return f"{bad}{'&' if '?' in bad else '?'}n={number}"

    async def respond(self, request: HostileRequest, client: Client) -> bool:
        behaviour = self.behaviour(request.host) if request.host in self.addresses else None
        if request.target == "/robots.txt":
            client.write(answer(self.robots(request.host), kind="text/plain"))
        elif request.target == "/" or request.target.startswith("/p/"):
            client.write(self._good(request.host, behaviour, 0 if request.target == "/" else int(request.target[3:])))
        elif behaviour is not None and request.path != "/sitemap.xml":
            return await behaviour.serve(request, client)
        else:
            client.write(_NOT_FOUND)
        return True

    def _good(self, host: str, behaviour: Behaviour | None, number: int) -> bytes:
        links = [self.target(behaviour, n) for n in range(3 * number + 1, 3 * number + 4) if n < self.pages]
        links += [f"/private/{number}"]
        dice = Dice(1, host, number)
        said = "".join(f"<p>{sentence(dice, 'en')} {sentence(dice, 'en')}</p>\n" for _ in range(20))
        anchors = "".join(f"<a href='{link.replace('&', '&amp;')}'>{link}</a>\n" for link in links)
        return answer(f"<title>Page {number} of {host}</title><h1>{number}</h1>{said}{anchors}".encode())


@lru_cache(maxsize=1)
def bad_behaviours() -> list[Behaviour]:
    """Those that need no certificate or address of their own."""
    return [b for b in BEHAVIOURS.values() if b.door is Door.OPEN and not b.whole and not b.places]


# --- the server, a process of its own


async def _serve(web: SoakWeb, log: AccessLog) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(unless_the_client_left)
    loop.add_reader(0, end_of_input, stop)
    sockets = listen(list(web.addresses.values()), 0)
    for address, own in zip(web.addresses.values(), sockets, strict=True):
        await loop.create_server(partial(_protocol, web, log, address), sock=own)
    print(sockets[0].getsockname()[1], flush=True)
    while not stop.is_set():
        log.flush()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1)
    log.close()


def _protocol(web: SoakWeb, log: AccessLog, address: str) -> asyncio.Protocol:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await handle(reader, writer, web.respond, noted(log, address, 0))

    return ClientProtocol(asyncio.StreamReader(LARGEST_HEAD), connected)


@contextmanager
def served(web: SoakWeb, log: Path) -> Iterator[int]:
    """The port."""
    command = [sys.executable, "-m", "bench.soak", "--serve", str(log), json.dumps([web.sites, web.pages])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.communicate()


# --- the crawl


@dataclass
class Watch:
    """Memory of desk and workers together, every few seconds."""

    crawling: Crawling
    began: float
    wall: float = field(default_factory=time.time)
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the start, and MB."""

    def look(self) -> None:
        with suppress(OSError):
            pids = [self.crawling.pid, *self.crawling.workers()]
            self.samples.append((time.monotonic() - self.began, sum(map(_memory, pids)) / 1e6))

    def third(self, which: int) -> float:
        """The most in a third of the time: plans and commits come and go."""
        end = self.samples[-1][0]
        return max(mb for at, mb in self.samples if which <= 3 * at / end <= which + 1)

    def middle(self, which: int) -> float:
        """Wall time in the middle of a third."""
        return self.wall + (which + 0.5) * self.samples[-1][0] / 3


def _memory(pid: int) -> float:
    """Bytes that are its own, and its share of what it shares with others."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def crawl(folder: Path, web: SoakWeb, minutes: float, requests: int) -> tuple[Watch, dict[str, Any]]:
    """At least so long, and at least so many requests, unless it ends before."""
    log, began = folder / "access.log", time.monotonic()
    with served(web, log) as port:
        settings = demo_settings({host: f"{at}:{port}" for host, at in web.addresses.items()}, (DOMAIN,))
        (folder / "crawl.toml").write_text(config.dump(config.override(settings, SETTINGS)))
        (folder / "seeds").write_text("".join(f"{url}\n" for url in web.seeds))
        arguments = ("--config", folder / "crawl.toml", "--seeds", folder / "seeds", "--patience", "60s", "--json")
        with Crawling(folder / "crawl", arguments, {}) as crawling:
            watch, told = Watch(crawling, began), 0.0
            while not crawling.over:
                time.sleep(5.0)
                watch.look()
                passed, made = time.monotonic() - began, _lines(log)
                if passed - told >= 60:
                    told = passed
                    print(f"{passed / 60:5.1f} min {made:>9,} requests {watch.samples[-1][1]:7.0f} MB", flush=True)
                if (passed >= 60 * minutes and made >= requests) or passed > 120 * minutes:
                    crawling.signal(signal.SIGTERM)
                    break
            ended = crawling.ended()
            left = [pid for pid in children(crawling.pid) if pid]
    if ended.code or left:
        raise SystemExit(f"the crawl ended with {ended.code}, and left {left}: {ended.errors}")
    return watch, ended.figures


_read: dict[Path, tuple[int, int]] = {}


def _lines(log: Path) -> int:
    at, lines = _read.get(log, (0, 0))
    with log.open("rb") as file:
        file.seek(at)
        data = file.read()
    _read[log] = at + len(data), lines + data.count(b"\n")
    return _read[log][1]


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    said = gossamer("sql", folder / "crawl", query, "--json")
    if said.code:
        raise SystemExit(said.errors)
    found: list[dict[str, Any]] = json.loads(said.output)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--sites", type=int, default=SoakWeb.sites)
    parser.add_argument("--keep", type=Path, help="folder for the collection and the log")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        web = SoakWeb(*json.loads(args.serve[1]))
        asyncio.run(_serve(web, AccessLog(Path(args.serve[0]), web)))
        return
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        soak(folder, SoakWeb(args.sites), args.minutes, args.requests)


def soak(folder: Path, web: SoakWeb, minutes: float, requests: int) -> None:
    watch, figures = crawl(folder, web, minutes, requests)
    report = checker.check(
        checker.read(folder / "access.log"),
        config.load(folder / "crawl.toml"),
        web.robots_of,
        [],
    )
    print(f"{report.verdict}")
    for violation in (*report.violations[:5], *report.worst.values()):
        print(f"  {violation}")
    statuses = Counter(request.status for request in checker.read(folder / "access.log"))
    print("by status: " + ", ".join(f"{n:,} x {status}" for status, n in sorted(statuses.items())))
    print("by outcome: " + ", ".join(f"{n:,} {word}" for word, n in sorted(figures["outcomes"].items())))
    visits = rows(folder, "select count(*) as n from visits")[0]["n"]
    states = rows(folder, "select state, count(*) as n from pages group by state order by state")
    print("by state: " + ", ".join(f"{row['n']:,} {row['state']}" for row in states))
    unverified = gossamer("verify", folder / "crawl")
    print(unverified.output.strip().splitlines()[-1] if unverified.output.strip() else unverified.errors)
    known = [rows(folder, _KNOWN.format(watch.middle(which)))[0]["n"] for which in (1, 2)]
    grown = A_PAGE * (known[1] - known[0]) / 1e6
    bad = sum(web.behaviour(host) is not None for host in web.addresses)
    seconds = watch.samples[-1][0]
    judge(
        [
            Figure("requests", report.requests, "", requests, at_least=True),
            Figure("minutes", seconds / 60, "", minutes, at_least=True),
            Figure("share of the sites that misbehave", bad / web.sites, "", 0.33, at_least=True),
            Figure("violations of politeness", report.total, "", 0),
            Figure(
                "peak of memory, last third to middle third",
                (watch.third(2) - grown) / watch.third(1),
                "",
                FLAT,
                aside=f"{watch.third(0):.0f}, {watch.third(1):.0f}, {watch.third(2):.0f} MB, {grown:.0f} for pages",
            ),
            Figure("requests that are no visits, or the reverse", abs(report.requests - visits), "", 0),
            Figure("known pages in no state", figures["known"] - sum(row["n"] for row in states), "", 0),
            Figure("faults that `gossamer verify` found", unverified.code, "", 0),
        ]
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
