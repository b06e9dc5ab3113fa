"""Judges the politeness of a crawl by what the servers saw of it.

Time runs from the END of one answer to the START of the next request. All requests count, robots.txt's and sitemaps'
too; streams of one connection are requests like others:

    site       min(wait, wait_large), because a log does not tell how many pages of a site were known; a Crawl-delay
               that is longer takes its place. Up to per_turn requests may follow one another after `pause`.
    slowed     429, 402 and 5xx double the wait of the site, or a second if that is longer; any other answer takes a
               tenth off again.
    took       wait_factor times what the last answer at the site took.
    address    address_wait, whatever the sites behind it, but not inside a turn; domain_wait for the registrable
               domain likewise.
    parallel   no two requests overlap at a site, nor at an address, nor, if domain_wait is set, at a domain.
    Retry-After of any answer holds for its whole site, a week at most.
    robots     a page is asked for after its origin's robots.txt was, no longer than robots_valid ago, and only if the
               rules allow it (`checker.robots`); not at all if they ask for more than max_delay.
    identity   the User-Agent begins with token and version; it or From has the contact. GET only.

Not judged, because a server's log does not tell what the crawl saw: how much longer it waits where answers take longer
than usual to begin, and that a site rests for `harvester.retry` after failures in a row (some of them leave no line).

`kills` are times (of the log's clock) at which the crawl or a part of it was killed. A killed process learned nothing
from an answer that it cannot have read, or that ended within 1.5 s before (commits are a second apart; a machine that
is busy needs more), or that was on its way: such an answer *obliges* to nothing (no Crawl-delay, no Retry-After, no
5xx), though it may have been committed and so *permits*: so does one that was on its way, for only one of several
processes may have been killed. Waits count from all of them; from one that was on its way, from the kill.

Clocks in logs are not exact: what is less than `epsilon` (5 ms) early is no violation.

A request is looked at once. What is remembered is of the size of the sites and kills, not of the log. Only where n
robots.txt moved to one place, each of its answers is looked at n times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from gossamer import urls
from gossamer.config.settings import Settings
from gossamer.robots import Rules
from gossamer.urls import registrable, without_www
from gossamer.webs.checker.limits import LEAST_SLOWED, MOST_SLOWED, PRECISION, RECOVERED, SLOWED, WEEK, PolitenessLimits
from gossamer.webs.checker.order import by_start
from gossamer.webs.checker.report import Fault, PolitenessReport, Request, Violation
from gossamer.webs.checker.robots import HOPS, Origin, RobotsAnswer, RobotsOf, has_moved, said_by, was_left
from gossamer.webs.demo.access import CLIENT_LEFT

EPSILON: Final = 0.005
UNCOMMITTED: Final = 1.5
AFTERLIFE: Final = 0.1
"""Seconds after a kill in which a server may still read what the dead process had sent; more where it is busy."""
KEPT: Final = 1_000
"""Violations of a kind that are kept; the rest is counted."""
FOREVER: Final = float("inf")


def check(
    log: Iterable[Request],
    settings: Settings | PolitenessLimits,
    robots_of: RobotsOf,
    kills: Sequence[float] = (),
    epsilon: float = EPSILON,
    lost: float = UNCOMMITTED,
    afterlife: float = AFTERLIFE,
) -> PolitenessReport:
    """Judges a whole log; the order of its lines matters little (`checker.order`). `lost`: in place of 1.5 s."""
    limits = settings if isinstance(settings, PolitenessLimits) else PolitenessLimits.of(settings)
    judge = _Judge(limits, robots_of, sorted(kills), epsilon, lost, afterlife)
    for request in by_start(map(judge.cut, log)):
        judge.see(request)
    return judge.report()


@dataclass(slots=True)
class _Moved:
    """A robots.txt that is to be found at another place."""

    hops: int
    since: float
    """The end of the answer that says so: what was asked for before was not asked for because of it."""
    left: int
    """Answers of that place that may be the one which was asked for because of it."""
    heard: bool = False


@dataclass(slots=True)
class _Site:
    last: Request | None = None
    """Whose answer ended last."""
    in_turn: int = 0
    """Requests of the present turn."""
    slow: float = 1.0
    """By how much its wait is multiplied, at least."""
    patience: list[tuple[float, float, Request]] = field(default_factory=list)
    """Retry-Afters: when they end, until when they are known, and the answer; none that another outlasts."""


class _Judge:
    def __init__(
        self,
        limits: PolitenessLimits,
        robots_of: RobotsOf,
        kills: list[float],
        epsilon: float,
        lost: float,
        afterlife: float,
    ) -> None:
        self.limits, self.robots_of, self.epsilon = limits, robots_of, epsilon
        self.kills, self.lost, self.afterlife = kills, lost, afterlife
        self.requests = 0
        self.sites: dict[str, _Site] = {}
        self.addresses: dict[str, Request] = {}
        self.domains: dict[str, Request] = {}
        self.origins: dict[str, Origin] = {}
        self.errands: dict[tuple[str, str], dict[str, _Moved]] = {}
        """Sites and targets to which robots.txt moved, for which origins."""
        self.sent: dict[str, tuple[str, str]] = {}
        """Origins to the place to which theirs moved last."""
        self.unknown = 0
        """Redirects of robots.txt whose target the log does not tell, and which nobody has asked for yet."""
        self.violations: list[Violation] = []
        self.counts: Counter[Fault] = Counter()
        self.worst: dict[Fault, Violation] = {}

    def report(self) -> PolitenessReport:
        return PolitenessReport(
            self.requests, len(self.sites), len(self.addresses), self.violations, dict(self.counts), self.worst
        )

    def cut(self, request: Request) -> Request:
        """A request that was on its way at a kill ended there."""
        first = bisect_left(self.kills, request.start - self.afterlife)
        if first == len(self.kills) or self.kills[first] >= request.end:
            return request
        return replace(request, end=max(request.start, self.kills[first]))

    def see(self, request: Request) -> None:
        self.requests += 1
        name = self._site(request)
        site = self.sites.get(name)
        if site is None:
            site = self.sites[name] = _Site()
        origin = self.origins.get(request.origin)
        if origin is None:
            origin = self.origins[request.origin] = Origin()
        settled = self._time_at_site(request, site, origin)
        self._time_at_address(request, name, settled)
        self._time_at_domain(request, name, settled)
        self._patience(request, site)
        self._identity(request)
        spoken_for = self._spoken_for(request)
        if request.is_robots and request.origin not in spoken_for:
            self._hear(request, request.origin, 0)
        elif not spoken_for:
            self._robots(request, origin)
        self._remember(request, site)

    def _site(self, request: Request) -> str:
        return self._name(request.site)

    def _name(self, host: str) -> str:
        return without_www(host) if self.limits.www else host

    def _accuse(self, kind: Fault, request: Request, previous: Request | None, early: float = 0.0) -> None:
        violation = Violation(kind, request, previous, early)
        self.counts[kind] += 1
        if self.counts[kind] <= KEPT:
            self.violations.append(violation)
        if kind not in self.worst or early > self.worst[kind].early:
            self.worst[kind] = violation

    # --- time

    def _time_at_site(self, request: Request, site: _Site, origin: Origin) -> bool:
        """Whether nothing is left to say between it and the last one: it continues a turn, or is accused already."""
        last, limits = site.last, self.limits
        before, site.in_turn = site.in_turn, 1  # a fault begins a turn, lest the rest of it be accused too
        if last is None:
            return False
        gap = request.start - last.end
        delay = origin.delay(limits)
        wait, pause = max(limits.wait, delay), max(limits.pause, delay)
        in_turn = wait - gap > self.epsilon
        if gap < -self.epsilon:
            self._accuse(Fault.SITE_PARALLEL, request, last, -gap)
        elif in_turn and before >= limits.per_turn:
            self._accuse(Fault.SITE_EARLY, request, last, wait - gap)
        elif in_turn and pause - gap > self.epsilon:
            self._accuse(Fault.SITE_EARLY, request, last, pause - gap)
        elif (slowed := self._slowed(site, wait)) - gap > self.epsilon:
            self._accuse(Fault.SLOWED_EARLY, request, last, slowed - gap)
        elif (took := self._took(last)) - gap > self.epsilon:
            self._accuse(Fault.TOOK_EARLY, request, last, took - gap)
        elif in_turn:
            site.in_turn = before + 1
        else:
            return False
        return True

    def _slowed(self, site: _Site, wait: float) -> float:
        return min(max(wait, LEAST_SLOWED) * site.slow, WEEK) * (1 - PRECISION) if site.slow > 1.0 else 0.0

    def _took(self, last: Request) -> float:
        """By `wait_factor`. The server's measure is not the client's: a moment of it is forgiven."""
        if not self.limits.wait_factor or self._known_until(last) < FOREVER:
            return 0.0
        return min(self.limits.wait_factor * max(0.0, last.end - last.start - self.epsilon), WEEK)

    def _time_at_address(self, request: Request, name: str, settled: bool) -> None:
        last = self.addresses.get(request.address)
        if last and not (settled and self._site(last) == name):
            self._between(request, last, self.limits.address_wait, Fault.ADDRESS_EARLY, Fault.ADDRESS_PARALLEL)
        if last is None or request.end >= last.end:
            self.addresses[request.address] = request

    def _time_at_domain(self, request: Request, name: str, settled: bool) -> None:
        if not self.limits.domain_wait:
            return
        domain = registrable(name)
        last = self.domains.get(domain)
        if last and not (settled and self._site(last) == name):
            self._between(request, last, self.limits.domain_wait, Fault.DOMAIN_EARLY, Fault.DOMAIN_PARALLEL)
        if last is None or request.end >= last.end:
            self.domains[domain] = request

    def _between(self, request: Request, last: Request, wait: float, early: Fault, parallel: Fault) -> None:
        gap = request.start - last.end
        if gap < -self.epsilon:
            self._accuse(parallel, request, last, -gap)
        elif wait - gap > self.epsilon:
            self._accuse(early, request, last, wait - gap)

    def _patience(self, request: Request, site: _Site) -> None:
        """Accuses by the Retry-After that ends last."""
        if not site.patience:
            return
        now = request.start
        site.patience = [p for p in site.patience if p[0] - now > self.epsilon and p[1] > now]
        asked = [p for p in site.patience if p[2].end <= now + self.epsilon]
        if asked:
            until, _, answer = max(asked, key=lambda p: p[0])
            self._accuse(Fault.RETRY_AFTER, request, answer, until - now)

    def _remember(self, request: Request, site: _Site) -> None:
        if site.last is None or request.end >= site.last.end:
            site.last = request
        known = self._known_until(request)
        if not _slows(request):
            site.slow = max(1.0, site.slow * RECOVERED)
        elif known == FOREVER:
            site.slow = min(site.slow * SLOWED, MOST_SLOWED)
        if request.retry_after:
            until = request.end + min(request.retry_after, WEEK)
            site.patience = [p for p in site.patience if p[0] > until or p[1] > known]
            site.patience.append((until, known, request))

    # --- robots.txt

    def _spoken_for(self, request: Request) -> set[str]:
        """Origins whose robots.txt moved here: the answer speaks for them, too, and is no page. If that of this place
        itself has been heard already, it is asked for anew."""
        place = (self._site(request), request.target) if self.errands else ("", "")
        found = set[str]()
        for origin, moved in list(self.errands.get(place, {}).items()):
            own_anew = moved.heard and request.is_robots and origin == request.origin
            if request.start < moved.since - self.epsilon or own_anew:
                continue
            found.add(origin)
            if was_left(request):
                continue
            moved.left -= 1
            if moved.left == 0:
                self._arrive(origin)
            self._hear(request, origin, moved.hops, again=moved.heard)
            moved.heard = True
        return found

    def _hear(self, answer: Request, origin: str, hops: int, again: bool = False) -> None:
        """`again`: this origin's has been heard here already, but that answer may have been for another's sake."""
        if was_left(answer):
            return
        if hops == 0:
            self._arrive(origin)
        if has_moved(answer) and hops < HOPS:
            target = urls.canonical(urljoin(answer.url, answer.location)) if answer.location else None
            if target is not None:
                self._send(origin, target, hops + 1, answer.end)
                return
            self.unknown += not answer.location
        said = (
            RobotsAnswer(answer, Rules()) if has_moved(answer) else said_by(answer, self.robots_of, self.limits.agent)
        )
        self.origins[origin].hear(said, not again and self._known_until(answer) == FOREVER)

    def _send(self, origin: str, target: str, hops: int, since: float) -> None:
        """The log does not tell for whose sake a place is asked: its own, if it is a robots.txt (by http and by https),
        or that of one of those who were sent there. So each of them may be spoken for by as many answers."""
        self._arrive(origin)
        place = self._name(urls.host(target)), "/" + target.split("/", 3)[3]
        others, own = self.errands.setdefault(place, {}), 2 if place[1] == "/robots.txt" else 0
        for other in others.values():
            other.left += 1
        others[origin] = _Moved(hops, since, len(others) + 1 + own)
        self.sent[origin] = place

    def _arrive(self, origin: str) -> None:
        """It waits for no other place any more."""
        place = self.sent.pop(origin, None)
        if place is not None:
            del self.errands[place][origin]
            if not self.errands[place]:
                del self.errands[place]

    def _robots(self, request: Request, origin: Origin) -> None:
        found = origin.judge(request, self.limits)
        if found is None:
            return
        kind, answer = found
        if kind is not Fault.NO_ROBOTS or not self.unknown:
            self._accuse(kind, request, answer)
        elif not has_moved(request):
            self.unknown -= 1  # it may be where a robots.txt moved to

    def _known_until(self, answer: Request) -> float:
        """The kill at which the crawl may have lost what it learned from the answer; forever, if there is none."""
        if answer.status == CLIENT_LEFT:
            return -FOREVER
        first = bisect_left(self.kills, answer.start - self.afterlife)
        if first == len(self.kills) or self.kills[first] > answer.end + self.lost:
            return FOREVER
        return self.kills[first]

    # --- identity

    def _identity(self, request: Request) -> None:
        if request.method != "GET":
            self._accuse(Fault.METHOD, request, None)
        if request.agent and not self._is_named(request):
            self._accuse(Fault.NAMELESS, request, None)

    def _is_named(self, request: Request) -> bool:
        token, slash, rest = request.agent.partition("/")
        if (token, slash) != (self.limits.agent, "/") or not rest[:1].isdecimal():
            return False
        if not request.sender or not self.limits.contacts:
            return True
        return any(contact in request.agent or contact in request.sender for contact in self.limits.contacts)


def _slows(request: Request) -> bool:
    return request.status == 429 or 500 <= request.status < 600 or (request.status == 402 and not request.is_robots)
