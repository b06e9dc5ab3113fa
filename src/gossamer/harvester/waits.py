"""The seconds between two turns at a site, by the settings, its robots.txt and its owner.

`backoff.py` compiles `seconds_between` (so `gossamer.base.compiled` has this file among the sources of kernels).
It is in a file without numba for `gossamer explain`.

Invariant, a property test of the same name: only a site that is owned or names us in its Crawl-delay has a shorter wait
than the settings say.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import Array
from gossamer.config.settings import HarvesterSettings

OWN_WAIT: Final = 0.1
"""Seconds from one request to the next at a site that belongs to the operator: at most 10 in a second."""


class Waits(NamedTuple):
    """What determines the seconds between two turns at a site: its size, the delay that its robots.txt asks for, and
    whether it belongs to the operator."""

    pages: Array
    """By site."""
    delay: Array
    named: Array
    owned: Array
    large_site: int
    wait: float
    wait_large: float
    address_wait: float

    @staticmethod
    def of(sites: Any, settings: HarvesterSettings) -> Waits:
        """`sites`: the columns by site, of a desk or of an image, which may be older and lack some."""
        named, owned = (getattr(sites, name, None) for name in ("named", "owned"))
        none = np.zeros(0 if named is not None and owned is not None else len(sites.pages), np.uint8)
        return Waits(
            sites.pages,
            sites.delay,
            none if named is None else named,
            none if owned is None else owned,
            int(settings.large_site),
            float(settings.wait),
            float(settings.wait_large),
            float(settings.address_wait),
        )


def seconds_between(waits: Waits, site: int) -> float:
    """Seconds between two turns at the site. A Crawl-delay only makes it longer, unless it names us: then it also makes
    it shorter, down to `address_wait`."""
    usual = waits.wait_large if waits.pages[site] > waits.large_site else waits.wait
    if waits.owned[site]:
        usual = OWN_WAIT
    elif waits.named[site]:
        usual = min(usual, waits.address_wait)
    return max(float(waits.delay[site]), usual)
