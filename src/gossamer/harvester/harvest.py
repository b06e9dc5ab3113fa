"""The harvest: sends a request to each site that is due; answers set the clocks of the queue.

The robots.txt of an origin is requested before its pages, in the same queue and under the same clocks. Every other
request that is not for a page is an errand (`errands/errand.py`); errands and pages take turns. The robots rules are
checked once more for every page, right before it is handed out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.clock import Clock
from gossamer.base.model import NONE, Ask, Visits
from gossamer.collection.journal.effects import Effects, SiteNews, Verdict
from gossamer.collection.store import Store
from gossamer.config.presets import in_force
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import asked_for, unanswered
from gossamer.desk.places import Places
from gossamer.harvester import gate
from gossamer.harvester.bandwidth.admission import Admission
from gossamer.harvester.bandwidth.contract import Bandwidth, Ready
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.early import Early
from gossamer.harvester.errands.errand import Context, Errand, Errands, Kinds, Listed, Outbox
from gossamer.harvester.in_flight import InFlight
from gossamer.harvester.names import SiteNames
from gossamer.harvester.queue.queue import SITES_BY, Ahead, Order, SiteQueue
from gossamer.harvester.requests import Assigner, Taken
from gossamer.harvester.versions import Versions
from gossamer.web.message import Results
from gossamer.web.seam import Answer, Names, Web

# plain numbers: numpy takes 10 µs to look at a member of an enum
_ROBOTS: Final = int(Ask.ROBOTS)

READ_AHEAD: Final = 0.1
"""The URL of a page is read from disk so many seconds before it may be handed out, or less."""
READ_EVERY: Final = 0.5 * READ_AHEAD
"""Seconds between checks for URLs to read. Each check wakes a thread, so several URLs are read together."""


def _queue_of(desk: Desk, sites_by: str) -> SiteQueue:
    harvester = desk.settings.harvester
    return SiteQueue(
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


class Harvest:
    """The site queue with its clocks, names, errands and bandwidth."""

    def __init__(
        self, desk: Desk, store: Store, web: Web, names: Names, clock: Clock, sites_by: str, errands: Kinds
    ) -> None:
        self._desk, self._store, self._web = desk, store, web
        self._period = float(in_force(desk.settings.manager).min_period)
        self._larger_first = sites_by == "larger"
        self._queue = _queue_of(desk, sites_by)
        self._bandwidth = Bandwidth(desk, web, clock) if desk[ServerSpeeds].hours.limited else None
        self._clocks = QueueClocks(desk, self._queue, clock)
        self._names = SiteNames(desk, self._queue, names, self._clocks)
        self._in_flight, self._outbox = InFlight(), Outbox()
        context = Context(desk, self._in_flight, self._outbox, self._clocks, store.urls_soon, self._queue.without_pages)
        self._errands = Errands(errands, context, self._queue, self._names.enter)
        self._assigner = Assigner(context, self._queue, self._errands, store.versions_soon)
        self._early, self._next_read = Early(self._queue, self._assigner), -float("inf")

    def resume(self, since_start: float) -> None:
        """After a start: no site is requested too early, and errands are resumed."""
        self._clocks.resume(since_start, self._store.stopped)
        self._errands.resume()
        self._names.resume()

    def install(self, order: Order) -> None:
        """Takes over a new plan: its sites enter the queue."""
        self._queue.install(order)
        self._names.enter(order.sites)
        self._errands.release()

    def release(self) -> None:
        """Lets errands run at sites that have no planned pages left."""
        self._errands.release()

    def turn(self) -> None:
        """Called once per turn of the loop: updates the bandwidth that is granted now."""
        if self._bandwidth is not None:
            self._bandwidth.turn()

    @property
    def limited(self) -> bool:
        """Whether bandwidth is limited at this hour."""
        return self._bandwidth is not None and self._bandwidth.limit > 0

    def space(self, seconds: Mapping[int, float]) -> None:
        """From now on so many seconds pass, at least, between two requests to these sites."""
        self._clocks.spacing.order(seconds, self._clocks.now)

    def held_back(self) -> float:
        """Seconds for which quiet hours, or only bandwidth, hold requests back; 0: neither does."""
        return self.quiet() or (0.0 if self._bandwidth is None else self._bandwidth.pause())

    def quiet(self) -> float:
        """Seconds for which the quiet hours last; 0: it is not quiet."""
        return self._clocks.quiet.rest(self._clocks.wall)

    def next_time(self) -> float:
        """Monotonic time at which the next request to a site is allowed."""
        return self._queue.next_time()

    def busy_sites(self, until: float) -> int:
        """Number of sites that could be requested until then."""
        return self._queue.busy_sites(until)

    def active_sites(self) -> int:
        """Number of sites in the queue or in flight."""
        return self._queue.queued + self._queue.in_flight

    def resting(self) -> tuple[int, str, float]:
        """How many sites wait for their turn, which of them is next, and when: monotonic time."""
        site, queued = self._queue.next_site(), self._queue.queued
        return queued, "" if site == NONE else self._desk[Places].names[site], self._queue.next_time()

    def soonest_due(self, until: float) -> float:
        """Wall time at which the next errand becomes due, if that is before `until` and known."""
        return self._errands.soonest_due(until)

    def parts(self) -> Iterable[Errand]:
        """The errands: each adds to the statistics and to what `gossamer explain` tells."""
        return self._errands

    def bandwidth_use(self) -> BandwidthUse | None:
        """The use of bandwidth; None: there is no limit at any hour."""
        return None if self._bandwidth is None else self._bandwidth.use()

    def admit_by(self, admission: Admission) -> None:
        """For experiments: admits requests by other rules, within the bandwidth of the settings."""
        assert self._bandwidth is not None
        self._bandwidth.admission = admission

    def planned(self, site: int) -> Array:
        """The planned pages of the site that are left, best first. Any thread may call this."""
        return self._queue.planned(site)

    def ahead(self) -> Ahead:
        """What is requested next. Any thread may ask it."""
        return self._queue

    # --- requests leave -------------------------------------------------------------------------------------------

    def hand_out(self, most: int, ahead: float = 0.0, early: int = 0) -> None:
        """Hands out at most `most` requests, also to sites that are due within `ahead` seconds unless bandwidth is
        limited (`early`: how many, `harvester/early.py`). Robots rules must be valid when the last request begins."""
        now, wall = self._clocks.now, self._clocks.wall
        ahead = min(0.0 if self.limited else ahead, self._clocks.until_quiet())
        begins = wall + ahead
        self._errands.look(now, wall)
        if ahead < 0:
            return
        page, valid, period, until = self._desk.columns.page, self._desk.columns.origin.valid, self._period, now + ahead

        def ready(most: int) -> Taken:
            columns = page.state, page.flags, page.due, page.origin, valid
            return Taken(*self._queue.ready(until, most, *columns, wall, period, page.reason, begins))

        if self._bandwidth is not None and self.limited:
            self._hand_out_within(self._bandwidth, ready, most, wall)
        else:
            taken, times = self._early.choose(ready(most), now, early) if ahead else (ready(most), {})
            self._ask(taken, begins, times, {})
        if now >= self._next_read:
            self._next_read = now + READ_EVERY
            due = self._queue.due(now, READ_AHEAD + 2 * ahead, most)
            self._store.read_ahead(due, self._desk[Versions].numbers(due))

    def kept(self) -> int:
        """Requests that the workers keep until their time."""
        return self._early.count(self._clocks.now)

    def _hand_out_within(self, bandwidth: Bandwidth, ready: Ready, most: int, wall: float) -> None:
        admitted = bandwidth.admit(ready, most)
        sites, back = admitted.taken.sites, admitted.back
        if len(back.sites):
            self._assigner.unassign(back)
            self._queue.give_back(back.sites, self._clocks.now)
        if len(admitted.later.sites):
            self._put_back(admitted.later, admitted.pause)
        if len(sites):
            capped = admitted.caps > 0
            caps = dict(zip(sites[capped].tolist(), admitted.caps[capped].tolist(), strict=True))
            asked = self._ask(admitted.taken, wall, {}, caps)
            bandwidth.drop(np.setdiff1d(sites, np.array(asked, np.uint32)))

    def _ask(self, taken: Taken, begins: float, times: dict[int, float], caps: dict[int, int]) -> list[int]:
        """Assigns the requests; `times` (not before) and `caps` are by site. Returns the sites that got a request: a
        site may be dropped at the last moment."""
        if not len(taken.sites):
            return []
        held = gate.held(taken.sites, self._desk.columns.site, self._clocks, self._names)
        if held.any():
            self._put_back(taken.where(held > 0), held[held > 0])
            taken = taken.where(held == 0)
        flights, assign = self._assigner.flights(taken, begins), self._assigner.assignment
        if flights:
            self._web.assign([assign(f, times.get(f.site, 0.0), caps.get(f.site, 0)) for f in flights])
        return [flight.site for flight in flights]

    def _put_back(self, taken: Taken, seconds: float | Array) -> None:
        self._assigner.unassign(taken)
        self._clocks.postpone(taken.sites, seconds)
        self._queue.skip(taken.sites, self._clocks.now)

    # --- before a tick is journalled ------------------------------------------------------------------------------

    def has_news(self) -> bool:
        """Whether verdicts or site events wait for the next tick."""
        return bool(self._outbox)

    def pressing(self) -> bool:
        """Whether there is something for the next tick, even if no answer comes."""
        return self.has_news() or any(errand.pressing() for errand in self._errands)

    def busy(self) -> bool:
        """Whether an errand has work to do before the next answer comes."""
        return any(errand.busy() for errand in self._errands)

    def listed(self) -> Listed | None:
        """The next pages that an errand was told of."""
        return next((found for errand in self._errands if (found := errand.listed())), None)

    def read(self, results: Results) -> Results:
        """First in a tick: errands mark visits, or take their answers out."""
        for errand in self._errands:
            results = errand.read(results)
        return results

    def add_effects(self, results: Results, effects: Effects) -> None:
        """After links became pages: errands add what follows from their answers."""
        for errand in self._errands:
            errand.add_effects(results, effects)

    def judge(self, verdicts: list[Verdict]) -> None:
        """Keeps verdicts on pages for the next tick."""
        self._outbox.verdicts += verdicts

    def take_verdicts(self) -> list[Verdict]:
        verdicts, self._outbox.verdicts = self._outbox.verdicts, []
        return verdicts

    def take_news(self, answers: list[Answer], wall: float) -> tuple[list[SiteNews], list[SiteNews]]:
        """The site events that follow from answers to name lookups, and those that waited for this tick."""
        waited, self._outbox.news = self._outbox.news, []
        return self._names.news(answers, wall), waited

    # --- answers come back ----------------------------------------------------------------------------------------

    def urls_of(self, visits: Visits) -> list[bytes]:
        """The URL that each visit requested; empty if it is not known."""
        flights = map(self._in_flight.get, visits["number"].tolist())
        return [b"" if flight is None else flight.url for flight in flights]

    def heed(self, news: Sequence[SiteNews]) -> None:
        """After site events were applied: sets the clocks of their sites."""
        self._clocks.heed(news)

    def settle(self, results: Results, effects: Effects) -> None:
        """After a tick was applied: its requests end, sites get the time of their next one, errands their answers."""
        visits = results.visits
        if self._bandwidth is not None:
            self._bandwidth.settle(visits)
        self._clocks.answered(visits, effects)
        if self._larger_first:
            self._queue.touch()
        if unanswered(visits):
            self._outbox.news += self._names.other_names(visits)
        if asked_for(visits, _ROBOTS):  # after a redirect, another site has answered than the owner
            self._clocks.robots_read(self._desk.columns.origin.site[visits["origin"][visits["ask"] == _ROBOTS]])
        self._errands.settle(results)
        self._in_flight.end(visits["number"].tolist())

    def settle_names(self, answers: list[Answer]) -> None:
        """After answers to name lookups were applied: errands of sites without an address are given up."""
        for site in self._names.settle(answers):
            self._errands.give_up(site)
