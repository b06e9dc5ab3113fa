"""What the crawl heard of robots.txt: the answers of each origin, also where its robots.txt moved to another place.

A log does not tell for whose sake a place is requested: its own, if it is a robots.txt (by http and by https), or that
of one of the origins whose robots.txt moved there. So an answer of the place may speak for each of these origins, as
often as the number of those who may have requested it.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin

from gossamer import urls
from gossamer.robots import Rules
from gossamer.urls import without_www
from gossamer.webs.checker.kills import Kills
from gossamer.webs.checker.limits import PolitenessLimits
from gossamer.webs.checker.report import Fault, Request
from gossamer.webs.checker.robots import HOPS, Origin, RobotsAnswer, RobotsOf, has_moved, said_by, was_left

Place = tuple[str, str]
"""Site and target."""


@dataclass(slots=True)
class _Moved:
    """A robots.txt that moved to another place."""

    hops: int
    since: float
    """The end of the answer that redirected: a request before this time was not made because of it."""
    left: int
    """Further answers of the new place that may have been requested because of the redirect."""
    heard: bool = False


class HeardRobots:
    """All origins with the answers that speak for them."""

    def __init__(self, limits: PolitenessLimits, robots_of: RobotsOf, kills: Kills, epsilon: float) -> None:
        self._limits, self._robots_of, self._kills, self._epsilon = limits, robots_of, kills, epsilon
        self._origins: dict[str, Origin] = {}
        self._errands: dict[Place, dict[str, _Moved]] = {}
        """Places to which a robots.txt moved, and the origins for which it did."""
        self._sent: dict[str, Place] = {}
        """Origin to the place to which its robots.txt moved last."""
        self._unknown = 0
        """Redirects of robots.txt whose target is not in the log, and which may not have been requested yet."""

    def origin(self, name: str) -> Origin:
        found = self._origins.get(name)
        if found is None:
            found = self._origins[name] = Origin()
        return found

    def site(self, host: str) -> str:
        return without_www(host) if self._limits.www else host

    def hear(self, request: Request) -> bool:
        """Learns from the answer; False if it is a page, which the rules must allow (`against`)."""
        spoken_for = self._spoken_for(request)
        if request.is_robots and request.origin not in spoken_for:
            self._hear(request, request.origin, 0)
            return True
        return bool(spoken_for)

    def against(self, request: Request, origin: Origin) -> tuple[Fault, Request | None] | None:
        """What the rules have against a page, and the answer that said so."""
        found = origin.judge(request, self._limits)
        if found is None or found[0] is not Fault.NO_ROBOTS or not self._unknown:
            return found
        if not has_moved(request):
            self._unknown -= 1  # this may be the place to which a robots.txt moved
        return None

    def _spoken_for(self, request: Request) -> set[str]:
        """Origins whose robots.txt moved here: the answer speaks for them, too, and is no page. If the robots.txt of
        this place itself was heard before, the request asks for it again."""
        place = (self.site(request.site), request.target) if self._errands else ("", "")
        found = set[str]()
        for origin, moved in list(self._errands.get(place, {}).items()):
            own_again = moved.heard and request.is_robots and origin == request.origin
            if request.start < moved.since - self._epsilon or own_again:
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
        """`again`: an answer for this origin was heard here before, but it may have been requested for another one."""
        if was_left(answer):
            return
        if hops == 0:
            self._arrive(origin)
        if has_moved(answer) and hops < HOPS:
            target = urls.canonical(urljoin(answer.url, answer.location)) if answer.location else None
            if target is not None:
                self._send(origin, target, hops + 1, answer.end)
                return
            self._unknown += not answer.location
        allows_all = RobotsAnswer(answer, Rules())
        heard = allows_all if has_moved(answer) else said_by(answer, self._robots_of, self._limits.agent)
        self._origins[origin].hear(heard, not again and self._kills.is_certain(answer))

    def _send(self, origin: str, target: str, hops: int, since: float) -> None:
        """The robots.txt of an origin moved to `target`."""
        self._arrive(origin)
        place = self.site(urls.host(target)), "/" + target.split("/", 3)[3]
        others, own = self._errands.setdefault(place, {}), 2 if place[1] == "/robots.txt" else 0
        for other in others.values():
            other.left += 1
        others[origin] = _Moved(hops, since, len(others) + 1 + own)
        self._sent[origin] = place

    def _arrive(self, origin: str) -> None:
        """The origin no longer waits for an answer of another place."""
        place = self._sent.pop(origin, None)
        if place is not None:
            del self._errands[place][origin]
            if not self._errands[place]:
                del self._errands[place]
