"""manifest.jsonl: a line that describes the collection, and one line for every sealed segment and image.

Each line is a JSON object whose last field is the checksum of everything before it. The desk is the only writer; it
appends a line when everything that the line names is synced. A last line torn by a power cut is ignored, and cut off
when the manifest is next opened for writing; any other bad line is damage, and reported with its number. Lines that are
lost from the end leave no trace here, but the files of their segments reveal it (`sealed_files`, `lost`).

The file is created atomically with its first line: a folder has a complete manifest or is no collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.collection.layout import FORMAT, MANIFEST, journal_files

Line = dict[str, Any]

_SIGN: Final = b',"checksum":"'
_SEALED: Final = re.compile(r"(?:\d{12}-)?(\d{12})\.parquet")
PER_VISIT: Final = 30e-6
PER_PAGE: Final = 3e-6
"""Approximate seconds to replay a visit and a new page."""
PER_BYTE: Final = 1e-9
"""Approximate seconds to load a byte of an image."""


@dataclass(frozen=True, slots=True)
class Meta:
    """The first line: what the collection is."""

    format: int
    shard: int
    seed: int
    """Seed of the collection's fingerprints; random, so that nobody can prepare URLs that collide."""
    created: float

    def line(self) -> Line:
        return {"gossamer": "collection", **asdict(self), "seed": f"{self.seed:016x}"}


@dataclass(frozen=True, slots=True)
class Contents:
    """A manifest in memory. Segment lines are by number; see `tables/seal.py` for their fields."""

    meta: Meta
    segments: dict[int, Line]
    image: Line | None
    """The line of the newest image."""
    length: int
    """Bytes of complete lines."""


class Manifest:
    """The manifest, open for appending by the desk."""

    def __init__(self, file: disk.Appender, contents: Contents) -> None:
        self._file = file
        self.contents = contents

    @staticmethod
    def create(shard: Path, meta: Meta) -> None:
        disk.write_atomic(shard / MANIFEST, encode(meta.line()))

    @staticmethod
    def open(shard: Path) -> Manifest:
        contents = read(shard)
        file = disk.Appender(shard / MANIFEST)
        if file.length > contents.length:
            file.truncate(contents.length)
            file.sync()
        return Manifest(file, contents)

    def append(self, line: Line) -> None:
        """Appends the line of a segment or an image, whose files must be synced. Returns when the line is synced."""
        self._file.append(encode(line))
        self._file.sync()
        old = self.contents  # others may be reading it
        self.contents = _with(Contents(old.meta, dict(old.segments), old.image, 0), line, self._file.length)

    def close(self) -> None:
        self._file.close()


def encode(line: Line) -> bytes:
    body = json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode()[:-1]
    return body + _SIGN + xxhash.xxh3_64_hexdigest(body).encode() + b'"}\n'


def decode(raw: bytes) -> Line | None:
    """None for a line that is torn or damaged."""
    body, sign, rest = raw.rpartition(_SIGN)
    if not sign or rest != xxhash.xxh3_64_hexdigest(body).encode() + b'"}\n':
        return None
    line: Line = json.loads(body + b"}")
    return line


def read(shard: Path) -> Contents:
    """Reads the manifest without changing anything; a crawl may be running."""
    path = shard / MANIFEST
    if not path.exists():
        raise UsageError(f"{shard.parent} is not a collection: {path} is missing", "Name a folder that has one.")
    with disk.naming("read", path):
        raw = path.read_bytes()
    lines = raw.splitlines(keepends=True)
    contents = Contents(_meta(path, lines[0] if lines else b""), {}, None, len(lines[0]))
    for number, encoded in enumerate(lines[1:], 2):
        line = decode(encoded)
        if line is None and number == len(lines):
            break
        if line is None:
            raise GossamerError(f"{path} is damaged in line {number}", "Restore it from a backup of the collection.")
        contents = _with(contents, line, contents.length + len(encoded))
    return contents


def sealed_files(shard: Path) -> dict[int, Path]:
    """Segments found by their files alone, except those whose journal file still exists. That file is removed once the
    segment's line is synced, so a manifest that is read after this call has a line for each of these segments, unless
    compaction has merged it into a later one."""
    found = [(_SEALED.fullmatch(path.name), path) for path in sorted((shard / "ticks").glob("*.parquet"))]
    unsealed = journal_files(shard)
    return {int(m[1]): path for m, path in found if m and int(m[1]) not in unsealed}


def lost(sealed: dict[int, Path], named: Collection[int]) -> list[Path]:
    """The `sealed_files` of segments after the last one that the manifest names: their lines are lost."""
    return [path for number, path in sealed.items() if number > max(named, default=0)]


def replay_seconds(contents: Contents, image: bool = True) -> float:
    """Approximate seconds to replay the segments after the last image, or all segments if `image` is false."""
    record = contents.image["record"] if contents.image and image else 0
    rows = {"visits": 0, "pages": 0}
    for line in contents.segments.values():
        if line["last_record"] > record:
            for path, file in line["files"].items():
                table = path.partition("/")[0]
                if table in rows:
                    rows[table] += file["rows"]
    return PER_VISIT * rows["visits"] + PER_PAGE * rows["pages"]


def _with(contents: Contents, line: Line, length: int) -> Contents:
    if "image" in line:
        return Contents(contents.meta, contents.segments, line, length)
    contents.segments[line["segment"]] = line
    return Contents(contents.meta, contents.segments, contents.image, length)


def _meta(path: Path, raw: bytes) -> Meta:
    """Checks the format before the checksum, which a newer format may compute in another way."""
    try:
        line = json.loads(raw)
        version = int(line["format"]) if line["gossamer"] == "collection" else None
    except (ValueError, KeyError, TypeError):
        version = None
    if version is not None and version > FORMAT:
        raise UsageError(
            f"{path.parent.parent} has format {version}; this Gossamer reads up to {FORMAT}",
            "Use the version of Gossamer that made it, or a newer one.",
        )
    if version is None or decode(raw) is None:
        raise GossamerError(f"{path} is damaged in line 1", "Restore it from a backup of the collection.")
    return Meta(version, int(line["shard"]), int(line["seed"], 16), float(line["created"]))
