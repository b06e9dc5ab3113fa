"""The process beside a worker: runs the processors on each page, and replies with their rows.

    python -P -m gossamer.crawler.processing.process SOCKET MARKER MEMORY    two descriptors, bytes

It reads its processors and filters, as JSON, from standard input. Whatever a processor raises is a fault of that page
and processor; a link about which a filter raises is left out. The rest is up to the worker, which sees by the marker
what ran when this process ended or hung (`beside.py`). When half of its memory is used after a page, the process asks
for a new one: so leaks cost no page.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.errors import GossamerError
from gossamer.base.process import die_with_parent
from gossamer.crawler.processing.frames import LEFT_OUT, NO_PAGE, PART, RECYCLE, REPLY, UNSEEN, Given, Inbox, Marker
from gossamer.crawler.processing.page import ProcessedPage
from gossamer.plugins.find import Plugin, load, raised
from gossamer.plugins.rows import Rows, Table, fault
from gossamer.urls import canonical

REPLY_EVERY: Final = 0.02
"""Seconds after which replies leave, at the latest after the page that runs."""
LOOK_EVERY: Final = 16
"""Pages between looks at the memory of this process."""
MOST_FILES: Final = 1_024
"""Files that processors may have open."""
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Loaded(NamedTuple):
    """A processor with what it needs."""

    run: Callable[..., Any]
    rows: Rows
    path: str
    filters: bool = False


class Processing:
    """The processors, and the pages that they are given."""

    def __init__(self, end: socket.socket, marker: Marker, loaded: Sequence[Loaded], most: int) -> None:
        self._socket, self._marker, self._loaded, self._most = end, marker, loaded, most
        self._grown = False
        self._pages = 0

    def run(self) -> int:
        """Runs until the worker is gone, or a new process is due; returns the exit code."""
        inbox = Inbox()
        while inbox.receive(self._socket):
            replies, began = [], time.monotonic()
            for given in inbox.pages():
                replies.append(self._reply(given))
                if (now := time.monotonic()) - began > REPLY_EVERY or self._grown:
                    self._socket.sendall(b"".join(replies))
                    replies, began = [], now
                if self._grown:
                    return RECYCLE
            if replies:
                self._socket.sendall(b"".join(replies))
        return 0

    def _reply(self, given: Given) -> bytes:
        page, url = ProcessedPage(given), given.url.decode()
        parts = []
        for number, each in enumerate(self._loaded):
            if given.skip >> number & 1:
                continue
            self._marker.set(given.number, number)
            if each.filters:
                left_out, body = self._filtered(each, page, url)
                if left_out:
                    parts += [PART.pack(LEFT_OUT, 4 * len(left_out)), np.array(left_out, "<u4").tobytes()]
            else:
                body = self._processed(each, page, url)
            if body:
                parts += [PART.pack(number, len(body)), body]
            if self._grown and number + 1 < len(self._loaded):
                parts += [PART.pack(UNSEEN, 1), bytes([number + 1])]  # the others get a process that has room
                break
        self._marker.clear()
        self._pages += 1
        if self._pages % LOOK_EVERY == 0:
            self._grown = self._grown or _resident() > self._most // 2
        return REPLY.pack(sum(map(len, parts)), given.number) + b"".join(parts)

    def _processed(self, each: Loaded, page: ProcessedPage, url: str) -> bytes:
        """The JSON of the rows, or of what went wrong."""
        try:
            return each.rows.json(each.run(page), lambda said: url if said == url else canonical(said, url))
        except BaseException as error:  # it may call sys.exit
            return self._fault(error, each)

    def _filtered(self, each: Loaded, page: ProcessedPage, url: str) -> tuple[list[int], bytes]:
        """The places of the links that it leaves out, and the JSON of its row. What goes wrong with a link leaves it
        out: to follow a link that must not be followed is worse than to miss one."""
        left_out, wrong = [], b""
        for place, link in enumerate(page.links):
            try:
                follows = each.run(link, url)
                if follows is None or follows not in (True, False):
                    raise TypeError(f"it returned {str(follows)[:40]} for {link[:80]}, neither True nor False")
            except BaseException as error:  # it may call sys.exit
                wrong, follows = wrong or self._fault(error, each), False
            if not follows:
                left_out.append(place)
        return left_out, wrong or each.rows.encoded([[len(left_out)]] if left_out else [])

    def _fault(self, error: BaseException, each: Loaded) -> bytes:
        """The JSON of what went wrong."""
        if isinstance(error, MemoryError):
            self._grown = True
            return fault(f"it needed more memory than there is (plugins.memory = {self._most:,} bytes)")
        self._grown = self._grown or (isinstance(error, OSError) and error.errno in _FULL)
        return fault(raised(error, each.path))


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main(socket_fd: int, marker_fd: int, most: int) -> int:
    """Runs the process; returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    given = json.load(sys.stdin)
    os.dup2(2, 1)  # what processors print is for people, and never for a program that reads the crawl's output
    os.set_inheritable(socket_fd, False)
    os.set_inheritable(marker_fd, False)
    end, marker = socket.socket(fileno=socket_fd), Marker(marker_fd)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    files = min(MOST_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    try:
        loaded = [_loaded(Plugin(*plugin), Table.parse(*table)) for plugin, table in given]
    except GossamerError as error:
        words = f"{error.message}. {error.cure}".encode()
        end.sendall(REPLY.pack(len(words), NO_PAGE) + words)
        return error.exit_code
    return Processing(end, marker, loaded, most).run()


def _loaded(plugin: Plugin, table: Table) -> Loaded:
    return Loaded(load(plugin), Rows(table), plugin.path, plugin.kind == "filter")


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
