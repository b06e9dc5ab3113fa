"""What the checker reads and what it says: requests, violations, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gossamer.units import plural


@dataclass(frozen=True, slots=True)
class Request:
    """One request as a server saw it. Times are seconds of one clock, whichever the log has."""

    start: float
    """Its first byte was read."""
    end: float
    """The last byte of its answer was written."""
    address: str
    """The server's own."""
    host: str
    target: str
    """Path and query."""
    status: int
    scheme: str = "http"
    method: str = "GET"
    connection: int = 0
    retry_after: float | None = None
    """Seconds from the end."""
    agent: str = ""

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


class Kind(StrEnum):
    """The ways to be impolite."""

    SITE_EARLY = "too early at its site"
    ADDRESS_EARLY = "too early at its address"
    SITE_PARALLEL = "in parallel with another at its site"
    ADDRESS_PARALLEL = "in parallel with another at its address"
    RETRY_AFTER = "before the end of a Retry-After"
    FORBIDDEN = "forbidden by robots.txt"
    NO_ROBOTS = "without valid robots.txt rules"


@dataclass(frozen=True, slots=True)
class Violation:
    kind: Kind
    request: Request
    previous: Request | None
    """The request that it follows or overlaps, or the robots.txt request whose answer forbids it."""
    early: float
    """Seconds by which it should have come later; 0 where that has no meaning."""

    def __str__(self) -> str:
        r, p = self.request, self.previous
        line = f"{r.start:.3f} {r.url} ({r.address}): {self.kind}"
        if self.early > 0:
            line += f", {self.early:.3f} s early"
        return f"{line}; see {p.url}, {p.start:.3f} to {p.end:.3f}, status {p.status}" if p else line


@dataclass(frozen=True, slots=True)
class Report:
    requests: int
    sites: int
    addresses: int
    violations: Sequence[Violation]

    @property
    def is_polite(self) -> bool:
        return bool(self.requests) and not self.violations

    @property
    def counts(self) -> dict[Kind, int]:
        return dict(Counter(v.kind for v in self.violations))

    @property
    def verdict(self) -> str:
        if not self.requests:
            return "Nothing to judge: the log has no request."
        places = f"{plural(self.sites, 'site')} at {plural(self.addresses, 'address', 'addresses')}"
        judged = f"{plural(self.requests, 'request')} to {places}"
        if not self.violations:
            return f"Polite: {judged}, none too early, in parallel or against robots.txt."
        counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.counts.items()))
        return f"Not polite: {plural(len(self.violations), 'violation')} in {judged}: {counts}."

    def as_json(self) -> dict[str, object]:
        return {
            "polite": self.is_polite, "verdict": self.verdict, "requests": self.requests, "sites": self.sites,
            "addresses": self.addresses, "counts": {kind.name.lower(): n for kind, n in self.counts.items()},
            "violations": [
                {
                    "kind": v.kind.name.lower(), "url": v.request.url, "address": v.request.address,
                    "start": v.request.start, "early": v.early, "previous": v.previous.url if v.previous else None,
                    "line": str(v),
                }
                for v in self.violations
            ],
        }  # fmt: skip
