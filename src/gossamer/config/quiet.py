"""Quiet hours: times of the day at which nothing is requested (`harvester.quiet_hours`).

A span is read off the clocks of its zone: "22:00-06:00" is quiet from ten in the evening until six in the morning,
whatever daylight saving does in that night. An hour that the clocks show twice is quiet twice.

Invariants, each a property test of the same name: a moment is quiet exactly if a clock of its zone shows it; nothing
changes before the next change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

MINUTE: Final = 60.0
LONGEST: Final = 3 * 1440
"""Minutes that are searched for the next change: a span comes every day, except for the days of a new daylight saving
time."""
_SPAN: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d) ?- ?([01]?\d|2[0-4]):([0-5]\d)(?: +(\S+))?")


class Span(NamedTuple):
    """Minutes since midnight: from the first on, and before the last, which may be on the next day."""

    first: int
    last: int
    zone: tzinfo | None
    """None: that of the system."""

    def contains(self, wall: float) -> bool:
        local = datetime.fromtimestamp(wall, self.zone)
        minute = local.hour * 60 + local.minute
        if self.first < self.last:
            return self.first <= minute < self.last
        return minute >= self.first or minute < self.last


def span_of(text: str, zone: str = "") -> Span:
    """The span that a text like "22:00-06:00" or "13:00-14:30 Europe/Rome" means; `zone` is used if it has none.
    ValueError if it is none."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f'{text!r} is not a span of time: write it like 22:00-06:00, or "22:00-06:00 Europe/Rome" for another zone'
        )
    first, last = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    if last > 1440 or first % 1440 == last % 1440:
        raise ValueError(f"{text!r} has no end: write when it begins, and when it ends, like 22:00-06:00")
    name = match[5] or zone
    try:
        return Span(first, last, ZoneInfo(name) if name else None)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is not a time zone that this machine knows: write it like Europe/Rome") from error


class QuietHours:
    """The quiet hours of a crawl. Its methods take wall times."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = tuple(spans)
        self._known = (0.0, 0.0, False)
        """Since when, until when, and whether it is quiet: what the last call has found."""

    @staticmethod
    def of(texts: Sequence[str], zone: str) -> QuietHours:
        return QuietHours([span_of(text, zone) for text in texts])

    def at(self, wall: float) -> bool:
        """Whether it is quiet."""
        return any(span.contains(wall) for span in self._spans)

    def left(self, wall: float) -> float:
        """Seconds until it is quiet; 0 while it is."""
        end, quiet = self._change(wall)
        return 0.0 if quiet else end - wall

    def rest(self, wall: float) -> float:
        """Seconds for which it is still quiet; 0 if it is not."""
        end, quiet = self._change(wall)
        return end - wall if quiet else 0.0

    def _change(self, wall: float) -> tuple[float, bool]:
        """When it changes whether it is quiet, and whether it is now."""
        if not self._spans:
            return math.inf, False
        begin, end, quiet = self._known
        if not begin <= wall < end:
            quiet, end = self.at(wall), math.floor(wall / MINUTE) * MINUTE
            for _ in range(LONGEST):
                end += MINUTE
                if self.at(end) != quiet:
                    break
            self._known = wall, end, quiet
        return end, quiet
