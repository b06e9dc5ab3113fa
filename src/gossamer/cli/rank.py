"""`gossamer rank`: which pages and sites are important, by their links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.base.escape import for_json


def rank(
    place: Annotated[
        Path, typer.Argument(metavar="GRAPH|DIR", help="A graph (.npz), or a collection; no crawl may run.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Pages and sites that are shown.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Compute every link score: PageRank, HITS, SiteRank, weighted link rank, components; stored with a collection."""
    from gossamer import config
    from gossamer.collection.layout import SETTINGS, is_collection
    from gossamer.laboratory import analyse
    from gossamer.laboratory.collection_graph import known_urls, open_graph
    from gossamer.manager.value import Value, merit_weights

    def step(what: str) -> None:
        print(f"{what} …", file=sys.stderr, flush=True)

    if is_collection(place):
        settings = config.load(place / SETTINGS)
        found = analyse.analyse_collection(place, merit_weights(Value.of(settings.manager).weights), step)
        said = analyse.summary(found, top, lambda pages: known_urls(place, pages))
    else:
        step(f"reading {place}")
        found = analyse.analyse(open_graph(place), step)
        said = analyse.summary(found, top, None)
    print(for_json(said) if as_json else "\n".join(_lines(said)))
    if is_collection(place) and not as_json:
        print(f'Stored with {place}: gossamer sql {place} "select url, pagerank, part from pages"')


def _lines(said: dict[str, Any]) -> list[str]:
    from gossamer.base.units import thousands
    from gossamer.cli.graph_text import part_lines

    counts = f"{thousands(said['pages'])} pages, {thousands(said['links'])} links, {thousands(said['sites'])} sites"
    components = f"{thousands(said['components'])} strong components, the largest of "
    return [
        counts,
        "",
        *_table(said["top_pages"], "page"),
        "",
        *_table(said["top_sites"], "site"),
        "",
        f"{components}{thousands(said['largest_component'])} pages",
        *part_lines(said["parts"], said["site_parts"]),
    ]


def _table(rows: list[dict[str, Any]], own: str) -> list[str]:
    """Numbers to the right; URLs, which may be long, last."""
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
