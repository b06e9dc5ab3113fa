"""Local time, for values that change by the hour: how fast servers are (003), and how much bandwidth is granted.

A *moment* is the minute of the day and whether the day is a holiday: Saturday, Sunday, or a date in the settings. Days
are in the time zone of the settings, or else in the time zone of the system.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from gossamer.base.units import Speed
from gossamer.config.accepted import hours_of
from gossamer.config.settings import HarvesterSettings


class Moment(NamedTuple):
    """A time of day, on a working day or a holiday."""

    minute: float
    """Minutes since local midnight, 0 to 1440."""
    holiday: bool


class Hours:
    """The bandwidth that is granted at each hour of the day."""

    def __init__(
        self,
        zone: tzinfo | None = None,
        holidays: frozenset[str] = frozenset(),
        usual: int = 0,
        by_hour: Mapping[int, int] | None = None,
    ) -> None:
        """`zone` None: that of the system. `usual` and `by_hour` are bytes per second; 0: no limit."""
        self._zone, self._holidays = zone, holidays
        self._granted = [(by_hour or {}).get(hour, usual) for hour in range(24)]

    @staticmethod
    def of(settings: HarvesterSettings) -> Hours:
        """The hours of the settings."""
        by_hour = {
            hour: int(Speed.parse(speed))
            for span, speed in settings.bandwidth_by_hour.items()
            for hour in hours_of(span)
        }
        zone = ZoneInfo(settings.time_zone) if settings.time_zone else None
        return Hours(zone, frozenset(settings.holidays), int(settings.bandwidth), by_hour)

    @property
    def limited(self) -> bool:
        """Whether bandwidth is limited at any hour."""
        return any(self._granted)

    @property
    def most(self) -> int:
        """The most bytes per second that are granted at any hour; 0: there are hours without a limit."""
        return max(self._granted) if all(self._granted) else 0

    def at(self, wall: float) -> Moment:
        """The moment of a wall time."""
        local = datetime.fromtimestamp(wall, self._zone)
        minute = local.hour * 60 + local.minute + local.second / 60 + local.microsecond / 60e6
        date = local.date().isoformat()
        return Moment(minute, local.weekday() >= 5 or date in self._holidays or date[5:] in self._holidays)

    def granted(self, wall: float) -> int:
        """Bytes per second that may be used at this wall time; 0: no limit."""
        return self._granted[datetime.fromtimestamp(wall, self._zone).hour]
