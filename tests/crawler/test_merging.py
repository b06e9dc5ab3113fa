"""Segments are merged while a crawl runs: nothing changes for readers and for recovery, and there are few of them."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Outcome
from gossamer.collection import image, manifest, merging
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import MERGED, SETTINGS, TABLES, merged_away, read_segment, shard_folder
from gossamer.collection.manifest import Manifest
from gossamer.collection.merging import unnamed
from gossamer.collection.recovery import recover
from gossamer.config import dump
from gossamer.config.settings import Settings
from gossamer.crawler import imager
from gossamer.laboratory.collection_graph import collected, known_urls
from gossamer.read.compact import background
from gossamer.read.compact.background import choose, merged
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from gossamer.webs.simulated import Reply
from tests.crawler.test_powercut import each_segment_once, scratch
from tests.support.machine import Machine
from tests.support.powercut import Disk, Loss, read_recordings
from tests.support.world import Sealed, World, merge_here, state_of

__all__ = ["each_segment_once", "scratch"]
A = "http://a.example/"
NIGHT = (
    "harvester.quiet_hours=00:02-24:00 UTC",
    "harvester.wait=4s",
    "harvester.wait_large=4s",
    "collection.seal_every=30s",
)
"""A crawl of two minutes a day, which makes a segment each half minute."""
FANOUT = 4
BEGIN = 1_600_041_600.0
"""Midnight UTC."""


def endless(url: str) -> Reply:
    """Each page links to four others."""
    name = url.rpartition("/")[2]
    if not name.isdecimal() and url != A:
        return Reply(outcome=Outcome.NOT_FOUND, status=404)
    number = int(name or 0)
    return Reply(links=[f"{A}{4 * number + i}" for i in range(1, 5)], digest=1000 + number)


def world_in(folder: Path, days: int = 0) -> World:
    world = World(folder, endless, NIGHT, clock=Machine(wall=BEGIN + 86_400 * days), merger=merge_here)
    folder.mkdir(exist_ok=True)
    (folder / SETTINGS).write_text(dump(world.settings))
    return world


def lines_of(shard: Path) -> list[dict[str, Any]]:
    return sorted(manifest.read(shard).segments.values(), key=lambda line: int(line["segment"]))


def files_of(shard: Path) -> int:
    folders = (*TABLES, MERGED, "cdx", "journal", "image", "urls")
    return sum(path.is_file() for folder in folders for path in (shard / folder).rglob("*"))


def visits(folder: Path) -> list[tuple[Any, ...]]:
    database = Database(find(folder, fresh=True), Settings())
    return database.run("select number, page, outcome from stored.visits order by tick, number")


# --- the whole crawl ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def four() -> Iterator[None]:
    """Four segments become one, so that there are several tiers soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FANOUT", FANOUT)
        patch.setattr(background, "FANOUT", FANOUT)
        yield


@pytest.fixture(scope="module")
def weeks(four: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, list[tuple[int, int, int]]]:
    """Two weeks of a crawl, killed every other night. For each day: segments, files, segments that a start reads."""
    world = world_in(tmp_path_factory.mktemp("weeks") / "c")
    shard = shard_folder(world.folder)
    found = []
    for day in range(14):
        left = BEGIN + 86_400 * (day + 1) - world.clock.wall()
        world.run([A], clean=day % 2 == 0, commit=True, seconds=left - 1.0, patience=86_400.0)
        world.clock.advance(max(0.0, BEGIN + 86_400 * (day + 1) - world.clock.wall()))
        recovered = recover(shard)
        after = recovered.image.record if recovered.image else 0
        read = sum(source.last > after for source in recovered.sources)
        found.append((len(lines_of(shard)), files_of(shard), read))
    return world, found


def test_a_crawl_of_weeks_has_as_many_files_and_starts_as_soon_as_one_of_days(
    weeks: tuple[World, list[tuple[int, int, int]]],
) -> None:
    world, days = weeks
    (first, second), shard = (days[:7], days[7:]), shard_folder(world.folder)
    assert max(line["segment"] for line in lines_of(shard)) > 50
    assert max(segments for segments, _, _ in days) <= 2 * (FANOUT - 1) * 3, "three tiers, before and after the image"
    assert max(files for _, files, _ in second) <= 1.3 * max(files for _, files, _ in first)
    assert max(read for _, _, read in days) <= 2 * FANOUT


def test_nothing_is_lost_or_changed_in_two_weeks_of_merging(
    weeks: tuple[World, list[tuple[int, int, int]]],
) -> None:
    world, _ = weeks
    assert verify(world.folder).findings == []
    asked = [each for each in world.asked if not each.url.endswith("robots.txt")]
    assert len(asked) > 150
    assert len(visits(world.folder)) == len(world.asked)
    result = world.run(turns=0)
    replayed, live = state_of(world.replayed()), state_of(result.crawl.desk)
    assert replayed | {"site.resolved": None} == live | {"site.resolved": None}


# --- one merge ---------------------------------------------------------------------------------------------------


def sealed_in(folder: Path, count: int) -> Path:
    """A collection with so many segments of one journal file each, without an image."""
    world = World(folder, endless, NIGHT, clock=Machine(wall=BEGIN))
    for _ in range(count):
        world.run([A], turns=30, sealed=True)
    return shard_folder(folder)


def test_readers_that_began_before_a_merge_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = sealed_in(tmp_path / "c", FANOUT)
    before = visits(tmp_path / "c")
    reader, early = (Database(find(tmp_path / "c"), Settings()) for _ in range(2))
    query = "select number, page, outcome from stored.visits order by tick, number"
    assert early.run(query) == before, "it has its view already"
    world = world_in(tmp_path / "c")
    world.clock.advance(5_000.0)
    result = world.run(turns=6, clean=False)
    assert len(result.crawl.store.manifest().segments) == 1
    old = sorted((shard / MERGED).glob("old/*/*"))
    assert len(old) > FANOUT
    assert unnamed(shard, manifest.read(shard)) == []
    assert reader.run(query) == early.run(query) == before
    assert visits(tmp_path / "c")[: len(before)] == before
    world.run(turns=1)
    assert sorted((shard / MERGED).glob("old/*/*")) == old, "they stay for an hour"
    monkeypatch.setattr(merging, "GRACE", 1.0)
    world.run(turns=40)
    assert not any(path.exists() for path in old)
    named = {name for each in lines_of(shard) for name in each["files"] if name.startswith("visits/")}
    assert {f"visits/{path.name}" for path in (shard / "visits").iterdir()} == named, "a glob has each row once"
    assert verify(tmp_path / "c").findings == []


@pytest.mark.parametrize("moment", ["before the process", "in the process", "before the manifest", "after it"])
def test_a_kill_of_a_merge_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    shard = sealed_in(tmp_path / "c", FANOUT)
    before = visits(tmp_path / "c")
    if moment != "before the process":
        found = json.loads(merged(shard))
        if moment == "in the process":
            (shard / MERGED / "new" / next(iter(found["line"]["files"]))).unlink()
        elif moment == "after it":
            for name in found["line"]["files"]:
                (shard / MERGED / "new" / name).rename(shard / name)
            opened = Manifest.open(shard)
            opened.replace(found["parts"], found["line"])
            opened.append({"image": "image/x", "tick": 1, "record": 0, "bytes": 0, "checksum_of_meta": ""})
            assert len(opened.contents.segments) == 1
            opened.close()
            assert manifest.read_whole(shard).image is not None
            opened = Manifest.open(shard)
            opened.replace([], found["line"])
            opened.close()
    assert visits(tmp_path / "c") == before
    world = world_in(tmp_path / "c")
    world.clock.advance(9_000.0)
    world.run(turns=8)
    assert visits(tmp_path / "c")[: len(before)] == before
    assert len(lines_of(shard)) < FANOUT
    assert verify(tmp_path / "c").findings == []


def merge_in(folder: Path) -> manifest.Contents:
    """Merges the segments of a collection that has as many as are merged; returns what its manifest was before."""
    contents, world = manifest.read(shard_folder(folder)), world_in(folder)
    world.clock.advance(5_000.0)
    world.run(turns=6, clean=False)
    assert len(manifest.read(shard_folder(folder)).segments) < len(contents.segments)
    return contents


def test_graphs_and_bodies_of_an_older_manifest_are_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "c"
    shard = sealed_in(folder, FANOUT)
    bodies, graph = last_bodies(shard, 1_000).tobytes(), collected(folder, known=True)
    urls, contents = known_urls(folder, graph.page), merge_in(folder)
    monkeypatch.setattr(manifest, "read", lambda shard: contents)
    for path in (shard / "graph").iterdir():
        path.unlink()
    assert last_bodies(shard, 1_000).tobytes() == bodies != b""
    again = collected(folder, known=True)
    assert again.graph.links.targets.tolist() == graph.graph.links.targets.tolist()
    assert known_urls(folder, again.page) == urls
    assert {A, A + "1"} <= set(urls)


def test_a_file_that_is_moved_while_it_is_read_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "visits" / "000000000001.parquet"
    moved = merged_away(path)
    path.parent.mkdir()
    moved.parent.mkdir(parents=True)
    path.write_bytes(b"rows")

    def read(place: Path) -> bytes:
        if place == path:
            path.rename(moved)
        return place.read_bytes()

    assert read_segment(path, read) == b"rows"
    moved.unlink()
    with pytest.raises(FileNotFoundError):
        read_segment(path, Path.read_bytes)


def test_a_query_that_runs_during_a_merge_reads_on(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    sealed_in(folder, FANOUT)
    before, database = visits(folder), Database(find(folder), Settings())
    really = database._begin

    def merged_meanwhile(statement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        merge_in(folder)
        return really(statement)

    database._begin = merged_meanwhile  # type: ignore[method-assign]
    assert list(database.stream("select number, page, outcome from stored.visits order by tick, number")) == before


def test_a_query_needs_no_free_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed_in(tmp_path / "c", 2)
    before, really = visits(tmp_path / "c"), os.open

    def full(path: Any, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".parquet"):
            raise OSError(errno.EMFILE, "Too many open files")
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", full)
    assert visits(tmp_path / "c") == before


@pytest.mark.usefixtures("each_segment_once")
def test_a_power_cut_of_a_crawl_that_merges_loses_nothing(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change of a name in a merge and in the clean-up after it, and one in ten of the other operations meanwhile,
    is the last one before a cut."""
    root, tape, left = tmp_path / "root", tmp_path / "tape", scratch / "left"
    root.mkdir()
    tape.mkdir()
    shard = sealed_in(root / "c", FANOUT)
    before, model = [e.encode() for e in recover(shard).effects()], Disk(root)
    monkeypatch.setattr(merging, "GRACE", 1.0)
    monkeypatch.setenv("GOSSAMER_RECORD", str(tape))
    world = world_in(root / "c")
    world.clock.advance(5_000.0)
    world.run(turns=40, commit=True, clean=False)
    monkeypatch.delenv("GOSSAMER_RECORD")
    after = [e.encode() for e in recover(shard).effects()]
    assert len(after) > len(before)
    assert not list(shard.glob("merged/old/*/*"))
    operations = [o for o in read_recordings(tape, root) if not o.path.endswith("/lock")]
    assert sum(o.kind == "rename" and "/merged/" in f"{o.path} {o.to}" for o in operations) > 2 * FANOUT
    segments, rng = set[int](), random.Random(1)
    for number, operation in enumerate(operations):
        model.apply(operation)
        if operation.kind not in ("rename", "remove") and number % 10:
            continue
        shutil.rmtree(left, ignore_errors=True)
        model.leave(left, (Loss.DROPPED, Loss.MIXED)[number // 10 % 2], rng)
        found = recover(shard_folder(left / "c"))
        assert found.warnings == []
        effects = [e.encode() for e in found.effects()]
        assert len(before) <= len(effects)
        assert effects == after[: len(effects)]
        segments.add(len(lines_of(shard_folder(left / "c"))))
    assert {1, FANOUT} <= segments, "before and after the merge"
    world_in(left / "c").run(turns=8)
    assert verify(left / "c").findings == []


def test_merging_writes_nothing_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies in `merged`, links too: nothing outside the collection is written, moved or removed."""
    outside, folder = tmp_path / "outside", tmp_path / "c"
    outside.mkdir()
    (outside / "000000000001.parquet").write_bytes(b"mine")
    shard = sealed_in(folder, FANOUT)
    old = shard / MERGED / "old"
    old.mkdir(parents=True)
    (old / "visits").mkdir()
    (old / "visits" / "x.parquet").symlink_to(outside / "000000000001.parquet")
    (old / "mine").symlink_to(outside)
    monkeypatch.setattr(merging, "GRACE", 1.0)
    before = visits(folder)
    merge_in(folder)
    world_in(folder).run(turns=40)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"000000000001.parquet": b"mine"}
    assert visits(folder)[: len(before)] == before
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "c"}


def test_an_image_that_is_made_meanwhile_is_not_crossed(tmp_path: Path) -> None:
    shard = sealed_in(tmp_path / "c", FANOUT - 1)
    line = imager.make(shard, world_in(tmp_path / "c").settings)
    assert line is not None
    opened = Manifest.open(shard)
    image.finish(shard, opened, line)
    opened.close()
    sealed_in(tmp_path / "c", FANOUT - 1)
    assert merged(shard) == "", "three before the image, and three after it"
    sealed_in(tmp_path / "c", 1)
    parts = json.loads(merged(shard))["parts"]
    assert len(parts) == FANOUT
    assert parts == [each["segment"] for each in lines_of(shard) if each["last_record"] > line["record"]]


def test_a_merge_that_fails_is_a_note(tmp_path: Path) -> None:
    sealed_in(tmp_path / "c", FANOUT)

    def fails(shard: Path, lock: int) -> Sealed:
        return Sealed("", code=1, failure="no memory")

    def cannot(shard: Path, lock: int) -> Sealed:
        raise OSError(errno.EMFILE, "Too many open files")

    for merger in (fails, cannot):
        world = world_in(tmp_path / "c")
        world.merger = merger
        world.clock.advance(9_000.0)
        store = world.run(turns=5, clean=False).crawl.store
        assert len(store.manifest().segments) >= FANOUT
        assert sum("segments cannot be merged now" in note for note in store.notes) == 1
        assert not store.give_up_merging()


# --- which segments ----------------------------------------------------------------------------------------------


def line(first: int, last: int, rows: int = 1, record: int | None = None) -> dict[str, Any]:
    name = f"{first:012d}-{last:012d}" if first < last else f"{last:012d}"
    files = {f"visits/{name}.parquet": {"rows": rows, "bytes": 10 * rows}}
    end = last if record is None else record
    return {"segment": last, "files": files, "lengths": {}, "first_record": first, "last_record": end}


@given(st.integers(1, 400), st.integers(0, 400), st.integers(1, 400_000))
@settings(max_examples=10, deadline=None)
def test_however_many_segments_there_are_few_are_left_when_nothing_is_to_be_merged(
    count: int, record: int, rows: int
) -> None:
    """Those of a journal file come one by one; `record` is in an image from the beginning."""
    lines: list[dict[str, Any]] = []
    written = 0
    for number in range(1, count + 1):
        lines.append(line(number, number, rows))
        while parts := choose(lines, record):
            first = int(next(iter(parts[0]["files"])).partition("/")[2][:12])
            total = sum(each["files"][next(iter(each["files"]))]["rows"] for each in parts)
            assert total <= 300_000
            assert (parts[0]["last_record"] <= record) == (parts[-1]["last_record"] <= record)
            written += len(parts)
            place = lines.index(parts[0])
            assert lines[place : place + len(parts)] == parts, "neighbours"
            lines[place : place + len(parts)] = [line(first, parts[-1]["segment"], total)]
    whole = -(-count * rows // 150_000)  # segments that are at least half full
    assert len(lines) <= 2 * (FANOUT - 1) * 5 + 2 * whole
    assert written <= count * 6
