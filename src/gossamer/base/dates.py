"""Dates in headers, and which of them can be believed (A.3.5).

Nothing that a server sends makes them fail (`any_text_is_a_date_or_none`).
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
"""What almost all servers send: IMF-fixdate."""
_LONGEST: Final = 100
_ENDLESS: Final = 1e11


def http_date(text: str) -> float | None:
    """Seconds since 1970 of a date in any form that HTTP has had (RFC 9110, 5.6.7), or mail; None if it is none."""
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
    """When pages were changed, as far as their servers can be believed, else NaN. What is older than the Web, or more
    than a day ahead, says nothing; less than a day ahead, a clock is wrong, and now is meant."""
    with np.errstate(invalid="ignore"):
        sound = (modified >= OF_THE_WEB) & (modified <= now + DAY)
        return np.where(sound, np.minimum(modified, now), np.nan)
