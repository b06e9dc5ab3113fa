"""The desk's end of the socket: a thread that answers questions about pages and sites while the crawl runs, and passes
orders on to the loop.

It handles one question at a time, reads columns, and writes nothing. Every error in it becomes an answer,
{"error": …}, never an exception in the loop. The socket is no part of the collection: the next desk, which holds the
lock, replaces a socket that a kill left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.manager.pages import Pages
from gossamer.manager.value import TOTAL
from gossamer.observe.lists import Lists
from gossamer.observe.socket import SOCKET, path_of, read_line
from gossamer.observe.status import (
    Explaining,
    Said,
    no_site,
    page_standing,
    plan_standing,
    scores_of,
    site_standing,
    unknown_standing,
)
from gossamer.urls import fingerprint

if TYPE_CHECKING:
    from gossamer.base.clock import Clock
    from gossamer.collection.store import Store
    from gossamer.desk.desk import Desk
    from gossamer.harvester.harvest import Harvest
    from gossamer.manager.planner import Planner

LONGEST: Final = 1 << 21
"""Bytes of a question."""
PATIENCE: Final = 2.0
"""Timeout in seconds, for a question to arrive and for its answer to be read."""
LOOK: Final = 1.0
"""Seconds between looks whether the socket's file is still there."""
PAUSE: Final = 0.2
"""Seconds until the next `accept`, if one has failed."""
QUEUE: Final = 10
"""How many pages of a site's queue an answer names."""
ORDERS: Final = ("add", "again", "forget", "order", "commit")
"""Questions that change something: the loop answers them."""
_TRIES: Final = 3


def _failure(error: Exception) -> Said:
    return {"error": f"{type(error).__name__}: {error}"}


def _of_owner(connection: socket.socket) -> bool:
    """Whether the user who runs the crawl has connected, or the superuser."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] in (0, os.geteuid())


class DeskView:
    """The desk as `observe/status.py` reads it."""

    def __init__(self, desk: Desk, errands: Iterable[Explaining] = ()) -> None:
        self._desk = desk
        self.columns = desk.columns
        self.parts: Iterable[Explaining] = (*desk.parts, *errands)

    @property
    def issued(self) -> int:
        """All cash given out."""
        return int(self._desk[Pages].totals[TOTAL])

    def site_number(self, name: str) -> int:
        return self._desk[Places].site(name)

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


class Orders(Protocol):
    """Where orders are carried out."""

    def ask(self, question: Said) -> Said: ...
    def close(self) -> None: ...


class Listener:
    """Answers questions about the crawl, in a thread, from `start` to `close`."""

    def __init__(
        self,
        desk: Desk,
        store: Store,
        harvest: Harvest,
        planner: Planner,
        clock: Clock,
        orders: Orders | None = None,
    ) -> None:
        self._orders = orders
        self._shard, self._desk, self._store, self._harvest = store.shard, desk, store, harvest
        self._planner, self._clock = planner, clock
        self._view = DeskView(desk, harvest.parts())
        self._lists = Lists(self._view, desk, store, harvest, planner, clock)
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self.complaint = ""
        """Why there is no socket, if so: a file system without sockets is no reason not to crawl."""

    def start(self) -> None:
        try:
            self._socket = self._bound()
        except OSError as error:
            self.complaint = f"{self._shard / SOCKET}: {error.strerror}; `gossamer explain` will read files only"
            return
        self._thread = threading.Thread(target=self._serve, name="status socket", daemon=True)
        self._thread.start()

    def _bound(self) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX)
        try:
            os.fchmod(listening.fileno(), 0o600)  # before it has a name: the file gets this mode
            with path_of(self._shard) as path:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                listening.bind(path)
            listening.listen(8)
            listening.settimeout(LOOK)
        except OSError:
            listening.close()
            raise
        return listening

    def close(self) -> None:
        self._closed.set()
        if self._orders is not None:
            self._orders.close()  # the thread may wait for it
        if self._socket is None or self._thread is None:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join(PATIENCE)
        self._socket.close()
        self._socket = None
        with contextlib.suppress(OSError):
            os.unlink(self._shard / SOCKET)

    def _serve(self) -> None:
        """Runs until `close`. Another error of `accept` (too many open files) passes, and the client waits."""
        while not self._closed.is_set():
            try:
                connection, _ = self._listening().accept()
            except TimeoutError:
                continue
            except OSError:
                self._closed.wait(PAUSE)
                continue
            with contextlib.suppress(OSError), connection:
                connection.settimeout(PATIENCE)
                if _of_owner(connection):
                    connection.sendall(self.reply(read_line(connection, LONGEST)))

    def _listening(self) -> socket.socket:
        """The socket: another one if its file was removed, because nobody can find it any more."""
        assert self._socket is not None
        if not os.path.lexists(self._shard / SOCKET):
            lost, self._socket = self._socket, self._bound()
            lost.close()
        return self._socket

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
            if self._orders is not None and not question.keys().isdisjoint(ORDERS):
                return self._orders.ask(question)
            wall = self._desk.believed(self._clock.wall())
            if (listed := self._lists.answer(question, wall)) is not None:
                return listed
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
        made = self._planner.made
        if made.plan is not None:
            answer["plan"] = plan_standing(made.plan, made.at, settings, standing, page)
            answer["plans"] = self._planner.plans_about(page, standing["site"]["number"])
        answer["next_turn"] = self._next_turn(standing["site"]["number"], wall)
        return answer | self._quiet(wall)

    def _quiet(self, wall: float) -> Said:
        rest = self._harvest.quiet()
        return {"quiet_until": round(wall + rest)} if rest else {}

    def _scores(self, page: int, wall: float) -> Said:
        return scores_of(self._desk.columns, self._desk.settings, self._view.issued, wall, page)

    def _site_of(self, url: str, wall: float) -> Said:
        """For a page that is not known: whether its site has room for it, and what would prevent a request."""
        site = self._desk[Places].site(url.partition("://")[2].partition("/")[0].partition(":")[0])
        if no_site(self._desk.columns, site):
            return {"sites": self._desk.columns.site.count}
        pages = int(self._desk.columns.site.pages[site])
        return {"site_pages": pages, "would": unknown_standing(self._view, self._desk.settings, wall, site, url)}

    def _find(self, url: bytes) -> int:
        """The number of the page; NONE if it is not known.

        The loop may move a part of the table while it is searched: then it is searched again. A number is believed if
        its text is the URL.
        """
        key = np.array([fingerprint(url, self._desk.seed)], np.uint64)
        for _ in range(_TRIES):
            page = int(self._desk.columns.known.find(key)[0])
            if page < self._desk.columns.page.count:
                with contextlib.suppress(GossamerError, IndexError):
                    if self._store.url(page) == url:
                        return page
        return NONE

    def _next_turn(self, site: int, wall: float) -> float:
        """Wall time at which the queue lets the site be requested again."""
        return round(wall + self._harvest.ahead().time_of(site) - self._clock.monotonic(), 3)

    def _site(self, name: str, wall: float) -> Said:
        columns, names = self._desk.columns, self._desk[Places].names
        site = self._desk[Places].site(name)
        if no_site(columns, site) or names[site] != name:
            return {"site": None}
        planned = self._harvest.planned(site)
        texts = self._store.urls(planned[:QUEUE].tolist())
        return {
            "site": site,
            "standing": site_standing(self._view, self._desk.settings, self._view.issued, wall, site),
            "planned": len(planned),
            "queue": [
                {"page": int(page), "url": text.decode(), "depth": int(columns.page.depth[page])}
                for page, text in zip(planned.tolist(), texts, strict=False)
            ],
            "next_turn": self._next_turn(site, wall),
            **self._quiet(wall),
        }
