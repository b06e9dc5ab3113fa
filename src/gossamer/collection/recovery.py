"""Recovery: how a start finds out what was committed, after a clean stop, a kill or a power cut. Always in one way:

    recovered = recover(shard)             only reads: what was committed, and a little of what was not
    … the desk applies recovered.image and recovered.effects() …
    journal = cut(recovered, patience)     writes: from here on the folder belongs to the new run

*Committed* is what the last mark covers: the image, the segments after it, the journal up to the mark. Nothing else is
applied, and archive and block files are cut to the lengths in the mark, so nothing is there twice or half. From records
after the mark (`patience`) the desk takes only what makes it wait longer, and hands that back to `cut` as effects.

*Lost* is what was committed and is missing. A sealed file, a journal file or an image that continues after the mark is
a sign of loss: this is damage, and nothing is cut.

*Idempotent*: a crash inside `recover` or `cut` is harmless, the next start does the same again. `cut` first creates the
new journal file, atomically; it supersedes the uncommitted records, and any later start would cut and remove the same
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection import image, manifest
from gossamer.collection.image import Image, ImageDamagedError
from gossamer.collection.journal import journal, records
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.journal import Journal
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.layout import ARCHIVE, FOLDERS, IMAGES, STOPPED, URLS, VERSIONS, archive_files, journal_files
from gossamer.collection.manifest import Contents, Line, Meta


@dataclass(frozen=True, slots=True)
class _Source:
    """A segment or a journal file, with the committed records `first` to `last`."""

    number: int
    first: int
    last: int
    tick: int
    """Tick of the last record."""
    lengths: dict[str, int]
    segment: Line | None = None
    path: Path = Path()

    def effects(self, shard: Path, shard_number: int, after: int) -> Iterator[Effects]:
        if self.segment is not None:
            from gossamer.collection.tables import seal  # pyarrow takes a third of a second; a clean start needs none

            numbered = enumerate(seal.effects_of(self.segment, shard, shard_number), self.first)
            yield from (e for number, e in numbered if number > after)
            return
        for record in records.read(self.path):
            if record.kind is Kind.EFFECTS and after < record.number <= self.last:
                yield Effects.decode(record.body)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What `recover` found."""

    shard: Path
    meta: Meta
    mark: Mark
    """The last commit, with the lengths of every archive and block file that was ever committed."""
    image: Image | None
    """The newest image, checked; None if there is none that can be used."""
    patience: list[Effects]
    """Records after the mark, in order, as far as they can be read: never to be applied."""
    warnings: list[str]
    sources: list[_Source] = field(repr=False)
    leftover: list[Path] = field(repr=False)
    """Journal files whose committed records are all in segments, or that have none."""
    next_journal: int
    newest: Line | None = field(repr=False)

    @property
    def stopped(self) -> bool:
        """Whether the last run ended with a clean stop, having absorbed all responses, and no run was begun since (each
        begins a journal file)."""
        return self.image is not None and self.image.meta.get(STOPPED, -2) + 1 == self.next_journal

    @property
    def next_archive(self) -> int:
        """Number for the next archive file, higher than any committed one."""
        return max((int(Path(p).name[:6]) for p in self.mark.lengths if p.startswith(ARCHIVE + "/")), default=-1) + 1

    @property
    def unsealed(self) -> list[int]:
        """Numbers of the journal files to seal, in order."""
        return [s.number for s in self.sources if s.segment is None]

    def effects(self) -> Iterator[Effects]:
        """The effects of all committed records that are not in the image, in order."""
        after = self.image.record if self.image else 0
        for source in self.sources:
            if source.last > after:
                yield from source.effects(self.shard, self.meta.shard, after)


def recover(shard: Path) -> Recovered:
    """Only reads. Raises UsageError if the folder is no collection or has a newer format, GossamerError if it is
    damaged."""
    sealed = manifest.sealed_files(shard)
    contents = manifest.read(shard)
    files = journal_files(shard)
    leftover = [path for number, path in files.items() if number in contents.segments]
    sources = [
        _Source(line["segment"], line["first_record"], line["last_record"], line["last_tick"], line["lengths"], line)
        for line in contents.segments.values()
    ]
    for number, path in files.items():
        found = None if number in contents.segments else _of_journal(number, path)
        if found is not None:
            sources.append(found)
        elif path not in leftover:
            leftover.append(path)
    sources.sort(key=lambda s: s.number)
    mark = _committed(sources, shard)
    unnamed = manifest.lost(sealed, contents.segments)
    lost = [(path, "was sealed, but no line of manifest.jsonl names it") for path in unnamed]
    for path, sign in [*lost, *signs_of_more(shard, contents, files, mark.record)]:
        raise GossamerError(
            f"{shard} is damaged: more was committed than manifest.jsonl and journal/ have: {path} {sign}",
            "Restore manifest.jsonl and journal/ from a backup. Nothing was changed; --repair cannot fix this.",
        )
    warnings: list[str] = []
    return Recovered(
        shard,
        contents.meta,
        mark,
        _image(shard, contents.image, warnings),
        _patience(files, mark),
        warnings,
        sources,
        leftover,
        max([*files, *contents.segments], default=0) + 1,
        contents.image,
    )


def _of_journal(number: int, path: Path) -> _Source | None:
    """The committed records of a journal file; None if it has none."""
    first, mark = records.committed(path) or (0, Mark(-1, 0))
    return _Source(number, first, mark.record, mark.tick, mark.lengths, path=path) if mark.record >= first else None


def _committed(sources: Sequence[_Source], shard: Path) -> Mark:
    """The last commit of all sources, which must follow one another without a gap."""
    record, tick, lengths = 0, 0, dict[str, int]()
    for source in sources:
        if source.first != record + 1:
            raise GossamerError(
                f"{shard} is damaged: records {record + 1} to {source.first - 1} of the journal are missing",
                "A file of journal/ or a line of manifest.jsonl was lost: restore the folder from a backup.",
            )
        record, tick = source.last, source.tick if source.last >= source.first else tick
        lengths |= source.lengths
    return Mark(record, tick, lengths)


def signs_of_more(shard: Path, contents: Contents, files: dict[int, Path], last: int) -> Iterator[tuple[Path, str]]:
    """Signs that records after `last` were committed, so that nothing may be cut: pairs of a file and what it shows."""
    if contents.image is not None and contents.image["record"] > last:
        yield shard / contents.image["image"], f"has the records up to {contents.image['record']}"
    heads = {number: records.read_head(path) for number, path in files.items() if number not in contents.segments}
    for number, head in heads.items():
        before = heads.get(number - 1)
        rotated = before is not None and before.first <= last + 1  # killed between the rotation and its commit
        if head is not None and head.first > last + 1 and not rotated:
            yield files[number], f"begins with record {head.first}"


def _image(shard: Path, line: Line | None, warnings: list[str]) -> Image | None:
    if line is None:
        return None
    try:
        found = image.read(shard, line)
        found.check()
    except (ImageDamagedError, StorageError) as error:
        warnings.append(f"{error.message}; starting from the segments instead, which takes longer")
        return None
    return found


def _patience(files: dict[int, Path], mark: Mark) -> list[Effects]:
    """The records after the mark that no later start has superseded."""
    found: list[Effects] = []
    superseded: float = float("inf")
    for number in sorted(files, reverse=True):
        head = records.read_head(files[number])
        if head is None:
            continue
        these = [
            Effects.decode(r.body)
            for r in records.read(files[number])
            if r.kind is Kind.EFFECTS and mark.record < r.number < superseded
        ]
        found = these + found
        superseded = min(superseded, head.first)
    return found


def cut(recovered: Recovered, patience: Sequence[Effects] = ()) -> Journal:
    """Prepares the folder for a new run and returns its journal, with `patience` already committed in it."""
    shard = recovered.shard
    mark = Mark(recovered.mark.record, recovered.mark.tick)
    opened = journal.begin(shard, recovered.meta.shard, recovered.next_journal, mark, patience)
    for name, length in recovered.mark.lengths.items():
        _cut_file(shard, name, length, recovered.warnings)
    blocks = [path for folder in (URLS, VERSIONS) for path in (shard / folder).glob("*.blocks")]
    growing = [*archive_files(shard).values(), *blocks]
    unknown = [p for p in growing if p.relative_to(shard).as_posix() not in recovered.mark.lengths]
    folders = (*FOLDERS, "graph", "scores", "")
    unfinished = [path for folder in folders for path in (shard / folder).glob("*" + disk.TEMPORARY)]
    superfluous = [*recovered.leftover, *unknown, *unfinished]
    for path in superfluous:
        disk.remove(path)
    for folder in {path.parent for path in superfluous}:
        disk.sync_directory(folder)
    if (shard / IMAGES).is_dir():
        image.clean(shard, recovered.newest)
    return opened


def _cut_file(shard: Path, name: str, length: int, warnings: list[str]) -> None:
    path = shard / name
    archived = name.startswith(ARCHIVE + "/")
    if path.exists():
        size = path.stat().st_size
        if archived and size < length:
            warnings.append(f"{path} has {size} bytes, but {length} were committed: the bodies after them are missing")
        elif size != length:
            disk.truncate(path, length)
    elif archived:
        warnings.append(f"{path} is missing: its visits are known, their bodies are not")
    else:
        cure = "Restore it from a backup, or rebuild it: gossamer verify DIR --repair"
        raise StorageError(f"{path} is missing, and {length} bytes of it were committed", cure)
