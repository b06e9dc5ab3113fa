"""Errands: what a site is asked for besides its pages, in its own turns and under all its clocks.

An errand is a class with the methods of `Errand` and a row of `table.ERRANDS`. Errands and pages take turns at a site:
after an errand its pages come first, if there are any. In a turn for errands the first row of the table that has a
request for the site gets it. Whatever robots.txt says is asked right before a request is handed out, of errands as of
pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gossamer.base.model import Ask
from gossamer.desk.desk import Desk
from gossamer.harvester.backoff import Backoff
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.in_flight import InFlight
from gossamer.harvester.outbox import Outbox
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.web.message import Results

Array = npt.NDArray[Any]
E = TypeVar("E", bound="Errand")
_PAGE = int(Ask.PAGE)


class Request(NamedTuple):
    """What to ask a site for."""

    ask: Ask
    origin: int
    url: str
    """As it is requested."""
    errand: Any = None
    """What the errand needs to know when the answer comes (`Flight.errand`)."""


class Standing(NamedTuple):
    """How a site stands that has an errand."""

    refused: bool
    """It asks for a longer delay than is honoured."""
    nameless: bool
    """Its name failed, and is not looked up again yet."""
    rests: float
    """Seconds until it may be asked."""
    usual: float
    """Seconds that it rests as a rule."""


class Context(NamedTuple):
    """What errands work with."""

    desk: Desk
    in_flight: InFlight
    outbox: Outbox
    clocks: QueueClocks
    texts: Callable[[Array], list[bytes]]
    """URLs of pages, by number."""
    without_pages: Callable[[Array], Array]
    """Which of these sites have no planned pages left."""


class Errand:
    """One kind of errand. A subclass overrides what it has something for."""

    name: ClassVar[str]

    def __init__(self, context: Context, others: Errands) -> None:
        """`others` has the errands that come before this one in the table."""

    def waits_at(self, site: int) -> bool:
        """Whether there is something to ask the site for."""
        raise NotImplementedError

    def any(self) -> bool:
        """Whether there is something to ask any site for."""
        raise NotImplementedError

    def next(self, site: int, begins: float) -> Request | None:
        """What to ask the site for now; it no longer waits then. `begins`: wall, by when the request begins."""
        raise NotImplementedError

    def bears(self, site: int, standing: Standing) -> bool:
        """Whether its errands at the site go on waiting, as the site stands."""
        return not standing.refused

    def give_up(self, site: int) -> None:
        """The site cannot be asked."""
        raise NotImplementedError

    def settle(self, results: Results) -> set[int]:
        """After a tick was applied: takes its answers. Returns sites that have something to be asked for since."""
        return set()

    def look(self, wall: float) -> set[int]:
        """Now and then: what has become due. Returns sites that have something to be asked for since."""
        return set()

    def soonest_due(self, until: float) -> float:
        """Wall: when the next thing becomes due until then, as far as is known."""
        return float("inf")

    def resume(self) -> None:
        """After a start: goes on with what the state says."""

    def statistics(self) -> Mapping[str, float]:
        """Its numbers for `status` and `--json`, where no other place shows them; those that are 0 are left out."""
        return {}

    def explain_site(self, site: int) -> Mapping[str, object]:
        """What `gossamer explain` says of the site because of this errand."""
        return {}

    def explain_page(self, page: int) -> Mapping[str, object]:
        return {}


class Errands:
    """All errands, and the turns that they take with pages."""

    def __init__(
        self, kinds: Sequence[type[Errand]], context: Context, queue: SiteQueue, enter: Callable[[Array], None]
    ) -> None:
        self._desk, self._clocks, self._queue, self._enter = context.desk, context.clocks, queue, enter
        self._pages_first: set[int] = set()
        """Sites that have just run an errand: their pages have the next turn, if there are any."""
        self._all: dict[type[Errand], Errand] = {}
        for kind in kinds:
            self._all[kind] = kind(context, self)

    def __getitem__(self, kind: type[E]) -> E:
        return cast(E, self._all[kind])

    def __iter__(self) -> Iterator[Errand]:
        return iter(self._all.values())

    def has(self, site: int) -> bool:
        return any(errand.waits_at(site) for errand in self._all.values())

    def next(self, site: int, begins: float) -> Request | None:
        """What the site is asked for in a turn for errands."""
        self._pages_first.add(site)
        self._queue.set_errand(site, False)
        requests = (errand.next(site, begins) for errand in self._all.values())
        return next((request for request in requests if request is not None), None)

    def give_up(self, site: int) -> None:
        """The site cannot be asked."""
        for errand in self._all.values():
            errand.give_up(site)
        self._queue.set_errand(site, self.has(site))

    def settle(self, results: Results) -> None:
        """After a tick was applied: answers are taken, and sites with errands enter the queue."""
        touched = set[int]()
        for errand in self._all.values():
            touched |= errand.settle(results)
        if any(errand.any() for errand in self._all.values()):
            visits = results.visits
            sites = visits["site"]
            self._pages_first -= set(sites[visits["ask"] == _PAGE].tolist())
            touched |= {site for site in sites.tolist() if self.has(site)}
            for site in touched:
                self.send(site)

    def look(self, wall: float) -> None:
        for errand in self._all.values():
            for site in errand.look(wall):
                self.send(site)

    def send(self, site: int) -> None:
        """Lets a site with errands in; errands and pages take turns."""
        standing = self._standing(site)
        for errand in self._all.values():
            if errand.waits_at(site) and not errand.bears(site, standing):
                errand.give_up(site)
                self._queue.set_errand(site, False)
        if self.has(site) and not (site in self._pages_first and self._queue.has_pages(site)):
            self._queue.set_errand(site, True)
            self._enter(np.array([site], np.uint32))

    def _standing(self, site: int) -> Standing:
        columns = self._desk.columns.site
        rests = float(columns.next[site]) - self._clocks.wall
        nameless = bool(columns.name_failures[site] > 0 and rests > 0)
        usual = float(self._desk[Backoff].rests(np.array([site]))[0])
        return Standing(bool(columns.refused[site]), nameless, rests, usual)

    def release(self) -> None:
        """Errands that let pages go first, of sites that have no pages any more."""
        waiting = np.array([site for site in self._pages_first if self.has(site)], np.uint32)
        for site in self._queue.without_pages(waiting).tolist():
            self.send(site)

    def soonest_due(self, until: float) -> float:
        return min((errand.soonest_due(until) for errand in self._all.values()), default=float("inf"))

    def resume(self) -> None:
        for errand in self._all.values():
            errand.resume()
