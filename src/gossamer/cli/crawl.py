"""`gossamer crawl`: starts or resumes a crawl."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import StorageError, UsageError
from gossamer.base.escape import for_json


def crawl(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder of the collection; created if it does not exist, resumed otherwise."
        ),
    ],
    seed: Annotated[list[str] | None, typer.Option(help="URL to start from; repeatable.")] = None,
    seeds: Annotated[list[Path] | None, typer.Option(help="File of URLs, one per line; repeatable.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the demonstration Web and crawl it.")] = False,
    hostile: Annotated[bool, typer.Option("--hostile", help="Serve the hostile Web and crawl it.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file, in the form of crawl.toml.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; repeatable.")
    ] = None,
    contact: Annotated[
        str | None, typer.Option(help="Mail address or Web page of the person who runs the crawl.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Bytes per second to use at most (2MB/s); 0: no limit.")
    ] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Stop after this many stored pages.")] = None,
    for_: Annotated[str | None, typer.Option("--for", metavar="TIME", help="Stop after this time (10min).")] = None,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="End when no request is due within this time.")
    ] = "1min",
    log: Annotated[Path | None, typer.Option(help="Write a log of events to this file, as JSON lines.")] = None,
    log_level: Annotated[str, typer.Option(help="Lowest level to log: debug, info, warning or error.")] = "info",
    demo_log: Annotated[
        Path | None, typer.Option(help="With --demo or --hostile: write the access log of that Web here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Crawl into DIR: start a crawl, or resume it where it stopped."""
    from gossamer.base.ending import Ending
    from gossamer.cli.options import time_of
    from gossamer.crawl.run import CrawlRequest, run
    from gossamer.observe.ending import program
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb
    from gossamer.webs.local import served

    if demo and hostile:
        raise UsageError("--demo and --hostile cannot be combined", "Crawl each Web into its own folder.")
    web = DemoWeb() if demo else HostileWeb() if hostile else None
    own = {"contact": contact, "workers": workers, "bandwidth": bandwidth}
    changes = [f"harvester.{name}={json.dumps(value)}" for name, value in own.items() if value is not None]
    request = CrawlRequest(
        folder,
        tuple(seed or ()),
        tuple(seeds or ()),
        None if web is None else partial(served, web, log=demo_log),
        config,
        (*(settings or ()), *changes),
        pages,
        None if for_ is None else time_of("--for", for_),
        time_of("--patience", patience),
        log,
        log_level,
        user_settings(),
    )
    from gossamer.cli.progress import Progress

    with Progress(sys.stderr) as progress:
        report = run(request, progress)
    if as_json:
        print(for_json(report.statistics.to_json()))
    else:
        for line in report.lines():
            print(line, file=sys.stderr)
        if web is not None and report.statistics.requests.visits:
            print(f"  {program()} web {'--hostile ' if hostile else ''}--against {folder}", file=sys.stderr)
    if report.interrupted:
        raise typer.Exit(130)
    if report.ending is Ending.MEMORY:
        raise typer.Exit(StorageError.exit_code)


def user_settings() -> Path:
    """The settings file for all crawls of this user: the place to write the contact once."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "gossamer" / "crawl.toml"
