"""How fast a crawl goes, and an honest word about the time left.

The time left is a lower bound and said as one: pages will be found that nobody knows of yet. It is the longest of

    what is pending, at the pace at which pages have been getting done
    the site with most to do, at the pace that politeness allows there

and it is *unknown* while pages become known faster than they get done, or while nothing gets done.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

from gossamer.base.units import plural

SHORT: Final = 10.0
"""Seconds over which rates are taken."""
LONG: Final = 60.0
"""Seconds over which what is left is judged."""
_STEP: Final = 0.4
"""Seconds between two points that are kept."""


class _Point(NamedTuple):
    time: float
    visits: int
    bytes: int
    known: int
    settled: int
    """Pages done or excluded: nothing remains to be done for them."""


class Pace:
    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def of(self, figures: dict[str, Any], now: float) -> dict[str, Any]:
        """`rates` a second, and `left`: {"seconds", "why"}; seconds is None when nothing honest can be said.

        Looks also at `pages_left` and `seconds_left`, which a run has that is to end after some pages or some time.
        """
        here = _Point(now, figures["visits"], figures["bytes"], figures["known"], figures["done"] + figures["excluded"])
        points = self._points
        if not figures.get("run_visits", 1):
            points.clear()  # starting is no pace
        while points and now - points[0].time > LONG:
            points.popleft()
        short = next((p for p in points if now - p.time <= SHORT), here)
        long = points[0] if points else here
        if not points or now - points[-1].time >= _STEP:
            points.append(here)
        rates = {
            name: round(_rate(getattr(here, name), getattr(short, name), now - short.time), 3)
            for name in ("visits", "bytes", "known", "settled")
        }
        return {"rates": rates, "left": _left(figures, long, here)}


def _rate(now: float, before: float, seconds: float) -> float:
    return (now - before) / seconds if seconds > 0 else 0.0


def _left(figures: dict[str, Any], since: _Point, here: _Point) -> dict[str, Any]:
    span = here.time - since.time
    settled, known = here.settled - since.settled, here.known - since.known
    visits = _rate(here.visits, since.visits, span)
    bounds = []
    if figures.get("seconds_left") is not None:
        bounds.append((float(figures["seconds_left"]), "the time asked for"))
    if figures.get("pages_left") is not None and visits > 0:
        bounds.append((figures["pages_left"] / visits, "the pages asked for"))
    if figures["pending"] == 0 and not bounds:
        return _said(0.0, "nothing is pending")
    work = _work(figures, settled, known, span)
    if work[0] is not None:
        bounds.append((work[0], work[1]))
    return _said(*min(bounds)) if bounds else _said(*work)


def _work(figures: dict[str, Any], settled: int, known: int, span: float) -> tuple[float | None, str]:
    if span < SHORT / 2 or settled <= 0:
        return None, "too little got done to tell"
    if known > settled:
        return None, "pages become known faster than they get done"
    rest, largest = figures["pending"] * span / settled, figures.get("largest")
    if largest is not None and largest["seconds"] > rest:
        pages = plural(largest["pages"], "page")
        return largest["seconds"], f"{largest['site']}: {pages}, one every {largest['each']:g} s"
    return rest, "what is pending, at this pace"


def _said(seconds: float | None, why: str) -> dict[str, Any]:
    return {"seconds": None if seconds is None else round(seconds, 1), "why": why}
