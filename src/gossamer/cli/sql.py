"""`gossamer sql`: questions to a collection, while it is crawled or after."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.screen import for_programs


def sql(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection.")],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="As DuckDB has it; - reads it from standard input.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All rows, as one JSON array.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="All rows, as CSV.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="With what is committed and not in a segment yet.")] = False,
    rows: Annotated[int, typer.Option(min=1, help="Rows of the table that is shown.")] = 100,
) -> None:
    """Answer an SQL query about DIR; without QUERY, list the views and their columns."""
    from gossamer import config
    from gossamer.base.errors import UsageError
    from gossamer.collection.layout import SETTINGS
    from gossamer.read.sql import show
    from gossamer.read.sql.database import Database
    from gossamer.read.sql.sources import find, nothing_sealed

    if as_json and as_csv:
        raise UsageError("--json and --csv were both given", "Choose one.")
    sources = find(folder, fresh)
    if (note := nothing_sealed(sources)) and not fresh:
        print(f"note: {note}; --fresh reads the journal too", file=sys.stderr)
    if query is None:
        print("\n".join(show.views()))
        print(f"As in: gossamer sql {folder} \"select outcome, count(*) from visits where ask = 'page' group by 1\"")
        return
    text = sys.stdin.read() if query == "-" else query
    answer = Database(sources, config.load(folder / SETTINGS)).query(text)
    if as_json:
        show.as_json(answer, sys.stdout)
    elif as_csv:
        show.as_csv(answer, for_programs(sys.stdout))
    else:
        show.as_table(answer, sys.stdout, rows)
