"""`gossamer sql`: SQL queries on a collection, during the crawl or after."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_programs


def sql(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="A DuckDB SQL query; - reads it from standard input.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as one JSON array.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all rows as CSV.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Include data that is committed and not sealed yet.")] = False,
    rows: Annotated[int, typer.Option(min=1, help="Maximum number of rows to show.")] = 100,
) -> None:
    """Run an SQL query on DIR; without QUERY, list the views and their columns."""
    from gossamer import config
    from gossamer.base.errors import UsageError
    from gossamer.collection.layout import SETTINGS
    from gossamer.read.sql import show
    from gossamer.read.sql.database import Database
    from gossamer.read.sql.sources import find, nothing_sealed

    if as_json and as_csv:
        raise UsageError("--json and --csv cannot be combined", "Leave one of them out.")
    sources = find(folder, fresh)
    if (note := nothing_sealed(sources)) and not fresh:
        print(f"note: {note}; --fresh reads the journal too", file=sys.stderr)
    if query is None:
        print("\n".join(show.views()))
        print(f"Example: gossamer sql {folder} \"select outcome, count(*) from visits where ask = 'page' group by 1\"")
        return
    text = sys.stdin.read() if query == "-" else query
    answer = Database(sources, config.load(folder / SETTINGS)).query(text)
    if as_json:
        show.as_json(answer, sys.stdout)
    elif as_csv:
        show.as_csv(answer, for_programs(sys.stdout))
    else:
        show.as_table(answer, sys.stdout, rows)
