"""Images made in the background of a crawl, from segments: they equal a replay, a start uses them, and failures do no
harm."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.model import State
from gossamer.collection import image, manifest
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import shard_folder
from gossamer.collection.manifest import Line, Manifest
from gossamer.collection.recovery import recover
from gossamer.collection.tables import seal
from gossamer.config import Settings, load
from gossamer.crawler import imager
from gossamer.crawler.apply import apply
from gossamer.crawler.open import open_collection
from gossamer.crawler.parts import new_desk
from gossamer.desk import snapshot
from gossamer.desk.desk import Desk
from gossamer.webs.demo import DemoWeb
from tests.crawler.test_simulated_crawl import closure, random_web
from tests.support.crawling import children, command_line, kill, serve
from tests.support.powercut import Disk, Loss, read_recordings
from tests.support.world import World, state_of

SEEDS = [f"http://s{i}.example/" for i in range(8)]
EAGER = (
    "from gossamer.crawler import imager; imager.WORTH = 0.0; imager.REST = 0; from gossamer.cli import main; main()"
)
"""The command line, with an image made after every segment."""
OF_ARRAYS = 20
"""One in this many writes of arrays is the place of a cut."""


def made_beside(shard: Path, settings: Settings) -> Line | None:
    """Makes an image as the crawl does: another process makes it, the desk declares it valid."""
    line = imager.make(shard, settings)
    if line is not None:
        lines = Manifest.open(shard)
        image.finish(shard, lines, line)
        lines.close()
    return line


def from_image(shard: Path, settings: Settings) -> Desk:
    """The desk as a start makes it: from image, later segments and journal."""
    recovered = recover(shard)
    assert recovered.warnings == []
    assert recovered.image is not None
    desk = new_desk(settings, recovered.meta.seed)
    assert snapshot.usable(desk, recovered.image)
    snapshot.load(desk, recovered.image)
    for effects in recovered.effects():
        apply(desk, effects)
    return desk


def from_segments(shard: Path, settings: Settings) -> Desk:
    recovered = replace(recover(shard), image=None)
    desk = new_desk(settings, recovered.meta.seed)
    for effects in recovered.effects():
        apply(desk, effects)
    return desk


def durable(desk: Desk) -> dict[str, object]:
    """The durable state: without addresses, which are looked up again at every start."""
    state = state_of(desk)
    state.pop("site.resolved")
    return state


@pytest.mark.parametrize("policy", ["value", "opic", "breadth-first"])
def test_an_image_made_in_the_background_equals_a_replay_of_all_segments(tmp_path: Path, policy: str) -> None:
    world = World(tmp_path, random_web(11), [f"manager.policy={policy}", 'manager.boosts={"p1" = 0.5}'])
    for turns in (40, 60):
        world.run(SEEDS, turns=turns, sealed=True)
    shard = shard_folder(tmp_path)
    line = made_beside(shard, world.settings)
    assert line is not None
    assert line["record"] == recover(shard).mark.record
    assert durable(from_image(shard, world.settings)) == durable(from_segments(shard, world.settings))
    assert imager.make(shard, world.settings) is None, "there is nothing newer than the image"


def test_an_image_is_made_from_the_last_one_and_what_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, shard, web = World(tmp_path, random_web(12)), shard_folder(tmp_path), random_web(12)
    records, replayed, really = list[int](), list[int](), seal.effects_of

    def effects_of(line: Line, *more: Any) -> Iterator[Effects]:
        replayed.append(line["segment"])
        return really(line, *more)

    monkeypatch.setattr(seal, "effects_of", effects_of)
    for turns in (40, 30, 50):
        world.run(SEEDS, turns=turns, sealed=True)
        replayed.clear()
        line = made_beside(shard, world.settings)
        assert line is not None
        assert replayed == [max(manifest.read(shard).segments)]
        records.append(line["record"])
        assert [p.name for p in (shard / "image").iterdir()] == [Path(line["image"]).name]
        assert durable(from_image(shard, world.settings)) == durable(from_segments(shard, world.settings))
    assert records == sorted(set(records))
    replayed.clear()
    result = world.run()
    assert replayed == [], "a start reads no segment"
    assert result.in_state(State.DONE) == set(result.pages) == closure(web, SEEDS)


def test_a_start_after_a_kill_resumes_from_the_image(tmp_path: Path) -> None:
    world, shard = World(tmp_path, random_web(13)), shard_folder(tmp_path)
    world.run(SEEDS, turns=60, sealed=True)
    made_beside(shard, world.settings)
    world.run(turns=40, clean=False, commit=True)
    recovered = recover(shard)
    assert recovered.image is not None
    assert len(list(recovered.effects())) < recovered.mark.record
    assert durable(from_image(shard, world.settings)) == durable(from_segments(shard, world.settings))
    result = world.run()
    assert result.in_state(State.DONE) == closure(random_web(13), SEEDS)


def test_an_image_with_other_boosts_is_not_used(tmp_path: Path) -> None:
    world, shard = World(tmp_path, random_web(14), ['manager.boosts={"p1" = 0.5}']), shard_folder(tmp_path)
    world.run(SEEDS, turns=60, sealed=True)
    made_beside(shard, world.settings)
    world.changes = ['manager.boosts={"p2" = 0.25}']
    desk = world.run(turns=0, clean=False).crawl.desk
    assert set(desk.columns.page.used()["boost"].tolist()) == {0.0, 0.25}


def test_after_damage_to_any_file_of_an_image_the_segments_are_used(tmp_path: Path) -> None:
    world, shard = World(tmp_path, random_web(15)), shard_folder(tmp_path)
    world.run(SEEDS, turns=60, sealed=True)
    made_beside(shard, world.settings)
    expected = durable(from_segments(shard, world.settings))
    (folder,) = (shard / "image").iterdir()
    for path in sorted(folder.iterdir()):
        if raw := path.read_bytes():
            path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
            recovered = recover(shard)
            assert recovered.image is None
            assert [path.name in warning for warning in recovered.warnings] == [True]
            path.write_bytes(raw)
    (folder / "page.state").unlink()
    store, desk, _ = open_collection(tmp_path, world.settings, world.clock)
    store.close()
    assert "starting from the segments" in store.warnings[0]
    assert durable(desk) == expected


def test_a_power_cut_or_a_kill_while_an_image_is_made_leaves_a_valid_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cuts while an image is made, with and without an older image: after every operation that changes names or the
    manifest, and after some of the many that write arrays, to which nothing refers yet."""
    root, cuts = tmp_path / "root", 0
    root.mkdir()
    world, shard = World(root / "crawl", random_web(16)), shard_folder(root / "crawl")
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
    for number, turns in enumerate((40, 30)):
        world.run(SEEDS, turns=turns, sealed=True)
        found, tape = tmp_path / f"found{number}", tmp_path / f"tape{number}"
        shutil.copytree(root, found)
        tape.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GOSSAMER_RECORD", str(tape))
            made_beside(shard, world.settings)
        expected = durable(from_segments(shard, world.settings))
        model = Disk(found)
        for at, operation in enumerate(read_recordings(tape, root)):
            model.apply(operation)
            inside = "/image/" in operation.path and operation.kind in ("create", "write", "sync")
            for loss in [list(Loss)[at // OF_ARRAYS % len(Loss)]][at % OF_ARRAYS :] if inside else list(Loss):
                model.leave(tmp_path / "cut", loss, random.Random(at))
                store, desk, _ = open_collection(tmp_path / "cut" / "crawl", world.settings, world.clock)
                store.close()
                assert store.warnings == []
                assert durable(desk) == expected
                shutil.rmtree(tmp_path / "cut")
                cuts += 1
    assert cuts > 60


# --- in a crawl ----------------------------------------------------------------------------------------------

WEB = DemoWeb(seed=51, sites=12, pages=400, largest=80, errors=0, busy=0, delays=0, unavailable=1, slow=0)
CHANGES = ("collection.seal_every=1s", "harvester.wait=1s", "harvester.wait_large=1s")
QUICKLY = ("--set", "harvester.wait=20ms", "--set", "harvester.wait_large=20ms")


def images(folder: Path) -> list[Line]:
    """The lines of images in the manifest."""
    path = shard_folder(folder) / "manifest.jsonl"
    raw = path.read_bytes() if path.exists() else b""
    lines = [manifest.decode(line) for line in raw.splitlines(keepends=True)]
    return [line for line in lines if line and "image" in line]


@pytest.mark.slow
def test_a_crawl_makes_images_while_it_runs_and_resumes_from_the_last_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"

    def imagers() -> list[int]:
        return [pid for pid in children(crawling.pid) if "gossamer.crawler.imager" in command_line(pid)]

    with serve(WEB, tmp_path, *CHANGES) as served:
        with served.begin(folder, program=EAGER) as crawling:
            assert crawling.wait_for(imagers)
            for pid in imagers():
                kill(pid)
            assert crawling.wait_for(lambda: len(images(folder)) >= 2), "a failed image does no harm"
            crawling.kill()
            said = crawling.ended().errors
        assert "warning: no image could be made while the crawl runs" in said
        shard, settings = shard_folder(folder), load(folder / "crawl.toml")
        recovered = recover(shard)
        assert recovered.image is not None
        assert recovered.image.record == images(folder)[-1]["record"]
        assert durable(from_image(shard, settings)) == durable(from_segments(shard, settings))
        ended = served.crawl(folder, *QUICKLY)
        assert ended.code == 0, ended.errors
        assert "warning" not in ended.errors
        assert ended.figures["known"] == len(WEB.reachable())
