"""Parses the modification dates of sitemaps: W3C dates of any precision, or mail dates (RSS).

A date is only a hint. Invalid dates, dates before the Web and dates in the future are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Final

EARLIEST: Final = 631_152_000.0
"""1990-01-01: there were no pages before."""
LONGEST: Final = 64
"""Maximum characters of a date."""

_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[Tt ](\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)? ?([Zz]|[+-]\d\d:?(?:\d\d)?)?)?)?)?",
    re.ASCII,
)


def lastmod(text: str, now: float) -> float | None:
    """Seconds since 1970; None if the text is not a usable date.

    A date without a zone is UTC; a date without day or time means the beginning of that period.
    """
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    try:
        found = _W3C.fullmatch(text)
        when = (_w3c(found) if found else _mail(text)).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return when if EARLIEST <= when <= now else None


def _w3c(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    return datetime(year, month or 1, day or 1, hour, minute, min(second, 59), tzinfo=_zone(found[7]))


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(offset if text[0] == "+" else -offset)


def _mail(text: str) -> datetime:
    when = parsedate_to_datetime(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)
