"""Weighted link rank: PageRank in which the share of a link depends on its tag, text and position in the page
(Baeza-Yates and Davis 2004, "Web page ranking using link attributes"; thesis 7.2.1).

    r(p) = (1 - d)/N + d (sum over q linking to p of r(q) w(q,p) / (sum of w(q,.)) + D/N),    D as in `pagerank`

    w(q,p) = c + T + AL + RP            a link with a text
           = c                          a link without text: nothing is known about it
    AL = min(length of the text / d, 2)
    RP = b (1 - position / bearers)     position among the page's elements of that tag, from 0

with c = 1, d = 16 characters (a common length; the limit of 2 prevents that a paragraph inside a link gets nearly all
of the rank), b = 1/2, and T = 1 for a link in a heading or around one, 1/2 in or around strong or b, else 0. The paper
states the form and leaves the constants open. Of the three attributes it found the length of the text the best and the
position the weakest, because the first link in the source is often not the first on the screen: hence b < c.

Invariant: `without_attributes_weighted_link_rank_is_pagerank`: if all links of each page have equal weights, the result
is PageRank. Memory: 12 bytes per link during the computation.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U32
from gossamer.base.compiled import njit
from gossamer.rank.graph import Csr
from gossamer.rank.pagerank import DAMPING, settle

BASE: Final = 1.0
TEXT_LENGTH: Final = 16.0
MOST_TEXT: Final = 2.0
POSITION: Final = 0.5
HEADING: Final = 1.0
BOLD: Final = 0.5


def link_weight(length: F64, position: F64, bearers: F64, emphasis: F64 | float = 0.0) -> F32:
    """The weights of links with texts: `length` in characters, `position` below `bearers`, `emphasis`: HEADING,
    BOLD or 0."""
    text = np.minimum(length / TEXT_LENGTH, MOST_TEXT)
    place = POSITION * (1.0 - position / np.maximum(bearers, 1.0))
    return np.asarray(BASE + emphasis + text + place, np.float32)


def linkrank(links: Csr, weights: F32 | None = None, *, tolerance: float = 1e-3, most: int = 200) -> F64:
    """The rank by page; the sum is 1. `weights`: by link, in the order of `links.targets`, above 0; None: all equal."""
    n = links.pages
    shares = np.ones(len(links.targets), np.float32) if weights is None else weights.astype(np.float32)
    _share(links.offsets, shares)
    values, out = np.full(n, 1.0 / max(1, n)), np.empty(n)
    change, iterations = np.inf, 0
    while n and change > tolerance and iterations < most:
        out[:] = 0.0
        kept = _spread_shares(links.offsets, links.targets, shares, values, out)
        change = float(settle(values, out, (1.0 - DAMPING * kept) / n))
        values, out = out, values
        iterations += 1
    values /= values.sum() or 1.0
    return values


@njit
def _share(offsets: I64, weights: F32) -> None:
    """Divide each weight by the sum of the weights of its page."""
    for page in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[page], offsets[page + 1]):
            total += weights[i]
        for i in range(offsets[page], offsets[page + 1]):
            weights[i] = weights[i] / total


@njit
def _spread_shares(offsets: I64, targets: U32, shares: F32, values: F64, out: F64) -> float:
    kept = 0.0
    for page in range(len(offsets) - 1):
        value = values[page]
        if offsets[page + 1] > offsets[page]:
            kept += value
        for i in range(offsets[page], offsets[page + 1]):
            out[targets[i]] += value * shares[i]
    return kept
