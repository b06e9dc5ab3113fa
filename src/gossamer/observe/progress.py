"""How fast a crawl goes, and an honest estimate of the time left.

The time left is a lower bound, and is reported as one: more pages will be found. It is the longest of

    what is pending, at the rate at which pages have been getting done
    the site with most to do, at the rate that politeness allows there

and it is *unknown* while pages become known faster than they get done, or while nothing gets done.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from gossamer.base.units import plural
from gossamer.observe.statistics import UNKNOWN, Progress, Rates, Statistics, TimeLeft

SHORT: Final = 10.0
"""Seconds over which rates are measured."""
LONG: Final = 60.0
"""Seconds over which the time left is estimated."""
_STEP: Final = 0.4
"""Least seconds between two points that are remembered."""


class _Point(NamedTuple):
    time: float
    visits: int
    bytes: int
    known: int
    settled: int
    """Pages done or excluded: nothing remains to be done for them."""


class Pace:
    """Remembers the counts of the last `LONG` seconds."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def of(self, statistics: Statistics, now: float) -> Progress:
        """`now` is monotonic."""
        pages, requests = statistics.pages, statistics.requests
        here = _Point(now, requests.visits, requests.bytes, pages.known, pages.done + pages.excluded)
        points = self._points
        if not statistics.run.visits:
            points.clear()  # the start says nothing about the rate
        while points and now - points[0].time > LONG:
            points.popleft()
        short = next((p for p in points if now - p.time <= SHORT), here)
        long = points[0] if points else here
        if not points or now - points[-1].time >= _STEP:
            points.append(here)
        return Progress(_rates(short, here), _left(statistics, long, here))


def _rates(since: _Point, here: _Point) -> Rates:
    seconds = here.time - since.time
    return Rates(*(round(_rate(now, before, seconds), 3) for now, before in zip(here[1:], since[1:], strict=True)))


def _rate(now: float, before: float, seconds: float) -> float:
    return (now - before) / seconds if seconds > 0 else 0.0


def _left(statistics: Statistics, since: _Point, here: _Point) -> TimeLeft:
    span = here.time - since.time
    visits, limits = _rate(here.visits, since.visits, span), statistics.run.limits
    bounds = []
    if limits.seconds_left is not None:
        bounds.append((float(limits.seconds_left), "the time asked for"))
    if limits.pages_left is not None and visits > 0:
        bounds.append((limits.pages_left / visits, "the pages asked for"))
    if statistics.pages.pending == 0 and not bounds:
        return TimeLeft(0.0, "nothing is pending")
    seconds, why = _work(statistics, here.settled - since.settled, here.known - since.known, span)
    if seconds is not None:
        bounds.append((seconds, why))
    if not bounds:
        return TimeLeft(None, why)
    least, why = min(bounds)
    return TimeLeft(round(least, 1), why)


def _work(statistics: Statistics, settled: int, known: int, span: float) -> tuple[float | None, str]:
    if span < SHORT / 2 or settled <= 0:
        return None, UNKNOWN
    if known > settled:
        return None, "pages become known faster than they get done"
    rest, largest = statistics.pages.pending * span / settled, statistics.sites.largest
    if largest is not None and largest.seconds > rest:
        return largest.seconds, f"{largest.site}: {plural(largest.pages, 'page')}, one every {largest.each:g} s"
    return rest, "what is pending, at this pace"
