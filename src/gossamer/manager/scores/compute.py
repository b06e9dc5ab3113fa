"""Link scores of a collection, computed in the background by a short-lived process:

    python -m gossamer.manager.scores.compute SHARD WEIGHTS PREPARE OWN

WEIGHTS is JSON, PREPARE the score that the policy needs prepared (`rank.prepared`; "" for none), OWN the plug-ins that
give a score or an order (`own.py`), as JSON. The process brings the
graph up to date with the sealed segments, computes what the weights need (PageRank and in-degree always), stores it and
prints one line of statistics as JSON. `gossamer rank DIR` computes everything, to 1e-8, with strong components and
parts of the bow-tie; its result stays until the crawl computes scores again.

    graph/NNNNNNNNNNNN.rows          the links of a segment (see rank/rows.py); a cache, rebuilt if it is missing
    scores/NNNNNNNNNNNN.parquet        page, pagerank, indegree, … unscaled, and merit
    scores/NNNNNNNNNNNN-sites.parquet  site, siterank, pagerank (the sum over its pages), ...
    scores/NNNNNNNNNNNN.merit          merit and the prepared score, by page, for the desk: written last, so the other
                                       files of that number are whole

NNN is the last segment included. The files of the computation before stay, for queries that are reading them; older
ones are removed. All of it can be deleted without loss.
*Merit* is the sum of weight x score over the link scores, each between 0 and 1 (`rank.names.share_score`). Pages that
were found since have no merit until the next computation.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.base import disk
from gossamer.base.arrays import F32, F64, Array
from gossamer.base.compiled import SCORES as KERNELS
from gossamer.base.compiling import compile_ahead
from gossamer.base.errors import GossamerError
from gossamer.base.model import SHARD_SHIFT
from gossamer.manager.scores.graph import CollectionGraph, graph_of
from gossamer.manager.scores.own import NOBODY, Asked, Own
from gossamer.manager.scores.stored import (
    PLUGIN,
    SCORES,
    Scored,
    merit_of,
    newest_scores,
    stored_table,
    write_scored,
    write_sums,
)
from gossamer.manager.scores.weights import weights_of
from gossamer.rank.components import bow_tie
from gossamer.rank.graph import Csr, crossings, csr, held
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.names import LINK_SCORES
from gossamer.rank.pagerank import EXACT, pagerank, siterank
from gossamer.rank.prepared import PREPARED, Known
from gossamer.rank.weighted import linkrank

Table = dict[str, Array]
"""Columns by name."""

NICE: Final = 10
MOST_TURNS: Final = 1000
"""Most iterations of hubs and authorities when everything is computed."""
_FILE: Final = re.compile(r"\d{12}(\.merit|\.sums|\.parquet|-sites\.parquet)")


def compute(
    shard: Path,
    weights: Mapping[str, float],
    prepare: str = "",
    everything: bool = False,
    step: Callable[[str], None] = lambda _: None,
    own: Own = NOBODY,
) -> dict[str, Any]:
    """Computes and stores all of the above; returns statistics. `weights` are those of link scores; `step` is called
    with the name of each step; `own`: the plug-ins."""
    start = time.monotonic()
    step("reading the links")
    found = graph_of(shard)
    pages, wanted = found.graph.pages, set(LINK_SCORES) if everything else set(weights)
    exact: dict[str, Any] = {"tolerance": EXACT} if everything else {}
    step("PageRank")
    ranks = pagerank(found.graph, _ranks_of_before(shard), **exact)
    by_page: Table = {"pagerank": ranks.values, "indegree": ranks.indegree}
    by_site: Table = {"pagerank": np.bincount(found.site, ranks.values[: len(found.site)], found.sites)}
    if wanted & {"hub", "authority"}:
        step("hubs and authorities")
        both = hubs_and_authorities(found.graph, **(exact | {"most": MOST_TURNS} if everything else {}))
        by_page |= {"hub": both.hub, "authority": both.authority}
    if "siterank" in wanted:
        step("SiteRank")
        by_site["siterank"] = siterank(found.graph, found.site, found.sites)
        by_page["siterank"] = by_site["siterank"][found.site]
    if "linkrank" in wanted:
        step("weighted link rank")
        links = held(found.graph)
        by_page["linkrank"] = linkrank(links, weights_of(shard, found.contents, links), **exact)
        if everything:
            step("components")
            _add_parts(found, links, by_page, by_site)
    if prepare:
        step(f"{prepare} for the policy")
    asked = Asked(shard, own, pages)
    if own.score is not None:
        by_page[PLUGIN] = asked.score()
    merit = merit_of(by_page, weights, found.sites)
    scored = Scored(merit, prepare, *(asked.order() if prepare == PLUGIN else _prepared(shard, found, prepare)))
    if prepare == "completed":
        by_page["completed"] = scored.prepared
    _write(shard, found, by_page, by_site, scored, weights)
    return {
        "segment": found.segment,
        "pages": pages,
        "links": found.links,
        "new_links": found.new_links,
        "iterations": ranks.iterations,
        "seconds": round(time.monotonic() - start, 3),
        "cpu": round(_cpu(), 3),
        "memory": _most_memory(),
        "wrong": asked.wrong,
    }


def _cpu() -> float:
    """Processor time of this process, and of those of plug-ins."""
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


def _prepared(shard: Path, found: CollectionGraph, prepare: str) -> tuple[F32, float]:
    if not prepare or not found.graph.pages:
        return np.zeros(0, np.float32), 0.0
    fetched = np.zeros(found.graph.pages, np.bool_)
    for block in found.graph.blocks():
        fetched[block.sources] = True
    newest = newest_scores(shard)
    before = newest.scored.prepared if newest and newest.scored.prepare == prepare else np.zeros(0, np.float32)
    start = found.start if len(found.start) else np.zeros(1, np.uint32)
    known = Known(found.graph, found.site, fetched, start)
    made = PREPARED[prepare](known, before.astype(np.float64) if len(before) else None)
    return made.values.astype(np.float32), made.base


def _add_parts(found: CollectionGraph, links: Csr, by_page: Table, by_site: Table) -> None:
    """Components and parts of the bow-tie, as numbers (see `components.PARTS`)."""
    between = csr(found.sites, *crossings(links, found.site))
    pages, sites = bow_tie(links), bow_tie(between)
    by_page |= {"component": pages.component, "part": pages.part}
    by_site |= {"component": sites.component, "part": sites.part}
    by_site["indegree"] = np.bincount(between.targets, minlength=found.sites).astype(np.uint32)


def _most_memory() -> int:
    """Peak memory in bytes; `getrusage` would include the memory of the parent process before exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _write(
    shard: Path, found: CollectionGraph, by_page: Table, by_site: Table, scored: Scored, weights: Mapping[str, float]
) -> None:
    folder, segment, merit = shard / SCORES, found.segment, scored.merit
    disk.make_directory(folder)
    page = np.arange(len(merit), dtype=np.int64) | found.contents.meta.shard << SHARD_SHIFT
    columns = {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in by_page.items()}
    sites = {"site": np.arange(len(by_site["pagerank"]), dtype=np.int64), **by_site}
    tables = {
        f"{segment:012d}.parquet": _encoded({"page": page, **columns, "merit": merit}),
        f"{segment:012d}-sites.parquet": _encoded(sites),
    }
    write_sums(shard, segment, tables)
    for name, data in tables.items():
        disk.write_atomic(folder / name, data)
    write_scored(shard, segment, len(by_site["pagerank"]), weights, scored)
    _remove_old(folder, segment)


def _remove_old(folder: Path, segment: int) -> None:
    """Removes all files but those of this segment and of the last computed segment before it."""
    paths = list(folder.iterdir())
    earlier = {int(path.name[:12]) for path in paths if _FILE.fullmatch(path.name)}
    keep = {segment, max((n for n in earlier if n < segment), default=segment)}
    for path in paths:
        if not _FILE.fullmatch(path.name) or int(path.name[:12]) not in keep:
            disk.remove(path)
    disk.sync_directory(folder)


def _encoded(columns: Table) -> memoryview:
    """A table as a Parquet file. Stores integers as differences. Pages without incoming links all have the same
    PageRank, which zstd finds."""
    sink = pa.BufferOutputStream()
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    encoding = {name: "DELTA_BINARY_PACKED" for name, values in columns.items() if values.dtype == np.int64}
    options: dict[str, Any] = {"compression": "zstd", "compression_level": 1, "use_dictionary": False}
    pq.write_table(table, sink, column_encoding=encoding, **options)
    return memoryview(sink.getvalue())


def _ranks_of_before(shard: Path) -> F64 | None:
    """PageRank of the last computation: the next one starts from it."""
    newest = newest_scores(shard)
    stored = stored_table(shard, newest.number, ["pagerank"]) if newest else {}
    return stored["pagerank"].astype(np.float64) if stored else None


def _silent(*_: object) -> None:
    """The desk has announced it."""


def main(arguments: list[str]) -> int:
    os.nice(NICE)
    compile_ahead(KERNELS, _silent, _silent)  # in a process of its own, whose time is not that of the scores
    pa.set_memory_pool(pa.system_memory_pool())  # it returns the memory of a segment; the default pool keeps it
    try:
        shard, weights, prepare, own = arguments
        figures = compute(Path(shard), json.loads(weights), prepare, own=Own.parse(own))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
