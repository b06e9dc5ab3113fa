"""A collection opened for an explanation: its settings, its files, and the best source of the current state.

`as_of` names that source: the *desk* of a running crawl; the *image* of the last stop, exact if nothing was committed
after it; after a kill, a *replay* of the committed effects, if that is cheap; otherwise only the *files*.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection.layout import shard_folder
from gossamer.collection.lock import holder
from gossamer.config import Settings
from gossamer.observe.image_view import Mapped, open_image
from gossamer.observe.socket import ask
from gossamer.read.explain.answers import AsOf, Live
from gossamer.read.explain.files import Files
from gossamer.read.explain.replayed import Replayed, replay
from gossamer.read.sql.sources import missing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Opened:
    """An open collection."""

    settings: Settings
    files: Files
    live: Live | None
    """The desk's answer to the question that the collection was opened with; None if no crawl runs."""
    image: Mapped | Replayed | None
    running: bool

    @property
    def wall(self) -> float:
        """The current time, or the time of the desk's answer."""
        return float(self.live["wall"]) if self.live else time.time()

    @property
    def as_of(self) -> AsOf:
        if self.live:
            return {"source": "desk", "time": self.live["wall"], "exact": True}
        if isinstance(self.image, Replayed):
            return {"source": "replay", "time": self.image.wall, "exact": True}
        if self.image is not None:
            exact = not self.running and not self.files.journal and self.image.record >= self.files.last_record
            return {"source": "image", "time": self.image.wall, "exact": exact}
        last = max((e.wall for e in self.files.journal), default=None)
        return {"source": "files", "time": last, "exact": False}


def steadily(read: Callable[[], T]) -> T:
    """Calls `read`, which opens the collection. If a file is removed meanwhile (because a crawl or a compaction has
    made a newer image or segment), calls it once more, to find the newer one."""
    try:
        return read()
    except (FileNotFoundError, StorageError) as error:
        before = _missing(error)
        if before is None:
            raise
    try:
        return read()
    except (FileNotFoundError, StorageError) as error:
        gone = _missing(error)
        if gone is None:
            raise
        if gone.filename and gone.filename == before.filename:
            raise missing(Path(gone.filename)) from error
        raise GossamerError(
            f"{gone.filename} was removed twice while it was read: the collection is changing, or a file is missing",
            "Try again; if the error remains, check the collection with `gossamer verify`.",
        ) from error


def _missing(error: BaseException) -> FileNotFoundError | None:
    cause = error.__cause__ if isinstance(error, StorageError) else error
    return cause if isinstance(cause, FileNotFoundError) else None


def opened(folder: Path, settings: Settings, question: Live) -> Opened:
    """Opens the collection. The desk is asked first: everything in its answer is then in the journal too."""
    shard = shard_folder(folder)
    process = holder(shard)
    running = process is not None and process.alive
    live = ask(shard, question) if running else None
    if live is not None and "error" in live:
        live = None
    files = Files(shard, running)
    image = None if live else open_image(shard, files.image)
    if image is None and live is None and files.image is not None:
        newer = Files(shard, running)
        if newer.image != files.image:
            files, image = newer, open_image(shard, newer.image)
    if image is not None:
        files.offsets = image.array("url_offsets")
    collection = Opened(settings, files, live, image, running)
    if live is None and not running and not collection.as_of["exact"]:
        replayed = replay(shard, files.contents, files.journal, settings)
        return collection if replayed is None else replace(collection, image=replayed)
    return collection
