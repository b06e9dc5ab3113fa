"""Compares the files that readers use with their checksums, each file once for each modification.

A file is read and compared, unless this user has compared it before and nothing was written to it since: it has the
same inode, size, times (of modification and of change) and checksum. Files that were compared are listed in the user's
cache, not in the collection: others may write there, and nobody takes another's word. A list in a folder that others
may write to is ignored.

Invariants, each a test of the same name: a changed file is compared again; a list that others may write is not used;
no damaged list hides a damaged file.

Cost: 10 µs for a file that was compared before. The comparison itself is about as fast as reading; files below `SMALL`
are compared each time. What a failing disk changes later, without a write, is found by `gossamer verify`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import xxhash

from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError

SMALL: Final = 1 << 16
"""Files below this size are not listed: comparing them takes as long as looking them up."""
KEPT: Final = 90 * 86_400.0
"""Seconds after which a list that was not used is removed."""
_PIECE: Final = 1 << 20
CURE: Final = (
    "Restore it from a backup; `gossamer verify` reports what else is damaged, and --unchecked reads it as it is."
)


class Checked:
    """The files of one shard that were compared."""

    def __init__(self, shard: Path, unchecked: bool = False) -> None:
        """`unchecked`: compare nothing."""
        self._shard, self._unchecked = shard, unchecked
        self._listed: dict[str, str] | None = None
        self._list: disk.Appender | None = None
        self._here = set[tuple[Path, str]]()

    def require(self, path: Path, size: int, checksum: str) -> None:
        """Returns if the file has this size and checksum (xxh3); otherwise GossamerError."""
        self.require_by(path, checksum, lambda: compare(path, size, checksum))

    def require_by(self, path: Path, known_as: str, check: Callable[[], None]) -> None:
        """Calls `check`, which raises if the file is damaged, unless it was called for this file before. `known_as`
        stands for what it checks."""
        if self._unchecked or (path, known_as) in self._here:
            return
        with disk.naming("read", path):
            before = path.stat()
        stamp = _stamp(before, known_as)
        name = path.relative_to(self._shard).as_posix()
        if before.st_size < SMALL:
            check()
        elif self._known().get(name) != stamp:
            check()
            with disk.naming("read", path):
                unchanged = _stamp(path.stat(), known_as) == stamp
            if unchanged and self._list is not None:
                with suppress(StorageError):
                    self._list.append(f"{stamp} {name}\n".encode())
        self._here.add((path, known_as))

    def _known(self) -> dict[str, str]:
        if self._listed is None:
            self._listed = {}
            with suppress(OSError, StorageError):
                path = _private_folder() / f"{xxhash.xxh3_64_hexdigest(str(self._shard.resolve()).encode())}.txt"
                if not path.exists():
                    _remove_old(path.parent)
                self._list = disk.Appender(path)
                os.utime(path)
                for line in path.read_text(errors="replace").splitlines():
                    stamp, _, name = line.partition(" ")
                    self._listed[name] = stamp
        return self._listed


def compare(path: Path, size: int, checksum: str) -> None:
    """Reads the file and compares it with what the manifest says of it."""
    compare_any(path, [(size, checksum)])


def compare_any(path: Path, sums: Sequence[tuple[int, str]]) -> None:
    """The same, for a file that may be any of several."""
    digest, found = xxhash.xxh3_64(), 0
    with disk.naming("read", path), path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            found += len(piece)
    if found not in [size for size, _ in sums]:
        raise GossamerError(f"{path} is damaged: it has {found} bytes, but {sums[0][0]} were written", CURE)
    if (found, digest.hexdigest()) not in sums:
        raise GossamerError(f"{path} is damaged: its checksum is not the one that was stored when it was written", CURE)


def _stamp(found: os.stat_result, known_as: str) -> str:
    facts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, known_as)
    return xxhash.xxh3_64_hexdigest(repr(facts).encode())


def _private_folder() -> Path:
    """The folder of the lists; OSError if it is not this user's alone."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "gossamer" / "checked"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private")
    return folder


def _remove_old(folder: Path) -> None:
    for path in folder.glob("*.txt"):
        if path.stat().st_mtime < time.time() - KEPT:
            path.unlink()
