"""Journal, manifest and lock: what is read after a tear, what counts as damage, which process may write."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, LockedError, StorageError, UsageError
from gossamer.collection import layout, lock, manifest
from gossamer.collection.journal import journal, records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark
from tests.support.effects_samples import small_effects, wild_effects
from tests.support.timing import WITHIN


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return made(tmp_path)


def made(folder: Path) -> Path:
    shard = layout.shard_folder(folder)
    layout.make_folders(shard)
    manifest.Manifest.create(shard, manifest.Meta(layout.FORMAT, 0, 2**63 + 5, 1.5))
    return shard


def begun(shard: Path, ticks: int = 0) -> journal.Journal:
    opened = journal.begin(shard, 0, 1, Mark(0, 0))
    for tick in range(1, ticks + 1):
        opened.append(small_effects(random.Random(tick), tick, 0))
    return opened


@given(st.lists(wild_effects(), max_size=4))
@settings(max_examples=40, deadline=None)
def test_appended_effects_are_read_back(effects: list[Effects]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shard = made(Path(folder))
        opened = begun(shard)
        assert [opened.append(e) for e in effects] == list(range(1, len(effects) + 1))
        opened.commit(opened.snapshot({"warc/000000.warc.gz": 7}, []))
        opened.close()
        found = list(records.read(layout.journal_path(shard, 1)))
    assert [r.body for r in found if r.kind is Kind.EFFECTS] == [e.encode() for e in effects]
    assert [Effects.decode(r.body).encode() for r in found if r.kind is Kind.EFFECTS] == [e.encode() for e in effects]
    assert Mark.decode(found[-1].body).record == len(effects)
    assert Mark.decode(found[-1].body).lengths == {"warc/000000.warc.gz": 7}


def test_records_up_to_a_tear_at_any_byte_are_read(shard: Path) -> None:
    opened = begun(shard, 3)
    opened.close()
    path = layout.journal_path(shard, 1)
    whole = path.read_bytes()
    ends = [r.end for r in records.read(path)]
    assert len(ends) >= 3
    for length in range(records.HEAD.size, len(whole)):
        path.write_bytes(whole[:length])
        assert [r.end for r in records.read(path)] == [e for e in ends if e <= length]


def test_a_file_with_a_torn_header_has_no_records(shard: Path) -> None:
    opened = begun(shard, 1)
    snapshot = opened.snapshot({}, [], rotate=True)
    opened.append(small_effects(random.Random(1), 2, 0))
    opened.commit(snapshot)
    opened.close()
    path = layout.journal_path(shard, 2)
    whole = path.read_bytes()
    for length in range(records.HEAD.size):
        path.write_bytes(whole[:length])
        assert records.read_head(path) is None
        assert list(records.read(path)) == []
    path.write_bytes(bytes(records.HEAD.size) + whole[records.HEAD.size :])
    assert list(records.read(path)) == []


@pytest.mark.parametrize("place", [0, 20, records.HEAD.size, records.HEAD.size + 5, records.HEAD.size + 40, -200])
def test_damage_before_a_mark_that_covers_it_is_reported_with_file_and_offset(shard: Path, place: int) -> None:
    path = layout.journal_path(shard, 1)
    opened = begun(shard, 3)
    opened.commit(opened.snapshot({}, []))
    opened.close()
    raw = bytearray(path.read_bytes())
    raw[place] ^= 0x40
    path.write_bytes(raw)
    with pytest.raises(GossamerError, match=rf"{path} is damaged at byte \d+"):
        list(records.read(path))


def test_a_torn_record_that_no_mark_covers_is_no_damage(shard: Path) -> None:
    """The loop appended a record between the snapshot and the mark, and the power failed before the last sync."""
    path = layout.journal_path(shard, 1)
    opened = begun(shard, 2)
    snapshot = opened.snapshot({"urls/x.blocks": 3}, [])
    start = opened.bytes
    opened.append(small_effects(random.Random(9), 3, 0))
    end = opened.bytes
    opened.commit(snapshot)
    opened.close()
    raw = path.read_bytes()
    path.write_bytes(raw[:start] + bytes(end - start) + raw[end:])
    found = list(records.read(path))
    assert [r.kind for r in found] == [Kind.MARK, Kind.EFFECTS, Kind.EFFECTS, Kind.MARK]
    assert Mark.decode(found[-1].body) == Mark(2, 2, {"urls/x.blocks": 3})


def test_a_lost_record_is_damage_although_the_next_one_takes_its_number(shard: Path) -> None:
    """The loop appended a fourth record between the snapshot of three and their mark. If one of the three is lost,
    there are still three records before the mark."""
    path = layout.journal_path(shard, 1)
    opened = begun(shard, 3)
    snapshot = opened.snapshot({}, [])
    opened.append(small_effects(random.Random(4), 4, 0))
    opened.commit(snapshot)
    opened.close()
    raw, ends = path.read_bytes(), [r.end for r in records.read(path)]
    for number, (start, end) in enumerate(pairwise(ends[:-1]), 1):
        path.write_bytes(raw[:start] + raw[end:])
        if number < 4:
            with pytest.raises(GossamerError, match="is damaged at byte"):
                list(records.read(path))
            assert records.sound_until(path) == ends[0], "nothing behind the mark with which the file begins"
        else:
            assert [r.number for r in records.read(path)] == [0, 1, 2, 3, 3], "it was never committed"
            assert records.sound_until(path) is None


def test_a_page_cannot_forge_a_mark(shard: Path) -> None:
    """A text with the bytes of a mark (made without the salt) in a torn record is not accepted as a mark."""
    opened = begun(shard)
    forged = records.encode(Kind.MARK, Mark(1, 1, {"../../precious": 0}).encode(), 0)
    effects = Effects(1, 1.0, 1.0, visit_texts=b"x" * 40 + forged)
    opened.append(effects)
    opened.close()
    path = layout.journal_path(shard, 1)
    raw = bytearray(path.read_bytes())
    raw[-len(forged) - 10] ^= 1
    path.write_bytes(raw)
    assert [r.kind for r in records.read(path)] == [Kind.MARK]


def test_a_rotated_file_ends_with_the_mark_that_covers_it_while_the_loop_appends(shard: Path) -> None:
    opened = begun(shard, 3)
    snapshot = opened.snapshot({"urls/x.blocks": 5}, [], rotate=True)
    opened.append(small_effects(random.Random(4), 4, 0))
    assert snapshot.closed == 1
    opened.commit(snapshot)
    opened.commit(opened.snapshot({"urls/x.blocks": 6}, []))
    opened.close()
    first = list(records.read(layout.journal_path(shard, 1)))
    second = list(records.read(layout.journal_path(shard, 2)))
    assert Mark.decode(first[-1].body) == Mark(3, 3, {"urls/x.blocks": 5})
    assert [(r.kind, r.number) for r in second] == [(Kind.EFFECTS, 4), (Kind.MARK, 4)]


def test_commits_out_of_order_and_rotations_without_a_commit_are_refused(shard: Path) -> None:
    opened = begun(shard, 1)
    opened.snapshot({}, [], rotate=True)
    with pytest.raises(GossamerError, match="rotated again"):
        opened.snapshot({}, [], rotate=True)
    opened.append(small_effects(random.Random(1), 2, 0))
    with pytest.raises(GossamerError, match="order"):
        opened.commit(opened.snapshot({}, []))
    opened.close()


def test_behind_counts_what_no_commit_covers(shard: Path) -> None:
    opened = begun(shard)
    assert (opened.behind_bytes, opened.behind_since) == (0, None)
    opened.append(small_effects(random.Random(1), 7, 0))
    snapshot = opened.snapshot({}, [])
    before = opened.bytes
    opened.append(small_effects(random.Random(2), 8, 0))
    size = opened.bytes - before
    assert opened.behind_since == 7.0
    opened.commit(snapshot)
    assert (opened.behind_bytes, opened.behind_since) == (size, 8.0)
    assert opened.visits == 2
    opened.close()


def test_appends_during_commits_in_a_thread_lose_nothing(shard: Path) -> None:
    opened = begun(shard)
    stop = threading.Event()
    closed: list[int] = []

    def commit() -> None:
        while not stop.is_set():
            with guard:
                snapshot = opened.snapshot({}, [], rotate=opened.visits > 40)
            opened.commit(snapshot)
            if snapshot.closed:
                closed.append(snapshot.closed)

    guard = threading.Lock()
    thread = threading.Thread(target=commit)
    thread.start()
    for tick in range(1, 401):
        with guard:  # in a crawl, the loop makes both calls
            opened.append(small_effects(random.Random(tick), tick, 0))
    stop.set()
    thread.join()
    opened.commit(opened.snapshot({}, []))
    opened.close()
    found = [r for p in layout.journal_files(shard).values() for r in records.read(p) if r.kind is Kind.EFFECTS]
    assert [r.number for r in found] == list(range(1, 401))
    for number in closed:
        of_file = list(records.read(layout.journal_path(shard, number)))
        assert Mark.decode(of_file[-1].body).record == of_file[-1].number


def test_a_journal_of_a_newer_format_is_refused(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FORMAT", records.FORMAT + 1)
    begun(shard).close()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="format 2"):
        records.read_head(layout.journal_path(shard, 1))


def test_a_changed_byte_of_the_header_is_not_a_newer_format(shard: Path) -> None:
    begun(shard).close()
    path = layout.journal_path(shard, 1)
    raw = bytearray(path.read_bytes())
    raw[4] = records.FORMAT + 1
    path.write_bytes(raw)
    assert records.read_head(path) is None
    with pytest.raises(GossamerError, match="is damaged at byte 0"):
        list(records.read(path))


# --- manifest ------------------------------------------------------------------------------------------------


def segment(number: int) -> manifest.Line:
    return {"segment": number, "files": {"pages/ü": {"rows": 1}}, "lengths": {}}


def test_a_manifest_is_read_as_it_was_written(shard: Path) -> None:
    opened = manifest.Manifest.open(shard)
    opened.append(segment(1))
    opened.append({"image": "image/000000000005", "tick": 5})
    opened.append(segment(2))
    opened.close()
    found = manifest.read(shard)
    assert found.meta == manifest.Meta(layout.FORMAT, 0, 2**63 + 5, 1.5)
    assert found.segments == {1: segment(1), 2: segment(2)}
    assert found.image == {"image": "image/000000000005", "tick": 5}


def test_a_torn_last_line_is_ignored_and_cut_at_the_next_opening(shard: Path) -> None:
    path = shard / layout.MANIFEST
    opened = manifest.Manifest.open(shard)
    opened.append(segment(1))
    first = path.stat().st_size
    opened.append(segment(2))
    opened.close()
    whole = path.read_bytes()
    assert len(whole) > first
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        assert set(manifest.read(shard).segments) == {1}
        assert path.stat().st_size == length
        again = manifest.Manifest.open(shard)
        assert path.stat().st_size == first
        again.append(segment(3))
        again.close()
        assert set(manifest.read(shard).segments) == {1, 3}


def test_a_damaged_line_in_the_middle_is_reported(shard: Path) -> None:
    opened = manifest.Manifest.open(shard)
    opened.append(segment(1))
    opened.append(segment(2))
    opened.close()
    path = shard / layout.MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"1", b"4", 1) + lines[2])
    with pytest.raises(GossamerError, match="damaged in line 2"):
        manifest.read(shard)
    path.write_bytes(lines[0].replace(b"1.5", b"2.5") + lines[1])
    with pytest.raises(GossamerError, match="damaged in line 1"):
        manifest.read(shard)


def test_a_newer_format_and_a_folder_that_is_no_collection_are_usage_errors(tmp_path: Path, shard: Path) -> None:
    path = shard / layout.MANIFEST
    line = manifest.Meta(layout.FORMAT + 1, 0, 1, 1.0).line()
    path.write_bytes(manifest.encode(line)[:-10] + b'and more"}\n')
    with pytest.raises(UsageError, match=f"format {layout.FORMAT + 1}"):
        manifest.read(shard)
    for content in (b"", b"{}\n", b"[1]\n", b"hello\n"):
        path.write_bytes(content)
        with pytest.raises(GossamerError, match="damaged in line 1") as raised:
            manifest.read(shard)
        assert raised.value.exit_code == 1, "the file is there, so it was a collection"
    path.unlink()
    with pytest.raises(UsageError, match="not a collection"):
        manifest.read(shard)
    with pytest.raises(UsageError, match="not a collection"):
        layout.require_collection(tmp_path)


# --- lock ----------------------------------------------------------------------------------------------------

_HOLD = """
import sys; from pathlib import Path; from gossamer.collection import lock
held = lock.take(Path(sys.argv[1])); print("held", flush=True); sys.stdin.read()
"""
_ORPHAN = """
import subprocess, sys; from pathlib import Path; from gossamer.collection import lock
held = lock.take(Path(sys.argv[1]))
worker = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], pass_fds=[held.fileno()])
print("held", flush=True)
"""


def test_a_second_holder_is_told_who_the_first_is(shard: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(shard)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(LockedError, match=f"process {first.pid}, since 2") as caught:
            lock.take(shard)
        assert "gossamer stop" in caught.value.cure
        found = lock.holder(shard)
        assert found is not None
        before = found.alive
        assert first.stdin is not None
        first.stdin.close()
        first.wait()
        assert (before, found.alive) == (True, False)
    lock.take(shard).release()


def test_a_start_waits_for_orphaned_workers(shard: Path) -> None:
    command = [sys.executable, "-c", _ORPHAN, str(shard)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as desk:
        assert desk.stdout is not None
        assert desk.stdin is not None
        desk.stdout.readline()
        desk.wait()
        with pytest.raises(LockedError, match="workers still run"):
            lock.take(shard, orphans=0.2)
        ending = threading.Timer(0.2, desk.stdin.close)
        ending.start()
        lock.take(shard, orphans=WITHIN).release()
        ending.join()


def test_a_lock_file_without_a_holder_still_locks(shard: Path) -> None:
    held = lock.take(shard)
    (shard / lock.LOCK).write_bytes(b"")
    assert lock.holder(shard) is None
    with pytest.raises(LockedError, match="another process"):
        lock.take(shard, orphans=0)
    held.release()


def test_a_folder_that_is_not_writable_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        lock.take(tmp_path / "missing")
