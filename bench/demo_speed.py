"""How many pages a second the demonstration Web serves from one process.

    python -m bench.demo_speed [--seconds 2] [--connections 16]

A client of plain sockets on kept-alive connections asks for the pages of several sites, with and without gzip: of the
usual Web without the latency and speed of its sites (`pace`), which would hide what the server itself costs; of the
same as it is, on a connection to every plain site; and of the bulk one. Once when every page is made for it ("first"),
as in a crawl, and once when some are kept ("again"). Home pages are asked for before, so that the layout of the sites
is known. The client reads lengths, not pages; where `wrk` is installed, its figure for one page comes last.
"""

from __future__ import annotations

import argparse
import re
import resource
import selectors
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gossamer.webs.demo import DemoWeb, RunningWeb, start
from gossamer.webs.demo.bulk import bulk_target
from gossamer.webs.demo.layout import PAGES
from gossamer.webs.demo.site import Down, Site, SiteNames

LENGTH = re.compile(rb"Content-Length: (\d+)")


@dataclass(slots=True)
class Channel:
    """One connection, and the targets that are left to ask for over it."""

    socket: socket.socket
    host: str
    targets: Iterator[str]
    gzip: bool
    left: int = 0

    def ask(self) -> bool:
        target = next(self.targets, None)
        if target is None:
            return False
        accept = "Accept-Encoding: gzip\r\n" if self.gzip else ""
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: {self.host}\r\n{accept}User-Agent: bench\r\n\r\n".encode())
        return True

    def read(self) -> bool:
        """Whether an answer is complete."""
        data = self.socket.recv(1 << 20)
        if not self.left:
            end = data.index(b"\r\n\r\n") + 4
            found = LENGTH.search(data, 0, end)
            assert data.startswith(b"HTTP/1.1 200"), data[:200]
            assert found
            self.left = int(found[1]) + end
        self.left -= len(data)
        return not self.left


def targets(web: DemoWeb, site: int) -> Iterator[str]:
    if web.bulk:
        return map(bulk_target, range(web.all_sites[site].pages))
    layout = web.layout(site)
    return (t for t, kind in zip(layout.target, layout.kind, strict=True) if kind in PAGES)


def measure(running: RunningWeb, seconds: float, connections: int, gzip: bool) -> tuple[int, float]:
    """Pages got, and the seconds they took."""
    web, ready = _web(running), selectors.DefaultSelector()
    sites = sorted(filter(is_plain, web.all_sites), key=lambda s: -s.pages)[:connections]
    channels = []
    for site in sites:
        address = socket.create_connection((site.address, running.port))
        channels.append(Channel(address, site.host, targets(web, site.number), gzip))
        ready.register(address, selectors.EVENT_READ, channels[-1])
    begin, count = time.monotonic(), 0
    busy = sum(channel.ask() for channel in channels)
    while busy and time.monotonic() - begin < seconds:
        for key, _ in ready.select(1.0):
            if key.data.read():
                count += 1
                busy -= not key.data.ask()
    spent = time.monotonic() - begin
    for channel in channels:
        channel.socket.close()
    return count, spent


def _web(running: RunningWeb) -> DemoWeb:
    assert isinstance(running.web, DemoWeb)
    return running.web


def is_plain(site: Site) -> bool:
    """Answers HTTP/1.1 with pages, at once or nearly so."""
    special = site.timing.slow or site.http.old or site.http.secure or site.features.session or site.features.torn
    return not special and site.down is Down.NO and site.names is SiteNames.BARE


def warm(running: RunningWeb) -> None:
    """Asks for the home pages."""
    for site in filter(is_plain, _web(running).all_sites):
        with socket.create_connection((site.address, running.port)) as connection:
            channel = Channel(connection, site.host, iter(["/"]), True)
            channel.ask()
            while not channel.read():
                pass


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def wrk(running: RunningWeb) -> str:
    site = max(filter(is_plain, _web(running).all_sites), key=lambda s: s.pages)
    command = ["wrk", "-t1", "-c16", "-d3s", "-H", f"Host: {site.host}", f"http://{site.address}:{running.port}/"]
    return next(
        line.strip()
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        if "Requests/sec" in line
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--connections", type=int, default=16)
    asked = parser.parse_args()
    webs = (
        ("usual", DemoWeb(pace=0), asked.connections),
        ("paced", DemoWeb(), 1_000),
        ("bulk", DemoWeb(bulk=True, sites=64, pages=200_000), asked.connections),
    )
    for name, web, connections in webs:
        for gzip in (True, False):
            with start(web, log=Path("/dev/null")) as running:
                warm(running)
                for turn in ("first", "again"):
                    before = cpu(running.process.pid), time.process_time()
                    count, spent = measure(running, asked.seconds, connections, gzip)
                    server = cpu(running.process.pid) - before[0]
                    client = time.process_time() - before[1]
                    print(
                        f"{name:>6} {'gzip' if gzip else 'plain':>5} {turn}: {count / spent:7,.0f} pages/s, server "
                        f"{server / count * 1e6:4.0f} us CPU a page, client {client / count * 1e6:4.0f}"
                    )
                if shutil.which("wrk"):
                    print(f"              wrk, one page: {wrk(running)}")
    print(f"largest resident set of a server: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
