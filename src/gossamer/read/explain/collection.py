"""A collection opened for questions: its settings, its files, and who knows how things stand now.

Who knows is said in `as_of`: the *desk* of a running crawl; the *image* of the last stop, exact if nothing came after
it; after a kill a *replay* of what was committed, if that is cheap; else nobody, and only *files* speak.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection.layout import shard_folder
from gossamer.collection.lock import holder
from gossamer.config import Settings
from gossamer.observe.image_view import Mapped, open_image
from gossamer.observe.socket import ask
from gossamer.read.explain.files import Files
from gossamer.read.explain.replayed import Replayed, replay
from gossamer.read.sql.sources import missing

Said = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    settings: Settings
    files: Files
    live: Said | None
    """The answer of the desk to the question that the collection was opened with."""
    image: Mapped | Replayed | None
    running: bool

    @property
    def wall(self) -> float:
        """Now, or when the answer was given."""
        return float(self.live["wall"]) if self.live else time.time()

    @property
    def as_of(self) -> Said:
        if self.live:
            return {"source": "desk", "time": self.live["wall"], "exact": True}
        if isinstance(self.image, Replayed):
            return {"source": "replay", "time": self.image.wall, "exact": True}
        if self.image is not None:
            exact = not self.running and not self.files.journal and self.image.record >= self.files.last_record
            return {"source": "image", "time": self.image.wall, "exact": exact}
        last = max((e.wall for e in self.files.journal), default=None)
        return {"source": "files", "time": last, "exact": False}


def steadily(look: Callable[[], Said]) -> Said:
    """What `look` says, which opens the collection. If a file goes while it is read (a crawl or a compaction has made
    a newer image or segment), it looks once more, and finds the newer one."""
    try:
        return look()
    except (FileNotFoundError, StorageError) as error:
        before = _missing(error)
        if before is None:
            raise
    try:
        return look()
    except (FileNotFoundError, StorageError) as error:
        gone = _missing(error)
        if gone is None:
            raise
        if gone.filename and gone.filename == before.filename:
            raise missing(Path(gone.filename)) from error
        raise GossamerError(
            f"{gone.filename} went while it was read, twice: the collection is changing, or lacks a file",
            "Try again; if it stays so, look at the collection with `gossamer verify`.",
        ) from error


def _missing(error: BaseException) -> FileNotFoundError | None:
    cause = error.__cause__ if isinstance(error, StorageError) else error
    return cause if isinstance(cause, FileNotFoundError) else None


def opened(folder: Path, settings: Settings, question: Said) -> Opened:
    """The desk is asked first: what it knows is in the journal by then."""
    shard = shard_folder(folder)
    desk = holder(shard)
    running = desk is not None and desk.alive
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
    found = Opened(settings, files, live, image, running)
    if live is None and not running and not found.as_of["exact"]:
        replayed = replay(shard, files.contents, files.journal, settings)
        return found if replayed is None else replace(found, image=replayed)
    return found
