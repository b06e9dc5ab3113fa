"""Commands that ask what a collection knows: `status`, which never loads it, `explain` and `sql`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json, for_programs
from gossamer.cli.command import argument, command, flag, unchecked


@command
@argument("folder", "DIR", "Folder of the collection.")
@flag("--json", "as_json", help="Print one JSON object.")
def status(folder: Path, as_json: bool) -> None:
    """Show the status of the crawl in DIR."""
    from gossamer.cli.status_text import lines
    from gossamer.cli.view import folded
    from gossamer.observe.crawl_status import read_crawl_status

    found = read_crawl_status(folder)
    if as_json:
        print(for_json(found.to_json()))
        return
    for line in folded(lines(found, folder, time.time()), sys.stdout):
        print(line)


@command
@argument("folder", "DIR", "Folder of the collection.")
@argument("target", "URL|SITE", "A URL, or the name of a site.", type=str)
@flag("--json", "as_json", help="Print one JSON object.")
@unchecked
def explain(folder: Path, target: str, as_json: bool, unchecked: bool) -> None:
    """Explain a URL or a site: whether it is known or why not, how it was found, its state, rank and visits."""
    from gossamer.read.explain.answers import PageAnswer, SiteAnswer
    from gossamer.read.explain.page import explain_page
    from gossamer.read.explain.site import explain_site, is_site
    from gossamer.read.explain.text import lines_of

    answer: PageAnswer | SiteAnswer
    answer = explain_site(folder, target, unchecked) if is_site(target) else explain_page(folder, target, unchecked)
    if answer.get("url", answer.get("site")) is None:
        cure = "Give a URL like https://example.org/page, or a site like example.org."
        raise UsageError(f"{target!r} is neither an http or https URL nor the name of a site", cure)
    if as_json:
        print(for_json(answer))
        return
    for line in lines_of(answer, time.time()):
        print(line)


@command
@argument("folder", "DIR", "Folder of the collection.")
@argument("query", "[QUERY]", "A DuckDB SQL query; - reads it from standard input.", type=str, required=False)
@flag("--json", "as_json", help="Print all rows as one JSON array.")
@flag("--csv", "as_csv", help="Print all rows as CSV.")
@flag("--fresh", help="Include data that is committed and not sealed yet.")
@click.option("--rows", type=click.IntRange(min=1), default=100, help="Maximum number of rows to show.")
@unchecked
def sql(folder: Path, query: str | None, as_json: bool, as_csv: bool, fresh: bool, rows: int, unchecked: bool) -> None:
    """Run an SQL query on DIR; without QUERY, list the views and their columns."""
    from gossamer import config
    from gossamer.collection.layout import SETTINGS
    from gossamer.read.sql import show
    from gossamer.read.sql.database import Database
    from gossamer.read.sql.sources import find, nothing_sealed

    if as_json and as_csv:
        raise UsageError("--json and --csv cannot be combined", "Leave one of them out.")
    sources = find(folder, fresh, unchecked)
    if (note := nothing_sealed(sources)) and not fresh:
        print(f"note: {note}; --fresh reads the journal too", file=sys.stderr)
    if query is None:
        print("\n".join(show.views(Database(sources, config.load(folder / SETTINGS)).views())))
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
