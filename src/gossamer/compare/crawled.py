"""A crawl as it was run, read from its collection: which page was done when, and the graph of these pages.

A page counts from its first final outcome on, whatever that was: a redirect, too, leads on. The graph has these pages
and the links between them, and PageRank is computed on it, so crawl and simulation end with the same pages: 1 is all
that the crawl got, as in 4.5.1. Only what is sealed is read, so a crawl may run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer import config
from gossamer.collection.layout import SETTINGS, require_collection, shard_folder
from gossamer.collection.runs import runs
from gossamer.config import Settings
from gossamer.errors import UsageError
from gossamer.graphing import graph_of
from gossamer.graphs.webgraph import WebGraph
from gossamer.outcomes import BACK_AS_BEFORE, TRANSIENT
from gossamer.rank.graph import Csr, Graph, csr
from gossamer.rank.pagerank import pagerank
from gossamer.sql.database import Database
from gossamer.sql.sources import find

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

TOLERANCE: Final = 1e-8
_LOCAL: Final = (1 << 40) - 1
"""The part of a page number that counts within a shard."""
_PASSING: Final = ", ".join(f"'{outcome.word}'" for outcome in sorted(TRANSIENT | BACK_AS_BEFORE))
_DONE: Final = f"""
select v.page & {_LOCAL} as page, epoch(min(v.time)) as time, max(v.received) as size, min(p.depth) as depth,
       bool_or(p.kind = 'seed') as seed
from visits v join stored.pages p on p.page = v.page
where v.ask = 'page' and v.outcome not in ({_PASSING or "''"}) group by v.page order by min((v.tick, v.number))
"""
_REQUESTS: Final = """
select epoch(time) - ("end" - start) as begun, epoch(time) as ended, ask = 'page' from visits order by tick, number
"""


@dataclass(frozen=True, slots=True)
class Crawled:
    folder: Path
    graph: WebGraph
    """Of the pages that are done, numbered anew in the order in which they were found."""
    worth: F64
    order: U32
    """Pages in the order in which they were done."""
    time: F64
    """Seconds from the first request for a page until each was."""
    depth: U32
    """By page: clicks from the start page of its site, when it was found."""
    requests: F64
    """Rows of begin and end, in the same seconds; robots.txt included."""
    settings: Settings

    @property
    def policy(self) -> str:
        return policy_of(self.settings)


def read(folder: Path) -> Crawled:
    require_collection(folder)
    settings = settings_of(folder)
    database = Database(find(folder), settings)
    try:
        done, requests = database.run(_DONE), np.array(database.run(_REQUESTS), np.float64).reshape(-1, 3)
    finally:
        database.connection.close()
    if not done:
        raise UsageError(f"{folder} has no pages that are done and sealed", "Crawl first, or wait for a segment.")
    first = float(requests[requests[:, 2] > 0, 0].min())
    page, time = np.array([row[0] for row in done], np.int64), np.array([row[1] for row in done])
    kept = np.sort(page)
    number = np.searchsorted(kept, page)
    links, site = _links(folder, kept)
    if not len(links.targets):
        raise UsageError(f"{folder} has no links between its pages", "There is nothing to compare: crawl more of it.")
    start = np.sort(number[[bool(row[4]) for row in done]]).astype(np.uint32)
    size, depth = np.zeros(len(kept), np.uint32), np.zeros(len(kept), np.uint32)
    size[number], depth[number] = [max(1, row[2] or 0) for row in done], [row[3] for row in done]
    graph = WebGraph(links, site, size, start if len(start) else np.zeros(1, np.uint32), folder.name)
    return Crawled(
        folder, graph, pagerank(links, tolerance=TOLERANCE, most=1000).values, number.astype(np.uint32), time - first,
        depth, requests[:, :2] - first, settings,
    )  # fmt: skip


def settings_of(folder: Path) -> Settings:
    """Those of the last run; crawl.toml, if that was of another version."""
    try:
        return config.from_json(json.dumps(runs(shard_folder(folder))[-1]["settings"]))
    except (IndexError, UsageError):
        return config.load(folder / SETTINGS)


def policy_of(settings: Settings) -> str:
    """The name of the strategy by which a crawl was ordered, as the simulator knows it."""
    manager = settings.manager
    weighed = {name for name, weight in manager.weights.items() if weight > 0}
    if manager.policy == "value" and weighed == {"pending"}:
        return "larger-sites-first"
    return manager.policy


def _links(folder: Path, kept: I64) -> tuple[Csr, U32]:
    """Links between these pages, by their new numbers, and the site of each."""
    found = graph_of(shard_folder(folder))
    number = np.full(found.graph.pages, -1, np.int64)
    number[kept] = np.arange(len(kept))
    pairs = list(_pairs(found.graph, number))
    sources, targets = (np.concatenate(each) for each in zip(*pairs, strict=True)) if pairs else (kept[:0], kept[:0])
    _, site = np.unique(found.site[kept], return_inverse=True)
    return csr(len(kept), sources, targets), site.astype(np.uint32)


def _pairs(graph: Graph, number: I64) -> Iterator[tuple[I64, I64]]:
    for block in graph.blocks():
        degrees = np.diff(block.ends, prepend=block.begin)
        sources, targets = np.repeat(number[block.sources], degrees), number[block.targets[block.begin :]]
        inside = (sources >= 0) & (targets >= 0)
        yield sources[inside], targets[inside]
