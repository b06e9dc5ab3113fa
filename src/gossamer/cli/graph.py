"""`gossamer graph`: graphs of a Web are made, shown and converted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.base.escape import for_json

graph = typer.Typer(no_args_is_help=True, help="Make a graph of a Web, show the figures of one, convert lists.")

_Out = Annotated[Path, typer.Argument(metavar="OUT", help="The graph to write (.npz).")]
_AsJson = Annotated[bool, typer.Option("--json", help="As one JSON object.")]


@graph.command()
def make(
    out: _Out,
    pages: Annotated[int, typer.Option(min=1, help="Pages.")] = 100_000,
    links: Annotated[float, typer.Option(min=1.5, max=40, help="Links of a page, on average.")] = 10.0,
    random_seed: Annotated[int, typer.Option(min=0, help="The same one gives the same graph.")] = 1,
    as_json: _AsJson = False,
) -> None:
    """Make a Web with the distributions of a national one, write it to OUT, and check what came out."""
    from gossamer.cli.graph_text import figure_lines, verdict_lines
    from gossamer.laboratory.graphs import figures, webgraph
    from gossamer.laboratory.graphs.make import make as made

    webgraph.check_name(out)
    print(f"making {pages:,} pages …", file=sys.stderr)
    web = made(pages, links, random_seed, out.stem)
    webgraph.save(out, web)
    print("taking its figures …", file=sys.stderr)
    found = figures.figures(web)
    verdicts = figures.check(found, links) if pages >= figures.SMALLEST else []
    if as_json:
        said = [{"name": v.name, "wanted": v.wanted, "found": v.found, "holds": v.holds} for v in verdicts]
        print(for_json({"file": str(out), **figures.as_plain(found), "checks": said}))
        return
    print("\n".join([*figure_lines(found), "", *verdict_lines(verdicts), f"Written to {out}."]))


@graph.command()
def show(
    place: Annotated[Path, typer.Argument(metavar="GRAPH|DIR", help="A graph (.npz) or a collection.")],
    as_json: _AsJson = False,
) -> None:
    """Show how many pages, links and sites there are, how linked, how deep and how large."""
    from gossamer.cli.graph_text import figure_lines
    from gossamer.laboratory.collection_graph import open_graph
    from gossamer.laboratory.graphs import figures

    print(f"reading {place} …", file=sys.stderr)
    web = open_graph(place)
    print("taking its figures …", file=sys.stderr)
    found = figures.figures(web)
    print(for_json({"name": web.name, **figures.as_plain(found)}) if as_json else "\n".join(figure_lines(found)))


@graph.command()
def convert(
    edges: Annotated[
        Path, typer.Argument(metavar="EDGES|DIR", help="A link a line: two page numbers or two URLs; or a collection.")
    ],
    out: _Out,
    urls: Annotated[Path | None, typer.Option(help="A URL a line: page 0, 1, …; sites are their hosts.")] = None,
) -> None:
    """Make a graph of a list of links, or of a collection, and write it to OUT."""
    from gossamer.base.errors import UsageError
    from gossamer.base.units import thousands
    from gossamer.laboratory.collection_graph import open_graph
    from gossamer.laboratory.graphs import webgraph
    from gossamer.laboratory.graphs.edges import from_edges

    webgraph.check_name(out)
    print(f"reading {edges} …", file=sys.stderr)
    if edges.is_dir() and urls is not None:
        raise UsageError(f"--urls was given, but {edges} is a folder", "A collection has the URLs of its pages itself.")
    web = open_graph(edges) if edges.is_dir() else from_edges(edges, urls)
    webgraph.save(out, web)
    links = len(web.links.targets)
    print(f"{out}: {thousands(web.pages)} pages, {thousands(links)} links, {thousands(web.sites)} sites")
