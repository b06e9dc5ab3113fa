"""Values of pages, sites and addresses that only the desk knows: what its parts show, from the newest image.

The values are as old as the image. They are null for pages found since, and for all pages if there is no image.
Suspended sites, which follow from the state of the back-off, are asked of the desk of a running crawl first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.errors import StorageError
from gossamer.base.model import SHARD_SHIFT
from gossamer.collection import image
from gossamer.collection.image import ImageDamagedError, ImageMissingError
from gossamer.collection.lock import holder
from gossamer.config import Settings
from gossamer.desk.shown import Shown
from gossamer.observe.image_view import open_image, replaced
from gossamer.observe.socket import ask
from gossamer.observe.status import HORIZON, sites_aside
from gossamer.read.sql.sources import Sources, missing


def desk_table(view: str, sources: Sources, settings: Settings, shown: Sequence[Shown]) -> dict[str, Array]:
    """Columns for a view, with the number of each page or site; without those that the image lacks."""
    opened = open_image(sources.shard, sources.contents.image, sources.checked)
    if opened is None:
        return {}
    table: dict[str, Array] = {}
    for part in shown:
        if part.view == view:
            try:
                values = part.values(opened, settings)
                table |= {c.name: np.asarray(array) for c, array in zip(part.columns, values, strict=True)}
            except (AttributeError, ValueError):
                continue  # of an older version
            except FileNotFoundError as error:
                if not replaced(sources.shard, sources.contents.image):
                    raise missing(Path(error.filename)) from error
    if table and view == "pages":
        table["page"] = (
            np.arange(opened.columns.page.count, dtype=np.int64) | sources.contents.meta.shard << SHARD_SHIFT
        )
    elif table and view == "sites":
        table["site"] = np.arange(opened.columns.site.count, dtype=np.int64)
    return table


class _Sites:
    """The columns of sites that `sites_aside` reads."""

    def __init__(self, stored: image.Image) -> None:
        self.why, self.next, self.refused = (stored.array(f"site.{name}") for name in ("why", "next", "refused"))
        self.count = len(self.why)


def aside_of(sources: Sources, horizon: float = HORIZON) -> list[tuple[int, str, float | None]]:
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
    except (ImageMissingError, KeyError):  # just being removed, or of another version
        return []
    except (ImageDamagedError, StorageError):
        if not replaced(sources.shard, line):
            raise
        return []
