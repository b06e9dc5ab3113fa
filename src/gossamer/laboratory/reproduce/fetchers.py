"""A bandwidth limit by starting and stopping fetchers, the method that 003 compares with (its figure 3, after PolyBot).

"Stopping a fetcher when the actual bandwidth is above the limit and starting a new one when it is below." 003 says no
more; our reading: the total is measured every second, as in 003's plots, and one fetcher is started or stopped after
each measurement. A stopped fetcher completes its page first: to abort it would waste what was sent, and be rude.

`Fetchers` replaces `Admission` in a crawl and overrides only its public methods. It ignores predictions; `predicted`
is still their sum, to be drawn next to the measured bandwidth.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.base.arrays import F64, I64, U32, Bools
from gossamer.harvester.bandwidth.admission import Admission, Search

MEASURE: Final = 1.0


class Fetchers(Admission):
    """Admits as many requests at a time as there are active fetchers."""

    def __init__(self, sites: int) -> None:
        super().__init__(sites, adapts=False, enforced=False)
        self.active = 1
        """Most fetchers that may work at a time."""
        self._at_work: set[int] = set()
        """Sites with an open request, one fetcher each."""
        self._since: tuple[float, int] | None = None

    @property
    def busy(self) -> int:
        return len(self._at_work)

    @property
    def full(self) -> bool:
        return self.busy >= self.active

    def search(self, now: float) -> Search:
        return _Turn(self, now)

    def open(self, site: int, predicted: int) -> None:
        self._at_work.add(site)
        super().open(site, predicted)

    def close(self, sites: npt.NDArray[np.integer]) -> None:
        self._at_work.difference_update(sites.tolist())
        super().close(sites)

    def observe(self, read: int, now: float) -> float | None:
        if self._since is None:
            self._since = now, read
        since, before = self._since
        if now - since < MEASURE:
            return None
        self._since = now, read
        measured = (read - before) / (now - since)
        if measured > self.limit:
            self.active = max(1, self.active - 1)
        elif self.full:
            self.active += 1
        return measured


class _Turn(Search):
    """Starts the next pages of the queue, as many as there are free fetchers."""

    def __init__(self, fetchers: Fetchers, now: float) -> None:
        super().__init__(fetchers, now)
        self._fetchers = fetchers

    @property
    def width(self) -> int:
        return max(0, self._fetchers.active - self._fetchers.busy)

    def offer(self, sites: U32, predicted: F64) -> tuple[Bools, I64]:
        for site, speed in zip(sites.tolist(), predicted.tolist(), strict=True):
            self._fetchers.open(site, max(1, int(speed)))
        return np.ones(len(sites), np.bool_), np.zeros(len(sites), np.int64)
