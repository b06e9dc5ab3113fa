"""Checksums of everything but the archive: manifest, segments, journal, image, URL blocks. Reads only."""

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
from gossamer.read.verify.report import BACKUP, Finding, Report

FIRST_LINE: Final = "line 1"
_PIECE: Final = 1 << 24
_LENGTHS: Final = np.dtype("<u4")


def open_sources(folder: Path, report: Report) -> Sources:
    """What is committed; as far as it can be read, if manifest or journal are damaged."""
    try:
        found = find(folder, fresh=True)
        return replace(found, fresh=[part for part in found.fresh if _has_effects(found.shard, part, report)])
    except UsageError:
        raise
    except GossamerError:
        require_collection(folder)
        shard = shard_folder(folder)
        contents = _manifest(shard, report)
        parts = _journals(shard, contents, report)
        return Sources(folder, shard, contents, [part for part in parts if _has_effects(shard, part, report)])


def _has_effects(shard: Path, part: Fresh, report: Report) -> bool:
    """Whether each record can be replayed: its checksum may hold, and what it says be strange all the same."""
    try:
        for body in part.bodies:
            Effects.decode(body)
    except GossamerError as error:
        report.add(Finding(_relative(shard, part.path), "", error.message, error.cure or BACKUP))
        return False
    return True


def _manifest(shard: Path, report: Report) -> Contents:
    """The lines that are whole. Nothing that is checked depends on the first."""
    lines = (shard / MANIFEST).read_bytes().splitlines(keepends=True)
    meta = manifest.Meta(FORMAT, 0, 0, 0.0)
    if not lines or manifest.decode(lines[0]) is None:
        wrong = "is damaged: without the seed of the fingerprints, which it has, the crawl cannot go on"
        report.add(Finding(MANIFEST, FIRST_LINE, wrong, BACKUP))
    segments, newest = {}, None
    for number, raw in enumerate(lines[1:], 2):
        line = manifest.decode(raw)
        if line is None and number < len(lines):
            wrong = "its checksum does not hold; the segment or image that it named is not found any more"
            report.add(Finding(MANIFEST, f"line {number}", wrong, BACKUP))
        elif line is not None and "segment" in line:
            segments[line["segment"]] = line
        elif line is not None and "image" in line:
            newest = line
    return Contents(meta, segments, newest, sum(map(len, lines)))


def _journals(shard: Path, contents: Contents, report: Report) -> list[Fresh]:
    found = []
    for number, path in journal_files(shard).items():
        if number in contents.segments:
            continue
        try:
            part = read_journal(path)
        except GossamerError as error:
            report.add(Finding(_relative(shard, path), "", error.message, error.cure or BACKUP))
            continue
        if part is not None:
            found.append(part)
    return found


def check_chain(sources: Sources, report: Report) -> None:
    """Segments and journal files follow one another, record by record and tick by tick."""
    lines = [(n, x["first_record"], x["last_record"], MANIFEST) for n, x in sources.contents.segments.items()]
    lines += [(int(f.path.stem), f.first, f.mark.record, _relative(sources.shard, f.path)) for f in sources.fresh]
    sealed = manifest.sealed_files(sources.shard)
    for path in manifest.lost(sealed, _manifest(sources.shard, Report()).segments):
        wrong = f"no line names {_relative(sources.shard, path)}, which was sealed: lines are lost"
        report.add(Finding(MANIFEST, "", wrong, BACKUP))
    report.count("manifest lines", 1 + len(sources.contents.segments))
    report.count("journal records", sum(len(f.bodies) for f in sources.fresh))
    record = 0
    for number, first, last, file in sorted(lines):
        if first != record + 1:
            wrong = f"records {record + 1} to {first - 1} of the journal are in no segment and in no journal file"
            report.add(Finding(file, f"segment {number}", wrong, BACKUP))
        record = last
    running = (found := holder(sources.shard)) is not None and found.alive  # and goes on while this is read
    more = () if running else signs_of_more(sources.shard, sources.contents, journal_files(sources.shard), record)
    for path, sign in more:
        wrong = f"{sign}, but manifest.jsonl and journal/ have them up to {record} only: more was committed"
        cure = "Restore manifest.jsonl and journal/ from a backup."
        report.add(Finding(_relative(sources.shard, path), "", wrong, cure))


def check_segments(sources: Sources, report: Report, damaged: set[str]) -> Iterator[int]:
    """Yields the bytes read, file by file; adds the names of tables with damage to `damaged`."""
    for name in (*TABLES, INDEX):
        for file in sources.table(name):
            finding = _damage(_relative(sources.shard, file.path), file.path, file.bytes, file.checksum)
            if finding is not None:
                report.add(finding)
                damaged.add(name)
            report.count("segment files")
            yield file.bytes


def _damage(name: str, path: Path, size: int, checksum: str) -> Finding | None:
    try:
        found = path.stat().st_size
        if found != size:
            return Finding(name, "", f"has {found} bytes, not the {size} that were sealed", BACKUP)
        with path.open("rb") as file:
            state = xxhash.xxh3_64()
            while piece := file.read(_PIECE):
                state.update(piece)
    except OSError as error:
        return Finding(name, "", f"cannot be read ({error.strerror}): the rows that it had are missing", BACKUP)
    if state.hexdigest() != checksum:
        return Finding(name, "", "is damaged: its checksum is not that of the manifest", BACKUP)
    return None


def check_image(sources: Sources, report: Report) -> None:
    """An image is a cache; but one that does not hold what it says costs a slow start."""
    line = sources.contents.image
    if line is None:
        return
    cure = "Remove the image's folder: the next start is made from the segments, and takes longer."
    try:
        found = image.read(sources.shard, line)
        found.check()
        wrong = _miscounted(found)
    except (ImageDamagedError, StorageError) as error:
        if _manifest(sources.shard, Report()).image != line:
            return  # the crawl has made a newer one meanwhile
        wrong = error.message
        if not (sources.shard / str(line["image"])).exists():
            wrong, cure = "is missing: the next start takes longer", "Nothing need be done: the next stop writes one."
    report.count("images")
    if wrong:
        report.add(Finding(str(line["image"]), "", wrong, cure))


def _miscounted(found: image.Image) -> str:
    """known = pending + waiting + done + excluded. The desk counts pages by state, and within it more finely."""
    if not {"counts", "page.state"} <= set(found.arrays):
        return ""
    counts, pages = found.array("counts").reshape(len(State), -1).sum(axis=1), found.meta["pages"]
    if int(counts.sum()) != pages:
        return f"it knows {pages} pages, but pending, waiting, done and excluded add up to {int(counts.sum())}"
    states = np.bincount(found.array("page.state"), minlength=len(State))
    if states.tolist() != counts.tolist():
        return f"its pages by state are {states.tolist()}, but it says {counts.tolist()}"
    return ""


def blocks(path: Path, length: int) -> Iterator[tuple[int, list[bytes]]]:
    """Offset and texts of each block in the first `length` bytes. Raises ValueError, with what is wrong."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        if len(raw) < length:
            raise ValueError(f"has {len(raw)} bytes, but {length} were committed")
        if not is_block_file(raw):
            raise ValueError("does not begin like a file of URLs that this version reads: the crawl cannot go on")
        unpacker, at = zstandard.ZstdDecompressor(), HEAD.size
        while at < length:
            if at + BLOCK.size > length:
                raise ValueError(f"the block at byte {at} is not whole")
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
