"""`gossamer serve`: the dashboard."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gossamer.base.errors import UsageError, to_install
from gossamer.cli.command import argument, command


@command
@argument("folders", "DIR...", "Folders of collections; their crawls may be running.", nargs=-1, required=True)
@click.option(
    "--host", default="127.0.0.1", help="Address to listen on. If others can reach it, everything needs the token."
)
@click.option("--port", type=click.IntRange(1, 65_535), default=8470, help="Port to listen on.")
@click.option("--name", "names", metavar="HOST", multiple=True, help="Another host name of this server; repeatable.")
def serve(folders: tuple[Path, ...], host: str, port: int, names: tuple[str, ...]) -> None:
    """Show collections in a browser: the state of the crawl, sites, pages, SQL. Also an HTTP API, and metrics."""
    try:
        from gossamer.serve.run import is_loopback, named, secret
        from gossamer.serve.run import serve as run
    except ModuleNotFoundError as error:
        raise UsageError(f"gossamer serve needs {error.name}", to_install("serve")) from error
    webs, found = named(folders), secret()
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{port}/ shows {', '.join(map(str, folders))}. Ctrl-C ends it.", file=sys.stderr)
    if found.new:
        print(f"The token for SQL and for orders, shown only this time: {found.token}", file=sys.stderr)
    print(f"The token is in {found.path}", file=sys.stderr)
    if not is_loopback(host):
        print("warning: others can read what is sent: put a server with TLS in front of it", file=sys.stderr)
    run(webs, host, port, names, found.token)
