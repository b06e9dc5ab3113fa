"""`gossamer rank`: computes how important pages and sites are, by their links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.base.escape import for_json


def rank(
    place: Annotated[
        Path, typer.Argument(metavar="GRAPH|DIR", help="Graph file (.npz), or a collection that is not running.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Number of pages and of sites to show.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute every link score: PageRank, HITS, SiteRank, weighted link rank, components. A collection stores them."""
    from gossamer import config
    from gossamer.collection.layout import SETTINGS, is_collection
    from gossamer.laboratory import analyse
    from gossamer.laboratory.collection_graph import known_urls, open_graph
    from gossamer.manager.value import Value, merit_weights

    def step(what: str) -> None:
        print(f"{what} …", file=sys.stderr, flush=True)

    if is_collection(place):
        settings = config.load(place / SETTINGS)
        analysed = analyse.analyse_collection(place, merit_weights(Value.of(settings.manager).weights), step)
        summary = analyse.summary(analysed, top, lambda pages: known_urls(place, pages))
    else:
        step(f"reading {place}")
        analysed = analyse.analyse(open_graph(place), step)
        summary = analyse.summary(analysed, top, None)
    print(for_json(summary) if as_json else "\n".join(_lines(summary)))
    if is_collection(place) and not as_json:
        print(f'Stored with {place}: gossamer sql {place} "select url, pagerank, part from pages"')


def _lines(summary: dict[str, Any]) -> list[str]:
    from gossamer.base.units import thousands
    from gossamer.cli.graph_text import part_lines

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
    """An aligned table: numbers to the right, and URLs, which may be long, last."""
    if not rows:
        return []
    names = [name for name in rows[0] if name != "url"] + (["url"] if "url" in rows[0] else [])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    return ["  ".join(_placed(c, w, n) for c, w, n in zip(row, widths, names, strict=True)).rstrip() for row in cells]


def _placed(cell: str, width: int, name: str) -> str:
    return cell.ljust(width) if name in ("url", "part") else cell.rjust(width)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
