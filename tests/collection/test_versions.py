"""Versions of pages: what is kept of them, their numbers, and the change from one to the next."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Change, Outcome, VisitFlag
from gossamer.collection.journal.effects import Effects
from gossamer.collection.versions import HEAD, Version, VersionFile, bring, name_in, target_digest, versions_of
from tests.support.effects_samples import small_effects, wild_effects

PAGE = Version(b"p" * 20, 11, 0b1111, 13)
MOVED = Version(digest=target_digest(b"http://a.example/new"), redirect=True)


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (PAGE, PAGE, Change.NONE),
        (PAGE, PAGE._replace(digest=12, sketch=0, numberless=0), Change.NONE),
        (PAGE, PAGE._replace(payload=b"q" * 20), Change.NONE),
        (PAGE, Version(b"q" * 20, 12, 0b1000, 14), Change.MINOR),
        (PAGE, Version(b"q" * 20, 12, 0, 13), Change.MINOR),
        (PAGE, Version(b"q" * 20, 12, 0b11110000, 14), Change.MAJOR),
        (PAGE, Version(b"q" * 20, 12, 0, 14), Change.MAJOR),
        (Version(b"p" * 20), Version(b"q" * 20), Change.MAJOR),
        (Version(), Version(), Change.UNKNOWN),
        (PAGE, Version(), Change.UNKNOWN),
        (Version(), PAGE, Change.UNKNOWN),
        (PAGE, MOVED, Change.MAJOR),
        (MOVED, PAGE, Change.MAJOR),
        (MOVED, MOVED._replace(payload=b"x" * 20), Change.NONE),
        (MOVED, MOVED._replace(digest=1), Change.MAJOR),
    ],
)
def test_the_change_from_a_version_to_the_next(before: Version, now: Version, change: Change) -> None:
    assert before.change_to(now) is change


@settings(max_examples=200)
@given(wild_effects())
def test_nothing_that_a_server_says_breaks_a_version(effects: Effects) -> None:
    texts = effects.texts().all()
    rows = np.flatnonzero(bring(effects.visits)).tolist()
    for i, raw in zip(rows, versions_of(effects), strict=True):
        version, visit = Version.read(raw), effects.visits[i]
        assert (version.etag, version.modified) == (texts[i]["etag"], texts[i]["last_modified"])
        assert version.payload == visit["payload"].tobytes()
        assert version.redirect == (visit["outcome"] == Outcome.REDIRECT)
        assert version.digest == (target_digest(texts[i]["redirect"]) if version.redirect else int(visit["digest"]))
        assert (version.sketch, version.numberless) == (int(visit["sketch"]), int(visit["numberless"]))
        assert version.warc_offset == (int(visit["warc_offset"]) if visit["warc_end"] else 0)
    for most in (0, 1, 3):
        assert versions_of(effects, most) == versions_of(effects)[len(rows) - min(most, len(rows)) :]


def test_only_fetched_pages_and_redirects_bring_a_version() -> None:
    visits = np.concatenate([small_effects(random.Random(1), 1, 0, outcome=o).visits for o in Outcome])
    brought = {Outcome(o) for o in visits["outcome"][bring(visits)]}
    assert brought == {Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.FORGOTTEN}
    for field, value in (("page", NONE), ("ask", Ask.PROBE), ("flags", VisitFlag.RESPELLED)):
        other = visits.copy()
        other[field] = value
        assert not bring(other).any(), field


def test_a_file_has_the_versions_from_its_first_on(tmp_path: Path) -> None:
    (tmp_path / "versions").mkdir()
    texts = [bytes(HEAD.itemsize) + b"%d" % i for i in range(1_000)]
    file = VersionFile.open(tmp_path, {}, 100, [], np.zeros(0, np.uint64))
    assert (file.name, file.first) == ("versions/000000000100.blocks", 100)
    file.append(texts[100:])
    assert file.read(np.array([99, 100, 999, 0])) == [b"", texts[100], texts[999], b""]
    lengths, offsets = {"urls/pages.blocks": 3, file.name: file.blocks.length}, file.blocks.offsets()
    assert name_in(lengths) == file.name
    file.blocks.close()
    for known in (offsets, offsets[:3], np.zeros(0, np.uint64)):
        again = VersionFile.open(tmp_path, lengths, 1_000, texts[-128:], known)
        assert again.read(np.arange(90, 1_000)) == [b""] * 10 + texts[100:]
        again.blocks.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 90), min_size=1, max_size=12), st.integers(0, 200), st.data())
def test_a_file_that_was_cut_is_filled_up_again(ticks: list[int], before: int, data: st.DataObject) -> None:
    """`before`: versions that an earlier version of the program numbered and did not keep."""
    texts = [bytes(HEAD.itemsize) + b"%d" % i for i in range(before + sum(ticks))]
    cut = data.draw(st.integers(0, len(ticks)))
    with tempfile.TemporaryDirectory() as folder:
        shard = Path(folder)
        (shard / "versions").mkdir()
        file = VersionFile.open(shard, {}, before, texts[max(0, before - 64) : before], np.zeros(0, np.uint64))
        end, lengths = before, {file.name: file.blocks.length}
        for number, size in enumerate(ticks):
            if number == cut:
                lengths = {file.name: file.blocks.length}
                committed = end
            file.append(texts[end : end + size])
            end += size
        if cut == len(ticks):
            lengths, committed = {file.name: file.blocks.length}, end
        file.blocks.truncate(lengths[file.name])
        file.blocks.close()
        last = texts[max(0, committed - 128) : committed]
        again = VersionFile.open(shard, lengths, committed, last, np.zeros(0, np.uint64))
        assert again.first + again.blocks.count == committed
        assert again.read(np.arange(before, committed)) == texts[before:committed]
        again.blocks.close()


def test_validators_are_the_neighbours_that_the_code_takes_them_for() -> None:
    effects = replace(small_effects(random.Random(2), 1, 0, outcome=Outcome.OK), visit_texts=b"")
    texts = {"etag": b'W/"1"', "last_modified": b"Wed, 18 Nov 2026 10:00:00 GMT", "redirect": b"r", "charset": b"c"}
    effects.visits["texts"][0] = [len(texts.get(name, b"")) for name in VISIT_TEXTS]
    effects.visit_texts = b"".join(texts.get(name, b"") for name in VISIT_TEXTS)
    found = Version.read(versions_of(effects)[0])
    assert (found.etag, found.modified) == (texts["etag"], texts["last_modified"])
