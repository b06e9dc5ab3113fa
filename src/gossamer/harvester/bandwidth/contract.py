"""The bandwidth contract at the desk (003): uses at most the granted bandwidth, and makes full use of it.

It is between the queue and the assignments. A request that politeness allows now is *admitted* if, by the predictions,
it fits into the free bandwidth (`harvester/bandwidth/admission.py`, `harvester/bandwidth/speeds.py`); the others go
back to their places in the queue. An address that gives little for the bytes that it takes gets less
(`harvester/bandwidth/takers.py`). The grant, which may change by the hour, is also passed on to the rate limiter of the
workers (`web/limit/bucket.py`): a hard limit behind the predictions.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.clock import Clock
from gossamer.base.model import Visits
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.harvester.bandwidth.admission import EVERY as OBSERVE
from gossamer.harvester.bandwidth.admission import LOOK, Admission
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.bandwidth.takers import Takers
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.harvester.requests import Taken
from gossamer.web.seam import Web

SCARCE: Final = 0.9
"""Part of the limit: if more is used, requests share what is there."""
EVERY: Final = 1.0
"""Seconds between checks of the hour."""


class Ready(Protocol):
    """Returns at most `most` sites that are due now, in the order of the queue, each with its page and what to
    request."""

    def __call__(self, most: int) -> Taken: ...


class Admitted(NamedTuple):
    """Requests that fit into the free bandwidth."""

    taken: Taken
    caps: Array
    """Bytes per second, for each of `taken`; 0: no cap."""
    back: Taken
    """Sites that have to wait."""
    later: Taken
    """Takers, which are asked no sooner than in `pause` seconds."""
    pause: float = 0.0


class Bandwidth:
    """Admits requests within the granted bandwidth, and measures its use."""

    def __init__(self, desk: Desk, web: Web, clock: Clock) -> None:
        self._desk, self._web, self._clock = desk, web, clock
        harvester = desk.settings.harvester
        self._enforced = harvester.bandwidth_enforced
        self.admission = Admission(
            desk.columns.site.limit,
            harvester.bandwidth_depth,
            harvester.bandwidth_patience,
            harvester.bandwidth_adapts,
            enforced=self._enforced,
        )
        self._takers = Takers(desk[Places].max_addresses)
        self._scarce = -np.inf
        """Until when bandwidth counts as scarce: requests to others than takers had to wait for it, or are open while
        almost all of it is used."""
        self._taking = set[int]()
        """Sites of takers that are in flight."""
        self.measured = 0.0
        """Recent bytes per second."""
        self._looked = self._observed = -np.inf
        self._since: float | None = None
        self._granted = self._before = 0.0
        self._read_before = web.received()

    @property
    def limit(self) -> int:
        """Bytes per second granted now; 0: no limit."""
        return self.admission.limit

    def turn(self) -> None:
        """Checks the hour, and how much bandwidth is used."""
        now = self._clock.monotonic()
        if self._since is not None:
            self._granted += self.limit * (now - self._before)
        self._before = now
        if now >= self._looked + EVERY:
            self._looked = now
            self.admission.limit = self._desk[ServerSpeeds].hours.granted(self._desk.believed(self._clock.wall()))
            self._web.grant(self.limit if self._enforced else 0)
        if now >= self._observed + OBSERVE:
            self._observed = now
            measured = self.admission.observe(self._web.received(), now)
            self.measured = self.measured if measured is None else measured
            others = self._web.open > len(self._taking)
            if measured is not None and others and measured >= SCARCE * self.limit > 0:
                self._scarce = now + self.admission.patience

    def admit(self, ready: Ready, most: int) -> Admitted:
        """Takes the sites that are due and fit. They count as open until `settle`."""
        now, at = self._clock.monotonic(), self._desk[ServerSpeeds].hours.at(self._desk.believed(self._clock.wall()))
        address, speeds = self._desk.columns.site.address, self._desk[ServerSpeeds].speeds
        search, taken, caps = self.admission.search(now), [_NOTHING], [_NO_CAPS]
        back, later = [_NOTHING], [_NOTHING]
        while (width := min(search.width, most)) > 0:
            found = ready(width)
            if not len(found.sites):
                break
            where = address[found.sites]
            if (takers := self._takers.are(where)).any():
                wait = self._waits(found.sites, takers, now)
                later.append(found.where(wait))
                found, where, takers = found.where(~wait), where[~wait], takers[~wait]
            started, capped = search.offer(found.sites, speeds.predict(where, at))
            self._takers.end(found.sites[~started].tolist())
            self._taking.update(found.sites[started & takers].tolist())
            if (~started & ~takers).any():
                self._scarce = now + self.admission.patience
            taken.append(found.where(started))
            caps.append(capped[started])
            back.append(found.where(~started))
            most -= int(started.sum())
        if self._since is None and len(taken) > 1:
            self._since = self._before = now
        pause = self._takers.wait(now, self.limit) if len(later) > 1 else 0.0
        return Admitted(_joined(taken), np.concatenate(caps), _joined(back), _joined(later), pause)

    def _waits(self, sites: Array, takers: Array, now: float) -> Array:
        """Which of these sites have to wait because they are takers, and their share is used up. The others are charged
        for."""
        wait = np.zeros(len(sites), np.bool_)
        if now < self._scarce:
            for i in np.flatnonzero(takers).tolist():
                wait[i] = self._takers.wait(now, self.limit) > 0
                if not wait[i]:
                    self._takers.ask(int(sites[i]))
        return wait

    def settle(self, visits: Visits) -> None:
        """The answers of these sites came."""
        sites = visits["site"].copy()
        self.admission.close(sites)
        self._takers.learn(self._desk.columns.site.address[sites], visits)
        self._takers.end(sites.tolist(), visits["received"].tolist())
        self._taking.difference_update(sites.tolist())

    def drop(self, sites: Array) -> None:
        """These sites were not requested after all."""
        self.admission.close(sites)
        self._takers.end(sites.tolist())
        self._taking.difference_update(sites.tolist())

    def pause(self) -> float:
        """Seconds until a search may find a request that fits, if no answer comes before; 0: now."""
        if not self.limit or not (self.admission.full or self.admission.passed_over):
            return 0.0
        return LOOK

    def use(self) -> BandwidthUse:
        """The use of bandwidth, for the statistics of the run."""
        read = self._web.received() - self._read_before
        return BandwidthUse(
            granted=self.limit,
            used=round(self.measured),
            read=read,
            share=round(read / self._granted, 4) if self._granted else None,
            inversions=self.admission.inversions,
            capped=self.admission.capped,
            predicted=self.admission.predicted,
            threshold=self.admission.threshold,
        )


def _joined(taken: list[Taken]) -> Taken:
    return Taken(*(np.concatenate(parts) for parts in zip(*taken, strict=True)))


_NOTHING: Final = Taken(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint8))
_NO_CAPS: Final = np.zeros(0, np.int64)
