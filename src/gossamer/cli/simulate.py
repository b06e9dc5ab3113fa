"""`gossamer simulate`: simulates a crawl on a graph. No server is requested."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, strategies

if TYPE_CHECKING:
    from gossamer.laboratory import Measured, Subject
    from gossamer.laboratory.simulate.scenario import Scenario


@command
@argument("graph", "GRAPH|DIR", "Graph file (.npz) or collection; with --revisit: what changes.")
@click.option(
    "--strategy", multiple=True, shell_complete=strategies, help="Strategy that orders the pages; repeatable."
)
@click.option(
    "--revisit",
    multiple=True,
    metavar="POLICY",
    help="Simulate re-visits instead, by this policy; repeatable. GRAPH is then poisson, business-hours, bursts, "
    "never, or a file of changes.",
)
@click.option(
    "--settings",
    "own",
    type=PATH,
    metavar="FILE|DIR",
    multiple=True,
    help="Simulate these settings: a crawl.toml, or a collection that has one; repeatable.",
)
@flag("--tune", help="Find the best exponents alpha and gamma for re-visits within the budget.")
@click.option(
    "--history", type=PATH, metavar="DIR", help="An older collection, for the historical-pagerank strategies of DIR."
)
@click.option(
    "--budget", type=click.FloatRange(0.01, 100), default=1.0, help="With --revisit and --tune: visits for each change."
)
@click.option("--connections", type=click.IntRange(min=1), default=1, help="Maximum number of open connections (r).")
@click.option("--wait", metavar="TIME", default="0s", help="Time between two turns at a site (w).")
@click.option("--per-turn", type=click.IntRange(min=1), default=1, help="Pages per turn, over one connection (c).")
@click.option("--pause", metavar="TIME", default="0s", help="Time between the pages of a turn.")
@click.option("--bandwidth", metavar="SPEED", help="Bandwidth of the crawler, like 2MB/s.")
@click.option(
    "--batch", type=click.IntRange(min=1), default=1, help="Pages in a plan (K); 1: the order is always up to date."
)
@click.option("--start", type=PATH, metavar="FILE", help="File of page numbers to start from, one per line.")
@click.option(
    "--servers",
    type=click.Choice(["instant", "measured", "faulty"]),
    metavar="KIND",
    default="instant",
    help="How servers answer: instant, measured (3.3) or faulty.",
)
@click.option(
    "--set",
    "changes",
    metavar="NAME=VALUE",
    multiple=True,
    help="Change any other setting of the simulation; repeatable.",
)
@click.option("--random-seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same run.")
@click.option("--pages", type=click.IntRange(min=0), default=0, help="Stop after this many pages; 0: fetch all.")
@click.option("--order", type=PATH, metavar="FILE", help="Write the page numbers here, in the order of download.")
@click.option("--out", type=PATH, metavar="FOLDER", help="Write CSV files, plots and an HTML page here.")
@flag("--json", "as_json", help="Print one JSON object.")
def simulate(
    graph: Path,
    strategy: tuple[str, ...],
    revisit: tuple[str, ...],
    own: tuple[Path, ...],
    tune: bool,
    history: Path | None,
    budget: float,
    connections: int,
    wait: str,
    per_turn: int,
    pause: str,
    bandwidth: str | None,
    batch: int,
    start: Path | None,
    servers: str,
    changes: tuple[str, ...],
    random_seed: int,
    pages: int,
    order: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate crawls of a graph, or of the graph of a collection: which strategy collects PageRank first, and when.
    With --revisit: which policy of re-visits keeps copies fresh."""
    changing = _changes(graph)
    _check_kind(tune, strategy, revisit, own)
    if tune:
        _tune(graph, changing, budget, pages, random_seed, out, as_json)
        return
    if revisit or changing:
        _simulate_revisits(str(graph), revisit, own, budget, pages, random_seed, out, as_json)
        return
    from gossamer.cli.options import speed_of, strategies_of, time_of
    from gossamer.laboratory.simulate.scenario import Scenario, Servers

    names = strategies_of(strategy)
    scenario = Scenario(
        connections=connections,
        wait=time_of("--wait", wait),
        per_turn=per_turn,
        pause=time_of("--pause", pause),
        bandwidth=speed_of("--bandwidth", bandwidth),
        batch=batch,
        most_pages=pages,
        servers=getattr(Servers, servers)(),
        random_seed=random_seed,
    )
    _simulate_crawls(graph, names, own, scenario, changes, start, history, order, out, as_json)


def _check_kind(tune: bool, strategy: tuple[str, ...], revisit: tuple[str, ...], own: tuple[Path, ...]) -> None:
    """Refuses options that belong to different kinds of simulations, and none of them."""
    if tune and (strategy or revisit or own):
        raise UsageError("--tune cannot be combined with --strategy, --revisit or --settings", "Leave them out.")
    if not tune and bool(strategy) == bool(revisit) and not (own and not strategy):
        raise UsageError(
            "a simulation needs a --strategy for a graph, a --revisit for pages that change, or --settings",
            "Give one of them.",
        )


def _simulate_crawls(
    graph: Path,
    names: list[str],
    own: tuple[Path, ...],
    options: Scenario,
    changes: tuple[str, ...],
    start: Path | None,
    history: Path | None,
    order: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    from gossamer.cli.options import compile_kernels, pages_of
    from gossamer.cli.progress import Progress
    from gossamer.laboratory import Bench, Job, Subject
    from gossamer.laboratory.bench import with_start
    from gossamer.laboratory.findings import folder
    from gossamer.laboratory.simulate.scenario import changed
    from gossamer.laboratory.trial import history_of, open_place, own_jobs
    from gossamer.laboratory.two_crawls import described

    if out is not None:
        folder.prepare(out)
    place = open_place(graph)
    web, before = place.graph, history_of(place, history, names)
    if start is not None:
        web = with_start(web, pages_of("--start", start, web.pages))
    scenario = changed(options, changes)
    compile_kernels(sys.stderr)
    subject = Subject(web, seed=options.random_seed, history=before)
    if before is not None:
        subject.note = described(before, subject.worth)
    jobs = [Job(name, scenario, order is not None) for name in names]
    jobs += own_jobs(own, place, scenario, changes, order is not None)
    with Progress(sys.stderr) as progress, Bench(show=progress.doing) as bench:
        found = bench.run(subject, jobs)
    if order is not None:
        _write_orders(order, found)
    if as_json:
        print(for_json(_as_json(subject, found)))
    _show(subject, found, out, quiet=as_json)


def _changes(place: Path) -> bool:
    """Whether these are pages that change, and no graph."""
    from gossamer.laboratory.freshness.worlds import KINDS
    from gossamer.laboratory.graphs.webgraph import SUFFIX

    return str(place) in KINDS or (place.is_file() and place.suffix != SUFFIX)


def _simulate_revisits(
    name: str,
    policies: tuple[str, ...],
    own: tuple[Path, ...],
    budget: float,
    pages: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    from gossamer.cli.progress import Progress
    from gossamer.laboratory.findings import folder, table
    from gossamer.laboratory.freshness import revisits
    from gossamer.laboratory.trial import settings_at

    asked = {policy: revisits.Asked(policy) for policy in revisits.known_policies(policies)}
    for path in own:
        label, settings = settings_at(path)
        asked[f"{label.partition(' (')[0]} ({settings.manager.revisit})"] = revisits.asked_by(settings)
    if out is not None:
        folder.prepare(out)
    world = revisits.world_of(name, budget, pages, seed)
    with Progress(sys.stderr) as progress:
        found = revisits.revisits(world, asked, budget, seed, progress.doing)
    shown = revisits.finding(world, found, budget)
    if as_json:
        runs = [{"policy": policy} | revisits.summary(result) for policy, result in found.items()]
        about = {"world": world.name, "pages": world.pages, "changes": len(world.time), "budget": budget}
        print(for_json(about | {"runs": runs}))
    else:
        print(shown.setting, file=sys.stderr)
        print(table.as_text(shown.tables[0]))
    if out is not None:
        folder.add(out, shown)
        folder.finish(out, shown.title)
        print(f"{out / folder.PAGE}: plots and tables", file=sys.stderr)


def _tune(place: Path, changing: bool, budget: float, pages: int, seed: int, out: Path | None, as_json: bool) -> None:
    from gossamer.cli.options import compile_kernels
    from gossamer.cli.progress import Progress
    from gossamer.cli.reproduce import show
    from gossamer.laboratory import Subject
    from gossamer.laboratory.findings import folder
    from gossamer.laboratory.freshness import revisits, tune
    from gossamer.laboratory.trial import believed_rates, open_place
    from gossamer.rank.names import share_score

    if out is not None:
        folder.prepare(out)
    if changing:
        worlds: Sequence[tune.Weighted] = [(revisits.world_of(str(place), budget, pages, seed), None)]
    else:
        opened = open_place(place)
        compile_kernels(sys.stderr)
        scores = share_score(Subject(opened.graph).worth, opened.graph.pages)
        worlds = tune.worlds_on(opened.graph.name, scores, believed_rates(opened), budget, seed)
    with Progress(sys.stderr) as progress:
        tuned = tune.tune(worlds, budget, seed, progress.doing)
    shown = tune.finding(tuned)
    if as_json:
        print(for_json(tuned.as_json()))
    else:
        show(shown)
        print("[manager]", *tuned.best.lines(), sep="\n")
    if out is not None:
        folder.add(out, shown)
        folder.finish(out, shown.title)
        print(f"{out / folder.PAGE}: tables", file=sys.stderr)


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
