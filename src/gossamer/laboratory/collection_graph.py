"""Opens graphs: a collection as a `WebGraph`, to be analysed, simulated or shown, or a graph file.

The pages of the graph are the *fetched* pages: a request for them returned a page (ok, or a duplicate) or a redirect.
Their links and their sizes are known. A page that is only known has no links and no size yet, and there are often ten
times as many: a simulation would take them for dead ends that the Web does not have. `known=True` includes them, each
with the mean size, because the crawl computes PageRank over all known pages.

Pages are renumbered in the order of discovery; `page` holds their numbers in the collection. The start pages (`start`)
are the seeds and all other pages that were not found on a page; if none of these was fetched, the first page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U32, Array, Bools
from gossamer.base.compiled import njit
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, Ask, Outcome, PageFlag
from gossamer.collection import manifest
from gossamer.collection.layout import is_collection, require_collection, shard_folder
from gossamer.collection.tables.forms import Page, Word, one_chunk
from gossamer.laboratory.graphs.webgraph import SIZE, SUFFIX, WebGraph, load, missing
from gossamer.manager.scores.graph import graph_of, read_table
from gossamer.rank.graph import Csr, held

_BROUGHT: Final = np.isin(np.arange(len(Outcome)), [Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT])


@dataclass(frozen=True, slots=True)
class Collected:
    """The graph of a collection, and the numbers that its pages have there."""

    graph: WebGraph
    page: U32
    """By page of the graph: its local number in the collection; ascending."""
    folder: Path
    shard: int

    def urls(self, pages: Sequence[int] | Array) -> list[str]:
        """URLs of pages of the graph. Reads all URLs of the segments concerned, so ask for few pages or for all."""
        return known_urls(self.folder, self.page[np.asarray(pages, np.int64)], self.shard)


def known_urls(folder: Path, pages: Array, shard: int = 0) -> list[str]:
    """URLs of pages by their local numbers in the collection."""
    wanted = pages.astype(np.int64)
    found = np.full(len(wanted), "", object)
    first, place = 0, shard_folder(folder, shard)
    for _, line in sorted(manifest.read(place).segments.items()):
        rows = sum(said["rows"] for name, said in line["files"].items() if name.startswith("pages/"))
        here = (wanted >= first) & (wanted < first + rows)
        if here.any():
            table = read_table(place, "pages", line, ("url",))
            if table is not None:
                found[here] = one_chunk(table, "url").take(wanted[here] - first).to_pylist()
        first += rows
    return [str(url) for url in found]


def require_place(path: Path) -> None:
    """UsageError if there is neither an .npz file nor a collection: asked before kernels are compiled."""
    if path.is_dir():
        if not is_collection(path):
            raise UsageError(
                f"{path} is a folder, but not a collection",
                "Name the folder that was given to `gossamer crawl`, or a graph (.npz).",
            )
    elif not path.exists():
        raise missing(path)
    elif path.suffix != SUFFIX:
        raise UsageError(
            f"{path} is neither a graph ({SUFFIX}) nor the folder of a collection",
            "To make a graph of lists of URLs and links, use `gossamer graph convert`.",
        )


def open_graph(path: str | Path) -> WebGraph:
    """Opens an .npz file or the folder of a collection."""
    path = Path(path)
    require_place(path)
    return collected(path).graph if path.is_dir() else load(path)


def collected(folder: Path, *, known: bool = False, shard: int = 0) -> Collected:
    require_collection(folder)
    place = shard_folder(folder, shard)
    whole = graph_of(place)
    links = held(whole.graph)
    received, fetched, first = _pages(place, whole.contents, len(whole.site))
    require_links(folder, len(links.targets))
    kept = np.flatnonzero(fetched | known).astype(np.uint32)
    if not len(kept):
        raise UsageError(f"{folder} has no fetched page", "Resume the crawl; `gossamer status` shows what goes wrong.")
    mean = int(received[fetched].mean()) if fetched.any() else SIZE
    size = np.where(fetched, np.maximum(received, 1), mean)[kept].astype(np.uint32)
    start = np.flatnonzero(first[kept]).astype(np.uint32) if first[kept].any() else np.zeros(1, np.uint32)
    site = np.unique(whole.site[kept], return_inverse=True)[1].astype(np.uint32)
    graph = WebGraph(_restricted(links, kept), site, size, start, folder.resolve().name)
    return Collected(graph, kept, folder, whole.contents.meta.shard)


def require_links(folder: Path, links: int) -> None:
    if not links:
        raise UsageError(
            f"{folder} has no links yet",
            "Resume the crawl, or wait until a segment is sealed (collection.seal_every); stopping a crawl seals too.",
        )


def _pages(shard: Path, contents: manifest.Contents, pages: int) -> tuple[I64, Bools, Bools]:
    """By page: bytes of its last answer, whether it was fetched, whether it was found on no page."""
    received, fetched, first, at = np.zeros(pages, np.int64), np.zeros(pages, np.bool_), np.zeros(pages, np.bool_), 0
    form = Page(contents.meta.shard)
    for _, line in sorted(contents.segments.items()):
        table = read_table(shard, "pages", line, ("flags", "source"))
        if table is not None:
            seed = one_chunk(table, "flags").to_numpy() & PageFlag.SEED != 0
            first[at : at + len(seed)] = seed | (form.read(one_chunk(table, "source")) == NONE)
            at += len(seed)
        visits = read_table(shard, "visits", line, ("page", "ask", "outcome", "received"))
        if visits is None:
            continue
        page, brought = form.read(one_chunk(visits, "page")), _BROUGHT[Word(Outcome).read(one_chunk(visits, "outcome"))]
        brought &= (page != NONE) & (Word(Ask).read(one_chunk(visits, "ask")) == Ask.PAGE)
        received[page[brought]] = one_chunk(visits, "received").to_numpy()[brought]
        fetched[page[brought]] = True
    return received, fetched, first


def _restricted(links: Csr, kept: U32) -> Csr:
    """Keeps the links between the pages of `kept`, and renumbers them."""
    if len(kept) == links.pages:
        return links
    new = np.full(links.pages, NONE, np.uint32)
    new[kept] = np.arange(len(kept), dtype=np.uint32)
    offsets, targets = np.zeros(len(kept) + 1, np.int64), np.empty(len(links.targets), np.uint32)
    count = _restrict(links.offsets, links.targets, kept, new, offsets, targets)
    return Csr(offsets, targets[:count].copy())


@njit
def _restrict(offsets: I64, targets: U32, kept: U32, new: U32, out: I64, found: U32) -> int:
    count = 0
    for i in range(len(kept)):
        for j in range(offsets[kept[i]], offsets[kept[i] + 1]):
            target = new[targets[j]]
            if target != NONE:
                found[count] = target
                count += 1
        out[i + 1] = count
    return count
