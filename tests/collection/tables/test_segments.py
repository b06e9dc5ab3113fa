"""Segments: the public tables contain enough to restore the exact effects, whatever these contain."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, Outcome, Reason, State, Texts
from gossamer.collection import layout, manifest, sealing
from gossamer.collection.journal import journal
from gossamer.collection.journal.effects import SITE_EVENT, VERDICT, Effects, SiteEvent
from gossamer.collection.journal.records import Mark
from gossamer.collection.tables import seal, segments
from tests.support.effects_samples import small_effects, wild_effects


@given(st.lists(wild_effects(), min_size=1, max_size=4), st.integers(0, 2000))
@settings(max_examples=100, deadline=None)
def test_lossless(effects: list[Effects], shard: int) -> None:
    again = list(segments.effects(segments.tables(effects, shard).get, shard))
    assert [e.encode() for e in again] == [e.essential().encode() for e in effects]


def sealed(folder: Path, effects: list[Effects], shard_number: int = 3) -> tuple[Path, manifest.Line]:
    shard = layout.shard_folder(folder, shard_number)
    layout.make_folders(shard)
    manifest.Manifest.create(shard, manifest.Meta(layout.FORMAT, shard_number, 1, 1.0))
    opened = journal.begin(shard, shard_number, 1, Mark(0, 0))
    for e in effects:
        opened.append(e)
    opened.commit(opened.snapshot({"warc/000001.warc.gz": 99}, [], rotate=True))
    opened.close()
    return shard, seal.seal(shard, 1)


def readable() -> list[Effects]:
    """A tick in which everything happens once, with realistic values."""
    first = small_effects(random.Random(1), 1, 0, site=0, outcome=int(Outcome.OK), status=200, time=1_700_000_000.25)
    first.sites = Texts.join([b"site.example"], "<u2")
    robots = np.zeros(1, VISIT)
    robots["page"] = robots["duplicate_of"] = NONE
    robots["ask"], robots["outcome"], robots["retry_after"] = Ask.ROBOTS, Outcome.TIMED_OUT, -1
    robots["delay"] = 2.5
    robots["texts"][0, VISIT_TEXTS.index("rules")] = 3
    visits = np.concatenate([first.visits, robots])
    visits["first"], visits["start"], visits["end"], visits["received"] = 0.5, 10.0, 12.5, 4000
    visits["warc_file"][0], visits["warc_end"][0] = 1, 99
    visits["counted"][0, 2] = 7
    first.visits, first.visit_texts = visits, first.visit_texts + b"\x00\xff\x01"
    verdicts = np.zeros(1, VERDICT)
    verdicts["state"], verdicts["reason"] = State.EXCLUDED, Reason.ROBOTS
    event = np.zeros(1, SITE_EVENT)
    event["event"], event["time"], event["until"] = SiteEvent.RESOLVED, 1.5, 2.5
    event["address"][0] = list(b"\0" * 10 + b"\xff\xff" + bytes([192, 0, 2, 7]))
    first.verdicts, first.site_events = verdicts, event
    return [first, small_effects(random.Random(2), 2, len(first.pages), retry_after=-1, delay=-1)]


def test_tables_contain_words_timestamps_and_nulls(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    shard, line = sealed(tmp_path, readable())

    def rows(query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = duckdb.sql(query.replace("@", f"{shard}/")).fetchall()
        return found

    page = 3 << 40
    assert rows(
        "select page, ask, outcome, status, duplicate_of, latency, speed, warc_file, counted_video, "
        "rules is null, title, epoch(time), retry_after, delay, tick from '@visits/*.parquet'"
    ) == [
        (
            page,
            "page",
            "ok",
            200,
            None,
            0.5,
            2000.0,
            "warc/000001.warc.gz",
            7,
            True,
            "Page of tick 1",
            1_700_000_000.25,
            0.0,
            0.0,
            1,
        ),
        (None, "robots", "timed_out", None, None, 0.5, 2000.0, None, 0, False, None, 0.0, None, 2.5, 1),
        (page, "page", "ok", None, None, 0.0, None, None, 0, True, "Page of tick 2", 0.0, None, None, 2),
    ]
    assert rows(
        "select count(distinct url), min(page), min(fingerprint) > 0, any_value(state) from '@pages/*.parquet'"
    ) == [(sum(len(e.pages) for e in readable()), page, True, "pending")]
    assert rows("select source, target, kind, flags from '@links/*.parquet' limit 2") == [
        (page, page, "anchor", 0),
        (page, page, "frame", 1),
    ]
    assert rows("select site, name, tick, visits, ok, errors, bytes from '@sites/*.parquet'") == [
        (0, "site.example", 1, 2, 2, 0, 8000)
    ]
    assert rows("select event, address, epoch(until) from '@events/*.parquet'") == [("resolved", "192.0.2.7", 2.5)]
    assert rows("select page, state, reason from '@verdicts/*.parquet'") == [(page, "excluded", "robots")]
    assert all(
        n == 0
        for (n,) in rows(
            "select count(exact) from '@visits/*.parquet' union all select count(exact) from '@pages/*.parquet'"
        )
    )
    assert line["lengths"] == {"warc/000001.warc.gz": 99}


def test_a_segment_ends_at_the_last_mark_of_its_journal_file(tmp_path: Path) -> None:
    shard, _ = sealed(tmp_path, [])
    opened = journal.begin(shard, 3, 5, Mark(7, 40))
    effects = [small_effects(random.Random(t), t, 0) for t in range(41, 45)]
    for e in effects[:3]:
        opened.append(e)
    opened.commit(opened.snapshot({"urls/a.blocks": 5}, []))
    opened.commit(opened.snapshot({"warc/000000.warc.gz": 6}, []))
    opened.append(effects[3])
    opened.close()
    line = seal.seal(shard, 5)
    assert [e.encode() for e in seal.effects_of(line, shard, 3)] == [e.encode() for e in effects[:3]]
    assert {k: line[k] for k in ("segment", "first_record", "last_record", "first_tick", "last_tick", "lengths")} == {
        "segment": 5,
        "first_record": 8,
        "last_record": 10,
        "first_tick": 41,
        "last_tick": 43,
        "lengths": {"urls/a.blocks": 5, "warc/000000.warc.gz": 6},
    }


def test_a_journal_without_records_is_a_segment_without_files(tmp_path: Path) -> None:
    shard, line = sealed(tmp_path, [])
    assert line["files"] == {}
    assert (line["first_record"], line["last_record"]) == (1, 0)
    assert list(seal.effects_of(line, shard, 3)) == []


def test_the_process_prints_the_line_and_the_desk_removes_the_journal_file(tmp_path: Path) -> None:
    effects = readable()
    shard, line = sealed(tmp_path, effects)
    command = [sys.executable, "-m", "gossamer.collection.tables.seal", str(shard), "1"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert printed == line
    opened = manifest.Manifest.open(shard)
    sealing.finish(shard, opened, printed)
    opened.close()
    assert 1 not in layout.journal_files(shard)
    assert manifest.read(shard).segments[1] == line
    for path, said in line["files"].items():
        assert (pq.read_metadata(shard / path).num_rows, (shard / path).stat().st_size) == (said["rows"], said["bytes"])
    assert not list(shard.glob("*/*.tmp"))


def test_the_process_fails_with_the_exit_code_and_message_of_the_error(tmp_path: Path) -> None:
    shard, _ = sealed(tmp_path, [])
    command = [sys.executable, "-m", "gossamer.collection.tables.seal", str(shard), "77"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == StorageError.exit_code
    assert "000000000077.log" in done.stderr


def test_a_damaged_segment_is_reported(tmp_path: Path) -> None:
    shard, line = sealed(tmp_path, readable())
    path = shard / "visits/000000000001.parquet"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(GossamerError, match=f"{path} is damaged"):
        list(seal.effects_of(line, shard, 3))


def test_a_wrong_number_of_links_is_refused() -> None:
    effects = small_effects(random.Random(1), 9, 0)
    effects.link_targets = effects.link_targets[:1]
    with pytest.raises(GossamerError, match="tick 9"):
        segments.tables([effects], 0)


def test_mentions_are_a_table_of_their_own_in_the_order_of_sites() -> None:
    lines = [b"image\tpng\tx.example\t2\nh1\tOne\t\t2\nexternal\there\thttps://b.example/\t1\n", b"h1\t\t\t0\n"]
    some = []
    for tick, seen in enumerate(lines, 1):
        e = small_effects(random.Random(tick), tick, 3 * tick, page=tick, site=5 - tick)
        e.visits["seen"], e.seen = len(seen), seen
        some.append(e)
    made = segments.tables(some, 0)
    assert made["mentions"].to_pylist() == [
        {"page": 2, "kind": "h1", "url": None, "text": None, "number": 0, "tick": 2},
        {"page": 1, "kind": "h1", "url": None, "text": "One", "number": 2, "tick": 1},
        {"page": 1, "kind": "external", "url": "https://b.example/", "text": "here", "number": 1, "tick": 1},
    ]
    assert made["counts"].to_pylist() == [
        {"site": 4, "class": "image", "extension": "png", "domain": "x.example", "number": 2}
    ]
