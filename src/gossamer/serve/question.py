"""A question about a collection, and an order to its crawl: the rows of the tables in `routes.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.library.collection import Collection
from gossamer.serve.seen import Seen

STATES: Final = ("pending", "waiting", "done", "excluded")
"""States of known pages."""
ROWS: Final = 50
"""Rows of a table on one page."""
MOST_ROWS: Final = 1_000
"""Rows of a query, and of a page that the API asks for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a collection: its name, and what was chosen."""

    name: str
    web: Collection
    given: Mapping[str, str]
    seen: Seen = field(default_factory=Seen)

    def text(self, key: str) -> str:
        return self.given.get(key, "")

    def number(self, key: str, otherwise: int) -> int:
        if key not in self.given:
            return otherwise
        try:
            return int(self.given[key])
        except ValueError as error:
            raise UsageError(f"{key}={self.given[key]!r} is no whole number", "") from error


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table: what can be asked of a collection."""

    path: str
    sentence: str
    answer: Callable[[Asked], Any]
    page: Callable[[Asked, Any], str]
    accepts: tuple[tuple[str, str], ...] = ()
    """Names of what can be chosen, with a sentence each."""
    kind: Any = None
    """Type of the answer; None: an object that the command's `--json` describes."""


def needed(asked: Asked, key: str) -> str:
    if not (given := asked.text(key)):
        raise UsageError(f"{key} is missing", f"Ask with ?{key}=…")
    return given


ROWS_FIELD: Final = ("rows", "Rows at most.")
"""What can be chosen of every table."""


def rows_of(rows: int) -> int:
    return max(1, min(rows, MOST_ROWS))


def literal(text: str) -> str:
    """A text in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat(timespec="seconds")


def moment(wall: float | None) -> str | None:
    with suppress(OverflowError, ValueError):
        return None if wall is None else datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
    return None


def clock(wall: float) -> str:
    """The time of day, in UTC."""
    return (moment(wall) or "")[11:19]


@dataclass(frozen=True, slots=True)
class Order:
    """What can be ordered of a crawl by POST. Given twice, it changes nothing more the second time."""

    path: str
    sentence: str
    carry_out: Callable[[Asked], Any]
    accepts: tuple[tuple[str, str], ...] = ()
    kind: Any = None
    """Type of the answer."""
