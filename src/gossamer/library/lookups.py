"""Single pages by their URLs. What a lookup needs is read once for as long as the collection does not change.

The first lookups are queries, which take some 60 ms of CPU each in a small collection. After `SEVERAL` of them an index
says where the last copy of each page is, 30 bytes for each, so that a loop over URLs reads bodies as fast as the
archive gives them. A crawl that runs changes the collection with each commit: there, lookups stay queries. So do they
where an index would be large.

Invariant, a test of the same name: the index finds what a query finds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.collection.layout import JOURNAL, MANIFEST, shard_folder
from gossamer.collection.runs import RUNS, settings_of_last_run
from gossamer.library.page import COLUMNS, Archive, Batch, Page
from gossamer.read.copies import copies
from gossamer.read.explain.address import address_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.urls import Scope, fingerprint

if TYPE_CHECKING:
    import pyarrow as pa

SEVERAL: Final = 16
"""Lookups after which an index is made."""
MOST: Final = 2_000_000
"""Copies of pages that an index may have: 60 MB."""
_STORED: Final = "select count(*) from stored.visits where warc_end > 0"
_PLACES: Final = "select fingerprint, page, body_file, body_at, body_end from copies where body_file is not null"


def mark_of(folder: Path) -> tuple[Any, ...]:
    """What differs once something was committed, sealed, merged or forgotten, or another run has begun."""
    shard = shard_folder(folder)
    files = [shard / MANIFEST, shard / RUNS, *sorted((shard / JOURNAL).iterdir())]
    found = []
    for path in files:
        try:
            status = os.stat(path)
        except FileNotFoundError:  # sealed meanwhile
            continue
        found.append((path.name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


class Index:
    """Where the last copy of each page is, by fingerprint."""

    def __init__(self, database: Database) -> None:
        table = database.batches(f"{copies()} {_PLACES}", rows=100_000).read_all()
        prints = table.column("fingerprint").to_numpy()
        order = np.argsort(prints)
        self._prints: Array = prints[order]
        self._page, self._at, self._end = (
            table.column(name).to_numpy()[order] for name in ("page", "body_at", "body_end")
        )
        files = table.column("body_file").combine_chunks().dictionary_encode()
        self._names = files.dictionary.to_pylist()
        self._file = files.indices.to_numpy()[order]

    def find(self, print_: int) -> dict[str, Any] | None:
        """Number of the page, and place of its body; None: it has no copy here."""
        at = int(np.searchsorted(self._prints, np.uint64(print_)))
        if at == len(self._prints) or int(self._prints[at]) != print_:
            return None
        place = {"body_file": self._names[self._file[at]], "body_at": self._at[at], "body_end": self._end[at]}
        return {"page": int(self._page[at])} | {k: v if isinstance(v, str) else int(v) for k, v in place.items()}


class Found(Batch):
    """A copy that the index found: its other columns are read when one is asked for."""

    def __init__(self, archive: Archive, known: dict[str, Any], read: Callable[[], pa.RecordBatch]) -> None:
        self.archive, self._read = archive, read
        self._columns = {name: [value] for name, value in known.items()}

    def __len__(self) -> int:
        return 1

    def column(self, name: str) -> list[Any]:
        if name not in self._columns:
            rows = self._read()
            self._columns |= {each: rows.column(each).to_pylist() for each in rows.schema.names}
        return self._columns[name]


class State:
    """A collection as it was at one moment."""

    def __init__(self, folder: Path, opened: Callable[[], tuple[Database, Archive]]) -> None:
        self._folder, self._open = folder, opened
        self._lookups, self._lock = 0, threading.Lock()
        self._index: Index | None = None

    @cached_property
    def _opened(self) -> tuple[Database, Archive]:
        return self._open()

    @cached_property
    def _scope(self) -> tuple[Any, Scope, int]:
        seeder = settings_of_last_run(self._folder).seeder
        return seeder, Scope.of(seeder), find(self._folder).contents.meta.seed

    def fingerprint(self, url: str) -> tuple[str | None, int]:
        """The canonical form of a URL, None if it has none; and the number by which tables know it."""
        seeder, scope, seed = self._scope
        canonical = address_of(url, seeder, scope).canonical
        return canonical, 0 if canonical is None else fingerprint(canonical, seed)

    def page(self, canonical: str, print_: int) -> Page | bool:
        """The last copy of a page; without one, whether the page is known."""
        with self._lock:
            database, archive = self._opened
            self._lookups += 1
            if self._lookups == SEVERAL and int(database.run(_STORED)[0][0]) <= MOST:
                self._index = Index(database)
            if self._index is not None and (known := self._index.find(print_)) is not None:
                number = known["page"]
                return Page(Found(archive, known | {"url": canonical}, lambda: self._copy(number)), 0)
            numbers = database.run("select page from stored.pages where fingerprint = ?", [print_])
            for (number,) in numbers:
                if (rows := _read(database, number)) is not None:
                    return Page(Batch(archive, rows), 0)
            return bool(numbers)

    def _copy(self, number: int) -> pa.RecordBatch:
        with self._lock:
            rows = _read(self._opened[0], number)
        assert rows is not None, "the index was made of it"
        return rows


def _read(database: Database, number: int) -> pa.RecordBatch | None:
    """The last copy of a page, with all columns."""
    found = database.batches(f"{copies(f'page = {int(number)}')} select {COLUMNS} from copies").read_all()
    return found.to_batches()[0] if len(found) else None
