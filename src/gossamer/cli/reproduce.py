"""`gossamer compare`: compares a crawl with its simulation. `gossamer reproduce`: tables and figures of the thesis and
its papers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, strategies

if TYPE_CHECKING:
    from gossamer.laboratory.findings.finding import Finding


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@click.option(
    "--strategy",
    multiple=True,
    shell_complete=strategies,
    help="Strategy to simulate; default: that of the crawl. Repeatable.",
)
@click.option("--out", type=PATH, metavar="FOLDER", help="Write CSV files, plots and an HTML page here.")
@click.option("--random-seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same simulation.")
@flag("--json", "as_json", help="Print one JSON object.")
def compare(folder: Path, strategy: tuple[str, ...], out: Path | None, random_seed: int, as_json: bool) -> None:
    """Compare the crawl in DIR with its simulation on the graph that it found (PageRank by pages and by time), and with
    the shortest possible time."""
    from gossamer.cli.options import compile_kernels, strategies_of

    names = strategies_of(strategy)
    from gossamer.cli.progress import Progress
    from gossamer.collection.layout import require_collection
    from gossamer.laboratory import Bench
    from gossamer.laboratory.compare import compare as compared
    from gossamer.laboratory.compare import read
    from gossamer.laboratory.findings import folder as target
    from gossamer.laboratory.findings.finding import as_json as jsoned

    require_collection(folder)
    if out is not None:
        target.prepare(out)
    compile_kernels(sys.stderr)
    with Progress(sys.stderr) as progress, Bench(show=progress.doing) as bench:
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


@command
@argument("name", "[NAME|chapter-5|chapter-8|all]", "Name like table-4.1 or fig-4.7.", type=str, required=False)
@click.option("--graph", type=PATH, metavar="FILE", multiple=True, help="Graph file to use; repeatable.")
@click.option(
    "--collection",
    type=PATH,
    metavar="DIR",
    multiple=True,
    help="Collection for figures 4.12 to 4.16, 5.17 and chapter 8; repeatable.",
)
@click.option(
    "--log", "logs", type=PATH, metavar="FILE", multiple=True, help="Access log of a site for chapter 5; repeatable."
)
@click.option("--out", type=PATH, metavar="FOLDER", help="Write CSV files, plots, a report and an HTML page here.")
@click.option("--random-seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same results.")
@click.option(
    "--seconds", type=click.FloatRange(2, 600), default=40, help="Duration of each of the four crawls of fig-003."
)
@flag("--full", help="Run table-001 with all its pages; takes most of an hour.")
@flag("--json", "as_json", help="Print one JSON object.")
def reproduce(
    name: str | None,
    graph: tuple[Path, ...],
    collection: tuple[Path, ...],
    logs: tuple[Path, ...],
    out: Path | None,
    random_seed: int,
    seconds: float,
    full: bool,
    as_json: bool,
) -> None:
    """Reproduce a table or figure: the results of the paper, ours, and what agrees. Without NAME, list all names."""
    from gossamer.laboratory.reproduce.names import NAMES, named

    if name is None:
        for each, reproduction in NAMES.items():
            print(f"{each:<14} {reproduction.sentence} ({reproduction.source})")
        return
    from gossamer.cli.options import compile_kernels
    from gossamer.cli.progress import Progress
    from gossamer.laboratory import Bench
    from gossamer.laboratory.findings import folder
    from gossamer.laboratory.findings.finding import as_json as jsoned
    from gossamer.laboratory.reproduce.crawls import Crawls
    from gossamer.laboratory.reproduce.lab import Lab, subjects

    wanted = named(name)
    if out is not None:
        folder.prepare(out)
    findings = []
    compile_kernels(sys.stderr)
    with Progress(sys.stderr) as progress, Bench(show=progress.doing) as bench:
        crawls = Crawls(collection, out / "crawls" if out else None, show=progress.doing)
        try:
            needs_graphs = any(NAMES[each].on_graphs for each in wanted)
            graphs = subjects(graph, random_seed) if needs_graphs else []
            lab = Lab(bench, graphs, crawls, random_seed, seconds, full, logs)
            for each in wanted:
                findings.append(NAMES[each].function(lab))
                if out is not None:
                    folder.add(out, findings[-1])
                    folder.finish(out, "Reproductions", list(NAMES))
                if not as_json:
                    progress.pause()
                    show(findings[-1])
        finally:
            crawls.close()
    if as_json:
        print(for_json({"reproductions": [jsoned(each) for each in findings]}))
    if out is not None:
        print(f"{out / folder.PAGE}: plots and tables", file=sys.stderr)


def show(finding: Finding) -> None:
    from gossamer.laboratory.findings import table
    from gossamer.laboratory.findings.page import marked

    print(f"{finding.title}\n{finding.setting}")
    for each in finding.tables:
        print(f"\n{each.title}\n{table.as_text(each)}" if each.title else f"\n{table.as_text(each)}")
    if finding.sentences:
        print()
    for sentence in finding.sentences:
        print(f"- {marked(sentence)}")
    print(flush=True)
