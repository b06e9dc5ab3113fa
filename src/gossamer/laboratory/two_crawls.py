"""Two real crawls of the same Web: what the older one knew of the pages of the newer one (thesis 4.1.1 and 4.3.2)."""

from __future__ import annotations

import numpy as np

from gossamer import urls
from gossamer.base.arrays import F64, U64
from gossamer.base.errors import UsageError
from gossamer.laboratory.collection_graph import Collected
from gossamer.rank.pagerank import EXACT, pagerank


def known_before(now: Collected, before: Collected) -> F64:
    """By page of the newer crawl: the PageRank of the page of the same URL in the older one; NaN if it had none."""
    old, new = _keys(before), _keys(now)
    order = np.argsort(old)
    at = np.minimum(np.searchsorted(old, new, sorter=order), len(old) - 1)
    same = old[order[at]] == new
    if not same.any():
        raise UsageError(
            f"{now.folder} and {before.folder} have no page in common",
            "Name an older crawl of the same sites as --history.",
        )
    ranks = pagerank(before.graph.links, tolerance=EXACT, most=1000).values
    return np.where(same, ranks[order[at]], np.nan)


def _keys(crawl: Collected) -> U64:
    texts = crawl.urls(np.arange(len(crawl.page)))
    return np.array([urls.fingerprint(text, 0) for text in texts], np.uint64)


def described(history: F64, worth: F64) -> str:
    """How much of the newer crawl the older one knew, as 4.3.4 says it of the Greek crawl."""
    known = ~np.isnan(history)
    held = worth[known].sum() / worth.sum()
    return f"{known.mean():.1%} of the pages were known before; they hold {held:.1%} of the PageRank"
