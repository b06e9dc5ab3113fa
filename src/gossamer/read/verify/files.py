"""Checks the checksums of all files except the archive: manifest, segments, journal, image, URL blocks. Only reads.

`blocks` is a second reader of the format of `collection/blocks.py`: it checks everything that the other one trusts.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import xxhash
import zstandard

from gossamer.base.errors import GossamerError, StorageError, UsageError
from gossamer.base.model import State
from gossamer.collection import image, manifest
from gossamer.collection.blocks import BLOCK, HEAD, PER_BLOCK, is_block_file
from gossamer.collection.image import ImageDamagedError
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import FORMAT, INDEX, MANIFEST, TABLES, journal_files, require_collection, shard_folder
from gossamer.collection.lock import holder
from gossamer.collection.manifest import Contents
from gossamer.collection.recovery import signs_of_more
from gossamer.read.sql.sources import Fresh, Sources, find, read_journal
from gossamer.read.verify.faults import BACKUP, Fault, VerifyReport

FIRST_LINE: Final = "line 1"
_PIECE: Final = 1 << 24
_LENGTHS: Final = np.dtype("<u4")


def open_sources(folder: Path, report: VerifyReport) -> Sources:
    """The committed data; if manifest or journal is damaged, as far as it can be read."""
    try:
        sources = find(folder, fresh=True)
        return replace(sources, fresh=[part for part in sources.fresh if _has_effects(sources.shard, part, report)])
    except UsageError:
        raise
    except GossamerError:
        require_collection(folder)
        shard = shard_folder(folder)
        contents = _manifest(shard, report)
        parts = _journals(shard, contents, report)
        return Sources(folder, shard, contents, [part for part in parts if _has_effects(shard, part, report)])


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
    """The readable lines of the manifest. No check depends on the first line."""
    lines = (shard / MANIFEST).read_bytes().splitlines(keepends=True)
    meta = manifest.Meta(FORMAT, 0, 0, 0.0)
    if not lines or manifest.decode(lines[0]) is None:
        wrong = "is damaged: it contains the seed of the fingerprints, without which the crawl cannot be resumed"
        report.add(Fault(MANIFEST, FIRST_LINE, wrong, BACKUP))
    segments, newest = {}, None
    for number, raw in enumerate(lines[1:], 2):
        line = manifest.decode(raw)
        if line is None and number < len(lines):
            wrong = "its checksum is wrong: the segment or image that it named is lost"
            report.add(Fault(MANIFEST, f"line {number}", wrong, BACKUP))
        elif line is not None and "segment" in line:
            segments[line["segment"]] = line
        elif line is not None and "image" in line:
            newest = line
    return Contents(meta, segments, newest, sum(map(len, lines)))


def _journals(shard: Path, contents: Contents, report: VerifyReport) -> list[Fresh]:
    found = []
    for number, path in journal_files(shard).items():
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
    lines = [(n, x["first_record"], x["last_record"], MANIFEST) for n, x in sources.contents.segments.items()]
    lines += [(int(f.path.stem), f.first, f.mark.record, _relative(sources.shard, f.path)) for f in sources.fresh]
    sealed = manifest.sealed_files(sources.shard)
    for path in manifest.lost(sealed, _manifest(sources.shard, VerifyReport()).segments):
        wrong = f"no line names the sealed file {_relative(sources.shard, path)}: lines are lost"
        report.add(Fault(MANIFEST, "", wrong, BACKUP))
    report.count("manifest lines", 1 + len(sources.contents.segments))
    report.count("journal records", sum(len(f.bodies) for f in sources.fresh))
    record = 0
    for number, first, last, file in sorted(lines):
        if first != record + 1:
            wrong = f"records {record + 1} to {first - 1} of the journal are in no segment and no journal file"
            report.add(Fault(file, f"segment {number}", wrong, BACKUP))
        record = last
    running = (process := holder(sources.shard)) is not None and process.alive  # and it may write meanwhile
    more = () if running else signs_of_more(sources.shard, sources.contents, journal_files(sources.shard), record)
    for path, sign in more:
        wrong = f"{sign}, but manifest.jsonl and journal/ contain them only up to {record}: more was committed"
        cure = "Restore manifest.jsonl and journal/ from a backup."
        report.add(Fault(_relative(sources.shard, path), "", wrong, cure))


def check_segments(sources: Sources, report: VerifyReport, damaged: set[str]) -> Iterator[int]:
    """Checks the segment files. Yields the bytes read, file by file; adds the names of damaged tables to `damaged`."""
    for name in (*TABLES, INDEX):
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


def blocks(path: Path, length: int) -> Iterator[tuple[int, list[bytes]]]:
    """Offset and texts of each block in the first `length` bytes. Raises ValueError, which says what is wrong."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        if len(raw) < length:
            raise ValueError(f"has {len(raw)} bytes, but {length} were committed")
        if not is_block_file(raw):
            raise ValueError("is not a file of URLs that this version can read: the crawl cannot be resumed")
        unpacker, at = zstandard.ZstdDecompressor(), HEAD.size
        while at < length:
            if at + BLOCK.size > length:
                raise ValueError(f"the block at byte {at} is incomplete")
            size, checksum, form = BLOCK.unpack_from(raw, at)
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
