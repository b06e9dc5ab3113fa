"""Dates in headers, and which of them are believable (A.3.5).

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
_LONGEST: Final = 100
_ENDLESS: Final = 1e11


def http_date(text: str) -> float | None:
    """A date in any form that HTTP (RFC 9110, 5.6.7) or mail has used, in seconds since 1970; None for other text."""
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
    try:
        parsed = parsedate_tz(text)
        found = None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return found if found is not None and abs(found) < _ENDLESS else None


def believed(modified: Array, now: Array) -> F64:
    """The times of last modification that are believable, else NaN. A time before the Web, or more than a day in the
    future, is not; a time less than a day in the future comes from a wrong clock, and becomes `now`."""
    with np.errstate(invalid="ignore"):
        sound = (modified >= OF_THE_WEB) & (modified <= now + DAY)
        return np.where(sound, np.minimum(modified, now), np.nan)
