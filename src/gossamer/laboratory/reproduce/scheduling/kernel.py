"""`python -m gossamer.laboratory.reproduce.scheduling.kernel FD JSON`: one process of a crawler of 001.

It asks for one page at a time with the crawl's own `Fetcher`, and reads it with the crawl's own `Reader`: decoding,
text, links in canonical form with their fingerprints. Only who decides what is next differs between the two modes:

    ("both", [url])    loader and extractor merged (dynamic): each page is fetched, read and told about at once
    ("load", urls)     the stages apart (static): all pages are fetched and kept;
    ("extract", None)  then all that were kept are read

Each request is answered by one list of `Done`, as plain tuples.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.base.process import die_with_parent
from gossamer.config import Settings, from_json, to_json
from gossamer.gatherer.reader import Reader
from gossamer.web.fetch.fetch import Fetched, Fetcher


class Order(NamedTuple):
    """A page to be asked for."""

    number: int
    url: str
    address: str
    port: int


class Done(NamedTuple):
    number: int
    ok: bool
    received: int
    links: list[str]
    network: float
    """Seconds."""
    extraction: float
    end: float
    """Monotonic: when the page was fetched, or given up."""


class Kernel:
    def __init__(self, settings: Settings) -> None:
        self._epoll = select.epoll()
        self._fetcher, self._reader = Fetcher(settings.harvester, self._epoll), Reader(settings, 1)

    def fetch(self, order: Order) -> Fetched:
        self._fetcher.start(
            Assignment(order.number, Ask.PAGE, order.number, 0, 0, order.url.encode(), order.address, order.port)
        )
        while True:
            if done := self._fetcher.act(self._epoll.poll(self._fetcher.timeout())):
                return done[0]

    def read(self, fetched: Fetched) -> Done:
        begun = time.monotonic()
        read = self._reader.read(fetched)
        links = [link.url for link in read.gathered.links]
        return Done(
            fetched.assignment.number,
            read.outcome is Outcome.OK,
            fetched.traffic.received,
            links,
            fetched.end - fetched.start,
            time.monotonic() - begun,
            fetched.end,
        )


def serve(wire: Connection, kernel: Kernel) -> None:
    kept: list[Fetched] = []
    while True:
        what, orders = wire.recv()
        if what == "both":
            wire.send([tuple(kernel.read(kernel.fetch(Order(*order)))) for order in orders])
        elif what == "load":
            kept = [kernel.fetch(Order(*order)) for order in orders]
            wire.send(
                [
                    (f.assignment.number, f.failure is None, f.traffic.received, [], f.end - f.start, 0.0, f.end)
                    for f in kept
                ]
            )
        else:
            wire.send([tuple(kernel.read(fetched)) for fetched in kept])
            kept = []


class Running:
    """Such a process, as the scheduler sees it."""

    def __init__(self, settings: Settings) -> None:
        self.wire, theirs = Pipe()
        source = str(Path(__file__).parents[4])
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(os.getpid()), to_json(settings)]
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))},
        )
        theirs.close()

    def close(self) -> None:
        self.wire.close()
        self._process.kill()
        self._process.wait()


def main() -> None:
    die_with_parent()
    if os.getppid() != int(sys.argv[2]):
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wire: Any = Connection(int(sys.argv[1]))
    kernel = Kernel(from_json(sys.argv[3]))
    wire.send([])
    try:
        serve(wire, kernel)
    except (EOFError, ConnectionError):
        return


if __name__ == "__main__":
    main()
