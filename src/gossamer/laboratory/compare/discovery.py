"""The earliest time at which a page can be known, in any order of crawling: a lower bound.

A page is known from the start (a seed, or a page of an earlier run), or as soon as any page that links to it was read,
or any sitemap: not only the page or sitemap that named it first in this crawl, as another order would discover it
through another page. No page is requested before the robots.txt of its origin, and no robots.txt before a page of its
origin is known. Politeness, which only delays requests, is not part of this bound; `shortest` adds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.laboratory.compare.shortest import F64, I64


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What the crawl found and how long it took: arrays by page, by link and by origin."""

    given: npt.NDArray[np.bool_]
    """By page: whether it is known from the start."""
    origin: I64
    """By page."""
    took: F64
    """By page: least seconds that reading it takes; inf if it was never read."""
    source: I64
    target: I64
    """By link: the page that has it, and the page that it leads to."""
    robots: F64
    """By origin: seconds for its robots.txt, with the rest after it; 0 if its rules were known before."""
    listed: npt.NDArray[np.bool_]
    """By page: whether a sitemap may have named it."""
    sitemap_origin: I64
    sitemap_took: F64
    """By sitemap that was read: the origin whose rules had to be known first, and its duration."""


@dataclass(frozen=True, slots=True)
class Soonest:
    """Earliest times, in seconds from the start of the crawl."""

    page: F64
    """By page: when it can be requested."""
    origin: F64
    """By origin: when one of its pages can be known. 0 if no path to it is recorded; likewise for a page."""


def soonest(known: CrawlFacts) -> Soonest:
    """Repeats a pass over all links until no time falls: as many passes as the longest chain of discoveries has
    pages."""
    page = np.where(known.given, 0.0, np.inf)
    while True:
        first = np.full(len(known.robots), np.inf)
        np.minimum.at(first, known.origin, page)
        may = np.maximum(page, (first + known.robots)[known.origin])
        sooner = page.copy()
        np.minimum.at(sooner, known.target, (may + known.took)[known.source])
        if len(known.sitemap_origin):
            read = float(np.min((first + known.robots)[known.sitemap_origin] + known.sitemap_took))
            sooner[known.listed] = np.minimum(sooner[known.listed], read)
        if np.array_equal(sooner, page):
            return Soonest(np.where(np.isfinite(may), may, 0.0), np.where(np.isfinite(first), first, 0.0))
        page = sooner
