"""The link graph of a collection, read block by block.

A computation sees a graph only as `blocks`: some pages, the *sources*, their targets one after the other, and where the
targets of each source end. So PageRank and similar scores are written once, for graphs in memory (`Csr`) and graphs on
disk (`rows.MappedRows`). Pages are numbers below `pages`; each page is a source at most once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gossamer.base.arrays import F64, I64, U32, U64
from gossamer.base.compiled import allocating, njit


class Block(NamedTuple):
    """The links of some sources."""

    sources: U32
    ends: I64
    """Where the targets of each source end. The targets of the next source begin there; the first begin at `begin`."""
    begin: int
    targets: U32


class Graph(Protocol):
    """A graph that can be read block by block."""

    @property
    def pages(self) -> int:
        """Number of known pages, including pages without links."""

    def blocks(self) -> Iterator[Block]:
        """All links, once. A block is valid only until the next one is requested."""


@dataclass(frozen=True, slots=True)
class Csr:
    """A graph in memory (compressed sparse rows): the targets of page p are `targets[offsets[p]:offsets[p + 1]]`."""

    offsets: I64
    targets: U32

    @property
    def pages(self) -> int:
        return len(self.offsets) - 1

    def blocks(self) -> Iterator[Block]:
        yield Block(np.arange(self.pages, dtype=np.uint32), self.offsets[1:], 0, self.targets)


def csr(pages: int, sources: npt.NDArray[np.integer], targets: npt.NDArray[np.integer]) -> Csr:
    """A graph from pairs of source and target in any order. Repeated links count once."""
    keys = distinct(np.asarray(sources, np.uint64) << np.uint64(32) | np.asarray(targets, np.uint64))
    counts = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=pages)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Csr(offsets, keys.astype(np.uint32))


def held(graph: Graph) -> Csr:
    """Load a graph into memory, in two passes."""
    if isinstance(graph, Csr):
        return graph
    offsets = np.zeros(graph.pages + 1, np.int64)
    for block in graph.blocks():
        offsets[block.sources.astype(np.int64) + 1] = np.diff(block.ends, prepend=block.begin)
    np.cumsum(offsets, out=offsets)
    targets = np.empty(offsets[-1], np.uint32)
    for block in graph.blocks():
        _place(*block, offsets, targets)
    return Csr(offsets, targets)


def transposed(links: Csr) -> Csr:
    """The graph with all links reversed; the sources of each page are in ascending order. Two passes."""
    offsets = np.zeros(links.pages + 1, np.int64)
    sources = np.empty(len(links.targets), np.uint32)
    _turn(links.offsets, links.targets, offsets, sources)
    return Csr(offsets, sources)


def distinct(keys: U64) -> U64:
    """The distinct keys in order. `np.unique` hashes: it is several times slower for millions of different keys."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def spread(graph: Graph, values: F64, out: F64, indegree: U32 | None = None) -> float:
    """Every page gives an equal part of its value to each of its targets; the parts are added to `out`. Returns the sum
    of the values of all pages with links. Counts links by target in `indegree`, in the same pass."""
    counts = indegree if indegree is not None else np.zeros(0, np.uint32)
    return float(sum(_spread(*block, values, out, counts) for block in graph.blocks()))


def push(graph: Graph, values: F64, out: F64) -> None:
    """Add to `out` of every page the values of the pages that link to it."""
    for block in graph.blocks():
        _push(*block, values, out)


def pull(graph: Graph, values: F64, out: F64) -> None:
    """Set `out` of every source to the sum of the values of its targets."""
    for block in graph.blocks():
        _pull(*block, values, out)


def crossings(graph: Graph, group: U32) -> tuple[U32, U32]:
    """The distinct pairs of different groups that are joined by a link. `group`: by page."""
    found = np.zeros(0, np.uint64)
    waiting: list[U64] = []
    for block in graph.blocks():
        pairs = np.empty(len(block.targets), np.uint64)
        waiting.append(distinct(pairs[: _cross(*block, group, pairs)]))
        if sum(map(len, waiting)) > max(len(found), 1 << 20):
            found, waiting = distinct(np.concatenate([found, *waiting])), []
    found = distinct(np.concatenate([found, *waiting]))
    return (found >> np.uint64(32)).astype(np.uint32), found.astype(np.uint32)


@allocating
def _place(sources: U32, ends: I64, begin: int, targets: U32, offsets: I64, out: U32) -> None:
    for i in range(len(sources)):
        at = offsets[sources[i]]
        out[at : at + ends[i] - begin] = targets[begin : ends[i]]
        begin = ends[i]


@njit
def _turn(offsets: I64, targets: U32, turned: I64, sources: U32) -> None:
    """Transpose a graph. It counts one place further on, so that `turned` is right when all links are placed."""
    n = len(offsets) - 1
    for target in targets:
        if target + 2 <= n:
            turned[target + 2] += 1
    for page in range(2, n + 1):
        turned[page] += turned[page - 1]
    for page in range(n):
        for i in range(offsets[page], offsets[page + 1]):
            at = turned[targets[i] + 1]
            sources[at] = page
            turned[targets[i] + 1] = at + 1


@njit
def _spread(sources: U32, ends: I64, begin: int, targets: U32, values: F64, out: F64, counts: U32) -> float:
    held = 0.0
    for i in range(len(sources)):
        end = ends[i]
        if end > begin:
            value = values[sources[i]]
            held += value
            part = value / (end - begin)
            for j in range(begin, end):
                out[targets[j]] += part
            if len(counts):
                for j in range(begin, end):
                    counts[targets[j]] += np.uint32(1)
        begin = end
    return held


@njit
def _push(sources: U32, ends: I64, begin: int, targets: U32, values: F64, out: F64) -> None:
    for i in range(len(sources)):
        value = values[sources[i]]
        for j in range(begin, ends[i]):
            out[targets[j]] += value
        begin = ends[i]


@njit
def _pull(sources: U32, ends: I64, begin: int, targets: U32, values: F64, out: F64) -> None:
    for i in range(len(sources)):
        total = 0.0
        for j in range(begin, ends[i]):
            total += values[targets[j]]
        out[sources[i]] = total
        begin = ends[i]


@njit
def _cross(sources: U32, ends: I64, begin: int, targets: U32, group: U32, pairs: U64) -> int:
    n = 0
    for i in range(len(sources)):
        own = group[sources[i]]
        for j in range(begin, ends[i]):
            other = group[targets[j]]
            if other != own:
                pair = np.uint64(own) << np.uint64(32) | np.uint64(other)
                if n == 0 or pairs[n - 1] != pair:
                    pairs[n] = pair
                    n += 1
        begin = ends[i]
    return n
