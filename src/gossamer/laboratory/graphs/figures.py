"""Figures of a graph: how many, how linked, how deep, how large (thesis 8.2 to 8.7), and whether a made one has what it
was made for.

*Depth* is the least number of links from a start page: of the whole Web over all links, and, as 5.2 and 8.4.3 have it,
within a site, over its own links, from its start pages. Exponents are those of `powerlaw`, each with the least value it
is claimed for: pages of a site from 1, degrees from 50, sizes from 12,000 to 300,000 bytes. A link of a site to itself
is not one between sites; links between two sites count once (8.6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.arrays import I64, U32
from gossamer.base.compiled import njit
from gossamer.laboratory.graphs import make
from gossamer.laboratory.graphs.powerlaw import Fit, exponent
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.rank.components import bow_tie
from gossamer.rank.graph import Csr, crossings, csr

NEVER: Final = np.uint32(0xFFFFFFFF)
"""Depth of a page that is not reached."""


@dataclass(frozen=True, slots=True)
class Figures:
    pages: int
    links: int
    sites: int
    start: int
    """Start pages."""
    dangling: float
    """Share of pages without links; likewise the other shares."""
    links_per_page: float
    inside: float
    """Of the links, those inside a site."""
    most_out: int
    most_in: int
    out_degree: Fit | None
    in_degree: Fit | None
    pages_per_site: Fit | None
    largest_site: int
    single: float
    """Of the sites, those of one page."""
    top_tenth: float
    """Of the pages, those of the largest tenth of the sites."""
    linked: float
    """Of the sites, those with a link from another."""
    linking: float
    site_links: int
    size: float
    """Mean, in bytes."""
    size_tail: Fit | None
    reached: float
    """Of the pages, from the start pages."""
    depth: tuple[int, ...]
    """Pages at each depth from the start pages."""
    depth_in_site: tuple[int, ...]
    """Pages at each depth within their sites, from the site's start pages."""
    deepest_of_site: float
    """Mean over sites with a start page of the depth of their deepest page."""
    components: int
    largest_component: int
    parts: dict[str, int]
    """Pages in each part of the bow-tie."""
    site_components: int
    site_parts: dict[str, int]


def figures(graph: WebGraph) -> Figures:
    links, site = graph.links, graph.site
    out, into = np.diff(links.offsets), np.bincount(links.targets, minlength=graph.pages)
    per_site = np.bincount(site, minlength=graph.sites)
    own = int(_count_inside(links.offsets, links.targets, site))
    between = csr(graph.sites, *crossings(links, site))
    depth, within = depths(links, graph.start), depths(links, graph.start, site)
    pages, sites = bow_tie(links), bow_tie(between)
    largest = np.sort(per_site)[::-1]
    return Figures(
        pages=graph.pages,
        links=len(links.targets),
        sites=graph.sites,
        start=len(graph.start),
        dangling=_share(out == 0),
        links_per_page=float(out.mean()),
        inside=own / max(1, len(links.targets)),
        most_out=int(out.max()),
        most_in=int(into.max()),
        out_degree=exponent(out, make.TAIL_FROM),
        in_degree=exponent(into, make.TAIL_FROM),
        pages_per_site=exponent(per_site[per_site > 0]) if graph.sites > 1 else None,
        largest_site=int(largest[0]),
        single=_share(per_site == 1),
        top_tenth=float(largest[: max(1, len(largest) // 10)].sum() / graph.pages),
        linked=_share(np.bincount(between.targets, minlength=graph.sites) > 0),
        linking=_share(np.diff(between.offsets) > 0),
        site_links=len(between.targets),
        size=float(graph.size.mean(dtype=np.float64)),
        size_tail=exponent(graph.size, make.SIZE_PEAK, make.SIZE_MOST),
        reached=_share(depth != NEVER),
        depth=_histogram(depth),
        depth_in_site=_histogram(within),
        deepest_of_site=_deepest(within, site, graph.sites),
        components=pages.components,
        largest_component=pages.main,
        parts=pages.counts(),
        site_components=sites.components,
        site_parts=sites.counts(),
    )


def depths(links: Csr, start: U32, site: U32 | None = None) -> U32:
    """By page: links from the start pages; with `site`, over links inside sites only. NEVER where none leads."""
    found = np.full(links.pages, NEVER, np.uint32)
    groups = site if site is not None else np.zeros(links.pages, np.uint32)
    _breadth(links.offsets, links.targets, groups, np.unique(start), found, np.empty(links.pages, np.uint32))
    return found


def _share(which: npt.NDArray[np.bool_]) -> float:
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
class Verdict:
    name: str
    wanted: str
    found: float
    holds: bool


_Reading = Callable[[Figures], float]


def _of(fit: Fit | None) -> float:
    return fit.exponent if fit else float("nan")


_AIMS: Final[tuple[tuple[str, _Reading, float, float], ...]] = (
    ("pages per site, exponent", lambda f: _of(f.pages_per_site), make.SITE_EXPONENT, 0.05),
    ("out-degree from 50, exponent", lambda f: _of(f.out_degree), make.OUT_TAIL, 0.2),
    ("in-degree from 50, exponent", lambda f: _of(f.in_degree), make.IN_TAIL, 0.15),
    ("size from 12 KB, exponent", lambda f: _of(f.size_tail), make.SIZE_TAIL, 0.1),
    ("links inside the site", lambda f: f.inside, make.INSIDE, 0.02),
    ("sites without links from others", lambda f: 1 - f.linked, 1 - make.LINKED, 0.02),
    ("sites without links to others", lambda f: 1 - f.linking, 1 - make.LINKING, 0.02),
    ("sites of one page", lambda f: f.single, 0.5, 0.05),
    ("pages of the largest tenth of sites", lambda f: f.top_tenth, 0.9, 0.07),
    ("depth with most pages", lambda f: float(np.argmax(f.depth_in_site)), make.LEVEL, 1.0),
    ("deepest page of a site, mean", lambda f: f.deepest_of_site, 1.5, 0.5),
    ("pages reached from the start pages", lambda f: f.reached, 1.0, 0.0),
)
SMALLEST: Final = 100_000
"""Pages below which chance decides: one large site more or less moves every share of pages."""


def check(found: Figures, links_per_page: float | None = None) -> list[Verdict]:
    """Of a made Web of at least SMALLEST pages: each property, what it was made for, and whether it has it."""
    aims: list[tuple[str, _Reading, float, float]] = list(_AIMS)
    if links_per_page is not None:
        aims.append(("links per page", lambda f: f.links_per_page, links_per_page, 0.1 * links_per_page))
    return [
        Verdict(name, f"{wanted:g} ± {off:.2g}" if off else f"{wanted:g}", of(found), abs(of(found) - wanted) <= off)
        for name, of, wanted, off in aims
    ]


def as_plain(found: Figures) -> dict[str, Any]:
    """For JSON."""
    plain: dict[str, Any] = {}
    for name in Figures.__slots__:
        value = getattr(found, name)
        if isinstance(value, Fit):
            value = {"exponent": value.exponent, "error": value.error, "number": value.number}
        plain[name] = list(value) if isinstance(value, tuple) else value
    return plain
