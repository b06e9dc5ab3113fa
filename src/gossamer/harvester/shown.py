"""What the part `versions` shows in `gossamer sql` and `gossamer explain`: which validators of a site are believed."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.config.settings import Settings
from gossamer.desk.shown import ImageView, Shown, columns_of

LIES: Final = 4
"""From this count on (`harvester/versions.py`), a validator or a site is not believed."""
BELIEVED: Final = "believed"


def in_words(idle_etag: int, idle_date: int, stale: int) -> str:
    if stale >= LIES:
        return "none is believed: pages change under the same validators, or are called unchanged although they change"
    names = [name for name, idle in (("ETag", idle_etag), ("Last-Modified", idle_date)) if idle >= LIES]
    return f"not believed: {' and '.join(names)}, which changes while pages do not" if names else BELIEVED


def _of_sites(image: ImageView, settings: Settings) -> tuple[Array]:
    site = image.columns.site
    counts = (np.asarray(column).tolist() for column in (site.idle_etag, site.idle_date, site.stale))
    return (np.array([in_words(*each) for each in zip(*counts, strict=True)], object),)


SHOWN: Final = (
    Shown(
        "sites",
        columns_of("""
validators* VARCHAR Whether its ETag and Last-Modified are believed, or why not, as of the last image; null without one.
"""),
        _of_sites,
    ),
)
