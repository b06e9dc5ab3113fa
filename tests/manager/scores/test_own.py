"""Scores and orders of plug-ins: what becomes of their numbers, and of those that fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.config import dump, load, override
from gossamer.crawler.start import CrawlRequest, prepare
from gossamer.laboratory.analyse import analyse_collection
from gossamer.manager.scores.compute import compute
from gossamer.manager.scores.own import Own, ask
from gossamer.manager.scores.schedule import Scorer
from gossamer.manager.scores.stored import newest_scores, read_scored, stored_table
from gossamer.plugins import trust
from gossamer.plugins.find import Plugin, digest_of, find
from gossamer.read.plugin_scores import values_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find as sources_of
from gossamer.webs.simulated import Reply
from tests.support.world import World

CODE = """
import os, time

def even(web):
    return {page: 1.0 for (page,) in web.sql("select page from pages where page % ? = 0", 2)}

def late(web):
    print("a line of a plug-in")
    return [float(number) for number in range(web.pages)]

def small(web):
    return (number / 1000 for number in range(web.pages))

def raises(web):
    raise KeyError("weight")

def large(web):
    return {0: 7.2}

def few(web):
    return [1.0]

def odd(web):
    return 7

def beyond(web):
    return {10**6: 1.0}

def undefined(web):
    return {1: float("nan")}

def words(web):
    return ["a"] * web.pages

def crashes(web):
    os.abort()

def hangs(web):
    time.sleep(3600)

def eats(web):
    return [bytearray(1 << 34)]
"""
MEMORY = 600_000_000
PAGES = 9


def web(url: str) -> Reply:
    name = url.rpartition("/")[2] or "0"
    if name == "robots.txt":
        return Reply()
    if not name.isdecimal():
        return Reply(outcome=Outcome.NOT_FOUND, status=404)
    targets = [f"http://a.example/{n}" for n in (2 * int(name) + 1, 2 * int(name) + 2) if n < PAGES]
    return Reply(links=tuple(targets), digest=int(name) + 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("own") / "crawl"
    world = World(place, web, ('seeder.domains=["a.example"]',))
    world.run(["http://a.example/"])
    (place / SETTINGS).write_text(dump(world.settings))
    (place / "my.py").write_text(CODE)
    return place


def named(folder: Path, kind: str, name: str) -> Plugin:
    (found,) = find(override(load(folder / SETTINGS), [f"plugins.{kind}=my.py:{name}"]).plugins, folder, (kind,))
    return found


def test_a_score_of_a_plug_in_weighs_and_is_shown(folder: Path) -> None:
    shard, own = shard_folder(folder), Own(named(folder, "score", "even"), None, MEMORY)
    assert Own.parse(json.dumps(own)) == own
    figures = compute(shard, {"plugin": 2.0, "pagerank": 1.0}, own=own)
    assert figures["wrong"] == []
    newest = newest_scores(shard)
    assert newest is not None
    stored = stored_table(shard, newest.number, None)
    pages = len(stored["plugin"])
    assert stored["plugin"].tolist() == [float(n % 2 == 0) for n in range(pages)]
    without = stored["merit"] - 2.0 * stored["plugin"]
    changed = read_scored(shard, {"pagerank": 1.0})
    assert changed is not None
    assert np.allclose(without, changed.merit, atol=1e-6), "it counts as it is, and weights can change"
    database = Database(sources_of(folder), load(folder / SETTINGS))
    rows = list(database.query("select page, plugin from pages order by page").rows)
    assert [value for _, value in rows] == [float(n % 2 == 0) for n in range(len(rows))]
    analysed = analyse_collection(folder, {"plugin": 1.0}, own=own)
    assert analysed.by_page["plugin"].sum() == stored["plugin"].sum()


def test_the_order_of_a_strategy_is_prepared_for_its_policy(folder: Path) -> None:
    shard, own = shard_folder(folder), Own(None, named(folder, "strategy", "late"), MEMORY)
    compute(shard, {}, "plugin", own=own)
    scored = read_scored(shard, {})
    assert scored is not None
    assert (scored.prepare, scored.base) == ("plugin", 0.0)
    assert scored.prepared.tolist() == [float(n) for n in range(len(scored.merit))]
    failing = Own(None, named(folder, "strategy", "raises"), MEMORY)
    figures = compute(shard, {}, "plugin", own=failing)
    assert figures["wrong"] == ["plugins.strategy: my.py:raises: KeyError: 'weight' (line 15)"]
    after = read_scored(shard, {})
    assert after is not None
    assert after.prepared.tolist() == scored.prepared.tolist(), "the order of before is in force"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raises", "KeyError: 'weight' (line 15)"),
        ("large", "ValueError: page 0 has 7.2: a score is between 0 and 1"),
        ("few", "ValueError: it returned 1 numbers for "),
        ("odd", "ValueError: it returned int, neither a number for each page nor a mapping"),
        ("beyond", "ValueError: there is no page 1000000"),
        ("undefined", "ValueError: page 1 has nan"),
        ("words", "ValueError: could not convert string to float"),
        ("crashes", "its process ended by signal 6"),
        ("eats", "it needed more memory than there is (plugins.memory)"),
    ],
)
def test_a_plug_in_that_fails_is_named(folder: Path, name: str, words: str) -> None:
    said = ask(shard_folder(folder), named(folder, "score", name), MEMORY, PAGES)
    assert said.values is None
    assert said.wrong.startswith(f"plugins.score: my.py:{name}: {words}"), said.wrong


def test_a_plug_in_that_hangs_is_ended(folder: Path) -> None:
    said = ask(shard_folder(folder), named(folder, "score", "hangs"), MEMORY, PAGES, 1.0)
    assert said.wrong == "plugins.score: my.py:hangs: it took longer than 1.0 s, and was ended"


def test_a_score_that_fails_keeps_its_numbers_of_before_and_the_others_are_computed(folder: Path) -> None:
    shard = shard_folder(folder)
    compute(shard, {"plugin": 1.0}, own=Own(named(folder, "score", "small"), None, MEMORY))
    scorer = Scorer(shard, {"plugin": 1.0}, 1, own=Own(named(folder, "score", "raises"), None, MEMORY))
    assert scorer._begin(100, 100.0)
    assert scorer._process is not None
    scorer._process.wait()
    scored = scorer.poll()
    assert scored is not None
    assert np.allclose(scored.merit, np.arange(len(scored.merit)) / 1000)
    assert scorer.warnings == ["plugins.score: my.py:raises: KeyError: 'weight' (line 15)"]


def test_pages_are_numbered_within_their_shard() -> None:
    plugin = Plugin("strategy", "x")
    assert values_of(plugin, {2: -3, 0: 5.5}, 3).tolist() == [5.5, 0.0, -3.0]
    assert values_of(plugin, np.array([1, 2]), 2).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="2 numbers for 3 pages"):
        values_of(plugin, iter([1.0, 2.0]), 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["plugins.score=my.py:even"], "my.py:even has no weight"),
        (["manager.weights={plugin=1.0}"], "plugins.score names no score"),
        (["plugins.strategy=my.py:late"], "is not in force under value"),
        (["manager.policy=plugin"], "plugins.strategy names no strategy"),
        (["plugins.score=missing.py:even", "manager.weights={plugin=1.0}"], "there is no file missing.py"),
        (["plugins.score=my.py:evn", "manager.weights={plugin=1.0}"], "has no evn"),
        (["plugins.filter=my.py:MEMORY"], "has no MEMORY"),
    ],
)
def test_what_would_change_nothing_or_is_missing_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str], words: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = tmp_path / "crawl"
    place.mkdir()
    (place / "crawl.toml").write_text("[plugins]\nreport = 'my.py:even'\n")
    (place / "my.py").write_text(CODE)
    trust.confirm({digest_of(place / "my.py"): str(place / "my.py")})
    with pytest.raises(UsageError, match=words) as error:
        prepare(CrawlRequest(place, ("http://127.0.0.1/",), changes=tuple(settings)), print)
    assert error.value.cure


def test_only_one_score_and_one_strategy_is_accepted() -> None:
    from gossamer.config import loads

    for kind in ("score", "strategy"):
        with pytest.raises(UsageError, match="2 are named, and one is accepted"):
            loads(f"[plugins]\n{kind} = ['my.py:a', 'my.py:b']")
