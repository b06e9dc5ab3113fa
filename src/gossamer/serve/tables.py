"""The tables of a collection, opened once for all who ask, and queries that end.

A database is what a look costs most: the journal of a crawl that runs is decoded for it. So the same one answers until
it is a moment old, and until it has been of use for twenty times as long as it took to open (`seen.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from gossamer.base.errors import GossamerError, UsageError
from gossamer.library.collection import Collection
from gossamer.read.sql.database import Database, Row
from gossamer.serve.seen import Seen

DATABASE: Final = "database"
"""What the tables are kept under."""
FRESH: Final = 2.0
"""Seconds for which tables are kept open, at least."""
SECONDS: Final = 10.0
"""Maximum number of seconds for a question."""


class Interrupted(Protocol):
    """A computation that can be interrupted."""

    def interrupt(self) -> None: ...


class Tables:
    """Any thread may use it; one query runs at a time."""

    def __init__(self, web: Collection, seen: Seen) -> None:
        self._web, self._seen = web, seen

    @contextmanager
    def open(self) -> Iterator[Database]:
        """The tables, for one caller at a time. UsageError if the wait is too long."""
        with self._seen.lock:
            database = self._seen.once(DATABASE, FRESH, self._web.database)
            with ending(database):
                yield database

    def run(self, statement: str, parameters: Sequence[Any] = (), views: Sequence[str] = ()) -> list[Row]:
        """The rows of a trusted statement (`Database.run`)."""
        with self.open() as database:
            return database.run(statement, parameters, views)


@contextmanager
def ending(
    running: Interrupted, seconds: float = SECONDS, cure: str = "Choose fewer rows, or a site."
) -> Iterator[None]:
    """Interrupts what takes longer: UsageError."""
    over = threading.Event()

    def end() -> None:
        over.set()
        running.interrupt()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    except GossamerError as error:
        if over.is_set():
            raise UsageError(f"it took longer than {seconds:g} s", cure) from error
        raise
    finally:
        timer.cancel()
