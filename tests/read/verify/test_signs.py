"""Each sign of damage that makes a start fail or warn is also reported by `gossamer verify`, with the damaged file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from gossamer.base.errors import GossamerError, UsageError
from gossamer.collection import layout, manifest
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import HEAD, Kind, Mark
from gossamer.collection.layout import MANIFEST, TABLES, journal_files, shard_folder
from gossamer.collection.recovery import recover
from gossamer.crawler.open import open_collection
from gossamer.read.verify.faults import VerifyReport
from gossamer.read.verify.verify import verify
from tests.read.verify.test_damage import PAGES, QUICK, world
from tests.support.world import World, at_processor_speed

__all__ = ["world"]

URLS: Final = "urls/pages.blocks"


@pytest.fixture
def copy(world: World, tmp_path: Path) -> Iterator[World]:
    shutil.copytree(world.folder, tmp_path / "copy")
    (shard_folder(tmp_path / "copy") / "lock").unlink()  # it names this process, which is alive
    with at_processor_speed():
        yield World(tmp_path / "copy", PAGES, QUICK, clock=world.clock)


def started(world: World) -> list[str]:
    """The errors and warnings of a start."""
    try:
        store, _, _ = open_collection(world.folder, world.settings, world.clock)
    except GossamerError as error:
        return [error.message]
    store.close()
    return store.warnings


def said(report: VerifyReport) -> set[str]:
    return {finding.file for finding in report.findings}


# --- ways to damage a folder ---------------------------------------------------------------------------------


def flipped(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 0x40
    path.write_bytes(raw)


def journal(shard: Path) -> Path:
    return next(iter(journal_files(shard).values()))


def lines(shard: Path) -> list[bytes]:
    return (shard / MANIFEST).read_bytes().splitlines(keepends=True)


def image(shard: Path) -> Path:
    return shard / str(next(line["image"] for raw in lines(shard) if "image" in (line := manifest.decode(raw) or {})))


def forget_segments(shard: Path, since: int) -> None:
    """Removes the lines and files of segments."""
    kept = []
    for raw in lines(shard):
        line = manifest.decode(raw) or {}
        if line.get("segment", 0) >= since:
            for name in line["files"]:
                (shard / name).unlink()
        else:
            kept.append(raw)
    (shard / MANIFEST).write_bytes(b"".join(kept))


def appended(shard: Path, *made: tuple[Kind, bytes]) -> None:
    head = records.read_head(journal(shard))
    assert head is not None
    with journal(shard).open("ab") as file:
        file.write(b"".join(records.encode(kind, body, head.salt) for kind, body in made))


def committed(shard: Path, body: bytes) -> None:
    """Appends a record with this body, and a mark that covers it."""
    mark = Mark(recover(shard).mark.record + 1, int.from_bytes(body[:8], "little"))
    appended(shard, (Kind.EFFECTS, body), (Kind.MARK, mark.encode()))


def lost_record(shard: Path) -> None:
    raw, ends = journal(shard).read_bytes(), [record.end for record in records.read(journal(shard))]
    journal(shard).write_bytes(raw[: ends[0]] + raw[ends[1] :])


def image_ahead(shard: Path) -> None:
    forget_segments(shard, 1)
    journal(shard).unlink()


def begins_late(shard: Path) -> None:
    forget_segments(shard, 2)
    journal(shard).write_bytes(journal(shard).read_bytes()[: HEAD.size])


def archived(shard: Path, body: bytes | None) -> None:
    """Commits nine bytes of an archive file that has other contents."""
    last = recover(shard).mark
    appended(shard, (Kind.MARK, Mark(last.record, last.tick, {layout.archive_name(0): 9}).encode()))
    if body is not None:
        (shard / layout.archive_name(0)).write_bytes(body)


def only_from_segments(shard: Path) -> None:
    """Removes the image and damages a segment."""
    shutil.rmtree(image(shard))
    flipped(next(iter(sorted((shard / "visits").glob("*.parquet")))), 40)


SIGNS: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "the first line of the manifest": (lambda shard: flipped(shard / MANIFEST, 20), MANIFEST),
    "a line of the manifest": (lambda shard: flipped(shard / MANIFEST, len(lines(shard)[0]) + 20), MANIFEST),
    "a line gone from the end of the manifest": (
        lambda shard: (shard / MANIFEST).write_bytes(b"".join(lines(shard)[:-1])),
        MANIFEST,
    ),
    "a segment gone from the middle": (lambda shard: forget_segments(shard, 2), "journal/"),
    "an image that is ahead of all that is left": (image_ahead, "image/"),
    "a journal file that begins behind all that is left": (begins_late, "journal/"),
    "a byte of the journal": (lambda shard: flipped(journal(shard), HEAD.size + 200), "journal/"),
    "the head of a journal file": (lambda shard: flipped(journal(shard), 5), "journal/"),
    "a record of the journal": (lost_record, "journal/"),
    "a record without effects in it": (lambda shard: committed(shard, b"no effects"), "journal/"),
    "a record with an unknown section": (
        lambda shard: committed(shard, Effects(recover(shard).mark.tick + 1, 1.0, 1.0).encode() + b"\xee\1\0\0\0x"),
        "journal/",
    ),
    "an array of the image": (lambda shard: flipped(next(iter(sorted(image(shard).glob("page*")))), 0), "image/"),
    "the list of the image's arrays": (lambda shard: flipped(image(shard) / "meta.json", 30), "image/"),
    "the whole image": (lambda shard: shutil.rmtree(image(shard)), "image/"),
    "a segment, where there is no image": (only_from_segments, "visits/"),
    "the file of URLs": (lambda shard: (shard / URLS).unlink(), URLS),
    "the end of the file of URLs": (lambda shard: (shard / URLS).write_bytes((shard / URLS).read_bytes()[:-9]), URLS),
    "the head of the file of URLs": (lambda shard: flipped(shard / URLS, 1), URLS),
    "an archive file": (lambda shard: archived(shard, None), "warc/"),
    "the end of an archive file": (lambda shard: archived(shard, b"short"), "warc/"),
    "a line of the list of runs": (lambda shard: flipped(shard / "runs.jsonl", 30), "runs.jsonl"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIGNS)
def test_verify_reports_each_damage_that_a_start_reports(copy: World, name: str) -> None:
    shard = shard_folder(copy.folder)
    before = said(verify(copy.folder, quick=True))
    spoil, file = SIGNS[name]
    spoil(shard)
    found = said(verify(copy.folder, quick=True)) - before
    assert started(copy), "a start reports nothing"
    assert [name for name in found if name.startswith(file)], found


def test_a_newer_format_is_refused_by_both(copy: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = shard_folder(copy.folder)
    raw, head = journal(shard).read_bytes(), records.read_head(journal(shard))
    assert head is not None
    monkeypatch.setattr(records, "FORMAT", records.FORMAT + 1)
    journal(shard).write_bytes(records.header(0, head.first, head.salt) + raw[HEAD.size :])
    monkeypatch.undo()
    for read in (lambda: verify(copy.folder), lambda: open_collection(copy.folder, copy.settings, copy.clock)):
        with pytest.raises(UsageError, match="newer"):
            read()


def test_every_table_is_among_the_files_that_verify_checks(copy: World) -> None:
    shard, checked = shard_folder(copy.folder), set[str]()
    for table in TABLES:
        for path in (shard / table).glob("*.parquet"):
            raw = path.read_bytes()
            flipped(path, len(raw) // 2)
            assert path.relative_to(shard).as_posix() in said(verify(copy.folder, quick=True))
            path.write_bytes(raw)
            checked.add(table)
    without = {"links", "anchors", "counts", "hints", "mentions", "orders"}
    assert set(TABLES) - checked == without, "of which this collection has no rows"
