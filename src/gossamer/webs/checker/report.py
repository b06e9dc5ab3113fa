"""What the checker reads and reports: requests, violations, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gossamer.base.escape import for_screen
from gossamer.base.units import plural

KEPT: Final = 1_000
"""Violations of each kind that are kept; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a server saw it. Times are in seconds, by the clock of the log."""

    start: float
    """When its first byte was read."""
    end: float
    """When the last byte of its answer was written."""
    address: str
    """The server's address."""
    host: str
    target: str
    """Path and query."""
    status: int
    scheme: str = "http"
    method: str = "GET"
    connection: int = 0
    retry_after: float | None = None
    """Seconds from the end of the answer."""
    agent: str = ""
    """User-Agent; "-": none was sent, "": the log does not have it."""
    sender: str = ""
    """From, likewise."""
    location: str = ""
    """Target of a redirect, as sent; "": the log does not have it."""
    sent: int = 0
    """Size of the answer in bytes."""

    @property
    def site(self) -> str:
        """The host without its port."""
        return self.host.rpartition(":")[0] if self.host.rpartition(":")[2].isdecimal() else self.host

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    @property
    def url(self) -> str:
        return self.origin + self.target

    @property
    def is_robots(self) -> bool:
        return self.target == "/robots.txt"


class Fault(StrEnum):
    """The rules that a request can break."""

    SITE_EARLY = "too early at its site"
    SLOWED_EARLY = "too early after answers that ask to slow down"
    TOOK_EARLY = "too early after an answer that took long"
    TOO_MANY = "more than ten in a second at a site of the operator"
    ADDRESS_EARLY = "too early at its address"
    DOMAIN_EARLY = "too early at its domain"
    SITE_PARALLEL = "in parallel with another request at its site"
    ADDRESS_PARALLEL = "in parallel with another request at its address"
    DOMAIN_PARALLEL = "in parallel with another request at its domain"
    QUIET = "in quiet hours"
    RETRY_AFTER = "before the end of a Retry-After"
    FORBIDDEN = "forbidden by robots.txt"
    NO_ROBOTS = "without valid robots.txt rules"
    DELAY_TOO_LONG = "at a site whose Crawl-delay is longer than max_delay"
    NAMELESS = "without the crawler's name, version or contact"
    METHOD = "with a method other than GET"


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that breaks a rule."""

    kind: Fault
    request: Request
    previous: Request | None
    """The request that it follows or overlaps, or the robots.txt request whose answer forbids it."""
    early: float
    """Seconds by which it came too early; 0 where that has no meaning."""

    def __str__(self) -> str:
        r, p = self.request, self.previous
        line = f"{r.start:.3f} {for_screen(r.url)} ({r.address}): {self.kind}"
        if self.early > 0:
            line += f", {self.early:.3f} s early"
        return f"{line}; see {for_screen(p.url)}, {p.start:.3f} to {p.end:.3f}, status {p.status}" if p else line

    def as_json(self) -> dict[str, object]:
        return {
            "kind": self.kind.name.lower(),
            "url": self.request.url,
            "address": self.request.address,
            "start": self.request.start,
            "early": self.early,
            "previous": self.previous.url if self.previous else None,
            "line": str(self),
        }


@dataclass(frozen=True, slots=True)
class PolitenessReport:
    """The verdict on a log."""

    requests: int
    sites: int
    addresses: int
    violations: Sequence[Violation] = ()
    """The first ones of each kind, in the order of the log."""
    counts: Mapping[Fault, int] = field(default_factory=dict)
    """Number of violations of each kind."""
    worst: Mapping[Fault, Violation] = field(default_factory=dict)
    """The worst of each kind: too early by most seconds."""

    @property
    def is_polite(self) -> bool:
        return bool(self.requests) and not self.counts

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def verdict(self) -> str:
        if not self.requests:
            return "Nothing to judge: the log has no requests."
        places = f"{plural(self.sites, 'site')} at {plural(self.addresses, 'address', 'addresses')}"
        judged = f"{plural(self.requests, 'request')} to {places}"
        if not self.counts:
            return f"Polite: {judged}, none too early, in parallel or against robots.txt."
        counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.counts.items()))
        return f"Not polite: {plural(self.total, 'violation')} in {judged}: {counts}."

    def as_json(self) -> dict[str, object]:
        return {
            "polite": self.is_polite,
            "verdict": self.verdict,
            "requests": self.requests,
            "sites": self.sites,
            "addresses": self.addresses,
            "counts": {kind.name.lower(): n for kind, n in self.counts.items()},
            "worst": {kind.name.lower(): v.as_json() for kind, v in self.worst.items()},
            "violations": [v.as_json() for v in self.violations],
        }


class Accusations:
    """Collects the violations of a log."""

    def __init__(self) -> None:
        self._violations: list[Violation] = []
        self._counts: Counter[Fault] = Counter()
        self._worst: dict[Fault, Violation] = {}

    def add(self, violation: Violation) -> None:
        fault = violation.kind
        self._counts[fault] += 1
        if self._counts[fault] <= KEPT:
            self._violations.append(violation)
        if fault not in self._worst or violation.early > self._worst[fault].early:
            self._worst[fault] = violation

    def report(self, requests: int, sites: int, addresses: int) -> PolitenessReport:
        return PolitenessReport(requests, sites, addresses, self._violations, dict(self._counts), self._worst)
