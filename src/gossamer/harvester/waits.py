"""The seconds between two turns at a site, by the settings and its robots.txt.

`backoff.py` compiles `seconds_between` (so `gossamer.base.compiled` includes this file in its fingerprint of kernels).
It is in a file without numba for `gossamer explain`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gossamer.base.arrays import Array
from gossamer.config.settings import HarvesterSettings


class Waits(NamedTuple):
    """What determines the seconds between two turns at a site: its size, and the delay that its robots.txt asks for."""

    pages: Array
    """By site."""
    delay: Array
    large_site: int
    wait: float
    wait_large: float

    @staticmethod
    def of(sites: Any, settings: HarvesterSettings) -> Waits:
        """`sites`: the columns by site, of a desk or of an image."""
        return Waits(
            sites.pages, sites.delay, int(settings.large_site), float(settings.wait), float(settings.wait_large)
        )


def seconds_between(waits: Waits, site: int) -> float:
    """Seconds between two turns at the site."""
    return max(float(waits.delay[site]), waits.wait_large if waits.pages[site] > waits.large_site else waits.wait)
