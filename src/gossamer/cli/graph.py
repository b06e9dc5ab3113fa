"""`gossamer graph`: generates, shows and converts graphs of a Web."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json

graph = typer.Typer(
    no_args_is_help=True, help="Generate a graph of a Web, show statistics of a graph, or convert lists of links."
)

_Out = Annotated[Path, typer.Argument(metavar="OUT", help="Graph file to write (.npz).")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@graph.command()
def make(
    out: _Out,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages.")] = 100_000,
    links: Annotated[float, typer.Option(min=1.5, max=40, help="Mean number of links per page.")] = 10.0,
    random_seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same graph.")] = 1,
    as_json: _AsJson = False,
) -> None:
    """Generate a graph with the distributions of a national Web, write it to OUT, and check the result."""
    from gossamer.cli.graph_text import figure_lines, verdict_lines
    from gossamer.laboratory.graphs import figures, webgraph
    from gossamer.laboratory.graphs.make import make as made

    webgraph.check_name(out)
    print(f"generating {pages:,} pages …", file=sys.stderr)
    web = made(pages, links, random_seed, out.stem)
    webgraph.save(out, web)
    print("computing its statistics …", file=sys.stderr)
    measured = figures.figures(web)
    verdicts = figures.check(measured, links) if pages >= figures.SMALLEST else []
    if as_json:
        checks = [{"name": v.name, "wanted": v.wanted, "found": v.found, "holds": v.holds} for v in verdicts]
        print(for_json({"file": str(out), **figures.as_plain(measured), "checks": checks}))
        return
    print("\n".join([*figure_lines(measured), "", *verdict_lines(verdicts), f"Written to {out}."]))


@graph.command()
def show(
    place: Annotated[Path, typer.Argument(metavar="GRAPH|DIR", help="Graph file (.npz) or collection.")],
    as_json: _AsJson = False,
) -> None:
    """Show statistics: pages, links, sites, degrees, depths, sizes, components and the bow-tie."""
    from gossamer.cli.graph_text import figure_lines
    from gossamer.laboratory.collection_graph import open_graph
    from gossamer.laboratory.graphs import figures

    print(f"reading {place} …", file=sys.stderr)
    web = open_graph(place)
    print("computing its statistics …", file=sys.stderr)
    measured = figures.figures(web)
    print(for_json({"name": web.name, **figures.as_plain(measured)}) if as_json else "\n".join(figure_lines(measured)))


@graph.command()
def convert(
    edges: Annotated[
        Path,
        typer.Argument(
            metavar="EDGES|DIR", help="File with one link per line, as two page numbers or two URLs; or a collection."
        ),
    ],
    out: _Out,
    urls: Annotated[
        Path | None, typer.Option(help="File with one URL per line, of page 0, 1, …; their hosts are the sites.")
    ] = None,
) -> None:
    """Convert a list of links, or a collection, to a graph, and write it to OUT."""
    from gossamer.base.errors import UsageError
    from gossamer.base.units import thousands
    from gossamer.laboratory.collection_graph import open_graph
    from gossamer.laboratory.graphs import webgraph
    from gossamer.laboratory.graphs.edges import from_edges

    webgraph.check_name(out)
    print(f"reading {edges} …", file=sys.stderr)
    if edges.is_dir() and urls is not None:
        raise UsageError(
            f"--urls was given, but {edges} is a folder",
            "A collection contains the URLs of its pages: leave out --urls.",
        )
    web = open_graph(edges) if edges.is_dir() else from_edges(edges, urls)
    webgraph.save(out, web)
    links = len(web.links.targets)
    print(f"{out}: {thousands(web.pages)} pages, {thousands(links)} links, {thousands(web.sites)} sites")
