"""The weight of each link of a collection by its text and position (`rank.weighted`), from the tables `anchors`.

A row of `anchors` is a link that has a text. If a link has several rows, because its page was fetched twice, the last
row counts; a link without a row has the basic weight. The number of elements with links in a page is not stored: the
last position of a link with a text stands for it. Emphasis is in the flags of the row; earlier versions did not record
it.

Cost: 4 bytes per link, and the anchors of one segment at a time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gossamer.base.arrays import F32, F64, I64, U32, Array
from gossamer.base.compiled import njit
from gossamer.base.model import LinkFlag, Tag
from gossamer.collection.manifest import Contents
from gossamer.collection.tables.forms import Page, Word, one_chunk
from gossamer.manager.scores.graph import read_table
from gossamer.rank.graph import Csr
from gossamer.rank.weighted import BASE, BOLD, HEADING, link_weight

_EMPHASIS = np.array([HEADING if f & LinkFlag.HEADING else BOLD if f & LinkFlag.BOLD else 0.0 for f in range(16)])
"""By the flags of a link."""


def weights_of(shard: Path, contents: Contents, links: Csr) -> F32:
    """Weights in the order of `links.targets`, which rise within a page."""
    weights = np.full(len(links.targets), BASE, np.float32)
    columns = ("source", "target", "text", "position", "tag", "flags")
    for _, line in sorted(contents.segments.items()):
        table = read_table(shard, "anchors", line, columns)
        if table is None or not len(table):
            continue
        source, target = (Page(contents.meta.shard).read(one_chunk(table, name)) for name in ("source", "target"))
        length: F64 = pc.utf8_length(one_chunk(table, "text")).to_numpy(zero_copy_only=False).astype(np.float64)
        place = one_chunk(table, "position").to_numpy().astype(np.int64)
        tag = Word(Tag).read(one_chunk(table, "tag"))
        emphasis = _EMPHASIS[_flags(table)]
        weight = link_weight(length, place.astype(np.float64), _bearers(source, tag, place), emphasis)
        _set(links.offsets, links.targets, source, target, weight, weights)
    return weights


def _flags(table: pa.Table) -> Array:
    """The flags of each link; 0 where an earlier version recorded none."""
    if "flags" not in table.column_names:
        return np.zeros(len(table), np.uint8)
    flags: Array = one_chunk(table, "flags").fill_null(0).to_numpy(zero_copy_only=False)
    return flags


def _bearers(source: U32, tag: Array, place: I64) -> F64:
    """For each link, the known number of elements with its tag in its page."""
    _, which = np.unique(source.astype(np.int64) << 8 | tag.astype(np.int64), return_inverse=True)
    most = np.zeros(int(which.max()) + 1)
    np.maximum.at(most, which, place + 1.0)
    return np.asarray(most[which])


@njit
def _set(offsets: I64, targets: U32, source: U32, target: U32, weight: F32, weights: F32) -> None:
    """Looks each link up by binary search and sets its weight; links that no longer exist are skipped."""
    for i in range(len(source)):
        if source[i] + 1 >= len(offsets):
            continue
        low, end = offsets[source[i]], offsets[source[i] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if targets[middle] < target[i]:
                low = middle + 1
            else:
                high = middle
        if low < end and targets[low] == target[i]:
            weights[low] = weight[i]
