"""Graphs as files: a written graph can be read again, and an inconsistent one is refused with a cure."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.base import disk
from gossamer.base.errors import StorageError, UsageError
from gossamer.laboratory.graphs.webgraph import SIZE, WebGraph, load, save
from gossamer.rank.graph import Csr
from tests.support.shared_data import graph_file
from tests.support.timing import takes_less

GOOD: dict[str, Any] = {
    "offsets": [0, 2, 3, 3],
    "targets": [1, 2, 0],
    "site": [0, 0, 1],
    "size": [10, 20, 30],
    "start": [2, 0],
}


def written(path: Path, **arrays: Any) -> Path:
    """A file of GOOD with changes; None leaves out an array."""
    said = {name: np.asarray(a) for name, a in (GOOD | arrays).items() if a is not None}
    np.savez(path, allow_pickle=False, **said)
    return path


def test_a_graph_is_read_as_it_was_saved(tmp_path: Path) -> None:
    graph = WebGraph(
        Csr(np.array([0, 2, 3, 3]), np.array([1, 2, 0], np.uint32)),
        np.array([0, 0, 1], np.uint32),
        np.array([10, 20, 30], np.uint32),
        np.array([2, 0], np.uint32),
        "some",
    )
    save(tmp_path / "some.npz", graph)
    found = load(tmp_path / "some.npz")
    assert found.name == "some"
    assert (found.pages, found.sites) == (3, 2)
    for one, other in (
        (found.links.offsets, graph.links.offsets),
        (found.links.targets, graph.links.targets),
        (found.site, graph.site),
        (found.size, graph.size),
        (found.start, graph.start),
    ):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("kind", ["uint8", "int16", "uint32", "int64", "uint64", ">i4"])
def test_integers_of_any_type_are_accepted(tmp_path: Path, kind: str) -> None:
    graph = load(written(tmp_path / "g.npz", **{name: np.array(a).astype(kind) for name, a in GOOD.items()}))
    assert graph.links.offsets.dtype == np.int64
    assert graph.links.targets.dtype == graph.site.dtype == graph.size.dtype == graph.start.dtype == np.uint32
    assert graph.links.targets.tolist() == GOOD["targets"]


def test_without_the_optional_arrays_there_is_one_site_and_page_0(tmp_path: Path) -> None:
    graph = load(written(tmp_path / "g.npz", site=None, size=None, start=None))
    assert graph.site.tolist() == [0, 0, 0]
    assert graph.size.tolist() == [SIZE] * 3
    assert graph.start.tolist() == [0]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"offsets": None}, "no array `offsets`"),
    ({"targets": None}, "no array `targets`"),
    ({"offsets": [], "targets": []}, "has no pages"),
    ({"offsets": [0], "targets": []}, "has no pages"),
    ({"offsets": [0, 2, 1, 3]}, "`offsets` falls after page 1"),
    ({"offsets": [0, 2, 3, 4]}, "`offsets` runs from 0 to 4; `targets` has 3"),
    ({"offsets": [1, 2, 3, 3]}, "`offsets` runs from 1"),
    ({"targets": [1, 3, 0]}, "`targets` number 1 is 3, out of range"),
    ({"targets": [1, -1, 0]}, "`targets` number 1 is -1, out of range"),
    ({"site": [0, 0]}, "`site` has 2 numbers for 3 pages"),
    ({"site": [0, 3, 0]}, "`site` number 1 is 3, out of range"),
    ({"size": [0, 0, 0, 0]}, "`size` has 4 numbers for 3 pages"),
    ({"size": [0, 0, 1 << 32]}, "`size` number 2 is 4294967296, out of range"),
    ({"start": [7]}, "`start` number 0 is 7, out of range"),
    ({"start": np.zeros(0, np.int64)}, "`start` is empty"),
    ({"start": [[0]]}, "`start` is an array of 2 dimensions"),
    ({"targets": [0.5, 1, 2]}, "of float64"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_inconsistent_arrays_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "g.npz", **changes)
    with pytest.raises(UsageError) as raised:
        load(path)
    assert message in raised.value.message
    assert str(path) in raised.value.message
    assert raised.value.cure
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("content", [b"", b"not a graph", b"PK\x03\x04 nor this", b"\x93NUMPY"])
def test_a_file_that_is_not_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "g.npz"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a graph"):
        load(path)


def test_a_truncated_or_damaged_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "g.npz")
    whole = path.read_bytes()
    assert len(whole) > 97
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(UsageError):
            load(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "none.npz")
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path)


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "g.npy", np.arange(3))
    with pytest.raises(UsageError, match="a single array"):
        load(tmp_path / "g.npy")


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "g.npz")
    before, graph = path.read_bytes(), load(path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(disk, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(path, graph)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        save(tmp_path / "no" / "g.npz", load(written(tmp_path / "g.npz")))


def test_a_graph_of_13_million_links_is_read_fast_and_leanly() -> None:
    path = graph_file("debian-docs")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph = load(path)
    assert (graph.pages, len(graph.links.targets), graph.sites, len(graph.start)) == (689920, 13259807, 2584, 2584)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    assert takes_less(lambda: load(path), than=3)
