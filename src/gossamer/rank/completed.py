"""Completed PageRank: an estimate of the final PageRank from the part of the graph that is known.

A crawl knows the links of the pages that it fetched. The pages that it has not fetched, which are most known pages,
have links too. PageRank treats them as pages without links and so undervalues their targets. But the pages of a site
have similar links: menus, indexes, neighbours. So completed PageRank assumes that a page that is not fetched has the
average links of the fetched pages of its site, weighted by their rank:

    a fetched page q of site s gives             x(q) (1 + F(s) / C(s)) / out(q) to each of its targets
    F(s), C(s)                                   the total rank of the unfetched, and of the fetched pages of s
    a site without any fetched page              gives BETA of its rank back to its known pages, in equal parts

    x(p) = d (what p is given) + c t(p)          c: what is missing to a sum of 1
    t(p)                                         LAMBDA shared by the start pages, the rest by all known pages

It is computed again whenever the crawl has grown by a twentieth, in a few iterations from the previous values. In
between, a fetched page adds d x(p) / out(p) to each of its targets (`manager.policies`), and a newly found page starts
with `base`, the value of a page without incoming links. Each iteration reads all links once, as in PageRank.

`bench/orders.py` compares it with all other orders. docs/decisions.md lists what was tried and refused, because it made
no difference or was worse: weighting the average of a site by the number of pages fetched, more generations of unknown
pages, bonuses for pages similar to those that led to many new ones, other values of LAMBDA (.1 to .3), of BETA (.8 to
1) and of the damping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, U32, Bools
from gossamer.base.compiled import njit
from gossamer.rank.graph import Graph
from gossamer.rank.pagerank import DAMPING

LAMBDA: Final = 0.15
BETA: Final = 0.9
TURNS: Final = 5
TOLERANCE: Final = 1e-3
GROWTH: Final = 0.05
"""Growth in fetched pages, as a fraction, after which it is computed again."""
LEAST: Final = 20
"""Minimum fetched pages between two computations."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Scores for use until the next computation (`prepared`)."""

    values: F64
    """By known page. The sum of completed PageRank is 1."""
    base: float = 0.0
    """The score of pages found after the computation: pages without incoming links that are not start pages."""


def completed(graph: Graph, site: U32, fetched: Bools, start: U32, before: F64 | None) -> Prepared:
    """Compute completed PageRank. `site`, `fetched`: by known page; `before`: previous values of the first pages."""
    n = graph.pages
    values = np.zeros(n)
    if before is not None:
        values[: len(before)] = before
        values[len(before) :] = values[: len(before)].sum() / (2.0 * n)
    else:
        values[start] = 1.0
    values /= values.sum() or 1.0
    jump = np.full(n, (1.0 - LAMBDA) / n)
    jump[start] += LAMBDA / max(1, len(start))
    sites = int(site.max(initial=0)) + 1
    known, base = np.bincount(site, minlength=sites), 0.0
    for _ in range(TURNS):
        gift = _gifts(values, site, fetched, known)
        out = np.zeros(n)
        for block in graph.blocks():
            _hand_on(*block, values, site, gift, out)
        change, base = _settle(values, out, site, gift, jump, (1.0 - LAMBDA) / n)
        if change < TOLERANCE:
            break
    return Prepared(values, base)


def _gifts(values: F64, site: U32, fetched: Bools, known: I64) -> F64:
    """By site: the factor for what its fetched pages give; if none is fetched, minus what each of its pages gets
    back."""
    rank = np.bincount(site, values, len(known))
    held = np.bincount(site[fetched], values[fetched], len(known))
    back = DAMPING * BETA * rank / np.maximum(1, known)
    return np.asarray(np.where(held > 0, rank / np.where(held > 0, held, 1.0), -back))


@njit
def _hand_on(sources: U32, ends: I64, begin: int, targets: U32, values: F64, site: U32, gift: F64, out: F64) -> None:
    for i in range(len(sources)):
        end, source = ends[i], sources[i]
        if end > begin:
            part = DAMPING * values[source] * gift[site[source]] / (end - begin)
            for j in range(begin, end):
                out[targets[j]] += part
        begin = end


@njit
def _settle(values: F64, out: F64, site: U32, gift: F64, jump: F64, least: float) -> tuple[float, float]:
    """Finish an iteration; returns the sum of all changes, and the base."""
    total, change = 0.0, 0.0
    for p in range(len(out)):
        if gift[site[p]] < 0:
            out[p] -= gift[site[p]]
        total += out[p]
    missing = max(0.0, 1.0 - total)
    for p in range(len(out)):
        value = (out[p] + missing * jump[p]) / (total + missing)
        change += abs(value - values[p])
        values[p] = value
    return change, missing * least
