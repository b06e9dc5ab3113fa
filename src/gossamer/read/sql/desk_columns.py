"""Values of pages, sites and addresses that only the desk knows: what its parts show, from the newest image.

The values are as old as the image. They are null for pages found since, and for all pages if there is no image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.model import SHARD_SHIFT
from gossamer.config import Settings
from gossamer.desk.shown import Shown
from gossamer.observe.image_view import open_image
from gossamer.read.sql.sources import Sources


def desk_table(view: str, sources: Sources, settings: Settings, shown: Sequence[Shown]) -> dict[str, Array]:
    """Columns for a view, with the number of each page or site; without those that the image lacks."""
    image = open_image(sources.shard, sources.contents.image)
    if image is None:
        return {}
    table: dict[str, Array] = {}
    for part in shown:
        if part.view == view:
            try:
                values = part.values(image, settings)
                table |= {c.name: np.asarray(array) for c, array in zip(part.columns, values, strict=True)}
            except (AttributeError, OSError, ValueError):
                continue  # of an older version, or replaced meanwhile by a newer image
    if table and view == "pages":
        table["page"] = np.arange(image.columns.page.count, dtype=np.int64) | sources.contents.meta.shard << SHARD_SHIFT
    elif table and view == "sites":
        table["site"] = np.arange(image.columns.site.count, dtype=np.int64)
    return table
