"""Generates a Web with the distributions of a national Web (thesis, chapter 8, with its errata).

| property | value | how it is generated |
|---|---|---|
| pages per site | exponent 1.77 from 1, at most 20,000 (8.4.1, 8.2) | drawn |
| out-degree | tail 2.8 from 50 (8.7.2) | drawn with 2.65; below 50, the power that gives the requested mean |
| in-degree | tail 2.3 from 50 (8.7.2) | a target for each page, drawn with 2.2, as small sites have no room for it |
| links inside the site | 94 % (8.5.3: 2.2 of some 35 million lead to other sites) | a share of each page's links |
| sites without links from others | 64 % (table 8.3) | 36 % get links, 28 % give links, 47 % either |
| size | peak at 12 KB, tail 3.54, cut at 300 KB (8.3.2, 8.7.1) | drawn; pages with more links are larger (8.5.1) |
| depth | most pages on the fifth level of their site, at most 15 levels (8.3.4) | see `inside` |

Large sites are more likely to give and to get links. A link to another site leads to its home page six times out of
ten. Pages are numbered site by site, the home page first; all home pages are start pages, as the crawls of chapter 8
had the list of all domains. `figures.check` verifies a generated Web; from 10^5 pages on all checks hold.

Deterministic: the same settings give the same bytes. Cost for 10^6 pages and 10^7 links: see `bench/links.py`.
The models of 2.1.3 are in `models`: they explain one distribution each, and know no sites.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Array, Bools
from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs.inside import links_inside
from gossamer.laboratory.graphs.powerlaw import bent, draw
from gossamer.laboratory.graphs.webgraph import WebGraph, offsets_of
from gossamer.rank.graph import csr

SITE_EXPONENT: Final = 1.77
LARGEST_SITE: Final = 20_000
TAIL_FROM: Final = 50
OUT_TAIL: Final = 2.8
IN_TAIL: Final = 2.3
OUT_TAIL_DRAWN: Final = 2.65
IN_TAIL_DRAWN: Final = 2.2
MOST_LINKS: Final = 2_000
WITHOUT_LINKS: Final = 0.1
"""Share of pages without links."""
INSIDE: Final = 0.94
LINKED, LINKING, EITHER = 0.36, 0.28, 0.47
"""Shares of sites: with a link from another site, with a link to another site, with either."""
TWICE: Final = 0.07
"""Share of the links inside sites that are drawn twice and count once."""
POPULAR: Final = 2.1
"""Exponent of the number of links that a site gets."""
TO_HOME: Final = 0.6
SIZE_PEAK, SIZE_TAIL, SIZE_MOST = 12_000, 3.54, 300_000
DEEPEST: Final = 15
LEVEL: Final = 4
"""Level with most pages; the home page is on level 0."""


def make(pages: int, links_per_page: float = 10.0, seed: int = 1, name: str = "") -> WebGraph:
    if pages < 1 or not 1.5 <= links_per_page <= 40 or seed < 0:
        raise UsageError(
            f"cannot make a Web of {pages} pages with {links_per_page} links per page and seed {seed}",
            "Give at least one page, 1.5 to 40 links per page, and a seed of 0 or more.",
        )
    rng = np.random.default_rng([seed, pages])
    counts = _sites(rng, pages)
    begins, site = offsets_of(counts), np.repeat(np.arange(len(counts)), counts)
    degree = _degrees(rng, links_per_page, counts[site])
    _home_has_most(degree, begins, site)
    linked, linking = _classes(rng, counts)
    abroad = _abroad(rng, degree, begins, linking[site], (1 - INSIDE) * pages * links_per_page)
    wanted = draw(rng, bent(links_per_page, TAIL_FROM, IN_TAIL_DRAWN, LARGEST_SITE), pages)
    wanted = wanted[np.lexsort((-np.log(wanted) + rng.normal(0, 0.5, pages), site))]
    sources, targets = np.empty((2, int(degree.sum()) + pages), np.uint32)
    made = links_inside(begins, degree - abroad, wanted, _depths(), int(rng.integers(2**32)), sources, targets)
    outer = _between(rng, abroad, site, begins, linked)
    links = csr(pages, np.concatenate([sources[:made], outer[0]]), np.concatenate([targets[:made], outer[1]]))
    size = _sizes(rng, np.diff(links.offsets))
    return WebGraph(links, site.astype(np.uint32), size, begins[:-1].astype(np.uint32), name or f"made-{pages}-{seed}")


def _sites(rng: np.random.Generator, pages: int) -> I64:
    """Number of pages of each site; the last site is cut to make the sum right."""
    weights = np.concatenate([[0.0], np.arange(1, LARGEST_SITE + 1) ** -SITE_EXPONENT])
    found = np.zeros(0, np.int64)
    while found.sum() < pages:
        found = np.concatenate([found, draw(rng, weights, 1 + pages // 10)])
    ends = np.cumsum(found)
    last = int(np.searchsorted(ends, pages))
    found = found[: last + 1]
    found[last] -= ends[last] - pages
    return found


def _degrees(rng: np.random.Generator, mean: float, of_site: I64) -> I64:
    """Number of links of each page. More are drawn than needed: no page links to more pages than its site has."""
    asked = mean / (1 - WITHOUT_LINKS)
    for _ in range(3):
        degree = draw(rng, bent(asked, TAIL_FROM, OUT_TAIL_DRAWN, MOST_LINKS), len(of_site))
        degree[rng.random(len(degree)) < WITHOUT_LINKS] = 0
        asked = min(2 * mean, asked * mean / max(1.0, (1 - TWICE) * np.minimum(degree, of_site - 1).mean()))
    return degree


def _home_has_most(degree: I64, begins: I64, site: I64) -> None:
    """Swaps the degree of each home page with the largest degree of its site."""
    most = np.maximum.reduceat(degree, begins[:-1])
    at = np.flatnonzero(degree == most[site])
    _, first = np.unique(site[at], return_index=True)
    degree[at[first]] = degree[begins[:-1]]
    degree[begins[:-1]] = most


def _classes(rng: np.random.Generator, counts: I64) -> tuple[Bools, Bools]:
    """By site: whether other sites link to it, and whether it links to other sites."""
    n = len(counts)
    order = np.argsort(rng.exponential(1, n) / np.sqrt(counts))
    both, linked, either = (round(share * n) for share in (LINKED + LINKING - EITHER, LINKED, EITHER))
    gets, gives = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    gets[order[:linked]] = True
    gives[order[:both]] = True
    gives[order[linked:either]] = True
    return gets, gives


def _abroad(rng: np.random.Generator, degree: I64, begins: I64, may: Bools, number: float) -> I64:
    """Number of links of each page to other sites: about `number` in all, and at least one per site where `may`."""
    linking = may[begins[:-1]]
    share = min(1.0, number / max(1, degree[may].sum()))
    abroad = np.where(may, rng.binomial(degree, share), 0)
    alone = (np.diff(begins) == 1) & linking
    homes = begins[:-1]
    abroad[homes[alone]] = np.minimum(degree[homes[alone]], 5)
    none = linking & (np.add.reduceat(abroad, homes) == 0)
    abroad[homes[none]] = 1
    degree[homes[none]] = np.maximum(degree[homes[none]], 1)
    return abroad


def _between(rng: np.random.Generator, abroad: I64, site: I64, begins: I64, linked: Bools) -> tuple[U32, U32]:
    """Links between sites: every linked site gets one, the others are drawn by popularity; no site links to itself."""
    sources = rng.permutation(np.repeat(np.arange(len(abroad)), abroad))
    choice = np.flatnonzero(linked)
    if not len(sources) or not len(choice):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    popular = rng.random(len(choice)) ** (-1 / (POPULAR - 1)) * np.sqrt(np.diff(begins)[choice])
    to = choice[draw(rng, popular, len(sources))]
    to[: len(choice)] = choice[: len(sources)]
    for _ in range(20):
        own = np.flatnonzero(to == site[sources])
        other = rng.integers(0, len(sources), len(own))
        for i, j in zip(own.tolist(), other.tolist(), strict=True):
            if to[j] != site[sources[i]] and to[i] != site[sources[j]]:
                to[i], to[j] = to[j], to[i]
    kept = to != site[sources]
    sources, to = sources[kept], to[kept]
    inner = (rng.random(len(to)) ** 3 * np.diff(begins)[to]).astype(np.int64)
    targets = begins[to] + np.where(rng.random(len(to)) < TO_HOME, 0, inner)
    return sources.astype(np.uint32), targets.astype(np.uint32)


def _depths() -> F64:
    """Share of each level: a Poisson distribution around LEVEL, shifted down by one."""
    depths = np.zeros(DEEPEST + 1)
    depths[1] = np.exp(-(LEVEL - 1.0))
    for k in range(2, DEEPEST + 1):
        depths[k] = depths[k - 1] * (LEVEL - 1.0) / (k - 1)
    total: float = depths.sum()
    return np.asarray(depths / total)


def _sizes(rng: np.random.Generator, degree: Array) -> U32:
    """Sizes: rising up to the peak, then falling by a power. Both parts meet at the peak, which sets their shares."""
    n = len(degree)
    beyond = 2 / (SIZE_TAIL + 1)
    body = SIZE_PEAK * np.sqrt(rng.random(n))
    cut = (SIZE_MOST / SIZE_PEAK) ** (1 - SIZE_TAIL)
    tail = SIZE_PEAK * (1 - rng.random(n) * (1 - cut)) ** (-1 / (SIZE_TAIL - 1))
    sizes = np.sort(np.where(rng.random(n) < beyond, tail, body))
    size = np.empty(n, np.uint32)
    size[np.argsort(np.log1p(degree) + rng.normal(0, 1, n), kind="stable")] = np.maximum(sizes, 200)
    return size
