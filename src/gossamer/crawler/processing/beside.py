"""The worker's side of its processors and filters: gives pages and links to the process beside it, and gets their rows.

A result is held until the rows of its page are there, and leaves with them: rows are committed with their visit, or
neither is. Links that a filter leaves out leave the result, and are counted as rejected; if the filter fails, that are
all links that it has not judged. While results are held, the desk counts their pages as open and hands out no more than
the worker's share, so a slow processor slows the crawl, and nothing piles up. Pages go over in batches, at most
`MOST_SENT` at a time.

What runs when the process ends, or for longer than `plugins.timeout`, gets an error row. The other pages go to a new
process. If processes end one after the other and nothing is to blame, every page gets an error row, and another
process is tried after `TRY_AGAIN`.

Invariants, each a test of the same name: every page leaves once, with the rows of its processors or a fault; no page is
kept for longer than its processors may take; no link leaves that a filter has not judged.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.model import Ask, Outcome
from gossamer.base.units import human_time
from gossamer.crawler.processing.frames import (
    LEFT_OUT,
    MOST_PROCESSORS,
    NO_PAGE,
    RECYCLE,
    UNSEEN,
    Marker,
    page_frame,
    parts,
    replies,
)
from gossamer.gatherer.result import Result
from gossamer.plugins.find import Plugin
from gossamer.plugins.rows import MOST_BYTES, Table, fault

MOST_SENT: Final = 64
"""Pages that wait in the process, at most."""
MOST_BYTES_SENT: Final = 4 << 20
"""Bytes of their bodies; a single page may have more."""
SLOW_START: Final = 60.0
"""Seconds that a process may take, at least, until it begins its first page."""
MOST_DEATHS: Final = 3
"""Processes in a row that may end while nothing is to blame."""
TRY_AGAIN: Final = 60.0
"""Seconds until another process is started after too many have ended."""
LAST_BREATH: Final = 0.5
"""Seconds in which a process that has closed its socket may end by itself."""
LOOK_EVERY: Final = 0.5
"""Seconds between two looks that count, at most."""
_BUFFER: Final = 1 << 20
_READ: Final = 1 << 18


Without = Callable[[Result, Collection[int]], Result]
"""Makes a result without the links in these places (`gatherer/reader.py`)."""


class Known(NamedTuple):
    """The processors and filters, by number."""

    heads: list[bytes]
    """How the lines of each begin."""
    filters: int
    """A bit for each filter."""
    others: int
    """A bit for each other one."""
    without: Without

    @classmethod
    def of(cls, processors: Sequence[Any], without: Without) -> Known:
        kinds = [Plugin(*plugin).kind for plugin, _ in processors]
        filters = sum(1 << number for number, kind in enumerate(kinds) if kind == "filter")
        heads = [Table.parse(*table).head for _, table in processors]
        return cls(heads, filters, (1 << len(kinds)) - 1 & ~filters, without)


class Held:
    """A result that is held until its rows are there."""

    __slots__ = ("left_out", "lines", "number", "result", "skip", "whole")

    def __init__(self, number: int, result: Result, skip: int, whole: bool) -> None:
        self.number, self.result = number, result
        self.skip = skip
        """Processors that do not see it, or have failed on it, a bit each."""
        self.whole = whole
        """Whether processors see it; else filters see its links alone."""
        self.lines: list[bytes] = []
        self.left_out: set[int] = set()
        """Places of links that filters leave out."""

    @property
    def body(self) -> bytes:
        return self.result.decoded.data if self.whole else b""

    def frame(self) -> tuple[bytes, bytes]:
        result, fetched, body = self.result, self.result.fetched, self.body
        headers = "\0".join(chain.from_iterable(fetched.headers.items())).encode(errors="replace")
        title = result.gathered.title.encode(errors="replace")
        texts = fetched.assignment.url, headers, title, result.links
        return page_frame(self.number, self.skip, fetched.status, len(result.gathered.links), texts, body), body

    def leave_out(self, places: Iterable[int] | None = None) -> None:
        """Leaves these links out; without places, all of them."""
        self.left_out.update(range(len(self.result.gathered.links)) if places is None else places)

    def done(self, without: Without) -> Result:
        """The result. What is not a page, or may not be stored, has no rows."""
        result = without(self.result, self.left_out) if self.left_out else self.result
        stored = self.lines and result.kept and result.fetched.assignment.ask is Ask.PAGE
        return result._replace(rows=b"".join(self.lines)) if stored else result


class Child:
    """The process, with the socket and the marker that it shares with the worker."""

    def __init__(self, given: bytes, most: int) -> None:
        self.socket, theirs = socket.socketpair()
        for end in (self.socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        self.socket.setblocking(False)
        memory = os.memfd_create("gossamer-marker")
        os.ftruncate(memory, mmap.PAGESIZE)
        self.marker = Marker(memory)
        arguments = map(str, (theirs.fileno(), memory, most))
        command = [sys.executable, "-P", "-m", "gossamer.crawler.processing.process", *arguments]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno(), memory], process_group=0
            )
        finally:
            theirs.close()
            os.close(memory)
        assert self.process.stdin is not None
        self.process.stdin.write(given)  # much less than a pipe holds
        self.process.stdin.close()
        self.pidfd = os.pidfd_open(self.process.pid)

    @property
    def fds(self) -> tuple[int, int]:
        return self.socket.fileno(), self.pidfd

    def end(self, at_once: bool = True) -> int:
        """Ends the process, unless it has just ended by itself; returns its exit code."""
        if not at_once:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(LAST_BREATH)
        self.process.kill()
        code = self.process.wait()
        self.socket.close()
        self.marker.close()
        os.close(self.pidfd)
        return code


@dataclass(slots=True)
class Deaths:
    """Processes that have ended in a row while nothing was to blame."""

    count: int = 0
    words: str = ""
    """Why the first of them ended."""
    not_before: float = 0.0
    """When another may be started."""


class Stillness:
    """For how long the same page has been in the hands of the same processor."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._seconds, self._looked = 0.0, time.monotonic()

    def look(self, running: tuple[int, int] | None, busy: bool) -> float:
        """Seconds. Time in which nobody looked does not count: both processes may have been stopped."""
        now = time.monotonic()
        since, self._looked = min(now - self._looked, LOOK_EVERY), now
        self._seconds = self._seconds + since if busy and running == self._last else 0.0
        self._last = running
        return self._seconds


class Beside:
    """The pages that processors see, of one worker."""

    def __init__(
        self, processors: Sequence[Any], timeout: float, memory: int, epoll: select.epoll, without: Without
    ) -> None:
        """`processors`: each with its plug-in and its table, as JSON has them; filters too."""
        self._known = Known.of(processors[:MOST_PROCESSORS], without)
        self._given = json.dumps(processors).encode()
        self._timeout, self._memory, self._epoll = timeout, memory, epoll
        self._waiting, self._sent = deque[Held](), deque[Held]()
        self._sent_bytes, self._unsent, self._numbers = 0, deque[memoryview](), 0
        self._received = bytearray()
        self._deaths, self._stillness = Deaths(), Stillness()
        self._mask = 0
        self._child: Child | None = None
        self._start()

    @property
    def held(self) -> int:
        """Results that are held."""
        return len(self._waiting) + len(self._sent)

    @property
    def fds(self) -> Collection[int]:
        return self._child.fds if self._child is not None else ()

    def takes(self, result: Result) -> bool:
        """Whether processors see the page, or filters its links."""
        return bool((self._known.others and self._shows(result)) or (self._known.filters and result.gathered.links))

    @staticmethod
    def _shows(result: Result) -> bool:
        """Whether processors may see it: a page that was fetched, and may be kept."""
        return result.outcome is Outcome.OK and result.kept and result.fetched.assignment.ask is Ask.PAGE

    def give(self, result: Result) -> None:
        self._numbers += 1
        whole = bool(self._known.others) and self._shows(result)
        self._waiting.append(Held(self._numbers, result, 0 if whole else self._known.others, whole))

    def turn(self) -> list[Result]:
        """Once per turn of the worker's loop: sends and receives what it can. Returns the results that are done."""
        done: list[Result] = []
        if self._child is None and time.monotonic() >= self._deaths.not_before:
            self._start()
        if self._child is not None:
            gone = self._receive(done)
            hung = not gone and self._hangs()
            if gone or hung or self._child.process.poll() is not None:
                self._bury(done, hung)
        if self._child is None:
            self._give_up(done)
        else:
            self._send()
            self._watch(self._child)
        return done

    def close(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    # --- to the process -----------------------------------------------------------------------------------------

    def _send(self) -> None:
        while self._waiting and (
            not self._sent or (len(self._sent) < MOST_SENT and self._sent_bytes < MOST_BYTES_SENT)
        ):
            held = self._waiting.popleft()
            self._sent.append(held)
            self._sent_bytes += len(held.body)
            self._unsent.extend(memoryview(part) for part in held.frame())
        assert self._child is not None
        while self._unsent:
            try:
                count = self._child.socket.sendmsg([self._unsent[i] for i in range(min(len(self._unsent), 256))])
            except BlockingIOError:
                return
            except OSError:  # it has ended: the next turn buries it
                self._unsent.clear()
                return
            while count and count >= len(self._unsent[0]):
                count -= len(self._unsent.popleft())
            if count:
                self._unsent[0] = self._unsent[0][count:]
            while self._unsent and not self._unsent[0]:
                self._unsent.popleft()

    def _watch(self, child: Child) -> None:
        mask = select.EPOLLIN | (select.EPOLLOUT if self._unsent else 0)
        if mask != self._mask:
            self._mask = mask
            self._epoll.modify(child.socket.fileno(), mask)

    # --- from the process ---------------------------------------------------------------------------------------

    def _receive(self, done: list[Result]) -> bool:
        """Takes the replies that are there. True: the process is gone."""
        assert self._child is not None
        ended = False
        while True:
            try:
                data = self._child.socket.recv(_READ)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                ended = True
                break
            self._received += data
        for number, body in replies(self._received):
            if number == NO_PAGE:
                self._deaths = Deaths(MOST_DEATHS, body.decode(errors="replace"))
            elif self._sent and self._sent[0].number == number:
                held = self._sent.popleft()
                self._sent_bytes -= len(held.body)
                if self._take(held, body):
                    done.append(held.done(self._known.without))
                else:
                    self._waiting.appendleft(held)
                self._deaths = Deaths()
        return ended

    def _take(self, held: Held, body: bytes) -> bool:
        """Takes what the process replied; False: not all have seen the page."""
        seen = True
        for processor, found in parts(body):
            if processor == LEFT_OUT:
                held.leave_out(_places(found, len(held.result.gathered.links)))
            elif processor == UNSEEN:
                held.skip, seen = held.skip | (1 << found[0]) - 1, False
            else:
                self._add(held, processor, found)
        return seen

    def _add(self, held: Held, processor: int, body: bytes) -> None:
        """Adds the rows of a processor. What it sent is not trusted: its code may have written over anything."""
        if processor < len(self._known.heads):
            sound = len(body) <= MOST_BYTES and b"\n" not in body and b"\t" not in body
            held.lines += [
                self._known.heads[processor],
                body if sound else fault("its rows were damaged on their way"),
                b"\n",
            ]

    def _hangs(self) -> bool:
        """Whether a processor has run for too long, or the process has not begun in time."""
        assert self._child is not None
        running = self._child.marker.read()
        still = self._stillness.look(running, bool(self._sent))
        return still > (self._timeout if running is not None else max(SLOW_START, self._timeout))

    # --- ends and beginnings ------------------------------------------------------------------------------------

    def _bury(self, done: list[Result], hung: bool) -> None:
        """Ends the process, blames what ran, and starts another."""
        self._receive(done)
        child, self._child = self._child, None
        assert child is not None
        running = child.marker.read()
        for fd in child.fds:
            self._epoll.unregister(fd)
        why = _why(child.end(at_once=hung), hung, running is not None, self._timeout)
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        self._unsent.clear()
        self._received.clear()
        self._sent_bytes = 0
        if running is None or not self._blame(running, why.words, done):
            self._deaths.count += not why.grown
            self._deaths.words = self._deaths.words or why.words
        if self._deaths.count <= MOST_DEATHS:
            self._start()
        else:
            self._deaths.not_before = time.monotonic() + TRY_AGAIN

    def _blame(self, running: tuple[int, int], why: str, done: list[Result]) -> bool:
        """The page that ran gets a fault in the table of the processor; others still see it. False: it had left."""
        number, processor = running
        held = next((each for each in self._waiting if each.number == number), None)
        if held is None:
            return False
        self._fail(held, processor, why)
        if held.skip == (1 << len(self._known.heads)) - 1:
            self._waiting.remove(held)
            done.append(held.done(self._known.without))
        return True

    def _fail(self, held: Held, processor: int, why: str) -> None:
        """The page has a fault in the table of the processor; of a filter, no link is followed."""
        held.skip |= 1 << processor
        self._add(held, processor, fault(why))
        if self._known.filters >> processor & 1:
            held.leave_out()

    def _give_up(self, done: list[Result]) -> None:
        """No process can be kept: every page leaves with a fault of each processor that has not seen it."""
        for held in self._waiting:
            for processor in range(len(self._known.heads)):
                if not held.skip >> processor & 1:
                    self._fail(held, processor, self._deaths.words)
            done.append(held.done(self._known.without))
        self._waiting.clear()

    def _start(self) -> None:
        try:
            self._child = Child(self._given, self._memory)
        except OSError as error:
            words = f"its process cannot be started: {error.strerror}"
            self._deaths = Deaths(self._deaths.count + 1, words, time.monotonic() + TRY_AGAIN)
            return
        self._stillness = Stillness()
        self._mask = select.EPOLLIN
        for fd in self._child.fds:
            self._epoll.register(fd, select.EPOLLIN)


def _places(raw: bytes, count: int) -> list[int] | None:
    """The places of links in a reply; None if they are damaged."""
    if len(raw) % 4:
        return None
    places: list[int] = np.frombuffer(raw, "<u4").tolist()
    return places if max(places, default=0) < count else None


class Why(NamedTuple):
    """Why a process has ended."""

    words: str
    grown: bool
    """Whether it asked to be replaced because it had grown."""


def _why(code: int, hung: bool, ran: bool, timeout: float) -> Why:
    if hung:
        took = f"it took longer than {human_time(timeout)} (plugins.timeout), and was ended"
        return Why(took if ran else "its process did not begin in time", False)
    by = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return Why(f"its process ended {by}", code == RECYCLE)
