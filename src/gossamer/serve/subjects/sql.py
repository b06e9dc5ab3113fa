"""Queries of the user, bounded in rows and time."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from gossamer.base.units import plural, thousands
from gossamer.library.collection import Collection
from gossamer.read.sql.columns import VIEWS
from gossamer.serve.html import Child, tag
from gossamer.serve.question import MOST_ROWS, Field, Question
from gossamer.serve.shell import at, cells, shell, table
from gossamer.serve.tables import ending

SECONDS: Final = 10.0
"""Maximum number of seconds for a query."""


class Table(msgspec.Struct, frozen=True):
    """The result of a query."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool
    """Whether there are more rows than are shown."""


def answer_of(web: Collection, text: str) -> Table:
    """The first rows of a query. UsageError if it takes too long."""
    database, rows = web.database(), list[list[Any]]()
    with ending(database, SECONDS, "Run it with `gossamer sql`, which has no limit."):
        reader = database.arrow(text, rows=MOST_ROWS + 1)
        names = list(reader.schema.names)
        for batch in reader:
            rows += [list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
            if len(rows) > MOST_ROWS:
                break
    return Table(names, [[_plain(value) for value in row] for row in rows[:MOST_ROWS]], len(rows) > MOST_ROWS)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def page_of(name: str, text: str, found: Table | None, error: str = "") -> str:
    area = tag("textarea", text, name="query", rows=6, spellcheck="false", aria_label="Query")
    form = tag("form", area, tag("button", "Run", type="submit"), method="post", action=at(name, "sql"))
    result: list[Child] = [tag("pre", error, role="alert")] if error else []
    if found is not None:
        shown = f"The first {thousands(len(found.rows))} rows" if found.more else plural(len(found.rows), "row")
        result.append(table(found.columns, [tag("tr", cells(row)) for row in found.rows], shown))
    views = [
        tag(
            "details",
            tag("summary", tag("code", view), f": {about.sentence}"),
            tag("dl", [(tag("dt", tag("code", c.name), f" {c.type}"), tag("dd", c.sentence)) for c in about.columns]),
        )
        for view, about in VIEWS.items()
    ]
    return shell("SQL", form, *result, tag("h2", "Views and their columns"), *views, name=name, here="sql")


QUESTION: Final = Question(
    "sql",
    "The result of a query on the views of `gossamer sql`. It needs the token.",
    lambda a: answer_of(a.web, a.text("query")) if a.text("query") else None,
    lambda a, found: page_of(a.name, a.text("query"), found),
    (Field("query", "One query in DuckDB's SQL."),),
    Table,
)
