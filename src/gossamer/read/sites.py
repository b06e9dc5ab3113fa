"""When sites may be requested, and how much they have left: of many sites at once, from the desk of a running crawl, or
from the image of a crawl that was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gossamer.base.arrays import Array
from gossamer.collection.lock import holder
from gossamer.config import Settings
from gossamer.observe.image_view import Mapped, open_image
from gossamer.observe.lists import MOST, speed_of, unpacked
from gossamer.observe.socket import ask
from gossamer.observe.status import site_clock
from gossamer.read.sql.sources import Sources

Clock = dict[str, Any]


def clocks_of(sources: Sources, settings: Settings, sites: Sequence[int]) -> dict[int, Clock]:
    """The clocks of these sites (`observe/status.py`), by number, each with its planned pages and expected speed. Sites
    that were found after the last image are left out."""
    if _runs(sources):
        found: dict[str, Clock] = {}
        for start in range(0, len(sites), MOST):
            found |= (ask(sources.shard, {"clocks": list(sites[start : start + MOST])}) or {}).get("clocks", {})
        if found or not sites:
            return {int(site): clock for site, clock in found.items()}
    image = _image(sources)
    if image is None:
        return {}
    return {
        site: site_clock(image, settings, image.wall, site) | {"planned": None, "speed": speed_of(image, site)}
        for site in sites
        if site < image.columns.site.count
    }


def pending_of(sources: Sources) -> Array | None:
    """Pages of each site that may be requested, by number of the site; None if nobody knows."""
    if _runs(sources) and (said := (ask(sources.shard, {"pending": True}) or {}).get("pending")) is not None:
        found: Array = unpacked(said)
        return found
    image = _image(sources)
    return None if image is None else image.columns.site.pending[: image.columns.site.count]


def _runs(sources: Sources) -> bool:
    desk = holder(sources.shard)
    return desk is not None and desk.alive


def _image(sources: Sources) -> Mapped | None:
    return open_image(sources.shard, sources.contents.image, sources.checked)
