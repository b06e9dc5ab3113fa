"""The graph of a collection, brought up to date with its sealed segments: `graph/NNNNNNNNNNNN.rows` for each.

The rows of a segment are made from its tables `visits` and `links`. A visit with a final outcome gives its page a row,
even without links; a visit that is to be retried gives none. The last visit of a page counts, within a segment (here)
and among segments (`rank.rows`). Links are ordered by the site of their source, then by visit: so visits, ordered by
site, tell the source of each link.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import U32, Bools
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, Ask, Outcome, PageFlag
from gossamer.base.outcomes import BACK_AS_BEFORE, TRANSIENT
from gossamer.collection import manifest
from gossamer.collection.checked import Checked
from gossamer.collection.layout import read_segment
from gossamer.collection.tables.forms import Page, Word, one_chunk
from gossamer.rank.rows import MappedRows, encode, open_rows

GRAPH: Final = "graph"
_FINAL: Final = np.array([o not in TRANSIENT | BACK_AS_BEFORE | {Outcome.NOT_MODIFIED} for o in Outcome])


@dataclass(frozen=True, slots=True)
class CollectionGraph:
    """The graph, with what scores need to know about its pages."""

    graph: MappedRows
    site: U32
    """The site of each page."""
    start: U32
    """Pages that are seeds."""
    sites: int
    contents: manifest.Contents
    """The segments included. A crawl may have sealed another one since."""
    links: int
    new_links: int
    """Links of segments whose rows had to be made."""

    @property
    def segment(self) -> int:
        """The last segment included; 0 if there is none."""
        return max(self.contents.segments, default=0)


def graph_of(shard: Path) -> CollectionGraph:
    """Makes the missing rows, and opens all rows.

    Invariant: `links_to_a_page_beyond_the_known_ones_are_refused`: every page in the rows has a
    site. Kernels index by page without bounds checks.
    """
    contents = manifest.read(shard)
    disk.make_directory(shard / GRAPH)
    files, new = [], 0
    for number, line in sorted(contents.segments.items()):
        path, key = shard / GRAPH / f"{number:012d}.rows", _key(line)
        rows = open_rows(path, key)
        if rows is None:
            disk.write_atomic(path, *_rows(shard, contents.meta.shard, number, line, key))
            rows = open_rows(path, key)
            if rows is None:
                raise GossamerError(f"{path} differs from what was just written", "The disk may be failing.")
            new += rows.links
        files.append(rows)
    for path in (shard / GRAPH).glob("*.rows"):
        if int(path.stem) not in contents.segments:  # merged with others
            disk.remove(path)
    site, start = _places(shard, contents)
    beyond = max((file.limit for file in files), default=0)
    if beyond > len(site):
        raise GossamerError(
            f"the links of {shard} lead to page {beyond - 1}; its segments have {len(site)} pages",
            "Check the collection with `gossamer verify`.",
        )
    return CollectionGraph(
        MappedRows(files, len(site)),
        site,
        start,
        int(site.max(initial=0)) + 1 if len(site) else 0,
        contents,
        sum(file.links for file in files),
        new,
    )


def _file(line: manifest.Line, table: str) -> str | None:
    """The file of a table in a segment; after a compaction it may serve several segments."""
    return next((path for path in line["files"] if path.partition("/")[0] == table), None)


def _key(line: manifest.Line) -> int:
    """A checksum of the files that the rows are made from."""
    paths = [_file(line, name) for name in ("visits", "links")]
    checksums = [None if path is None else line["files"][path]["checksum"] for path in paths]
    return xxhash.xxh3_64_intdigest(json.dumps(checksums).encode())


def _rows(shard: Path, shard_number: int, number: int, line: manifest.Line, key: int) -> tuple[bytes, bytes, bytes]:
    visits = read_table(shard, "visits", line, ("page", "site", "ask", "outcome", "links"))
    links = read_table(shard, "links", line, ("target",))
    if visits is None:
        return encode(np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0, np.uint32), key)
    order = np.argsort(one_chunk(visits, "site").to_numpy(), kind="stable")
    page = Page(shard_number).read(one_chunk(visits, "page"))[order]
    degree = one_chunk(visits, "links").to_numpy().astype(np.int64)[order]
    final = _FINAL[Word(Outcome).read(one_chunk(visits, "outcome"))][order]
    of_page = (Word(Ask).read(one_chunk(visits, "ask")) == Ask.PAGE)[order]
    counts = _last_of_each(page, final & of_page & (page != NONE))
    target = Page(shard_number).read(one_chunk(links, "target")) if links is not None else np.zeros(0, np.uint32)
    if len(target) != degree.sum():
        raise GossamerError(f"segment {number} of {shard} has {len(target)} links; its visits count {degree.sum()}")
    return encode(page[counts], degree[counts], target[np.repeat(counts, degree)], key)


def _last_of_each(page: U32, counts: Bools) -> Bools:
    """Marks the last visit of each page, among the visits that `counts` marks."""
    visits = np.flatnonzero(counts)
    _, last = np.unique(page[visits][::-1], return_index=True)
    chosen = np.zeros(len(page), np.bool_)
    chosen[visits[len(visits) - 1 - last]] = True
    return chosen


def _places(shard: Path, contents: manifest.Contents) -> tuple[U32, U32]:
    """The site of every page, and the pages that are seeds."""
    sites, seeds = [np.zeros(0, np.uint32)], [np.zeros(0, np.bool_)]
    for _, line in sorted(contents.segments.items()):
        table = read_table(shard, "pages", line, ("site", "flags"))
        if table is not None:
            sites.append(one_chunk(table, "site").to_numpy().astype(np.uint32))
            seeds.append(one_chunk(table, "flags").to_numpy() & PageFlag.SEED != 0)
    return np.concatenate(sites), np.flatnonzero(np.concatenate(seeds)).astype(np.uint32)


def read_table(shard: Path, table: str, line: manifest.Line, columns: tuple[str, ...]) -> pa.Table | None:
    """Columns of a table of a segment, compared with its checksum; None if the segment has no such table. Columns that
    segments of earlier versions lack are left out."""
    name = _file(line, table)
    if name is None:
        return None
    words: Any = [c for c in columns if c in ("ask", "outcome", "tag")]
    file = line["files"][name]

    def read(path: Path) -> pa.Table:
        Checked(shard).require(path, file["bytes"], file["checksum"])
        with disk.naming("read", path):
            there = set(pq.read_schema(path).names)
            wanted = [column for column in columns if column in there]
            return pq.read_table(path, columns=wanted, read_dictionary=words, use_threads=False)

    return read_segment(shard / name, read)
