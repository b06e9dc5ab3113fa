"""Judges the politeness of a crawl by what the servers saw of it.

Time runs from the END of one answer to the START of the next request. All requests count, robots.txt's too:

    site       min(wait, wait_large), because a log does not tell how many pages of a site were known; a Crawl-delay
               that is longer takes its place. Up to per_turn requests may follow one another after `pause`.
    address    address_wait, whatever the sites behind it, but not inside a turn.
    parallel   no two requests overlap at a site, nor at an address.
    Retry-After of a 429 or 503 holds for its whole site.
    robots     a page is asked for after its origin's robots.txt was, no longer than robots_valid ago, and only if the
               rules allow it: those of a 200 or 304; a 5xx forbids all, anything else nothing.

`kills` are times (of the log's clock) at which the crawl or a part of it was killed. A killed process learned nothing
from an answer that it cannot have read, or that ended within 1.5 s before (commits are a second apart), or that was on
its way: such an answer *obliges* to nothing (no Crawl-delay, no Retry-After, no 5xx), though it may have been committed
and so *permits*. Waits count from it all the same; one that was on its way ends with the kill.

Clocks in logs are not exact: what is less than `epsilon` (5 ms) early is no violation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gossamer.checker.report import Kind, Report, Request, Violation
from gossamer.config.settings import Settings
from gossamer.demo.access import CLIENT_LEFT
from gossamer.robots import Rules
from gossamer.urls import without_www

EPSILON: Final = 0.005
UNCOMMITTED: Final = 1.5
AFTERLIFE: Final = 0.1
"""Seconds after a kill in which a server may still read what the dead process had sent."""
RULES: Final = (200, 304)

RobotsOf = Callable[[str], bytes | None]
"""Origin ("http://host") to the robots.txt that it serves with status 200; None: not known, allows everything."""


def check(
    log: Iterable[Request], settings: Settings, robots_of: RobotsOf, kills: Sequence[float] = (),
    epsilon: float = EPSILON,
) -> Report:  # fmt: skip
    """Judges a whole log; its order does not matter."""
    requests = sorted((_cut(r, kills) for r in log), key=lambda r: (r.start, r.end))
    judge = _Judge(settings, robots_of, sorted(kills), epsilon)
    for request in requests:
        judge.see(request)
    return Report(len(requests), len(judge.sites), len(judge.addresses), judge.violations)


def _cut(request: Request, kills: Sequence[float]) -> Request:
    """A request that was on its way at a kill ended there."""
    inside = [k for k in kills if request.start <= k < request.end]
    return replace(request, end=min(inside), status=CLIENT_LEFT) if inside else request


@dataclass(slots=True)
class _Site:
    last: Request | None = None
    """Whose answer ended last."""
    in_turn: int = 0
    """Requests of the present turn."""
    patience: list[Request] = field(default_factory=list)
    """Answers with a Retry-After."""


@dataclass(slots=True)
class _Origin:
    answers: list[Request] = field(default_factory=list)
    """Of robots.txt, in order."""
    rules: Rules | None = None


class _Judge:
    def __init__(self, settings: Settings, robots_of: RobotsOf, kills: list[float], epsilon: float) -> None:
        self.settings, self.www = settings.harvester, settings.seeder.www
        self.wait = float(min(self.settings.wait, self.settings.wait_large))
        self.robots_of, self.kills, self.epsilon = robots_of, kills, epsilon
        self.sites: dict[str, _Site] = {}
        self.addresses: dict[str, Request] = {}
        self.origins: dict[str, _Origin] = {}
        self.violations: list[Violation] = []

    def see(self, request: Request) -> None:
        site = self.sites.setdefault(self._site(request), _Site())
        origin = self.origins.setdefault(request.origin, _Origin())
        settled = self._time_at_site(request, site, origin)
        self._time_at_address(request, settled)
        self._patience(request, site)
        if request.is_robots:
            origin.answers.append(request)
        else:
            self._robots(request, origin)
        self._remember(request, site)

    def _site(self, request: Request) -> str:
        """Two hosts that differ by `www.` are one site, if the settings say so."""
        return without_www(request.site) if self.www else request.site

    def _accuse(self, kind: Kind, request: Request, previous: Request | None, early: float = 0.0) -> None:
        self.violations.append(Violation(kind, request, previous, early))

    def _time_at_site(self, request: Request, site: _Site, origin: _Origin) -> bool:
        """Whether nothing is left to say between it and the last one: it continues a turn, or is accused already."""
        last = site.last
        before, site.in_turn = site.in_turn, 1  # a fault begins a turn, lest the rest of it be accused too
        if last is None:
            return False
        gap = request.start - last.end
        delay = self._delay(request, origin)
        wait, pause = max(self.wait, delay), max(float(self.settings.pause), delay)
        if gap < -self.epsilon:
            self._accuse(Kind.SITE_PARALLEL, request, last, -gap)
        elif wait - gap <= self.epsilon:
            return False
        elif before >= self.settings.per_turn:
            self._accuse(Kind.SITE_EARLY, request, last, wait - gap)
        elif pause - gap > self.epsilon:
            self._accuse(Kind.SITE_EARLY, request, last, pause - gap)
        else:
            site.in_turn = before + 1
        return True

    def _time_at_address(self, request: Request, settled: bool) -> None:
        last = self.addresses.get(request.address)
        if last and not (self._site(last) == self._site(request) and settled):
            gap = request.start - last.end
            if gap < -self.epsilon:
                self._accuse(Kind.ADDRESS_PARALLEL, request, last, -gap)
            elif self.settings.address_wait - gap > self.epsilon:
                self._accuse(Kind.ADDRESS_EARLY, request, last, self.settings.address_wait - gap)
        if last is None or request.end >= last.end:
            self.addresses[request.address] = request

    def _patience(self, request: Request, site: _Site) -> None:
        """Accuses by the Retry-After that ends last."""
        site.patience = [a for a in site.patience if a.end + (a.retry_after or 0.0) - request.start > self.epsilon]
        asked = [a for a in site.patience if self._is_known(a, request.start)]
        if asked:
            last = max(asked, key=lambda a: a.end + (a.retry_after or 0.0))
            self._accuse(Kind.RETRY_AFTER, request, last, last.end + (last.retry_after or 0.0) - request.start)

    def _delay(self, request: Request, origin: _Origin) -> float:
        """The Crawl-delay that was certainly known at the request; 0 without one."""
        known = [a for a in origin.answers if self._is_known(a, request.start)]
        if not known or known[-1].status not in RULES:
            return 0.0
        return self._rules(request, origin).delay or 0.0

    def _rules(self, request: Request, origin: _Origin) -> Rules:
        if origin.rules is None:
            origin.rules = Rules.parse(self.robots_of(request.origin) or b"", self.settings.agent)
        return origin.rules

    def _robots(self, request: Request, origin: _Origin) -> None:
        read = [a for a in origin.answers if a.end <= request.start + self.epsilon and a.status != CLIENT_LEFT]
        if not read:
            self._accuse(Kind.NO_ROBOTS, request, None)
            return
        last = read[-1]
        age = request.start - last.end
        if age > self.settings.robots_valid + self.settings.connect_timeout:
            self._accuse(Kind.NO_ROBOTS, request, last)
        elif last.status >= 500:
            if self._is_known(last, request.start):
                self._accuse(Kind.FORBIDDEN, request, last)
        elif last.status in RULES and not self._rules(request, origin).allows(request.url):
            self._accuse(Kind.FORBIDDEN, request, last)

    def _is_known(self, answer: Request, now: float) -> bool:
        """Whether the crawl that asks now certainly learned from the answer."""
        if answer.status == CLIENT_LEFT or answer.end > now + self.epsilon:
            return False
        first = bisect_left(self.kills, answer.start - AFTERLIFE)
        return first == len(self.kills) or self.kills[first] > min(now, answer.end + UNCOMMITTED)

    def _remember(self, request: Request, site: _Site) -> None:
        if site.last is None or request.end >= site.last.end:
            site.last = request
        if request.status in (429, 503) and request.retry_after:
            site.patience.append(request)
