"""Repair: makes a damaged collection usable if there is no backup. Everything that is cut off is kept in `damaged/`.

*Journal*: a damaged file is cut after the last mark before the damage, and later files are emptied: their records would
not follow. What was committed after that mark is lost, as if the crawl had been killed there, and every site waits
first, as after a kill. The files stay, even if empty: their numbers show that a run was begun. The part of the archive
after the mark is copied first, because the next start would cut it off.

*URLs and versions*: damaged or missing blocks are rebuilt from the segments and the journal, which have every text.

*Manifest*: damaged lines are removed if the segments still follow one another and no segment has files after the last
one: then it was the line of an image, and an image is only a cache. If the line of a segment is missing, nothing is
done, not even to the journal: a backup is needed (the lengths of the archive were in that line and nowhere else).

Nothing else needs repair before a crawl can be resumed: images and all other caches are made again, and a damaged table
is read only by queries that use it (and by a start without an image).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import GossamerError
from gossamer.base.units import thousands
from gossamer.collection import manifest
from gossamer.collection.blocks import BlockFile, is_sound
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.layout import ARCHIVE, MANIFEST, URL_FILE, archive_files, journal_files, segment_files
from gossamer.collection.manifest import Contents, Line
from gossamer.collection.recovery import recover
from gossamer.collection.versions import bring, first_of, name_in, versions_of

DAMAGED: Final = "damaged"


def repair(shard: Path) -> list[str]:
    """Repairs the shard and returns one sentence for each thing done. The caller holds the lock."""
    done = _manifest(shard)
    try:
        contents = manifest.read(shard)
    except GossamerError:  # it cannot be repaired: `verify` reports it
        return done
    if manifest.lost(manifest.sealed_files(shard), contents.segments):
        return done
    done += _journal(shard, contents)
    with suppress(GossamerError):  # a segment may be damaged too
        done += _urls(shard) + _versions(shard)
    return done


def _manifest(shard: Path) -> list[str]:
    path, lines, found = _lines(shard)
    damaged = [
        number
        for number, (raw, line) in enumerate(zip(lines, found, strict=True), 1)
        if line is None and (number < len(lines) or not manifest.torn(raw))
    ]
    if not damaged or damaged[0] == 1:
        return []
    sealed = [line for line in found if line and "segment" in line]
    spans = sorted((line["first_record"], line["last_record"]) for line in sealed)
    gap = any(first != before + 1 for (_, before), (first, _) in pairwise([(0, 0), *spans]))
    if gap or manifest.lost(manifest.sealed_files(shard), [line["segment"] for line in sealed]):
        return []
    _keep(shard, path)
    disk.write_atomic(path, *(raw for raw, line in zip(lines, found, strict=True) if line is not None))
    which = ", ".join(map(str, damaged))
    return [f"{MANIFEST}: line {which} could not be read, and was removed; no segment is missing"]


def _lines(shard: Path) -> tuple[Path, list[bytes], list[Line | None]]:
    """The manifest: its path, its lines, and what they say; None for a damaged line."""
    path = shard / MANIFEST
    with disk.naming("read", path):
        lines = path.read_bytes().splitlines(keepends=True)
    return path, lines, [manifest.decode(line) for line in lines]


def _journal(shard: Path, contents: Contents) -> list[str]:
    """Copies the files and drops the images before the first file is cut: a killed repair can simply be repeated."""
    sealed = contents.segments
    unsealed = {number: path for number, path in sorted(journal_files(shard).items()) if number not in sealed}
    ends: dict[int, int] = {}
    lengths: dict[str, int] = {}
    for _, line in sorted(sealed.items()):
        lengths |= line["lengths"]
    for number, path in unsealed.items():
        end = 0 if ends else records.sound_until(path)
        if end is not None and not any(later > number for later in sealed):
            ends[number] = end
        for record in records.read(path, end):
            lengths |= Mark.decode(record.body).lengths if record.kind is Kind.MARK else {}
    if not ends:
        return []
    done, kept = list[str](), _archive(shard, lengths)
    _forget_images(shard, max((line["last_record"] for line in sealed.values()), default=0))
    cut = min(ends)
    for number, end in ends.items():
        path = unsealed[number]
        if number != cut and not path.stat().st_size:
            continue
        _keep(shard, path)
        for name in segment_files(shard, number):  # left by a killed seal
            disk.remove(shard / name)
        with disk.naming("read", path):
            raw = path.read_bytes()[:end]
        disk.write_atomic(path, raw)
        what = f"is damaged, and was cut at byte {thousands(end)}: what was committed after it is lost"
        done.append(
            f"{path.relative_to(shard)} {what if number == cut else 'was emptied: it does not follow the rest'}"
        )
    return done + kept


def _archive(shard: Path, lengths: dict[str, int]) -> list[str]:
    """Keeps the part of the archive after these lengths: whole files are moved, the ends of others copied."""
    kept = 0
    for path in archive_files(shard).values():
        length, size = lengths.get(path.relative_to(shard).as_posix(), 0), path.stat().st_size
        if size <= length:
            continue
        kept += size - length
        if length:
            _keep(shard, path, length)
        else:
            disk.make_directory(shard / DAMAGED)
            disk.rename(path, _free(shard, path.name))
            disk.sync_directory(shard / DAMAGED)
            disk.sync_directory(path.parent)
    return [f"{ARCHIVE}/: {thousands(kept)} bytes after the cut are kept in {DAMAGED}/"] if kept else []


def _forget_images(shard: Path, record: int) -> None:
    """Drops the images that are ahead of the segments: they may contain what is lost."""
    path, lines, found = _lines(shard)
    left = [raw for raw, line in zip(lines, found, strict=True) if line and line.get("record", 0) <= record]
    if len(left) < len(lines):
        _keep(shard, path)
        disk.write_atomic(path, *left)


def _urls(shard: Path) -> list[str]:
    return _rebuilt(shard, URL_FILE, lambda effects, _: (effects.first_page, effects.urls.split()))


def _versions(shard: Path) -> list[str]:
    name = name_in(recover(shard).mark.lengths)
    if name is None:
        return []
    first = first_of(name)

    def texts(effects: Effects, before: int) -> tuple[int, list[bytes]]:
        """The versions of a tick that are in the file; the number of the first may be less than 0: none are."""
        found = versions_of(effects)
        kept = found[max(0, first - before) :]
        return max(0, before - first), kept

    return _rebuilt(shard, name, texts)


def _rebuilt(shard: Path, name: str, texts: Callable[[Effects, int], tuple[int, list[bytes]]]) -> list[str]:
    """Rebuilds a damaged block file, unless its new length would differ: marks contain the length. `texts` returns the
    texts of a tick and the number of the first, given the number of versions before it."""
    path, recovered = shard / name, replace(recover(shard), image=None)
    length = recovered.mark.lengths.get(name, 0)
    if not length or is_sound(path, length):
        return []
    temporary = path.with_name(path.name + disk.TEMPORARY)
    disk.remove(temporary)
    made = BlockFile(temporary)
    try:
        versions = 0
        for effects in recovered.effects():
            made.put(*texts(effects, versions))
            versions += int(bring(effects.visits).sum())
        if length not in made.offsets():
            return []
        made.truncate(length)
        made.appender.sync()
    finally:
        made.close()
    if path.exists():
        _keep(shard, path)
    disk.rename(temporary, path)
    disk.sync_directory(path.parent)
    return [f"{name} was damaged, and was rebuilt from the segments"]


def _keep(shard: Path, path: Path, start: int = 0) -> None:
    """Copies the file to `damaged/`, from byte `start` on, under a free name."""
    disk.make_directory(shard / DAMAGED)
    with disk.naming("read", path), path.open("rb") as file:
        file.seek(start)
        raw = file.read()
    disk.write_atomic(_free(shard, f"{path.name}.from-{start}" if start else path.name), raw)


def _free(shard: Path, name: str) -> Path:
    for number in range(1000):
        path = shard / DAMAGED / f"{name}.{number}"
        if not path.exists():
            return path
    raise GossamerError(f"{shard / DAMAGED} has too many copies of {name}", "Move some of them away.")
