"""The tables that plug-ins fill: found when their code is loaded, and compared with those of earlier runs.

A process of its own loads them, at the start of a crawl: the process of the crawl runs no code of plug-ins.

    python -m gossamer.plugins.schema        plug-ins as JSON on standard input; their tables as JSON on standard output
"""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from gossamer.base.errors import GossamerError, UsageError
from gossamer.config.rules import COLUMN_TYPES, OWN_COLUMNS, OWN_TABLES, WrongRuleError, check_name
from gossamer.config.settings import ExtractRule
from gossamer.plugins.find import Plugin, load
from gossamer.plugins.kinds import KINDS
from gossamer.plugins.rows import Column, Table

LONGEST: Final = 120.0
"""Seconds that plug-ins may take to be loaded."""
LEFT_OUT: Final = {"left_out": "int"}
"""The columns of a filter: of the links of a page, how many it left out."""
_TYPES: Final[Mapping[Any, str]] = {
    str: "text",
    bytes: "text",
    int: "int",
    float: "float",
    bool: "bool",
    datetime: "date",
    date: "date",
}
_SEVERAL: Final = (list, tuple, set, frozenset)
_CURE: Final = (
    'Give it columns, as in: extract.columns = {"price": "float", "tags": "text*"},'
    " or let it return a NamedTuple, a dataclass or a TypedDict."
)


def tables_of(plugins: Sequence[Plugin]) -> list[Table]:
    """Loads these plug-ins in a process of its own, and returns the table of each that fills one. UsageError if one
    cannot be loaded."""
    if not plugins:
        return []
    given = json.dumps(plugins).encode()
    command = [sys.executable, "-P", "-m", "gossamer.plugins.schema"]
    try:
        ended = subprocess.run(command, input=given, stdout=subprocess.PIPE, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        names = ", ".join(each.name for each in plugins)
        raise UsageError(
            f"{names}: not loaded within {LONGEST:.0f} s", "Look for what it does when imported."
        ) from error
    try:
        said = json.loads(ended.stdout.rpartition(b"\0")[2])
    except ValueError:
        names = ", ".join(each.name for each in plugins)
        wrong = f"{names}: its process ended with code {ended.returncode} while it was loaded"
        raise UsageError(wrong, "Load it in Python to see why.") from None
    if "error" in said:
        raise UsageError(*said["error"])
    return [Table.parse(name, columns) for name, columns in said["tables"]]


def table_of(plugin: Plugin, processor: Any) -> Table:
    """The table that a processor fills. UsageError if it does not say which columns it has."""
    name = getattr(processor, "table", None) or _snake(getattr(processor, "__name__", type(processor).__name__))
    said = LEFT_OUT if plugin.kind == "filter" else getattr(processor, "columns", None)
    columns = _of_words(plugin, said) if said is not None else _of_class(plugin, processor)
    try:
        check_name(name, OWN_TABLES, key="table")
        for each in columns:
            check_name(each.name, OWN_COLUMNS, key="column")
    except (TypeError, WrongRuleError) as error:
        raise UsageError(f"{plugin.told()}: {error}", "Name the table with its attribute `table`.") from error
    return Table(name, columns)


def tables_of_rules(rules: Sequence[ExtractRule]) -> list[Table]:
    """The tables that extraction rules fill, in order."""
    found = dict[str, dict[str, Column]]()
    for rule in rules:
        found.setdefault(rule.table, {}).setdefault(rule.column, Column(rule.column, rule.type, rule.many))
    return [Table(name, tuple(columns.values())) for name, columns in found.items()]


def checked(tables: Sequence[Table], before: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The columns of each table by name, as a run records them. `before`: those that earlier runs recorded.

    UsageError if two plug-ins fill the same table, or a column has another type than in an earlier run: columns are
    only added."""
    known = dict[str, dict[str, Column]]()
    for run in before:
        for name, columns in run.items():
            known.setdefault(name, {}).update({c.name: c for c in Table.parse(name, columns).columns})
    seen = set[str]()
    for table in tables:
        if table.name in seen:
            raise UsageError(f"two plug-ins fill the table {table.name}", "Give one of them another name.")
        seen.add(table.name)
        for column in table.columns:
            old = known.setdefault(table.name, {}).setdefault(column.name, column)
            if old != column:
                wrong = f"the table {table.name} has {old} since an earlier run; now it would be {column}"
                raise UsageError(wrong, "Columns are only added: give the column, or the table, a new name.")
    return {table.name: table.said for table in tables}


def _of_words(plugin: Plugin, said: Any) -> tuple[Column, ...]:
    if not isinstance(said, Mapping) or not said:
        raise UsageError(f"{plugin.told()}: its columns are {said!r}, not names with types", _CURE)
    found = []
    for name, kind in said.items():
        word = kind if isinstance(kind, str) else str(_TYPES.get(kind))
        if word.removesuffix("*") not in COLUMN_TYPES:
            cure = f"Types: {', '.join(COLUMN_TYPES)}; with * for a list of them."
            raise UsageError(f"{plugin.told()}: column {name} has the type {kind!r}", cure)
        found.append(Column(str(name), word.removesuffix("*"), word.endswith("*")))
    return tuple(found)


def _of_class(plugin: Plugin, processor: Any) -> tuple[Column, ...]:
    """The columns by the class of rows that the return type names."""
    called = processor if hasattr(processor, "__annotations__") and callable(processor) else processor.__call__
    try:
        returned = typing.get_type_hints(called).get("return")
    except Exception as error:  # whatever its annotations do
        raise UsageError(f"{plugin.told()}: its return type cannot be read: {error}", _CURE) from error
    rows = _row_class(returned)
    if rows is None:
        raise UsageError(f"{plugin.told()}: it does not say which columns its rows have", _CURE)
    return tuple(_column(plugin, name, hint) for name, hint in typing.get_type_hints(rows).items())


def _row_class(hint: Any) -> Any:
    """The class of rows in a return type like `Iterator[Price] | None`; None if there is none."""
    if isinstance(hint, type) and (
        hasattr(hint, "_fields") or dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)
    ):
        return hint
    return next((found for each in typing.get_args(hint) if (found := _row_class(each)) is not None), None)


def _column(plugin: Plugin, name: str, hint: Any) -> Column:
    alone = [each for each in typing.get_args(hint) if each is not type(None)]
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = alone[0] if len(alone) == 1 else hint
    many = typing.get_origin(hint) in _SEVERAL
    kind = typing.get_args(hint)[0] if many else hint
    if kind not in _TYPES:
        raise UsageError(
            f"{plugin.told()}: column {name} has the type {hint}", f"Types: {', '.join(t.__name__ for t in _TYPES)}."
        )
    return Column(name, _TYPES[kind], many)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def main() -> int:
    """Prints the tables, or the error, behind a zero byte: the code of plug-ins may print too."""
    try:
        plugins = [Plugin(*each) for each in json.load(sys.stdin)]
        loaded = [(each, load(each)) for each in plugins]
        tables = [table_of(each, found) for each, found in loaded if KINDS[each.kind].apart]
        said: dict[str, Any] = {"tables": [(t.name, t.said) for t in tables]}
    except GossamerError as error:
        said = {"error": [error.message, error.cure]}
    print("\0" + json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
