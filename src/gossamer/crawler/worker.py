"""A worker process: fetches, decodes, gathers and archives pages.

    python -m gossamer.crawler.worker WIRE HEARTBEAT PAYLOADS LIMITER BELL NUMBER    five descriptors (or -1), number

A worker decides only what depends on URL and settings alone; the desk decides everything that needs state. It runs
until the desk tells it to stop or is gone: the wire ends, or the kernel kills the worker with its parent.

It has a loop in one thread, and a background thread (`web/background.py`) that reads large pages, so that these do not
delay other transfers. Only the loop writes to the archive and to the wire: results leave in the order of their records
in the archive file.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from gossamer.base.bell import ring
from gossamer.base.disk import Appender
from gossamer.base.errors import GossamerError
from gossamer.base.escape import guard
from gossamer.base.model import Ask, Assignment
from gossamer.base.process import die_with_parent
from gossamer.config import Settings, from_json
from gossamer.gatherer.reader import Reader
from gossamer.gatherer.result import Result
from gossamer.web.archive.archive import Archive
from gossamer.web.archive.bodies import Payloads
from gossamer.web.background import Background
from gossamer.web.fetch.fetch import Fetched, Fetcher
from gossamer.web.limit.bucket import Share
from gossamer.web.message import Type, decode_assignment, frame
from gossamer.web.pool.wire import OUT_OF_MEMORY, Heartbeat, Wire

if TYPE_CHECKING:
    from gossamer.crawler.processing.beside import Beside

SWITCH: Final = 0.0005
"""Thread switch interval in seconds: how soon the background thread yields to the loop, which yields at every system
call."""
TURN: Final = 0.25
"""Seconds between turns of the loop while it waits only for a page in the background."""
MEMORY: Final = 2 << 30
"""Bytes that a worker may use, plus 32 times the longest page: a bad page may end a worker, but never the crawl. The
desk ends a worker sooner if the whole crawl runs out of memory (`crawler/watch.py`)."""
GARBAGE: Final = 20_000
"""Garbage-collector threshold. A page allocates some thousand objects, almost none of them in cycles."""


class Worker:
    """The loop of a worker: handles frames from the desk and events of libcurl."""

    def __init__(
        self, wire: Wire, heartbeat: Heartbeat, payloads: Payloads | None, line: Share | None = None, bell: int = -1
    ) -> None:
        """`bell`: the descriptor of the desk's bell, rung for results that may lead to a request at once; -1: none."""
        self._wire = wire
        self._line = line
        self._bell = bell
        self._heartbeat = heartbeat
        self._payloads = payloads
        self._epoll = select.epoll()
        self._mask = select.EPOLLIN
        self._epoll.register(wire.fileno(), self._mask)
        self._stopping = False
        self._beside: Beside | None = None
        """The processors of the user; None: there are none."""
        self._later: list[tuple[float, int, Assignment]] = []
        """Heap of assignments that were handed out early: start time, number, assignment."""

    def run(self) -> None:
        """Run until the desk says stop and all work is done, or the wire ends."""
        reader, fetcher = self._prepared()
        background: Background[Fetched, Result] = Background(lambda fetched: self._read_in_background(reader, fetched))
        self._epoll.register(background.eventfd, select.EPOLLIN)
        others: Collection[int] = (self._wire.fileno(), background.eventfd)
        while not self._is_done(background, fetcher):
            self._heartbeat.turn()
            events = self._epoll.poll(self._timeout(fetcher, background.open))
            ready = {fd for fd, _ in events}
            if self._wire.fileno() in ready:
                self._wire.flush()
                self._obey(reader, fetcher)
                if self._wire.ended:
                    return
            self._begin_those_due(fetcher)
            if background.eventfd in ready:
                for page in background.done():
                    self._send(reader, page)
            if self._beside is not None:
                own = self._beside.fds
                events = [event for event in events if event[0] not in own]
            for fetched in fetcher.act([event for event in events if event[0] not in others]):
                self._heartbeat.name(fetched.assignment.number)
                if (small := reader.read_at_once(fetched)) is not None:
                    self._send(reader, small)
                else:
                    self._heartbeat.clear()
                    background.give(fetched)
            if self._beside is not None:
                for page in self._beside.turn():
                    self._leave(reader, page)
            self._watch()
        if self._beside is not None:
            self._beside.close()

    def _is_done(self, background: Background[Fetched, Result], fetcher: Fetcher) -> bool:
        held = self._beside is not None and self._beside.held
        busy = background.open or self._later or fetcher.timeout() >= 0 or self._wire.unsent or held
        return self._stopping and not busy

    def _timeout(self, fetcher: Fetcher, in_background: int) -> float:
        """Maximum seconds that the loop may sleep; -1: no limit. epoll rounds up: nothing starts before its time."""
        held = self._beside is not None and self._beside.held
        timeouts = [fetcher.timeout(), TURN if in_background or held else -1.0]
        if self._later:
            timeouts.append(max(0.0, self._later[0][0] - time.monotonic()))
        return min((each for each in timeouts if each >= 0), default=-1.0)

    def _begin_those_due(self, fetcher: Fetcher) -> None:
        """Starts the assignments whose time has come."""
        while self._later and self._later[0][0] <= time.monotonic():
            fetcher.start(heappop(self._later)[2])

    def _read_in_background(self, reader: Reader, fetched: Fetched) -> Result:
        self._heartbeat.name(fetched.assignment.number, background=True)
        page = reader.read(fetched)
        self._heartbeat.clear(background=True)
        return page

    def _send(self, reader: Reader, page: Result) -> None:
        """Sends a result; first, processors see the page."""
        if self._beside is not None and self._beside.takes(page):
            self._heartbeat.clear()
            self._beside.give(page)
        else:
            self._leave(reader, page)

    def _leave(self, reader: Reader, page: Result) -> None:
        self._heartbeat.name(page.fetched.assignment.number)
        self._wire.send(reader.finish(page))
        self._heartbeat.clear()
        if self._bell >= 0 and page.fetched.assignment.ask is not Ask.PAGE and (page.target or page.sitemaps):
            ring(self._bell)

    def _prepared(self) -> tuple[Reader, Fetcher]:
        """Wait for the first frame, which has the settings, and make reader and fetcher."""
        while True:
            self._epoll.poll()
            frames = self._wire.receive()
            if self._wire.ended and not frames:
                raise SystemExit(0)
            if frames:
                break
        tree = json.loads(frames[0][1])
        settings = from_json(json.dumps(tree["settings"]))
        _limit_memory(MEMORY + 32 * int(settings.gatherer.max_decoded))
        reader, fetcher = Reader(settings, tree["seed"]), self._fetcher(settings)
        if processors := tree.get("processors"):
            from gossamer.crawler.processing.beside import Beside

            own = settings.plugins
            self._beside = Beside(processors, float(own.timeout), int(own.memory), self._epoll, reader.without)
        gc.freeze()  # objects loaded so far are never freed
        gc.set_threshold(GARBAGE)
        self._wire.send(frame(Type.READY))
        for kind, body in frames[1:]:
            self._follow(kind, body, reader, fetcher)
        return reader, fetcher

    def _fetcher(self, settings: Settings) -> Fetcher:
        if self._line is None:
            return Fetcher(settings.harvester, self._epoll)
        from gossamer.web.limit.limited_fetch import limited_fetcher

        return limited_fetcher(settings.harvester, self._epoll, self._line)

    def _obey(self, reader: Reader, fetcher: Fetcher) -> None:
        for kind, body in self._wire.receive():
            self._follow(kind, body, reader, fetcher)

    def _follow(self, kind: Type, body: bytes, reader: Reader, fetcher: Fetcher) -> None:
        if kind is Type.ASSIGN:
            assignment = decode_assignment(body)
            if assignment.not_before > time.monotonic():
                heappush(self._later, (assignment.not_before, assignment.number, assignment))
            else:
                fetcher.start(assignment)
        elif kind is Type.ARCHIVE:
            if reader.archive is not None:
                reader.archive.close()
            (number,) = struct.unpack_from("<H", body)
            reader.archive = Archive(
                number, Appender(body[2:].decode()), reader.max_stored, self._payloads, reader.markup
            )
        elif kind is Type.CLOCK:
            (reader.clock.ahead,) = struct.unpack("<d", body)
        elif kind is Type.STOP:
            self._stopping = True
            self._later.clear()  # they come back as returned when this process ends

    def _watch(self) -> None:
        mask = select.EPOLLIN | (select.EPOLLOUT if self._wire.unsent else 0)
        if mask != self._mask:
            self._mask = mask
            self._epoll.modify(self._wire.fileno(), mask)


def _limit_memory(most: int) -> None:
    """Limit the writable memory of this process. Mapped files do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def main(wire_fd: int, heartbeat_fd: int, payloads_fd: int, line_fd: int, bell: int, number: int) -> int:
    """Run a worker; returns its exit code."""
    guard()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    die_with_parent()
    end = socket.socket(fileno=wire_fd)
    wire = Wire(end)
    try:
        payloads = Payloads(payloads_fd) if payloads_fd >= 0 else None
        line = Share(line_fd, number) if line_fd >= 0 else None
        Worker(wire, Heartbeat(heartbeat_fd), payloads, line, bell).run()
    except GossamerError as error:
        end.setblocking(True)
        wire.send(frame(Type.FAULT, bytes([error.exit_code]), f"{error.message}\0{error.cure}".encode()))
        return error.exit_code
    except MemoryError:  # the heartbeat names the page; what is finished leaves, if there is memory for that
        with suppress(MemoryError, OSError):
            end.setblocking(True)
            wire.flush()
        os._exit(OUT_OF_MEMORY)  # nothing else is tried: the background thread may hold all memory
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
