"""The dates in a piece of the archive, compared with the tables; `times.py` judges them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from gossamer.base.dates import http_date

SAME: Final = 2.0
"""Seconds by which the date of a record may differ from the time of its visit: both are rounded."""
SAMPLE: Final = 64
"""Answers of each piece of the archive whose Date is read."""
_DATE: Final = re.compile(rb"\r\n[Dd][Aa][Tt][Ee]:[ \t]*([^\r\n]*)")


class Answered(NamedTuple):
    """The Date of an answer."""

    host: bytes
    ahead: float
    """Seconds by which it is ahead of the time of its visit."""


@dataclass(slots=True)
class Dates:
    """The dates in a piece of the archive."""

    differ: int = 0
    """Records whose date is not the time of their visit."""
    by: float = 0.0
    """Seconds, of the first of them."""
    at: int = 0
    """Its offset."""
    answered: list[Answered] = field(default_factory=list)

    def take(self, offset: int, date: bytes, url: bytes, raw: bytes, head: int, begun: float, off: float) -> None:
        """Takes a record, whose answer begins at `raw[head]`. `begun`: when its visit began, by the tables; `off`: the
        corrections that are marked for that time."""
        archived = _seconds(date)
        if archived is None:
            return
        if abs(archived - begun) > SAME:
            if not self.differ:
                self.by, self.at = archived - begun, offset
            self.differ += 1
        if len(self.answered) < SAMPLE:
            said = _DATE.search(raw, head, raw.find(b"\r\n\r\n", head))
            served = http_date(said[1].decode("latin-1").strip()) if said else None
            if served is not None:
                host = url.partition(b"://")[2].partition(b"/")[0]
                self.answered.append(Answered(host, served - begun - off))


def _seconds(date: bytes) -> float | None:
    """The time of a WARC-Date."""
    try:
        return datetime.fromisoformat(date.decode("latin-1")).timestamp()
    except ValueError:
        return None
