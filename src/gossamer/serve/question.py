"""A question about a collection, and an order to its crawl: the rows of the tables in `routes.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from gossamer.base.errors import UsageError
from gossamer.library.collection import Collection
from gossamer.serve.html import Html
from gossamer.serve.seen import Seen
from gossamer.serve.tables import Tables

STATES: Final = ("pending", "waiting", "done", "excluded")
"""States of known pages."""
ROWS: Final = 50
"""Rows of a table on one page."""
MOST_ROWS: Final = 1_000
"""Maximum number of rows of a query, and of one answer of the API."""


MOST_NUMBER: Final = 2**63 - 1
"""Largest number that may be chosen: the columns hold no larger one."""


class Field(NamedTuple):
    """Something that can be chosen."""

    name: str
    sentence: str
    kind: str = "string"
    """As JSON Schema names it: string or integer."""
    needed: bool = False
    among: tuple[str, ...] = ()
    """The accepted values; empty: any value."""


Accepts = tuple[tuple[str, str] | Field, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a collection: its name, and what was chosen."""

    name: str
    web: Collection
    given: Mapping[str, str]
    seen: Seen = field(default_factory=Seen)
    key: str = ""
    """Of an order: what comes again under the same key was carried out already."""
    via: str = "the API"
    """Of an order: how it is given."""
    answered: object = None
    """What came of the order that was sent from this page."""

    @property
    def tables(self) -> Tables:
        return Tables(self.web, self.seen)

    def one_of(self, key: str, among: Iterable[str], otherwise: str = "") -> str:
        """The chosen word. UsageError if it is none of `among`."""
        if not (given := self.text(key)):
            return otherwise
        if given not in (accepted := list(among)):
            raise UsageError(f"{key}={given!r} is not accepted", f"One of: {', '.join(accepted)}.")
        return given

    def text(self, key: str) -> str:
        return self.given.get(key, "")

    def number(self, key: str, otherwise: int) -> int:
        if key not in self.given:
            return otherwise
        try:
            number = int(self.given[key])
        except ValueError as error:
            raise UsageError(
                f"{key}={self.given[key]!r} is not a whole number", "Write it with digits alone."
            ) from error
        if abs(number) > MOST_NUMBER:
            raise UsageError(f"{key} is too large", f"At most {MOST_NUMBER}.")
        return number


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table: what can be asked of a collection."""

    path: str
    sentence: str
    answer: Callable[[Asked], Any]
    page: Callable[[Asked, Any], str]
    accepts: Accepts = ()
    """What can be chosen."""
    kind: Any = None
    """Type of the answer; None: an object that the command's `--json` describes."""
    live: Callable[[Asked], Mapping[str, Html]] | None = None
    """The parts of its page that are updated, by `data-live`."""


@dataclass(frozen=True, slots=True)
class File:
    """A row of the table: what a collection gives that is neither a page nor JSON."""

    path: str
    sentence: str
    media: str
    made: Callable[[Asked], Response]
    accepts: Accepts = ()


def needed(asked: Asked, key: str) -> str:
    if not (given := asked.text(key)):
        raise UsageError(f"{key} is missing", f"Ask with ?{key}=…")
    return given


ROWS_FIELD: Final = Field("rows", f"Rows at most, 1 to {MOST_ROWS}.", "integer")
"""The field that every table has."""


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
    accepts: Accepts = ()
    kind: Any = None
    """Type of the answer."""
