"""Completed PageRank: the PageRank that the graph will have, estimated from the part of it that is known.

A crawl knows the links of the pages that it fetched; the pages that it has not fetched yet, most of all that it knows,
have links too. PageRank takes them for pages without any, and so undervalues whatever they will link to. But the pages
of a site link alike: menus, indexes, neighbours. So a page that was not fetched is taken to link as the fetched pages
of its site do on average, weighed by their rank:

    a fetched page q of site s hands on          x(q) (1 + F(s) / C(s)) / out(q) to each of its targets
    F(s), C(s)                                   the rank of the pages of s that were not fetched, and that were
    a site of which nothing was fetched          hands BETA of its rank back to its known pages, alike

    x(p) = d (what p is handed) + c t(p)         c: what is missing to 1
    t(p)                                         LAMBDA shared by the start pages, the rest by all known pages

It is computed anew whenever the crawl has grown by a twentieth, a few turns from the values of before; in between, a
page that is fetched adds d x(p) / out(p) to each of its targets (`manager.policies`), and a page that is found begins
with `base`, what a page that nobody links to has. One pass over the links a turn, as PageRank.

Measured by `bench/orders.py` beside all others; docs/decisions.md has what was tried and refused: weights of the site's
average by the number of pages fetched, more generations of unknown pages, bonuses for pages whose like led to many new
ones, other values of LAMBDA (.1 to .3), BETA (.8 to 1) and of the damping: no difference, or worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.rank.graph import F64, I64, U32, Graph
from gossamer.rank.pagerank import DAMPING

LAMBDA: Final = 0.15
BETA: Final = 0.9
TURNS: Final = 5
TOLERANCE: Final = 1e-3
GROWTH: Final = 0.05
"""Of the pages fetched, after which it is computed anew."""
LEAST: Final = 20
"""Pages fetched between two computations, at least."""


@dataclass(frozen=True, slots=True)
class Completed:
    values: F64
    """By known page; they add up to 1."""
    base: float
    """Of a page that nobody links to, and that is no start page."""


def completed(graph: Graph, site: U32, fetched: npt.NDArray[np.bool_], start: U32, before: F64 | None) -> Completed:
    """`site` and `fetched` are by known page; `before`: the values of before, of the first pages."""
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
    return Completed(values, base)


def _gifts(values: F64, site: U32, fetched: npt.NDArray[np.bool_], known: I64) -> F64:
    """By site: by how much its fetched pages hand on more, or (below 0) what each page of one without any gets back."""
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
    """The change, and the base."""
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
