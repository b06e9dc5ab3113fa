"""Prints query results for people (an aligned table) and for programs (JSON, CSV).

Programs get all rows: times as ISO 8601 in UTC, bytes in hexadecimal, and null for NaN and infinite numbers.
"""

from __future__ import annotations

import csv
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TextIO
from uuid import UUID

from gossamer.base.escape import for_json, for_screen
from gossamer.read.sql.columns import View
from gossamer.read.sql.database import QueryResult, Row

LONGEST: Final = 80
"""Maximum length of a text in a table, in characters."""
_NUMBERS: Final = ("INT", "HUGE", "FLOAT", "DOUBLE", "DECIMAL", "BIGNUM")


MORE: Final = "--rows shows more, --json and --csv show all."


def as_table(result: QueryResult, out: TextIO, most: int, more: str = MORE) -> None:
    """Prints at most `most` rows, with a note if there are more; `more` says how to get them."""
    rows = list(islice(result.rows, most + 1))
    names = [for_screen(name) for name in result.columns]
    shown = [[_cell(value) for value in row] for row in rows[:most]]
    right = [any(word in kind for word in _NUMBERS) and "[" not in kind for kind in result.types]
    widths = [max(map(width, [name, *(row[i] for row in shown)])) for i, name in enumerate(names)]
    for line in (names, ["-" * w for w in widths], *shown):
        out.write(_line(line, widths, right) + "\n")
    if len(rows) > most:
        out.write(f"… and more: only the first {most:,} rows are shown. {more}\n")
    else:
        out.write(f"({len(rows):,} row{'' if len(rows) == 1 else 's'})\n")


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for cell, wide, to_the_right in zip(cells, widths, right, strict=True):
        room = " " * (wide - width(cell))
        parts.append(room + cell if to_the_right else cell + room)
    return "  ".join(parts).rstrip()


def width(text: str) -> int:
    """Width of a text in columns of the screen: East Asian wide characters take two, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds" if value.microsecond else "seconds")
    text = value if isinstance(value, str) else for_json(plain(value)).strip('"')
    text = for_screen(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def as_json(result: QueryResult, out: TextIO) -> None:
    """Prints one array of objects, one row per line."""
    before = "["
    for row in result.rows:
        out.write(before + "\n" + for_json(record(result.columns, row)))
        before = ","
    out.write("[]\n" if before == "[" else "\n]\n")


def record(columns: Sequence[str], row: Row) -> dict[str, Any]:
    return {name: plain(value) for name, value in zip(columns, row, strict=True)}


def as_csv(result: QueryResult, out: TextIO) -> None:
    """Prints CSV (RFC 4180) with a header line; null is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    for row in result.rows:
        writer.writerow([_field(value) for value in row])


def _field(value: Any) -> Any:
    shown = plain(value)
    return for_json(shown) if isinstance(shown, dict | list) else shown


def plain(value: Any) -> Any:
    """The value as a type that JSON has."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat() + ("Z" if value.tzinfo is None else "")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, date | time | UUID):
        return str(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def views(these: Mapping[str, View]) -> Iterator[str]:
    """The views with their columns, for people: the output of `gossamer sql DIR`."""
    for name, view in these.items():
        yield f"{name}: {view.sentence}"
        longest = max(len(c.name) for c in view.columns)
        for column in view.columns:
            yield f"    {column.name:{longest}}  {column.type.lower():9}  {column.sentence}"
        yield ""
