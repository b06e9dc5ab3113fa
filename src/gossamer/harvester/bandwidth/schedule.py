"""Local time, for what changes by the hour: how fast servers are (003), and how much of the line is granted.

A *moment* is the minute of the day and whether the day is a holiday: Saturday, Sunday, or a date of the settings. Days
are those of the time zone in the settings; without one, the system's.
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
    minute: float
    """Since local midnight, 0 to 1440."""
    holiday: bool


class Hours:
    def __init__(
        self,
        zone: tzinfo | None = None,
        holidays: frozenset[str] = frozenset(),
        usual: int = 0,
        by_hour: Mapping[int, int] | None = None,
    ) -> None:
        """`zone` None: the system's. `usual` and `by_hour` are bytes a second, 0: no limit."""
        self._zone, self._holidays = zone, holidays
        self._granted = [(by_hour or {}).get(hour, usual) for hour in range(24)]

    @staticmethod
    def of(settings: HarvesterSettings) -> Hours:
        by_hour = {
            hour: int(Speed.parse(speed))
            for span, speed in settings.bandwidth_by_hour.items()
            for hour in hours_of(span)
        }
        zone = ZoneInfo(settings.time_zone) if settings.time_zone else None
        return Hours(zone, frozenset(settings.holidays), int(settings.bandwidth), by_hour)

    @property
    def limited(self) -> bool:
        """At any hour."""
        return any(self._granted)

    @property
    def most(self) -> int:
        """Bytes a second that are ever granted; 0: there are hours without a limit."""
        return max(self._granted) if all(self._granted) else 0

    def at(self, wall: float) -> Moment:
        local = datetime.fromtimestamp(wall, self._zone)
        minute = local.hour * 60 + local.minute + local.second / 60 + local.microsecond / 60e6
        date = local.date().isoformat()
        return Moment(minute, local.weekday() >= 5 or date in self._holidays or date[5:] in self._holidays)

    def granted(self, wall: float) -> int:
        """Bytes a second that may be used now; 0: no limit."""
        return self._granted[datetime.fromtimestamp(wall, self._zone).hour]
