"""runs.jsonl: a line for every run, with its settings and their differences from the run before."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gossamer import __version__, config
from gossamer.base.errors import GossamerError, LockedError, UsageError
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import RUNS, begin_run, runs, settings_of, settle_run
from gossamer.config import Settings, override
from gossamer.webs.demo import DemoWeb
from gossamer.webs.simulated import Reply
from tests.support.crawling import LIGHT, gossamer, serve
from tests.support.world import World


def test_every_run_is_stored_with_its_settings_and_the_differences(tmp_path: Path) -> None:
    first = Settings()
    second = override(first, ["harvester.wait=9s", "seeder.depth_static=3"])
    assert begin_run(tmp_path, first, 100.0) == []
    assert begin_run(tmp_path, first, 200.0) == []
    differences = begin_run(tmp_path, second, 300.0)
    assert sorted(differences) == ["harvester.wait: 15s -> 9s", "seeder.depth_static: 15 -> 3"]
    found = runs(tmp_path)
    assert [(r["run"], r["started"], r["version"]) for r in found] == [
        (1, 100.0, __version__),
        (2, 200.0, __version__),
        (3, 300.0, __version__),
    ]
    assert [r["differences"] for r in found] == [[], [], differences]
    assert [settings_of(r) for r in found] == [first, first, second]


def test_a_setting_of_another_version_is_reported_and_harmless(tmp_path: Path) -> None:
    begin_run(tmp_path, Settings(), 1.0)
    run = runs(tmp_path)[0]
    run["settings"]["harvester"]["elbow_grease"] = 3
    run.pop("checksum", None)
    (tmp_path / RUNS).write_text(json.dumps(run) + "\n")
    (said,) = begin_run(tmp_path, Settings(), 2.0)
    assert "elbow_grease" in said
    settle_run(tmp_path)
    assert begin_run(tmp_path, Settings(), 3.0) == []


def test_a_change_is_reported_until_a_run_with_it_is_settled(tmp_path: Path) -> None:
    """A run killed before that may have begun to apply its settings, so changing them back is a change too."""
    first, second = Settings(), override(Settings(), ["seeder.depth_static=3"])
    begin_run(tmp_path, first, 1.0)
    change = ["seeder.depth_static: 15 -> 3"]
    assert [begin_run(tmp_path, second, wall) for wall in (2.0, 3.0)] == [change, change]
    assert begin_run(tmp_path, first, 4.0) == ["seeder.depth_static: 3 -> 15"]
    assert begin_run(tmp_path, first, 5.0) == ["seeder.depth_static: 3 -> 15"]
    settle_run(tmp_path)
    assert begin_run(tmp_path, first, 6.0) == []


def test_a_damaged_file_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_text('{"run": 1')
    with pytest.raises(GossamerError, match=r"runs.jsonl is damaged") as caught:
        runs(tmp_path)
    assert "remove it" in caught.value.cure


def test_each_start_of_a_collection_is_a_run_in_whatever_way_it_ends(tmp_path: Path) -> None:
    world = World(tmp_path, {"http://a.example/": Reply()})
    starts = []
    for clean, changes in ((True, []), (False, []), (True, ["harvester.tries=5"])):
        world.changes = changes
        starts.append(world.clock.wall())
        world.run(["http://a.example/"], clean=clean, turns=3)
        world.clock.advance(60.0)
    found = runs(shard_folder(tmp_path))
    assert [r["started"] for r in found] == starts
    assert [r["differences"] for r in found] == [[], [], ["harvester.tries: 3 -> 5"]]
    assert settings_of(found[-1]) == world.settings


@pytest.mark.slow
def test_the_stored_differences_are_those_that_were_printed(tmp_path: Path) -> None:
    """The addresses and certificates of a demonstration differ at every start, and do not count as changes."""
    folder, light = tmp_path / "crawl", [word for change in LIGHT for word in ("--set", change)]
    for changes in (light, (), ("--set", "harvester.tries=5")):
        assert gossamer("crawl", folder, "--demo", "--pages", "1", *changes).code == 0
    found = runs(shard_folder(folder))
    assert [r["differences"] for r in found] == [[], [], ["harvester.tries: 3 -> 5"]]
    assert [r["settled"] for r in found] == [True] * 3


WEB = DemoWeb(seed=61, sites=4, pages=30, largest=12, errors=0, busy=0, delays=0, unavailable=0, slow=0, down=0)


@pytest.mark.slow
def test_a_resume_with_other_settings_lists_the_differences(tmp_path: Path) -> None:
    """Whether the command line changed them, or somebody edited crawl.toml."""
    folder = tmp_path / "crawl"
    with serve(WEB, tmp_path, *LIGHT) as served:
        assert served.crawl(folder, "--pages", "3").code == 0
        second = gossamer("crawl", folder, "--pages", "3", "--set", "harvester.tries=5")
        assert "changed: harvester.tries: 3 -> 5" in second.errors.splitlines()
        toml = folder / "crawl.toml"
        toml.write_text(toml.read_text().replace("tries = 5", "tries = 7"))
        third = gossamer("crawl", folder, "--pages", "3")
        assert "changed: harvester.tries: 5 -> 7" in third.errors.splitlines()
        fourth = gossamer("crawl", folder)
        assert "changed:" not in fourth.errors
        assert (second.code, third.code, fourth.code) == (0, 0, 0)
    found = runs(shard_folder(folder))
    assert [r["differences"] for r in found] == [
        [],
        ["harvester.tries: 3 -> 5"],
        ["harvester.tries: 5 -> 7"],
        [],
    ]
    assert settings_of(found[-1]) == config.load(toml)


@pytest.mark.parametrize("wrong", ["log", "level", "lock"])
def test_wrong_arguments_are_refused_before_a_web_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    from gossamer.collection import lock
    from gossamer.crawler import run
    from gossamer.webs import demo
    from gossamer.webs.local import served

    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("the demonstration Web was started")

    monkeypatch.setattr(demo, "start", start)
    shard = shard_folder(tmp_path / "c")
    shard.mkdir(parents=True)
    held = lock.take(shard) if wrong == "lock" else None
    log = tmp_path / "nosuch" / "x" if wrong == "log" else None
    serve, level = partial(served, DemoWeb()), "nope" if wrong == "level" else "info"
    plea = run.CrawlRequest(tmp_path / "c", serve=serve, log=log, log_level=level)
    with pytest.raises(LockedError if wrong == "lock" else UsageError):
        run.run(plea, SimpleNamespace(say=print))
    if held is not None:
        held.release()
