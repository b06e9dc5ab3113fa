"""Pages that are requested again on condition that they have changed: what comes of it, at the desk and on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.base.model import Outcome, State, Validators
from gossamer.collection.blocks import PER_BLOCK
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.recovery import recover
from gossamer.collection.repair import repair
from gossamer.collection.versions import Version, first_of, name_in, versions_of
from gossamer.crawler.open import open_collection
from gossamer.desk.account import Account
from gossamer.harvester.versions import Versions
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from gossamer.webs.simulated import Labels, Reply
from tests.support.reading import rows
from tests.support.world import World, state_of

PERIOD = 600.0
ROOT = "http://a.example/"
PAGES = [ROOT + str(n) for n in range(12)]


class Web:
    """Pages with ETags. `text` has the text of each; `lies` makes the server answer every condition with 304."""

    def __init__(self) -> None:
        self.text = {url: 100 + n for n, url in enumerate([ROOT, *PAGES])}
        self.lies = False
        self.round: Callable[[], int] = lambda: 0

    def changes_every(self, world: World, seconds: float) -> None:
        """All texts change after so many seconds."""
        begun = world.clock.monotonic()
        self.round = lambda: 1_000 * int((world.clock.monotonic() - begun) / seconds)

    def __call__(self, url: str) -> Reply:
        if url not in self.text:
            return Reply(outcome=Outcome.NOT_FOUND, status=404)
        text = self.text[url] + self.round()
        labels = Labels(etag=f'"{text}"', unchanged=True if self.lies else None)
        return Reply(links=PAGES if url == ROOT else [ROOT], digest=text, labels=labels)


def world_of(folder: Path, web: Web) -> World:
    return World(folder, web, ["manager.min_period=10min", "harvester.wait=1s", "harvester.retry=100h"])


def outcomes(folder: Path) -> Counter[tuple[str, str]]:
    return Counter((row["outcome"], row["change"]) for row in rows(folder, "visits") if row["ask"] == "page")


def test_a_page_that_has_not_changed_keeps_its_place(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    world.run([ROOT])
    before = len(rows(tmp_path, "links"))
    result = world.run(seconds=2.5 * PERIOD, patience=2 * PERIOD)
    desk, page = result.crawl.desk, result.crawl.desk.columns.page
    assert {outcome for _, outcome, _ in result.pages.values()} == {Outcome.OK}
    assert desk[Account].outcomes[Outcome.NOT_MODIFIED] > 13
    found = outcomes(tmp_path)
    assert found["not_modified", "none"] == desk[Account].outcomes[Outcome.NOT_MODIFIED]
    assert set(found) <= {("ok", "unknown"), ("not_modified", "none"), ("ok", "none")}
    assert found["ok", "unknown"] == 13, "the first visits have nothing to compare with"
    assert found["ok", "none"] < 13, "a share is requested in full"
    assert (page.state[:13] == State.DONE).all()
    assert len(rows(tmp_path, "links")) == before + sum(
        row["links"] for row in rows(tmp_path, "visits") if (row["outcome"], row["change"]) == ("ok", "none")
    )
    database = Database(find(tmp_path), world.settings)
    shown = database.query("select outcome, status, state, visits >= 3, stored >= 1 from pages").rows
    assert set(map(tuple, shown)) == {("ok", 200, "done", True, True)}


def test_a_page_that_has_changed_is_fetched_and_says_so(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    world.run([ROOT])
    web.text[PAGES[3]] = 999
    world.run(seconds=1.2 * PERIOD, patience=2 * PERIOD)
    assert outcomes(tmp_path)["ok", "major"] == 1
    world.run(seconds=PERIOD, patience=2 * PERIOD)
    assert outcomes(tmp_path)["ok", "major"] == 1, "its new version is the one to compare with"


def test_a_page_that_fails_in_between_is_fetched_in_full_and_compared(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    world.run([ROOT])
    gone = web.text.pop(PAGES[3])
    world.run(seconds=1.2 * PERIOD, patience=2 * PERIOD)
    web.text[PAGES[3]] = gone
    store, desk, _ = open_collection(tmp_path, world.settings, world.clock)
    page = next(n for n, url in enumerate(store.urls(range(13))) if url.decode() == PAGES[3])
    store.close()
    assert desk.columns.page.outcome[page] == Outcome.NOT_FOUND
    assert desk.columns.page.version[page] > 0
    assert desk[Versions].conditions(page, 0, 0.0) == 0


def test_a_server_that_says_unchanged_for_ever_is_found_out(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    world.run([ROOT])
    web.lies = True
    web.changes_every(world, PERIOD)
    result = world.run(seconds=14 * PERIOD, patience=2 * PERIOD)
    last = max(row["time"] for row in rows(tmp_path, "visits"))
    late = [r for r in rows(tmp_path, "visits") if r["ask"] == "page" and (last - r["time"]).total_seconds() < PERIOD]
    assert {row["outcome"] for row in late} == {"ok"}
    assert {row["change"] for row in late} == {"major"}
    assert not {row["validators"] & Validators.BY_ETAG for row in late if row["validators"]} - {0}
    told = result.crawl.desk[Versions].explain_site(0)["validators"]
    assert "none is believed" in str(told)
    shown = Database(find(tmp_path), world.settings).query("select validators from sites").rows
    assert [tuple(row) for row in shown] == [(told,)]


def expected(folder: Path) -> tuple[dict[int, int], list[bytes]]:
    """The number of the last version of each page, and all versions, from the journal and the segments alone."""
    last: dict[int, int] = {}
    texts: list[bytes] = []
    for effects in replace(recover(shard_folder(folder)), image=None).effects():
        found = versions_of(effects)
        brought = iter(found)
        for visit in effects.visits:
            if Outcome(visit["outcome"]) in (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT) and visit["ask"] == 0:
                last[int(visit["page"])] = len(texts)
                texts.append(next(brought))
    return last, texts


def check(world: World, first: int = 0) -> None:
    """A desk that opens the collection has these versions, with the image and without; and the file has their texts."""
    last, texts = expected(world.folder)
    store, desk, _ = open_collection(world.folder, world.settings, world.clock)
    try:
        columns = desk.columns.page.version[: desk.columns.page.count]
        assert {page: int(number) - 1 for page, number in enumerate(columns) if number} == last
        assert desk[Versions].count == len(texts)
        found = store.versions_soon(np.arange(len(texts), dtype=np.uint32))
        assert found == [b""] * first + texts[first:]
    finally:
        store.close()
    replayed = world.replayed()
    np.testing.assert_array_equal(columns, replayed.columns.page.version[: len(columns)])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(1, 40)), min_size=1, max_size=4))
def test_a_replay_gives_the_same_versions(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[bool, bool, bool, int]]
) -> None:
    web, folder = Web(), tmp_path_factory.mktemp("crawl")
    world = world_of(folder, web)
    for n, (clean, commit, sealed, turns) in enumerate(runs):
        web.text = {url: text + n * (number % 2) for number, (url, text) in enumerate(web.text.items())}
        world.run([ROOT], clean=clean, commit=commit, sealed=sealed and not clean, turns=8 * turns)
        check(world)
        world.clock.advance(PERIOD)


def test_a_collection_of_an_earlier_version_begins_to_keep_versions(tmp_path: Path) -> None:
    """Its marks name no file of versions, and its images have no column of them."""
    web = Web()
    world = world_of(tmp_path, web)
    world.run([ROOT], clean=False, sealed=True)
    _as_before(shard_folder(tmp_path))
    count = len(expected(tmp_path)[1])
    assert count == 13
    check(world, count)
    world.clock.advance(PERIOD)
    for clean in (True, False, True):
        world.run(seconds=1.1 * PERIOD, patience=2 * PERIOD, clean=clean, commit=True)
        name = name_in(recover(shard_folder(tmp_path)).mark.lengths)
        assert name is not None
        assert first_of(name) == count
        check(world, count)
    assert outcomes(tmp_path)["not_modified", "none"] > 0
    assert faults(tmp_path) == []


def _as_before(shard: Path) -> None:
    """Makes the collection one without versions: removes the file, and its name from the manifest."""
    from gossamer.collection import manifest

    lines = []
    for raw in (shard / "manifest.jsonl").read_bytes().splitlines():
        line = manifest.decode(raw + b"\n")
        assert line is not None
        if "lengths" in line:
            line["lengths"] = {name: n for name, n in line["lengths"].items() if not name.startswith("versions/")}
        if "image" not in line:
            lines.append(manifest.encode(line))
    (shard / "manifest.jsonl").write_bytes(b"".join(lines))
    for path in (*(shard / "versions").iterdir(), *(shard / "journal").iterdir()):
        path.unlink()


def faults(folder: Path) -> list[tuple[str, bool]]:
    """The damaged files, and whether `--repair` is the cure. (These collections have no crawl.toml.)"""
    return [(f.file, "--repair" in f.cure) for f in verify(folder).findings if f.file != SETTINGS]


def test_a_damaged_file_of_versions_is_found_and_rebuilt(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    web.changes_every(world, PERIOD)
    world.run([ROOT], seconds=7 * PERIOD, patience=2 * PERIOD)
    shard = shard_folder(tmp_path)
    path = shard / str(name_in(recover(shard).mark.lengths))
    whole = path.read_bytes()
    assert len(expected(tmp_path)[1]) > PER_BLOCK
    assert faults(tmp_path) == []
    flipped = whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]
    for damaged in (None, flipped, whole[:16]):
        if damaged is None:
            path.unlink()
        else:
            path.write_bytes(damaged)
        assert faults(tmp_path) == [(path.relative_to(shard).as_posix(), True)]
        assert any("versions/" in line for line in repair(shard))
        assert path.read_bytes() == whole
    assert faults(tmp_path) == []
    check(world)


def test_an_image_made_while_the_crawl_runs_has_the_versions(tmp_path: Path) -> None:
    from gossamer.collection import image, manifest
    from gossamer.crawler.imager import make

    web = Web()
    world = world_of(tmp_path, web)
    web.changes_every(world, PERIOD)
    for _ in range(3):
        world.run([ROOT], seconds=2 * PERIOD, patience=2 * PERIOD, clean=False, sealed=True)
        world.clock.advance(PERIOD)
        shard = shard_folder(tmp_path)
        line = make(shard, world.settings)
        if line is not None:
            with_line = manifest.Manifest.open(shard)
            image.finish(shard, with_line, line)
            with_line.close()
        check(world)
    assert recover(shard_folder(tmp_path)).image is not None


def test_versions_have_what_the_visit_saw(tmp_path: Path) -> None:
    web = Web()
    world = world_of(tmp_path, web)
    desk = world.run([ROOT]).crawl.desk
    assert state_of(world.replayed())["page.version"] == state_of(desk)["page.version"]
    found = [Version.read(text) for text in expected(tmp_path)[1]]
    assert {(version.etag, version.digest) for version in found} == {
        (f'"{text}"'.encode(), text) for text in web.text.values()
    }
