"""The state after a kill: rebuilds the state of the desk in this process, from image, segments and journal, as a start
does. Only reads, and takes no lock.

It needs the compiled kernels, which take 0.8 s of processor time to load. So it is used only if there is no other
source: no crawl runs, and effects were committed after the last image. 4,600 visits then take 0.2 s. If the replay
would take longer than `MOST`, only the files are used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.base.errors import GossamerError
from gossamer.collection.manifest import PER_BYTE, PER_PAGE, PER_VISIT, Contents, replay_seconds
from gossamer.config import Settings

if TYPE_CHECKING:
    from gossamer.collection.journal.effects import Effects
    from gossamer.desk.desk import Desk

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


def cheap(contents: Contents, journal: list[Effects], with_image: bool = True) -> bool:
    """Whether a replay takes at most `MOST` seconds, by estimate."""
    seconds = replay_seconds(contents, with_image)
    seconds += sum(PER_VISIT * len(e.visits) + PER_PAGE * len(e.pages) for e in journal)
    if with_image and contents.image is not None:
        seconds += PER_BYTE * int(contents.image["bytes"])
    return seconds <= MOST


def replay(shard: Path, contents: Contents, journal: list[Effects], settings: Settings) -> Replayed | None:
    """The replayed desk; None if the replay would take too long, or is impossible."""
    if not cheap(contents, journal):
        return None
    from gossamer.base.compiled import KEPT

    if not KEPT.exists():  # compiling them takes a minute
        return None
    try:
        return _replay(shard, contents, journal, settings)
    except GossamerError:
        return None


def _replay(shard: Path, contents: Contents, journal: list[Effects], settings: Settings) -> Replayed | None:
    from gossamer.collection.recovery import recover
    from gossamer.crawl.apply import apply
    from gossamer.crawl.parts import new_desk
    from gossamer.desk import snapshot

    recovered = recover(shard)
    desk = new_desk(settings, recovered.meta.seed)
    if recovered.image is not None and snapshot.usable(desk, recovered.image):
        snapshot.load(desk, recovered.image)
    elif not cheap(contents, journal, with_image=False):
        return None
    else:
        recovered = replace(recovered, image=None)
    for effects in recovered.effects():
        apply(desk, effects)
    ranked = recovered.image is not None or not any((shard / "scores").glob("*.parquet"))
    return Replayed(desk, recovered.mark.record, ranked)
