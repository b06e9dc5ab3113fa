"""Judges the politeness of a crawl by what the servers saw of it.

A wait runs from the END of one answer to the START of the next request. All requests count, also those for robots.txt
and sitemaps; streams of one connection are requests like others:

    site       min(wait, wait_large), because a log does not tell how many pages of a site were known; or the
               Crawl-delay if that is longer; or, if it names the crawler, any Crawl-delay from address_wait on. Up to
               per_turn requests may follow each other after `pause`.
    own site   no wait, but 10 requests in a second at most, if the log and the operator's key prove that the site and
               all others at its address are the operator's (`checker.owners`).
    slowed     429, 402 and 5xx double the wait of the site, or one second if that is longer; any other answer takes
               off a tenth again.
    took       wait_factor times the duration of the last answer of the site.
    address    address_wait between requests to one address, for all sites at it, but not inside a turn; domain_wait
               for the registrable domain likewise.
    parallel   no two requests overlap at a site, nor at an address, nor, if domain_wait is set, at a domain.
    quiet      none in the quiet hours, if the log has wall times; one may arrive as late as connecting takes.
    Retry-After of any answer holds for its whole site, for a week at most.
    robots     a page is requested after the robots.txt of its origin, no longer than robots_valid after it, and only if
               the rules allow it (`checker.robots`); not at all if they ask for more than max_delay.
    identity   the User-Agent begins with token and version; it or From has the contact. GET only.

Not judged, because a server's log does not show what the crawl saw: how much longer it waits where answers take longer
than usual to begin, and that a site is suspended for `harvester.retry` after failures in a row (some of them leave no
line).

`kills` are the times, by the clock of the log, at which the crawl or a part of it was killed. What a killed process can
have learned is decided in `checker.kills`. Waits count from all answers; from an answer that was on its way, from the
kill.

Clocks in logs are not exact: a request that is less than `epsilon` (5 ms) early is no violation.

Every request is checked once. Memory grows with the number of sites and kills, not with the log. Only where n
robots.txt files moved to one place, each of its answers is checked n times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gossamer.base.clock import EARLIEST
from gossamer.config.settings import Settings
from gossamer.urls import registrable
from gossamer.webs.checker.heard import HeardRobots
from gossamer.webs.checker.kills import AFTERLIFE, FOREVER, UNCOMMITTED, Kills
from gossamer.webs.checker.limits import (
    LEAST_BETWEEN,
    LEAST_SLOWED,
    MOST_SLOWED,
    PRECISION,
    RECOVERED,
    SLOWED,
    WEEK,
    PolitenessLimits,
)
from gossamer.webs.checker.logs import by_start
from gossamer.webs.checker.owners import Owners
from gossamer.webs.checker.report import Accusations, Fault, PolitenessReport, Request, Violation
from gossamer.webs.checker.robots import Origin, RobotsOf

EPSILON: Final = 0.005


def check(
    log: Iterable[Request],
    settings: Settings | PolitenessLimits,
    robots_of: RobotsOf,
    kills: Sequence[float] = (),
    epsilon: float = EPSILON,
    lost: float = UNCOMMITTED,
    afterlife: float = AFTERLIFE,
) -> PolitenessReport:
    """Judges a whole log; its lines may be somewhat out of order (`by_start`). `lost`: replaces the 1.5 s of
    `checker.kills`."""
    limits = settings if isinstance(settings, PolitenessLimits) else PolitenessLimits.of(settings)
    killed = Kills(kills, lost, afterlife)
    owners = Owners(limits.key, robots_of, killed)
    judge = _Judge(limits, HeardRobots(limits, robots_of, killed, epsilon), owners, killed, epsilon)
    for request in by_start(map(killed.cut, log)):
        judge.see(request)
    return judge.report()


@dataclass(slots=True)
class _Site:
    """What is remembered of a site."""

    last: Request | None = None
    """The request whose answer ended last."""
    in_turn: int = 0
    """Requests in the current turn."""
    slow: float = 1.0
    """The least factor by which its wait is multiplied."""
    granted: float = FOREVER
    """The wait before its last request: the first robots.txt of another of its origins is requested at that pace."""
    patience: list[tuple[float, float, Request]] = field(default_factory=list)
    """Retry-Afters: when each ends, until when it is known, and its answer. A Retry-After that another one outlasts is
    not kept."""


class _Judge:
    """Judges one request after the other, in the order in which they began."""

    def __init__(
        self, limits: PolitenessLimits, robots: HeardRobots, owners: Owners, kills: Kills, epsilon: float
    ) -> None:
        self._limits, self._robots, self._owners = limits, robots, owners
        self._kills, self._epsilon = kills, epsilon
        self._requests = 0
        self._sites: dict[str, _Site] = {}
        self._addresses: dict[str, Request] = {}
        """By address: the request whose answer ended last."""
        self._sent: dict[str, float] = {}
        """By address of own sites: the earliest time at which the last request can have been sent."""
        self._domains: dict[str, Request] = {}
        self._accusations = Accusations()

    def report(self) -> PolitenessReport:
        return self._accusations.report(self._requests, len(self._sites), len(self._addresses))

    def see(self, request: Request) -> None:
        self._requests += 1
        name = self._site(request)
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = _Site()
        origin = self._robots.origin(request.origin)
        own = self._owners.owns(name, request.start)
        settled = (self._time_at_own_site if own else self._time_at_site)(request, site, origin)
        self._time_at_address(request, name, settled)
        self._time_at_domain(request, name, settled)
        self._patience(request, site)
        self._time_of_day(request)
        self._identity(request)
        if not self._robots.hear(request):
            found = self._robots.against(request, origin)
            if found is not None:
                self._accuse(found[0], request, found[1])
        self._remember(request, site)
        self._owners.hear(name, request)

    def _site(self, request: Request) -> str:
        return self._robots.site(request.site)

    def _accuse(self, fault: Fault, request: Request, previous: Request | None, early: float = 0.0) -> None:
        self._accusations.add(Violation(fault, request, previous, early))

    # --- time

    def _time_at_site(self, request: Request, site: _Site, origin: Origin) -> bool:
        """Whether the wait after the last request of the site needs no further check: the request continues a turn, or
        is accused already."""
        last, limits = site.last, self._limits
        # a fault begins a new turn, so that the rest of the turn is not accused as well
        before, site.in_turn = site.in_turn, 1
        if last is None:
            return False
        gap = request.start - last.end
        delay = origin.delay(limits)
        wait, pause = origin.wait(limits), max(limits.pause, delay)
        if request.is_robots and origin.certain is None:
            wait = min(wait, site.granted)
        site.granted = wait
        in_turn = wait - gap > self._epsilon
        if gap < -self._epsilon:
            self._accuse(Fault.SITE_PARALLEL, request, last, -gap)
        elif in_turn and before >= limits.per_turn:
            self._accuse(Fault.SITE_EARLY, request, last, wait - gap)
        elif in_turn and pause - gap > self._epsilon:
            self._accuse(Fault.SITE_EARLY, request, last, pause - gap)
        elif (slowed := self._slowed(site, wait)) - gap > self._epsilon:
            self._accuse(Fault.SLOWED_EARLY, request, last, slowed - gap)
        elif (took := self._took(last)) - gap > self._epsilon:
            self._accuse(Fault.TOOK_EARLY, request, last, took - gap)
        elif in_turn:
            site.in_turn = before + 1
        else:
            return False
        return True

    def _time_at_own_site(self, request: Request, site: _Site, origin: Origin) -> bool:
        """As `_time_at_site`, without a usual wait."""
        last, site.in_turn = site.last, 1
        if last is None:
            return False
        gap, delay = request.start - last.end, origin.delay(self._limits)
        if gap < -self._epsilon:
            self._accuse(Fault.SITE_PARALLEL, request, last, -gap)
        elif delay - gap > self._epsilon:
            self._accuse(Fault.SITE_EARLY, request, last, delay - gap)
        elif (slowed := self._slowed(site, delay)) - gap > self._epsilon:
            self._accuse(Fault.SLOWED_EARLY, request, last, slowed - gap)
        return True

    def _rate(self, request: Request, last: Request) -> None:
        """Accuses if more than 10 requests were sent in a second. A server reads a request some time after it was sent,
        but that was not before the end of the answer before it: this bounds the times between."""
        sent = max(self._sent.get(request.address, -FOREVER) + LEAST_BETWEEN, last.end)
        if sent - request.start > self._epsilon:
            self._accuse(Fault.TOO_MANY, request, last, sent - request.start)
        self._sent[request.address] = min(sent, request.start)

    def _slowed(self, site: _Site, wait: float) -> float:
        return min(max(wait, LEAST_SLOWED) * site.slow, WEEK) * (1 - PRECISION) if site.slow > 1.0 else 0.0

    def _took(self, last: Request) -> float:
        """The wait by `wait_factor`. The server measures a little longer than the client: `epsilon` is forgiven."""
        if not self._limits.wait_factor or not self._kills.is_certain(last):
            return 0.0
        return min(self._limits.wait_factor * max(0.0, last.end - last.start - self._epsilon), WEEK)

    def _time_at_address(self, request: Request, name: str, settled: bool) -> None:
        last, own = self._addresses.get(request.address), self._owners.owns(name, request.start)
        if last and self._owners.alone(name, request):
            self._between(request, last, 0.0, Fault.ADDRESS_EARLY, Fault.ADDRESS_PARALLEL)
            self._rate(request, last)
        elif last and (own or not (settled and self._site(last) == name)):
            self._between(request, last, self._limits.address_wait, Fault.ADDRESS_EARLY, Fault.ADDRESS_PARALLEL)
        if last is None or request.end >= last.end:
            self._addresses[request.address] = request

    def _time_at_domain(self, request: Request, name: str, settled: bool) -> None:
        if not self._limits.domain_wait:
            return
        domain = registrable(name)
        last = self._domains.get(domain)
        if last and not (settled and self._site(last) == name):
            self._between(request, last, self._limits.domain_wait, Fault.DOMAIN_EARLY, Fault.DOMAIN_PARALLEL)
        if last is None or request.end >= last.end:
            self._domains[domain] = request

    def _between(self, request: Request, last: Request, wait: float, early: Fault, parallel: Fault) -> None:
        gap = request.start - last.end
        if gap < -self._epsilon:
            self._accuse(parallel, request, last, -gap)
        elif wait - gap > self._epsilon:
            self._accuse(early, request, last, wait - gap)

    def _patience(self, request: Request, site: _Site) -> None:
        """Accuses by the Retry-After that ends last."""
        if not site.patience:
            return
        now = request.start
        site.patience = [p for p in site.patience if p[0] - now > self._epsilon and p[1] > now]
        asked = [p for p in site.patience if p[2].end <= now + self._epsilon]
        if asked:
            until, _, answer = max(asked, key=lambda p: p[0])
            self._accuse(Fault.RETRY_AFTER, request, answer, until - now)

    def _time_of_day(self, request: Request) -> None:
        quiet, start = self._limits.quiet, request.start
        if quiet is not None and start >= EARLIEST and quiet.at(start + self._epsilon):
            last = start - self._limits.late  # it may have begun to connect then
            if quiet.at(last):
                self._accuse(Fault.QUIET, request, None)

    def _remember(self, request: Request, site: _Site) -> None:
        if site.last is None or request.end >= site.last.end:
            site.last = request
        known = self._kills.known_until(request)
        if not _slows(request):
            site.slow = max(1.0, site.slow * RECOVERED)
        elif known == FOREVER:
            site.slow = min(site.slow * SLOWED, MOST_SLOWED)
        if request.retry_after:
            until = request.end + min(request.retry_after, WEEK)
            site.patience = [p for p in site.patience if p[0] > until or p[1] > known]
            site.patience.append((until, known, request))

    # --- identity

    def _identity(self, request: Request) -> None:
        if request.method != "GET":
            self._accuse(Fault.METHOD, request, None)
        if request.agent and not self._is_named(request):
            self._accuse(Fault.NAMELESS, request, None)

    def _is_named(self, request: Request) -> bool:
        token, slash, rest = request.agent.partition("/")
        if (token, slash) != (self._limits.agent, "/") or not rest[:1].isdecimal():
            return False
        if not request.sender or not self._limits.contacts:
            return True
        return any(contact in request.agent or contact in request.sender for contact in self._limits.contacts)


def _slows(request: Request) -> bool:
    return request.status == 429 or 500 <= request.status < 600 or (request.status == 402 and not request.is_robots)
