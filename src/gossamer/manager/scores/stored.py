"""Stored link scores: the merit files that the desk reads, and the tables that everyone reads.

`compute.py` writes them, in a process of its own; see there for the files. The desk reads the newest merit file at a
start and after each computation. It needs pyarrow only if the weights have changed since, so this is imported late.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import F32, Array
from gossamer.base.errors import GossamerError
from gossamer.collection import manifest
from gossamer.collection.checked import compare_any
from gossamer.rank.names import share_score

SCORES: Final = "scores"
PLUGIN: Final = "plugin"
"""The score, and the strategy, of plug-ins."""
_HEAD: Final = struct.Struct("<8sQQ")
_MAGIC: Final = b"gossMER1"
_NAME: Final = re.compile(r"(\d{12})\.merit")


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


def merit_of(by_page: Mapping[str, Array], weights: Mapping[str, float], sites: int) -> F32:
    """The merit of each page; scores that were not computed count nothing. That of a plug-in is no share: it counts as
    it is."""
    merit = np.zeros(len(by_page["pagerank"]))
    for name, weight in weights.items():
        if name == PLUGIN and name in by_page:
            merit += weight * by_page[name]
        elif name in by_page:
            share = by_page[name].astype(np.float64)
            if name == "indegree":
                share /= max(1.0, share.sum())
            merit += weight * share_score(share, sites if name == "siterank" else len(share))
    return merit.astype(np.float32)


def write_scored(shard: Path, segment: int, sites: int, weights: Mapping[str, float], scored: Scored) -> None:
    """Writes the merit file of the computation up to `segment`."""
    about = {"segment": segment, "sites": sites, "weights": dict(weights), "pages": len(scored.merit)}
    head = json.dumps(about | {"prepare": scored.prepare, "base": scored.base}).encode()
    raw = scored.merit.astype("<f4").tobytes() + scored.prepared.astype("<f4").tobytes()
    checksum = xxhash.xxh3_64_intdigest(head + raw)
    path = shard / SCORES / f"{segment:012d}.merit"
    disk.write_atomic(path, _HEAD.pack(_MAGIC, len(head), checksum), head, raw)


def write_sums(shard: Path, segment: int, tables: Mapping[str, memoryview]) -> None:
    """Writes the checksums of the tables of a computation, before the tables. If the tables are written again, their
    former checksums are kept next to the new ones: a reader may still find the former files."""
    name = f"{segment:012d}.sums"
    before = _sums(shard / SCORES / name)
    now = {table: [len(data), xxhash.xxh3_64_hexdigest(data)] for table, data in tables.items()}
    files = {table: [sums, *before.get(table, [])[:1]] for table, sums in now.items()}
    disk.write_atomic(shard / SCORES / name, manifest.encode({"files": files}))


def sums_of(shard: Path, table: str) -> list[tuple[int, str]]:
    """Sizes and checksums that a table may have; none if an earlier version wrote it."""
    found = _sums(shard / SCORES / f"{table[:12]}.sums")
    return [(int(size), str(checksum)) for size, checksum in found.get(table, [])]


def _sums(path: Path) -> Any:
    if not path.exists():
        return {}
    with disk.naming("read", path):
        line = manifest.decode(path.read_bytes())
    if line is None:
        raise GossamerError(f"{path} is damaged", f"Remove {path.parent}: `gossamer rank` and crawls compute it again.")
    return line["files"]


@dataclass(frozen=True, slots=True)
class Newest:
    """The contents of a merit file."""

    number: int
    sites: int
    weights: dict[str, float]
    scored: Scored


def newest_scores(shard: Path) -> Newest | None:
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
            return Newest(head["segment"], head["sites"], head["weights"], scored)
    return None


def read_scored(shard: Path, weights: Mapping[str, float]) -> Scored | None:
    """The newest scores; None if none were computed. If the weights have changed since, merit is made again from the
    stored scores."""
    newest = newest_scores(shard)
    if newest is None or newest.weights == dict(weights):
        return newest.scored if newest else None
    by_page = stored_table(shard, newest.number, None)
    return replace(newest.scored, merit=merit_of(by_page, weights, newest.sites)) if by_page else None


def stored_table(shard: Path, number: int, columns: list[str] | None, which: str = "") -> dict[str, Array]:
    """Columns of a stored table; empty if it is missing or damaged, as it may be deleted."""
    import pyarrow as pa
    import pyarrow.parquet as pq  # together a tenth of a second

    path = shard / SCORES / f"{number:012d}{which}.parquet"
    try:
        if sums := sums_of(shard, path.name):
            compare_any(path, sums)
        table = pq.read_table(path, columns=columns, use_threads=False)
    except (OSError, pa.ArrowException, GossamerError):
        return {}
    return {name: table.column(name).to_numpy() for name in table.column_names}


def stored_scores(shard: Path, segment: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """The scores by page and by site that were computed up to a segment."""
    return stored_table(shard, segment, None), stored_table(shard, segment, None, "-sites")
