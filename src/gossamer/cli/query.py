"""Commands that ask what a collection knows: `status`, which never loads it, `explain` and `sql`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json, for_programs


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the status of the crawl in DIR."""
    from gossamer.cli.status_text import lines
    from gossamer.observe.crawl_status import read_crawl_status

    found = read_crawl_status(folder)
    if as_json:
        print(for_json(found.to_json()))
        return
    for line in lines(found, folder, time.time()):
        print(line)


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection.")],
    target: Annotated[str, typer.Argument(metavar="URL|SITE", help="A URL, or the name of a site.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain a URL or a site: whether it is known or why not, how it was found, its state, rank and visits."""
    from gossamer.read.explain.answers import PageAnswer, SiteAnswer
    from gossamer.read.explain.page import explain_page
    from gossamer.read.explain.site import explain_site, is_site
    from gossamer.read.explain.text import lines_of

    answer: PageAnswer | SiteAnswer = explain_site(folder, target) if is_site(target) else explain_page(folder, target)
    if answer.get("url", answer.get("site")) is None:
        cure = "Give a URL like https://example.org/page, or a site like example.org."
        raise UsageError(f"{target!r} is neither an http or https URL nor the name of a site", cure)
    if as_json:
        print(for_json(answer))
        return
    for line in lines_of(answer, time.time()):
        print(line)


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
