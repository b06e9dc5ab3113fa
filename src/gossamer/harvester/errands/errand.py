"""Errands: requests to a site for something other than its pages, in the site's own turns and under all its clocks.

An errand is a class with the methods of `Errand` and a row of `table.ERRANDS`. Errands and pages take turns at a site:
after an errand its pages come first, if there are any. In a turn for errands, the first row of the table that has a
request for the site gets the turn. The robots rules are checked right before a request is handed out, for errands as
for pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

import numpy as np

from gossamer.base.arrays import Array, Bools
from gossamer.base.model import Ask
from gossamer.collection.journal.effects import Effects, SiteNews, Verdict
from gossamer.desk.desk import Desk
from gossamer.harvester.backoff import Backoff
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.in_flight import InFlight
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.web.message import Links, Results

E = TypeVar("E", bound="Errand")

LOOK_EVERY: Final = 10.0
"""Seconds between checks for errands that have become due."""
_PAGE: Final = int(Ask.PAGE)


class Request(NamedTuple):
    """A request that an errand makes."""

    ask: Ask
    origin: int
    url: str
    """The URL as it is sent."""
    errand: Any = None
    """Data that the errand needs when the answer comes (`Flight.errand`)."""


class SiteCondition(NamedTuple):
    """The condition of a site that has an errand."""

    refused: bool
    """Whether it asks for a longer delay than is honoured."""
    nameless: bool
    """Its name failed, and is not looked up again yet."""
    rests: float
    """Seconds until it may be requested."""
    usual: float
    """Seconds that it usually rests."""


class Listed(NamedTuple):
    """Pages that an errand was told of: they are enlisted in a tick of their own."""

    links: Links
    own: Bools
    """Which of the links may be enlisted."""
    url: str
    """Where they are listed."""
    taken: Callable[[], None]
    """To be called when they are in the journal."""


class Outbox:
    """What the harvester finds out on its own and the next tick journals: verdicts on pages, and site events."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.news: list[SiteNews] = []

    def __bool__(self) -> bool:
        return bool(self.verdicts or self.news)


class Context(NamedTuple):
    """The objects that errands work with."""

    desk: Desk
    in_flight: InFlight
    outbox: Outbox
    clocks: QueueClocks
    texts: Callable[[Array], list[bytes]]
    """URLs of pages, by number."""
    without_pages: Callable[[Array], Array]
    """Which of these sites have no planned pages left."""


class Errand:
    """One kind of errand. A subclass overrides the methods that it needs."""

    name: ClassVar[str]
    _waiting: Mapping[int, object]
    """What waits to be requested, by the site that gets the request."""

    def __init__(self, context: Context, others: Errands) -> None:
        """`others` contains the errands that come before this errand in the table."""

    def waits_at(self, site: int) -> bool:
        """Whether a request for the site is waiting."""
        return site in self._waiting

    def any(self) -> bool:
        """Whether a request for any site is waiting."""
        return bool(self._waiting)

    def next(self, site: int, begins: float) -> Request | None:
        """Takes the request to make now at the site: it no longer waits. `begins`: wall time of the latest start."""
        raise NotImplementedError

    def bears(self, site: int, condition: SiteCondition) -> bool:
        """Whether its errands at the site keep waiting, given the condition of the site."""
        return not condition.refused

    def give_up(self, site: int) -> None:
        """Drops its errands at the site, which cannot be requested."""
        raise NotImplementedError

    def read(self, results: Results) -> Results:
        """First in a tick: marks visits, or takes its own answers out. Returns the results that are left."""
        return results

    def add_effects(self, results: Results, effects: Effects) -> None:
        """After links became pages, before the tick is journalled: adds what its answers, or earlier ones, lead to."""

    def pressing(self) -> bool:
        """Whether it has something for the next tick, even if no answer comes."""
        return False

    def listed(self) -> Listed | None:
        """The next pages to enlist."""
        return None

    def busy(self) -> bool:
        """Whether there is work to do before the next answer comes."""
        return self.pressing()

    def settle(self, results: Results) -> set[int]:
        """After a tick was applied: takes its answers. Returns sites that have new errands."""
        return set()

    def look(self, wall: float) -> set[int]:
        """Called every few seconds: checks what has become due. Returns sites that have new errands."""
        return set()

    def soonest_due(self, until: float) -> float:
        """Wall time at which the next errand becomes due, if that is before `until` and known."""
        return float("inf")

    def resume(self) -> None:
        """After a start: continues from the durable state."""

    def statistics(self) -> Mapping[str, float]:
        """Its numbers for `status` and `--json`, if they are not shown elsewhere; zeros are left out."""
        return {}

    def explain_site(self, site: int) -> Mapping[str, object]:
        """What this errand adds to `gossamer explain` for the site."""
        return {}

    def explain_page(self, page: int) -> Mapping[str, object]:
        """What this errand adds to `gossamer explain` for the page."""
        return {}


Kinds = Sequence[type[Errand]]
"""Classes of errands, in order of precedence."""


class Errands:
    """All errands, and how they take turns with pages."""

    def __init__(self, kinds: Kinds, context: Context, queue: SiteQueue, enter: Callable[[Array], None]) -> None:
        self._desk, self._clocks, self._queue, self._enter = context.desk, context.clocks, queue, enter
        self._pages_first: set[int] = set()
        """Sites that have just run an errand: the next turn is for their pages, if there are any."""
        self._next_look = -float("inf")
        self._all: dict[type[Errand], Errand] = {}
        for kind in kinds:
            self._all[kind] = kind(context, self)

    def __getitem__(self, kind: type[E]) -> E:
        return cast(E, self._all[kind])

    def __iter__(self) -> Iterator[Errand]:
        return iter(self._all.values())

    def has(self, site: int) -> bool:
        """Whether any errand waits at the site."""
        return any(errand.waits_at(site) for errand in self._all.values())

    def next(self, site: int, begins: float) -> Request | None:
        """Takes the request for a turn for errands at the site."""
        self._pages_first.add(site)
        self._queue.set_errand(site, False)
        requests = (errand.next(site, begins) for errand in self._all.values())
        return next((request for request in requests if request is not None), None)

    def give_up(self, site: int) -> None:
        """Drops all errands at the site, which cannot be requested."""
        for errand in self._all.values():
            errand.give_up(site)
        self._queue.set_errand(site, self.has(site))

    def settle(self, results: Results) -> None:
        """After a tick was applied: answers are taken, and sites with errands enter the queue."""
        touched = set[int]()
        for errand in self._all.values():
            touched |= errand.settle(results)
        waiting = [errand for errand in self._all.values() if errand.any()]
        if waiting:
            visits = results.visits
            sites = visits["site"]
            self._pages_first.difference_update(sites[visits["ask"] == _PAGE].tolist())
            touched |= {site for site in sites.tolist() for errand in waiting if errand.waits_at(site)}
            for site in touched:
                self.send(site)

    def look(self, now: float, wall: float) -> None:
        """Checks which errands have become due, every `LOOK_EVERY` seconds."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY
        for errand in self._all.values():
            for site in errand.look(wall):
                self.send(site)

    def send(self, site: int) -> None:
        """Lets a site with errands enter the queue; errands and pages take turns."""
        condition = self._condition(site)
        for errand in self._all.values():
            if errand.waits_at(site) and not errand.bears(site, condition):
                errand.give_up(site)
                self._queue.set_errand(site, False)
        if self.has(site) and not (site in self._pages_first and self._queue.has_pages(site)):
            self._queue.set_errand(site, True)
            self._enter(np.array([site], np.uint32))

    def _condition(self, site: int) -> SiteCondition:
        columns = self._desk.columns.site
        rests = float(columns.next[site]) - self._clocks.wall
        nameless = bool(columns.name_failures[site] > 0 and rests > 0)
        usual = float(self._desk[Backoff].rests(np.array([site]))[0])
        return SiteCondition(bool(columns.refused[site]), nameless, rests, usual)

    def release(self) -> None:
        """Lets errands run that wait for the pages of their site, if the site has no planned pages left."""
        errands = [errand for errand in self._all.values() if errand.any()]
        waiting = [site for site in self._pages_first for errand in errands if errand.waits_at(site)]
        for site in self._queue.without_pages(np.unique(np.array(waiting, np.uint32))).tolist():
            self.send(site)

    def soonest_due(self, until: float) -> float:
        """Wall time at which the next errand becomes due."""
        return min((errand.soonest_due(until) for errand in self._all.values()), default=float("inf"))

    def resume(self) -> None:
        for errand in self._all.values():
            errand.resume()
