"""The desk answers questions while it crawls: a Unix socket in the shard's folder, for `gossamer explain`.

One JSON object in a line, one back, then the connection ends. A thread answers, one question at a time; it reads
columns and writes nothing, and whatever goes wrong in it becomes an answer, {"error": …}, never an exception in the
loop. Only the user who runs the crawl may ask (mode 0600).

    {"page": URL}     canonical     {"page": number or null, "wall", "standing", "plan", …}
    {"site": NAME}                  {"site": number or null, "wall", "standing", "queue", …}
    {"aside": true}                 {"aside": [[site, why, until or null], …], "wall"}

The socket is bound under /proc/self/fd, because a path of more than 107 bytes does not fit into a socket's address. It
is no part of the collection: one that a kill left behind is replaced by the next desk, which holds the lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.manager.pages import Pages
from gossamer.urls import fingerprint
from gossamer.whereabouts import (
    TOTAL,
    Said,
    no_site,
    page_standing,
    plan_standing,
    scores_of,
    site_standing,
    sites_aside,
    unknown_standing,
)

if TYPE_CHECKING:
    from gossamer.base.clock import Clock
    from gossamer.collection.store import Store
    from gossamer.desk.desk import Desk
    from gossamer.dispatch import Dispatch
    from gossamer.planner import Planner

SOCKET: Final = "desk.sock"
LONGEST: Final = 1 << 16
"""Bytes of a question, or of the texts in an answer."""
PATIENCE: Final = 2.0
"""Seconds: for a question to come and its answer to be taken."""
PAUSE: Final = 0.2
"""Seconds before the next question is listened for, if one could not be taken."""
QUEUE: Final = 10
"""Pages of a site's queue that are named."""
_TRIES: Final = 3


@contextmanager
def _reachable(shard: Path) -> Iterator[str]:
    """A short path to the socket, whatever the length of the folder's."""
    fd = os.open(shard, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


def ask(shard: Path, question: Said, patience: float = 5.0) -> Said | None:
    """What the desk of a running crawl says; None if there is none, or it does not answer."""
    try:
        with _reachable(shard) as path, socket.socket(socket.AF_UNIX) as line:
            line.settimeout(patience)
            line.connect(path)
            line.sendall(json.dumps(question).encode() + b"\n")
            raw = _line(line, 1 << 24)
    except OSError:
        return None
    said = json.loads(raw) if raw else None
    return said if isinstance(said, dict) else None


def _line(connection: socket.socket, most: int) -> bytes:
    parts, size = [], 0
    while part := connection.recv(1 << 16):
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError("the line is too long")
        if part.endswith(b"\n"):
            break
    return b"".join(parts)


def _failure(error: Exception) -> Said:
    return {"error": f"{type(error).__name__}: {error}"}


class DeskView:
    """The desk as `whereabouts` sees it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.columns = desk.columns

    def site_name(self, site: int) -> str:
        return self._desk[Places].names[site]

    def address_of(self, site: int) -> str | None:
        return None if int(self.columns.site.address[site]) == NONE else self._desk[Places].address(site)

    def speeds_of(self, site: int) -> list[float]:
        number = int(self.columns.site.address[site])
        return [] if number == NONE else [float(speed) for speed in self._desk[ServerSpeeds].speeds.rows[number + 1]]

    def rules_of(self, origin: int) -> bytes:
        origins = self.columns.origin
        with self._desk[Rules].book.lock:
            start, end = int(origins.rules_start[origin]), int(origins.rules_end[origin])
            return self._desk[Rules].book.buffer[start:end].tobytes()


class Listener:
    def __init__(self, desk: Desk, store: Store, dispatch: Dispatch, planner: Planner, clock: Clock) -> None:
        self._shard, self._desk, self._store, self._dispatch = store.shard, desk, store, dispatch
        self._planner, self._clock = planner, clock
        self._view = DeskView(desk)
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self.complaint = ""
        """Why nobody can ask, if so: a file system without sockets is no reason not to crawl."""

    def start(self) -> None:
        listening = socket.socket(socket.AF_UNIX)
        try:
            os.fchmod(listening.fileno(), 0o600)  # before it has a name: the file gets this mode
            with _reachable(self._shard) as path:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                listening.bind(path)
            listening.listen(8)
        except OSError as error:
            listening.close()
            self.complaint = f"{self._shard / SOCKET}: {error.strerror}; `gossamer explain` will read files only"
            return
        self._socket = listening
        self._thread = threading.Thread(target=self._serve, args=(listening,), name="asking", daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._socket is None or self._thread is None:
            return
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join(PATIENCE)
        self._socket.close()
        self._socket = None
        with contextlib.suppress(OSError):
            os.unlink(self._shard / SOCKET)

    def _serve(self, listening: socket.socket) -> None:
        """Until `close`. Whatever else accept says (no more files can be opened) passes, and the asker waits."""
        while not self._closed.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                self._closed.wait(PAUSE)
                continue
            with contextlib.suppress(OSError), connection:
                connection.settimeout(PATIENCE)
                connection.sendall(self.reply(_line(connection, LONGEST)))

    def reply(self, raw: bytes) -> bytes:
        """The answer as a line. Never raises."""
        try:
            return json.dumps(self.answer(raw)).encode() + b"\n"
        except Exception as error:
            return json.dumps(_failure(error)).encode() + b"\n"

    def answer(self, raw: bytes) -> Said:
        """Never raises."""
        try:
            question = json.loads(raw)
            wall = self._desk.believed(self._clock.wall())
            if "aside" in question:
                return {"wall": wall, "aside": sites_aside(self._desk.columns.site, wall)}
            if "page" in question:
                return {"wall": wall, **self._page(str(question["page"]), wall)}
            return {"wall": wall, **self._site(str(question["site"]), wall)}
        except Exception as error:
            return _failure(error)

    def _page(self, url: str, wall: float) -> Said:
        page = self._find(url.encode())
        if page == NONE:
            return {"page": None, "known": self._desk.columns.page.count, **self._site_of(url, wall)}
        settings = self._desk.settings
        standing = page_standing(self._view, settings, wall, page, url)
        answer: Said = {"page": page, "standing": standing, "scores": self._scores(page, wall)}
        plan, made = getattr(self._planner, "last", None), getattr(self._planner, "last_made", 0.0)
        if plan is not None:
            answer["plan"] = plan_standing(plan, made, settings, standing, page)
            answer["plans"] = self._planner.history.about(page, standing["site"]["number"])
        answer["next_turn"] = self._next_turn(standing["site"]["number"], wall)
        return answer

    def _scores(self, page: int, wall: float) -> Said:
        issued = int(self._desk[Pages].totals[TOTAL])
        return scores_of(self._desk.columns, self._desk.settings, issued, wall, page)

    def _site_of(self, url: str, wall: float) -> Said:
        """Of a page that is not known: is there still room in its site, and what would keep it from being asked for?"""
        site = self._desk[Places].site(url.partition("://")[2].partition("/")[0].partition(":")[0])
        if no_site(self._desk.columns, site):
            return {"sites": self._desk.columns.site.count}
        pages = int(self._desk.columns.site.pages[site])
        return {"site_pages": pages, "would": unknown_standing(self._view, self._desk.settings, wall, site, url)}

    def _find(self, url: bytes) -> int:
        """The loop may be moving a part of the table while it is searched: then it is searched again.

        A number is believed if its text is the URL.
        """
        key = np.array([fingerprint(url, self._desk.seed)], np.uint64)
        for _ in range(_TRIES):
            page = int(self._desk.columns.known.find(key)[0])
            if page < self._desk.columns.page.count:
                with contextlib.suppress(GossamerError, IndexError):
                    if self._store.urls.read(page) == url:
                        return page
        return NONE

    def _next_turn(self, site: int, wall: float) -> float:
        """Wall: when the queue lets the site be asked again."""
        return round(wall + self._dispatch.queue.time_of(site) - self._clock.monotonic(), 3)

    def _site(self, name: str, wall: float) -> Said:
        columns, names = self._desk.columns, self._desk[Places].names
        site = self._desk[Places].site(name)
        if no_site(columns, site) or names[site] != name:
            return {"site": None}
        planned = self._dispatch.queue.planned(site)
        texts = self._store.urls.read_many(planned[:QUEUE].tolist())
        return {
            "site": site,
            "standing": site_standing(
                self._view, self._desk.settings, int(self._desk[Pages].totals[TOTAL]), wall, site
            ),
            "planned": len(planned),
            "queue": [
                {"page": int(page), "url": text.decode(), "depth": int(columns.page.depth[page])}
                for page, text in zip(planned.tolist(), texts, strict=False)
            ],
            "next_turn": self._next_turn(site, wall),
        }
