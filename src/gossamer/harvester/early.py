"""Requests that are handed out ahead of their time: the workers keep them until then."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.harvester.queue.queue import SiteQueue
from gossamer.harvester.requests import Assigner, Taken

SOON: Final = 0.03
"""A request that is due within so many seconds may be handed out whatever connections are free."""


class Early:
    """Bounds how many requests wait for their time, and knows how many do."""

    def __init__(self, queue: SiteQueue, assigner: Assigner) -> None:
        self._queue, self._assigner = queue, assigner
        self.times = np.zeros(0)
        """The times of the requests that were handed out ahead of them, as of the last hand-out."""

    def choose(self, taken: Taken, now: float, most: int) -> tuple[Taken, dict[int, float]]:
        """Gives back the latest of more than `most` sites, unless they are due within `SOON`: they would keep
        connections from sites that are due in the meantime. Returns the others, and the times of their requests."""
        times = self._queue.times_of(taken.sites)
        if len(times) > most:
            over = np.zeros(len(times), np.bool_)
            over[np.argsort(times)[max(0, most) :]] = True
            over &= times > now + SOON
            self._assigner.unassign(taken.where(over))
            self._queue.give_back(taken.sites[over], now)
            taken, times = taken.where(~over), times[~over]
        self.times = np.concatenate((self.times[self.times > now], times[times > now]))
        return taken, dict(zip(taken.sites.tolist(), times.tolist(), strict=True))

    def count(self, now: float) -> int:
        """How many requests the workers keep until their time."""
        return int(np.count_nonzero(self.times > now)) if len(self.times) else 0
