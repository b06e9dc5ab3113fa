"""Compares link scores with direct computations, on generated and real graphs, in memory and on disk."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE
from gossamer.rank import rows as rows_module
from gossamer.rank.completed import completed
from gossamer.rank.graph import Csr, crossings, csr
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.names import share_score
from gossamer.rank.pagerank import pagerank, siterank
from gossamer.rank.rows import MappedRows, encode, open_rows
from tests.support.graphs import dense, in_memory, links_of
from tests.support.shared_data import graph_file
from tests.support.strategies import Links, graphs, seeds


def row_parts(links: dict[int, list[int]], key: int = 7) -> bytes:
    sources = np.array(list(links), np.uint32)
    degrees = np.array([len(t) for t in links.values()], np.int64)
    return b"".join(encode(sources, degrees, np.array([t for ts in links.values() for t in ts], np.uint32), key))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_pagerank_solves_its_equations(links: Links) -> None:
    ranks = pagerank(in_memory(links), tolerance=1e-12, most=500)
    assert np.allclose(ranks.values, dense(links), atol=1e-10)
    assert ranks.values.sum() == pytest.approx(1)
    indegree = np.bincount([t for targets in links for t in set(targets)], minlength=len(links))
    assert (ranks.indegree == indegree).all()


@settings(max_examples=50, deadline=None)
@given(graphs(), seeds)
def test_a_warm_start_gives_the_same_ranks(links: Links, seed: int) -> None:
    start = np.random.default_rng(seed).random(np.random.default_rng(seed).integers(0, len(links) + 1))
    warm = pagerank(in_memory(links), start, tolerance=1e-12, most=500)
    assert np.allclose(warm.values, dense(links), atol=1e-10)


def test_the_tolerance_bounds_the_error_of_the_ranks() -> None:
    rng = random.Random(1)
    links = [[int(300 * rng.random() ** 2) for _ in range(rng.randrange(8))] for _ in range(300)]
    true = dense(links)
    for tolerance in (1e-1, 1e-3, 1e-5):
        ranks = pagerank(in_memory(links), tolerance=tolerance)
        assert np.abs(ranks.values - true).sum() <= tolerance * 0.85 / 0.15


def test_a_good_start_saves_iterations() -> None:
    rng = random.Random(2)
    links = [[rng.randrange(500) for _ in range(5)] for _ in range(500)]
    cold = pagerank(in_memory(links), tolerance=1e-9)
    assert pagerank(in_memory(links), cold.values, tolerance=1e-9).iterations <= 2 < cold.iterations


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnr-2000", "debian-docs"])
def test_pagerank_of_a_real_graph_equals_a_power_iteration(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    stored = np.load(graph_file(name))
    graph = Csr(stored["offsets"].astype(np.int64), stored["targets"])
    n, degree = graph.pages, np.diff(graph.offsets)
    matrix = sparse.csr_array((np.ones(len(graph.targets)), graph.targets, graph.offsets), (n, n)).T.tocsr()
    rank = np.full(n, 1 / n)
    for _ in range(150):
        given_ = np.divide(rank, degree, out=np.zeros(n), where=degree > 0)
        rank = 0.15 / n + 0.85 * (matrix @ given_ + rank[degree == 0].sum() / n)
    assert np.abs(pagerank(graph, tolerance=1e-9, most=1000).values - rank).sum() < 1e-7


# --- on disk ----------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(graphs(), st.integers(1, 5))
def test_rows_on_disk_are_the_graph(links: Links, block: int) -> None:
    folder = Path(os.environ["PYTEST_TMP"])
    (folder / "one").write_bytes(row_parts(dict(enumerate(links))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "BLOCK", block)
        file = open_rows(folder / "one", 7)
        assert file is not None
        mapped = MappedRows([file], len(links))
        assert links_of(mapped) == {p: sorted(set(targets)) for p, targets in enumerate(links)}
        ranks = pagerank(mapped, tolerance=1e-12, most=500)
    assert np.allclose(ranks.values, dense(links), atol=1e-10)
    assert file.links == sum(len(set(targets)) for targets in links)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives the examples of hypothesis a folder to write to; a function-scoped fixture is not allowed with them."""
    monkeypatch.setenv("PYTEST_TMP", str(tmp_path))


def test_rows_hold_the_greatest_page_numbers(tmp_path: Path) -> None:
    links = {0: [NONE - 1, 5, 5], NONE - 1: [0], 7: [], 2**31: [2**31 - 1, 2**31 + 1]}
    (tmp_path / "one").write_bytes(row_parts(links))
    file = open_rows(tmp_path / "one", 7)
    assert file is not None
    assert (file.limit, file.widest, file.links) == (NONE, 2, 5)
    out = np.empty(9, np.uint32), np.empty(9, np.int64), np.empty(9, np.uint32)
    owner = np.broadcast_to(np.int32(0), (NONE,))
    _, row, count, used = rows_module._decode(file.body, 0, file.sources, 0, owner, 0, *out)
    assert (row, count, used) == (4, 4, 5)
    targets = np.split(out[2][:used], out[1][: count - 1])
    found = dict(zip(out[0][:count].tolist(), [t.tolist() for t in targets], strict=True))
    assert found == {source: sorted(set(of)) for source, of in links.items()}


def test_a_later_row_of_a_page_replaces_the_earlier_one(tmp_path: Path) -> None:
    contents: list[dict[int, list[int]]] = [{1: [2, 3], 2: [1]}, {3: [0], 1: []}, {2: [3], 4: [4]}]
    files = []
    for number, links in enumerate(contents):
        (tmp_path / str(number)).write_bytes(row_parts(links))
        files.append(open_rows(tmp_path / str(number), 7))
    assert None not in files
    mapped = MappedRows([f for f in files if f], 6)
    assert links_of(mapped) == {1: [], 3: [0], 2: [3], 4: [4]}
    assert np.allclose(pagerank(mapped, tolerance=1e-12).values, dense([[], [], [3], [0], [4], []]))


def test_row_files_are_read_before_they_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails is an error of `read`; of a mapped page it is the end of the process."""
    path = tmp_path / "one"
    path.write_bytes(row_parts({1: [2, 300], 2: [1]}))
    monkeypatch.setattr(np, "memmap", None)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert open_rows(path, 7) is None, "damaged, and never mapped"
    path.unlink()
    path.symlink_to("/proc/self/mem")  # the kernel answers with EIO
    assert open_rows(path, 7) is None


def test_row_files_that_are_damaged_or_made_from_other_data_are_not_used(tmp_path: Path) -> None:
    path, whole = tmp_path / "one", row_parts({1: [2, 300], 2: [1]})
    assert open_rows(path, 7) is None
    path.write_bytes(whole)
    assert open_rows(path, 7) is not None
    assert open_rows(path, 8) is None
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = open_rows(path, 7)
        assert found is None or at < 56, "damage after the head is detected"
        path.write_bytes(whole[:at])
        assert open_rows(path, 7) is None


# --- hubs, sites, shares ----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_hubs_and_authorities_follow_the_algorithm(links: Links) -> None:
    n = len(links)
    matrix = np.zeros((n, n))
    for p, targets in enumerate(links):
        matrix[p, targets] = 1
    authority = np.full(n, 1 / n)
    for _ in range(7):
        hub = matrix @ authority
        hub /= hub.sum() or 1
        authority = matrix.T @ hub
        authority /= authority.sum() or 1
    found = hubs_and_authorities(in_memory(links), tolerance=-1, most=7)
    assert np.allclose(found.hub, hub)
    assert np.allclose(found.authority, authority)


@settings(max_examples=50, deadline=None)
@given(graphs(), st.integers(1, 5))
def test_siterank_is_pagerank_of_the_distinct_links_between_sites(links: Links, sites: int) -> None:
    site = np.array([p % sites for p in range(len(links))], np.uint32)
    between: Links = [
        sorted({t % sites for p in range(s, len(links), sites) for t in links[p]} - {s}) for s in range(sites)
    ]
    pairs = {(s, t) for s in range(sites) for t in between[s]}
    assert set(zip(*(a.tolist() for a in crossings(in_memory(links), site)), strict=True)) == pairs
    assert np.allclose(siterank(in_memory(links), site, sites), dense(between), atol=1e-5)


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 10**9))
def test_the_score_of_a_share_rises_from_0_to_1(shares: list[float], count: int) -> None:
    scores = share_score(np.array(sorted(shares)), count)
    assert (np.diff(scores) >= 0).all()
    assert (scores >= 0).all()
    assert (scores <= 1).all()
    assert share_score(np.array([0.0, 1.0]), count).tolist() == [0, 1]
    exact = np.log2(1 + np.array(sorted(shares)) * count) / np.log2(1 + count)
    assert np.abs(scores - exact).max() <= 2 * 0.09 / np.log2(1 + count)


# --- completed PageRank -----------------------------------------------------------------------------------------------


def test_completed_pagerank_of_a_whole_graph_on_one_site_is_pagerank_with_a_jump_to_the_start() -> None:
    """All pages are fetched: nothing is left to complete."""
    rng = np.random.default_rng(2)
    graph = csr(50, rng.integers(0, 50, 400), rng.integers(0, 50, 400))
    start, everything = np.array([3], np.uint32), np.ones(50, np.bool_)
    found = completed(graph, np.zeros(50, np.uint32), everything, start, None)
    for _ in range(10):
        found = completed(graph, np.zeros(50, np.uint32), everything, start, found.values)
    links = np.zeros((50, 50))
    for p in range(50):
        targets = graph.targets[graph.offsets[p] : graph.offsets[p + 1]]
        links[p, targets] = 1 / max(1, len(targets))
    jump = np.full(50, 0.85 / 50)
    jump[3] += 0.15
    expected = np.full(50, 1 / 50)
    for _ in range(200):
        out = 0.85 * expected @ links
        expected = out + (1 - out.sum()) * jump
    assert found.values == pytest.approx(expected, abs=1e-3)
    assert found.values.sum() == pytest.approx(1.0)
    assert found.base == pytest.approx((1 - 0.85 * (expected @ links).sum()) * 0.85 / 50, abs=1e-4)


def test_unfetched_pages_are_assumed_to_link_like_their_site() -> None:
    """Pages 1 and 2 of site 0 link to 3; pages 4 and 5, which are not fetched, will too. Site 1 has pages 6 and 7."""
    graph = csr(8, np.array([0, 0, 0, 0, 1, 2, 0]), np.array([1, 2, 4, 5, 3, 3, 6]))
    site = np.array([0, 0, 0, 0, 0, 0, 1, 1], np.uint32)
    fetched = np.array([True, True, True, False, False, False, False, False])
    found = completed(graph, site, fetched, np.zeros(1, np.uint32), None).values
    plain = pagerank(graph, tolerance=1e-8).values
    assert found[3] / found[6] > 1.1 * plain[3] / plain[6]
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()
