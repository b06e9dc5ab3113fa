"""`gossamer graph`: generates, shows and converts graphs of a Web. `gossamer rank`: computes how important pages and
sites are, by their links."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.base.units import human_size, thousands
from gossamer.cli.command import PATH, Group, argument, command, flag

if TYPE_CHECKING:
    from gossamer.base.arrays import Array
    from gossamer.config.settings import Settings
    from gossamer.laboratory.graphs.figures import Check, GraphFigures
    from gossamer.laboratory.graphs.powerlaw import Fit

_out = argument("out", "OUT", "Graph file to write (.npz).")
_NAMES: Final = ("url", "name")
NATIONAL: Final = "national"
_as_json = flag("--json", "as_json", help="Print one JSON object.")


@command
@_out
@click.option("--pages", type=click.IntRange(min=1), default=100_000, help="Number of pages.")
@click.option("--links", type=click.FloatRange(1.5, 40), default=10.0, help="Mean number of links per page.")
@click.option(
    "--model",
    type=click.Choice([NATIONAL, "random", "attachment", "copying", "mixture"]),
    metavar="NAME",
    default=NATIONAL,
    help="How links come about: national (as measured on a national Web), random, attachment, copying or mixture.",
)
@click.option(
    "--exponent", type=float, help="Exponent of the in-degree, for copying and mixture; 2.1 unless another is given."
)
@click.option("--random-seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same graph.")
@_as_json
def make(
    out: Path, pages: int, links: float, model: str, exponent: float | None, random_seed: int, as_json: bool
) -> None:
    """Generate a graph with the distributions of a national Web, or by a model, write it to OUT, and check the
    result."""
    from gossamer.laboratory.graphs import figures, models, webgraph
    from gossamer.laboratory.graphs.make import make as made

    webgraph.check_name(out)
    if model == NATIONAL and exponent is not None:
        raise UsageError(
            "a national Web has the exponents that were measured", "Give --exponent with --model copying or mixture."
        )
    _compile()
    print(f"generating {pages:,} pages …", file=sys.stderr)
    if model == NATIONAL:
        web = made(pages, links, random_seed, out.stem)
    else:
        web = models.make(model, pages, links, exponent, random_seed)
    webgraph.save(out, web)
    print("computing its statistics …", file=sys.stderr)
    measured = figures.figures(web)
    verdicts = []
    if pages >= figures.SMALLEST:
        is_model = model != NATIONAL
        verdicts = models.check(web, model, links, exponent) if is_model else figures.check(measured, links)
    if as_json:
        checks = [{"name": v.name, "wanted": v.wanted, "found": v.found, "holds": v.holds} for v in verdicts]
        print(for_json({"file": str(out), **figures.as_plain(measured), "checks": checks}))
        return
    print("\n".join([*figure_lines(measured), "", *verdict_lines(verdicts), f"Written to {out}."]))


@command
@argument("places", "GRAPH|DIR ...", "Graph files (.npz) or collections.", nargs=-1, required=True)
@_as_json
def show(places: tuple[Path, ...], as_json: bool) -> None:
    """Show statistics: pages, links, sites, degrees, depths, sizes, components and the bow-tie. Several graphs stand
    side by side."""
    from gossamer.laboratory.collection_graph import open_graph, require_place
    from gossamer.laboratory.graphs import figures

    for place in places:
        require_place(place)
    _compile()
    found: dict[str, GraphFigures] = {}
    for place in places:
        print(f"reading {place} …", file=sys.stderr)
        web = open_graph(place)
        print("computing its statistics …", file=sys.stderr)
        found[str(place) if web.name in found else web.name] = figures.figures(web)
    if as_json:
        plain = [{"name": name, **figures.as_plain(measured)} for name, measured in found.items()]
        print(for_json(plain[0] if len(places) == 1 else {"graphs": plain}))
    elif len(found) == 1:
        print("\n".join(figure_lines(*found.values())))
    else:
        print("\n".join(beside_lines(found)))


@command
@argument("folder", "DIR", "Folder of the collection.")
@click.option("--edges", type=PATH, metavar="FILE", help="Write links here: source, target and weight, with tabs.")
@click.option("--graphml", type=PATH, metavar="FILE", help="Write GraphML here, for Gephi, NetworkX or igraph.")
@flag("--sites", help="Export the graph of sites, not of pages.")
@flag("--force", help="Overwrite the file.")
def export(folder: Path, edges: Path | None, graphml: Path | None, sites: bool, force: bool) -> None:
    """Export the links of a collection for other programs; FILE may end in .gz or .zst, and - is standard output."""
    from gossamer.collection.layout import require_collection
    from gossamer.laboratory.graph_export import as_edges, as_graphml, named
    from gossamer.read.export.target import STANDARD, compressed

    if edges is None and graphml is None:
        raise UsageError("nothing to write", "Name a file: --edges links.tsv or --graphml graph.graphml")
    require_collection(folder)
    _compile()
    graph = named(folder, sites)
    for path, lines in ((edges, as_edges), (graphml, as_graphml)):
        if path is not None:
            with compressed(path, force) as file:
                file.writelines(line.encode(errors="replace") for line in lines(graph))
            if path != STANDARD:
                nodes = "sites" if sites else "pages"
                print(f"{path}: {len(graph.names):,} {nodes}, {len(graph.weights):,} links", file=sys.stderr)


@command
@argument("edges", "EDGES|DIR", "File with one link per line, as two page numbers or two URLs; or a collection.")
@_out
@click.option("--urls", type=PATH, help="File with one URL per line, of page 0, 1, …; their hosts are the sites.")
def convert(edges: Path, out: Path, urls: Path | None) -> None:
    """Convert a list of links, or a collection, to a graph, and write it to OUT."""
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


@command
@argument("place", "GRAPH|DIR", "Graph file (.npz) or collection.")
@click.option("--pages", type=click.IntRange(min=1), default=1000, help="Number of pages to draw.")
@flag("--uncorrected", help="Keep pages as the walk visits them: in proportion to their PageRank.")
@click.option("--random-seed", type=click.IntRange(min=0), default=1, help="The same seed gives the same sample.")
def sample(place: Path, pages: int, uncorrected: bool, random_seed: int) -> None:
    """Draw pages by a random walk, corrected by 1/PageRank, so that all pages are equally probable. Prints URLs of a
    collection, numbers of a graph."""
    from gossamer.collection.layout import is_collection
    from gossamer.laboratory.collection_graph import collected, open_graph, require_place
    from gossamer.laboratory.graphs.walk import sample as walked

    require_place(place)
    _compile()
    if is_collection(place):
        whole = collected(place)
        print("\n".join(whole.urls(walked(whole.graph.links, pages, not uncorrected, random_seed))))
    else:
        print(*walked(open_graph(place).links, pages, not uncorrected, random_seed).tolist(), sep="\n")


graph = Group(
    "graph",
    (make, show, convert, sample, export),
    help="Generate a graph of a Web, show statistics of a graph, convert lists of links, draw a sample, or export a "
    "collection.",
    short_help="Make, show, convert, sample and export graphs of a Web.",
)


@command
@argument("place", "GRAPH|DIR", "Graph file (.npz), or a collection that is not running.")
@click.option("--top", type=click.IntRange(min=1), default=20, help="Number of pages and of sites to show.")
@_as_json
def rank(place: Path, top: int, as_json: bool) -> None:
    """Compute every link score: PageRank, HITS, SiteRank, weighted link rank, components. A collection stores them."""
    from gossamer import config
    from gossamer.cli.confirm import confirmed_in
    from gossamer.collection.layout import SETTINGS, is_collection
    from gossamer.laboratory import analyse
    from gossamer.laboratory.collection_graph import known_urls, open_graph, require_place
    from gossamer.manager.scores.own import Own
    from gossamer.manager.value import Value, merit_weights

    def step(what: str) -> None:
        print(f"{what} …", file=sys.stderr, flush=True)

    require_place(place)
    _compile()
    if is_collection(place):
        settings = config.load(place / SETTINGS)
        own = Own.of(confirmed_in(place, "score"), settings.plugins)
        weights = merit_weights(Value.of(settings.manager).weights)
        analysed = analyse.analyse_collection(place, weights, step, own)
        for wrong in analysed.wrong:
            print(f"warning: {wrong}", file=sys.stderr)
        hosts = partial(_hosts, place, settings)
        summary = analyse.summary(analysed, top, partial(known_urls, place), hosts)
    else:
        step(f"reading {place}")
        analysed = analyse.analyse(open_graph(place), step)
        summary = analyse.summary(analysed, top)
    print(for_json(summary) if as_json else "\n".join(_lines(summary)))
    if is_collection(place) and not as_json:
        print(f'Stored with {place}: gossamer sql {place} "select url, pagerank, part from pages"')


def _compile() -> None:
    from gossamer.cli.options import compile_kernels

    compile_kernels(sys.stderr)


def _hosts(place: Path, settings: Settings, sites: Array) -> list[str]:
    """The names of these sites of a collection."""
    from gossamer.read.sql.database import Database
    from gossamer.read.sql.sources import find

    wanted = ", ".join(map(str, sites.tolist()))
    found = Database(find(place), settings).query(f"select site, name from sites where site in ({wanted})")
    names: dict[int, str] = dict(found.rows)
    return [names.get(site, "") for site in sites.tolist()]


def _lines(summary: dict[str, Any]) -> list[str]:
    counts = (
        f"{thousands(summary['pages'])} pages, {thousands(summary['links'])} links, {thousands(summary['sites'])} sites"
    )
    components = f"{thousands(summary['components'])} strong components, the largest has "
    return [
        counts,
        "",
        *_table(summary["top_pages"]),
        "",
        *_table(summary["top_sites"]),
        "",
        f"{components}{thousands(summary['largest_component'])} pages",
        *part_lines(summary["parts"], summary["site_parts"]),
    ]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """An aligned table: numbers to the right, and names, which may be long, last."""
    if not rows:
        return []
    names = sorted(rows[0], key=lambda name: name in _NAMES)
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    return ["  ".join(_placed(c, w, n) for c, w, n in zip(row, widths, names, strict=True)).rstrip() for row in cells]


def _placed(cell: str, width: int, name: str) -> str:
    return cell.ljust(width) if name in (*_NAMES, "part") else cell.rjust(width)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def figure_lines(f: GraphFigures) -> list[str]:
    links, sites, depths, whole = f.linkage, f.by_site, f.depths, f.connected
    rows = [
        ("pages", thousands(f.pages)),
        ("links", f"{thousands(f.links)}, {links.links_per_page:.1f} per page; {_part(links.inside)} inside the site"),
        (
            "sites",
            f"{thousands(f.sites)}; {_part(sites.single)} of one page, the largest has {thousands(sites.largest_site)}",
        ),
        ("pages per site", f"exponent {_fit(sites.pages_per_site)}; the largest tenth has {_part(sites.top_tenth)}"),
        ("without links", f"{_part(links.dangling)} of the pages"),
        (
            "answered links",
            f"{_part(links.reciprocal)}; two neighbours are linked in {_part(links.clustering)} of cases",
        ),
        ("out-degree", f"at most {thousands(links.most_out)}; exponent from 50 on {_fit(links.out_degree)}"),
        ("in-degree", f"at most {thousands(links.most_in)}; exponent from 50 on {_fit(links.in_degree)}"),
        ("size", f"{human_size(f.size)} on average; exponent from 12 KB on {_fit(f.size_tail)}"),
        (
            "linked sites",
            f"{_part(sites.linked)} from others, {_part(sites.linking)} to others; {sites.site_links:,} pairs",
        ),
        ("reached", f"{_part(depths.reached)} of the pages, from {thousands(f.start)} start pages"),
        ("depth", _depths(depths.depth)),
        (
            "depth in the site",
            f"{_depths(depths.depth_in_site)}; the deepest page of a site {depths.deepest_of_site:.1f}",
        ),
        ("components", f"{thousands(whole.components)}; the largest {thousands(whole.largest_component)} pages"),
        ("of sites", f"{thousands(whole.site_components)} components"),
    ]
    width = max(len(name) for name, _ in rows)
    return [*(f"{name:<{width}}  {value}" for name, value in rows), "", *part_lines(whole.parts, whole.site_parts)]


def beside_lines(found: Mapping[str, GraphFigures]) -> list[str]:
    """A table with a column for each graph."""
    parts = [f.connected.parts for f in found.values()]
    rows: list[tuple[str, list[str]]] = [(name, [of(f) for f in found.values()]) for name, of in _BESIDE] + [
        (name, [_part(each[name] / max(1, sum(each.values()))) for each in parts]) for name in parts[0]
    ]
    cells = [("", list(found)), *rows]
    widths = [max(len(row[i]) for _, row in cells) for i in range(len(found))]
    first = max(len(name) for name, _ in cells)
    return [
        f"{name:<{first}}  {'  '.join(value.rjust(width) for value, width in zip(row, widths, strict=True))}".rstrip()
        for name, row in cells
    ]


def part_lines(pages: Mapping[str, int], sites: Mapping[str, int]) -> list[str]:
    """The table of the parts of the bow-tie."""
    of_pages, of_sites = max(1, sum(pages.values())), max(1, sum(sites.values()))
    rows = [
        f"{name:<13}  {thousands(n):>11}  {_part(n / of_pages):>6}  {thousands(sites[name]):>9}  "
        f"{_part(sites[name] / of_sites):>6}"
        for name, n in pages.items()
    ]
    return [f"{'bow-tie':<13}  {'pages':>11}  {'':>6}  {'sites':>9}", *rows]


def verdict_lines(verdicts: Sequence[Check]) -> list[str]:
    if not verdicts:
        return ["The graph is too small to be checked."]
    width = max(len(v.name) for v in verdicts)
    return [
        f"{'as expected' if v.holds else 'UNEXPECTED':<11}  {v.name:<{width}}  {v.found:6.3g}  ({v.wanted})"
        for v in verdicts
    ]


def _fit(fit: Fit | None) -> str:
    return f"{fit.exponent:.2f} ± {fit.error:.2g}" if fit else "unknown (too few)"


def _part(share: float) -> str:
    return f"{100 * share:.1f} %"


def _depths(counts: Sequence[int]) -> str:
    total = max(1, sum(counts))
    mean = sum(d * n for d, n in enumerate(counts)) / total
    most = max(range(len(counts)), key=lambda d: counts[d], default=0)
    return f"{mean:.1f} on average, most pages at {most}, at most {max(0, len(counts) - 1)}"


_BESIDE: Final[tuple[tuple[str, Callable[[GraphFigures], str]], ...]] = (
    ("pages", lambda f: thousands(f.pages)),
    ("links", lambda f: thousands(f.links)),
    ("links per page", lambda f: f"{f.linkage.links_per_page:.1f}"),
    ("sites", lambda f: thousands(f.sites)),
    ("pages without links", lambda f: _part(f.linkage.dangling)),
    ("links inside the site", lambda f: _part(f.linkage.inside)),
    ("answered links", lambda f: _part(f.linkage.reciprocal)),
    ("linked neighbours", lambda f: _part(f.linkage.clustering)),
    ("most links of a page", lambda f: thousands(f.linkage.most_out)),
    ("most links to a page", lambda f: thousands(f.linkage.most_in)),
    ("out-degree, exponent from 50", lambda f: _fit(f.linkage.out_degree)),
    ("in-degree, exponent from 50", lambda f: _fit(f.linkage.in_degree)),
    ("strong components", lambda f: thousands(f.connected.components)),
    ("largest component", lambda f: _part(f.connected.largest_component / max(1, f.pages))),
)
"""What `show` shows of several graphs; the parts of the bow-tie follow."""
