"""The command line: each command is a thin function over the layer below. It imports when it runs."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final

import click

from gossamer import __version__
from gossamer.base.bus import explain_bus_errors
from gossamer.base.errors import GossamerError
from gossamer.base.escape import guard
from gossamer.cli.audit import audit
from gossamer.cli.changes import changes
from gossamer.cli.cite import cite
from gossamer.cli.collection import compact, config, export, files, stop, verify
from gossamer.cli.command import Group
from gossamer.cli.completion import completion
from gossamer.cli.crawl import crawl
from gossamer.cli.doctor import doctor
from gossamer.cli.forecast import forecast
from gossamer.cli.forget import forget
from gossamer.cli.graph import graph, rank
from gossamer.cli.limits import translated
from gossamer.cli.mine import mine
from gossamer.cli.plugins import plugins
from gossamer.cli.query import explain, sql, status
from gossamer.cli.report import report
from gossamer.cli.reproduce import compare, reproduce
from gossamer.cli.serve import serve
from gossamer.cli.sessions import sessions
from gossamer.cli.simulate import simulate
from gossamer.cli.steer import add, again, steer
from gossamer.cli.watch import watch
from gossamer.cli.web import check, web

_READING: Final = (status, serve, explain, sql, report, audit, changes, watch, forecast, cite, files)
_OF_COLLECTIONS: Final = (
    crawl,
    add,
    again,
    steer,
    *_READING,
    stop,
    verify,
    compact,
    forget,
    export,
    config,
    plugins,
    mine,
    doctor,
)
_OF_WEBS: Final = (web, check, sessions, rank, simulate, compare, reproduce)

app: Final = click.version_option(__version__, message="gossamer %(version)s", help="Show the version.")(
    Group(
        "gossamer",
        (*_OF_COLLECTIONS, *_OF_WEBS, graph, completion),
        help="A Web crawler: important pages first, politely, and nothing that was fetched is ever lost.",
    )
)


def main() -> None:
    """Exit codes: 0 done, 1 fault, 2 usage, 3 locked, 4 disk or memory, 130 interrupted after a clean stop, 141 nobody
    reads the output."""
    guard()
    explain_bus_errors()
    if os.getpid() == 1:  # in a container: the system drops signals to its first process unless it handles them
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        told = error if isinstance(error, GossamerError) else translated(error)
        if told is None:
            raise
        if told.message:
            print(f"gossamer: {told.message}", file=sys.stderr)
        if told.cure:
            print(f"          {told.cure}", file=sys.stderr)
        sys.exit(told.exit_code)


def _run() -> None:
    try:
        sys.exit(app.main(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:  # click's word for Ctrl-C
        sys.exit(130)
    except SystemExit:
        sys.stdout.flush()  # what fails at the end of the interpreter has no message
        raise
