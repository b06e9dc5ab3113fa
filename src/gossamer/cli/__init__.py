"""The command line: one file per command, each a thin function over the layer below. A command imports what is heavy
only when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.base.errors import GossamerError
from gossamer.base.escape import guard
from gossamer.cli.check import check
from gossamer.cli.compact import compact
from gossamer.cli.compare import compare
from gossamer.cli.config import config
from gossamer.cli.crawl import crawl
from gossamer.cli.explain import explain
from gossamer.cli.export import export
from gossamer.cli.files import files
from gossamer.cli.graph import graph
from gossamer.cli.rank import rank
from gossamer.cli.reproduce import reproduce
from gossamer.cli.simulate import simulate
from gossamer.cli.sql import sql
from gossamer.cli.status import status
from gossamer.cli.stop import stop
from gossamer.cli.verify import verify
from gossamer.cli.web import web

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    suggest_commands=False,  # click suggests them already
    help="A Web crawler: important pages first, politely, and nothing that was fetched is ever lost.",
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"gossamer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for command in (
    crawl,
    status,
    explain,
    sql,
    files,
    stop,
    verify,
    compact,
    export,
    config,
    web,
    check,
    rank,
    simulate,
    compare,
    reproduce,
):
    app.command()(command)
app.add_typer(graph, name="graph")


def main() -> None:
    """Exit codes: 0 done, 1 fault, 2 usage, 3 locked, 4 disk or memory, 130 interrupted after a clean stop."""
    guard()
    try:
        app()
    except GossamerError as error:
        print(f"gossamer: {error.message}", file=sys.stderr)
        if error.cure:
            print(f"          {error.cure}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        print("gossamer: out of memory; everything committed is intact", file=sys.stderr)
        print("          Lower collection.max_pages or use a larger machine, then start again.", file=sys.stderr)
        sys.exit(4)
