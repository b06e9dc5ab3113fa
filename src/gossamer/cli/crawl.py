"""`gossamer crawl`: starts or resumes a crawl."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gossamer.base.errors import StorageError, UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, folders, settings_keys
from gossamer.cli.short import short_names
from gossamer.crawler.short import changes_of

if TYPE_CHECKING:
    from gossamer.crawler.run import CrawlRequest, Report
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb


@command
@argument(
    "words",
    "[DIR] [URL]...",
    "URLs to start from, and the folder of the collection: created if it does not exist, resumed otherwise. Without "
    "DIR, it is named after the host of the first URL.",
    type=str,
    nargs=-1,
    required=True,
    shell_complete=folders,
)
@click.option("--seed", multiple=True, help="URL to start from; repeatable.")
@click.option("--seeds", type=PATH, multiple=True, help="File of URLs, one per line; repeatable.")
@flag("--demo", help="Serve the demonstration Web and crawl it.")
@flag("--hostile", help="Serve the hostile Web and crawl it.")
@click.option("--config", type=PATH, help="Settings file, in the form of crawl.toml.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=settings_keys,
    help="Change one setting; repeatable.",
)
@short_names
@click.option("--pages", type=click.IntRange(min=1), help="Stop after this many stored pages.")
@click.option("--for", "for_", metavar="TIME", help="Stop after this time (10min).")
@click.option("--patience", metavar="TIME", default="1min", help="End when no request is due within this time.")
@click.option("--log", type=PATH, help="Write a log of events to this file, as JSON lines.")
@click.option("--log-level", default="info", help="Lowest level to log: debug, info, warning or error.")
@click.option("--demo-log", type=PATH, help="With --demo or --hostile: write the access log of that Web here.")
@click.option(
    "--demo-speed",
    type=click.FloatRange(0, 100_000),
    default=0.0,
    help="With --demo: its pages change, this many times as fast as in real life; 0: nothing changes.",
)
@flag("--serve", help="Also show the crawl in a browser, as `gossamer serve` does.")
@click.option("--serve-port", type=click.IntRange(1, 65_535), default=8470, help="With --serve: port to listen on.")
@flag("--json", "as_json", help="Print the result as one JSON object.")
def crawl(
    words: tuple[str, ...],
    seed: tuple[str, ...],
    seeds: tuple[Path, ...],
    demo: bool,
    hostile: bool,
    config: Path | None,
    settings: tuple[str, ...],
    pages: int | None,
    for_: str | None,
    patience: str,
    log: Path | None,
    log_level: str,
    demo_log: Path | None,
    demo_speed: float,
    serve: bool,
    serve_port: int,
    as_json: bool,
    **short: Any,
) -> None:
    """Crawl the sites of URLs into DIR: start a crawl, or resume it where it stopped."""
    from gossamer.base.ending import Ending
    from gossamer.cli.contact import can_ask
    from gossamer.cli.options import time_of
    from gossamer.cli.place import placed
    from gossamer.cli.view import folded
    from gossamer.crawler.start import CrawlRequest
    from gossamer.observe.ending import program
    from gossamer.read.tell.beside import telling
    from gossamer.serve.beside import serving
    from gossamer.webs.local import served

    web = _made(demo, hostile, demo_speed)
    folder, named = placed(words, _say)
    request = CrawlRequest(
        folder,
        (*named, *seed),
        seeds,
        None if web is None else partial(served, web, log=demo_log),
        config,
        (*settings, *changes_of(short)),
        pages,
        None if for_ is None else time_of("--for", for_),
        time_of("--patience", patience),
        log,
        log_level,
    )
    with telling(folder, _say), serving(folder, serve_port, _say) if serve else nullcontext():
        report = _run(request, may_ask=can_ask())
    if as_json:
        print(for_json(report.statistics.to_json()))
    else:
        print("\n".join(folded(report.lines(), sys.stderr)), file=sys.stderr)
        if web is not None and report.statistics.requests.visits:
            kind = "--hostile " if hostile else f"--speed {demo_speed:g} " if demo_speed else ""
            _say(f"  {program()} web {kind}--against {folder}")
    if report.interrupted:
        sys.exit(130)
    if report.ending is Ending.MEMORY:
        sys.exit(StorageError.exit_code)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _made(demo: bool, hostile: bool, speed: float) -> DemoWeb | HostileWeb | None:
    """The Web on this machine that is to be crawled; None: the Web outside."""
    from gossamer.webs.demo import DemoWeb
    from gossamer.webs.hostile.web import HostileWeb

    if demo and hostile:
        raise UsageError("--demo and --hostile cannot be combined", "Crawl each Web into its own folder.")
    if speed and not demo:
        raise UsageError("--demo-speed is for the demonstration Web", "Add --demo, or leave --demo-speed out.")
    return DemoWeb(speed=speed) if demo else HostileWeb() if hostile else None


def _run(request: CrawlRequest, may_ask: bool) -> Report:
    """Runs the crawl. If its contact is missing, or a plug-in is not confirmed, asks for it once."""
    from gossamer.cli.confirm import confirms
    from gossamer.cli.contact import asked
    from gossamer.cli.progress import Progress
    from gossamer.config.user import user_settings
    from gossamer.config.values import write
    from gossamer.crawler.start import NoContactError
    from gossamer.plugins.trust import UnconfirmedError

    try:
        with Progress(sys.stderr) as progress:
            progress.doing("starting")
            from gossamer.crawler.run import run  # takes half of a second

            return run(replace(request, user_settings=user_settings()), progress)
    except UnconfirmedError as error:
        if not may_ask or not confirms(error.plugins):
            raise
        return _run(request, may_ask)
    except NoContactError:
        if not may_ask:
            raise
    contact = f"harvester.contact={write(asked(user_settings()))}"
    return _run(replace(request, changes=(*request.changes, contact)), may_ask=False)
