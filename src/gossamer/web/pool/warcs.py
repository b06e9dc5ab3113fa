"""The archive files of a run, on the desk's side: workers append to them, the desk creates, syncs and cuts them.

A file is full when it has reached its size, or when its day has passed: then the worker gets another. A day, or
whatever time the settings give, is one of UTC, so that all workers change their files together. A file that got no
result stays.

What a worker wrote beyond its last result that came belongs to no result yet, and is cut when the worker dies. Results
may wait for the next tick: marks vouch only for the results that were handed over. A file that is closed is named once
more and then forgotten: a crawl of months has thousands, and a mark every second.

Invariants, each a property test of the same name: a file is full by size or by day, and never empty; every length
becomes known once, and only files in use are named again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gossamer import __version__
from gossamer.base import disk
from gossamer.collection.layout import archive_name
from gossamer.config.settings import CollectionSettings
from gossamer.web.archive.archive import warcinfo


@dataclass(slots=True)
class _File:
    path: Path
    appender: disk.Appender | None
    length: int
    """Bytes, as of the results that the desk has journalled, or is about to: what marks vouch for."""
    taken: int = 0
    """Bytes, as of the results that have come: what follows does not count."""
    full: bool = False
    """No worker will append to it any more."""
    told: int = -1
    """The length that the last mark has."""
    head: int = 0
    """Bytes of its warcinfo record."""
    day: int = 0

    @property
    def over(self) -> bool:
        """Whether it is closed, and a mark vouches for all of it."""
        return self.appender is None and self.told == self.length == self.taken


class Warcs:
    """The archive files of this run, by number."""

    def __init__(
        self,
        shard: Path,
        number: int,
        said: Mapping[str, str],
        limits: CollectionSettings,
        wall: Callable[[], float],
    ) -> None:
        """`number`: of the first file; `said`: fields of its warcinfo record; `wall`: the time."""
        self.size = limits.warc_size
        self._every, self._wall = float(limits.warc_every), wall
        self._shard = shard
        self._next = number
        self._said = said
        self._files: dict[int, _File] = {}
        self._closing = threading.Lock()

    def create(self) -> tuple[int, Path]:
        """Creates a file with its warcinfo record; returns its number and path."""
        number, self._next = self._next, self._next + 1
        path = self._shard / archive_name(number)
        disk.make_directory(path.parent)
        path = path.parent.resolve() / path.name  # the folder may be a link, the file may not
        appender = disk.Appender(path)
        appender.append(warcinfo(path.name, f"Gossamer/{__version__}", self._said))
        length = appender.length
        self._files[number] = _File(path, appender, length, length, head=length, day=self._day())
        return number, path

    def _day(self) -> int:
        return int(self._wall() // self._every) if self._every else 0

    def came(self, number: int, length: int) -> None:
        """A result has come whose records end at `length`."""
        file = self._files[number]
        file.taken = max(file.taken, length)

    def grew(self, number: int, length: int) -> None:
        """A result whose records end at `length` is handed to the desk. A file that is forgotten has it."""
        file = self._files.get(number)
        if file is not None:
            file.length = max(file.length, length)

    def is_full(self, number: int) -> bool:
        file = self._files[number]
        return file.taken >= self.size or (file.day != self._day() and file.taken > file.head)

    def lengths(self) -> dict[str, int]:
        """Lengths of the files, as of the results handed over, by path relative to the shard's folder, for the next
        mark. Those of which an earlier mark has all are left out, and forgotten."""
        for number in [number for number, file in self._files.items() if file.over]:
            del self._files[number]
        for file in self._files.values():
            file.told = file.length
        return {archive_name(number): file.length for number, file in self._files.items()}

    def finish(self, number: int) -> None:
        """The last result of a file was taken: it is closed with its next sync."""
        self._files[number].full = True

    def cut(self, number: int) -> None:
        """Cuts a file to the end of its last whole result: its worker is gone."""
        file = self._files[number]
        # by its descriptor: if the folder was moved or replaced, another file may be at the path
        if not file.full and file.appender is not None and os.fstat(file.appender.fileno()).st_size > file.taken:
            file.appender.truncate(file.taken)
        self.finish(number)

    def sync(self, names: Collection[str] | None = None) -> None:
        """Syncs files; may be called by another thread. `names` as in `lengths`; None: all."""
        for number, file in list(self._files.items()):
            if names is None or archive_name(number) in names:
                self._sync(file)

    def close(self) -> None:
        """Syncs and closes all files: a commit mark may still follow."""
        for number in self._files:
            self.finish(number)
        self.sync()

    def _sync(self, file: _File) -> None:
        with self._closing:
            if file.appender is not None:
                full = file.full
                file.appender.sync()
                if full:
                    file.appender.close()
                    file.appender = None
