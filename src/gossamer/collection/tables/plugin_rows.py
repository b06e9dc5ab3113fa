"""The tables of plug-ins: their rows pass through the journal as lines (`plugins/rows.py`), and become columns here.

    page, time, tick    the visit whose page gave the row
    error               what went wrong; then the columns of the plug-in are null
    others              those that the lines name

Nothing that a line says may stop the sealing: a line that cannot be read, and a value that does not fit its column,
become errors of their rows. As Python's values, short rows take 25 times the memory of their JSON: so the lines of a
segment are read in batches.

Invariant, a property test of the same name: every row and every fault of a visit is a row of its table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from gossamer.base.arrays import Records
from gossamer.base.model import Texts
from gossamer.collection.layout import ROWS
from gossamer.collection.tables.forms import Page, Time
from gossamer.plugins.rows import Column, Table

TYPES: Final[Mapping[str, pa.DataType]] = {
    "text": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.timestamp("us", "UTC"),
    "url": pa.string(),
}
MOST_AT_ONCE: Final = 1 << 20
"""Bytes of JSON that are read at once, or those of one line."""
_UNREADABLE: Final = "what the plug-in returned was damaged on its way"
_Line = tuple[int, bytes, bytes]
"""Index of the visit, columns, JSON."""


def tables(rows: Sequence[Texts], visits: Sequence[int], times: Records, ticks: Any, shard: int) -> dict[str, Any]:
    """The columns of each table, by the name of its folder.

    `rows`: the lines of each tick; `visits`: its number of visits; `times`: all visits; `ticks`: the tick of each."""
    lines = defaultdict[str, list[_Line]](list)
    first = 0
    for each, count in zip(rows, visits, strict=True):
        for place, raw in enumerate(each.split()):
            if raw:
                _split(first + place, raw, lines)
        first += count
    return {f"{ROWS}{name}": _table(found, times, ticks, shard) for name, found in sorted(lines.items())}


def _split(visit: int, raw: bytes, lines: dict[str, list[_Line]]) -> None:
    for line in raw.split(b"\n")[:-1]:
        name, _, rest = line.partition(b"\t")
        columns, _, body = rest.partition(b"\t")
        try:
            Table.parse(name.decode(), columns.decode())
        except ValueError:
            continue  # no worker writes this: it is no line of a table
        lines[name.decode()].append((visit, columns, body))


def _table(lines: Sequence[_Line], visits: Records, ticks: Any, shard: int) -> dict[str, Any]:
    names = dict.fromkeys(each for _, each, _ in lines)
    columns = list(dict.fromkeys(c for each in names for c in Table.parse("t", each.decode()).columns))
    place = {each: [columns.index(c) for c in Table.parse("t", each.decode()).columns] for each in names}
    parts = [_arrays(batch, columns, place) for batch in _batches(lines)]
    of, errors, *made = map(pa.chunked_array, zip(*parts, strict=True))
    rows = of.to_numpy()
    return {
        "page": Page(shard).write({"page": visits["page"][rows]}, "page"),
        "time": Time().write({"time": visits["time"][rows]}, "time"),
        "tick": pa.array(ticks[rows]),
        "error": errors,
        **{column.name: array for column, array in zip(columns, made, strict=True)},
    }


def _batches(lines: Sequence[_Line]) -> Iterator[Sequence[_Line]]:
    first, size = 0, 0
    for number, (*_, body) in enumerate(lines):
        if size and size + len(body) > MOST_AT_ONCE:
            yield lines[first:number]
            first, size = number, 0
        size += len(body)
    yield lines[first:]


def _arrays(lines: Sequence[_Line], columns: Sequence[Column], place: Mapping[bytes, Sequence[int]]) -> list[pa.Array]:
    """For each row the index of its visit, its error and its columns. `place`: of the columns that a line names."""
    of: list[int] = []
    errors: list[str | None] = []
    values: list[list[Any]] = [[] for _ in columns]
    for visit, named, found in _decoded(lines):
        for row in found if isinstance(found, list) else (found,):
            fits = isinstance(row, list) and len(row) == len(place[named])
            of.append(visit)
            errors.append(None if fits else row if isinstance(row, str) else _UNREADABLE)
            given = dict(zip(place[named], row, strict=True)) if fits else {}
            for number, column in enumerate(values):
                column.append(given.get(number))
    made = [_array(column, each, errors) for column, each in zip(columns, values, strict=True)]
    said = pa.array([None if each is None else _utf8(each) for each in errors], pa.string())
    return [pa.array(of, pa.int64()), said, *made]


def _decoded(lines: Sequence[_Line]) -> Iterable[tuple[int, bytes, Any]]:
    """The lines with their JSON decoded: all at once, or one by one if any is damaged."""
    try:
        found: list[Any] = json.loads(b"[%s]" % b",".join(body for *_, body in lines))
        if len(found) != len(lines):
            raise ValueError("one of them is no value")
    except (ValueError, RecursionError):
        found = [_one(body) for *_, body in lines]
    return ((visit, columns, each) for (visit, columns, _), each in zip(lines, found, strict=True))


def _one(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _array(column: Column, values: list[Any], errors: list[str | None]) -> pa.Array:
    """The values of a column. One that does not fit becomes null, and its row gets an error."""
    kind = pa.list_(TYPES[column.type]) if column.many else TYPES[column.type]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        fitting = []
        for row, value in enumerate(values):
            try:
                fitting.append(pa.array([value], kind))
            except (pa.ArrowException, ValueError, TypeError, OverflowError):
                fitting.append(pa.nulls(1, kind))
                errors[row] = errors[row] or f"column {column.name}: {_UNREADABLE}"
        return pa.concat_arrays(fitting)


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()
