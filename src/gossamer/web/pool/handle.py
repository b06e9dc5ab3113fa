"""A worker seen from the desk: its process, its wire, and what it has in hand."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
import subprocess
import sys
from typing import Final

from gossamer.base.model import Assignment
from gossamer.web.message import Type, encode_assignment, frame
from gossamer.web.pool.wire import Slot, Wire

_BUFFER: Final = 1 << 20
SLOW_START: Final = 60.0
"""Seconds that a worker may take, at least, until its loop turns for the first time."""


class Worker:
    """Started as a fresh interpreter, never forked from the desk's state."""

    def __init__(self, number: int, settings: bytes, lock_fd: int, payloads_fd: int = -1, line_fd: int = -1) -> None:
        self.number = number
        self.open: dict[int, Assignment] = {}
        self.reserved: Assignment | None = None
        """It gets nothing else until this one, which must run alone, has ended."""
        self.mask = 0
        """What the desk's epoll waits for on its wire."""
        self.file = -1
        """Number of the archive file that it was told to append to."""
        self.files: list[int] = []
        """Archive files that results may still name, the newest last."""
        self.hung: list[int] | None = None
        """The assignments over which it was found to hang, if it was."""
        self._still = [0.0, 0.0]
        """Seconds for which its loop has not turned, and the page beside it was the same."""
        self._last: tuple[int, int | None] = (0, None)
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        slot = os.memfd_create("gossamer-slot")
        os.ftruncate(slot, mmap.PAGESIZE)
        self.slot = Slot(slot)
        inherited = [theirs.fileno(), slot, *(fd for fd in (lock_fd, payloads_fd, line_fd) if fd >= 0)]
        arguments = map(str, (theirs.fileno(), slot, payloads_fd, line_fd, number))
        command = [sys.executable, "-P", "-m", "gossamer.crawl.worker", *arguments]
        # a process group of its own: Ctrl-C is for the desk alone, also before the worker can ignore it
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=inherited, process_group=0)
        theirs.close()
        os.close(slot)
        self.wire = Wire(ours)
        self.wire.send(frame(Type.SETTINGS, settings))

    @property
    def pid(self) -> int:
        return self._process.pid

    def give(self, assignment: Assignment) -> None:
        self.open[assignment.number] = assignment
        self.wire.send(encode_assignment(assignment))

    def archive(self, number: int, path: str) -> None:
        self.file = number
        self.files.append(number)
        self.wire.send(frame(Type.ARCHIVE, struct.pack("<H", number), path.encode()))

    def looked_at(self, seconds: float, most: float) -> None:
        """`seconds` after the last look. It hangs if it has something in hand, and for more than `most` seconds its
        loop has not turned (which it does four times a second, however slow the network is) or the thread beside it has
        been over the same page."""
        turns, beside = now = self.slot.turns(), self.slot.read(beside=True)
        self._still[0] = self._still[0] + seconds if self.open and turns == self._last[0] else 0.0
        self._still[1] = self._still[1] + seconds if beside is not None and beside == self._last[1] else 0.0
        self._last = now
        if self._still[0] > (most if turns else max(most, SLOW_START)):
            self.hung = self.named()
        elif self._still[1] > most and beside is not None:
            self.hung = [beside]

    def named(self) -> list[int]:
        """Assignments whose pages it is gathering."""
        return [number for beside in (False, True) if (number := self.slot.read(beside)) is not None]

    def stop(self) -> None:
        self.wire.send(frame(Type.STOP))

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)

    def reap(self) -> int:
        """Waits for its end and returns the exit code."""
        code = self._process.wait()
        self.wire.close()
        return code

    def cpu_seconds(self) -> float:
        """Of a live process; 0 when it has just gone."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as stream:
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        ticks: int = os.sysconf("SC_CLK_TCK")
        return (int(fields[11]) + int(fields[12])) / ticks
