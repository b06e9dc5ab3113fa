"""Damaged files: each is named, the rest can be used, and a crawl resumes or says why it cannot."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer.base.errors import GossamerError, LockedError
from gossamer.base.model import State
from gossamer.collection import layout, manifest
from gossamer.collection.journal import records
from gossamer.collection.journal.records import HEAD, Kind, Mark
from gossamer.collection.layout import MANIFEST, journal_files, shard_folder
from gossamer.collection.recovery import recover
from gossamer.collection.repair import DAMAGED, repair
from gossamer.config import Settings
from gossamer.crawler.open import open_collection
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import repaired, verify
from gossamer.webs.simulated import Reply
from tests.support.world import World, at_processor_speed, cannot_seal, seal_here

PAGES = {f"http://s{site}.example/{page}": Reply(seconds=0.1) for site in range(4) for page in range(40)}
QUICK = ["harvester.wait=1s", "harvester.address_wait=0s"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A segment and an image of a stopped run, another segment, and the journal of a killed run."""
    world = World(tmp_path_factory.mktemp("damaged") / "sound", PAGES, QUICK)
    with at_processor_speed():
        world.run(list(PAGES)[:16], pages=6)
        world.run(list(PAGES)[16:32], turns=60, sealed=True)
        world.run(list(PAGES)[32:], turns=80, clean=False, commit=True)
    return world


@pytest.fixture
def copy(world: World, tmp_path: Path) -> Iterator[World]:
    """A copy to be damaged."""
    shutil.copytree(world.folder, tmp_path / "copy")
    with at_processor_speed():
        yield World(tmp_path / "copy", PAGES, QUICK, clock=world.clock)


def effects(folder: Path) -> list[bytes]:
    return [e.encode() for e in recover(shard_folder(folder)).effects()]


def damage(path: Path, dice: random.Random) -> None:
    """Changes a byte, overwrites a part with zeros, cuts the end, or removes a whole record."""
    raw = bytearray(path.read_bytes())
    at = dice.randrange(len(raw))
    spans = list(_spans(path)) if path.suffix == ".log" else []
    match dice.randrange(4 if spans else 3):
        case 0:
            raw[at] ^= dice.randrange(1, 256)
        case 1:
            raw[at : at + 512] = bytes(len(raw[at : at + 512]))
        case 3:
            start, end = dice.choice(spans)
            del raw[start:end]
        case _:
            del raw[at:]
    path.write_bytes(raw)


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Start and end of each record that a mark covers."""
    start, found = HEAD.size, list[tuple[int, tuple[int, int]]]()
    for record in records.read(path):
        if record.kind is Kind.EFFECTS:
            found.append((record.number, (start, record.end)))
        start, last = record.end, record
    yield from (span for number, span in found if number <= Mark.decode(last.body).record)


@pytest.mark.slow
def test_a_journal_that_lost_a_whole_record_is_cut_before_it(copy: World) -> None:
    shard, before = shard_folder(copy.folder), effects(copy.folder)
    (path,) = journal_files(shard).values()
    raw = path.read_bytes()
    spans = list(_spans(path))
    assert spans
    for start, end in spans:
        path.write_bytes(raw[:start] + raw[end:])
        with pytest.raises(GossamerError, match="is damaged at byte"):
            recover(shard)
        assert path.name in repair(shard)[0]
        left = effects(copy.folder)
        assert left == before[: len(left)]
        assert len(left) < len(before)
        assert repair(shard) == []


def test_archived_data_beyond_the_cut_of_a_journal_is_kept(copy: World) -> None:
    shard = shard_folder(copy.folder)
    (path,) = journal_files(shard).values()
    covered, grown, new = (shard / layout.archive_name(number) for number in range(3))
    for archive in (covered, grown, new):
        archive.write_bytes(archive.name.encode() * 9)
    head = records.read_head(path)
    assert head is not None
    last = recover(shard).mark
    marks = [(covered, 5), (grown, 7)], [(covered, 5), (grown, 9), (new, 9)]
    sound, behind = (
        records.encode(
            Kind.MARK,
            Mark(last.record, last.tick, {layout.archive_name(int(p.name[:6])): n for p, n in these}).encode(),
            head.salt,
        )
        for these in marks
    )
    covered.write_bytes(b"12345")
    whole = path.read_bytes() + sound
    path.write_bytes(whole + behind[:-3] + b"!" + behind[-2:] + _beyond(last, head.salt))
    done = repair(shard)
    assert done[0].startswith(f"journal/{path.name}")
    size = len(grown.name) * 9
    assert done[1] == f"warc/: {size - 7 + size} bytes after the cut are kept in {DAMAGED}/"
    assert path.read_bytes() == whole
    assert (shard / DAMAGED / f"{grown.name}.from-7.0").read_bytes() == (grown.name.encode() * 9)[7:]
    assert (shard / DAMAGED / f"{new.name}.0").read_bytes() == new.name.encode() * 9
    assert not new.exists()


def _beyond(last: Mark, salt: int) -> bytes:
    return records.encode(Kind.MARK, Mark(last.record + 1, last.tick + 1).encode(), salt)


def test_repair_does_not_hide_that_lines_at_the_end_of_the_manifest_are_lost(copy: World) -> None:
    shard = shard_folder(copy.folder)
    path = shard / MANIFEST
    copy.run(turns=20)
    lines = path.read_bytes().splitlines(keepends=True)
    newest = max(n for n, line in enumerate(lines) if "segment" in (manifest.decode(line) or {}))
    before = sorted(p for p in shard.rglob("*") if p.name != MANIFEST)
    zeros = bytes(len(lines[newest]) - 1)
    for spoiled in (lines[:newest], [*lines[:newest], zeros], [*lines[:newest], zeros, b"\n", *lines[newest + 1 :]]):
        path.write_bytes(b"".join(spoiled))
        assert repair(shard) == []
        with pytest.raises(GossamerError, match=r"more was committed|is damaged in line"):
            open_collection(copy.folder, copy.settings, copy.clock)
        assert path.read_bytes() == b"".join(spoiled)
        assert {f.file for f in verify(copy.folder, quick=True).findings} >= {MANIFEST}
    assert sorted(p for p in shard.rglob("*") if p.name != MANIFEST) == before


def test_an_archive_file_that_is_too_short_is_reported_and_never_appended_to(copy: World) -> None:
    shard = shard_folder(copy.folder)
    (path,) = journal_files(shard).values()
    head, last = records.read_head(path), recover(shard).mark
    assert head is not None
    mark = Mark(last.record, last.tick, {layout.archive_name(0): 9})
    path.write_bytes(path.read_bytes() + records.encode(Kind.MARK, mark.encode(), head.salt))
    (shard / layout.archive_name(0)).write_bytes(b"short")
    store, _, _ = open_collection(copy.folder, copy.settings, copy.clock)
    assert any("000000.warc.gz has 5 bytes, but 9 were committed" in warning for warning in store.warnings)
    assert store.next_archive == 1
    store.close()
    assert (shard / layout.archive_name(0)).read_bytes() == b"short"


def test_a_journal_damaged_anywhere_is_named_and_can_be_repaired(copy: World) -> None:
    shard, before = shard_folder(copy.folder), effects(copy.folder)
    (path,) = journal_files(shard).values()
    raw, dice, named = path.read_bytes(), random.Random(1), 0
    for _ in range(25):
        path.write_bytes(raw)
        damage(path, dice)
        wrong = ""
        try:
            recover(shard)
        except GossamerError as error:
            wrong = str(error)
        if wrong:
            named += 1
            assert str(path) in wrong
            assert "--repair" in wrong
            (done,) = repair(shard)
            assert path.name in done
        left = effects(copy.folder)
        assert left == before[: len(left)], "a prefix of the committed effects"
        assert repair(shard) == []
    assert named > 10
    assert len(list((shard / DAMAGED).iterdir())) == named, "what is cut off is kept"
    assert copy.run(list(PAGES)).in_state(State.DONE) == set(PAGES)


def test_journal_files_after_a_damaged_one_are_given_up_and_their_numbers_stay_used(copy: World) -> None:
    shard = shard_folder(copy.folder)
    copy.sealer = cannot_seal
    copy.run(turns=20, clean=False, commit=True)
    copy.sealer = seal_here
    first, second = journal_files(shard).values()
    before = effects(copy.folder)
    raw = bytearray(first.read_bytes())
    raw[len(raw) // 2] ^= 1
    first.write_bytes(raw)
    done = repair(shard)
    assert [line.split()[0] for line in done] == [f"journal/{first.name}", f"journal/{second.name}"]
    left = recover(shard)
    assert 0 < len(list(left.effects())) < len(before)
    assert left.next_journal == int(second.stem) + 1
    assert not left.stopped, "sites wait first, as after a kill"
    assert copy.run(list(PAGES)).in_state(State.DONE) == set(PAGES)


def test_a_damaged_line_of_the_manifest_is_left_out_if_nothing_is_missing_without_it(copy: World) -> None:
    shard = shard_folder(copy.folder)
    path, before = shard / MANIFEST, effects(copy.folder)
    lines = path.read_bytes().splitlines(keepends=True)
    kinds = [next(iter(manifest.decode(line) or {})) for line in lines]
    for number, kind in enumerate(kinds[1:-1], 1):
        spoiled = [*lines[:number], lines[number].replace(b":", b";", 1), *lines[number + 1 :]]
        path.write_bytes(b"".join(spoiled))
        with pytest.raises(GossamerError, match=f"{MANIFEST} is damaged in line {number + 1}"):
            recover(shard)
        if kind == "image":
            (done,) = repair(shard)
            assert done.startswith(f"{MANIFEST}: line {number + 1} could not be read")
            assert effects(copy.folder)[-len(before) :] == before, "from the segments"
        else:
            assert repair(shard) == []
    assert {"image", "segment"} <= set(kinds[1:-1])


@pytest.mark.slow
def test_every_kind_of_file_is_named_or_made_again_and_the_rest_is_usable(world: World, tmp_path: Path) -> None:
    shard, dice = shard_folder(world.folder), random.Random(2)
    kinds: dict[str, Path] = {}
    for path in sorted(p for p in shard.rglob("*") if p.is_file() and p.stat().st_size and p.name != "lock"):
        kinds[path.relative_to(shard).parts[0]] = path.relative_to(shard)
    assert {"visits", "pages", "ticks", "journal", "image", "urls", MANIFEST, "runs.jsonl", "clock.json"} <= set(kinds)
    for kind, path in kinds.items():
        folder = tmp_path / kind
        shutil.copytree(world.folder, folder)
        damage(shard_folder(folder) / path, dice)
        raised = _start(World(folder, PAGES, QUICK, clock=world.clock))
        assert raised is None or path.name in raised.message, (kind, raised)
        assert kind not in CACHES or raised is None
        if kind not in ("journal", MANIFEST):
            opened = Database(find(folder), Settings())
            table = "verdicts" if kind == "ticks" else "ticks"
            ((count,),) = opened.query(f"select count(tick) from {table}").rows
            assert count > 0 or table == "verdicts"
        if kind in layout.TABLES:
            assert any(finding.file == path.as_posix() for finding in verify(folder, quick=True).findings)


CACHES = {"image", "clock.json", "standing.json", "plans.bin", "graph", "scores"}


def _start(world: World) -> GossamerError | None:
    with at_processor_speed():
        try:
            store, desk, _ = open_collection(world.folder, world.settings, world.clock)
        except GossamerError as error:
            return error
        assert desk.columns.page.count == len(PAGES)
        store.close()
    return None


def test_urls_are_made_again_from_the_segments(copy: World) -> None:
    shard, dice = shard_folder(copy.folder), random.Random(3)
    path = shard / "urls" / "pages.blocks"
    before = effects(copy.folder)
    length = recover(shard).mark.lengths["urls/pages.blocks"]
    raw = path.read_bytes()
    assert length > 300
    for _ in range(10):
        path.write_bytes(raw)
        damage(path, dice)
        if path.read_bytes()[:length] != raw[:length]:
            assert repair(shard) == ["urls/pages.blocks was damaged, and was rebuilt from the segments"]
            assert path.read_bytes() == raw[:length]
        assert effects(copy.folder) == before
    path.unlink()
    repair(shard)
    assert copy.run(list(PAGES)).in_state(State.DONE) == set(PAGES)


def test_repair_refuses_a_running_crawl(copy: World) -> None:
    store, _, _ = open_collection(copy.folder, copy.settings, copy.clock)
    with pytest.raises(LockedError):
        repaired(copy.folder)
    store.close()
    assert repaired(copy.folder) == []


def test_a_file_that_is_a_link_to_outside_is_read_and_never_written(world: World, tmp_path: Path) -> None:
    """Each kind of file in turn is a link to a file outside: neither a repair nor a crawl changes that file."""
    shard = shard_folder(world.folder)
    kinds = {p.relative_to(shard).parts[0]: p.relative_to(shard) for p in sorted(shard.rglob("*")) if p.is_file()}
    for kind, name in kinds.items():
        folder, outside = tmp_path / kind, tmp_path / f"outside-{kind}"
        shutil.copytree(world.folder, folder)
        path = shard_folder(folder) / name
        outside.write_bytes(path.read_bytes() + (b"more than was committed" if kind in ("journal", "urls") else b""))
        path.unlink()
        path.symlink_to(outside)
        before = outside.read_bytes()
        with suppress(GossamerError):
            repaired(folder)
        with suppress(GossamerError), at_processor_speed():
            World(folder, PAGES, QUICK, clock=world.clock).run(list(PAGES), turns=20)
        assert outside.read_bytes() == before, kind
