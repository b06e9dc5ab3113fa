"""How close a crawl came to its lower bound, and where the rest of the time went.

The binding site (the one that sets the bound) was requested one page after another. From the start of the crawl to its
last answer, its time consists of durations and rests, which are part of the bound, and of the following parts, which
are not, or only partly:

    beginning    before its first request: names, the first plan, start of the workers
    unknown      none of the pages requested later was known yet
    address      another site used its IP address
    late         it could have been requested and was not: ticks, plans, no free connection, a busy machine
    end          other sites continued after its last answer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64
from gossamer.base.units import human_time, plural, thousands
from gossamer.laboratory.compare.requests import RunHistory
from gossamer.laboratory.compare.shortest import Requests, TimeBound, limits
from gossamer.laboratory.findings.finding import Column, Sentence, Table

PARTS: Final = ("beginning", "unknown", "address", "late", "end")


@dataclass(frozen=True, slots=True)
class Closeness:
    """The duration of a crawl, its lower bounds, and the parts of the difference."""

    seconds: float
    """From the start to the last answer."""
    limits: tuple[TimeBound, ...]
    """Lower bounds, the longest first."""
    missing: dict[str, float]
    """Seconds beyond durations and rests, by part, at the binding site, or else at the site that answered last."""
    site: int
    gaps: F64
    """By request of that site except the first: seconds between the end of the site's rest and the request."""

    @property
    def bound(self) -> float:
        return self.limits[0].seconds if self.limits else 0.0

    @property
    def share(self) -> float:
        return self.bound / self.seconds if self.seconds > 0 else 1.0


def closeness(history: RunHistory) -> Closeness:
    requests = history.requests
    found = tuple(limits(requests, history.rules))
    of_sites = next(each for each in found if each.kind == "site")
    site = of_sites.number if found[0].kind == "site" else int(requests.site[np.argmax(requests.end)])
    mine = np.flatnonzero(requests.site == site)
    gaps, missing = _beyond(requests, mine, history.found[mine])
    return Closeness(float(requests.end.max()), found, missing, site, gaps)


def _beyond(requests: Requests, mine: I64, found: F64) -> tuple[F64, dict[str, float]]:
    start, end = requests.start[mine], requests.end[mine]
    free = end[:-1] + requests.within[mine][:-1]
    gaps = start[1:] - free
    known = np.minimum.accumulate(found[::-1])[::-1][1:]
    """By gap: when the first of the pages requested after it was known."""
    unknown = np.clip(known - free, 0.0, np.maximum(gaps, 0.0))
    others = _others(requests, mine, free + unknown, start[1:])
    parts = (
        float(start[0]),
        float(unknown.sum()),
        float(others.sum()),
        float((gaps - unknown - others).sum()),
        float(requests.end.max() - end.max()),
    )
    return gaps, dict(zip(PARTS, parts, strict=True))


def _others(requests: Requests, mine: I64, begin: F64, end: F64) -> F64:
    """By gap: seconds during which other sites used the address."""
    at = requests.address == requests.address[mine[0]]
    at[mine] = False
    theirs = np.flatnonzero(at)
    out = np.zeros(len(begin))
    for i in theirs.tolist():
        out += np.clip(np.minimum(end, requests.end[i]) - np.maximum(begin, requests.start[i]), 0.0, None)
    return out


def table(history: RunHistory, found: Closeness) -> Table:
    columns = (Column("what"), Column("which"), Column("requests", ",d"), Column("seconds at least", ".2f"))
    rows = tuple((each.kind, _which(history, each), each.requests, each.seconds) for each in found.limits)
    return Table("compare-shortest", "The shortest possible time, by what limits it", columns, rows)


def account(history: RunHistory, found: Closeness) -> Table:
    columns = (Column("part"), Column("seconds", ".3f"), Column("of the whole", ".1%"))
    rows = tuple((part, seconds, seconds / found.seconds) for part, seconds in found.missing.items())
    return Table("compare-missing", f"Beyond durations and rests, at {_name(history, found.site)}", columns, rows)


def sentences(history: RunHistory, found: Closeness) -> list[Sentence]:
    first, late = found.limits[0], found.missing["late"]
    said = [
        Sentence(
            f"The crawl took {human_time(found.seconds)} to its last answer. No crawl with the same "
            f"{thousands(len(history.requests))} requests under the same rules takes less than "
            f"{human_time(first.seconds)} ({f'{first.kind} {_which(history, first)}'.rstrip()}): "
            f"it reached {found.share:.1%} of the possible speed."
        )
    ]
    longest = max(found.missing, key=lambda part: found.missing[part])
    each = f", {1000 * late / len(found.gaps):.1f} ms before each request" if len(found.gaps) else ""
    said.append(
        Sentence(
            f"The largest part of the difference: {longest}, {found.missing[longest]:.2f} s at "
            f"{_name(history, found.site)} ({plural(len(found.gaps) + 1, 'request')}); "
            f"late in total {late:.2f} s{each}."
        )
    )
    return said


def _which(history: RunHistory, limit: TimeBound) -> str:
    if limit.kind == "site":
        return _name(history, limit.number)
    if limit.kind == "address":
        return history.addresses[limit.number]
    return history.domains[limit.number] if limit.kind == "domain" else ""


def _name(history: RunHistory, site: int) -> str:
    return history.names.get(site, str(site))
