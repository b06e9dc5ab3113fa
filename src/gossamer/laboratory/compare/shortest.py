"""The shortest time in which any crawl could make the same requests under the same rules: a lower bound.

Observations are fixed: a request takes as long as it took, its site rests afterwards for as long as it had to (wait,
Crawl-delay, Retry-After, back-off), and no request begins before its page can be known (`soonest`). All
decisions of a crawl are free: which site, which of its pages, when. In another order, answers and back-offs may differ;
that is another history, with its own bound.

No crawl is shorter than any of the following bounds, so none is shorter than the longest of them:

- *site*: its requests come one after another. Take the requests that cannot begin before some time t: the first begins
  at t or later, each takes its time, and after each except the last the site rests. So they last at least
  t + durations + rests - longest rest. The best t is used. With c > 1 requests per turn, only every c-th is followed by
  the whole rest, whichever these are: the shortest rests are counted, the other requests with the pause within a turn.
- *address*, and *domain* if it is limited: the same with their waits, for the requests of all their sites.
- *connections*: their number limits the requests in flight, so from t on it takes all durations divided by it.
- *bandwidth*: from t on it takes all bytes divided by the limit.
- *discovery*: the longest chain of pages each of which had to be read to discover the next.

The bound is tight if one site has most of the work and always has a known page; it is not the optimum of a schedule in
which several of these bind in turn. CPU time is not part of it: a crawl that lacks CPU stays behind its bound. But its
requests take longer too, and that is part of the bound: `end` is when a worker had read the answer.

A page is known from the start (a seed, or a page of an earlier run), or as soon as any page that links to it was read,
or any sitemap: not only the page or sitemap that named it first in this crawl, as another order would discover it
through another page. No page is requested before the robots.txt of its origin, and no robots.txt before a page of its
origin is known. Politeness, which only delays requests, is not part of the time of discovery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import F64, I64, Bools


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests as parallel arrays. Seconds count from the start of the crawl."""

    site: I64
    address: I64
    domain: I64
    start: F64
    end: F64
    rest: F64
    """Seconds that the site rests after the answer if its turn ends."""
    within: F64
    """The same if its turn continues: less than `rest` only with several requests per turn."""
    soonest: F64
    """Earliest start, in any order."""
    received: I64

    def __len__(self) -> int:
        return len(self.start)

    @property
    def took(self) -> F64:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Constraints:
    """The settings that limit every crawl."""

    connections: int
    per_turn: int = 1
    address_wait: float = 0.0
    domain_wait: float = 0.0
    """0: no limit per domain."""
    bandwidth: float = 0.0
    """Bytes per second; 0: no limit."""


@dataclass(frozen=True, slots=True)
class TimeBound:
    """A lower bound: no crawl takes less than `seconds`."""

    kind: str
    """site, address, domain, connections, bandwidth or discovery."""
    number: int
    """The number of the site, address or domain; 0 for other kinds."""
    seconds: float
    requests: int


def limits(requests: Requests, rules: Constraints) -> list[TimeBound]:
    """The longest bound of each kind, the longest first; empty without requests."""
    if not len(requests):
        return []
    wait = np.minimum(requests.within, rules.address_wait) if rules.per_turn > 1 else rules.address_wait
    found = [
        _longest("site", requests.site, requests, requests.within, requests.rest - requests.within, rules.per_turn),
        _longest("address", requests.address, requests, np.broadcast_to(wait, len(requests)).astype(np.float64)),
        _shared("connections", requests.soonest, requests.took / max(1, rules.connections)),
        TimeBound("discovery", 0, float((requests.soonest + requests.took).max()), 1),
    ]
    if rules.domain_wait > 0:
        waits = np.full(len(requests), rules.domain_wait)
        found.append(_longest("domain", requests.domain, requests, waits))
    if rules.bandwidth > 0:
        found.append(_shared("bandwidth", requests.soonest, requests.received / rules.bandwidth))
    return sorted(found, key=lambda each: -each.seconds)


def _longest(
    kind: str, holder: I64, requests: Requests, gap: F64, extra: F64 | None = None, per_turn: int = 1
) -> TimeBound:
    """The bound of the holder with the longest: one request at a time, `gap` apart, and `extra` more after all but one
    of `per_turn`."""
    found = TimeBound(kind, 0, 0.0, 0)
    for number, mine in groups(holder):
        order = mine[np.argsort(-requests.soonest[mine], kind="stable")]
        lasts = requests.soonest[order] + np.cumsum(requests.took[order] + gap[order])
        lasts -= np.maximum.accumulate(gap[order])
        if extra is not None and per_turn > 1:
            lasts += _rests(extra[order], per_turn)
        if (longest := float(lasts.max())) > found.seconds:
            found = TimeBound(kind, number, longest, len(mine))
    return found


def _rests(extra: F64, per_turn: int) -> F64:
    """Least additional seconds for the first 1, 2, 3 ... requests: a turn ends after at most `per_turn` requests,
    preferably where nothing is added."""
    ends = np.ceil(np.arange(1, len(extra) + 1) / per_turn) - 1
    free = np.cumsum(extra <= 0)
    least = np.minimum.accumulate(np.where(extra > 0, extra, np.inf))
    return np.where(np.isfinite(least), np.maximum(0, ends - free) * np.where(np.isfinite(least), least, 0), 0.0)


def _shared(kind: str, soonest: F64, each: F64) -> TimeBound:
    """The bound of a resource that all requests share: `each` is what a request takes of it."""
    order = np.argsort(-soonest, kind="stable")
    return TimeBound(kind, 0, float((soonest[order] + np.cumsum(each[order])).max()), len(soonest))


def groups(keys: I64) -> Iterator[tuple[int, I64]]:
    """Each key, and its positions in order."""
    order = np.argsort(keys, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(mine):
            yield int(keys[mine[0]]), mine


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What the crawl found and how long it took: arrays by page, by link and by origin."""

    given: Bools
    """By page: whether it is known from the start."""
    origin: I64
    """By page."""
    took: F64
    """By page: least seconds that reading it takes; inf if it was never read."""
    source: I64
    target: I64
    """By link: the page that has it, and the page that it leads to."""
    robots: F64
    """By origin: seconds for its robots.txt, with the rest after it; 0 if its rules were known before."""
    listed: Bools
    """By page: whether a sitemap may have named it."""
    sitemap_origin: I64
    sitemap_took: F64
    """By sitemap that was read: the origin whose rules had to be known first, and its duration."""


@dataclass(frozen=True, slots=True)
class Soonest:
    """Earliest times, in seconds from the start of the crawl."""

    page: F64
    """By page: when it can be requested."""
    origin: F64
    """By origin: when one of its pages can be known. 0 if no path to it is recorded; likewise for a page."""


def soonest(known: CrawlFacts) -> Soonest:
    """The earliest times at which pages can be known, in any order of crawling. Repeats a pass over all links until no
    time falls: as many passes as the longest chain of discoveries has pages."""
    page = np.where(known.given, 0.0, np.inf)
    while True:
        first = np.full(len(known.robots), np.inf)
        np.minimum.at(first, known.origin, page)
        may = np.maximum(page, (first + known.robots)[known.origin])
        sooner = page.copy()
        np.minimum.at(sooner, known.target, (may + known.took)[known.source])
        if len(known.sitemap_origin):
            read = float(np.min((first + known.robots)[known.sitemap_origin] + known.sitemap_took))
            sooner[known.listed] = np.minimum(sooner[known.listed], read)
        if np.array_equal(sooner, page):
            return Soonest(np.where(np.isfinite(may), may, 0.0), np.where(np.isfinite(first), first, 0.0))
        page = sooner
