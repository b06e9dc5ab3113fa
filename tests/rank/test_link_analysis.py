"""Tests of link analysis over whole graphs: closed forms, independent libraries, and properties of every graph."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.rank.components import bow_tie, reached, strong_components
from gossamer.rank.graph import Csr, held, transposed
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.names import PARTS
from gossamer.rank.opic import opic
from gossamer.rank.pagerank import EXACT, pagerank
from gossamer.rank.rankmass import rankmass
from gossamer.rank.weighted import BASE, BOLD, HEADING, MOST_TEXT, POSITION, link_weight, linkrank
from tests.support.graphs import dense, in_memory
from tests.support.strategies import Links, graphs, seeds

F64 = npt.NDArray[np.float64]


def library(links: Links) -> Any:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(links)))
    graph.add_edges_from((p, t) for p, targets in enumerate(links) for t in targets)
    return graph


CHAIN: Links = [[1], [2], [3], []]
CYCLE: Links = [[1], [2], [3], [0]]
STAR: Links = [[], [0], [0], [0], [0]]
CLIQUES: Links = [[1, 2], [0, 2], [0, 1, 3], [4, 5], [3, 5], [3, 4]]
"""Two cliques of three pages each, and a link from the first to the second."""


def test_pagerank_of_a_chain_a_cycle_and_a_star_is_as_computed_by_hand() -> None:
    chain = pagerank(in_memory(CHAIN), tolerance=1e-12).values
    parts = np.array([1, 1.85, 1 + 0.85 * 1.85, 1 + 0.85 * (1 + 0.85 * 1.85)])
    assert np.allclose(chain, parts / parts.sum(), atol=1e-10)
    assert np.allclose(pagerank(in_memory(CYCLE), tolerance=1e-12).values, 0.25)
    star = pagerank(in_memory(STAR), tolerance=1e-12).values
    assert star[0] / star[1] == pytest.approx(1 + 4 * 0.85)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_pagerank_agrees_with_an_independent_library(links: Links) -> None:
    theirs = nx.pagerank(library(links), alpha=0.85, tol=1e-12, max_iter=1000)
    ranks = pagerank(in_memory(links), tolerance=EXACT)
    assert ranks.change <= EXACT
    assert ranks.iterations <= 114
    assert np.allclose(ranks.values, [theirs[p] for p in range(len(links))], atol=1e-7)


@pytest.mark.parametrize("links", [STAR, CLIQUES, [[1, 2], [2], [0], [2]]])
def test_hubs_and_authorities_agree_with_an_independent_library(links: Links) -> None:
    hubs, authorities = nx.hits(library(links), tol=1e-12)
    ours = hubs_and_authorities(in_memory(links), tolerance=1e-12, most=5000)
    assert ours.change <= 1e-12
    assert np.allclose(ours.hub, [hubs[p] for p in range(len(links))], atol=1e-8)
    assert np.allclose(ours.authority, [authorities[p] for p in range(len(links))], atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.floats(0.1, 5))
def test_without_attributes_weighted_link_rank_is_pagerank(links: Links, weight: float) -> None:
    graph = in_memory(links)
    true = pagerank(graph, tolerance=1e-10).values
    assert np.allclose(linkrank(graph, tolerance=1e-10), true, atol=1e-7)
    alike = np.full(len(graph.targets), weight, np.float32)
    assert np.allclose(linkrank(graph, alike, tolerance=1e-10), true, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(graphs(), seeds)
def test_weighted_link_rank_agrees_with_an_independent_library(links: Links, seed: int) -> None:
    graph = in_memory(links)
    weights = np.random.default_rng(seed).uniform(0.2, 5, len(graph.targets)).astype(np.float32)
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(graph.pages))
    for page, (begin, end) in enumerate(pairwise(graph.offsets.tolist())):
        theirs.add_weighted_edges_from((page, int(graph.targets[i]), float(weights[i])) for i in range(begin, end))
    expected = nx.pagerank(theirs, alpha=0.85, tol=1e-12, max_iter=1000)
    found = linkrank(graph, weights, tolerance=1e-10)
    assert found.sum() == pytest.approx(1)
    assert np.allclose(found, [expected[p] for p in range(graph.pages)], atol=1e-6)


def test_early_links_and_links_with_long_texts_weigh_more() -> None:
    def weight(length: float, position: float, emphasis: float = 0.0) -> float:
        return float(link_weight(np.array([length]), np.array([position]), np.array([10.0]), emphasis)[0])

    assert weight(0, 9) == pytest.approx(BASE + POSITION / 10)
    assert weight(10, 0) > weight(5, 0) > weight(5, 1)
    assert weight(1000, 0) == pytest.approx(BASE + MOST_TEXT + POSITION)
    assert weight(5, 0, HEADING) > weight(5, 0, BOLD) > weight(5, 0)


def with_root(links: Links) -> F64:
    """The matrix of OPIC: the part of its cash that each page gives to each other page; the last is the root."""
    n = len(links)
    gives = np.zeros((n + 1, n + 1))
    for page, targets in enumerate(links):
        distinct = [*set(targets), n]
        gives[page, distinct] = 1 / len(distinct)
    gives[n, :n] = 1 / n
    return gives


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_opic_approaches_the_balance_of_its_walk(links: Links) -> None:
    found = opic(in_memory(links), tolerance=1e-3, most=5000)
    assert found.values.sum() == pytest.approx(1)
    assert found.history >= found.rounds
    n = len(links)
    gives = with_root(links)
    balance = np.linalg.lstsq(np.vstack([np.eye(n + 1) - gives.T, np.ones(n + 1)]), np.eye(n + 2)[-1], rcond=None)[0]
    assert np.allclose(found.values, balance[:n] / balance[:n].sum(), atol=0.01)


def test_opic_of_a_cycle_is_even_and_of_a_star_highest_at_its_centre() -> None:
    assert np.allclose(opic(in_memory(CYCLE), tolerance=1e-3).values, 0.25, atol=1e-3)
    star = opic(in_memory(STAR), tolerance=1e-4, most=10**5).values
    assert star[0] / star[1] == pytest.approx(1 + 4 / 2, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 12))
def test_rankmass_is_a_lower_bound_and_knows_its_error(links: Links, turns: int) -> None:
    true = dense(links)
    found = rankmass(in_memory(links), most=turns)
    assert (found.lower <= true + 1e-12).all()
    assert found.missing == pytest.approx((true - found.lower).sum(), abs=1e-12)
    assert np.allclose(rankmass(in_memory(links), tolerance=1e-9).lower, true, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_rankmass_of_crawled_pages_holds_whatever_the_other_pages_link_to(links: Links, data: st.DataObject) -> None:
    n = len(links)
    crawled = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    others = data.draw(st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n))
    known: Links = [t if crawled[p] else [] for p, t in enumerate(links)]
    really: Links = [t if crawled[p] else others[p] for p, t in enumerate(links)]
    found = rankmass(in_memory(known), crawled=crawled)
    assert (found.lower <= dense(really) + 1e-9).all()
    assert not found.lower[~crawled].any()


def test_rankmass_with_trusted_pages_is_personalized_pagerank() -> None:
    theirs = nx.pagerank(library(CLIQUES), personalization={0: 1, 4: 1}, tol=1e-12, max_iter=1000)
    found = rankmass(in_memory(CLIQUES), np.array([0, 4], np.uint32), tolerance=1e-10)
    assert np.allclose(found.lower, [theirs[p] for p in range(6)], atol=1e-8)
    assert found.lower.sum() == pytest.approx(1, abs=1e-9)


def same_groups(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_strong_components_agree_with_two_independent_libraries(links: Links) -> None:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    graph = in_memory(links)
    found = strong_components(graph)
    theirs = np.empty(len(links), np.int64)
    for number, component in enumerate(nx.strongly_connected_components(library(links))):
        theirs[list(component)] = number
    assert same_groups(found, theirs)
    matrix = csr_matrix((np.ones(len(graph.targets)), graph.targets, graph.offsets), shape=(graph.pages,) * 2)
    assert same_groups(found, connected_components(matrix, connection="strong")[1])
    assert sorted(set(found.tolist())) == list(range(len(set(found.tolist()))))
    assert all(found[p] >= found[t] for p, targets in enumerate(links) for t in targets)


def test_a_chain_of_a_million_pages_needs_no_deep_stack() -> None:
    n = 1_000_000
    chain = Csr(np.minimum(np.arange(n + 1), n - 1), np.arange(1, n, dtype=np.uint32))
    assert strong_components(chain).tolist() == list(range(n - 1, -1, -1))


BOW_TIE: dict[str, list[str]] = {
    "m1": ["m2", "out1"],
    "m2": ["m3"],
    "m3": ["m4"],
    "m4": ["m1", "out2"],
    "in1": ["m1", "tip", "through"],
    "in2": ["m2", "in1"],
    "out1": ["out2"],
    "out2": [],
    "tip": ["tip2"],
    "tip2": [],
    "through": ["through2"],
    "through2": ["out1"],
    "root": ["root2"],
    "root2": ["out2"],
    "alone": [],
    "pair1": ["pair2"],
    "pair2": ["pair1"],
    "wrong": ["tip"],
}
EXPECTED = {
    "m1": "main_main",
    "m2": "main_in",
    "m3": "main_norm",
    "m4": "main_out",
    "in1": "in",
    "in2": "in",
    "out1": "out",
    "out2": "out",
    "tip": "tentacle_in",
    "tip2": "tentacle_in",
    "through": "tunnel",
    "through2": "tunnel",
    "root": "tentacle_out",
    "root2": "tentacle_out",
    "alone": "island",
    "pair1": "island",
    "pair2": "island",
    "wrong": "island",
}


def test_the_bow_tie_has_its_ten_parts() -> None:
    names = list(BOW_TIE)
    found = bow_tie(in_memory([[names.index(t) for t in BOW_TIE[p]] for p in names]))
    parts = list(PARTS)
    assert {name: parts[part] for name, part in zip(names, found.part.tolist(), strict=True)} == EXPECTED
    assert found.main == 4
    assert found.counts()["island"] == 4


def ways(links: Links) -> Callable[[set[int]], set[int]]:
    graph = library(links)
    return lambda pages: set(pages).union(*(nx.descendants(graph, p) for p in pages))


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_every_page_is_in_exactly_one_part_by_its_definition(links: Links) -> None:
    n = len(links)
    found = bow_tie(in_memory(links))
    turned: Links = [[p for p in range(n) if t in links[p]] for t in range(n)]
    forward, backward = ways(links), ways(turned)
    sizes = np.bincount(found.component)
    main = set(np.flatnonzero(found.part <= 3).tolist())
    assert len(main) == sizes.max()
    inside, outside = backward(main) - main, forward(main) - main
    from_in, to_out = forward(inside), backward(outside)
    assert sum(found.counts().values()) == n
    for page in range(n):
        entered, left = bool(inside & set(turned[page])), bool(outside & set(links[page]))
        if page in main:
            expected = {(1, 1): "main_main", (1, 0): "main_in", (0, 1): "main_out", (0, 0): "main_norm"}[entered, left]
        elif page in inside or page in outside:
            expected = "in" if page in inside else "out"
        else:
            reach = page in from_in, page in to_out
            expected = {(1, 1): "tunnel", (1, 0): "tentacle_in", (0, 1): "tentacle_out", (0, 0): "island"}[reach]
        assert list(PARTS)[found.part[page]] == expected


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_a_graph_transposed_twice_is_unchanged(links: Links) -> None:
    graph = in_memory(links)
    back = transposed(graph)
    assert {(t, p) for p, of in enumerate(links) for t in of} == {
        (p, int(t)) for p, (b, e) in enumerate(pairwise(back.offsets.tolist())) for t in back.targets[b:e]
    }
    again = transposed(back)
    assert again.offsets.tolist() == graph.offsets.tolist()
    assert again.targets.tolist() == graph.targets.tolist()
    assert held(graph) is graph


def test_graphs_without_pages_have_no_scores() -> None:
    empty = Csr(np.zeros(1, np.int64), np.zeros(0, np.uint32))
    assert len(linkrank(empty)) == len(opic(empty).values) == len(rankmass(empty).lower) == 0
    assert bow_tie(empty).components == bow_tie(empty).main == 0
    assert len(reached(empty, np.zeros(0, np.bool_))) == 0
