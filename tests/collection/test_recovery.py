"""Recovery of a collection's files from everything that a power cut may leave.

`Writer` does to the files what a crawl does (ticks, commits while the loop runs, archives, URL blocks, rotations,
seals, images, stops and kills), and remembers every commit. The tests cut its recorded operations off after each one.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError, UsageError
from gossamer.collection import image, layout, lock, manifest, sealing
from gossamer.collection.blocks import BlockFile
from gossamer.collection.journal.effects import Effects
from gossamer.collection.recovery import Recovered, cut, recover
from gossamer.collection.tables import seal
from tests.support.effects_samples import small_effects
from tests.support.powercut import Disk, Loss, Operation, read_recordings
from tests.support.timing import COMMAND

URLS = "urls/pages.blocks"
NEVER = 1 << 62
AHEAD = gzip.compress(b"written ahead by a worker")


@dataclass(frozen=True, slots=True)
class Commit:
    """A state that recovery may find: the committed effects, and the lengths of the files."""

    effects: tuple[bytes, ...]
    lengths: dict[str, int]
    done: int = 0
    """Monotonic time at which the commit returned."""


@dataclass(slots=True)
class Writer:
    root: Path
    seed: int = 1
    commits: list[Commit] = field(default_factory=lambda: [Commit((), {})])
    archives: dict[str, bytes] = field(default_factory=dict)
    """Everything ever written to each archive file."""

    def __post_init__(self) -> None:
        self.shard = layout.shard_folder(self.root)

    shard: Path = field(init=False)

    def create(self) -> None:
        layout.make_folders(self.shard)
        manifest.Manifest.create(self.shard, manifest.Meta(layout.FORMAT, 0, 1, 1.0))

    def begun(self, effects: tuple[bytes, ...], lengths: dict[str, int]) -> None:
        self.commits.append(Commit(effects, dict(lengths), NEVER))

    def returned(self) -> None:
        last = self.commits[-1]
        self.commits[-1] = Commit(last.effects, last.lengths, time.monotonic_ns())

    def run(self, ticks: int, clean: bool) -> None:
        """One start, some ticks, and an end: a clean stop, or a kill between a snapshot and its commit."""
        rng = random.Random(self.seed * 1000 + len(self.commits))
        held = lock.take(self.shard)
        found = recover(self.shard)
        learned = [small_effects(rng, found.mark.tick + 1, 10**6)] if found.patience else []
        self.begun((*self.commits[-1].effects, *(e.encode() for e in learned)), found.mark.lengths)
        journal = cut(found, learned)
        self.returned()
        effects = list(self.commits[-1].effects)
        lines = manifest.Manifest.open(self.shard)
        urls = BlockFile(self.shard / URLS)
        pages = replay_urls(urls, effects)
        name = layout.archive_name(found.next_archive)
        archive = disk.Appender(self.shard / name)
        lengths = dict(found.mark.lengths)
        unsealed = found.unsealed
        self.archives[name] = b""
        for tick in range(found.mark.tick + 1 + len(learned), found.mark.tick + 1 + ticks):
            body = gzip.compress(b"<%d %d>" % (tick, rng.random() * 1e9) * rng.randint(1, 9))
            archive.append(body)
            self.archives[name] += body
            one = small_effects(rng, tick, pages, warc_end=archive.length)
            journal.append(one)
            effects.append(one.encode())
            pages += len(one.pages)
            urls.append(one.urls.split())
            if tick % 3 == 0:
                lengths |= {name: archive.length, URLS: urls.length}
                snapshot = journal.snapshot(
                    {name: archive.length, URLS: urls.length}, [archive.sync, urls.appender.sync], rotate=tick % 4 == 0
                )
                self.begun(tuple(effects), lengths)
                archive.append(AHEAD)
                self.archives[name] += AHEAD
                late = small_effects(rng, tick, pages)
                journal.append(late)
                effects.append(late.encode())
                pages += len(late.pages)
                urls.append(late.urls.split())
                journal.commit(snapshot)
                self.returned()
                if snapshot.closed is not None:
                    unsealed.append(snapshot.closed)
            if unsealed and tick % 5 == 0:
                sealing.finish(self.shard, lines, seal.seal(self.shard, unsealed.pop(0)))
        if clean:
            lengths |= {name: archive.length, URLS: urls.length}
            snapshot = journal.snapshot(lengths, [archive.sync, urls.appender.sync], rotate=True)
            self.begun(tuple(effects), lengths)
            journal.commit(snapshot)
            self.returned()
            arrays = {"ticks": np.array([Effects.decode(e).tick for e in effects]), "none": np.zeros(0, "<u4")}
            line = image.write(self.shard, journal.tick, journal.last, arrays, {"pages": pages})
            image.finish(self.shard, lines, line)
        for opened in (archive, urls, lines, journal):
            opened.close()
        held.release()


def replay_urls(urls: BlockFile, effects: list[bytes]) -> int:
    pages = 0
    for raw in effects:
        texts = Effects.decode(raw).urls.split()
        urls.put(pages, texts)
        pages += len(texts)
    return pages


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Writer, list[Operation]]:
    """Four runs, two of them killed, and all their operations."""
    root, tape = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("tape")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOSSAMER_RECORD", str(tape))
        writer = Writer(root)
        writer.create()
        for ticks, clean in ((9, False), (7, True), (8, False), (4, True)):
            writer.run(ticks, clean)
    return writer, read_recordings(tape, root)


def possible(writer: Writer, end: int) -> list[Commit]:
    """The commits that recovery may find after a power cut at `end`: the last one that had returned, or one that was
    running."""
    returned = max(i for i, c in enumerate(writer.commits) if c.done <= end)
    return writer.commits[returned:]


def state_of(found: Recovered, writer: Writer) -> Commit:
    """The state that recovery found, including the image, which must be correct."""
    effects = [e.encode() for e in found.effects()]
    if found.image is not None:
        all_of_them = max((c.effects for c in writer.commits), key=len)
        before = next(c.effects for c in writer.commits if len(c.effects) == found.image.record)
        assert found.image.array("ticks").tolist() == [Effects.decode(e).tick for e in before]
        assert len(found.image.array("none")) == 0
        effects = [*all_of_them[: found.image.record], *effects]
    return Commit(tuple(effects), found.mark.lengths)


def check(folder: Path, writer: Writer, end: int) -> Commit:
    """Recovers the folder, cuts it, and compares it with the writer's commits. Returns the commit found."""
    shard = layout.shard_folder(folder)
    found = recover(shard)
    assert found.warnings == []
    state = state_of(found, writer)
    assert any((c.effects, c.lengths) == (state.effects, state.lengths) for c in possible(writer, end))
    journal = cut(found)
    for name, length in state.lengths.items():
        assert (shard / name).stat().st_size == length
        if name in writer.archives:
            assert (shard / name).read_bytes() == writer.archives[name][:length]
    left = {p.relative_to(shard).as_posix() for p in [*shard.glob("warc/*"), *shard.glob("urls/*")]}
    assert left == set(state.lengths)
    assert not list(folder.rglob("*.tmp"))
    if URLS in state.lengths:
        urls = BlockFile(shard / URLS)
        count = replay_urls(urls, list(state.effects))
        expected = [u for e in state.effects for u in Effects.decode(e).urls.split()]
        assert urls.read_many(range(count)) == expected
        urls.close()
    assert journal.last == len(state.effects)
    journal.close()
    return state


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder in memory if possible: thousands of small files are created and removed."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs do nothing: the power stays on while a test checks what a cut left."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)


@pytest.mark.slow
@pytest.mark.usefixtures("no_syncs")
@pytest.mark.parametrize("loss", list(Loss), ids=lambda loss: loss.name.lower())
def test_after_a_power_cut_at_any_operation_everything_committed_is_there_and_nothing_half(
    recorded: tuple[Writer, list[Operation]], scratch: Path, loss: Loss
) -> None:
    writer, operations = recorded
    model = Disk()
    found: set[int] = set()
    refused = 0
    for number, operation in enumerate(operations):
        model.apply(operation)
        folder = scratch / "cut"
        model.leave(folder, loss, random.Random(number))
        if layout.is_collection(folder):
            found.add(len(check(folder, writer, operation.end).effects))
        else:
            refused += 1
            with pytest.raises(UsageError):
                recover(layout.shard_folder(folder))
        shutil.rmtree(folder)
    assert refused < 60  # only until the collection exists
    assert len(found) > 7


@pytest.mark.usefixtures("no_syncs")
def test_idempotent(recorded: tuple[Writer, list[Operation]], scratch: Path) -> None:
    """A power cut at any operation of a recovery from a power cut changes nothing; neither does a second one."""
    writer, operations = recorded
    model = Disk()
    rng, cuts = random.Random(7), 0
    for number, operation in enumerate(operations):
        model.apply(operation)
        if number < 60 or rng.random() > 0.07:
            continue
        before = scratch / "before"
        model.leave(before, Loss.MIXED, random.Random(number))
        again = recording(before, scratch / "tape", lambda folder: cut(recover(layout.shard_folder(folder))).close())
        expected = state_of(recover(layout.shard_folder(before)), writer)
        second = Disk(again.found)
        for inner in again.operations:
            second.apply(inner)
            for loss in (Loss.DROPPED, Loss.KEPT, Loss.MIXED):
                second.leave(scratch / "after", loss, random.Random(number))
                after = check(scratch / "after", writer, operation.end)
                assert (after.effects, after.lengths) == (expected.effects, expected.lengths)
                shutil.rmtree(scratch / "after")
            cuts += 1
        for path in (before, again.found, scratch / "tape"):
            shutil.rmtree(path)
    assert cuts


@dataclass(frozen=True, slots=True)
class Taped:
    found: Path
    """The folder before the operations."""
    operations: list[Operation]


def recording(folder: Path, tape: Path, deed: Callable[[Path], None]) -> Taped:
    found = folder.with_name("found")
    shutil.copytree(folder, found)
    tape.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOSSAMER_RECORD", str(tape))
        deed(folder)
    return Taped(found, read_recordings(tape, folder))


# --- single cases --------------------------------------------------------------------------------------------


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = Writer(tmp_path / "crawl", seed=3)
    made.create()
    return made


def test_a_new_collection_is_recovered_as_empty(writer: Writer) -> None:
    found = recover(writer.shard)
    assert (found.mark.record, found.mark.tick, found.next_archive, found.image) == (0, 0, 0, None)
    assert (list(found.effects()), found.patience, found.unsealed, found.warnings) == ([], [], [], [])
    cut(found).close()
    assert list(layout.journal_files(writer.shard)) == [1]


def test_after_a_clean_stop_only_the_image_is_read(writer: Writer) -> None:
    writer.run(9, clean=True)
    found = recover(writer.shard)
    assert found.image is not None
    assert found.image.record == found.mark.record
    assert list(found.effects()) == []
    assert found.patience == []


def test_a_clean_start_does_not_import_pyarrow() -> None:
    """It takes a third of a second, and tens of megabytes of the desk's memory."""
    imports = "import gossamer.crawler.run, sys; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, timeout=COMMAND)
    assert done.stdout.strip() == "False", done.stderr


def test_records_after_the_mark_are_returned_for_patience_once(writer: Writer) -> None:
    writer.run(8, clean=False)
    found = recover(writer.shard)
    committed = len(writer.commits[-1].effects)
    assert found.mark.record == committed
    assert [e.tick for e in found.patience] == [6, 7, 8]
    learned = small_effects(random.Random(5), found.mark.tick + 1, 10**6)
    cut(found, [learned]).close()
    again = recover(writer.shard)
    assert again.patience == []
    assert [e.encode() for e in again.effects()] == [*writer.commits[-1].effects, learned.encode()]


def test_a_damaged_or_missing_image_is_ignored_with_a_warning(writer: Writer) -> None:
    writer.run(9, clean=True)
    folder = next((writer.shard / "image").iterdir())
    for name in ("ticks", "meta.json"):
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
        found = recover(writer.shard)
        assert found.image is None
        assert str(folder / name) in found.warnings[0]
        assert [e.encode() for e in found.effects()] == list(writer.commits[-1].effects)
        (folder / name).write_bytes(raw)
    (folder / "ticks").unlink()
    assert recover(writer.shard).image is None
    shutil.rmtree(folder)
    assert recover(writer.shard).image is None


def test_an_image_is_read_into_arrays_with_room_to_spare(writer: Writer) -> None:
    kind = np.dtype([("a", "<u4"), ("b", "u1", (3,))])
    records = np.zeros(5, kind)
    records["b"] = np.arange(15).reshape(5, 3)
    arrays = {"numbers": np.arange(3_000_000, dtype=np.uint64), "records": records, "none": np.zeros(0)}
    line = image.write(writer.shard, 7, 9, arrays, {"policy": "opic"})
    found = image.read(writer.shard, line)
    assert (found.tick, found.record, found.meta) == (7, 9, {"policy": "opic"})
    room = np.full(3_000_010, 5, np.uint64)
    assert found.into("numbers", room) == 3_000_000
    assert np.array_equal(room, [*range(3_000_000), *[5] * 10])
    assert found.array("records").tobytes() == records.tobytes()
    assert len(found.array("none")) == 0
    for wrong in (np.zeros(10, np.uint64), np.zeros(3_000_000, np.int64)):
        with pytest.raises(GossamerError, match="there is room for"):
            found.into("numbers", wrong)


def test_only_the_newest_image_stays(writer: Writer) -> None:
    for _ in range(3):
        writer.run(3, clean=True)
    assert [p.name for p in (writer.shard / "image").iterdir()] == [f"{recover(writer.shard).mark.tick:012d}"]


def test_a_lost_journal_file_is_damage(writer: Writer) -> None:
    writer.run(8, clean=False)
    writer.run(2, clean=False)
    layout.journal_path(writer.shard, 1).unlink()
    with pytest.raises(GossamerError, match=r"records 1 to \d+ of the journal are missing"):
        recover(writer.shard)


def test_a_committed_file_that_is_too_short_or_missing_is_reported(writer: Writer) -> None:
    writer.run(9, clean=True)
    archive = writer.shard / layout.archive_name(0)
    raw = archive.read_bytes()
    archive.unlink()
    found = recover(writer.shard)
    cut(found).close()
    assert any("000000.warc.gz is missing" in w for w in found.warnings)
    archive.write_bytes(raw[:-1])
    found = recover(writer.shard)
    cut(found).close()
    assert any("were committed" in w for w in found.warnings)
    assert archive.read_bytes() == raw[:-1]
    archive.write_bytes(raw)
    (writer.shard / URLS).unlink()
    with pytest.raises(StorageError, match="is missing"):
        cut(recover(writer.shard))


def test_sealed_segments_are_never_changed(writer: Writer) -> None:
    writer.run(16, clean=False)
    tables = {p: (p.read_bytes(), p.stat().st_ino) for p in writer.shard.glob("*/*.parquet")}
    assert tables
    writer.run(8, clean=True)
    assert {p: (p.read_bytes(), p.stat().st_ino) for p in tables} == tables
