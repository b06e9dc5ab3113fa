"""Dates in headers and sitemaps, and which of them are believable (A.3.5).

Invariant, a test of the same name: any text is a date or none.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, Array

DAY: Final = 86_400.0
OF_THE_WEB: Final = 725_846_400.0
"""1993-01-01: nothing on the Web is older."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_NAMES: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS: Final = {name: number for number, name in enumerate(_NAMES, 1)}
_USUAL: Final = re.compile(r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT")
"""IMF-fixdate, the form that almost all servers send."""
_TIME: Final = r"(?:[Tt]| +)(\d\d?):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)? ?([Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
_ISO: Final = re.compile(rf"(\d{{4}})([-/]?)(\d\d)\2(\d\d)(?:{_TIME})?", re.ASCII)
"""A whole date by ISO 8601, with or without time, also without separators or with slashes."""
_LOOSE: Final = re.compile(rf"(\d{{4}})(?:([-/])(\d\d?)(?:\2(\d\d?)(?:{_TIME})?)?)?", re.ASCII)
"""A W3C date of any precision, also with single digits."""
_LONGEST: Final = 100
_ENDLESS: Final = 1e11


def http_date(text: str) -> float | None:
    """A date in any form that HTTP (RFC 9110, 5.6.7) or mail has used, or a whole date by ISO 8601, in seconds since
    1970; None for other text."""
    usual = _USUAL.fullmatch(text)
    if usual:
        day, month, year, hour, minute, second = usual.groups()
        try:
            days = date(int(year), _MONTHS[month], int(day)).toordinal() - _EPOCH
        except (ValueError, KeyError):
            return None
        return days * DAY + int(hour) * 3600.0 + int(minute) * 60.0 + int(second)
    from email.utils import mktime_tz, parsedate_tz  # rarely needed, and 10 ms to import

    if len(text) > _LONGEST:
        return None
    if text[:4].isdecimal():
        found = _ISO.fullmatch(text.strip())
        return _seconds(found) if found else None
    try:
        parsed = parsedate_tz(text)
        when = None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return when if when is not None and abs(when) < _ENDLESS else None


def w3c_date(text: str) -> float | None:
    """A W3C date of any precision, or any other whole date by ISO 8601, in seconds since 1970; None for other text.

    A date without a zone is UTC; a date without day or time means the beginning of that period.
    """
    found = (_LOOSE.fullmatch(text) or _ISO.fullmatch(text)) if len(text) <= _LONGEST else None
    return _seconds(found) if found else None


def _seconds(found: re.Match[str]) -> float | None:
    year, _, month, day, hour, minute, second, zone = found.groups()
    try:
        days = date(int(year), int(month or 1), int(day or 1)).toordinal() - _EPOCH
    except ValueError:
        return None
    hours, minutes = int(hour or 0), int(minute or 0)
    if hours > 23 or minutes > 59:
        return None
    ahead = _ahead(zone or "Z")
    return None if ahead is None else days * DAY + hours * 3600.0 + minutes * 60.0 + min(int(second or 0), 59) - ahead


def _ahead(zone: str) -> float | None:
    """Seconds by which a zone is ahead of UTC; None if there is no such zone."""
    if zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600.0 + minutes * 60.0) * (1 if zone[0] == "+" else -1)


def believed(modified: Array, now: Array) -> F64:
    """The times of last modification that are believable, else NaN. A time before the Web, or more than a day in the
    future, is not; a time less than a day in the future comes from a wrong clock, and becomes `now`."""
    with np.errstate(invalid="ignore"):
        sound = (modified >= OF_THE_WEB) & (modified <= now + DAY)
        return np.where(sound, np.minimum(modified, now), np.nan)
