"""The graph of a collection, brought up to date with its sealed segments: `graph/NNNNNNNNNNNN.rows` for each.

The rows of a segment are made from its tables `visits` and `links`. A visit that ended in a final outcome gives its
page a row, be it without links; one that is tried again says nothing. Of several visits of a page the last one counts,
within a segment (here) and among segments (`rank.rows`). Links are ordered by the site of their source, then by visit:
so visits, ordered by site, tell whose each link is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, Ask, Outcome, PageFlag
from gossamer.base.outcomes import BACK_AS_BEFORE, TRANSIENT
from gossamer.collection import manifest
from gossamer.collection.tables.forms import Page, Word, one_chunk
from gossamer.rank.rows import MappedRows, encode, open_rows

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

GRAPH: Final = "graph"
_FINAL: Final = np.array([o not in TRANSIENT | BACK_AS_BEFORE for o in Outcome])


@dataclass(frozen=True, slots=True)
class CollectionGraph:
    graph: MappedRows
    site: U32
    """By page."""
    start: U32
    """Pages that are seeds."""
    sites: int
    shard: int
    """Number of the shard."""
    segment: int
    """The last one that is in it; 0 without any."""
    links: int
    new_links: int
    """Of segments whose rows had to be made."""


def graph_of(shard: Path) -> CollectionGraph:
    """Makes the rows that are missing, and opens all.

    Invariant: every page in the rows has a site. Kernels index by page and look at no bounds.
    """
    contents = manifest.read(shard)
    disk.make_directory(shard / GRAPH)
    files, new = [], 0
    for number, line in sorted(contents.segments.items()):
        path, key = shard / GRAPH / f"{number:012d}.rows", _key(line)
        found = open_rows(path, key)
        if found is None:
            disk.write_atomic(path, *_rows(shard, contents.meta.shard, number, line, key))
            found = open_rows(path, key)
            if found is None:
                raise GossamerError(f"{path} is not what was just written", "The disk may be failing.")
            new += found.links
        files.append(found)
    site, start = _places(shard, contents)
    beyond = max((file.limit for file in files), default=0)
    if beyond > len(site):
        raise GossamerError(
            f"the links of {shard} name page {beyond - 1}; its segments know {len(site)} pages",
            "Look at the collection with `gossamer verify`.",
        )
    return CollectionGraph(
        MappedRows(files, len(site)),
        site,
        start,
        int(site.max(initial=0)) + 1 if len(site) else 0,
        contents.meta.shard,
        max(contents.segments, default=0),
        sum(file.links for file in files),
        new,
    )


def _file(line: manifest.Line, table: str) -> str | None:
    """The file that a segment has of a table; compaction names it after several segments."""
    return next((path for path in line["files"] if path.partition("/")[0] == table), None)


def _key(line: manifest.Line) -> int:
    """What the rows are made from, as one number."""
    paths = [_file(line, name) for name in ("visits", "links")]
    said = [None if path is None else line["files"][path]["checksum"] for path in paths]
    return xxhash.xxh3_64_intdigest(json.dumps(said).encode())


def _rows(shard: Path, shard_number: int, number: int, line: manifest.Line, key: int) -> tuple[bytes, bytes, bytes]:
    visits = read_table(shard, "visits", line, ("page", "site", "ask", "outcome", "links"))
    links = read_table(shard, "links", line, ("target",))
    if visits is None:
        return encode(np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0, np.uint32), key)
    order = np.argsort(one_chunk(visits, "site").to_numpy(), kind="stable")
    page = Page(shard_number).read(one_chunk(visits, "page"))[order]
    degree = one_chunk(visits, "links").to_numpy().astype(np.int64)[order]
    final = _FINAL[Word(Outcome).read(one_chunk(visits, "outcome"))][order]
    asked = (Word(Ask).read(one_chunk(visits, "ask")) == Ask.PAGE)[order]
    counts = _last_of_each(page, final & asked & (page != NONE))
    target = Page(shard_number).read(one_chunk(links, "target")) if links is not None else np.zeros(0, np.uint32)
    if len(target) != degree.sum():
        raise GossamerError(f"segment {number} of {shard} has {len(target)} links; its visits tell of {degree.sum()}")
    return encode(page[counts], degree[counts], target[np.repeat(counts, degree)], key)


def _last_of_each(page: U32, counts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Those of `counts` after which no other of the same page counts."""
    at = np.flatnonzero(counts)
    _, last = np.unique(page[at][::-1], return_index=True)
    found = np.zeros(len(page), np.bool_)
    found[at[len(at) - 1 - last]] = True
    return found


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
    """None where the segment has no such table."""
    name = _file(line, table)
    if name is None:
        return None
    words: Any = [c for c in columns if c in ("ask", "outcome", "tag")]
    with disk.naming("read", shard / name):
        return pq.read_table(shard / name, columns=list(columns), read_dictionary=words, use_threads=False)
