"""Link scores of a collection, computed in the background by a short-lived process:

    python -m gossamer.manager.scores.compute SHARD WEIGHTS PREPARE

WEIGHTS is JSON, PREPARE the score that the policy needs prepared (`rank.prepared`; "" for none). The process brings the
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
import struct
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.base.model import SHARD_SHIFT
from gossamer.manager.scores.graph import CollectionGraph, graph_of
from gossamer.manager.scores.weights import weights_of
from gossamer.rank.components import bow_tie
from gossamer.rank.graph import Csr, crossings, csr, held
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.names import LINK_SCORES, share_score
from gossamer.rank.pagerank import EXACT, pagerank
from gossamer.rank.prepared import PREPARED, Known
from gossamer.rank.siterank import siterank
from gossamer.rank.weighted import linkrank

Array = npt.NDArray[Any]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

SCORES: Final = "scores"
NICE: Final = 10
MOST_TURNS: Final = 1000
"""Most iterations of hubs and authorities when everything is computed."""
_HEAD: Final = struct.Struct("<8sQQ")
_MAGIC: Final = b"gossMER1"
_NAME: Final = re.compile(r"(\d{12})\.merit")
_FILE: Final = re.compile(r"\d{12}(\.merit|\.parquet|-sites\.parquet)")


def compute(
    shard: Path,
    weights: Mapping[str, float],
    prepare: str = "",
    everything: bool = False,
    step: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Computes and stores all of the above; returns statistics. `weights` are those of link scores; `step` is called
    with the name of each step."""
    start = time.monotonic()
    step("reading the links")
    found = graph_of(shard)
    pages, wanted = found.graph.pages, set(LINK_SCORES) if everything else set(weights)
    exact: dict[str, Any] = {"tolerance": EXACT} if everything else {}
    step("PageRank")
    ranks = pagerank(found.graph, _ranks_of_before(shard), **exact)
    by_page: dict[str, Array] = {"pagerank": ranks.values, "indegree": ranks.indegree}
    by_site: dict[str, Array] = {"pagerank": np.bincount(found.site, ranks.values[: len(found.site)], found.sites)}
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
        by_page["linkrank"] = linkrank(links, weights_of(shard, links), **exact)
        if everything:
            step("components")
            _add_parts(found, links, by_page, by_site)
    if prepare:
        step(f"{prepare} for the policy")
    merit = merit_of(by_page, weights, found.sites)
    scored = Scored(merit, prepare, *_prepared(shard, found, prepare))
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
        "cpu": round(time.process_time(), 3),
        "memory": _most_memory(),
    }


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores that the desk takes over."""

    merit: F32
    prepare: str
    """Name of the prepared score."""
    prepared: F32
    """The prepared score by page; empty if there is none."""
    base: float
    """Prepared score of pages found since."""


def _prepared(shard: Path, found: CollectionGraph, prepare: str) -> tuple[F32, float]:
    if not prepare or not found.graph.pages:
        return np.zeros(0, np.float32), 0.0
    fetched = np.zeros(found.graph.pages, np.bool_)
    for block in found.graph.blocks():
        fetched[block.sources] = True
    newest = _newest(shard)
    before = newest.scored.prepared if newest and newest.scored.prepare == prepare else np.zeros(0, np.float32)
    start = found.start if len(found.start) else np.zeros(1, np.uint32)
    known = Known(found.graph, found.site, fetched, start)
    made = PREPARED[prepare](known, before.astype(np.float64) if len(before) else None)
    return made.values.astype(np.float32), made.base


def _add_parts(found: CollectionGraph, links: Csr, by_page: dict[str, Array], by_site: dict[str, Array]) -> None:
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


def merit_of(by_page: Mapping[str, Array], weights: Mapping[str, float], sites: int) -> F32:
    """The merit of each page; scores that were not computed count nothing."""
    merit = np.zeros(len(by_page["pagerank"]))
    for name, weight in weights.items():
        if name in by_page:
            share = by_page[name].astype(np.float64)
            if name == "indegree":
                share /= max(1.0, share.sum())
            merit += weight * share_score(share, sites if name == "siterank" else len(share))
    return merit.astype(np.float32)


def _write(
    shard: Path,
    found: CollectionGraph,
    by_page: Mapping[str, Array],
    by_site: Mapping[str, Array],
    scored: Scored,
    weights: Mapping[str, float],
) -> None:
    folder, segment, merit = shard / SCORES, found.segment, scored.merit
    disk.make_directory(folder)
    page = np.arange(len(merit), dtype=np.int64) | found.shard << SHARD_SHIFT
    columns = {name: a.astype(np.float32) if a.dtype == np.float64 else a for name, a in by_page.items()}
    _write_table(folder / f"{segment:012d}.parquet", {"page": page, **columns, "merit": merit})
    sites = {"site": np.arange(len(by_site["pagerank"]), dtype=np.int64), **by_site}
    _write_table(folder / f"{segment:012d}-sites.parquet", sites)
    head = json.dumps(
        {
            "segment": segment,
            "sites": len(by_site["pagerank"]),
            "weights": dict(weights),
            "pages": len(merit),
            "prepare": scored.prepare,
            "base": scored.base,
        }
    ).encode()
    raw = merit.astype("<f4").tobytes() + scored.prepared.astype("<f4").tobytes()
    checksum = xxhash.xxh3_64_intdigest(head + raw)
    disk.write_atomic(folder / f"{segment:012d}.merit", _HEAD.pack(_MAGIC, len(head), checksum), head, raw)
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


def _write_table(path: Path, columns: Mapping[str, Array]) -> None:
    """Stores integers as differences. Pages without incoming links all have the same PageRank, which zstd finds."""
    sink = pa.BufferOutputStream()
    whole = [name for name, values in columns.items() if values.dtype == np.int64]
    pq.write_table(
        pa.table({name: pa.array(values) for name, values in columns.items()}),
        sink,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
    )
    disk.write_atomic(path, memoryview(sink.getvalue()))


@dataclass(frozen=True, slots=True)
class _Newest:
    """The contents of a merit file."""

    number: int
    sites: int
    weights: dict[str, float]
    scored: Scored


def _newest(shard: Path) -> _Newest | None:
    """The newest merit file with a correct checksum."""
    folder = shard / SCORES
    names = sorted((p for p in folder.iterdir() if _NAME.fullmatch(p.name)), reverse=True) if folder.is_dir() else []
    for path in names:
        raw = path.read_bytes()
        if len(raw) < _HEAD.size:
            continue
        magic, size, checksum = _HEAD.unpack_from(raw)
        body = memoryview(raw)[_HEAD.size :]
        if magic == _MAGIC and xxhash.xxh3_64_intdigest(body) == checksum:
            head = json.loads(bytes(body[:size]))
            values = np.frombuffer(body[size:], "<f4")
            count = head.get("pages", len(values))  # the first version had merit alone
            scored = Scored(values[:count], head.get("prepare", ""), values[count:], head.get("base", 0.0))
            return _Newest(head["segment"], head["sites"], head["weights"], scored)
    return None


def read_scored(shard: Path, weights: Mapping[str, float]) -> Scored | None:
    """The newest scores; None if none were computed.

    If the weights have changed since, merit is made again from the stored scores.
    """
    newest = _newest(shard)
    if newest is None or newest.weights == dict(weights):
        return newest.scored if newest else None
    by_page = _stored(shard, newest.number, None)
    return replace(newest.scored, merit=merit_of(by_page, weights, newest.sites)) if by_page else None


def _ranks_of_before(shard: Path) -> F64 | None:
    """PageRank of the last computation: the next one starts from it."""
    newest = _newest(shard)
    stored = _stored(shard, newest.number, ["pagerank"]) if newest else {}
    return stored["pagerank"].astype(np.float64) if stored else None


def _stored(shard: Path, number: int, columns: list[str] | None, which: str = "") -> dict[str, Array]:
    """Columns of a stored table; empty if it is missing or damaged, as it may be deleted."""
    try:
        table = pq.read_table(shard / SCORES / f"{number:012d}{which}.parquet", columns=columns, use_threads=False)
    except (OSError, pa.ArrowException):
        return {}
    return {name: table.column(name).to_numpy() for name in table.column_names}


def stored_scores(shard: Path, segment: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """The scores by page and by site that were computed up to a segment."""
    return _stored(shard, segment, None), _stored(shard, segment, None, "-sites")


def main(arguments: list[str]) -> int:
    os.nice(NICE)
    pa.set_memory_pool(pa.system_memory_pool())  # it returns the memory of a segment; the default pool keeps it
    try:
        figures = compute(Path(arguments[0]), json.loads(arguments[1]), arguments[2])
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
