"""Carries out the orders to forget that wait in a collection: all that is told in `collection/forgetting/__init__.py`.

The caller holds the lock, and no journal file holds anything of what is forgotten: `read/forget.py` sees to it before
it writes an order. So only segments, archive and block files are to be changed.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import Records
from gossamer.base.errors import StorageError
from gossamer.collection import cdx, manifest
from gossamer.collection.checked import compare
from gossamer.collection.forgetting import blanks, bodies, leftovers
from gossamer.collection.forgetting.bodies import Moved, Record
from gossamer.collection.forgetting.tables import Gone, gone_of, next_name, ordered, rewritten, touched
from gossamer.collection.forgetting.tombstones import Forgotten, Span, Tombstone, read, write
from gossamer.collection.layout import ARCHIVE, INDEX, archive_files, archive_name
from gossamer.collection.manifest import Contents, Line

Progress = Callable[[str, float], None]
"""Called with what is being done, and the part done, from 0 to 1."""
_PLACE: Final = re.compile(rb'"offset": "(\d+)", "filename": "([^"]*)"')
_HEAD: Final = 1 << 13


def carry_out(shard: Path, progress: Progress = lambda what, part: None) -> list[Tombstone]:
    """Finishes what was begun; returns the tombstones of it. Does nothing if nothing waits."""
    forgotten = read(shard)
    if not forgotten.unfinished:
        return []
    contents = manifest.read(shard)
    gone = gone_of(shard, contents, forgotten.unfinished)
    _rewrite(shard, contents, gone, forgotten, progress)
    forgotten, contents = read(shard), manifest.read(shard)
    when = forgotten.unfinished[0].time
    progress("blanking the archive", 0.0)
    visits = bodies.archived(shard, ordered(contents), gone)
    blanks.write(shard, _spans(visits, forgotten), when)
    progress("removing URLs and versions", 0.0)
    leftovers.texts(shard, contents, gone)
    leftovers.files(shard, gone.names)
    done = [replace(each, name="", blank=()) for each in forgotten.tombstones]
    write(shard, done)
    return [each for each, before in zip(done, forgotten.tombstones, strict=True) if not before.finished]


def _rewrite(shard: Path, contents: Contents, gone: Gone, forgotten: Forgotten, progress: Progress) -> None:
    """Rewrites the segments, and the records that refer to forgotten bodies. The last step names all of it at once."""
    lines = ordered(contents)
    changed = set[int]()
    for number, line in enumerate(lines):
        progress("looking for it in the tables", number / len(lines))
        if touched(shard, line, gone):
            changed.add(line["segment"])
    visits = bodies.archived(shard, lines, gone)
    number = 1 + max((int(Path(name).name[:6]) for name in _archives(lines)), default=-1)
    moved = bodies.move(shard, visits, number, _warcinfo(shard, number, forgotten.unfinished[0].time))
    changed |= set(moved.places)
    if not changed:
        return
    index = _Index(shard, visits, moved, lines)
    new: list[Line] = []
    for place, line in enumerate(lines):
        progress("rewriting the tables", place / len(lines))
        made = line
        if line["segment"] in changed:
            made = rewritten(shard, line, gone, moved.places.get(line["segment"], {}))
        made = index.rewritten(made)
        if made != line:
            new.append(made)
    write(shard, _with_blanks(forgotten, moved.blank))
    manifest.replace_segments(shard, new)


def _archives(lines: list[Line]) -> list[str]:
    return [name for line in lines for name in line["lengths"] if name.startswith(f"{ARCHIVE}/")]


def _with_blanks(forgotten: Forgotten, spans: list[Span]) -> list[Tombstone]:
    """The tombstones; the first that is unfinished has the places of records that were moved."""
    first = forgotten.unfinished[0]
    return [replace(each, blank=tuple(spans)) if each is first else each for each in forgotten.tombstones]


def _spans(visits: Records, forgotten: Forgotten) -> list[Span]:
    """What is to be blanked: the data of forgotten visits, and records that were moved and lie not among these."""
    rows = visits[visits["gone"]]
    own: list[Span] = list(zip(rows["file"].tolist(), rows["start"].tolist(), rows["end"].tolist(), strict=True))
    around: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file, start, end in own:
        around[file].append((start, end))
    moved = [span for each in forgotten.unfinished for span in each.blank]
    return own + [(f, a, b) for f, a, b in moved if not any(x <= a and b <= y for x, y in around[f])]


class _Index:
    """The CDXJ index without the lines of records that go, and with those of the new archive file.

    The line of a 304 has the place of its copy: it is known by the record that it is made of."""

    def __init__(self, shard: Path, visits: Records, moved: Moved, lines: list[Line]) -> None:
        self._shard = shard
        self._gone: dict[bytes, set[int]] = defaultdict(set)
        self._unmodified = set[bytes]()
        goes = visits["gone"].copy()
        for segment, rows in moved.places.items():
            goes |= (visits["segment"] == segment) & np.isin(visits["row"], list(rows))
        for visit in visits[goes & ~visits["unmodified"]]:
            self._gone[_name(int(visit["file"]))].add(int(visit["offset"]))
        for visit in visits[goes & visits["unmodified"]]:
            self._unmodified.update(_lines(shard, visit))
        indexed = [line for line in lines if _file(line) is not None]
        self._heir = (indexed or lines)[-1]["segment"] if moved.length else None
        """The segment that takes the new archive file."""
        self._moved = moved

    def rewritten(self, line: Line) -> Line:
        """The line of a segment, with a new index file if that differs."""
        heir = line["segment"] == self._heir
        if heir:
            line = {**line, "lengths": line["lengths"] | {archive_name(self._moved.number): self._moved.length}}
        path = _file(line)
        if path is None:
            return line
        facts = line["files"][path]
        compare(self._shard / path, facts["bytes"], facts["checksum"])
        with disk.naming("read", self._shard / path):
            before = (self._shard / path).read_bytes().splitlines(keepends=True)
        kept = [each for each in before if not self._goes(each)]
        if heir:
            name = archive_name(self._moved.number)
            kept = sorted([*kept, *cdx.lines(self._shard / name, 0, self._moved.length)])
        if kept == before:
            return line
        files: dict[str, Any] = {name: file for name, file in line["files"].items() if name != path}
        data, name = b"".join(kept), f"{INDEX}/{next_name(line)}.cdxj"
        disk.write_atomic(self._shard / name, data)
        files[name] = {"rows": len(kept), "bytes": len(data), "checksum": xxhash.xxh3_64_hexdigest(data)}
        return {**line, "files": files}

    def _goes(self, line: bytes) -> bool:
        if b'", "revisit": "' in line:
            return line in self._unmodified
        found = _PLACE.search(line)
        return found is not None and int(found[1]) in self._gone.get(found[2], ())


def _lines(shard: Path, visit: Records) -> list[bytes]:
    """The line of the record of a visit; none if it cannot be read."""
    path, place = shard / archive_name(int(visit["file"])), (int(visit["offset"]), int(visit["end"]))
    with suppress(OSError, StorageError):
        return cdx.lines(path, *place)
    return []


def _name(number: int) -> bytes:
    return Path(archive_name(number)).name.encode()


def _file(line: Mapping[str, Any]) -> str | None:
    return next((path for path in line["files"] if path.startswith(f"{INDEX}/")), None)


def _warcinfo(shard: Path, number: int, when: float) -> bytes:
    """The first record of a new archive file: what the last one says of the crawl, under another name. The same order
    always gets the same bytes, so that all places in the file are the same after a kill."""
    block = b"format: WARC File Format 1.1\r\n"
    for path in reversed(archive_files(shard).values()):
        with suppress(OSError, StorageError, StopIteration):
            _, _, raw = next(cdx.members(path, 0, path.stat().st_size, _HEAD))
            found = Record.read(raw)
            if found.field(b"WARC-Type") == b"warcinfo":
                block = found.block
                break
    fields = {
        b"WARC-Type": b"warcinfo",
        b"WARC-Record-ID": b"<urn:uuid:%s>"
        % str(uuid.uuid5(uuid.NAMESPACE_URL, f"{archive_name(number)}/{when}")).encode(),
        b"WARC-Date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)).encode(),
        b"WARC-Filename": Path(archive_name(number)).name.encode(),
        b"Content-Type": b"application/warc-fields",
        b"WARC-Block-Digest": b"",
        b"Content-Length": b"",
    }
    return Record(list(fields.items()), block).member()
