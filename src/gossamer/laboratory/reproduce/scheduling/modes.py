"""The two ways of scheduling that 001 compares, with one kernel, one Web, and one request at a time to a site.

*Static*, fork and join: the known pages are dealt to the processes, whole sites, to each about the same number; all
download, and who is done waits for the last (join); all extract the links of what they have, and wait again; then what
is new becomes the next round. Processes are not started anew for every stage, which is kind to it.

*Dynamic*: whoever is free takes the page that was found first, of a site that is not being asked; links are known at
once.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from multiprocessing.connection import Connection, wait
from typing import Final

from gossamer.base.errors import GossamerError
from gossamer.base.units import Duration
from gossamer.config import Settings
from gossamer.config.settings import HarvesterSettings, SeederSettings
from gossamer.laboratory.reproduce.scheduling.kernel import Done, Order, Running
from gossamer.laboratory.reproduce.scheduling.web import DOMAIN, Web

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
_LOST: Final = "A process of the experiment ended before its work did."


@dataclass(slots=True)
class Outcome:
    """A run: when each page was collected, and where the time of the processes went."""

    processes: int
    seconds: float = 0.0
    collected: list[float] = field(default_factory=list)
    """Seconds from the beginning to the end of each page that was fetched, rising."""
    failed: int = 0
    bytes: int = 0
    network: float = 0.0
    extraction: float = 0.0
    uniqueness: float = 0.0
    """Seconds of the scheduler; the other two are summed over the processes."""

    @property
    def waiting(self) -> float:
        """Of the processes: neither on the network nor extracting."""
        return max(0.0, self.processes * self.seconds - self.network - self.extraction)


class _Frontier:
    """Which pages are known (uniqueness), and what becomes of those that were asked for."""

    def __init__(self, web: Web, port: int, outcome: Outcome) -> None:
        self._web, self._port, self.outcome = web, port, outcome
        self._sites = {web.host(site): site for site in range(web.sites)}
        self._known: dict[str, int] = {}
        self.site: list[int] = []
        """Of each page."""

    def seeds(self) -> list[Order]:
        return self.add(self._web.url(*seed) for seed in self._web.seeds)

    def add(self, urls: Iterable[str]) -> list[Order]:
        """Those that were not known."""
        begun, new = time.monotonic(), []
        for url in urls:
            if url not in self._known:
                number = self._known[url] = len(self.site)
                site = self._sites[url.partition("://")[2].partition("/")[0]]
                self.site.append(site)
                new.append(Order(number, url, self._web.address(site), self._port))
        self.outcome.uniqueness += time.monotonic() - begun
        return new

    def count(self, done: Done, began: float) -> None:
        self.outcome.network += done.network
        if done.ok:
            self.outcome.collected.append(done.end - began)
            self.outcome.bytes += done.received
        else:
            self.outcome.failed += 1


Tell = Callable[[int], None]


def crew_settings(web: Web, timeout: float | None = None) -> Settings:
    limit = Duration(web.timeout if timeout is None else timeout)
    harvester = HarvesterSettings(
        allow_private=True, first_byte_timeout=limit, connect_timeout=limit, whole_timeout=Duration(10 * limit)
    )
    return Settings(harvester=harvester, seeder=SeederSettings(domains=(DOMAIN,)))


class Crew:
    """So many processes, ready to work; none is left when it is closed."""

    def __init__(self, web: Web, port: int, processes: int, timeout: float | None = None) -> None:
        self._web, self._port = web, port
        self._all: list[Running] = []
        try:
            settings = crew_settings(web, timeout)
            self._all += (Running(settings) for _ in range(processes))
            self._wires = [each.wire for each in self._all]
            for wire in self._wires:
                _received(wire)
            self._warm_up()
        except BaseException:
            self.close()
            raise

    def _warm_up(self) -> None:
        """Each reads a page that does not count: what is loaded at the first is loaded."""
        home = Order(0, self._web.url(0, 0), self._web.address(0), self._port)
        for wire in self._wires:
            wire.send(("both", [tuple(home)]))
            _received(wire)

    def close(self) -> None:
        for each in self._all:
            each.close()

    def run(
        self, mode: str, most: int | None = None, seconds: float = math.inf, tell: Tell = lambda collected: None
    ) -> Outcome:
        """Until nothing is left, `most` pages are collected or so many seconds have passed: then what is under way, of
        static the round, comes to its end. `tell` is called with the pages collected so far."""
        outcome = Outcome(len(self._wires))
        frontier, began = _Frontier(self._web, self._port, outcome), time.monotonic()
        work = self._static if mode == STATIC else self._dynamic
        work(frontier, began, self._web.urls if most is None else most, began + seconds, tell)
        outcome.seconds = time.monotonic() - began
        outcome.collected.sort()
        return outcome

    def _dynamic(self, frontier: _Frontier, began: float, most: int, until: float, tell: Tell) -> None:
        outcome, free = frontier.outcome, list(self._wires)
        sites: list[tuple[int, int]] = []
        """Heap of those that may be asked, each with the number of its first page: who was found first is first."""
        pages: dict[int, deque[Order]] = {}
        asking: dict[Connection, int] = {}

        def add(orders: list[Order]) -> None:
            for order in orders:
                site = frontier.site[order.number]
                queue = pages.setdefault(site, deque())
                queue.append(order)
                if len(queue) == 1 and site not in asking.values():
                    heappush(sites, (order.number, site))

        add(frontier.seeds())
        while True:
            goes_on = time.monotonic() < until
            while goes_on and free and sites and len(outcome.collected) + len(asking) < most:
                site, wire = heappop(sites)[1], free.pop()
                asking[wire] = site
                wire.send(("both", [tuple(pages[site].popleft())]))
            if not asking:
                return
            for ready in wait(list(asking)):
                assert isinstance(ready, Connection)
                wire = ready
                site = asking.pop(wire)
                free.append(wire)
                if pages[site]:
                    heappush(sites, (pages[site][0].number, site))
                for done in _received(wire):
                    frontier.count(done, began)
                    outcome.extraction += done.extraction
                    add(frontier.add(done.links))
            tell(len(outcome.collected))

    def _static(self, frontier: _Frontier, began: float, most: int, until: float, tell: Tell) -> None:
        outcome, orders = frontier.outcome, frontier.seeds()
        while orders and len(outcome.collected) < most and time.monotonic() < until:
            orders = orders[: most - len(outcome.collected)]
            shares = dealt(orders, frontier.site, len(self._wires))
            for wire, share in zip(self._wires, shares, strict=True):
                wire.send(("load", [tuple(order) for order in share]))
            for wire in self._wires:
                for done in _received(wire):
                    frontier.count(done, began)
            tell(len(outcome.collected))
            for wire in self._wires:
                wire.send(("extract", None))
            links: list[str] = []
            for wire in self._wires:
                for done in _received(wire):
                    outcome.extraction += done.extraction
                    links += done.links
            orders = frontier.add(links)


def dealt(orders: list[Order], site: list[int], processes: int) -> list[list[Order]]:
    """Whole sites, the largest first, each to the process that has least: about the same number of pages for all."""
    by_site: dict[int, list[Order]] = {}
    for order in orders:
        by_site.setdefault(site[order.number], []).append(order)
    shares: list[list[Order]] = [[] for _ in range(processes)]
    for group in sorted(by_site.values(), key=len, reverse=True):
        min(shares, key=len).extend(group)
    return shares


def _received(wire: Connection) -> list[Done]:
    try:
        found = [Done(*row) for row in wire.recv()]
    except (EOFError, ConnectionError) as error:
        raise GossamerError(_LOST, "Its own message stands above, if it had any.") from error
    return found
