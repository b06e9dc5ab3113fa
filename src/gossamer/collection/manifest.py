"""manifest.jsonl: a line that describes the collection, and one line for every sealed segment and image.

Each line is a JSON object whose last field is the checksum of everything before it. The desk is the only writer; it
appends a line when everything that the line names is synced. A last line torn by a power cut is ignored, and cut off
when the manifest is next opened for writing; any other bad line is damage, and reported with its number. Readers use
`read_whole`, which tells a torn last line from a damaged one. Lines that are lost from the end leave no trace here, but
the files of their segments reveal it (`sealed_files`, `lost`).

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
from gossamer.collection.layout import FORMAT, FORMS, MANIFEST, journal_files

Line = dict[str, Any]

_SIGN: Final = b',"checksum":"'
_SEALED: Final = re.compile(r"(?:\d{12}-)?(\d{12})(?:\.\d+)?\.parquet")
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
    url_form: int = 1
    """Number of the canonical form of its URLs (`urls/canonical.py`). Collections that do not say it have form 1."""

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

    def __init__(self, shard: Path, file: disk.Appender, contents: Contents) -> None:
        self._shard, self._file = shard, file
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
        return Manifest(shard, file, contents)

    def append(self, line: Line) -> None:
        """Appends the line of a segment or an image, whose files must be synced. Returns when the line is synced."""
        self._file.append(encode(line))
        self._file.sync()
        old = self.contents  # others may be reading it
        self.contents = _with(Contents(old.meta, dict(old.segments), old.image, 0), line, self._file.length)

    def replace(self, parts: Collection[int], merged: Line) -> None:
        """Replaces the lines of segments by that of the segment that they were merged into."""
        rewrite(self._shard, parts, merged)
        self._file.close()
        self._file = disk.Appender(self._shard / MANIFEST)
        self.contents = read(self._shard)

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


def rewrite(shard: Path, parts: Collection[int], merged: Line) -> None:
    """Writes the manifest anew, atomically: one line for the merged segment, none for its parts nor for older images.
    All other lines stay."""
    decoded = [(raw, decode(raw)) for raw in _raw(shard).splitlines(keepends=True)]
    images = [raw for raw, line in decoded if line is not None and "image" in line]
    kept: list[bytes] = []
    for raw, line in decoded:
        if line is None or raw in images[:-1]:
            continue  # None: a torn last line; `read` has refused any other damage
        if "segment" not in line or line["segment"] not in parts:
            kept.append(raw)
        elif line["segment"] == merged["segment"]:
            kept.append(encode(merged))
    disk.write_atomic(shard / MANIFEST, *kept)


def replace_segments(shard: Path, segments: Collection[Line]) -> None:
    """Writes the manifest anew, atomically, with these lines in place of those of the same segments, and no images."""
    new = {line["segment"]: line for line in segments}
    decoded = [(raw, decode(raw)) for raw in _raw(shard).splitlines(keepends=True)]
    kept = [
        encode(new[line["segment"]]) if line.get("segment") in new else raw
        for raw, line in decoded
        if line is not None and "image" not in line
    ]
    disk.write_atomic(shard / MANIFEST, *kept)


def _raw(shard: Path) -> bytes:
    path = shard / MANIFEST
    if not path.exists():
        raise UsageError(f"{shard.parent} is not a collection: {path} is missing", "Name a folder that has one.")
    with disk.naming("read", path):
        return path.read_bytes()


def read(shard: Path) -> Contents:
    """Reads the manifest without changing anything; a crawl may be running."""
    return _decoded(shard / MANIFEST, _raw(shard))


def _decoded(path: Path, raw: bytes) -> Contents:
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


def url_form(shard: Path) -> int:
    """The canonical form of the collection's URLs. It reads the first line alone."""
    path = shard / MANIFEST
    with disk.naming("read", path), path.open("rb") as file:
        return _meta(path, file.readline()).url_form


def read_whole(shard: Path) -> Contents:
    """Like `read`, for readers that must not leave out a segment or an image in silence: a last line that is wrong and
    not torn is damage too, and so is the loss of lines."""
    sealed, path = sealed_files(shard), shard / MANIFEST
    raw = _raw(shard)
    contents = _decoded(path, raw)
    rest = raw[contents.length :]
    if rest and decode(rest.splitlines(keepends=True)[0]) is None and not torn(rest):
        raise GossamerError(f"{path} is damaged in its last line", "Repair it: gossamer verify DIR --repair")
    for gone in lost(sealed, contents.segments):
        raise GossamerError(f"{path} is damaged: no line names {gone}, which was sealed", "Restore it from a backup.")
    return contents


def torn(raw: bytes) -> bool:
    """Whether a last line that cannot be decoded may have been torn by a power cut: it has no end, or zeros. A line
    that differs from a good one only in its end was not."""
    return (not raw.endswith(b"\n") or b"\0" in raw) and decode(raw[:-1] + b"\n") is None


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
    form = int(line.get("url_form", 1))
    if form not in FORMS:
        raise UsageError(
            f"{path.parent.parent} has URLs in form {form}; this Gossamer knows up to {FORMS[-1]}",
            "Use the version of Gossamer that made it, or a newer one.",
        )
    return Meta(version, int(line["shard"]), int(line["seed"], 16), float(line["created"]), form)
