"""The last requests of a crawl, as its journal has them: only what was added since the last look is read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from gossamer.base.errors import GossamerError
from gossamer.base.model import Ask
from gossamer.base.outcomes import Outcome
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import journal_files, shard_folder
from gossamer.library.collection import Collection
from gossamer.observe.socket import ask

SHOWN: Final = 12
_TICKS: Final = 8
"""Ticks that are read for them, at most."""


class Request(msgspec.Struct, frozen=True):
    """A request for a page, and what came of it."""

    time: float
    url: str
    outcome: str
    status: int | None


class Recent:
    """Any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self._shard = shard_folder(folder)
        self._lock = threading.Lock()
        self._file, self._until = 0, 0
        self._found = deque[Request](maxlen=SHOWN)

    def look(self) -> Sequence[Request]:
        """The last requests, the newest first. Those of before, if the crawl cannot be asked for their URLs."""
        with self._lock:
            try:
                self._found.extend(self._new())
            except (GossamerError, OSError):  # the journal goes on in another file just now
                self._file = 0
            return list(reversed(self._found))

    def _new(self) -> list[Request]:
        number, path = max(journal_files(self._shard).items(), default=(0, None))
        if path is None:
            return []
        if number != self._file:
            self._file, self._until = number, 0
        bodies, until = records.newest(path, self._until, _TICKS)
        rows = list[tuple[float, int, int, int]]()
        for body in reversed(bodies):
            if len(rows) >= SHOWN:
                break
            visits = Effects.decode(body).visits
            pages = visits[visits["ask"] == Ask.PAGE][::-1]
            columns = (pages[name].tolist() for name in ("time", "page", "outcome", "status"))
            rows += islice(zip(*columns, strict=True), SHOWN - len(rows))
        if rows:
            answer = ask(self._shard, {"urls": [page for _, page, _, _ in rows]}) or {}
            urls = answer.get("urls") or []
            if len(urls) != len(rows):
                return []
        else:
            urls = []
        self._until = until
        return [
            Request(time, url, Outcome(outcome).word, status or None)
            for (time, _, outcome, status), url in reversed(list(zip(rows, urls, strict=True)))
        ]


def stored_requests(web: Collection) -> list[Request]:
    """The last requests for pages, from the tables, the newest first."""
    database = web.database()
    rows = database.run(
        "select epoch(time), page, outcome, status from stored.visits where ask = 'page'"
        f" order by tick desc, number desc limit {SHOWN}"
    )
    pages = [row[1] for row in rows]
    named = database.run("select page, url from stored.pages where page in (select unnest(?::bigint[]))", [pages])
    urls: dict[int, str] = dict(named)
    return [Request(time, urls[page], outcome, status) for time, page, outcome, status in rows if page in urls]
