"""Values of pages, sites and addresses that only the desk knows, for the views `pages`, `sites` and `speeds`. They come
from the newest image.

An image is written at every clean stop, and from time to time during a crawl: the values are as old as the image. They
are null for pages found since, and for all pages if there is no image. Quality and value are computed as the manager
does, for the time of the image and with the settings in force.

Cost: 25 bytes per page while a query of `pages` runs, and 0.1 s at 10^6 pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.collection.manifest import Contents
from gossamer.config import Settings

if TYPE_CHECKING:
    from gossamer.observe.image_view import Mapped

F32 = npt.NDArray[np.float32]
Columns = dict[str, npt.NDArray[Any]]

OF_PAGES: Final = ("current_depth", "opic", "boost", "quality", "value")
OF_SITES: Final = ("pending",)
_NO_SPEEDS: Final = {
    "address": np.array([], object),
    "holiday": np.zeros(0, np.bool_),
    "hour": np.zeros(0, np.int64),
    "speed": np.zeros(0, np.float32),
}


def desk_table(name: str, shard: Path, contents: Contents, settings: Settings) -> Columns | None:
    """Columns for "pages" or "sites", with the number of each; None if there is no readable image."""
    from gossamer.base.model import SHARD_SHIFT
    from gossamer.observe.image_view import open_image

    image = open_image(shard, contents.image)
    if image is None:
        return None
    try:
        if name == "sites":
            pending = np.asarray(image.columns.site.pending)
            return {"site": np.arange(len(pending), dtype=np.int64), "pending": pending}
        numbers = np.arange(image.columns.page.count, dtype=np.int64) | contents.meta.shard << SHARD_SHIFT
        rows = image.columns.page
        quality, value = _worth(image, settings)
        return {
            "page": numbers,
            "current_depth": np.asarray(rows.depth),
            "opic": _shares(image),
            "boost": np.asarray(rows.boost),
            "quality": quality,
            "value": value,
        }
    except (AttributeError, OSError, ValueError):
        return None  # of an older version, or replaced meanwhile by a newer image


def speeds_table(shard: Path, contents: Contents) -> Columns:
    """A row for each address that has answered, for each hour and kind of day; the empty address means all together."""
    from gossamer.observe.image_view import open_image
    from gossamer.web.addresses import unpack

    image = open_image(shard, contents.image)
    try:
        if image is None:
            return _NO_SPEEDS
        rows, packed = np.asarray(image.array("speeds")).reshape(-1, 48), image.array("addresses").tobytes()
    except (AttributeError, OSError, ValueError):
        return _NO_SPEEDS
    known = np.flatnonzero(rows[:, 0])
    if not len(known):
        return _NO_SPEEDS
    names = np.array([unpack(packed[16 * row - 16 : 16 * row]) if row else "" for row in known.tolist()], object)
    return {
        "address": np.repeat(names, 48),
        "holiday": np.tile(np.arange(48) >= 24, len(known)),
        "hour": np.tile(np.arange(48) % 24, len(known)),
        "speed": rows[known].reshape(-1),
    }


def _shares(image: Mapped) -> F32:
    """The share of each page of all cash given out."""
    from gossamer.manager.value import GIVEN

    cash = np.asarray(image.columns.page.cash) & np.uint64(GIVEN - 1)
    return (cash / max(1, image.issued)).astype(np.float32)


def _worth(image: Mapped, settings: Settings) -> tuple[F32, F32]:
    """Quality of each page, and the value of its stored copy: 0 if there is none in the index."""
    from gossamer.base.model import Outcome, State
    from gossamer.manager.position import _chunks
    from gossamer.manager.strategies import LIVE
    from gossamer.manager.value import Value, terms_of

    worth, known = Value.of(settings.manager), image.columns
    terms = terms_of(known, LIVE[settings.manager.policy].code, worth, image.issued, image.wall)
    quality, value = np.zeros((2, known.page.count), np.float32)
    for chunk in _chunks(known, terms):
        here = slice(chunk.first, chunk.end)
        quality[here] = chunk.quality()
        held = (known.page.state[here] == State.DONE) & (known.page.outcome[here] == Outcome.OK)
        value[here] = np.where(held, quality[here] ** worth.alpha * chunk.kept(), 0)
    return quality, value
