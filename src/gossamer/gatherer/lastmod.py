"""Parses the modification dates of sitemaps: W3C dates of any precision, other ISO dates, or mail dates (RSS).

A date is only a hint. Invalid dates, dates before the Web and dates in the future are ignored.
"""

from __future__ import annotations

from typing import Final

from gossamer.base.dates import http_date, w3c_date

EARLIEST: Final = 631_152_000.0
"""1990-01-01: there were no pages before."""
LONGEST: Final = 64
"""Maximum characters of a date."""


def lastmod(text: str, now: float) -> float | None:
    """Seconds since 1970; None if the text is not a usable date.

    A date without a zone is UTC; a date without day or time means the beginning of that period.
    """
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    when = w3c_date(text)
    if when is None:
        when = http_date(text)
    return when if when is not None and EARLIEST <= when <= now else None
