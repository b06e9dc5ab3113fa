"""Sites that are set aside, why and until when: tables alone do not tell, because it follows from our patience.

The desk of a running crawl is asked; without one the newest image has it, as it was when the image was made.
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
    """The columns of sites that `sites_aside` looks at."""

    def __init__(self, found: image.Image) -> None:
        self.why, self.next, self.refused = (found.array(f"site.{name}") for name in ("why", "next", "refused"))
        self.count = len(self.why)


def aside_of(sources: Sources, horizon: float = HORIZON) -> list[Row]:
    """`horizon`: seconds that a site must have to wait for that; a running crawl has its own."""
    found = holder(sources.shard)
    if found is not None and found.alive:
        said = ask(sources.shard, {"aside": True}) or {}
        if "aside" in said:
            return [(int(site), str(why), until) for site, why, until in said["aside"]]
    line = sources.contents.image
    try:
        made = image.read(sources.shard, line) if line is not None else None
        return [] if made is None else sites_aside(_Sites(made), float(made.meta["wall"]), horizon)
    except (ImageDamagedError, StorageError, KeyError):  # of another version, or going at this moment
        return []
