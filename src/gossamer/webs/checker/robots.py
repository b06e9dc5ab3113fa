"""What an origin's robots.txt says, as far as a log tells.

An answer says one of these:

    rules      200 or 304: the rules that were served then
    nothing    any other answer: everything is allowed
    failed     5xx, 429, or no answer (444, as nginx writes it): nothing is allowed; after 30 days of failures, what the
               last readable answer said, or everything
    moved      3xx: the next answer of the place that it names speaks for this origin, at most five times

An answer that a killed crawl may have lost is *doubtful*: it permits what it allows, but so does the last certain
answer before it. A second answer of a place to which a robots.txt moved is also doubtful: the site of that place
requested one of the two for itself. Nobody is accused because of what the log does not tell (the target of a redirect,
the reason why a client left).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from gossamer.robots import Rules
from gossamer.webs.checker.limits import PolitenessLimits
from gossamer.webs.checker.report import Fault, Request
from gossamer.webs.demo.access import CLIENT_LEFT

READ_AT_LEAST: Final = 500 * 1024
"""Bytes after which a client may leave and still have read the file (RFC 9309, 2.5)."""
NO_ANSWER: Final = 444
HOPS: Final = 5
DOUBTFUL: Final = 10
"""Most doubtful answers that are remembered after the last certain one."""
_RULES: Final = (200, 304)

RobotsOf = Callable[[Request], bytes | None]
"""Function from a request for robots.txt to the file that answered it; None: not known, everything is allowed."""


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """An answer to a request for robots.txt, and the rules in it."""

    answer: Request
    rules: Rules | None
    """None: the request failed, and nothing is allowed."""


def was_left(answer: Request) -> bool:
    """Whether the client left before it could learn anything."""
    return answer.status == CLIENT_LEFT and answer.sent < READ_AT_LEAST


def has_moved(answer: Request) -> bool:
    return 300 <= answer.status < 400 and answer.status != 304


def said_by(answer: Request, robots_of: RobotsOf, agent: str) -> RobotsAnswer:
    if answer.status >= 500 or answer.status in (429, NO_ANSWER):
        return RobotsAnswer(answer, None)
    served = robots_of(answer) if answer.status in _RULES or answer.status == CLIENT_LEFT else None
    return RobotsAnswer(answer, _parsed(served or b"", agent))


@lru_cache(maxsize=10_000)
def _parsed(text: bytes, agent: str) -> Rules:
    return Rules.parse(text, agent)


@dataclass(slots=True)
class Origin:
    """The answers that may be in force at an origin."""

    certain: RobotsAnswer | None = None
    doubtful: list[RobotsAnswer] = field(default_factory=list)
    """Doubtful answers since the last certain one, in order."""
    good: RobotsAnswer | None = None
    """The last readable answer."""
    delaying: list[Rules] = field(default_factory=lambda: [Rules.parse(b"", "")])
    """The rules whose Crawl-delay may be in force: the certain ones, or none at all, then the doubtful ones in order. A
    failure leaves them as they were."""
    failing: float | None = None
    """The start of the current series of failures; None: there is none."""

    def hear(self, said: RobotsAnswer, is_certain: bool) -> None:
        if said.rules is not None:
            self.good, self.failing = said, None
            kept = [self.delaying[0], *self.delaying[1:][1 - DOUBTFUL :]]
            self.delaying = [said.rules] if is_certain else [*kept, said.rules]
        elif self.failing is None:
            self.failing = said.answer.start
        if is_certain:
            self.certain, self.doubtful = said, []
        else:
            self.doubtful = [*self.doubtful[1 - DOUBTFUL :], said]

    def delay(self, limits: PolitenessLimits) -> float:
        """The Crawl-delay that the crawl certainly knows and honours; 0: none."""
        delays = (rules.delay or 0.0 for rules in self.delaying)
        return min(delay if delay <= limits.max_delay else 0.0 for delay in delays)

    def wait(self, limits: PolitenessLimits) -> float:
        """The least wait that rules which may be in force grant: a Crawl-delay that names the crawler may be shorter
        than the usual wait."""
        return min(_wait(rules, limits) for rules in self.delaying)

    def judge(self, request: Request, limits: PolitenessLimits) -> tuple[Fault, Request | None] | None:
        """The rule that a page breaks, if no answer that may be in force allows it, and the last answer."""
        found: tuple[Fault, Request | None] | None = (Fault.NO_ROBOTS, None)
        for said in (self.certain, *self.doubtful):
            if said is not None:
                kind = self._against(said, request, limits)
                if kind is None:
                    return None
                found = kind, said.answer
        return found

    def _against(self, said: RobotsAnswer, request: Request, limits: PolitenessLimits) -> Fault | None:
        if said.rules is None:
            if self.failing is None or request.start - self.failing < limits.unreachable:
                return Fault.FORBIDDEN
            return None if self.good is None else _forbids(self.good, request, limits)
        if request.start - said.answer.end > limits.robots_valid + limits.late:
            return Fault.NO_ROBOTS
        return _forbids(said, request, limits)


def _wait(rules: Rules, limits: PolitenessLimits) -> float:
    usual = min(limits.wait, limits.address_wait) if rules.named else limits.wait
    delay = rules.delay or 0.0
    return max(usual, delay if delay <= limits.max_delay else 0.0)


def _forbids(said: RobotsAnswer, request: Request, limits: PolitenessLimits) -> Fault | None:
    if said.rules is None or not said.rules.allows(request.target):
        return Fault.FORBIDDEN
    return Fault.DELAY_TOO_LONG if (said.rules.delay or 0.0) > limits.max_delay else None
