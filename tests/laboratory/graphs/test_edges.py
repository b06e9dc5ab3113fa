"""Graphs from lists of links and URLs."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs import edges as module
from gossamer.laboratory.graphs.edges import from_edges
from gossamer.laboratory.graphs.webgraph import WebGraph

URLS = "http://www.a.example/x\nhttp://a.example/\nhttps://b.example:8080/one\nhttp://c.example/\n"


def pairs(graph: WebGraph) -> set[tuple[int, int]]:
    ends = pairwise(graph.links.offsets.tolist())
    return {(p, int(t)) for p, (begin, end) in enumerate(ends) for t in graph.links.targets[begin:end]}


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_numbers_and_a_list_of_urls_make_sites_of_hosts(tmp_path: Path) -> None:
    graph = from_edges(file(tmp_path, "e.txt", "# some\n0 1\n1\t2\n\n2 0\r\n2 0\n"), file(tmp_path, "u.txt", URLS))
    assert pairs(graph) == {(0, 1), (1, 2), (2, 0)}
    assert graph.site.tolist() == [0, 0, 1, 2]
    assert graph.start.tolist() == [1, 2, 3], "the home page, else the first page"
    assert graph.name == "e"


def test_urls_in_pairs_are_numbered_in_their_order(tmp_path: Path) -> None:
    text = "http://a.example/1 http://b.example/\nhttp://b.example/\thttp://www.A.example/1#top\n"
    graph = from_edges(file(tmp_path, "e.txt", text))
    assert pairs(graph) == {(0, 1), (1, 0)}, "two spellings of a URL are one page"
    assert graph.site.tolist() == [0, 1]


def test_page_numbers_without_urls_make_one_site(tmp_path: Path) -> None:
    graph = from_edges(file(tmp_path, "e.csv", "0,3\n3,1"))
    assert pairs(graph) == {(0, 3), (3, 1)}
    assert graph.pages == 4
    assert graph.sites == 1


def test_compressed_files_are_read(tmp_path: Path) -> None:
    edges = file(tmp_path, "e.txt.gz", gzip.compress(b"0 1\n1 0\n"))
    urls = file(tmp_path, "u.gz", gzip.compress(URLS.encode()))
    assert pairs(from_edges(edges, urls)) == {(0, 1), (1, 0)}
    whole = edges.read_bytes()
    for damaged in (whole[:-6], whole[:10] + b"\xff" * 8 + whole[18:]):
        edges.write_bytes(damaged)
        with pytest.raises(UsageError, match="cannot read"):
            from_edges(edges, urls)


WRONG = [
    ("0 1\n1 x\n", "line 2: '1 x'"),
    ("0 1\n1\n", "line 2: '1'"),
    ("0 1\n0 1 2\n", "line 2: '0 1 2'"),
    ("0 1\n-1 2\n", "line 2: '-1 2'"),
    ("0 1\n# all\n\n4 0\n", "line 4: '4 0'"),
    ("0 99999999999999999999999\n", "line 1"),
    ("", "has no links"),
    ("# none\n", "has no links"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_the_error_names_a_bad_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"e\.txt") as raised:
        from_edges(file(tmp_path, "e.txt", text), file(tmp_path, "u.txt", URLS))
    assert message in raised.value.message
    assert raised.value.cure


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://a.example/ nothing\n", "line 1: 'nothing'"),
        ("http://a.example/ http://b.example/\nhttp://a.example/\n", "line 2: 1 words"),
        ("http://a.example/ ftp://b.example/\n", "line 1: 'ftp://b.example/'"),
        ("http://a.example/ \xff\n", "line 1"),
    ],
)
def test_the_error_names_a_bad_url(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        from_edges(file(tmp_path, "e.txt", text.encode("latin-1")))
    assert message in raised.value.message


def test_the_error_names_a_bad_line_of_a_list_of_urls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"u\.txt, line 2"):
        from_edges(file(tmp_path, "e.txt", "0 0\n"), file(tmp_path, "u.txt", "http://a.example/\n\n"))


def test_missing_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        from_edges(tmp_path / "none")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=80), st.integers(1, 40))
def test_links_do_not_depend_on_where_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[int, int]], chunk: int
) -> None:
    path = file(tmp_path_factory.mktemp("cut"), "e.txt", "\n".join(f"{p}\t{t}" for p, t in links))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        assert pairs(from_edges(path)) == set(links)


def test_many_links_are_read_correctly(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 10**6, (10**5, 2))
    path = file(tmp_path, "e.txt", "\n".join(f"{p} {t}" for p, t in ends.tolist()))
    assert pairs(from_edges(path)) == {(p, t) for p, t in ends.tolist()}
