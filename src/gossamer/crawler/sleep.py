"""How long the loop of a crawl sleeps, and how long it collects results: ticks adapt to how much there is to do.

A turn of the loop costs 1 to 2 ms, however little it does: 40 turns per second are 7 % of a core. A crawl that mostly
waits needs fewer. Results that come slowly are collected for longer, up to `QUIET`, and requests are handed out further
ahead; the workers keep these until their time.

The loop sleeps until something is due: a site, a plan, or the work of every second (commits, heartbeats, memory). Until
then it is woken by a result and, while it collects results, by what may lead to a request at once: an answer to a name
lookup, the end of a plan, a robots.txt or sitemap that leads to another. A signal wakes it, too.

No request is later for it. Until a result is absorbed, it cannot lead to a request anyway: its site, and all others at
its address, rest for longer (`PART`), and no plan may be begun. If all sites that could be asked soon have work, no
sleep ends for a plan (`manager/planner.py`).

Invariants, each a property test of the same name: the loop wakes before a site is due; a tick is never shorter than
before nor longer than its results may wait; the faster results come, the shorter the tick.
"""

from __future__ import annotations

from typing import Final

from gossamer.base.bell import Bell
from gossamer.config.settings import HarvesterSettings

TICK: Final = 0.025
"""Seconds of a tick while results come fast."""
QUIET: Final = 0.25
"""Seconds of the longest tick. It is the shortest time between two plans, too."""
FULL: Final = 25
"""Results per tick at which a tick gets no longer."""
PART: Final = 0.4
"""Part of the shortest rest of a site that a result may wait."""
FURTHER: Final = 1.2
"""Requests are handed out ahead by so many ticks: by a tick and the turn after it."""
LEAD: Final = 0.005
"""Seconds before its time that a site is handed out at the latest."""
SHORT_TICK: Final = 0.002
BUSY: Final = 16
"""If nothing is handed out ahead and fewer requests than this are open, a tick ends when a site is due."""
LONGEST: Final = 1.0
"""Seconds of the longest sleep: the work of every second is due then."""
_MEMORY: Final = 0.5
"""Seconds over which the rate of results is taken."""


class Sleep:
    """Computes the sleeps of one loop. It reads no clock."""

    def __init__(self, harvester: HarvesterSettings, adapts: bool = True) -> None:
        """`adapts`: False under a virtual clock, where a turn costs nothing."""
        rests = [harvester.wait, harvester.wait_large] + ([harvester.pause] if harvester.per_turn > 1 else [])
        self.least = min(TICK, PART * float(min(rests)))
        """Seconds of the shortest tick."""
        rests += [harvester.address_wait] + ([harvester.domain_wait] if harvester.domain_wait > 0 else [])
        adapts = adapts and not harvester.mine  # the operator's sites are asked again at once
        self.most = max(self.least, min(QUIET, PART * float(min(rests)))) if adapts else self.least
        """Seconds of the longest tick."""
        self.bell = Bell()
        self.rests = -float("inf")
        """A continuous crawl has nothing to do before this monotonic time."""
        self._half = harvester.connections // 2
        self._rate = 0.0
        self._turned = -float("inf")

    @property
    def tick(self) -> float:
        """Seconds for which results are collected now, while requests are handed out ahead."""
        return max(self.least, self.most if self._rate * self.most <= FULL else FULL / self._rate)

    def woke(self, now: float, results: int) -> None:
        """A turn begins its work, with so many results."""
        passed = min(now - self._turned, 60.0)
        self._rate = (_MEMORY * self._rate + results) / (_MEMORY + passed)
        self._turned = now

    def ahead(self, free: int, limited: bool) -> float:
        """Seconds ahead of their time that requests are handed out: 0 unless more than half of the connections are
        free, and 0 within a bandwidth, where admission depends on what is free at the moment."""
        return 0.0 if limited or self.early(free) <= 0 else FURTHER * self.tick

    def early(self, free: int) -> int:
        """How many requests may be handed out ahead: those that wait for their time leave half of the connections."""
        return free - self._half

    def pause(self, now: float, ahead: float, site: float, plan: float) -> float:
        """Seconds to sleep if no result comes: until the first of a site and a plan, by the times at which they are
        due. While requests are handed out ahead, a tick at least, since that is soon enough for every site."""
        due = site - ahead
        if ahead:
            due = max(due, min(self._turned + self.tick, site - LEAD))
        due = min(due, plan)
        if ahead:
            due = max(due, self._turned + self.least)
        return min(LONGEST, due - now if due > now else 0.001)

    def gather(self, pause: float, ahead: float, in_flight: int, calm: float) -> float:
        """Seconds for which results are collected, at least, from the last turn on. `calm`: seconds for which no result
        could lead to a plan."""
        if ahead:
            return max(SHORT_TICK, self.least, min(self.tick, pause, calm))
        return TICK if in_flight >= BUSY else max(SHORT_TICK, min(pause, self.least))
