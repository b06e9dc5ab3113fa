"""Which requests are started now, so that all open requests together are expected to use the granted bandwidth (003).

CB is the sum of the predicted speeds of the open requests. A *search* goes through the queue from its head: a candidate
u is started if CB + B(u) is within the threshold, else it is passed over; after `depth` candidates were passed over,
the search ends (003's max_d; after an assignment the queue moves up, so d does not advance). A request that is started
while a better one was passed over is an *inversion*, and counted.

A candidate counts for the limit at most: it cannot be faster than the line. A candidate that has been passed over for
`patience` seconds (003: "to avoid the starvation of the fastest servers") is started all the same: its rate is capped
to the free bandwidth, or to `FLOOR` of the limit if that is more, and it counts for that much.

Predictions are means over pages that end at once or never: their sum is seldom what is measured. So the threshold
*adapts* (ours): it rises while candidates are passed over and less than `FULL` of the limit is used, and falls slowly
while all of it is used, down to the limit. The hard limit (`web/limit/bucket.py`) holds in any case. Without a hard
limit, the threshold falls below the limit when more is used. Nothing here makes a request earlier than politeness
allows: requests only wait longer.

Invariants, each a property test of the same name: the open requests stay within the threshold except for capped ones;
no site within reach is passed over for longer than the patience plus a search interval; at most `depth` sites are
passed over in a search; CB is the sum of the open requests; inversions are requests started while a better one was
passed over.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Array, Bools
from gossamer.desk.table import reserve

DEPTH: Final = 6
PATIENCE: Final = 5.0
FLOOR: Final = 0.1
"""Share of the limit that a request gets at least if it is started although nothing is free."""
FULL: Final = 0.985
EVERY: Final = 0.25
"""Seconds between two measurements."""
LOOK: Final = 0.05
"""Seconds between two searches while nothing has become free."""
LOWEST, HIGHEST = 0.125, 256.0
"""Bounds of the threshold, in limits; it falls below 1 only without a hard limit."""
_RISE, _FALL, _WEIGHT = 2.0, 0.01, 0.4
_FORGET: Final = 4


class Threshold:
    """How much the open requests may be predicted to use, in limits; it adapts to what they do use."""

    def __init__(self, adapts: bool, enforced: bool) -> None:
        self.adapts = adapts
        self.factor = 1.0
        self._lowest = 1.0 if enforced else LOWEST
        self._used = 1.0

    def adapt(self, share: float, wanted: bool) -> None:
        """`share` of the limit was used since the last call; `wanted`: more requests would have been started.

        Goes by a mean over the last second or so: with a low limit, one packet is a large part of a quarter second.
        """
        if not self.adapts:
            return
        used = self._used = self._used + _WEIGHT * (share - self._used)
        if used > 1.02:
            self.factor /= min(used, 2.0) ** _WEIGHT
        elif used < FULL and wanted:
            self.factor *= 1 + min(1.0, _RISE * (1 - used))
        elif used >= FULL and self.factor > 1:
            self.factor = max(1.0, self.factor * (1 - _FALL))
        self.factor = min(HIGHEST, max(self._lowest, self.factor))


class Admission:
    """The open requests and their predicted speeds. Requests are identified by their sites: a site has one at a
    time."""

    def __init__(
        self,
        sites: int,
        depth: int = DEPTH,
        patience: float = PATIENCE,
        adapts: bool = True,
        limit: int = 0,
        enforced: bool = True,
    ) -> None:
        """`enforced`: there is a hard limit."""
        self.adapts, self._threshold = adapts, Threshold(adapts, enforced)
        self.depth, self.patience, self.limit = depth, patience, limit
        self.predicted = 0
        """CB, bytes per second."""
        self.inversions = 0
        self.capped = 0
        """Number of requests that were started with a cap."""
        self.passed_over = False
        """Whether the last search passed candidates over."""
        self._open: I64 = reserve(sites, "<i8")[0]
        self._waiting: dict[int, float] = {}
        """Sites that were passed over, with the time of the first time."""
        self._measured: tuple[float, int] | None = None
        self._wanted = False
        self._searched = -np.inf
        self._room = 0
        """Bandwidth that was free when the last candidate was passed over."""

    @property
    def threshold(self) -> int:
        """Bytes per second."""
        return int(self.limit * self._threshold.factor)

    @property
    def full(self) -> bool:
        """Nothing fits: a search only finds out which sites wait, and which have waited too long."""
        return self.predicted >= self.threshold

    def search(self, now: float) -> Search:
        """Begins a search. While there is no more room than after the last one, a search every `LOOK` seconds is
        enough: other searches end at once."""
        room = self.threshold - self.predicted
        over = (self.full or (self.passed_over and room <= self._room)) and now < self._searched + LOOK
        if not over:
            self._searched, self.passed_over = now, False
        return Search(self, now, self.depth if over else 0)

    def open(self, site: int, predicted: int) -> None:
        """A request to the site starts, with this predicted speed."""
        self.predicted += predicted - int(self._open[site])
        self._open[site] = predicted
        self._waiting.pop(site, None)

    def close(self, sites: Array) -> None:
        """Their answers came, or no request was made."""
        self.predicted -= int(self._open[sites].sum())
        self._open[sites] = 0

    def passes(self, site: int, now: float) -> float:
        """Notes that the site has to wait; returns since when it waits."""
        self.passed_over = self._wanted = True
        self._room = self.threshold - self.predicted
        return self._waiting.setdefault(site, now)

    def observe(self, read: int, now: float) -> float | None:
        """Adapts the threshold every `EVERY` seconds; then returns the bytes per second since the last time, else None.

        `read` is the number of bytes so far.
        """
        if self._measured is None:
            self._measured = now, read
        since, before = self._measured
        if now - since < EVERY:
            return None
        self._measured = now, read
        measured = (read - before) / (now - since)
        if self.limit:
            self._threshold.adapt(measured / self.limit, self._wanted or self.full)
        self._wanted = False
        if len(self._waiting) > 1000 * self.depth:
            last = now - _FORGET * self.patience
            self._waiting = {site: begun for site, begun in self._waiting.items() if begun > last}
        return measured


class Search:
    """A search from the head of the queue; candidates are offered in its order, `width` of them at a time."""

    def __init__(self, admission: Admission, now: float, passed: int = 0) -> None:
        self._admission, self._now, self._passed = admission, now, passed

    @property
    def width(self) -> int:
        """How many more candidates may be passed over; 0: the search is over."""
        return self._admission.depth - self._passed

    def offer(self, sites: U32, predicted: F64) -> tuple[Bools, I64]:
        """Which candidates are started, and the cap of each in bytes per second, 0 for none. Those are now open."""
        admission = self._admission
        started, caps = np.zeros(len(sites), np.bool_), np.zeros(len(sites), np.int64)
        for i, (site, speed) in enumerate(zip(sites.tolist(), predicted.tolist(), strict=True)):
            takes, cap = max(1, min(int(speed), admission.limit)), 0
            if admission.predicted + takes > admission.threshold:
                if self._now - admission.passes(site, self._now) < admission.patience:
                    self._passed += 1
                    continue
                takes = cap = max(1, int(admission.limit * FLOOR), admission.limit - admission.predicted)
            elif speed > admission.limit and not admission.adapts:
                cap = max(1, admission.limit - admission.predicted)
            started[i], caps[i] = True, cap
            admission.capped += cap > 0
            admission.inversions += self._passed > 0
            admission.open(site, takes)
        return started, caps
