"""All link scores of a graph or of a collection, for `gossamer rank`.

A graph gets PageRank, in-degree, SiteRank, HITS, OPIC, RankMass (which trusts the start pages) and components. A graph
has no anchor texts, so its weighted link rank would equal PageRank and is left out. A collection gets the scores of
`scores.compute` over all known pages. They are stored with the collection, so that SQL shows them, and stay until a
crawl computes its own scores.

All scores are computed to 1e-8, except OPIC, whose error falls only as 1/rounds: it is computed to .01. Hubs and
authorities end after at most a thousand iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import Array
from gossamer.collection import lock
from gossamer.collection.layout import require_collection, shard_folder
from gossamer.laboratory.collection_graph import require_links
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.manager.scores.compute import MOST_TURNS, compute
from gossamer.manager.scores.graph import graph_of
from gossamer.manager.scores.own import NOBODY, Own
from gossamer.manager.scores.stored import stored_scores
from gossamer.rank.components import BowTie, bow_tie
from gossamer.rank.graph import crossings, csr
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.names import PARTS
from gossamer.rank.opic import opic
from gossamer.rank.pagerank import EXACT, pagerank
from gossamer.rank.rankmass import rankmass

Step = Callable[[str], None]
Said = dict[str, Any]

SCORES: Final = ("pagerank", "indegree", "siterank", "linkrank", "hub", "authority", "opic", "rankmass")
_OF_SITES: Final = ("siterank", "pagerank", "indegree")


@dataclass(frozen=True, slots=True)
class Analysis:
    """Link scores and components of a graph."""

    by_page: dict[str, Array]
    """Scores by name, and `component` and `part` (an index of PARTS)."""
    by_site: dict[str, Array]
    links: int
    wrong: tuple[str, ...] = ()
    """What went wrong in plug-ins."""

    @property
    def pages(self) -> int:
        return len(self.by_page["pagerank"])

    @property
    def sites(self) -> int:
        return len(self.by_site["pagerank"])


def analyse(graph: WebGraph, step: Step = lambda _: None) -> Analysis:
    """Computes all scores of a graph. `step` is called with the name of each step before it begins."""
    links, site = graph.links, graph.site
    step("PageRank")
    ranks = pagerank(links, tolerance=EXACT)
    step("hubs and authorities")
    both = hubs_and_authorities(links, tolerance=EXACT, most=MOST_TURNS)
    step("SiteRank")
    between = csr(graph.sites, *crossings(links, site))
    of_sites = pagerank(between, tolerance=EXACT)
    step("OPIC and RankMass")
    importance, mass = opic(links), rankmass(links, graph.start, tolerance=EXACT)
    step("components")
    pages, sites = bow_tie(links), bow_tie(between)
    by_page: dict[str, Array] = {
        "pagerank": ranks.values,
        "indegree": ranks.indegree,
        "siterank": of_sites.values[site],
        "hub": both.hub,
        "authority": both.authority,
        "opic": importance.values,
        "rankmass": mass.lower,
        "component": pages.component,
        "part": pages.part,
    }
    by_site: dict[str, Array] = {
        "siterank": of_sites.values,
        "pagerank": np.bincount(site, ranks.values, graph.sites),
        "indegree": of_sites.indegree,
        "component": sites.component,
        "part": sites.part,
    }
    return Analysis(by_page, by_site, len(links.targets))


def analyse_collection(
    folder: Path, weights: dict[str, float], step: Step = lambda _: None, own: Own = NOBODY
) -> Analysis:
    """Computes and stores the scores; `own`: that of a plug-in, too. LockedError while a crawl runs (it stores its
    own); UsageError without links."""
    require_collection(folder)
    shard = shard_folder(folder)
    held = lock.take(shard)
    try:
        require_links(folder, graph_of(shard).links)
        figures = compute(shard, weights, "completed", True, step, own)
        return Analysis(*stored_scores(shard, figures["segment"]), figures["links"], tuple(figures["wrong"]))
    finally:
        held.release()


Named = Callable[[Array], list[str]]
"""The names of pages or sites, by number."""


def summary(analysis: Analysis, top: int, urls: Named | None = None, hosts: Named | None = None) -> Said:
    """What the command shows, as one object for JSON. `urls` and `hosts` name pages and sites, if the graph can."""
    pages, sites = analysis.by_page, analysis.by_site
    best = np.argsort(-pages["pagerank"], kind="stable")[:top]
    first = np.argsort(-sites["siterank"], kind="stable")[:top]
    return {
        "pages": analysis.pages,
        "links": analysis.links,
        "sites": analysis.sites,
        "top_pages": _rows("page", pages, best, SCORES, "url", urls),
        "top_sites": _rows("site", sites, first, _OF_SITES, "name", hosts),
        "components": int(pages["component"].max(initial=0)) + 1,
        "largest_component": int(np.bincount(pages["component"]).max()),
        "parts": BowTie(pages["part"], pages["component"]).counts(),
        "site_parts": BowTie(sites["part"], sites["component"]).counts(),
    }


def _rows(
    kind: str, table: dict[str, Array], at: Array, scores: tuple[str, ...], word: str, named: Named | None
) -> Any:
    names: list[Said] = [{word: name} for name in named(at)] if named else [{}] * len(at)
    return [{kind: int(i), **name, **_row(table, int(i), scores)} for i, name in zip(at, names, strict=True)]


def _row(table: dict[str, Array], at: int, names: tuple[str, ...]) -> Said:
    found = {name: table[name][at].item() for name in names if name in table}
    return {**found, "part": list(PARTS)[int(table["part"][at])]}
