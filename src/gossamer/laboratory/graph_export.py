"""Writes the graph of a collection for other programs: as a list of links, or as GraphML (Gephi, NetworkX, igraph).

Nodes are fetched pages, or the sites that have one. A link between two sites has the number of links between their
pages as its weight. Lines are made one after the other, so memory holds the graph and the names, and no document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from gossamer.base.arrays import I64
from gossamer.base.escape import for_screen
from gossamer.laboratory.collection_graph import collected
from gossamer.rank.graph import Csr
from gossamer.urls import host

_BATCH: Final = 100_000
_HEAD: Final = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="site" for="node" attr.name="site" attr.type="string"/>
<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<graph edgedefault="directed">"""


@dataclass(frozen=True, slots=True)
class Named:
    """A graph whose nodes have names."""

    names: list[str]
    site: list[str]
    """The site of each node."""
    links: Csr
    weights: I64

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Source, target and weight of each link."""
        sources = np.repeat(np.arange(self.links.pages), np.diff(self.links.offsets))
        for at in range(0, len(sources), _BATCH):
            here = slice(at, at + _BATCH)
            columns = (sources[here].tolist(), self.links.targets[here].tolist(), self.weights[here].tolist())
            yield from zip(*columns, strict=True)


def named(folder: Path, sites: bool) -> Named:
    """The graph of the fetched pages of a collection, or of their sites."""
    found = collected(folder)
    graph = found.graph
    urls = found.urls(np.arange(graph.pages))
    if not sites:
        return Named(urls, [host(url) for url in urls], graph.links, np.ones(len(graph.links.targets), np.int64))
    names = [""] * graph.sites
    for url, number in zip(urls, graph.site.tolist(), strict=True):
        names[number] = names[number] or host(url)
    source = graph.site[np.repeat(np.arange(graph.pages), np.diff(graph.links.offsets))].astype(np.int64)
    target = graph.site[graph.links.targets].astype(np.int64)
    between = source != target
    keys, weights = np.unique(source[between] * graph.sites + target[between], return_counts=True)
    counts = np.bincount(keys // graph.sites, minlength=graph.sites)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    links = Csr(offsets, (keys % graph.sites).astype(np.uint32))
    return Named(names, names, links, weights.astype(np.int64))


def as_edges(graph: Named) -> Iterator[str]:
    """A line for each link: source, target, weight, separated by tabs."""
    for source, target, weight in graph.edges():
        yield f"{graph.names[source]}\t{graph.names[target]}\t{weight}\n"


def as_graphml(graph: Named) -> Iterator[str]:
    """A GraphML document. Characters that XML forbids are spelled out."""
    yield f"{_HEAD}\n"
    for number, (name, site) in enumerate(zip(graph.names, graph.site, strict=True)):
        said = f'<data key="name">{_text(name)}</data><data key="site">{_text(site)}</data>'
        yield f"<node id={quoteattr(f'n{number}')}>{said}</node>\n"
    for source, target, weight in graph.edges():
        yield f'<edge source="n{source}" target="n{target}"><data key="weight">{weight}</data></edge>\n'
    yield "</graph>\n</graphml>\n"


def _text(text: str) -> str:
    return escape(for_screen(text))
