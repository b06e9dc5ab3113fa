"""A collection as the report reads it: sealed segments, through SQL, and the graph of its fetched pages.

Memory is bounded: DuckDB gets `MEMORY` and then writes to a temporary folder; columns of fetched pages, and the graph,
are arrays of a few bytes a page and a link. Link scores are computed over the fetched pages, so that a report needs no
scores of the crawl, and no lock.

A segment that is damaged is left out of the tables and named; the graph cannot be read without it, and the sections
that need the graph say so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Array, Bools
from gossamer.base.errors import GossamerError
from gossamer.base.model import SHARD_SHIFT
from gossamer.collection.runs import settings_of_last_run
from gossamer.config import Settings
from gossamer.config.values import write
from gossamer.laboratory.collection_graph import Collected, collected
from gossamer.manager.scores.graph import CollectionGraph, graph_of
from gossamer.rank.clicks import NEVER, clicks
from gossamer.rank.components import BowTie, bow_tie
from gossamer.rank.graph import Csr, crossings, csr
from gossamer.rank.hits import HubsAndAuthorities, hubs_and_authorities
from gossamer.rank.pagerank import EXACT, Ranks, pagerank
from gossamer.read.sql.database import Database, Row
from gossamer.read.sql.sources import Sources, find, whole

MEMORY: Final = "1GB"
_READ: Final = ("pages", "visits", "links", "sites", "counts", "origins", "events", "verdicts")
LOCAL: Final = (1 << SHARD_SHIFT) - 1
"""The bits of the number of a page that are its number in the shard."""
_FETCHED: Final = """
create temp table fetched as
select page, arg_max({'length': length, 'text_length': text_length, 'language': language, 'charset': charset,
        'modified': modified, 'out_degree': out_degree, 'duplicate_of': duplicate_of, 'digest': digest,
        'sketch': sketch, 'flags': flags, 'time': time, 'warc_file': warc_file, 'warc_offset': warc_offset,
        'warc_end': warc_end},
    (tick, number)) as v
from stored.visits where ask = 'page' and outcome in ('ok', 'duplicate') group by page
"""
_PLACED: Final = """
create temp table placed as
select f.page, p.site, p.origin, p.depth, (p.flags & 1) != 0 as dynamic, f.v.length as length,
       f.v.text_length as text_length, f.v.language as language, f.v.charset as charset, f.v.modified as modified,
       f.v.out_degree as out_degree, f.v.duplicate_of as duplicate_of, f.v.digest as digest, f.v.sketch as sketch,
       f.v.flags as flags, f.v.time as time, f.v.warc_file as warc_file,
       f.v.warc_offset as warc_offset, f.v.warc_end as warc_end
from fetched f join stored.pages p on p.page = f.page order by f.page
"""


@dataclass(frozen=True, slots=True)
class SiteGraph:
    """The graph of the sites that have a fetched page: one link from a site to another, however many pages link."""

    links: Csr
    names: list[str]
    site: I64
    """Numbers of the sites in the collection; ascending."""
    parts: BowTie

    @property
    def out_degree(self) -> I64:
        return np.diff(self.links.offsets)

    @property
    def in_degree(self) -> I64:
        return np.bincount(self.links.targets, minlength=len(self.site))


class Data:
    """An opened collection. Everything is computed when it is first used."""

    def __init__(self, sources: Sources, settings: Settings, database: Database, damaged: Sequence[str]) -> None:
        self.sources, self.settings, self.database = sources, settings, database
        self.damaged = damaged
        """Segments that are left out, with their faults."""
        self.figures: dict[str, float] = {}
        """Numbers by top-level domain, of the user."""
        self._is_placed = False

    @property
    def name(self) -> str:
        return self.sources.folder.resolve().name

    def stands(self, settings: Sequence[str]) -> str:
        """When the collection was visited, and these of its settings."""
        values = {name: getattr(getattr(self.settings, name.partition(".")[0]), name.partition(".")[2])
                  for name in settings}  # fmt: skip
        said = ", ".join(f"{name} = {write(value)}" for name, value in values.items())
        return f"{self.visited}; {said}" if said else self.visited

    @cached_property
    def visited(self) -> str:
        first, last = self.rows("select min(time), max(time) from stored.visits")[0]
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        return f"Visited from {first:%Y-%m-%d %H:%M} to {end} UTC"

    def rows(self, statement: str, *parameters: Any, views: Sequence[str] = ()) -> list[Row]:
        """Runs SQL. `placed` has a row for each fetched page: its place, and its last copy."""
        self._prepare(statement)
        return self.database.run(statement, parameters, views)

    def counted(self, statement: str, views: Sequence[str] = ()) -> dict[str, float]:
        """The result of a query of words and numbers."""
        return {str(word): number for word, number in self.rows(statement, views=views)}

    def columns(self, statement: str) -> dict[str, Array]:
        """The result of a query as arrays; a missing number is NaN, or 0 in a column of integers."""
        self._prepare(statement)
        return {name: _filled(column) for name, column in self.database.arrays(statement).items()}

    def _prepare(self, statement: str) -> None:
        if "placed" in statement and not self._is_placed:
            self.database.run(_FETCHED)
            self.database.run(_PLACED)
            self._is_placed = True

    @cached_property
    def fetched(self) -> dict[str, Array]:
        """By fetched page, in the order of numbers: page, site, depth, dynamic, length, out_degree, copy."""
        found = self.columns(
            "select page, site, depth, dynamic, length::double as length, out_degree, "
            "duplicate_of is not null as copy from placed order by page"
        )
        found["depth"] = self._depths(found["page"], found["depth"].astype(np.int64))
        return found

    @cached_property
    def depths(self) -> str:
        """Name of a table of the fetched pages and their depths, for SQL."""
        columns = {name: self.fetched[name] for name in ("page", "depth")}
        self.database.register("depths", columns)
        return "depths"

    def _depths(self, page: I64, found: I64) -> I64:
        """The depth of pages, by the links between fetched pages. Where no links lead, or there is no graph, that of
        the crawl: as it was when the page was found."""
        try:
            place = np.searchsorted(self.graph.page, page & LOCAL)
            links, seeds = self.graph.graph.links, np.isin(self.graph.page, self.known.start)
            depth = clicks(links.offsets, links.targets, self.sites_of_graph, seeds, ~self.in_pages)[place]
        except GossamerError:
            return found
        return np.where(depth < NEVER, depth, found)

    @cached_property
    def site_names(self) -> dict[int, str]:
        return {int(site): str(name) for site, name in self.rows("select site, max(name) from stored.sites group by 1")}

    @cached_property
    def known(self) -> CollectionGraph:
        """The graph of all known pages."""
        return graph_of(self.sources.shard)

    @cached_property
    def graph(self) -> Collected:
        """The graph of fetched pages and redirects."""
        return collected(self.sources.folder)

    @cached_property
    def ranks(self) -> Ranks:
        return pagerank(self.graph.graph.links, tolerance=EXACT)

    @cached_property
    def hits(self) -> HubsAndAuthorities:
        return hubs_and_authorities(self.graph.graph.links, tolerance=1e-6, most=200)

    @cached_property
    def in_pages(self) -> Bools:
        """By page of the graph: whether it is a fetched page, not a redirect."""
        pages = self.columns("select page from placed")["page"] & LOCAL
        return np.isin(self.graph.page, pages.astype(np.uint32))

    @cached_property
    def sites_of_graph(self) -> I64:
        """By page of the graph: the number of its site in the collection."""
        return np.asarray(self.known.site[self.graph.page], np.int64)

    @cached_property
    def site_graph(self) -> SiteGraph:
        whole = self.known
        kept = np.unique(self.fetched["site"]).astype(np.int64)
        new = np.full(max(whole.sites, int(kept.max(initial=-1)) + 1), -1, np.int64)
        new[kept] = np.arange(len(kept))
        sources, targets = crossings(whole.graph, whole.site)
        inside = (new[sources] >= 0) & (new[targets] >= 0)
        links = csr(len(kept), new[sources[inside]].astype(np.uint32), new[targets[inside]].astype(np.uint32))
        names = [self.site_names.get(int(site), "") for site in kept]
        return SiteGraph(links, names, kept, bow_tie(links))


def _filled(column: Any) -> Array:
    if not np.ma.isMaskedArray(column):
        return np.asarray(column)
    return np.asarray(column.filled(np.nan if column.dtype.kind == "f" else 0))


@contextmanager
def reading(folder: Path, unchecked: bool = False) -> Iterator[Data]:
    """Opens a collection, also while a crawl runs."""
    sources, damaged = whole(find(folder, unchecked=unchecked), _READ)
    settings = settings_of_last_run(folder)
    with tempfile.TemporaryDirectory(prefix="gossamer-report-") as spilled:
        database = Database(sources, settings, MEMORY, Path(spilled))
        try:
            yield Data(sources, settings, database, damaged)
        finally:
            database.close()


def quantiles(sample: F64 | I64 | U32) -> tuple[float, ...]:
    """Mean, median, 90th and 99th percentile, and maximum; NaN without values."""
    if not len(sample):
        return (float("nan"),) * 5
    middle, ninety, most = np.percentile(sample, [50, 90, 99])
    return float(np.mean(sample)), float(middle), float(ninety), float(most), float(np.max(sample))
