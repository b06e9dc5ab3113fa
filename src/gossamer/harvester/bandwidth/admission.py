"""Which requests are started now, so that what is open is expected to use the bandwidth granted, and no more (003).

CB is the sum of what the open requests are predicted to take. A *search* looks at the queue from its head: a candidate
u is started if CB + B(u) is within the threshold, else it is passed over; after `depth` that were passed over, the
search ends (003's max_d; after an assignment the queue moves up, so d does not advance). Whoever is started while a
better one was passed over is an *inversion*, and counted.

A candidate counts for the limit at most: it cannot be faster than the line. One that has been passed over for
`patience` seconds (003: "to avoid the starvation of the fastest servers") is started all the same, its rate capped to
what is free, or to `FLOOR` of the limit if that is more, and counts for so much.

Predictions are means over pages that end at once or never: their sum is seldom what is measured. So the threshold
*adapts* (ours): while candidates are passed over and less than `FULL` of the limit is used, it rises; while all of it
is used, it falls slowly, to the limit at least. Whatever it is, the hard limit (`web/limit/bucket.py`) holds. Without
that, it falls below the limit when more is used. Nothing here makes a request earlier than politeness allows: it only
waits.

Invariants, each a property test of the same name: what is open is within the threshold, but for what was capped;
nobody is passed over for longer than the patience, and a look, while it is within reach; at most `depth` are passed
over in a search; CB is the sum of what is open; inversions are those started while a better one was passed over.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.desk.table import reserve

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]

DEPTH: Final = 6
PATIENCE: Final = 5.0
FLOOR: Final = 0.1
"""Of the limit: what a request gets at least that is started although nothing is free."""
FULL: Final = 0.985
EVERY: Final = 0.25
"""Seconds between looks at what is used."""
LOOK: Final = 0.05
LOWEST, HIGHEST = 0.125, 256.0
"""Of the limit: how far the threshold may go; below it only where there is no hard limit."""
_RISE, _FALL, _WEIGHT = 2.0, 0.01, 0.4
_FORGET: Final = 4


class Admission:
    """Requests are known by their sites, each of which has one open at a time."""

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
        self._lowest = 1.0 if enforced else LOWEST
        self._used = 1.0
        self.depth, self.patience, self.adapts, self.limit = depth, patience, adapts, limit
        self.factor = 1.0
        """The threshold, in limits."""
        self.predicted = 0
        """CB, bytes a second."""
        self.inversions = 0
        self.capped = 0
        """Requests that were started with a cap."""
        self.passed_over = False
        """The last search found candidates that had to wait."""
        self._open: I64 = reserve(sites, "<i8")[0]
        self._waiting: dict[int, float] = {}
        """Sites that were passed over, and since when."""
        self._looked: tuple[float, int] | None = None
        self._wanted = False
        self._searched = -np.inf
        self._room = 0
        """What was free after the last search that passed somebody over."""

    @property
    def threshold(self) -> int:
        return int(self.limit * self.factor)

    @property
    def full(self) -> bool:
        """Nothing fits: a search only finds out who waits, and who has waited too long."""
        return self.predicted >= self.threshold

    def search(self, now: float) -> Search:
        """While there is no more room than after the last one, one every `LOOK` seconds is enough: others are over at
        once."""
        room = self.threshold - self.predicted
        over = (self.full or (self.passed_over and room <= self._room)) and now < self._searched + LOOK
        if not over:
            self._searched, self.passed_over = now, False
        return Search(self, now, self.depth if over else 0)

    def open(self, site: int, predicted: int) -> None:
        self.predicted += predicted - int(self._open[site])
        self._open[site] = predicted
        self._waiting.pop(site, None)

    def close(self, sites: npt.NDArray[np.integer]) -> None:
        """Their answers came, or no request was made."""
        self.predicted -= int(self._open[sites].sum())
        self._open[sites] = 0

    def passes(self, site: int, now: float) -> float:
        """Notes that the site has to wait; returns since when."""
        self.passed_over = self._wanted = True
        return self._waiting.setdefault(site, now)

    def observe(self, read: int, now: float) -> float | None:
        """`read`: bytes so far. Every `EVERY` seconds the threshold adapts; returns bytes a second since the last time
        then, else None."""
        if self._looked is None:
            self._looked = now, read
        since, before = self._looked
        if now - since < EVERY:
            return None
        self._looked = now, read
        measured = (read - before) / (now - since)
        if self.adapts and self.limit:
            self._adapt(measured / self.limit)
        self._wanted = False
        if len(self._waiting) > 1000 * self.depth:
            last = now - _FORGET * self.patience
            self._waiting = {site: at for site, at in self._waiting.items() if at > last}
        return measured

    def _adapt(self, now: float) -> None:
        """By the last second or so: on a thin line a piece more or less is much of a quarter of one."""
        used = self._used = self._used + _WEIGHT * (now - self._used)
        if used > 1.02:
            self.factor /= min(used, 2.0) ** _WEIGHT
        elif used < FULL and (self._wanted or self.full):
            self.factor *= 1 + min(1.0, _RISE * (1 - used))
        elif used >= FULL and self.factor > 1:
            self.factor = max(1.0, self.factor * (1 - _FALL))
        self.factor = min(HIGHEST, max(self._lowest, self.factor))


class Search:
    """From the head of the queue on; candidates are offered in its order, `width` of them at a time."""

    def __init__(self, admission: Admission, now: float, passed: int = 0) -> None:
        self._admission, self._now, self._passed = admission, now, passed

    @property
    def width(self) -> int:
        """How many more may be passed over; 0: the search is over."""
        return self._admission.depth - self._passed

    def offer(self, sites: U32, predicted: F64) -> tuple[Bools, I64]:
        """Which of them are started, and the cap of each in bytes a second, 0 for none. They are open from now on."""
        own = self._admission
        started, caps = np.zeros(len(sites), np.bool_), np.zeros(len(sites), np.int64)
        for i, (site, speed) in enumerate(zip(sites.tolist(), predicted.tolist(), strict=True)):
            takes, cap = max(1, min(int(speed), own.limit)), 0
            if own.predicted + takes > own.threshold:
                own._room = own.threshold - own.predicted
                if self._now - own.passes(site, self._now) < own.patience:
                    self._passed += 1
                    continue
                takes = cap = max(1, int(own.limit * FLOOR), own.limit - own.predicted)
            elif speed > own.limit and not own.adapts:
                cap = max(1, own.limit - own.predicted)
            started[i], caps[i] = True, cap
            own.capped += cap > 0
            own.inversions += self._passed > 0
            own.open(site, takes)
        return started, caps
