"""A collection opened for an explanation: its settings, its files, and the best source of the current state.

`as_of` names that source: the *desk* of a running crawl; the *image* of the last stop, exact if nothing was committed
after it; after a kill, a *replay* of the committed effects, if that is cheap; otherwise only the *files*.

The replay rebuilds the state of the desk in this process, from image, segments and journal, as a start does. It only
reads, and takes no lock. It needs the compiled kernels, which take 0.8 s of processor time to load. So it is used only
if there is no other source: no crawl runs, and effects were committed after the last image. 4,600 visits then take
0.2 s. If it would take longer than `MOST`, only the files are used.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import NONE
from gossamer.collection.checked import Checked
from gossamer.collection.image import ImageDamagedError
from gossamer.collection.layout import shard_folder
from gossamer.collection.lock import holder
from gossamer.collection.manifest import PER_BYTE, PER_PAGE, PER_VISIT, Contents, replay_seconds
from gossamer.config import Settings
from gossamer.observe.image_view import Mapped, open_image
from gossamer.observe.socket import ask
from gossamer.read.explain.answers import AsOf, Live
from gossamer.read.explain.files import Files
from gossamer.read.sql.sources import missing

if TYPE_CHECKING:
    from gossamer.collection.journal.effects import Effects
    from gossamer.desk.desk import Desk

T = TypeVar("T")
MOST: Final = 0.5
"""Maximum duration of a replay, in seconds."""


class Replayed:
    """A replayed desk, in the form that `observe/status.py` reads. It never crawls."""

    def __init__(self, desk: Desk, record: int, ranked: bool) -> None:
        from gossamer.observe.listener import DeskView

        view = DeskView(desk)
        self.columns, self.record, self.wall = desk.columns, record, desk.wall
        self.site_name, self.address_of, self.rules_of = view.site_name, view.address_of, view.rules_of
        self.speeds_of, self.parts = view.speeds_of, view.parts
        self.site_number, self.issued = view.site_number, view.issued
        self.ranked = ranked
        """False if link scores were computed and are not loaded: only an image contains them."""


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

    def site_number(self, name: str) -> int:
        """NONE when no site has this name."""
        number = NONE if self.image is None else self.image.site_number(name)
        return number if number != NONE else self.files.site_number(name)

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


def opened(folder: Path, settings: Settings, question: Live, unchecked: bool = False) -> Opened:
    """Opens the collection. The desk is asked first: everything in its answer is then in the journal too. `unchecked`:
    files are not compared with their checksums."""
    shard = shard_folder(folder)
    checked = Checked(shard, unchecked)
    process = holder(shard)
    running = process is not None and process.alive
    live = ask(shard, question) if running else None
    if live is not None and "error" in live:
        live = None
    files = Files(shard, running, checked)
    image = None if live else open_image(shard, files.image, checked)
    if image is None and live is None and files.image is not None:
        newer = Files(shard, running, checked)
        if newer.image != files.image:
            files, image = newer, open_image(shard, newer.image, checked)
    if image is not None:
        files.offsets = image.array("url_offsets")
    collection = Opened(settings, files, live, image, running)
    if live is None and not running and not collection.as_of["exact"]:
        try:
            replayed = _replay(shard, files.contents, files.journal, settings)
        except GossamerError:
            if not unchecked:
                raise
            replayed = None
        return collection if replayed is None else replace(collection, image=replayed)
    return collection


def _cheap(contents: Contents, journal: list[Effects], with_image: bool = True) -> bool:
    """Whether a replay takes at most `MOST` seconds, by estimate."""
    seconds = replay_seconds(contents, with_image)
    seconds += sum(PER_VISIT * len(e.visits) + PER_PAGE * len(e.pages) for e in journal)
    if with_image and contents.image is not None:
        seconds += PER_BYTE * int(contents.image["bytes"])
    return seconds <= MOST


def _replay(shard: Path, contents: Contents, journal: list[Effects], settings: Settings) -> Replayed | None:
    """The replayed desk; None if the replay would take too long."""
    if not _cheap(contents, journal):
        return None
    from gossamer.base.compiled import CRAWL, are_compiled

    if not are_compiled(CRAWL):  # compiling them takes half a minute
        return None
    return _replayed(shard, contents, journal, settings)


def _replayed(shard: Path, contents: Contents, journal: list[Effects], settings: Settings) -> Replayed | None:
    from gossamer.collection.recovery import recover
    from gossamer.crawler.apply import apply
    from gossamer.crawler.parts import new_desk
    from gossamer.desk import snapshot
    from gossamer.manager.pages import Pages

    recovered = recover(shard)
    if recovered.image is None and contents.image is not None and (shard / str(contents.image["image"])).exists():
        raise ImageDamagedError(recovered.warnings[0].partition(";")[0])  # without it, scores would be missing
    desk = new_desk(settings, recovered.meta.seed)
    desk[Pages].read_older(shard)
    if recovered.image is not None and snapshot.usable(desk, recovered.image):
        snapshot.load(desk, recovered.image)
    elif not _cheap(contents, journal, with_image=False):
        return None
    else:
        recovered = replace(recovered, image=None)
    for effects in recovered.effects():
        apply(desk, effects)
    ranked = recovered.image is not None or not any((shard / "scores").glob("*.parquet"))
    return Replayed(desk, recovered.mark.record, ranked)
