"""Sites that were ordered to be requested less often (`gossamer steer DIR slow SITE TIME`).

This stands behind the clocks of the queue and can only hold back what they allow: whatever is ordered, no wait gets
shorter. A site that is held back is looked at once a second, so an order that is undone ends at once.

Invariant, a property test of the same name: a site is held back until its time has passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.model import Visits

LOOK: Final = 1.0
"""Seconds between two looks at a site that is held back, at most."""


class Spacing:
    """The least time between two requests to some sites."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._ends: dict[int, float] = {}
        """Monotonic time at which the last request to each of them ended."""

    def order(self, seconds: Mapping[int, float], now: float) -> None:
        """From now on these sites are spaced so. The last request to one that was not spaced may have ended now."""
        self._ends = {site: self._ends.get(site, now) for site in seconds}
        self._seconds = dict(seconds)

    def held(self, sites: Array, now: float) -> Array:
        """Seconds for which each of these sites is held back, at least; 0: it is not."""
        found = np.zeros(len(sites))
        for place, site in enumerate(sites.tolist() if self._seconds else ()):
            if site in self._seconds:
                found[place] = min(LOOK, max(0.0, self._ends[site] + self._seconds[site] - now))
        return found

    def answered(self, visits: Visits) -> None:
        """These requests have ended."""
        if self._seconds:
            concerned = visits[np.isin(visits["site"], list(self._seconds))]
            for site, end in zip(concerned["site"].tolist(), concerned["end"].tolist(), strict=True):
                self._ends[site] = max(self._ends[site], end)
