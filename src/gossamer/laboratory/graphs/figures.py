"""Figures of a graph: counts, links, depths and sizes (thesis 8.2 to 8.7), and a check of generated graphs.

*Depth* is the least number of links from a start page: over all links of the Web, and, as in 5.2 and 8.4.3, within a
site over its own links from its start pages. Exponents are computed by `powerlaw`, each from the least value for which
the thesis claims it: pages per site from 1, degrees from 50, sizes from 12,000 to 300,000 bytes. Links between two
sites count once, and a link inside a site does not count as a link between sites (8.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import I64, U32, Bools
from gossamer.base.compiled import njit
from gossamer.laboratory.graphs import make
from gossamer.laboratory.graphs.mutual import mutual
from gossamer.laboratory.graphs.powerlaw import Fit, exponent
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.rank.components import bow_tie
from gossamer.rank.graph import Csr, crossings, csr

NEVER: Final = np.uint32(0xFFFFFFFF)
"""Depth of an unreachable page."""


@dataclass(frozen=True, slots=True)
class LinkFigures:
    """How pages link. Shares are of all pages, or of all links."""

    dangling: float
    """Share of pages without links."""
    links_per_page: float
    inside: float
    """Share of links inside a site."""
    reciprocal: float
    """Share of links whose target links back."""
    clustering: float
    """Probability that two neighbours of a page are linked."""
    most_out: int
    most_in: int
    out_degree: Fit | None
    in_degree: Fit | None


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """How large sites are and how they link to each other."""

    pages_per_site: Fit | None
    largest_site: int
    single: float
    """Share of sites with one page."""
    top_tenth: float
    """Share of pages in the largest tenth of the sites."""
    linked: float
    """Share of sites with a link from another site."""
    linking: float
    """Share of sites with a link to another site."""
    site_links: int


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """How far pages are from the start pages."""

    reached: float
    """Share of pages that the start pages lead to."""
    depth: tuple[int, ...]
    """Pages at each depth from the start pages."""
    depth_in_site: tuple[int, ...]
    """Pages at each depth within their sites, from the start pages of the site."""
    deepest_of_site: float
    """Depth of the deepest page of a site: the mean over the sites with a start page."""


@dataclass(frozen=True, slots=True)
class ComponentFigures:
    """Strongly connected components, of pages and of sites."""

    components: int
    largest_component: int
    parts: dict[str, int]
    """Pages in each part of the bow-tie."""
    site_components: int
    site_parts: dict[str, int]
    """Sites in each part of the bow-tie."""


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """All figures of a graph, grouped by subject."""

    pages: int
    links: int
    sites: int
    start: int
    """Number of start pages."""
    linkage: LinkFigures
    by_site: SiteFigures
    size: float
    """Mean size of a page in bytes."""
    size_tail: Fit | None
    depths: DepthFigures
    connected: ComponentFigures


def figures(graph: WebGraph) -> GraphFigures:
    links, site = graph.links, graph.site
    between = csr(graph.sites, *crossings(links, site))
    return GraphFigures(
        pages=graph.pages,
        links=len(links.targets),
        sites=graph.sites,
        start=len(graph.start),
        linkage=_link_figures(links, site),
        by_site=_site_figures(graph, between),
        size=float(graph.size.mean(dtype=np.float64)),
        size_tail=exponent(graph.size, make.SIZE_PEAK, make.SIZE_MOST),
        depths=_depth_figures(graph),
        connected=_component_figures(links, between),
    )


def _link_figures(links: Csr, site: U32) -> LinkFigures:
    out, into = np.diff(links.offsets), np.bincount(links.targets, minlength=links.pages)
    inside = int(_count_inside(links.offsets, links.targets, site))
    reciprocal, clustering = mutual(links)
    return LinkFigures(
        dangling=_share(out == 0),
        links_per_page=float(out.mean()),
        inside=inside / max(1, len(links.targets)),
        reciprocal=reciprocal,
        clustering=clustering,
        most_out=int(out.max()),
        most_in=int(into.max()),
        out_degree=exponent(out, make.TAIL_FROM),
        in_degree=exponent(into, make.TAIL_FROM),
    )


def _site_figures(graph: WebGraph, between: Csr) -> SiteFigures:
    per_site = np.bincount(graph.site, minlength=graph.sites)
    largest = np.sort(per_site)[::-1]
    return SiteFigures(
        pages_per_site=exponent(per_site[per_site > 0]) if graph.sites > 1 else None,
        largest_site=int(largest[0]),
        single=_share(per_site == 1),
        top_tenth=float(largest[: max(1, len(largest) // 10)].sum() / graph.pages),
        linked=_share(np.bincount(between.targets, minlength=graph.sites) > 0),
        linking=_share(np.diff(between.offsets) > 0),
        site_links=len(between.targets),
    )


def _depth_figures(graph: WebGraph) -> DepthFigures:
    depth, within = depths(graph.links, graph.start), depths(graph.links, graph.start, graph.site)
    return DepthFigures(
        reached=_share(depth != NEVER),
        depth=_histogram(depth),
        depth_in_site=_histogram(within),
        deepest_of_site=_deepest(within, graph.site, graph.sites),
    )


def _component_figures(links: Csr, between: Csr) -> ComponentFigures:
    pages, sites = bow_tie(links), bow_tie(between)
    return ComponentFigures(
        components=pages.components,
        largest_component=pages.main,
        parts=pages.counts(),
        site_components=sites.components,
        site_parts=sites.counts(),
    )


def depths(links: Csr, start: U32, site: U32 | None = None) -> U32:
    """By page: the least number of links from a start page, NEVER if there is no path. With `site`, only links inside
    sites count."""
    found = np.full(links.pages, NEVER, np.uint32)
    groups = site if site is not None else np.zeros(links.pages, np.uint32)
    _breadth(links.offsets, links.targets, groups, np.unique(start), found, np.empty(links.pages, np.uint32))
    return found


def _share(which: Bools) -> float:
    return float(which.mean()) if len(which) else 0.0


def _histogram(depth: U32) -> tuple[int, ...]:
    return tuple(np.bincount(depth[depth != NEVER]).tolist())


def _deepest(within: U32, site: U32, sites: int) -> float:
    deepest = np.full(sites, -1, np.int64)
    reached = within != NEVER
    np.maximum.at(deepest, site[reached], within[reached].astype(np.int64))
    return float(deepest[deepest >= 0].mean()) if (deepest >= 0).any() else 0.0


@njit
def _count_inside(offsets: I64, targets: U32, site: U32) -> int:
    count = 0
    for page in range(len(offsets) - 1):
        for i in range(offsets[page], offsets[page + 1]):
            count += site[targets[i]] == site[page]
    return count


@njit
def _breadth(offsets: I64, targets: U32, site: U32, start: U32, depth: U32, queue: U32) -> None:
    length = 0
    for page in start:
        depth[page] = 0
        queue[length] = page
        length += 1
    at = 0
    while at < length:
        page = queue[at]
        at += 1
        for i in range(offsets[page], offsets[page + 1]):
            target = targets[i]
            if depth[target] == NEVER and site[target] == site[page]:
                depth[target] = depth[page] + 1
                queue[length] = target
                length += 1


@dataclass(frozen=True, slots=True)
class Check:
    """One property of a generated graph, compared with the thesis."""

    name: str
    wanted: str
    found: float
    holds: bool


_Reading = Callable[[GraphFigures], float]


def _of(fit: Fit | None) -> float:
    return fit.exponent if fit else float("nan")


_AIMS: Final[tuple[tuple[str, _Reading, float, float], ...]] = (
    ("pages per site, exponent", lambda f: _of(f.by_site.pages_per_site), make.SITE_EXPONENT, 0.05),
    ("out-degree from 50, exponent", lambda f: _of(f.linkage.out_degree), make.OUT_TAIL, 0.2),
    ("in-degree from 50, exponent", lambda f: _of(f.linkage.in_degree), make.IN_TAIL, 0.15),
    ("size from 12 KB, exponent", lambda f: _of(f.size_tail), make.SIZE_TAIL, 0.1),
    ("links inside the site", lambda f: f.linkage.inside, make.INSIDE, 0.02),
    ("sites without links from others", lambda f: 1 - f.by_site.linked, 1 - make.LINKED, 0.02),
    ("sites without links to others", lambda f: 1 - f.by_site.linking, 1 - make.LINKING, 0.02),
    ("sites of one page", lambda f: f.by_site.single, 0.5, 0.05),
    ("pages of the largest tenth of sites", lambda f: f.by_site.top_tenth, 0.9, 0.07),
    ("depth with most pages", lambda f: float(np.argmax(f.depths.depth_in_site)), make.LEVEL, 1.0),
    ("deepest page of a site, mean", lambda f: f.depths.deepest_of_site, 1.5, 0.5),
    ("pages reached from the start pages", lambda f: f.depths.reached, 1.0, 0.0),
)
SMALLEST: Final = 100_000
"""Least number of pages for `check`: below it a single large site decides every share of pages."""


def check(found: GraphFigures, links_per_page: float | None = None) -> list[Check]:
    """Compares a generated Web of at least SMALLEST pages with the properties it was generated for."""
    aims: list[tuple[str, _Reading, float, float]] = list(_AIMS)
    if links_per_page is not None:
        aims.append(("links per page", lambda f: f.linkage.links_per_page, links_per_page, 0.1 * links_per_page))
    return [
        Check(name, f"{wanted:g} ± {off:.2g}" if off else f"{wanted:g}", of(found), abs(of(found) - wanted) <= off)
        for name, of, wanted, off in aims
    ]


def as_plain(found: GraphFigures) -> dict[str, Any]:
    """All figures in one flat table, for JSON."""
    return {name: _plain(value) for name, value in _flat(found)}


def _flat(found: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, (LinkFigures, SiteFigures, DepthFigures, ComponentFigures)):
            yield from _flat(value)
        else:
            yield field.name, value


def _plain(value: Any) -> Any:
    if isinstance(value, Fit):
        return {"exponent": value.exponent, "error": value.error, "number": value.number}
    return list(value) if isinstance(value, tuple) else value
