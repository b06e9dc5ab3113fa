"""`gossamer sessions`: how deep users go in a site, by its access logs, and how deep to crawl it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag

if TYPE_CHECKING:
    from gossamer.laboratory.findings.finding import Finding


@command
@argument(
    "logs",
    "LOG...",
    "Access logs: common, combined, W3C or JSON lines, also gzip; - for standard input.",
    nargs=-1,
    required=True,
)
@click.option(
    "--collection", type=PATH, metavar="DIR", help="A crawl of the site: its links and frames, and PageRank by level."
)
@click.option(
    "--host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="Host name of the site; default: the one in the log. Repeatable.",
)
@click.option(
    "--ignore",
    metavar="TEXT",
    multiple=True,
    help="Leave out pages whose address contains this, such as a Web application. Repeatable.",
)
@click.option("--timeout", metavar="TIME", default="30min", help="A session ends when nothing is viewed for this time.")
@click.option(
    "--precision",
    metavar="TIME",
    default="1s",
    help="Precision of the times in the log; lines within it keep their order.",
)
@click.option(
    "--share",
    type=click.FloatRange(1, 100, max_open=True),
    metavar="PERCENT",
    default=90,
    help="Share of the visits that a crawl should cover.",
)
@flag("--each", help="Treat each log as a site of its own.")
@click.option("--out", type=PATH, metavar="FOLDER", help="Write an HTML page, CSV files, SVG plots and JSON here.")
@flag("--json", "as_json", help="Print one JSON object.")
def sessions(
    logs: tuple[Path, ...],
    collection: Path | None,
    hosts: tuple[str, ...],
    ignore: tuple[str, ...],
    timeout: str,
    precision: str,
    share: float,
    each: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Read access logs of a site: sessions of its users, how deep they go, which model of surfers fits, and to which
    depth to crawl."""
    from gossamer.cli.options import compile_kernels, time_of
    from gossamer.cli.progress import Progress
    from gossamer.collection.layout import require_collection
    from gossamer.collection.runs import settings_of_last_run
    from gossamer.config import Settings
    from gossamer.laboratory.report import make
    from gossamer.laboratory.sessions.gather import Asked, gather, labels
    from gossamer.laboratory.sessions.links import ranked, site_of
    from gossamer.laboratory.sessions.present import findings
    from gossamer.laboratory.sessions.trace import NO_SITE

    if collection is not None:
        require_collection(collection)
    if out is not None:
        make.prepare(out)
    asked = Asked(
        tuple(host.lower().removeprefix("www.") for host in hosts),
        ignore,
        int(time_of("--timeout", timeout)),
        max(1, int(time_of("--precision", precision))),
        settings_of_last_run(collection) if collection is not None else Settings(),
        site_of(collection) if collection is not None else lambda names: NO_SITE,
    )
    compile_kernels(sys.stderr)
    groups = [(path,) for path in logs] if each else [logs]
    title = f"Sessions of {', '.join(labels(groups))}"
    with Progress(sys.stderr) as progress:
        found = [gather(paths, name, asked, progress.doing) for paths, name in zip(groups, labels(groups), strict=True)]
        progress.doing("fitting models")
        shown = findings(found, share / 100)
        if collection is not None:
            shown.append(ranked(collection, progress.doing))
        page = make.write(out, title, shown, progress.doing) if out is not None else None
    if as_json:
        print(for_json(make.plain(title, shown)))
    else:
        _show(shown)
    if page is not None:
        print(page, file=sys.stderr)


def _show(findings: Sequence[Finding]) -> None:
    """All tables, and what to do at the end."""
    from gossamer.laboratory.findings import table

    print(f"{findings[0].setting}\n")
    for finding in findings:
        for each in finding.tables:
            print(f"{each.title}\n\n{table.as_text(each)}\n")
    for finding in (*findings[1:], findings[0]):
        for sentence in finding.sentences:
            print(f"- {sentence.text}")
