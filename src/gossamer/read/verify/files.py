"""Checks all files except the archive: checksums of manifest, segments, journal, image and URL blocks; the settings,
the list of runs, the file for `status`, and stray files. Only reads.

`blocks` is a second reader of the format of `collection/blocks.py`: it checks everything that the other one trusts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash
import zstandard

from gossamer import config
from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError, UsageError
from gossamer.base.model import State
from gossamer.base.view import View, viewed
from gossamer.collection import image, layout, manifest, runs, watches
from gossamer.collection.blocks import BLOCK, HEAD, PER_BLOCK, is_block_file
from gossamer.collection.checked import Checked
from gossamer.collection.image import ImageDamagedError
from gossamer.collection.journal.effects import Effects
from gossamer.collection.lock import holder
from gossamer.collection.manifest import Contents
from gossamer.collection.recovery import signs_of_more
from gossamer.collection.runs import RUNS, STANDING
from gossamer.config import Settings
from gossamer.read.sql.sources import Fresh, Sources, find, read_journal
from gossamer.read.verify.faults import BACKUP, Fault, VerifyReport

FIRST_LINE: Final = "line 1"
SHOWN: Final = 5
"""Maximum number of stray files that are named."""
_PIECE: Final = 1 << 24
_LENGTHS: Final = np.dtype("<u4")


def open_sources(folder: Path, report: VerifyReport) -> Sources:
    """The committed data; if manifest or journal is damaged, as far as it can be read."""
    try:
        sources = find(folder, fresh=True, unchecked=True)  # the checksums are compared below, file by file
        return replace(sources, fresh=[part for part in sources.fresh if _has_effects(sources.shard, part, report)])
    except UsageError:
        raise
    except GossamerError:
        layout.require_collection(folder)
        shard = layout.shard_folder(folder)
        contents = _manifest(shard, report)
        parts = _journals(shard, contents, report)
        parts = [part for part in parts if _has_effects(shard, part, report)]
        return Sources(folder, shard, contents, parts, Checked(shard, unchecked=True))


def _has_effects(shard: Path, part: Fresh, report: VerifyReport) -> bool:
    """Whether each record can be decoded: its content may be invalid even if its checksum is right."""
    try:
        for body in part.bodies:
            Effects.decode(body)
    except GossamerError as error:
        report.add(Fault(_relative(shard, part.path), "", error.message, error.cure or BACKUP))
        return False
    return True


def _manifest(shard: Path, report: VerifyReport) -> Contents:
    """The readable lines of the manifest. Of the first line, checks need only the form of URLs."""
    path = shard / layout.MANIFEST
    with disk.naming("read", path):
        lines = path.read_bytes().splitlines(keepends=True)
    first = manifest.decode(lines[0]) if lines else None
    form = layout.FORMS[-1] if first is None else first.get("url_form", 1)
    meta = manifest.Meta(layout.FORMAT, 0, 0, 0.0, form)
    if first is None:
        wrong = "is damaged: it contains the seed of the fingerprints, without which the crawl cannot be resumed"
        report.add(Fault(layout.MANIFEST, FIRST_LINE, wrong, BACKUP))
    segments, newest = {}, None
    for number, raw in enumerate(lines[1:], 2):
        line = manifest.decode(raw)
        if line is None and (number < len(lines) or not manifest.torn(raw)):
            wrong = "its checksum is wrong: the segment or image that it named is lost"
            report.add(Fault(layout.MANIFEST, f"line {number}", wrong, BACKUP))
        elif line is not None and "segment" in line:
            segments[line["segment"]] = line
        elif line is not None and "image" in line:
            newest = line
    return Contents(meta, segments, newest, sum(map(len, lines)))


def _journals(shard: Path, contents: Contents, report: VerifyReport) -> list[Fresh]:
    found = []
    for number, path in layout.journal_files(shard).items():
        if number in contents.segments:
            continue
        try:
            part = read_journal(path)
        except GossamerError as error:
            report.add(Fault(_relative(shard, path), "", error.message, error.cure or BACKUP))
            continue
        if part is not None:
            found.append(part)
    return found


def check_chain(sources: Sources, report: VerifyReport) -> None:
    """Checks that segments and journal files follow one another without gaps, record by record."""
    lines = [(n, x["first_record"], x["last_record"], layout.MANIFEST) for n, x in sources.contents.segments.items()]
    lines += [(int(f.path.stem), f.first, f.mark.record, _relative(sources.shard, f.path)) for f in sources.fresh]
    sealed = manifest.sealed_files(sources.shard)
    for path in manifest.lost(sealed, _manifest(sources.shard, VerifyReport()).segments):
        wrong = f"no line names the sealed file {_relative(sources.shard, path)}: lines are lost"
        report.add(Fault(layout.MANIFEST, "", wrong, BACKUP))
    report.count("manifest lines", 1 + len(sources.contents.segments))
    report.count("journal records", sum(len(f.bodies) for f in sources.fresh))
    record = 0
    for number, first, last, file in sorted(lines):
        if first != record + 1:
            wrong = f"records {record + 1} to {first - 1} of the journal are in no segment and no journal file"
            report.add(Fault(file, f"segment {number}", wrong, BACKUP))
        record = last
    if (process := holder(sources.shard)) is not None and process.alive:
        return  # it may write meanwhile
    for path, sign in signs_of_more(sources.shard, sources.contents, layout.journal_files(sources.shard), record):
        wrong = f"{sign}, but manifest.jsonl and journal/ contain them only up to {record}: more was committed"
        cure = "Restore manifest.jsonl and journal/ from a backup."
        report.add(Fault(_relative(sources.shard, path), "", wrong, cure))


def check_segments(sources: Sources, report: VerifyReport, damaged: set[str]) -> Iterator[int]:
    """Checks the segment files. Yields the bytes read, file by file; adds the names of damaged tables to `damaged`."""
    for name in sources.names:
        for file in sources.table(name):
            finding = _damage(_relative(sources.shard, file.path), file.path, file.bytes, file.checksum)
            if finding is not None:
                report.add(finding)
                damaged.add(name)
            report.count("segment files")
            yield file.bytes


def _damage(name: str, path: Path, size: int, checksum: str) -> Fault | None:
    try:
        actual = path.stat().st_size
        if actual != size:
            return Fault(name, "", f"has {actual} bytes, but {size} were sealed", BACKUP)
        with path.open("rb") as file:
            state = xxhash.xxh3_64()
            while piece := file.read(_PIECE):
                state.update(piece)
    except OSError as error:
        return Fault(name, "", f"cannot be read ({error.strerror}): its rows are missing", BACKUP)
    if state.hexdigest() != checksum:
        return Fault(name, "", "is damaged: its checksum is not the one in the manifest", BACKUP)
    return None


def check_image(sources: Sources, report: VerifyReport) -> None:
    """Checks the image. It is only a cache, but without a sound one the next start is slow."""
    line = sources.contents.image
    if line is None:
        return
    cure = "Remove the image's folder: the next start reads the segments instead, and takes longer."
    try:
        newest = image.read(sources.shard, line)
        newest.check()
        wrong = _miscounted(newest)
    except (ImageDamagedError, StorageError) as error:
        if _manifest(sources.shard, VerifyReport()).image != line:
            return  # the crawl has made a newer image meanwhile
        wrong = error.message
        if not (sources.shard / str(line["image"])).exists():
            wrong, cure = (
                "is missing: the next start takes longer",
                "Nothing has to be done: the next stop writes a new one.",
            )
    report.count("images")
    if wrong:
        report.add(Fault(str(line["image"]), "", wrong, cure))


def _miscounted(found: image.Image) -> str:
    """What is wrong with the counts of an image: known = pending + waiting + done + excluded must hold. The desk counts
    pages by state, and more finely within each."""
    if not {"counts", "page.state"} <= set(found.arrays):
        return ""
    counts, pages = found.array("counts").reshape(len(State), -1).sum(axis=1), found.meta["pages"]
    if int(counts.sum()) != pages:
        return f"it knows {pages} pages, but pending, waiting, done and excluded add up to {int(counts.sum())}"
    states = np.bincount(found.array("page.state"), minlength=len(State))
    if states.tolist() != counts.tolist():
        return f"its pages by state are {states.tolist()}, but its counts are {counts.tolist()}"
    return ""


def check_settings(sources: Sources, report: VerifyReport) -> Settings:
    """The settings of crawl.toml; if it cannot be read, those of the last run, so that the other checks can go on."""
    lines = _runs(sources, report)
    try:
        return config.load(sources.folder / layout.SETTINGS)
    except UsageError as error:
        cure = f"Restore it from a backup. The settings of the last run are in {sources.shard.name}/{RUNS}."
        missing = not (sources.folder / layout.SETTINGS).exists()
        report.add(Fault(layout.SETTINGS, "", "is missing" if missing else f"cannot be used: {error.message}", cure))
    try:
        return config.from_json(json.dumps(lines[-1]["settings"])) if lines else Settings()
    except UsageError:
        return Settings()


def _runs(sources: Sources, report: VerifyReport) -> list[dict[str, Any]]:
    """The readable lines of the list of runs."""
    try:
        raw = (sources.shard / RUNS).read_bytes().splitlines()
    except OSError as error:
        wrong = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        wrong += ": the settings of the runs are unknown"
        if sources.unindexed():  # collections of the first version have no list
            report.notes.append(f"{RUNS} {wrong}.")
        else:
            report.add(Fault(RUNS, "", wrong, "Restore it from a backup. Without it, the next run begins a new list."))
        return []
    report.count("runs", len(raw))
    for number, line in enumerate(raw, 1):
        if not runs.sound(line):
            report.add(Fault(RUNS, f"line {number}", "is damaged: the settings of that run are unknown", runs.CURE))
    return [json.loads(line) for line in raw if runs.sound(line)]


def check_strays(sources: Sources, report: VerifyReport) -> None:
    """Notes files in the archive's folder to which no visit can refer: not a fault, but their owner should know."""
    folder, committed = sources.shard / layout.ARCHIVE, sources.lengths()
    archives = {path.name for path in layout.archive_files(sources.shard).values()}
    running = (process := holder(sources.shard)) is not None and process.alive
    strange, uncommitted = [], []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name not in archives and not path.name.endswith(disk.TEMPORARY):
            strange.append(path)
        elif f"{layout.ARCHIVE}/{path.name}" not in committed and not running:
            uncommitted.append(path)
    _note(strange, "not of this collection, and not checked:", report)
    _note(uncommitted, "never committed, will be removed by the next start:", report)


def _note(paths: list[Path], what: str, report: VerifyReport) -> None:
    if paths:
        names = ", ".join(f"{layout.ARCHIVE}/{path.name}" for path in paths[:SHOWN])
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        report.notes.append(f"{what[0].upper()}{what[1:]} {names}{more}.")


def check_standing(shard: Path, report: VerifyReport) -> None:
    """Checks the file for `status`: known = pending + waiting + done + excluded."""
    try:
        standing = runs.read_status(shard)
    except OSError:
        return
    except ValueError as error:
        report.add(Fault(STANDING, "", f"is damaged: {error}", "The next run of the crawl renews it."))
        return
    words = ("pending", "waiting", "done", "excluded")
    total = sum(int(standing.get(word, 0)) for word in words)
    if {"known", *words} <= set(standing) and total != standing["known"]:
        wrong = f"{standing['known']} pages are known, but {', '.join(words)} add up to {total}"
        report.add(Fault(STANDING, "", wrong, "The next run of the crawl renews it. Please report this."))


def check_watches(folder: Path, report: VerifyReport) -> None:
    """Checks the file of watches."""
    try:
        if found := watches.read(folder).watches:
            report.count("watches", len(found))
    except StorageError as error:
        report.add(Fault(f"../{watches.FILE}", "", "is damaged, or of a later version: nothing is told", error.cure))


def blocks(path: Path, length: int) -> Iterator[tuple[int, list[bytes]]]:
    """Offset and texts of each block in the first `length` bytes. Raises ValueError, which says what is wrong."""
    try:
        with viewed(path) as raw:
            yield from _blocks(raw, length)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error


def _blocks(raw: View, length: int) -> Iterator[tuple[int, list[bytes]]]:
    if len(raw) < length:
        raise ValueError(f"has {len(raw)} bytes, but {length} were committed")
    if not is_block_file(raw):
        raise ValueError("is not a file of URLs that this version can read: the crawl cannot be resumed")
    unpacker, at = zstandard.ZstdDecompressor(), HEAD.size
    while at < length:
        if at + BLOCK.size > length:
            raise ValueError(f"the block at byte {at} is incomplete")
        size, checksum, form = BLOCK.unpack(raw[at : at + BLOCK.size])
        body = raw[at + BLOCK.size : at + BLOCK.size + size]
        if at + BLOCK.size + size > length or xxhash.xxh3_64_intdigest(body) & 0xFFFFFFFF != checksum:
            raise ValueError(f"the block at byte {at} is damaged")
        yield at, _texts(unpacker.decompress(body), form)
        at += BLOCK.size + size


def _texts(raw: bytes, form: int) -> list[bytes]:
    if not form:
        return raw.split(b"\n")
    start = PER_BLOCK * _LENGTHS.itemsize
    ends = start + np.cumsum(np.frombuffer(raw[:start], _LENGTHS))
    return [raw[a:b] for a, b in zip([start, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def _relative(shard: Path, path: Path) -> str:
    return path.relative_to(shard).as_posix()
