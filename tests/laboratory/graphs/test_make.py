"""A generated Web has the required distributions, known exponents are found, and figures are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs.figures import NEVER, as_plain, check, depths, figures
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.powerlaw import bent, draw, exponent, zeta
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.rank.graph import csr
from tests.support.shared_data import graph_file


@pytest.mark.parametrize("a", [1.77, 2.3, 2.8, 3.54])
@pytest.mark.parametrize(("least", "most"), [(1, None), (1, 20_000), (50, None), (50, 350)])
def test_the_exponent_of_a_sample_is_found(a: float, least: int, most: int | None) -> None:
    """Drawn from at most 10^7 values: for these exponents the omitted part of the sum is not visible."""
    x = np.arange(least, (most or 10_000_000) + 1, dtype=np.float64)
    sample = least + draw(np.random.default_rng(1), x**-a, 20_000)
    fit = exponent(sample, least, most or (10_000_000 if a < 2 else None))
    assert fit is not None
    assert fit.number == 20_000
    assert abs(fit.exponent - a) < 4 * fit.error
    assert fit.error < 0.06


def test_values_outside_the_range_are_left_out() -> None:
    tail = 50 + draw(np.random.default_rng(2), np.arange(50.0, 10**6) ** -2.5, 5000)
    sample = np.concatenate([np.full(1000, 1), tail])
    fit = exponent(sample, 50)
    assert fit is not None
    assert fit.number == 5000
    assert abs(fit.exponent - 2.5) < 4 * fit.error


def test_too_small_a_sample_has_no_exponent() -> None:
    assert exponent(np.array([1, 2, 3])) is None
    assert exponent(np.full(100, 7)) is None


def test_zeta_agrees_with_tables() -> None:
    assert zeta(2, 1) == pytest.approx(math.pi**2 / 6, abs=1e-12)
    assert zeta(4, 2) == pytest.approx(math.pi**4 / 90 - 1, abs=1e-12)
    assert zeta(1.5, 1) == pytest.approx(2.612375348685488, abs=1e-11)


@pytest.mark.parametrize("mean", [3, 10, 20])
def test_a_bent_law_has_its_mean_and_its_tail(mean: float) -> None:
    weights = bent(mean, 50, 2.5, 5000)
    assert (weights * np.arange(5001)).sum() == pytest.approx(mean, rel=1e-3)
    assert weights[100] / weights[200] == pytest.approx(2**2.5)


@pytest.mark.parametrize(("pages", "each", "seed"), [(100_000, 5, 1), (100_000, 10, 2), (100_000, 20, 3)])
def test_a_generated_web_has_the_required_properties(pages: int, each: float, seed: int) -> None:
    found = figures(make(pages, each, seed))
    assert found.pages == pages
    assert [v for v in check(found, each) if not v.holds] == []


def test_a_web_without_these_properties_fails_the_check() -> None:
    rng = np.random.default_rng(1)
    n = 100_000
    even = csr(n, rng.integers(0, n, 10 * n), rng.integers(0, n, 10 * n))
    site, size = (np.arange(n) // 100).astype(np.uint32), np.full(n, 10_000, np.uint32)
    failed = {v.name for v in check(figures(WebGraph(even, site, size, np.zeros(1, np.uint32)))) if not v.holds}
    assert {"pages per site, exponent", "links inside the site", "sites without links from others"} <= failed
    assert {"in-degree from 50, exponent", "size from 12 KB, exponent", "depth with most pages"} <= failed


def test_the_same_seed_gives_the_same_web() -> None:
    one, other, third = make(5_000, 8, 7), make(5_000, 8, 7), make(5_000, 8, 8)
    assert one.links.targets.tobytes() == other.links.targets.tobytes()
    assert one.size.tobytes() == other.size.tobytes()
    assert one.links.targets.tobytes() != third.links.targets.tobytes()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.floats(1.5, 40), st.integers(0, 2**40))
def test_a_generated_web_is_consistent_and_reachable_from_its_home_pages(pages: int, each: float, seed: int) -> None:
    graph = make(pages, each, seed)
    assert graph.pages == pages == len(graph.site) == len(graph.size)
    assert len(graph.start) == graph.sites
    assert len(graph.links.targets) == graph.links.offsets[-1]
    assert (depths(graph.links, graph.start, graph.site) != NEVER).all()
    assert graph.links.targets.max(initial=0) < pages
    sources = np.repeat(np.arange(pages), np.diff(graph.links.offsets))
    assert (sources != graph.links.targets).all()


@pytest.mark.parametrize(("pages", "each", "seed"), [(0, 10, 1), (10, 1, 1), (10, 41, 1), (10, 10, -1)])
def test_a_web_that_cannot_be_made_is_refused(pages: int, each: float, seed: int) -> None:
    with pytest.raises(UsageError, match="cannot make a Web"):
        make(pages, each, seed)


def test_the_figures_of_a_small_graph_are_right() -> None:
    """Site 0: pages 0 -> 1 -> 2; site 1: pages 3, 4, of which 4 is not linked; 2 -> 3 and 3 -> 0; page 5 alone."""
    links = csr(6, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))
    site = np.array([0, 0, 0, 1, 1, 2], np.uint32)
    found = figures(WebGraph(links, site, np.arange(6, dtype=np.uint32), np.array([0, 3], np.uint32)))
    assert (found.pages, found.links, found.sites, found.start) == (6, 4, 3, 2)
    assert (found.linkage.dangling, found.linkage.inside) == (2 / 6, 2 / 4)
    assert (found.by_site.linked, found.by_site.linking, found.by_site.site_links) == (2 / 3, 2 / 3, 2)
    assert found.by_site.single == 1 / 3
    assert found.depths.reached == 4 / 6
    assert found.depths.depth == (2, 1, 1)
    assert found.depths.depth_in_site == (2, 1, 1)
    assert found.depths.deepest_of_site == (2 + 0) / 2
    assert (found.connected.components, found.connected.largest_component) == (3, 4)
    assert found.connected.parts["main_norm"] == 4
    assert found.connected.site_parts["main_norm"] == 2
    assert found.size == 2.5
    assert as_plain(found)["depth"] == [2, 1, 1]


def test_depths_are_the_shortest_paths() -> None:
    links = csr(5, np.array([0, 0, 1, 2, 4]), np.array([1, 3, 2, 3, 0]))
    assert depths(links, np.array([0], np.uint32)).tolist() == [0, 1, 2, 1, NEVER]
    split = np.array([0, 0, 0, 1, 1], np.uint32)
    assert depths(links, np.array([0], np.uint32), split).tolist() == [0, 1, 2, NEVER, NEVER]


def test_the_figures_of_a_real_web_are_computed() -> None:
    from gossamer.laboratory.graphs.webgraph import load

    found = figures(load(graph_file("debian-docs")))
    assert (found.pages, found.links, found.sites) == (689920, 13259807, 2584)
    assert found.linkage.in_degree is not None
    assert 1.5 < found.linkage.in_degree.exponent < 3.5
    assert sum(found.connected.parts.values()) == found.pages
