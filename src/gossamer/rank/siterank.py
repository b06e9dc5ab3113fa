"""SiteRank: PageRank over the graph of sites; a site links to another if any of its pages does (thesis 7.2.1)."""

from __future__ import annotations

from gossamer.base.arrays import F64, U32
from gossamer.rank.graph import Graph, crossings, csr
from gossamer.rank.pagerank import pagerank


def siterank(graph: Graph, site: U32, sites: int) -> F64:
    """SiteRank by site. `site`: by page. Cost: one pass over the links, and 8 bytes per linked pair of sites."""
    return pagerank(csr(sites, *crossings(graph, site)), tolerance=1e-6).values
