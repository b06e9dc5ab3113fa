"""All sites of a collection as columns in memory: sorted, searched and cut into pages in a moment, for any number of
requests, until the tables have moved on. 100,000 sites take 12 MB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.errors import UsageError
from gossamer.read.sites import Clock, clocks_of, pending_of
from gossamer.read.sql.database import Database
from gossamer.serve.question import Asked

_LONGEST: Final = 40
FRESH: Final = 5.0
"""Seconds for which the columns are kept, at least."""
SUMS: Final = ("pages", "visits", "ok", "errors", "bytes")
_SUMMED: Final = ", ".join(f"sum({name})::bigint as {name}" for name in SUMS)
_STATEMENT: Final = f"select site, max(name) as name, {_SUMMED} from stored.sites group by site order by site"
STATES: Final = ("open", "waiting", "failing", "quiet")
"""What sites can be chosen by: pages may be requested; all of them wait; requests have failed; nothing is pending."""


@dataclass(frozen=True, slots=True)
class SiteTable:
    """A row for each site, in the order of their numbers."""

    numbers: Array
    names: Array
    sums: dict[str, Array]
    pending: Array
    """Pages that may be requested; -1: unknown."""
    aside: dict[int, tuple[str, float | None]]
    """Why all pages of a site wait, and until when, by number."""

    @classmethod
    def of(cls, database: Database, aside: Sequence[tuple[int, str, float | None]]) -> SiteTable:
        found = database.arrays(_STATEMENT)
        numbers, names = np.asarray(found["site"]), np.asarray(found["name"])
        pending = np.full(len(numbers), -1, np.int64)
        if (known := pending_of(database.sources)) is not None:
            there = numbers < len(known)
            pending[there] = known[numbers[there]]
        sums = {name: np.ma.filled(found[name], 0) for name in SUMS}
        waits = {site: (why, until) for site, why, until in aside}
        return cls(numbers, names, sums, pending, waits)

    def order(self, sort: str) -> Array:
        """The rows in an order; rows that are equal in it stay in that of discovery."""
        if sort == "name":
            return np.array(sorted(range(len(self.names)), key=self.names.__getitem__), np.int64)
        return np.argsort(-self._values(sort), kind="stable")

    def _values(self, sort: str) -> Array:
        return self.pending if sort == "queue" else self.sums[sort]

    def cursor(self, sort: str, row: int) -> str:
        """What names the place after a row in an order, however many sites come before it meanwhile."""
        return str(self.names[row]) if sort == "name" else f"{int(self._values(sort)[row])}_{int(self.numbers[row])}"

    def after(self, sort: str, cursor: str) -> Array:
        """Whether each row comes after the place that a cursor names. UsageError if it is none."""
        if sort == "name":
            return np.fromiter((name > cursor for name in self.names), bool, len(self.names))
        value, mark, number = cursor.partition("_")
        digits = f"{value.removeprefix('-')}{number}"
        if not (mark and digits.isascii() and digits.isdecimal() and number and len(cursor) < _LONGEST):
            raise UsageError(f"after={cursor!r} is no cursor", "Take `next` of the answer before.")
        values, place = self._values(sort), int(value)
        found: Array = (values < place) | ((values == place) & (self.numbers > int(number)))
        return found

    def chosen(self, search: str, state: str) -> Array:
        """Whether each row is wanted."""
        wanted = np.ones(len(self.numbers), bool)
        if search:
            wanted &= np.fromiter((search in name for name in self.names), bool, len(self.names))
        if state:
            waits = np.isin(self.numbers, np.fromiter(self.aside, np.int64, len(self.aside)))
            wanted &= {
                "open": (self.pending > 0) & ~waits,
                "waiting": waits,
                "failing": self.sums["errors"] > 0,
                "quiet": self.pending == 0,
            }[state]
        return wanted


def table_of(asked: Asked) -> SiteTable:
    """The sites as they were a moment ago."""

    def make() -> SiteTable:
        aside = asked.web.aside()
        with asked.tables.open() as database:
            return SiteTable.of(database, aside)

    return asked.seen.once("sites", FRESH, make)


def clocks(asked: Asked, sites: Sequence[int]) -> dict[int, Clock]:
    """When these sites may be requested, and why not now."""
    with asked.tables.open() as database:
        sources = database.sources
    return clocks_of(sources, asked.web.settings, sites)
