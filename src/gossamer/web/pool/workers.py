"""The worker processes of a pool, seen from the desk: each with its wire, its heartbeat and what it has in hand."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.model import Assignment
from gossamer.web.message import Type, encode_assignment, frame
from gossamer.web.pool.warcs import Warcs
from gossamer.web.pool.wire import Heartbeat, Wire

_BUFFER: Final = 1 << 20
SLOW_START: Final = 60.0
"""Seconds that a worker may take, at least, until its loop turns for the first time."""
CHECK_EVERY: Final = 1.0
"""Seconds between checks of the heartbeats."""


class Inherited(NamedTuple):
    """The desk's descriptors that every worker inherits; -1: none."""

    lock: int = -1
    payloads: int = -1
    limiter: int = -1
    bell: int = -1


class Worker:
    """A worker process. `Worker.start` starts it as a fresh interpreter, never forked from the desk's state."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], wire: Wire, heartbeat: Heartbeat) -> None:
        self.number = number
        self.open: dict[int, Assignment] = {}
        self.reserved: Assignment | None = None
        """An assignment that must run alone: the worker gets nothing else until it has ended."""
        self.mask = 0
        """The events of its wire that the desk's epoll waits for."""
        self.file = -1
        """Number of the archive file that it was told to append to."""
        self.files: list[int] = []
        """Archive files that results may still name, the newest last."""
        self.hung: list[int] | None = None
        """The assignments that it was gathering when it was found to hang, or given up; None: it was not."""
        self.why = "it hung"
        """Why it was given up."""
        self._still = [0.0, 0.0]
        """Seconds for which its loop has not turned, and for which the page in its background thread was the same."""
        self._last: tuple[int, int | None] = (0, None)
        self.heartbeat = heartbeat
        self.wire = wire
        self._process = process

    @classmethod
    def start(cls, number: int, settings: bytes, inherited: Inherited) -> Worker:
        """Starts the process, and sends it its settings."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        memory = os.memfd_create("gossamer-heartbeat")
        os.ftruncate(memory, mmap.PAGESIZE)
        heartbeat = Heartbeat(memory)
        arguments = map(str, (theirs.fileno(), memory, inherited.payloads, inherited.limiter, inherited.bell, number))
        command = [sys.executable, "-P", "-m", "gossamer.crawler.worker", *arguments]
        passed = [theirs.fileno(), memory, *(fd for fd in inherited if fd >= 0)]
        # a process group of its own: Ctrl-C is for the desk alone, even before the worker can ignore it
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=passed, process_group=0)
        theirs.close()
        os.close(memory)
        worker = cls(number, process, Wire(ours), heartbeat)
        worker.wire.send(frame(Type.SETTINGS, settings))
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    def give(self, assignment: Assignment) -> None:
        """Gives the worker an assignment; `Workers.watch` sends it, together with others."""
        self.open[assignment.number] = assignment
        self.wire.add(encode_assignment(assignment))

    def archive(self, number: int, path: Path) -> None:
        """Tells the worker to append to this archive file from now on."""
        self.file = number
        self.files.append(number)
        self.wire.send(frame(Type.ARCHIVE, struct.pack("<H", number), str(path).encode()))

    def tell_time(self, ahead: float) -> None:
        """Tells the worker how to compute wall time from now on (`clock.DeskTime`)."""
        self.wire.send(frame(Type.CLOCK, struct.pack("<d", ahead)))

    def check(self, seconds: float, most: float) -> None:
        """Checks the heartbeat, `seconds` after the last check.

        The worker hangs if it has something in hand, and for more than `most` seconds its loop has not turned (which it
        does four times per second, however slow the network is) or its background thread has been over the same page.
        """
        turns, background = now = self.heartbeat.turns(), self.heartbeat.read(background=True)
        self._still[0] = self._still[0] + seconds if self.open and turns == self._last[0] else 0.0
        self._still[1] = self._still[1] + seconds if background is not None and background == self._last[1] else 0.0
        self._last = now
        if self._still[0] > (most if turns else max(most, SLOW_START)):
            self.hung = self.named()
        elif self._still[1] > most and background is not None:
            self.hung = [background]

    def named(self) -> list[int]:
        """The assignments whose pages it is gathering, by its heartbeat."""
        return [number for background in (False, True) if (number := self.heartbeat.read(background)) is not None]

    def give_up(self, why: str) -> None:
        """Kills the worker: what it is gathering now is to blame."""
        self.hung, self.why = self.named(), why
        self.kill()

    def stop(self) -> None:
        self.wire.send(frame(Type.STOP))

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)

    def reap(self) -> int:
        """Waits for the end of the process and returns its exit code."""
        code = self._process.wait()
        self.wire.close()
        return code

    def cpu_seconds(self) -> float:
        """CPU time of a live process; 0 when it has just gone."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as stream:
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        ticks: int = os.sysconf("SC_CLK_TCK")
        return (int(fields[11]) + int(fields[12])) / ticks


class Workers:
    """The workers, in order of their numbers, each with an archive file and a wire in the epoll."""

    def __init__(
        self, settings: bytes, inherited: Inherited, warcs: Warcs, epoll: select.epoll, clock: Clock, timeout: float
    ) -> None:
        """`timeout`: seconds for which a worker may be still (`Worker.check`)."""
        self.living: list[Worker] = []
        self._settings, self._inherited = settings, inherited
        self._warcs, self._epoll, self._clock = warcs, epoll, clock
        self._timeout = timeout
        self._checked = clock.monotonic()

    def start(self, number: int) -> None:
        """Creates the archive file first: without it no process is started."""
        file, path = self._warcs.create()
        with disk.naming("start", "a worker"):
            worker = Worker.start(number, self._settings, self._inherited)
        worker.archive(file, path)
        worker.tell_time(self._clock.ahead)
        worker.mask = select.EPOLLIN
        self._epoll.register(worker.wire.fileno(), worker.mask)
        self.living.insert(number, worker)

    def tell_time(self) -> None:
        for worker in self.living:
            worker.tell_time(self._clock.ahead)
        self.watch()

    def open_archive(self, worker: Worker) -> None:
        """Gives a worker its next archive file."""
        worker.archive(*self._warcs.create())

    def watch(self) -> None:
        """Sends what the workers were given; waits for room to write only while something is unsent."""
        for worker in self.living:
            worker.wire.flush()
            mask = select.EPOLLIN | (select.EPOLLOUT if worker.wire.unsent else 0)
            if worker.mask != mask:
                worker.mask = mask
                self._epoll.modify(worker.wire.fileno(), mask)

    def check(self) -> None:
        """Kills the workers that hang; what they had in hand comes back when their wires end.

        A check counts for two periods at most, so that no worker is taken to hang because the desk itself was stopped.
        """
        since = self._clock.monotonic() - self._checked
        if since < CHECK_EVERY:
            return
        self._checked += since
        for worker in self.living:
            worker.check(min(since, 2 * CHECK_EVERY), self._timeout)
            if worker.hung is not None:
                worker.kill()

    def end(self, worker: Worker) -> int:
        """Ends a worker from which everything was taken, and cuts its archive files; returns its exit code."""
        self._epoll.unregister(worker.wire.fileno())
        worker.kill()
        code = worker.reap()
        for file in worker.files:
            self._warcs.cut(file)
        return code
