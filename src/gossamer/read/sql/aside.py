"""Suspended sites, with reason and end. The tables do not contain them, because they follow from the back-off state.

The desk of a running crawl is asked. Without one, the newest image is read: the state at the time of the image.
"""

from __future__ import annotations

from gossamer.base.errors import StorageError
from gossamer.collection import image
from gossamer.collection.image import ImageDamagedError
from gossamer.collection.lock import holder
from gossamer.observe.socket import ask
from gossamer.observe.status import HORIZON, sites_aside
from gossamer.read.sql.sources import Sources

Row = tuple[int, str, float | None]


class _Sites:
    """The columns of sites that `sites_aside` reads."""

    def __init__(self, stored: image.Image) -> None:
        self.why, self.next, self.refused = (stored.array(f"site.{name}") for name in ("why", "next", "refused"))
        self.count = len(self.why)


def aside_of(sources: Sources, horizon: float = HORIZON) -> list[Row]:
    """Number, reason and end (None: as long as the reason holds) of each suspended site. `horizon`: seconds that a site
    must have left to wait to count as suspended; a running crawl uses its own."""
    process = holder(sources.shard)
    if process is not None and process.alive:
        answer = ask(sources.shard, {"aside": True}) or {}
        if "aside" in answer:
            return [(int(site), str(why), until) for site, why, until in answer["aside"]]
    line = sources.contents.image
    try:
        made = image.read(sources.shard, line) if line is not None else None
        return [] if made is None else sites_aside(_Sites(made), float(made.meta["wall"]), horizon)
    except (ImageDamagedError, StorageError, KeyError):  # of another version, or just being removed
        return []
