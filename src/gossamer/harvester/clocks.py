"""The queue's clocks: the only place where they are set from the state.

When a site may be requested again is durable, in wall time (`site.next`, `backoff.py`). The queue keeps it in monotonic
time. Code that changes the wall time calls `follow`, which updates the queue. This only ever makes the queue's time
later: a wall clock that was set back cannot make a request early.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.clock import Clock
from gossamer.base.model import NONE, Visits
from gossamer.collection.journal.effects import Effects, SiteEvent, SiteNews
from gossamer.config.quiet import QuietHours
from gossamer.desk.desk import Desk
from gossamer.harvester.backoff import Backoff
from gossamer.harvester.owned import Owned
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.harvester.spacing import Spacing
from gossamer.harvester.waits import OWN_WAIT

ROUNDING: Final = 0.001
"""Seconds: a visit's wall time is rounded, so a rest that is longer by less than this counts as the usual rest."""
BEFORE_QUIET: Final = 1.0
"""Seconds before quiet hours from which on nothing is handed out: a worker takes some milliseconds to begin."""
_OF_OWNERS: Final = (SiteEvent.OWNED, SiteEvent.DISOWNED)


class QueueClocks:
    """Sets the times of the queue from the state of the desk."""

    def __init__(self, desk: Desk, queue: SiteQueue, clock: Clock) -> None:
        self._desk, self._queue, self._clock = desk, queue, clock
        self._backoff, self._owned, self._site = desk[Backoff], desk[Owned], desk.columns.site
        self._harvester = harvester = desk.settings.harvester
        self.quiet = QuietHours.of(harvester.quiet_hours, harvester.time_zone)
        self.spacing = Spacing()

    @property
    def now(self) -> float:
        """Monotonic time."""
        return self._clock.monotonic()

    @property
    def wall(self) -> float:
        """Wall time, never before the last tick."""
        return self._desk.believed(self._clock.wall())

    def until_quiet(self) -> float:
        """Seconds for which requests may be handed out; negative: none may."""
        return self.quiet.left(self.wall) - BEFORE_QUIET

    def follow(self, sites: Array, wall: float | None = None, monotonic: float | None = None) -> None:
        """Sets the queue so that these sites are not requested before the time in the state. `wall` and `monotonic` are
        the same moment: now, or that of the tick that was applied."""
        wall = self.wall if wall is None else wall
        monotonic = self.now if monotonic is None else monotonic
        self._queue.not_before(sites, self._site.next[sites] - wall + monotonic)

    def set_waits(self, sites: Array) -> None:
        """Sets the usual seconds between turns, and between the requests of a turn."""
        self._queue.set_waits(sites, self._backoff.waits(sites), self._backoff.pauses(sites))

    def heed(self, news: Sequence[SiteNews]) -> None:
        """Site events were applied: sets the clocks of their sites."""
        turned = [each.site for each in news if each.event in _OF_OWNERS]
        if turned:
            self.set_waits(np.array(turned, np.uint32))
            self.share(turned, [each.site for each in news if each.event is SiteEvent.DISOWNED])
        self.follow(np.array([each.site for each in news], np.uint32))

    def share(self, sites: Iterable[int], left: Sequence[int] = ()) -> None:
        """Sets how the addresses of these sites are waited for: as its sites are if all of them belong to the operator,
        else by `address_wait`, which begins now if it did not hold before. `left`: those that no longer belong to the
        operator."""
        if not (self._owned.proofs or left):
            return
        mine, rest = self._addresses(self._owned.proofs), self.now + self._harvester.address_wait
        for address in self._addresses(sites) & (mine | self._addresses(left)):
            there, alone = self._owned.at(address)
            self._queue.set_alone(there, alone and not self._harvester.domain_wait)
            if not alone:
                self._queue.address_not_before(address, rest)

    def _addresses(self, sites: Iterable[int]) -> set[int]:
        return {int(self._site.address[site]) for site in sites} - {NONE}

    def robots_read(self, owners: Array) -> None:
        """The robots.txt files of these sites were read: sets their clocks by what was learned."""
        self.set_waits(owners)
        self.follow(owners)

    def postpone(self, sites: Array, seconds: float | Array) -> None:
        """Delays these sites by so many seconds from now, for a reason that is not stored."""
        self._queue.not_before(sites, self.now + np.broadcast_to(seconds, len(sites)))

    def rest(self, sites: Array) -> None:
        """Delays these sites by their usual wait from now: there was nothing to request."""
        self._queue.not_before(sites, self.now + self._backoff.waits(sites))

    def resume(self, since_start: float, stopped: bool) -> None:
        """After a start: no site is requested before its stored time.

        After a kill or a boot (not `stopped`), each site also rests from the start on: a request whose record was lost
        may have been made just now, to any site, known or not; and a clock may have been set. Addresses and domains,
        whose times are not stored, rest in any case.
        """
        harvester, sites = self._harvester, np.arange(self._site.count, dtype=np.uint32)
        self.set_waits(sites)
        self.follow(sites)
        longest = max(harvester.address_wait, harvester.domain_wait)
        if not stopped:
            self.postpone(sites, self._backoff.rests(sites) - since_start)
            longest = max(harvester.wait, longest)
        self._queue.nobody_before(self.now + max(0.0, longest - since_start))

    def answered(self, visits: Visits, effects: Effects) -> None:
        """After a tick was applied: the queue learns which requests have ended, and when each site is due again.

        The queue itself knows the usual rest; `follow` would end the turn of a site that has more requests in it.
        """
        self.spacing.answered(visits)
        sites = visits["site"].copy()
        waits, pauses = self._backoff.waits(sites), self._backoff.pauses(sites)
        self._queue.set_waits(sites, waits, pauses)
        longer = self._site.next[sites] > visits["time"] + waits + ROUNDING
        if longer.any():
            self.follow(sites[longer], effects.wall, effects.monotonic)
        if self._harvester.per_turn > 1:
            self._end_turns(visits, sites, waits, pauses)
        ends = visits["end"].copy()
        if self._owned.proofs:
            self._go_on(visits, sites, waits, ends)
        self._queue.done(sites, ends, effects.monotonic)

    def _go_on(self, visits: Visits, sites: Array, waits: Array, ends: Array) -> None:
        """Lets the waits of the operator's sites, where they are alone, count from when a request was sent: the next
        one follows the answer at once, if that took as long as the wait. `ends` is changed."""
        at_once = self._queue.are_alone(sites) & (waits <= OWN_WAIT)
        sent = np.maximum(visits["start"] + visits["connect"], ends - OWN_WAIT)
        ends[at_once] = np.minimum(ends, sent)[at_once]

    def _end_turns(self, visits: Visits, sites: Array, waits: Array, pauses: Array) -> None:
        """Ends the turn of a site whose answer asks for a longer rest than the pause within a turn."""
        end = visits["end"]
        took = self._harvester.wait_factor * (end - visits["start"])
        owed = np.minimum(np.maximum(took, visits["retry_after"]), waits)
        more = owed > pauses
        if more.any():
            self._queue.not_before(sites[more], (end + owed)[more])
