"""`gossamer simulate`: simulates a crawl on a graph. No server is requested."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.base.escape import for_json

if TYPE_CHECKING:
    from gossamer.laboratory import Measured, Subject


class ServerKind(StrEnum):
    """How simulated servers answer."""

    instant = "instant"
    measured = "measured"
    faulty = "faulty"


def simulate(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH|DIR", help="Graph file (.npz) or collection.")],
    strategy: Annotated[list[str], typer.Option(help="Strategy that orders the pages; repeatable.")],
    connections: Annotated[int, typer.Option(min=1, help="Maximum number of open connections (r).")] = 1,
    wait: Annotated[str, typer.Option(metavar="TIME", help="Time between two turns at a site (w).")] = "0s",
    per_turn: Annotated[int, typer.Option(min=1, help="Pages per turn, over one connection (c).")] = 1,
    pause: Annotated[str, typer.Option(metavar="TIME", help="Time between the pages of a turn.")] = "0s",
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SPEED", help="Bandwidth of the crawler, like 2MB/s.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Pages in a plan (K); 1: the order is always up to date.")] = 1,
    start: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of page numbers to start from, one per line.")
    ] = None,
    servers: Annotated[
        ServerKind, typer.Option(metavar="KIND", help="How servers answer: instant, measured (3.3) or faulty.")
    ] = ServerKind.instant,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change any other setting of the simulation; repeatable."),
    ] = None,
    random_seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same run.")] = 1,
    pages: Annotated[int, typer.Option(min=0, help="Stop after this many pages; 0: fetch all.")] = 0,
    order: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page numbers here, in the order of download.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write CSV files, plots and an HTML page here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate crawls of a graph, or of the graph of a collection: which strategy collects PageRank first, and when."""
    from gossamer.cli.options import note_kernels, pages_of, speed_of, strategies_of, time_of

    names = strategies_of(strategy)
    seconds, rest, speed = time_of("--wait", wait), time_of("--pause", pause), speed_of("--bandwidth", bandwidth)
    from gossamer.cli.progress import Steps
    from gossamer.laboratory import Bench, Job, Subject
    from gossamer.laboratory.bench import with_start
    from gossamer.laboratory.collection_graph import open_graph
    from gossamer.laboratory.findings import folder
    from gossamer.laboratory.simulate.scenario import Scenario, Servers, changed

    if out is not None:
        folder.prepare(out)
    web = open_graph(graph)
    if start is not None:
        web = with_start(web, pages_of("--start", start, web.pages))
    scenario = Scenario(
        connections=connections,
        wait=seconds,
        per_turn=per_turn,
        pause=rest,
        bandwidth=speed,
        batch=batch,
        most_pages=pages,
        servers=getattr(Servers, servers.value)(),
        random_seed=random_seed,
    )
    scenario = changed(scenario, changes or ())
    subject = Subject(web, seed=random_seed)
    note_kernels(sys.stderr)
    with Steps(sys.stderr) as steps, Bench(show=steps.show) as bench:
        found = bench.run(subject, [Job(name, scenario, order is not None) for name in names])
    if order is not None:
        _write_orders(order, found)
    if as_json:
        print(for_json(_as_json(subject, found)))
    _show(subject, found, out, quiet=as_json)


def _write_orders(path: Path, runs: list[Measured]) -> None:
    from gossamer.laboratory.findings import folder

    for run in runs:
        target = path if len(runs) == 1 else path.with_name(f"{path.stem}.{run.strategy}{path.suffix}")
        folder.write(target, "".join(f"{page}\n" for page in run.order.tolist()))


def _as_json(subject: Subject, found: list[Measured]) -> dict[str, Any]:
    graph = subject.graph
    return {
        "graph": graph.name,
        "pages": graph.pages,
        "links": len(graph.links.targets),
        "sites": graph.sites,
        "start": len(graph.start),
        "runs": [each.summary() for each in found],
    }


def _show(subject: Subject, found: list[Measured], out: Path | None, quiet: bool) -> None:
    from gossamer.laboratory.findings import folder, runs, table
    from gossamer.laboratory.findings.finding import Finding

    names = [each.strategy for each in found]
    scores = runs.scores("simulate-scores", names, found)
    if not quiet:
        print(subject.described, file=sys.stderr)
        print(table.as_text(scores))
    if out is not None:
        plots = [runs.by_pages("simulate-pages", names, found)]
        if any(each.totals.seconds > 0 for each in found):
            plots += [runs.by_time("simulate-time", names, found), runs.active("simulate-active", names, found)]
        title = f"Simulated crawls of {subject.name}"
        shown = Finding("simulate", title, "", subject.described, (scores,), tuple(plots))
        folder.add(out, shown)
        folder.finish(out, shown.title)
        print(f"{out / folder.PAGE}: plots and tables", file=sys.stderr)
