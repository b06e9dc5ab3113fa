"""`gossamer crawl`: starts or resumes a crawl."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import StorageError
from gossamer.base.escape import for_json
from gossamer.cli.options import time_of


def crawl(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection: made, or gone on with.")],
    seed: Annotated[list[str] | None, typer.Option(help="A URL to start from; repeatable.")] = None,
    seeds: Annotated[list[Path] | None, typer.Option(help="A file of URLs, one a line; repeatable.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the demonstration Web and crawl it.")] = False,
    hostile: Annotated[bool, typer.Option("--hostile", help="Serve the hostile Web and crawl it.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings to begin with, as crawl.toml.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting.")] = None,
    contact: Annotated[str | None, typer.Option(help="Mail address or web page of whoever runs the crawl.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Bytes a second that it may use (2MB/s); 0: no limit.")
    ] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Stop after this many stored pages.")] = None,
    for_: Annotated[str | None, typer.Option("--for", metavar="TIME", help="Stop after this time (10min).")] = None,
    patience: Annotated[str, typer.Option(metavar="TIME", help="End when nothing is due within this time.")] = "1min",
    log: Annotated[Path | None, typer.Option(help="Log events to this file, as JSON lines.")] = None,
    log_level: Annotated[str, typer.Option(help="Least that is logged: debug, info, warning, error.")] = "info",
    demo_log: Annotated[Path | None, typer.Option(help="With --demo or --hostile: that Web's own access log.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object on standard output.")] = False,
) -> None:
    """Crawl into DIR: start, or go on where it stopped."""
    from gossamer.base.ending import Ending
    from gossamer.base.errors import UsageError
    from gossamer.crawl.run import CrawlRequest, run
    from gossamer.observe.ending import program
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb
    from gossamer.webs.local import served

    if demo and hostile:
        raise UsageError("--demo and --hostile are two Webs", "Crawl each into a folder of its own.")
    web = DemoWeb() if demo else HostileWeb() if hostile else None
    changes = list(settings or [])
    if contact is not None:
        changes.append(f"harvester.contact={json.dumps(contact)}")
    if workers is not None:
        changes.append(f"harvester.workers={workers}")
    if bandwidth is not None:
        changes.append(f"harvester.bandwidth={json.dumps(bandwidth)}")
    request = CrawlRequest(
        folder,
        tuple(seed or ()),
        tuple(seeds or ()),
        None if web is None else partial(served, web, log=demo_log),
        config,
        tuple(changes),
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
    """Settings for all crawls of this user: who crawls, once."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "gossamer" / "crawl.toml"
