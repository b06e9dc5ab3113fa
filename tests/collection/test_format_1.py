"""A collection of format 1, as the first version wrote it, can still be read: columns are only ever added."""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

from gossamer import config
from gossamer.base.clock import VirtualClock
from gossamer.base.model import State
from gossamer.collection import manifest
from gossamer.collection.journal.effects import _CHANGES, SECTION, Effects, _older
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.tables import seal
from gossamer.crawler.open import open_collection
from gossamer.crawler.parts import new_desk
from gossamer.desk.account import Account
from gossamer.desk.places import Places
from gossamer.manager.pages import Pages
from tests.support.effects_samples import small_effects
from tests.support.paths import DATA

STORED = DATA / "format-1.tar.gz"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "format-1"


def test_a_collection_of_format_1_opens_with_all_its_contents(collection: Path) -> None:
    settings = config.load(collection / SETTINGS)
    store, desk, resumed = open_collection(collection, settings, VirtualClock())
    try:
        assert resumed
        assert (desk.columns.page.count, desk.columns.site.count, desk[Account].visits) == (34, 3, 31)
        assert desk[Pages].counts[State.DONE].sum() == 31
        assert not desk.columns.site.www[:3].any()
        assert store.urls_soon(np.arange(3, dtype=np.uint32))[0].startswith(b"http://")
    finally:
        store.close()


@pytest.mark.parametrize(
    ("section", "counts"),
    [(19, {"counted": 14, "texts": 12}), (20, {"counted": 14}), (21, {})],
    ids=["preferences", "traps", "changes"],
)
def test_a_journal_without_newer_sections_can_be_read(section: int, counts: dict[str, int]) -> None:
    effects = small_effects(random.Random(5), 3, 10, status=200)
    effects.visits["counted"][:, 14:] = 0
    effects.visits["lifetime"] = effects.visits["change"] = 0
    whole = effects.encode()
    old = _older(_CHANGES, **counts)
    visits = np.zeros(len(effects.visits), old)
    for name in old.names or ():
        visits[name] = effects.visits[name][:, : counts[name]] if name in counts else effects.visits[name]
    at = whole.index(SECTION.pack(22, effects.visits.nbytes))
    end = at + SECTION.size + effects.visits.nbytes
    before = whole[:at] + SECTION.pack(section, visits.nbytes) + visits.tobytes() + whole[end:]
    assert Effects.decode(before).encode() == whole


def test_newer_columns_are_empty(collection: Path) -> None:
    shard = shard_folder(collection)
    contents = manifest.read(shard)
    visits = np.concatenate([e.visits for e in seal.effects_of(contents.segments[1], shard, 0)])
    assert len(visits) == 34
    assert not visits["sketch"].any()
    assert not visits["payload"].any()
    assert new_desk(config.load(collection / SETTINGS), contents.meta.seed)[Places].names == []
