"""What is left once the segments are rewritten: texts of URLs, versions, and all files that may still tell.

The block files of URLs and versions are written anew, and then the manifest, whose lines say how long they were at the
end of each segment. The lengths follow from the numbers of texts, so a kill in between leaves nothing to be guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base import disk
from gossamer.base.arrays import Array
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import Ask, Outcome
from gossamer.collection import blocks, manifest, orders, watches
from gossamer.collection.blocks import PER_BLOCK
from gossamer.collection.forgetting.tables import Gone, columns, generation, numbers_of, ordered
from gossamer.collection.forgetting.tombstones import Names, page_text
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import (
    FOLDERS,
    IMAGES,
    MERGED,
    URL_FILE,
    folders_of_segments,
    journal_files,
)
from gossamer.collection.manifest import Contents, Line
from gossamer.collection.repair import DAMAGED
from gossamer.collection.runs import STANDING, read_status, write_status
from gossamer.collection.tables import seal, segments
from gossamer.collection.tables.forms import Word, one_chunk
from gossamer.collection.versions import bring, first_of, name_in, versions_of

CACHES: Final = (IMAGES, "graph", "scores", MERGED, DAMAGED)
"""Folders of what is made again, or was put aside; they are emptied."""
FILES: Final = ("plans.bin",)


def texts(shard: Path, contents: Contents, gone: Gone) -> None:
    """Replaces URLs and versions in their block files, and states the new lengths in the manifest."""
    lines = ordered(contents)
    lengths = {name: length for line in lines for name, length in line["lengths"].items()}
    counts = {URL_FILE: np.cumsum([_new_pages(line) for line in lines])}
    if URL_FILE in lengths:
        blocks.rewrite(shard / URL_FILE, {int(n): page_text(int(n)) for n in np.flatnonzero(gone.pages)})
    if (name := name_in(lengths)) is not None:
        brought = [_brought(shard, line) for line in lines]
        counts[name] = np.cumsum(brought) - first_of(name)
        _versions(shard, lines, name, brought, contents.meta.shard)
    _state_lengths(shard, lines, {file: count for file, count in counts.items() if file in lengths})


def _new_pages(line: Line) -> int:
    return sum(int(file["rows"]) for path, file in line["files"].items() if path.startswith("pages/"))


def _brought(shard: Path, line: Line) -> int:
    """How many versions the visits of a segment brought."""
    table = columns(shard, line, "visits", ["ask", "page", "flags", "outcome"])
    if table is None:
        return 0
    visits = np.zeros(len(table), [("ask", "u1"), ("page", "<i8"), ("flags", "<u2"), ("outcome", "u1")])
    visits["ask"] = Word(Ask).read(one_chunk(table, "ask"))
    visits["outcome"] = Word(Outcome).read(one_chunk(table, "outcome"))
    for name in ("page", "flags"):
        visits[name] = numbers_of(table, name)
    return int(bring(visits).sum())


def _versions(shard: Path, lines: list[Line], name: str, brought: list[int], number: int) -> None:
    """Makes the versions of rewritten segments again, from their visits."""
    new: dict[int, bytes] = {}
    before = -first_of(name)
    for line, count in zip(lines, brought, strict=True):
        for path, file in line["files"].items():
            if path.startswith("visits/") and generation(path):
                visits, raw = segments.visits_of(seal.read_file(shard / path, file["checksum"]), number)
                made = versions_of(Effects(0, 0.0, 0.0, visits=visits, visit_texts=raw))
                new |= {place: text for place, text in enumerate(made, before) if place >= 0}
        before += count
    blocks.rewrite(shard / name, new)


def _state_lengths(shard: Path, lines: list[Line], counts: dict[str, Array]) -> None:
    """Writes the lengths of block files into the lines of segments: only full blocks are in the files."""
    ends = {name: blocks.offsets_until(shard / name, None, (shard / name).stat().st_size) for name in counts}
    new: list[Line] = []
    for place, line in enumerate(lines):
        lengths = dict(line["lengths"])
        for name, count in counts.items():
            if name in lengths:
                full = max(0, int(count[place])) // PER_BLOCK
                lengths[name] = int(ends[name][min(full, len(ends[name]) - 1)])
        if lengths != line["lengths"]:
            new.append({**line, "lengths": lengths})
    if new:
        manifest.replace_segments(shard, new)


def files(shard: Path, names: Names) -> None:
    """Removes every file that may still tell of what is forgotten, and its names from those that stay."""
    contents = manifest.read(shard)
    _remove(list(_superfluous(shard, contents)))
    _standing(shard, names)
    _orders(shard, names)
    _watches(shard.parent, names)


def _superfluous(shard: Path, contents: Contents) -> Iterator[Path]:
    named = {shard / path for line in contents.segments.values() for path in line["files"]}
    for folder in folders_of_segments(shard):
        yield from (path for path in (shard / folder).glob("*") if path.is_file() and path not in named)
    for folder in CACHES:
        yield from (shard / folder).glob("*")
    for folder in (*FOLDERS, ""):
        yield from (shard / folder).glob("*" + disk.TEMPORARY)
    yield from (path for number, path in journal_files(shard).items() if number in contents.segments)
    yield from (shard / name for name in FILES)


def _remove(paths: list[Path]) -> None:
    there = [path for path in paths if path.exists() or path.is_symlink()]
    for path in there:
        disk.remove(path)
    for folder in {path.parent for path in there}:
        disk.sync_directory(folder)


def _standing(shard: Path, names: Names) -> None:
    """The figures for `gossamer status` name sites. A damaged file goes: the next run writes it again."""
    if not (shard / STANDING).exists():
        return
    try:
        said = read_status(shard)
    except (OSError, ValueError):
        _remove([shard / STANDING])
        return
    said.pop("checksum", None)
    raw = json.dumps(said, ensure_ascii=False).encode()
    if (scrubbed := names.scrub(raw)) != raw:
        write_status(shard, json.loads(scrubbed))


def _orders(shard: Path, names: Names) -> None:
    """Orders of the user that wait for the next run."""
    try:
        left = orders.waiting(shard)
    except GossamerError:
        _remove([shard / orders.ORDERS])
        return
    add = [url for url in left.add if not names.named(url.encode())]
    steer = [order for order in left.steer if not any(names.named(text.encode()) for text in order)]
    if len(add) < len(left.add) or len(steer) < len(left.steer):
        orders.replace(shard, left._replace(add=tuple(add), steer=tuple(steer)))


def _watches(folder: Path, names: Names) -> None:
    try:
        found = watches.read(folder).watches
    except StorageError:
        return
    for watch in found:
        if names.named(watch.target.encode()):
            watches.remove(folder, watch.number)
