"""The soonest that a page can be known, whatever order a crawl takes: a lower bound.

A page is known at the beginning (a seed, or a page of an earlier run), or as soon as any page that links to it was
read, or any sitemap: not the one that named it first in the crawl that was run, for another order finds it by another.
No page is asked for before robots.txt of its origin was, which in turn nobody asks for before a page of the origin is
known. Nothing here waits for anything else: politeness, which only makes it later, is counted in `shortest`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.laboratory.compare.shortest import F64, I64


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What a crawl was about: arrays by page, by link and by origin."""

    given: npt.NDArray[np.bool_]
    """By page: known at the beginning."""
    origin: I64
    """Of each page."""
    took: F64
    """By page: seconds that reading it takes at least; inf if it was never read."""
    source: I64
    target: I64
    """By link."""
    robots: F64
    """By origin: seconds that asking for its robots.txt takes, with the rest after it; 0 if its rules were known."""
    listed: npt.NDArray[np.bool_]
    """By page: a sitemap may have named it."""
    sitemap_origin: I64
    sitemap_took: F64
    """By sitemap that was read: whose rules had to be known first, and how long it took."""


@dataclass(frozen=True, slots=True)
class Soonest:
    page: F64
    """By page: when it can be asked for."""
    origin: F64
    """By origin: when one of its pages can be known. 0, as of a page, where no way to it is recorded."""


def soonest(known: CrawlFacts) -> Soonest:
    """Rounds over all links until nothing gets sooner: as many as the longest chain of discoveries has pages."""
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
