"""The two ways of scheduling that 001 compares, with one kernel, one Web, and one request at a time to a site.

*Static* (fork and join): the known pages are distributed to the processes by whole sites, about the same number to
each. All processes download their pages and wait for the last one (join); all extract the links of their pages and wait
again; the new pages are the next round. Processes are not restarted for every stage, which favours the static mode.

*Dynamic*: a free process takes the page that was found first among the sites without an open request; its links are
known at once.
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
from gossamer.laboratory.reproduce.scheduling.kernel import Done, KernelProcess, PageRequest
from gossamer.laboratory.reproduce.scheduling.web import DOMAIN, ExperimentWeb

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
_LOST: Final = "A process of the experiment ended too early."


@dataclass(slots=True)
class RunResult:
    """A run: when each page was collected, and where the time of the processes went."""

    processes: int
    seconds: float = 0.0
    collected: list[float] = field(default_factory=list)
    """Seconds from the start to the end of each fetched page, ascending."""
    failed: int = 0
    bytes: int = 0
    network: float = 0.0
    extraction: float = 0.0
    uniqueness: float = 0.0
    """Seconds of the scheduler; the other two are sums over the processes."""

    @property
    def waiting(self) -> float:
        """Seconds of the processes that were neither network time nor extraction."""
        return max(0.0, self.processes * self.seconds - self.network - self.extraction)


class _Frontier:
    """The known pages (uniqueness), and the results of the requested ones."""

    def __init__(self, web: ExperimentWeb, port: int, outcome: RunResult) -> None:
        self._web, self._port, self.outcome = web, port, outcome
        self._sites = {web.host(site): site for site in range(web.sites)}
        self._known: dict[str, int] = {}
        self.site: list[int] = []
        """By page."""

    def seeds(self) -> list[PageRequest]:
        return self.add(self._web.url(*seed) for seed in self._web.seeds)

    def add(self, urls: Iterable[str]) -> list[PageRequest]:
        """Adds URLs and returns requests for the new ones."""
        begun, new = time.monotonic(), []
        for url in urls:
            if url not in self._known:
                number = self._known[url] = len(self.site)
                site = self._sites[url.partition("://")[2].partition("/")[0]]
                self.site.append(site)
                new.append(PageRequest(number, url, self._web.address(site), self._port))
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


def crew_settings(web: ExperimentWeb, timeout: float | None = None) -> Settings:
    limit = Duration(web.timeout if timeout is None else timeout)
    harvester = HarvesterSettings(
        allow_private=True, first_byte_timeout=limit, connect_timeout=limit, whole_timeout=Duration(10 * limit)
    )
    return Settings(harvester=harvester, seeder=SeederSettings(domains=(DOMAIN,)))


class Crew:
    """A number of processes, ready to work; all are ended when it is closed."""

    def __init__(self, web: ExperimentWeb, port: int, processes: int, timeout: float | None = None) -> None:
        self._web, self._port = web, port
        self._all: list[KernelProcess] = []
        try:
            settings = crew_settings(web, timeout)
            self._all += (KernelProcess(settings) for _ in range(processes))
            self._wires = [each.wire for each in self._all]
            for wire in self._wires:
                _received(wire)
            self._warm_up()
        except BaseException:
            self.close()
            raise

    def _warm_up(self) -> None:
        """Lets each process read a page that does not count, so that everything is loaded."""
        home = PageRequest(0, self._web.url(0, 0), self._web.address(0), self._port)
        for wire in self._wires:
            wire.send(("both", [tuple(home)]))
            _received(wire)

    def close(self) -> None:
        for each in self._all:
            each.close()

    def run(
        self, mode: str, most: int | None = None, seconds: float = math.inf, tell: Tell = lambda collected: None
    ) -> RunResult:
        """Runs until nothing is left, `most` pages are collected, or `seconds` have passed; open requests, or the whole
        round of the static mode, are completed. `tell` is called with the number of pages collected so far."""
        outcome = RunResult(len(self._wires))
        frontier, began = _Frontier(self._web, self._port, outcome), time.monotonic()
        work = self._static if mode == STATIC else self._dynamic
        work(frontier, began, self._web.urls if most is None else most, began + seconds, tell)
        outcome.seconds = time.monotonic() - began
        outcome.collected.sort()
        return outcome

    def _dynamic(self, frontier: _Frontier, began: float, most: int, until: float, tell: Tell) -> None:
        outcome, free = frontier.outcome, list(self._wires)
        sites: list[tuple[int, int]] = []
        """Heap of the sites without an open request, each with the number of its first page: first found, first out."""
        pages: dict[int, deque[PageRequest]] = {}
        asking: dict[Connection, int] = {}

        def add(orders: list[PageRequest]) -> None:
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


def dealt(orders: list[PageRequest], site: list[int], processes: int) -> list[list[PageRequest]]:
    """Distributes whole sites, the largest first, each to the process with the fewest pages."""
    by_site: dict[int, list[PageRequest]] = {}
    for order in orders:
        by_site.setdefault(site[order.number], []).append(order)
    shares: list[list[PageRequest]] = [[] for _ in range(processes)]
    for group in sorted(by_site.values(), key=len, reverse=True):
        min(shares, key=len).extend(group)
    return shares


def _received(wire: Connection) -> list[Done]:
    try:
        found = [Done(*row) for row in wire.recv()]
    except (EOFError, ConnectionError) as error:
        raise GossamerError(_LOST, "See its own message above, if there is one.") from error
    return found
