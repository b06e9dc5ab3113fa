"""The shortest time in which any crawl could make the same requests under the same rules: a lower bound.

What is held fixed is what was observed. A request takes as long as it took, its answer asks its site to be left in
peace for as long as it did (wait, Crawl-delay, Retry-After, back-off: `patience`), and it cannot begin before its page
can be known (`discovery`). Free is everything that a crawl decides: which site, which of its pages, when. In another
order answers, and so back-offs, may be others; that is another history, which has a bound of its own.

No crawl is shorter than any of the following, so none is shorter than the longest of them:

- *site*: its requests come one after another. Take those of them that cannot begin before some time t: the first begins
  at t or later, each takes its time, and after each but the last the site rests, so it lasts at least
  t + durations + rests - longest rest. The best t is tried. Of several requests a turn (c > 1) only every c-th is
  followed by the whole rest, whichever these are: the shortest are counted, the others with the pause of a turn.
- *address*, and *domain* where there is a limit: the same with their waits, whatever sites the requests are for.
- *connections*: requests in flight at a time are at most so many, so from t on it takes their durations divided by it.
- *bandwidth*: from t on it takes their bytes divided by the limit.
- *discovery*: the longest chain of pages each of which had to be read to know of the next.

The bound is tight where one site has most of the work and is never without a known page; it is not the optimum of a
schedule in which several of these bind in turn. The processor counts nowhere: a crawl that lacks it stays behind its
bound. Its requests get longer too, though, and that is in the bound: `end` is when a worker had read the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Requests:
    """Parallel arrays over requests. Seconds count from the beginning of the crawl."""

    site: I64
    address: I64
    domain: I64
    start: F64
    end: F64
    rest: F64
    """Seconds that the site is left in peace after the answer, if its turn ends there."""
    within: F64
    """The same if its turn goes on: less than `rest` only where a turn has several requests."""
    soonest: F64
    """Before which it cannot begin, in any order."""
    received: I64

    def __len__(self) -> int:
        return len(self.start)

    @property
    def took(self) -> F64:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Constraints:
    connections: int
    per_turn: int = 1
    address_wait: float = 0.0
    domain_wait: float = 0.0
    """0: no limit by domain."""
    bandwidth: float = 0.0
    """Bytes a second; 0: no limit."""


@dataclass(frozen=True, slots=True)
class TimeBound:
    """What keeps every crawl from being shorter than `seconds`."""

    kind: str
    """site, address, domain, connections, bandwidth or discovery."""
    number: int
    """Of the site, address or domain; 0 for others."""
    seconds: float
    requests: int


def limits(requests: Requests, rules: Constraints) -> list[TimeBound]:
    """The longest of each kind, the longest first; none without requests."""
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
    """One at a time at each holder, `gap` apart; and `extra` more after all but one of `per_turn`."""
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
    """At least so many seconds more for the first 1, 2, 3 ... of these: turns end after `per_turn` at most, and most
    cheaply where nothing more is due."""
    ends = np.ceil(np.arange(1, len(extra) + 1) / per_turn) - 1
    free = np.cumsum(extra <= 0)
    least = np.minimum.accumulate(np.where(extra > 0, extra, np.inf))
    return np.where(np.isfinite(least), np.maximum(0, ends - free) * np.where(np.isfinite(least), least, 0), 0.0)


def _shared(kind: str, soonest: F64, each: F64) -> TimeBound:
    """What all requests share: so much of it for each."""
    order = np.argsort(-soonest, kind="stable")
    return TimeBound(kind, 0, float((soonest[order] + np.cumsum(each[order])).max()), len(soonest))


def groups(keys: I64) -> Iterator[tuple[int, I64]]:
    """Each key, and where it stands, in order."""
    order = np.argsort(keys, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(mine):
            yield int(keys[mine[0]]), mine
