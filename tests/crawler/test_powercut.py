"""Power cuts of a real crawl: desk, workers and sealers record what they write, and every prefix of it is recovered.

The crawl has three runs: the first is killed, the second continues to the end, and the third finds nothing to do. All
their operations, merged by the monotonic clock, are cut off after each one. What was not synced is kept, dropped, torn
or mixed: dropped and mixed after a sync or a change of names, otherwise one of the four in turn. Of the two thousand
writes of images, to which nothing refers before they are complete, only one in twenty is a place of a cut. All ways at
all prefixes would take minutes; `test_recovery_files` does that, for files written in the same way.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import xxhash

from gossamer.base.clock import VirtualClock
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import RECORD, Kind, Mark
from gossamer.collection.layout import archive_name, is_collection, shard_folder
from gossamer.collection.manifest import Line
from gossamer.collection.tables import seal
from gossamer.config import Settings
from gossamer.crawler.apply import apply
from gossamer.crawler.open import open_collection
from gossamer.crawler.parts import new_desk
from gossamer.crawler.start import CrawlRequest, prepare
from gossamer.desk.desk import Desk
from gossamer.manager.pages import Pages
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import Served, gossamer, serve
from tests.support.powercut import Disk, Loss, Operation, digest_of, read_recordings, write
from tests.support.reading import Found, committed

pytestmark = pytest.mark.slow

WEB: Final = DemoWeb(
    seed=31, sites=6, pages=90, largest=30, errors=0, busy=0, delays=0, slow=0, unavailable=1, shared=1
)
CHANGES: Final = (
    "collection.max_pages=2000",
    "collection.max_sites=50",
    "collection.seal_every=1s",
    "harvester.wait=60ms",
)
OF_IMAGES: Final = 20
"""One in this many writes of images is the place of a cut."""
AGAIN: Final = 5
"""One in this many disks is recovered twice."""


@dataclass(frozen=True, slots=True)
class Tape:
    """A finished crawl, and the operations that made it."""

    operations: list[Operation]
    settings: Settings
    effects: list[bytes]
    """All committed effects, by record."""
    urls: list[bytes]
    pages: list[int]
    """Number of known pages after each number of records."""
    states: list[bytes]
    """State and outcome of every page after each number of records."""
    lengths: list[dict[str, int]]
    """Ends of the archive files, by the visits of each number of records."""
    archives: dict[str, bytes]
    ends: set[tuple[str, int]]
    """File and offset after each response record."""
    promised: list[int]
    """The last record that a commit guarantees, after each operation."""


def crawl(served: Served, folder: Path, tape: Path) -> None:
    with served.begin(folder, GOSSAMER_RECORD=str(tape)) as crawling:
        assert crawling.wait_for(lambda: list(folder.glob("shard-000/visits/*.parquet")))
        time.sleep(0.3)
        assert not crawling.over
        crawling.kill()
    assert served.crawl(folder, GOSSAMER_RECORD=str(tape)).code == 0
    assert gossamer("crawl", folder, "--patience", "1s", GOSSAMER_RECORD=str(tape)).code == 0


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    root, recorded = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("tape")
    folder = root / "crawl"
    with serve(WEB, tmp_path_factory.mktemp("web"), *CHANGES) as served:
        crawl(served, folder, recorded)
    operations = read_recordings(recorded, root)
    assert len({o.process for o in operations}) > 8, "desks, workers and sealers"
    found = Found(folder)
    desk = new_desk(found.settings, found.desk.seed)
    pages, states, lengths = [0], [b""], [dict[str, int]()]
    for effects in found.effects:
        apply(desk, effects)
        pages.append(desk.columns.page.count)
        states.append(state_of(desk))
        ends = {archive_name(int(v["warc_file"])): int(v["warc_end"]) for v in effects.visits if v["warc_end"]}
        lengths.append(lengths[-1] | ends)
    shard = shard_folder(folder)
    return Tape(
        operations,
        found.settings,
        [e.encode() for e in found.effects],
        [u.encode() for u in found.urls],
        pages,
        states,
        lengths,
        {archive_name(int(p.name[:6])): p.read_bytes() for p in shard.glob("warc/*")},
        {(archive_name(int(v["warc_file"])), int(v["warc_end"])) for v in found.visits},
        promises(operations),
    )


def state_of(desk: Desk) -> bytes:
    page = desk.columns.page
    return bytes(page.state[: page.count]) + bytes(page.outcome[: page.count])


def promises(operations: list[Operation]) -> list[int]:
    """A mark is a promise once a sync of its file that began after it has returned."""
    marks: list[tuple[str, int, int]] = []
    found, best = [], 0
    for o in operations:
        if o.kind == "write" and o.path.endswith(".log") and len(o.data) > RECORD.size and o.data[4] == Kind.MARK:
            marks.append((o.path, o.end, Mark.decode(o.data[RECORD.size :]).record))
        elif o.kind == "sync":
            best = max([best, *(record for path, end, record in marks if path == o.path and end <= o.start)])
        found.append(best)
    return found


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory if possible. The power stays on during the checks: nothing has to reach the disk."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def each_segment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are immutable, so each is decoded into effects only once; the checksums of its files are checked
    always."""
    known: dict[str, list[Effects]] = {}
    really = seal.effects_of

    def effects_of(line: Line, shard: Path, number: int) -> Iterator[Effects]:
        for name, said in line["files"].items():
            assert xxhash.xxh3_64_hexdigest((shard / name).read_bytes()) == said["checksum"]
        key = json.dumps(line)
        if key not in known:
            known[key] = list(really(line, shard, number))
        yield from known[key]

    monkeypatch.setattr(seal, "effects_of", effects_of)


def expect_recovery(folder: Path, tape: Tape, again: bool) -> int:
    """Checks a recovery; returns the number of committed records in what is left."""
    rest = committed(folder)
    records = len(rest)
    assert [e.encode() for e in rest] == tape.effects[:records]
    open_and_look(folder, tape, records)
    if again:
        assert [e.encode() for e in committed(folder)[:records]] == tape.effects[:records]
        open_and_look(folder, tape, records)
    return records


def open_and_look(folder: Path, tape: Tape, records: int) -> None:
    """Checks what a start makes of it: nothing is there twice or incomplete."""
    clock = VirtualClock(wall=time.time())
    store, desk, resumed = open_collection(folder, tape.settings, clock)
    try:
        assert resumed
        assert store.warnings == []
        pages = tape.pages[records]
        assert desk.columns.page.count == pages == int(desk[Pages].counts.sum())
        assert state_of(desk) == tape.states[records]
        assert store.urls(list(range(pages))) == tape.urls[:pages]
        sizes = {f"warc/{path.name}": path.stat().st_size for path in shard_folder(folder).glob("warc/*")}
        for name, size in sizes.items():
            assert (shard_folder(folder) / name).read_bytes() == tape.archives[name][:size]
            assert (name, size) in tape.ends or name not in tape.lengths[records], "the file is cut between two records"
        assert {n: s for n, s in sizes.items() if n in tape.lengths[records]} == tape.lengths[records]
    finally:
        store.close()


@pytest.mark.usefixtures("each_segment_once")
def test_after_a_power_cut_at_any_operation_everything_committed_is_there(tape: Tape, scratch: Path) -> None:
    """What several cuts leave alike is recovered once; what it holds is compared with the promise at each of them."""
    model, found = Disk(), dict[str, int]()
    rng, cuts = random.Random(1), 0
    for number, operation in enumerate(tape.operations):
        model.apply(operation)
        for loss in ways_of(operation, number):
            left = model.left(loss, rng)
            key = digest_of(left)
            if key not in found:
                write(left, scratch / "cut")
                found[key] = recovered(scratch / "cut" / "crawl", tape, again=len(found) % AGAIN == 0)
                shutil.rmtree(scratch / "cut")
            assert found[key] >= tape.promised[number]
            cuts += 1
    states = len({*found.values()})
    assert states > 5
    print(
        f"{len(tape.operations)} operations of {len({o.process for o in tape.operations})} processes, {cuts} cuts that "
        f"leave {len(found)} different disks, {len(tape.effects)} records, {states} states found"
    )


def recovered(folder: Path, tape: Tape, again: bool) -> int:
    """The number of committed records in what is left: 0 where no collection was made yet."""
    if is_collection(folder):
        return expect_recovery(folder, tape, again)
    expect_new(folder)
    return 0


def ways_of(operation: Operation, number: int) -> list[Loss]:
    """The kinds of loss that are tried for a power cut after this operation."""
    if "/image/" in operation.path and operation.kind in ("write", "create", "sync"):
        return [Loss.MIXED] if number % OF_IMAGES == 0 else []
    if operation.kind not in ("write", "create"):
        return [Loss.DROPPED, Loss.MIXED]
    return [list(Loss)[number % len(Loss)]]


def expect_new(folder: Path) -> None:
    """A collection that was not completely created can still be crawled into."""
    prepared = prepare(CrawlRequest(folder, ("http://127.0.0.1/",)), lambda line: None)
    assert prepared.seeds.urls
