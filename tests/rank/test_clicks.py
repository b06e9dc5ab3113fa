"""Clicks, compared with a plain search of the shortest ways."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rank.clicks import NEVER, clicks

PAGES = 9


@given(
    st.sets(st.tuples(st.integers(0, PAGES - 1), st.integers(0, PAGES - 1))),
    st.lists(st.integers(0, 2), min_size=PAGES, max_size=PAGES),
    st.sets(st.integers(0, PAGES - 1)),
    st.sets(st.integers(0, PAGES - 1)),
)
def test_clicks_are_those_of_the_shortest_way(
    links: set[tuple[int, int]], sites: list[int], seeds: set[int], free: set[int]
) -> None:
    ordered = sorted(links)
    offsets = np.searchsorted([a for a, _ in ordered], np.arange(PAGES + 1)) if ordered else np.zeros(PAGES + 1, int)
    masks = [np.isin(np.arange(PAGES), list(chosen)) for chosen in (seeds, free)]
    targets = np.array([b for _, b in ordered], np.uint32)
    found = clicks(offsets.astype(np.int64), targets, np.array(sites, np.int64), masks[0], masks[1])
    graph = nx.DiGraph()
    graph.add_nodes_from(range(PAGES))
    graph.add_weighted_edges_from((a, b, a not in free) for a, b in links if sites[a] == sites[b])
    graph.add_weighted_edges_from(("start", b, 0) for b in seeds)
    graph.add_weighted_edges_from(("start", b, 0) for a, b in links if sites[a] != sites[b])
    ways = nx.single_source_dijkstra_path_length(graph, "start") if "start" in graph else {}
    assert found.tolist() == [ways.get(page, NEVER) for page in range(PAGES)]
