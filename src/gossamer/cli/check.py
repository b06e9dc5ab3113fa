"""`gossamer check`: the politeness of a crawl, judged by a server's access log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

SHOWN = 50


def check(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Access logs: of `gossamer web`, or of nginx.")],
    config: Annotated[Path, typer.Option(help="The crawl's settings: its crawl.toml.")],
    robots: Annotated[Path | None, typer.Option(help="Folder with HOST/robots.txt files, for nginx's log.")] = None,
    kill: Annotated[list[float] | None, typer.Option(help="When the crawl was killed, in the log's clock.")] = None,
    agent: Annotated[str | None, typer.Option(help="Judge only requests whose User-Agent has this word.")] = None,
    wall: Annotated[bool, typer.Option("--wall", help="Use the wall clock of a `gossamer web` log.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Report every request in LOG that came too early, in parallel or against robots.txt; exit code 1 if any did."""
    from gossamer import checker
    from gossamer.config import load

    described = next((web for web in map(checker.web_of, logs) if web), None)
    if robots:
        robots_of = checker.robots_in(robots)
    else:
        robots_of = described.robots_of if described else lambda _origin: None
    requests = (r for log in logs for r in checker.read(log, wall=wall) if agent is None or agent in r.agent)
    report = checker.check(requests, load(config), robots_of, kill or ())
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        for violation in report.violations[:SHOWN]:
            print(violation)
        if len(report.violations) > SHOWN:
            print(f"… and {len(report.violations) - SHOWN:,} more (--json has them all).")
        print(report.verdict)
    if not report.is_polite:
        raise typer.Exit(1)
