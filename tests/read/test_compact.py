"""Compaction: nothing is lost or moved, even if it is killed at any time, and a crawl resumes from the result."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.verify import Maker
from gossamer.base.errors import LockedError
from gossamer.base.model import Texts
from gossamer.collection import lock, manifest
from gossamer.collection.journal.effects import Effects
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import INDEX, MANIFEST, TABLES, journal_path
from gossamer.collection.recovery import recover
from gossamer.collection.tables import seal, segments
from gossamer.manager.scores.graph import graph_of
from gossamer.read import compact
from gossamer.read.compact import merging
from gossamer.read.export import wacz
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from tests.support.effects_samples import small_effects
from tests.support.graphs import links_of
from tests.support.powercut import Disk, Loss, read_recordings

LINKS: Final = 2


def some_effects(seed: int, ticks: int, sites: int) -> list[Effects]:
    """Effects as a crawl makes them: a page has one site, links may have texts, some links are only counted."""
    rng, found, pages = random.Random(seed), list[Effects](), 0
    for tick in range(1, ticks + 1):
        page = rng.randrange(20)
        e = small_effects(rng, tick, pages, page=page, site=page % sites)
        pages += len(e.pages)
        e.pages["site"] = [rng.randrange(sites) for _ in e.pages]
        if tick <= sites:
            e.first_site, e.sites = tick - 1, Texts.join([b"site%d.example" % tick], "<u2")
            e.sites_www = np.array([rng.randrange(2)], "u1")
        else:
            e.first_site = sites
        e.link_tags, e.link_positions = np.ones(LINKS, "u1"), np.arange(LINKS, dtype="<u2")
        e.anchors = Texts.join([rng.choice([b"", b"text %d" % tick]) for _ in range(LINKS)], "<u2")
        e.seen = b"image\tpng\texample\t%d\n" % rng.randint(1, 9) if rng.random() < 0.7 else b""
        e.seen += b"h1\tTitle %d\t\t1\nexternal\t\thttps://b.example/%d\t1\n" % (tick, rng.randint(1, 3))
        e.visits["seen"] = len(e.seen)
        found.append(e)
    return found


@st.composite
def parts(draw: st.DrawFn) -> list[list[Effects]]:
    found = some_effects(draw(st.integers(0, 999)), draw(st.integers(2, 14)), draw(st.integers(1, 4)))
    cuts = sorted(draw(st.sets(st.integers(1, len(found) - 1), min_size=1, max_size=4)))
    return [found[a:b] for a, b in zip([0, *cuts], [*cuts, len(found)], strict=True)]


def merged(of: list[segments.Tables]) -> segments.Tables:
    made = {name: merging.merged(name, lambda table: [one.get(table) for one in of]) for name in TABLES}
    return {name: table for name, table in made.items() if table is not None}


@given(parts())
@settings(max_examples=40, deadline=None)
def test_merged_tables_are_those_of_one_segment(effects: list[list[Effects]]) -> None:
    whole = segments.tables([e for part in effects for e in part], 0)
    found = merged([segments.tables(part, 0) for part in effects])
    assert found.keys() == whole.keys()
    for name, table in whole.items():
        assert found[name].to_pylist() == table.to_pylist(), name
        assert found[name].schema.equals(table.schema), name


@given(parts())
@settings(max_examples=25, deadline=None)
def test_effects_of_a_merged_segment_are_those_of_its_parts(effects: list[list[Effects]]) -> None:
    found = merged([segments.tables(part, 0) for part in effects])
    again = list(segments.effects(found.get, 0))
    assert [e.encode() for e in again] == [e.essential().encode() for part in effects for e in part]


def test_parts_with_and_without_newer_columns_are_merged() -> None:
    first, second = (segments.tables(some, 0) for some in ([e] for e in some_effects(1, 2, 1)))
    first["visits"] = first["visits"].drop_columns(["sketch", "payload", "language", "description"])
    first["sites"] = first["sites"].drop_columns(["www"])
    found = merged([first, second])
    assert len(found["visits"]) == 2
    assert set(found["visits"].column_names) == set(second["visits"].column_names)
    assert len(list(segments.effects(found.get, 0))) == 2
    assert found["sites"].column("www").null_count == 0


def committed(shard: Path) -> list[bytes]:
    return [e.encode() for e in replace(recover(shard), image=None).effects()]


def contents(shard: Path) -> dict[str, Any]:
    """Anchors, counts and index: effects do not contain them, so they are compared separately."""
    sources = find(shard.parent)
    read = {name: [seal.read_file(f.path, f.checksum) for f in sources.table(name)] for name in ("anchors", "counts")}
    joined = {name: pa.concat_tables(tables) for name, tables in read.items() if tables}
    keys = ["site", "class", "extension", "domain"]
    counts = joined["counts"].group_by(keys).aggregate([("number", "sum")]).sort_by([(k, "ascending") for k in keys])
    index = [line for f in sources.table(INDEX) for line in f.path.read_bytes().splitlines()]
    return {
        "anchors": sorted(map(str, joined["anchors"].to_pylist())),
        "counts": counts.to_pylist(),
        "index": sorted(index),
    }


def test_a_compacted_collection_has_fewer_files_and_the_same_rows(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(80, 15, unsealed=10)
    before, rows = committed(made.shard), contents(made.shard)
    done = compact.compact(tmp_path)
    assert (done.segments_before > 2, done.segments) == (True, 1)
    assert done.files < done.files_before
    assert committed(made.shard) == before
    assert contents(made.shard) == rows
    assert verify(tmp_path).findings == []
    named = {path for line in manifest.read(made.shard).segments.values() for path in line["files"]}
    there = {f"{name}/{p.name}" for name in (*TABLES, INDEX) for p in (made.shard / name).iterdir()}
    assert there == named
    again = compact.compact(tmp_path)
    assert (again.segments_before, again.segments, again.bytes) == (1, 1, done.bytes)


def test_merged_indexes_are_sorted(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(60, 15)
    compact.compact(tmp_path)
    files = list(find(made.folder).table(INDEX))
    assert files
    for file in files:
        lines = file.path.read_bytes().splitlines(keepends=True)
        assert lines == sorted(lines)
        assert len(lines) == file.rows > 0


def test_large_segments_are_not_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Maker(tmp_path).make(80, 20)
    before = manifest.read(made.shard).segments
    monkeypatch.setattr(compact, "MOST", {"visits": 45})
    compact.compact(tmp_path)
    after = manifest.read(made.shard).segments
    assert 1 < len(after) < len(before)
    assert all(compact._sum([line], "visits", "rows") <= 45 for line in after.values())
    monkeypatch.setattr(compact, "LARGEST", 1)
    assert list(compact.groups(list(after.values()))) == []


def test_compaction_refuses_a_running_crawl(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(20, 10)
    held = lock.take(made.shard)
    try:
        with pytest.raises(LockedError) as told:
            compact.compact(tmp_path)
        assert told.value.exit_code == 3
    finally:
        held.release()


def test_other_lines_of_the_manifest_stay(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(40, 10)
    lines = manifest.Manifest.open(made.shard)
    lines.append({"image": "image/000000000001", "tick": 1, "record": 1, "bytes": 0, "checksum_of_meta": ""})
    lines.close()
    compact.compact(tmp_path)
    found = manifest.read(made.shard)
    assert found.image is not None
    assert found.image["image"] == "image/000000000001"
    assert found.meta.seed == 7


def test_a_sealed_journal_file_that_a_kill_left_is_removed(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(40, 10)
    before = committed(made.shard)
    numbers = sorted(manifest.read(made.shard).segments)
    left = journal_path(made.shard, numbers[0])
    shutil.copy(journal_path(made.shard, numbers[-1] + 1), left)
    compact.compact(tmp_path)
    assert not left.exists()
    assert committed(made.shard) == before


@pytest.mark.slow
def test_a_kill_at_any_time_leaves_a_sound_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries every prefix of the writes of a compaction, with unsynced data kept, dropped, torn or mixed."""
    root, tape, left = (tmp_path / name for name in ("root", "tape", "left"))
    made = Maker(root / "crawl").make(40, 10, unsealed=10)
    before, rows = committed(made.shard), contents(made.shard)
    model = Disk(root)
    tape.mkdir()
    monkeypatch.setattr(compact, "MOST", {"visits": 25})
    monkeypatch.setenv("GOSSAMER_RECORD", str(tape))
    done = compact.compact(made.folder)
    monkeypatch.delenv("GOSSAMER_RECORD")
    assert 1 < done.segments < done.segments_before
    operations = [o for o in read_recordings(tape, root) if not o.path.endswith("/lock")]
    assert len(operations) > 50
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    seen, rng = set[int](), random.Random(1)
    for number, operation in enumerate(operations):
        model.apply(operation)
        chosen = (Loss.DROPPED, Loss.MIXED) if operation.kind != "write" else (list(Loss)[number % 4],)
        for loss in chosen:
            shutil.rmtree(left, ignore_errors=True)
            model.leave(left, loss, rng)
            shard = left / "crawl" / made.shard.name
            assert committed(shard) == before
            if number % 3 == 0:
                assert contents(shard) == rows
            seen.add(len(manifest.read(shard).segments))
    assert len(seen) > 1, "old and new manifests were seen"
    again = compact.compact(left / "crawl")
    assert again.segments == done.segments
    assert verify(left / "crawl").findings == []


def test_graph_and_bodies_are_the_same_after_compaction(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(60, 15)
    graph, bodies = graph_of(made.shard), last_bodies(made.shard, 1_000)
    links = links_of(graph.graph)
    assert len(bodies) > 60
    assert compact.compact(tmp_path).segments == 1
    again = graph_of(made.shard)
    assert (links_of(again.graph), again.site.tolist()) == (links, graph.site.tolist())
    assert graph_of(made.shard).new_links == 0
    assert last_bodies(made.shard, 1_000).tobytes() == bodies.tobytes()


def without_index(shard: Path, numbers: set[int]) -> None:
    """Removes the index of these segments, as if a version without index had sealed them."""
    path = shard / MANIFEST
    lines = [manifest.decode(raw) for raw in path.read_bytes().splitlines(keepends=True)]
    for line in lines:
        assert line is not None
        if line.get("segment") in numbers:
            line["files"] = {name: said for name, said in line["files"].items() if not name.startswith(f"{INDEX}/")}
    path.write_bytes(b"".join(manifest.encode(line) for line in lines if line is not None))


def test_segments_with_and_without_an_index_are_not_merged(tmp_path: Path) -> None:
    made = Maker(tmp_path / "crawl").make(80, 10)
    numbers = sorted(manifest.read(made.shard).segments)
    without_index(made.shard, set(numbers[:3]))
    before = find(made.folder).unindexed()
    (name,) = before
    compact.compact(made.folder)
    after = find(made.folder)
    assert len(after.contents.segments) == 2
    assert after.unindexed() == {name: [(before[name][0][0], before[name][-1][1])]}
    described = wacz.export(made.folder, tmp_path / "crawl.wacz")
    assert verify(made.folder).findings == []
    assert described["resources"]


def test_segments_that_archived_nothing_are_merged_with_any_other() -> None:
    def line(number: int, length: int, *files: str) -> dict[str, Any]:
        said = {name: {"rows": 1, "bytes": 1, "checksum": ""} for name in files}
        return {"segment": number, "files": said, "lengths": {"warc/000000.warc.gz": length, "urls/x": number}}

    old, idle, new = line(1, 10), line(2, 10), line(3, 20, "cdx/000000000003.cdxj")
    assert numbers_of([old, idle, new]) == [[1, 2]]
    assert numbers_of([line(1, 0), line(2, 10)]) == [[1, 2]]
    assert numbers_of([line(1, 0), new]) == [[1, 3]]
    assert numbers_of([old, new, line(4, 20)]) == [[3, 4]]


def numbers_of(lines: list[dict[str, Any]]) -> list[list[int]]:
    return [[one["segment"] for one in group] for group in compact.groups(lines)]
