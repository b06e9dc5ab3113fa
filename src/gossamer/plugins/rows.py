"""Rows of plug-ins: tables with typed columns, and how rows travel from a worker to a segment.

A worker sends a line for each table that a visit fills: name, columns and JSON, with a tab between them.

    prices  price:float,tags:text*   [[9.5,["new","red"]],[3.0,[]]]     rows: values in the order of the columns
    prices  price:float,tags:text*   "KeyError: 'price' (line 7)"       what went wrong instead

The line names the columns, so that whoever reads it needs nothing else. JSON has no tabs and no line feeds. `*` stands
for a list of values. A date is a number: microseconds since 1970, in UTC.

Invariants, each a test of the same name: rows survive their line; whatever a plug-in returns makes a line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from gossamer.config.rules import COLUMN_TYPES, NAME

DUCKDB_TYPES: Final[Mapping[str, str]] = {
    "text": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "TIMESTAMP",
    "url": "VARCHAR",
}
MOST_ROWS: Final = 10_000
"""Rows of a table that a page may give."""
MOST_BYTES: Final = 1 << 20
"""Bytes of a line."""
LONGEST_FAULT: Final = 500
_I64: Final = 1 << 63
_TRUE: Final = frozenset(("true", "yes", "on", "1"))
_FALSE: Final = frozenset(("false", "no", "off", "0", ""))
_NUMBER: Final = re.compile(r"[-+]?\d[\d\s.,'\u2019]*(?:[eE][-+]?\d+)?|[-+]?[.,]\d+")
_encoded: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode

Join = Callable[[str], str | None]
"""The canonical form of a reference in a page; None if it leads nowhere."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    """One of `COLUMN_TYPES`."""
    many: bool = False
    """Each row has a list of values."""

    def __str__(self) -> str:
        return f"{self.name}:{self.type}{'*' * self.many}"

    @classmethod
    def parse(cls, text: str) -> Column:
        name, _, kind = text.partition(":")
        return cls(name, kind.removesuffix("*"), kind.endswith("*"))


class Table(NamedTuple):
    """A table that plug-ins fill."""

    name: str
    columns: tuple[Column, ...]

    @property
    def said(self) -> str:
        """Its columns, as `parse` reads them."""
        return ",".join(map(str, self.columns))

    @property
    def head(self) -> bytes:
        """The beginning of its lines."""
        return f"{self.name}\t{self.said}\t".encode()

    @classmethod
    def parse(cls, name: str, columns: str) -> Table:
        """The table that the head of a line names. ValueError if it names none."""
        table = cls(name, tuple(Column.parse(each) for each in columns.split(",")))
        for each in table.columns:
            if not NAME.fullmatch(each.name) or each.type not in COLUMN_TYPES:
                raise ValueError(f"{columns!r} are not columns")
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a table")
        return table


def fault(message: str) -> bytes:
    """The JSON of what went wrong."""
    return _encoded(" ".join(message.split())[:LONGEST_FAULT] or "it failed").encode()


class Rows:
    """Makes the JSON of rows from what plug-ins return."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._names = frozenset(column.name for column in table.columns)
        self._columns = [(column, _READERS[column.type]) for column in table.columns]

    def json(self, returned: Any, join: Join) -> bytes:
        """The JSON of what a processor returned; b"" for no rows. ValueError, in words, if it does not fit."""
        if returned is None:
            return b""
        one = isinstance(returned, Mapping) or hasattr(returned, "_fields") or hasattr(returned, "__dataclass_fields__")
        if not one and (isinstance(returned, str | bytes) or not isinstance(returned, Iterable)):
            raise ValueError(f"it returned {type(returned).__name__}, which is neither a row nor several")
        rows: list[list[Any]] = []
        for row in (returned,) if one else returned:
            if len(rows) == MOST_ROWS:
                raise ValueError(f"it returned more than {MOST_ROWS} rows for a page")
            rows.append(self.row(row, join))
        return self.encoded(rows)

    def encoded(self, rows: Sequence[Sequence[Any]]) -> bytes:
        """The JSON of rows whose values were read. ValueError if it is too long."""
        if not rows:
            return b""
        raw = _encoded(rows).encode()
        if len(raw) > MOST_BYTES:
            raise ValueError(f"the rows of a page have {len(raw)} bytes; {MOST_BYTES} are accepted")
        return raw

    def row(self, row: Any, join: Join) -> list[Any]:
        """The values of a row, in the order of the columns."""
        if isinstance(row, Mapping):
            if not row.keys() <= self._names:
                unknown = ", ".join(sorted(map(str, row.keys() - self._names)))
                raise ValueError(f"it returned {unknown}, which is not among its columns")
            get: Callable[[str], Any] = row.get
        else:
            if isinstance(row, str | bytes | int | float | list | tuple) and not hasattr(row, "_fields"):
                raise ValueError(f"it returned a row that is a {type(row).__name__}, not a mapping or an object")
            get = partial(_attribute, row)
        return [self._value(column, reader, get(column.name), join) for column, reader in self._columns]

    @staticmethod
    def _value(column: Column, reader: Callable[[Any, Join], Any], raw: Any, join: Join) -> Any:
        if raw is None:
            return None
        try:
            if not column.many:
                return reader(raw, join)
            each = (raw,) if isinstance(raw, str | bytes) or not isinstance(raw, Iterable) else raw
            return [reader(one, join) for one in each if one is not None]
        except (ValueError, OverflowError) as error:
            raise ValueError(f"column {column.name}: {error}") from error


def value(kind: str, text: str, join: Join) -> Any:
    """A text of a page as a value of a type; None if it is none."""
    text = text.strip()
    try:
        return _FROM_TEXT[kind](text, join)
    except (ValueError, OverflowError):
        return None


# --- values that a plug-in returned -------------------------------------------------------------------------------


def _text(raw: Any, join: Join) -> str:
    if isinstance(raw, str):
        return raw if raw.isascii() else raw.encode(errors="replace").decode()  # half a character fits no column
    if isinstance(raw, bytes):
        return raw.decode(errors="replace")
    raise ValueError(f"{_short(raw)} is not a text")


def _int(raw: Any, join: Join) -> int:
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    number = int(raw) if isinstance(raw, str) else raw
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise ValueError(f"{_short(raw)} is not a whole number")
    number = int(number)
    if not -_I64 <= number < _I64:
        raise ValueError(f"{_short(raw)} has more than 64 bits")
    return number


def _float(raw: Any, join: Join) -> float | None:
    if isinstance(raw, bool) or not (isinstance(raw, str) or hasattr(raw, "__float__") or hasattr(raw, "__index__")):
        raise ValueError(f"{_short(raw)} is not a number")
    number = float(raw)
    return number if math.isfinite(number) else None


def _bool(raw: Any, join: Join) -> bool:
    if isinstance(raw, bool) or type(raw).__name__ in ("bool", "bool_"):
        return bool(raw)
    raise ValueError(f"{_short(raw)} is neither true nor false")


def _date(raw: Any, join: Join) -> int:
    if isinstance(raw, str):
        raw = datetime.fromisoformat(raw.strip())
    if isinstance(raw, date) and not isinstance(raw, datetime):
        raw = datetime(raw.year, raw.month, raw.day, tzinfo=UTC)
    if not isinstance(raw, datetime):
        raise ValueError(f"{_short(raw)} is not a date")
    return _microseconds(raw)


def _microseconds(moment: datetime) -> int:
    """Without a time zone it is UTC."""
    passed = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _url(raw: Any, join: Join) -> str | None:
    return join(_text(raw, join))


_READERS: Final[Mapping[str, Callable[[Any, Join], Any]]] = {
    "text": _text,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "date": _date,
    "url": _url,
}
assert tuple(_READERS) == COLUMN_TYPES


def _attribute(row: Any, name: str) -> Any:
    return getattr(row, name, None)


def _short(raw: Any) -> str:
    try:
        return repr(raw)[:40]
    except Exception:  # its own code
        return f"a {type(raw).__name__}"


# --- texts that a page has ------------------------------------------------------------------------------------------


def number_in(text: str) -> float:
    """The first number in a text, as people write it: "1,234.50 EUR", "1.234,50 €", "1 234", "12.50". ValueError if
    there is none.

    Of two separators the last is the decimal one. A single one is, unless exactly three digits follow it and it is a
    comma, or it occurs more than once: "1,234" is 1234, "1.234" is 1.234.
    """
    found = _NUMBER.search(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} has no number")
    written = re.sub(r"[\s'\u2019]", "", found[0]).rstrip(".,")
    point, comma = written.rfind("."), written.rfind(",")
    if point >= 0 and comma >= 0:
        last, other = (".", ",") if point > comma else (",", ".")
        written = written.replace(other, "").replace(last, ".")
    elif written.count(".") > 1:
        written = written.replace(".", "")
    elif comma >= 0:
        several = written.count(",") > 1 or (len(written) - comma - 1 == 3 and written[:comma].lstrip("+-") != "0")
        written = written.replace(",", "") if several else written.replace(",", ".")
    return float(written)


def _int_in(text: str, join: Join) -> int:
    digits = re.search(r"[-+]?\d{1,3}(?:[.,\s'\u2019]\d{3})+(?!\d)|[-+]?\d+", text)
    if digits is None:
        raise ValueError(f"{text[:40]!r} has no whole number")
    return _int(int(re.sub(r"[^\d+-]", "", digits[0])), join)


def _bool_in(text: str, join: Join) -> bool:
    if (word := text.lower()) not in _TRUE | _FALSE:
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return word in _TRUE


def _text_in(text: str, join: Join) -> str | None:
    return " ".join(text.split()) or None


_FROM_TEXT: Final[Mapping[str, Callable[[str, Join], Any]]] = {
    "text": _text_in,
    "int": _int_in,
    "float": lambda text, join: _float(number_in(text), join),
    "bool": _bool_in,
    "date": _date,
    "url": lambda text, join: join(text) if text else None,
}
