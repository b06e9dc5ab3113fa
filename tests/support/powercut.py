"""A model of a disk that loses power: it replays recorded operations and creates what a power cut may leave.

    model = Disk()
    for operation in read_recordings(tape, root):
        model.apply(operation)
        model.leave(folder, Loss.DROPPED, random.Random(1))      # what a power cut at this point may leave

The model guarantees only this: a sync of a file keeps every byte whose write had ended before the sync began; a sync of
a folder keeps the names in it. Everything else may be there, be missing, or be there in part. Writes to a file may be
lost out of order (zeros remain in between); changes of names in one folder are kept or lost in their order,
independently of other folders: a file that was moved to another folder may be in both, or in none. A file whose name
was not synced is lost, even if its bytes were synced.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import xxhash

from gossamer.base.disk import RECORDED

Tree = Mapping[str, "bytes | Tree"]
"""The files and folders of a folder."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One recorded operation. Its effect began after `start` and was complete before `end`."""

    start: int
    end: int
    process: int
    kind: str
    """create, write, truncate, sync, rename, remove, mkdir, sync_directory"""
    path: str
    offset: int = 0
    """Offset of a write; new length for a truncate; 1 for a create that empties an existing file."""
    data: bytes = b""
    to: str = ""


class Loss(Enum):
    """What happens to unsynced data."""

    KEPT = "all of it is there"
    DROPPED = "none of it is there"
    TORN = "all is there but the last write to each file, which is there in part"
    MIXED = "each write and each change of a name by chance"


@dataclass(slots=True)
class _Change:
    end: int
    offset: int
    data: bytes
    cut: bool = False
    """Whether this is a truncate to `offset` instead of a write."""

    def apply(self, content: bytearray) -> None:
        if self.cut:
            del content[self.offset :]
        content += bytes(max(0, self.offset - len(content)))
        if not self.cut:
            content[self.offset : self.offset + len(self.data)] = self.data


@dataclass(slots=True)
class _File:
    synced: bytearray = field(default_factory=bytearray)
    changes: list[_Change] = field(default_factory=list)

    def sync(self, start: int) -> None:
        for change in [c for c in self.changes if c.end <= start]:
            change.apply(self.synced)
        self.changes = [c for c in self.changes if c.end > start]

    def left(self, loss: Loss, rng: random.Random) -> bytes:
        content = bytearray(self.synced)
        for number, change in enumerate(self.changes, 1):
            last = number == len(self.changes)
            torn = _Change(0, change.offset, change.data[: rng.randrange(len(change.data) + 1)], change.cut)
            chosen = {
                Loss.KEPT: change,
                Loss.DROPPED: None,
                Loss.TORN: (None if change.cut else torn) if last else change,
                Loss.MIXED: rng.choice([change, None, torn]),
            }[loss]
            if chosen is not None:
                chosen.apply(content)
        return bytes(content)


@dataclass(slots=True)
class _Naming:
    end: int
    name: str
    node: _File | _Folder | None
    """None: the name is removed."""
    old: str = ""
    """For a rename: the name that is removed at the same moment."""

    def apply(self, names: dict[str, _File | _Folder]) -> None:
        names.pop(self.old, None)
        if self.node is None:
            names.pop(self.name, None)
        else:
            names[self.name] = self.node


@dataclass(slots=True)
class _Folder:
    synced: dict[str, _File | _Folder] = field(default_factory=dict)
    changes: list[_Naming] = field(default_factory=list)
    now: dict[str, _File | _Folder] = field(default_factory=dict)
    """The names as programs see them."""

    def change(self, naming: _Naming) -> None:
        self.changes.append(naming)
        naming.apply(self.now)

    def sync(self, start: int) -> None:
        while self.changes and self.changes[0].end <= start:
            self.changes.pop(0).apply(self.synced)

    def left(self, loss: Loss, rng: random.Random) -> dict[str, _File | _Folder]:
        count = len(self.changes)
        kept = {Loss.KEPT: count, Loss.DROPPED: 0, Loss.TORN: count, Loss.MIXED: rng.randint(0, count)}[loss]
        names = dict(self.synced)
        for naming in self.changes[:kept]:
            naming.apply(names)
        return names


class Disk:
    """The state after the operations applied so far. It starts with a root folder that has the files of `found`."""

    def __init__(self, found: Path | None = None) -> None:
        self.root = _loaded(found) if found else _Folder()

    def apply(self, operation: Operation) -> None:
        folder, name = self._folder(operation.path)
        node = folder.now.get(name) if name else self.root
        match operation.kind:
            case "create" if operation.offset and isinstance(node, _File):
                node.changes.append(_Change(operation.end, 0, b"", cut=True))
            case "create":
                folder.change(_Naming(operation.end, name, _File()))
            case "mkdir":
                folder.change(_Naming(operation.end, name, _Folder()))
            case "remove":
                folder.change(_Naming(operation.end, name, None))
            case "rename":
                target, new = self._folder(operation.to)
                target.change(_Naming(operation.end, new, node, name if target is folder else ""))
                if target is not folder:
                    folder.change(_Naming(operation.end, name, None))
            case "write" | "truncate":
                assert isinstance(node, _File), operation.path
                cut = operation.kind == "truncate"
                node.changes.append(_Change(operation.end, operation.offset, operation.data, cut))
            case "sync" | "sync_directory":
                assert node is not None, operation.path
                node.sync(operation.start)
            case other:
                raise AssertionError(f"unknown operation {other}")

    def _folder(self, path: str) -> tuple[_Folder, str]:
        folder = self.root
        *above, name = path.split("/")
        for part in above:
            found = folder.now[part]
            assert isinstance(found, _Folder)
            folder = found
        return folder, name

    def leave(self, folder: Path, loss: Loss, rng: random.Random) -> None:
        """Writes to `folder` (empty or missing) what a power cut may leave."""
        write(self.left(loss, rng), folder)

    def left(self, loss: Loss, rng: random.Random) -> Tree:
        """What a power cut may leave."""
        return _left(self.root, loss, rng)


def _left(node: _Folder, loss: Loss, rng: random.Random) -> Tree:
    return {
        name: _left(child, loss, rng) if isinstance(child, _Folder) else child.left(loss, rng)
        for name, child in node.left(loss, rng).items()
    }


def write(tree: Tree, folder: Path) -> None:
    """Writes all of it to `folder` (empty or missing)."""
    folder.mkdir(exist_ok=True)
    for name, child in tree.items():
        if isinstance(child, bytes):
            (folder / name).write_bytes(child)
        else:
            write(child, folder / name)


def digest_of(tree: Tree) -> str:
    """The same for trees of the same names and bytes, and for no others."""
    found = xxhash.xxh3_128()
    for name, child in sorted(tree.items()):
        is_file = isinstance(child, bytes)
        held = xxhash.xxh3_128_hexdigest(child) if isinstance(child, bytes) else digest_of(child)
        found.update(f"{name}\0{is_file}\0{held}\0".encode())
    return found.hexdigest()


def _loaded(path: Path) -> _Folder:
    names = {p.name: _loaded(p) if p.is_dir() else _File(bytearray(p.read_bytes())) for p in path.iterdir()}
    return _Folder(dict(names), [], dict(names))


def read_recordings(folder: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> list[Operation]:
    """All operations recorded in `folder`, ordered by end time; with `root`, only those below it, with paths relative
    to it. The last operation of a killed process may be torn, and is left out."""
    found: list[Operation] = []
    for path in sorted(Path(folder).glob("*.rec")):
        found += _recorded_in(path.read_bytes())
    found.sort(key=lambda o: (o.end, o.start))
    if root is None:
        return found
    base = os.path.abspath(root) + os.sep
    return [_relative(o, base) for o in found if (o.path + os.sep).startswith(base)]


def _recorded_in(raw: bytes) -> Iterator[Operation]:
    at = 0
    while at + RECORDED.size <= len(raw):
        head, size = RECORDED.unpack_from(raw, at)
        at += RECORDED.size
        if at + head + size > len(raw):
            return
        start, end, process, kind, path, offset, to = json.loads(raw[at : at + head])
        yield Operation(start, end, process, kind, path, offset, raw[at + head : at + head + size], to)
        at += head + size


def _relative(o: Operation, base: str) -> Operation:
    def short(path: str) -> str:
        return path[len(base) :] if path.startswith(base) else ""

    return Operation(o.start, o.end, o.process, o.kind, short(o.path), o.offset, o.data, short(o.to))
