"""A real crawl, read from its collection: which page was fetched when, and the graph of these pages.

The graph is that of `collected`: the pages that were fetched or redirected, and the links between them. PageRank is
computed on it, so crawl and simulation end with the same pages, and 1 is all that the crawl got, as in 4.5.1. A page
counts from its first such answer. Only sealed segments are read, so the crawl may be running.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, U32
from gossamer.collection.runs import settings_of_last_run
from gossamer.config import Settings
from gossamer.laboratory.collection_graph import collected
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.rank.pagerank import EXACT, pagerank
from gossamer.read.sql.database import Database, Row
from gossamer.read.sql.sources import find

LOCAL: Final = (1 << 40) - 1
"""The part of a page number that is local to a shard."""
_FETCHED: Final = f"""
select v.page & {LOCAL} as page, epoch(min(v.time)) as time, min(p.depth) as depth
from stored.visits v join stored.pages p on p.page = v.page
where v.ask = 'page' and v.outcome in ('ok', 'duplicate', 'redirect') group by v.page order by min((v.tick, v.number))
"""
_REQUESTS: Final = """
select epoch(time) - ("end" - start) as begun, epoch(time) as ended, ask = 'page'
from stored.visits order by tick, number
"""


@dataclass(frozen=True, slots=True)
class Crawled:
    """A real crawl: its graph, the order and the times of its pages, and its requests."""

    folder: Path
    graph: WebGraph
    """The graph of the fetched pages, renumbered in the order of discovery."""
    worth: F64
    order: U32
    """Pages in the order in which they were fetched."""
    time: F64
    """Seconds from the first request for a page until each page was fetched."""
    depth: U32
    """By page: clicks from the start page of its site, at discovery."""
    requests: F64
    """All requests, robots.txt included: rows of start and end, in the same seconds."""
    settings: Settings
    urls: Callable[[], list[str]]
    """URLs of the pages of the graph."""

    @property
    def policy(self) -> str:
        return self.settings.manager.policy


def read(folder: Path) -> Crawled:
    found = collected(folder)
    settings = settings_of_last_run(folder)
    fetched, requests = _visits(folder, settings)
    number = np.searchsorted(found.page, np.array([row[0] for row in fetched], np.int64))
    depth = np.zeros(found.graph.pages, np.uint32)
    depth[number] = [row[2] for row in fetched]
    first = float(requests[requests[:, 2] > 0, 0].min())
    worth = pagerank(found.graph.links, tolerance=EXACT, most=1000).values
    time = np.array([row[1] for row in fetched]) - first
    order, asked = number.astype(np.uint32), requests[:, :2] - first
    return Crawled(
        folder, found.graph, worth, order, time, depth, asked, settings, lambda: found.urls(np.arange(len(found.page)))
    )


def _visits(folder: Path, settings: Settings) -> tuple[list[Row], F64]:
    """Rows of the fetched pages in order, and of all requests: start, end, whether for a page."""
    database = Database(find(folder), settings)
    try:
        return database.run(_FETCHED), np.array(database.run(_REQUESTS), np.float64).reshape(-1, 3)
    finally:
        database.close()
