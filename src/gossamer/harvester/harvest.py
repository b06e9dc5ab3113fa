"""The harvest: sends a request to each site that is due; answers set the clocks of the queue.

The robots.txt of an origin is requested before its pages, in the same queue and under the same clocks. Every other
request that is not for a page is an errand (`errands/errand.py`); errands and pages take turns. The robots rules are
checked once more for every page, right before it is handed out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.clock import Clock
from gossamer.base.model import Ask, Outcome, Visits
from gossamer.collection.journal.effects import Effects, SiteNews
from gossamer.collection.store import Store
from gossamer.config.presets import in_force
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import asked_for, spoken_against, unanswered
from gossamer.desk.places import Places
from gossamer.harvester.bandwidth.contract import Bandwidth, Ready
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.errands.errand import Context, Errand, Errands
from gossamer.harvester.errands.robots import REFUSED_AGAIN
from gossamer.harvester.errands.table import ERRANDS
from gossamer.harvester.in_flight import InFlight
from gossamer.harvester.names import SiteNames
from gossamer.harvester.outbox import Outbox
from gossamer.harvester.queue.queue import SITES_BY, Order, SiteQueue
from gossamer.harvester.requests import Requests, Taken
from gossamer.web.message import Results
from gossamer.web.seam import Answer, Names, Web

Array = npt.NDArray[Any]

# plain numbers: numpy takes 10 µs to look at a member of an enum
_ROBOTS: Final = int(Ask.ROBOTS)
_NO_ANSWER = (int(Outcome.CONNECT_FAILED), int(Outcome.TLS_FAILED))

LOOK_EVERY: Final = 10.0
"""Seconds between checks for errands that have become due."""
READ_AHEAD: Final = 0.1
"""The URL of a page is read from disk at most this many seconds before its turn."""
READ_EVERY: Final = 0.5 * READ_AHEAD
"""Seconds between checks for URLs to read. Each check wakes a thread, so several URLs are read together."""


class Harvest:
    """The site queue with its clocks, names, errands and bandwidth."""

    def __init__(
        self,
        desk: Desk,
        store: Store,
        web: Web,
        names: Names,
        clock: Clock,
        sites_by: str = "best",
        errands: Sequence[type[Errand]] = ERRANDS,
    ) -> None:
        self._desk, self._store, self._web = desk, store, web
        harvester = desk.settings.harvester
        self._period = float(in_force(desk.settings.manager).min_period)
        self._larger_first = sites_by == "larger"
        self.queue = SiteQueue(
            desk.columns.site.limit,
            desk[Places].max_addresses,
            wait=harvester.wait,
            address_wait=harvester.address_wait,
            per_turn=harvester.per_turn,
            pause=harvester.pause,
            sites_by=SITES_BY[sites_by],
            pending=desk.columns.site.pending,
            domain_wait=harvester.domain_wait,
        )
        self.bandwidth = Bandwidth(desk, web, clock) if desk[ServerSpeeds].hours.limited else None
        """None: no limit at any hour."""
        self.clocks = QueueClocks(desk, self.queue, clock)
        self.names = SiteNames(desk, self.queue, names, self.clocks)
        self.in_flight, self.outbox = InFlight(), Outbox()
        context = Context(desk, self.in_flight, self.outbox, self.clocks, store.texts, self.queue.without_pages)
        self.errands = Errands(errands, context, self.queue, self.names.enter)
        self._requests = Requests(context, self.queue, self.errands)
        self._next_look = self._next_read = -float("inf")

    def resume(self, since_start: float) -> None:
        """After a start: no site is requested too early, and errands are resumed."""
        self.clocks.resume(since_start, self._store.stopped)
        self.errands.resume()
        self.names.resume()

    def install(self, order: Order) -> None:
        """Takes over a new plan: its sites enter the queue."""
        self.queue.install(order)
        self.names.enter(order.sites)
        self.errands.release()

    def turn(self) -> None:
        """Called once per turn of the loop: updates the bandwidth that is granted now."""
        if self.bandwidth is not None:
            self.bandwidth.turn()

    @property
    def limited(self) -> bool:
        """Whether bandwidth is limited at this hour."""
        return self.bandwidth is not None and self.bandwidth.limit > 0

    def held_back(self) -> float:
        """Seconds for which only bandwidth holds requests back; 0: it does not."""
        return 0.0 if self.bandwidth is None else self.bandwidth.pause()

    def next_time(self) -> float:
        """Monotonic time at which the next request to a site is allowed."""
        return self.queue.next_time()

    def busy_sites(self, until: float) -> int:
        """Number of sites that could be requested until then."""
        return self.queue.busy_sites(until)

    def active_sites(self) -> int:
        """Number of sites in the queue or in flight."""
        return self.queue.queued + self.queue.in_flight

    # --- requests leave -------------------------------------------------------------------------------------------

    def hand_out(self, most: int, ahead: float = 0.0) -> None:
        """Hands out at most `most` requests, also to sites that are due within `ahead` seconds unless bandwidth is
        limited; the workers keep these requests until their time. Robots rules must be valid at the latest moment at
        which a request may begin."""
        limited = self.limited
        now, wall, ahead = self.clocks.now, self.clocks.wall, 0.0 if limited else ahead
        begins = wall + ahead
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self.errands.look(wall)
        columns = self._desk.columns

        def ready(most: int) -> tuple[Array, Array, Array]:
            return self.queue.ready(
                now + ahead,
                most,
                columns.page.state,
                columns.page.flags,
                columns.page.due,
                columns.page.origin,
                columns.origin.valid,
                wall,
                self._period,
                columns.page.reason,
                begins,
            )

        if self.bandwidth is not None and limited:
            self._hand_out_within(self.bandwidth, ready, most, wall)
        else:
            taken = Taken(*ready(most))
            times = self.queue.times_of(taken.sites).tolist() if ahead else []
            self._ask(taken, wall, begins, dict(zip(taken.sites.tolist(), times, strict=True)) if ahead else {}, {})
        if now >= self._next_read:
            self._next_read = now + READ_EVERY
            self._store.read_ahead(self.queue.due(now, READ_AHEAD, most))

    def _hand_out_within(self, bandwidth: Bandwidth, ready: Ready, most: int, wall: float) -> None:
        admitted = bandwidth.admit(ready, most)
        back = Taken(*admitted.back)
        if len(back.sites):
            self._requests.unassign(back)
            self.queue.give_back(back.sites, self.clocks.now)
        if len(admitted.later[0]):
            self._put_back(Taken(*admitted.later), admitted.pause)
        if len(admitted.sites):
            capped = admitted.caps > 0
            caps = dict(zip(admitted.sites[capped].tolist(), admitted.caps[capped].tolist(), strict=True))
            taken = Taken(admitted.sites, admitted.pages, admitted.asks)
            asked = self._ask(taken, wall, wall, {}, caps)
            bandwidth.drop(np.setdiff1d(admitted.sites, np.array(asked, np.uint32)))

    def _ask(
        self, taken: Taken, wall: float, begins: float, times: dict[int, float], caps: dict[int, int]
    ) -> list[int]:
        """Assigns the requests; `times` (not before) and `caps` are by site. Returns the sites that got a request: a
        site may be dropped at the last moment."""
        if not len(taken.sites):
            return []
        columns = self._desk.columns.site
        if spoken_against(taken.sites, columns.refused, columns.resolved, wall):
            taken = self._not_spoken_against(taken, wall)
        flights = self._requests.flights(taken, begins)
        if flights:
            self._web.assign(
                [self._requests.assignment(f, times.get(f.site, 0.0), caps.get(f.site, 0)) for f in flights]
            )
        return [flight.site for flight in flights]

    def _not_spoken_against(self, taken: Taken, wall: float) -> Taken:
        """Drops sites that, since they were planned, have asked for a longer delay than is honoured, and sites whose
        address is too old: their names are resolved first."""
        columns = self._desk.columns.site
        refused = columns.refused[taken.sites] != 0
        if refused.any():
            self._put_back(taken.where(refused), REFUSED_AGAIN)
            taken = taken.where(~refused)
        stale = columns.resolved[taken.sites] <= wall
        if stale.any():
            self._put_back(taken.where(stale), 1.0)
            for site in taken.sites[stale].tolist():
                self.names.resolve(site)
            taken = taken.where(~stale)
        return taken

    def _put_back(self, taken: Taken, seconds: float) -> None:
        self._requests.unassign(taken)
        self.clocks.postpone(taken.sites, seconds)
        self.queue.skip(taken.sites, self.clocks.now)

    # --- answers come back ----------------------------------------------------------------------------------------

    def settle(self, results: Results, effects: Effects) -> None:
        """After a tick was applied: the queue learns which requests have ended, and when each site is due again."""
        visits = results.visits
        if self.bandwidth is not None:
            self.bandwidth.settle(visits)
        self.clocks.answered(visits, effects)
        if self._larger_first:
            self.queue.touch()
        if unanswered(visits):
            self._try_other_names(visits)
        if asked_for(visits, _ROBOTS):
            self._settle_robots(visits[visits["ask"] == _ROBOTS])

    def _settle_robots(self, visits: Visits) -> None:
        """Sets the clocks of the sites that own these robots.txt files. After a redirect, another site has answered."""
        owners = self._desk.columns.origin.site[visits["origin"]]
        self.clocks.set_waits(owners)
        self.clocks.follow(owners)

    def _try_other_names(self, visits: Visits) -> None:
        """A site that did not answer its very first request is requested by its other name the next time."""
        for visit in visits[np.isin(visits["outcome"], _NO_ANSWER)]:
            site = int(visit["site"])
            if self._desk.columns.site.asked[site] == 1 and self._desk[Places].may_switch(site):
                self.outbox.news.append(SiteNews.respelled(site, self.clocks.wall))

    def settle_names(self, answers: list[Answer]) -> None:
        """After answers to name lookups were applied: errands of sites without an address are given up."""
        for site in self.names.settle(answers):
            self.errands.give_up(site)
