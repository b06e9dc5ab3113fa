"""The scores of an older collection in a crawl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.arrays import F32
from gossamer.base.errors import GossamerError, StorageError, UsageError
from gossamer.base.model import NONE, VISIT, Ask
from gossamer.collection.journal.effects import PAGE
from gossamer.collection.layout import shard_folder
from gossamer.config.settings import ManagerSettings
from gossamer.manager.older import FILE, Older, check, make
from gossamer.manager.scores.compute import compute
from gossamer.manager.scores.stored import newest_scores, stored_table
from gossamer.webs.simulated import Reply
from tests.support.world import World, state_of

ROOT = "http://a.example/"
POLICY = "historical-pagerank-parent"
LINKS = {"": ["few", "many", "new"], "few": [], "many": [], "new": ["newer", "many"], "newer": []}


def world_of(folder: Path, names: list[str], *changes: str) -> World:
    """A Web of these pages; half of its links lead to `many`."""
    web = {
        ROOT + name: Reply(digest=1 + i, links=[ROOT + each for each in LINKS[name] if each in names])
        for i, name in enumerate(names)
    }
    more = {f"{ROOT}x{i}": Reply(digest=100 + i, links=[ROOT + "many"]) for i in range(5)}
    web[ROOT] = Reply(digest=1, links=[*(ROOT + each for each in LINKS[""] if each in names), *more])
    return World(folder, web | more, [*changes])


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of the same site when it had fewer pages."""
    folder = tmp_path_factory.mktemp("older")
    world_of(folder, ["", "few", "many"]).run([ROOT])
    compute(shard_folder(folder), {"pagerank": 1.0})
    return folder


def known_to(older: Path) -> dict[str, float]:
    newest = newest_scores(shard_folder(older))
    assert newest is not None
    ranks = stored_table(shard_folder(older), newest.number, ["pagerank"])["pagerank"]
    from gossamer.laboratory.collection_graph import known_urls

    return dict(zip(known_urls(older, np.arange(len(ranks))), ranks.tolist(), strict=True))


@pytest.mark.slow
def test_a_page_has_its_old_score(older: Path, tmp_path: Path) -> None:
    """It is asked for by it, in a crawl, after a kill and after a stop."""
    world = world_of(tmp_path, list(LINKS), f"manager.policy={POLICY}", f"manager.history={older}")
    result = world.run([ROOT])
    ranks, desk = known_to(older), result.crawl.desk
    asked = [each.url for each in world.asked if each.ask is Ask.PAGE]
    pages = {url: n for n, url in enumerate(result.pages)}
    merit = desk.columns.page.merit
    assert len(ranks) == 8
    for url, rank in ranks.items():
        assert merit[pages[url]] == pytest.approx(rank, rel=1e-6), url
    links = 3 + 5
    share = ranks[ROOT] / links
    assert merit[pages[ROOT + "new"]] == pytest.approx(share, rel=1e-6)
    assert merit[pages[ROOT + "newer"]] == pytest.approx(share / 2, rel=1e-6)
    assert asked[:2] == [ROOT, ROOT + "many"]
    assert asked[-1] == ROOT + "newer"
    assert state_of(world.replayed()) == state_of(desk)
    before = merit[: len(pages)].tolist()
    away = older.rename(tmp_path / "away")  # it is not needed any more
    try:
        again = world.run()
    finally:
        away.rename(older)
    assert again.crawl.desk.columns.page.merit[: len(pages)].tolist() == before


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_page_that_was_not_known_has_the_share_of_its_parent(data: st.DataObject) -> None:
    visited = data.draw(st.lists(st.integers(0, 9), min_size=0, max_size=6, unique=True))
    visits = np.zeros(len(visited), VISIT)
    visits["page"], visits["links"] = (
        visited,
        data.draw(st.lists(st.integers(0, 5), min_size=len(visited), max_size=len(visited))),
    )
    sources = data.draw(st.lists(st.one_of(st.integers(0, 9), st.just(NONE)), min_size=1, max_size=8))
    new = np.zeros(len(sources), PAGE)
    new["source"], new["fingerprint"] = sources, np.arange(len(sources)) + 10
    known: F32 = np.linspace(0.1, 1, 10).astype(np.float32)

    class Few(Older):
        def __init__(self) -> None:
            self._keys, self._ranks = np.array([11, 13], np.uint64), np.array([0.5, 0.25], np.float32)

    found = Few().scores(new, visits, known).tolist()
    links = dict(zip(visits["page"].tolist(), visits["links"].tolist(), strict=True))
    for number, (source, score) in enumerate(zip(sources, found, strict=True)):
        if number in (1, 3):
            assert score == (0.5 if number == 1 else 0.25)
        elif source in links:
            assert score == pytest.approx(known[source] / max(1, links[source]), rel=1e-6)
        else:
            assert score == 0


def test_what_is_missing_is_said_before_the_crawl(older: Path, tmp_path: Path) -> None:
    wanted = ManagerSettings(policy=POLICY, history=str(older))
    shard = tmp_path / "shard-000"
    check(wanted, shard, 2)
    check(ManagerSettings(), shard, 2)
    cases = (
        (replace(wanted, history=""), 2, "needs an older collection", "manager.history"),
        (replace(wanted, policy="value"), 2, "does not use it", POLICY),
        (replace(wanted, history=str(tmp_path / "nowhere")), 2, "does not exist", "older crawl"),
        (replace(wanted, history=str(tmp_path)), 2, "not a collection", "older crawl"),
        (wanted, 1, "have form 2", "url_form=2"),
    )
    for manager, form, what, cure in cases:
        with pytest.raises(UsageError, match=what) as refused:
            check(manager, shard, form)
        assert cure in refused.value.cure
    world_of(tmp_path / "plain", [""]).run([ROOT])
    with pytest.raises(UsageError, match="no link scores") as refused:
        check(replace(wanted, history=str(tmp_path / "plain")), shard, 2)
    assert "gossamer rank" in refused.value.cure
    with pytest.raises(GossamerError, match="no link scores"):
        make(shard, tmp_path / "plain", 1)


def test_damage_is_found(older: Path, tmp_path: Path) -> None:
    assert make(tmp_path, older, 7) == 8
    path = tmp_path / FILE
    assert not np.isnan(Older(tmp_path).ranks(Older(tmp_path)._keys)).any()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"x" + whole[1:], b""):
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match="damaged"):
            Older(tmp_path)
