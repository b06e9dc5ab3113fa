"""`gossamer check`: checks the politeness of a crawl by the access log of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json

SHOWN = 50
"""Maximum number of violations that are printed."""


def check(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Access logs of `gossamer web` or of nginx.")],
    config: Annotated[Path, typer.Option(help="Settings of the crawl: its crawl.toml.")],
    robots: Annotated[
        Path | None,
        typer.Option(
            help="For a log of nginx: folder with HOST/robots.txt; robots.txt.20261117T051400Z is valid from that time."
        ),
    ] = None,
    kill: Annotated[
        list[float] | None, typer.Option(help="Time at which the crawl was killed, by the clock of the log.")
    ] = None,
    lost: Annotated[float, typer.Option(help="Seconds before a kill in which answers may be lost.")] = 1.5,
    agent: Annotated[str | None, typer.Option(help="Check only requests whose User-Agent contains this.")] = None,
    wall: Annotated[bool, typer.Option("--wall", help="Use the wall clock of a `gossamer web` log.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Report every request in LOG that came too early, in parallel or against robots.txt; exit code 1 if any did."""
    from gossamer.config import load
    from gossamer.webs import checker

    described = next((web for web in map(checker.web_of, logs) if web), None)
    if robots:
        robots_of = checker.robots_in(robots)
    else:
        robots_of = checker.robots_of_web(described) if described else lambda _request: None
        if wall and described and described.changing:
            raise UsageError("the robots.txt files of this Web change by the monotonic clock", "Leave out --wall.")
    requests = (r for r in checker.read_all(logs, wall=wall) if agent is None or agent in r.agent)
    report = checker.check(requests, load(config), robots_of, kill or (), lost=lost)
    if as_json:
        print(for_json(report.as_json()))
    else:
        for violation in report.violations[:SHOWN]:
            print(violation)
        if report.total > SHOWN:
            print(f"… and {report.total - SHOWN:,} more (--json prints the first thousand of each kind). The worst:")
            for violation in report.worst.values():
                print(violation)
        print(report.verdict)
    if not report.is_polite:
        raise typer.Exit(1)
