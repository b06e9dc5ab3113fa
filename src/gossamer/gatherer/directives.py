"""Directives for crawlers: meta robots and X-Robots-Tag, addressed to every crawler or to one by name.

Words may be separated by commas, semicolons or white space: people write all three.

The date of `unavailable_after` may be in RFC 822, RFC 850 or ISO 8601 format. Without a zone it is UTC; without a time
it means the end of the day. After this date the page counts as noindex. A date that cannot be parsed is ignored.

Contents may be megabytes long: the patterns are possessive (`*+`), so that each byte is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gossamer.base.model import VisitFlag
from gossamer.robots.parse import product_token

_UNTIL: Final = "unavailable_after"
_FLAGS: Final = {
    "noindex": int(VisitFlag.NOINDEX),
    "nofollow": int(VisitFlag.NOFOLLOW),
    "noarchive": int(VisitFlag.NOARCHIVE),
    "none": int(VisitFlag.NOINDEX | VisitFlag.NOFOLLOW),
    _UNTIL: int(VisitFlag.NOINDEX | VisitFlag.UNAVAILABLE),
}
_ISO: Final = r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\s*(?:z|[+-]\d\d:?\d\d)?)?"
_RFC: Final = (
    r"(?:[a-z]+,?\s+)?\d{1,2}[\s-]+[a-z]{3,9}[\s-]+\d{2,4}"
    r"(?:\s+\d{1,2}:\d\d(?::\d\d)?)?(?:\s+(?:[+-]\d{4}|(?!no)[a-z]{1,4}\b))?"
)
_DATE: Final = re.compile(rf"{_UNTIL}\s*[:=]?\s*({_ISO}|{_RFC})?", re.ASCII)
_VALUE: Final = re.compile(r"(?<![a-z-])max-[a-z-]++\s*+[:=]\s*+[^\s,;]*+")
"""Directives such as `max-snippet: none`, whose value must not be read as a directive."""
_BETWEEN: Final = re.compile(r"[\s,;]+")
_WORD: Final = re.compile(r"([^\s,;:]+)\s*(:?)")
_DAY: Final = 86_400.0
_REFRESH: Final = re.compile(
    r"\s*+[0-9.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(?:\"([^\"]*)\"?|'([^']*)'?|(\S.*))", re.I | re.S
)


def of_meta(content: str, now: float = 0.0) -> int:
    """VisitFlag bits of the content of a meta element that is addressed to us. `now`: wall time."""
    flags = 0
    for word in _BETWEEN.split(_without_values(content.lower(), now)):
        flags |= _FLAGS.get(word, 0)
    return flags


def of_header(values: Iterable[str], agent: str, now: float = 0.0) -> int:
    """VisitFlag bits of X-Robots-Tag headers: `noindex, nofollow` or `name: noindex`. A name holds for all directives
    up to the next name."""
    flags, ours = 0, product_token(agent)
    for value in values:
        applies = True
        for word, colon in _WORD.findall(_without_values(value.lower(), now)):
            if colon and not word.isdecimal():
                applies = product_token(word) in (ours, "*", "robots")
            elif applies:
                flags |= _FLAGS.get(word, 0)
    return flags


def _without_values(text: str, now: float) -> str:
    """The text without the values of directives. `unavailable_after` stays only if its date has passed."""
    if "max-" in text:
        text = _VALUE.sub(" ", text)
    if _UNTIL not in text:
        return text
    return _DATE.sub(lambda found: f" {_UNTIL} " if 0.0 < moment(found[1] or "") <= now else " ", text)


def moment(date: str) -> float:
    """Wall time of a date in one of the three formats; 0.0 if it is not a date."""
    from datetime import UTC, datetime  # rarely needed, and 10 ms to import
    from email.utils import mktime_tz, parsedate_tz

    date = " ".join(date.split())
    if date[:4].isdecimal():
        try:
            read = datetime.fromisoformat(date.upper().replace(",", "."))
        except ValueError:
            return 0.0
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() + (_DAY if len(date) == 10 else 0.0)
    if date[:1].isalpha():  # the day of the week
        date = date.partition(" ")[2]
    timed = ":" in date
    parsed = parsedate_tz(date if timed else f"{date} 00:00:00 +0000")
    if parsed is None:
        return 0.0
    try:
        return float(mktime_tz(parsed)) + (0.0 if timed else _DAY)
    except (ValueError, OverflowError):
        return 0.0


def refresh_target(content: str) -> str:
    """The URL of a meta refresh; "" if the page just reloads itself."""
    found = _REFRESH.match(content)
    return next((g for g in found.groups() if g), "").strip() if found else ""
