"""`gossamer compare`: compares a crawl with its simulation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json


def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection; it may be running.")],
    strategy: Annotated[
        list[str] | None, typer.Option(help="Strategy to simulate; default: that of the crawl. Repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write CSV files, plots and an HTML page here.")
    ] = None,
    random_seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same simulation.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the crawl in DIR with its simulation on the graph that it found (PageRank by pages and by time), and with
    the shortest possible time."""
    from gossamer.cli.options import note_kernels, strategies_of

    names = strategies_of(strategy or [])
    from gossamer.cli.progress import Steps
    from gossamer.cli.reproduce import show
    from gossamer.laboratory import Bench
    from gossamer.laboratory.compare import compare as compared
    from gossamer.laboratory.compare import read
    from gossamer.laboratory.findings import folder as target
    from gossamer.laboratory.findings.finding import as_json as jsoned

    if out is not None:
        target.prepare(out)
    note_kernels(sys.stderr)
    with Steps(sys.stderr) as steps, Bench(show=steps.show) as bench:
        crawled = read(folder)
        finding = compared(crawled, bench, names or [crawled.policy], random_seed)
    if out is not None:
        target.add(out, finding)
        target.finish(out, finding.title)
        print(f"{out / target.PAGE}: plots and tables", file=sys.stderr)
    if as_json:
        print(for_json(jsoned(finding)))
    else:
        show(finding)
