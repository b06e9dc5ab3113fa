"""The one module that writes. Every process of a crawl does so through it, and nothing else opens a file to write.

So there is one place that turns an `OSError` into a sentence with a cure (`StorageError`), one that knows what has to
be synced for a name or a byte to survive a power cut, and one that can record it all:

With GOSSAMER_RECORD naming a folder, each process appends every operation to a file of its own there: the clock of all
processes (CLOCK_MONOTONIC, ns) before and after it, what it was, the path, the data. `read_recordings` merges them by
the end of each. A sync vouches only for what had *ended* before it began, which is why both times are kept. A test then
plays back every prefix of a crawl's writes with the unsynced ones lost.

Rules of durability, kept here so that callers need not: a new file's name is synced with its first sync; a file that is
replaced is written beside (`.tmp`), synced, renamed, and the folder synced; after a sync has failed the file is never
believed again (the kernel may have dropped the pages and would report success the next time).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.base.errors import StorageError

TEMPORARY: Final = ".tmp"
"""How the name of a file ends that is being written; what bears it after a crash is thrown away."""

Data = bytes | bytearray | memoryview

_CURES: Final = {
    errno.ENOSPC: "The disk is full: make room, or move the collection to a larger one, and start again.",
    errno.EDQUOT: "Your quota on this disk is used up: make room or have it raised, and start again.",
    errno.EROFS: "The disk is mounted read-only: mount it for writing, or use a folder elsewhere.",
    errno.EACCES: "You may not write here: change the folder's owner or permissions, or use another folder.",
    errno.EPERM: "You may not write here: change the folder's owner or permissions, or use another folder.",
    errno.EMFILE: "Too many open files: raise the limit (`ulimit -n 4096`), or lower harvester.connections.",
    errno.ENFILE: "The system has too many open files: raise fs.file-max, or end other programs.",
    errno.EIO: "The disk reports a fault: look at the system's log (`dmesg`), and copy the collection elsewhere.",
    errno.EFBIG: "The file is larger than the disk's format or `ulimit -f` allows: raise the limit, and start again.",
    errno.ENOENT: "A folder of the path is missing: was the collection moved or removed while it was in use?",
    errno.EEXIST: "A file has the name of a folder that is needed: move it away, or name another folder.",
    errno.ENOTDIR: "A part of the path is a file, not a folder: name another folder.",
    errno.ENOMEM: "Memory is used up: end other programs, or lower collection.max_pages.",
}


@contextmanager
def naming(doing: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError inside into a StorageError: `doing` as in "write", and the path. For reading too."""
    try:
        yield
    except OSError as error:
        cure = _CURES.get(error.errno or 0, "All that was committed before is intact; start again when this is mended.")
        raise StorageError(f"cannot {doing} {os.fspath(path)}: {error.strerror or error}", cure) from error


class Appender:
    """A file that only grows at its end (and is cut by `truncate`).

    An append is whole or not there: when it fails half-way the file is cut back. `length` counts what this object
    wrote; a file that another process appends to (an archive) is only synced here.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._unnamed = not self.path.exists()
        self._failed = False
        with naming("open", path), _noted("create" if self._unnamed else "", self.path):
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            self.length = os.fstat(self._fd).st_size

    def append(self, data: Data) -> int:
        """Hands `data` to the kernel and returns the offset at which it lies. Survives a kill, not yet a power cut."""
        offset = self.length
        try:
            with naming("write", self.path):
                _write(self._fd, self.path, offset, data)
        except StorageError:
            self._cut_back(offset)
            raise
        self.length = offset + memoryview(data).nbytes
        return offset

    def _cut_back(self, length: int) -> None:
        try:
            with _noted("truncate", self.path, length):
                os.ftruncate(self._fd, length)
        except OSError:
            self._failed = True

    def sync(self) -> None:
        """Returns when all that was appended, by whichever process, survives a power cut, and so does the name."""
        if self._failed:
            raise StorageError(f"cannot sync {self.path}: an earlier write failed", _CURES[errno.EIO])
        try:
            with naming("sync", self.path), _noted("sync", self.path):
                os.fdatasync(self._fd)
            if self._unnamed:
                sync_directory(self.path.parent)
        except StorageError:
            self._failed = True
            raise
        self._unnamed = False

    def truncate(self, length: int) -> None:
        with naming("cut", self.path), _noted("truncate", self.path, length):
            os.ftruncate(self._fd, length)
        self.length = length

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            with naming("close", self.path):
                os.close(self._fd)
            self._fd = -1


class Scratch:
    """A file without a name, for what can be made again: it is gone with the process, whatever ends that.

    It is meant to be mapped. What is written to a map must have been taken before: a full disk is then an error here,
    not a signal there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        with naming("open a file in", folder):
            try:
                self._fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError:  # not every file system has such files
                self._fd, name = tempfile.mkstemp(TEMPORARY, dir=folder)
                os.unlink(name)
        weakref.finalize(self, os.close, self._fd)

    def take(self, start: int, size: int) -> None:
        with naming("write in", self.folder):
            os.posix_fallocate(self._fd, start, size)

    def cut(self, length: int) -> None:
        with naming("cut a file in", self.folder):
            os.ftruncate(self._fd, length)

    def fileno(self) -> int:
        return self._fd


def write_atomic(path: str | os.PathLike[str], *parts: Data) -> None:
    """Makes or replaces a file: whoever opens it, whenever the power goes, finds the old content or all of the new."""
    path = Path(path)
    beside = path.with_name(path.name + TEMPORARY)
    write_synced(beside, *parts)
    rename(beside, path)
    sync_directory(path.parent)


def write_synced(path: str | os.PathLike[str], *parts: Data) -> None:
    """Writes a file and syncs its content, not its name: for files whose folder is renamed and synced later."""
    path = Path(path)
    with naming("open", path), _noted("create", path, empties=True):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        offset = 0
        with naming("write", path):
            for part in parts:
                offset += _write(fd, path, offset, part)
        with naming("sync", path), _noted("sync", path):
            os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Makes names that were created, renamed or removed in the folder survive a power cut."""
    with naming("sync", path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _noted("sync_directory", Path(path)):
                os.fsync(fd)
        finally:
            os.close(fd)


def make_directory(path: str | os.PathLike[str]) -> None:
    """Makes the folder and those above it that are missing, and syncs their names."""
    path = Path(path)
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    with naming("make folder", path), _noted("mkdir", path):
        os.mkdir(path)
    sync_directory(path.parent)


def rename(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> None:
    """Within one folder, which the caller syncs."""
    with naming("rename", old), _noted("rename", Path(old), to=os.fspath(new)):
        os.rename(old, new)


def remove(path: str | os.PathLike[str]) -> None:
    """A file, or a folder with all in it. What is not there is no error; the caller syncs the folder above."""
    path = Path(path)
    folder = path.is_dir() and not path.is_symlink()
    if not folder and not os.path.lexists(path):
        return
    with naming("remove", path), _noted("remove", path):
        if folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)


def truncate(path: str | os.PathLike[str], length: int) -> None:
    """Cuts a file and syncs it. One that is shorter already has lost something: an error, never filled up."""
    path = Path(path)
    with naming("cut", path):
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            if size < length:
                raise StorageError(
                    f"{path} has {size} bytes, but {length} were committed",
                    "The disk or a copy lost its end: restore it from a backup, or try: gossamer verify DIR --repair",
                )
            if size > length:
                with _noted("truncate", path, length):
                    os.ftruncate(fd, length)
            with _noted("sync", path):
                os.fsync(fd)
        finally:
            os.close(fd)


def _write(fd: int, path: Path, offset: int, data: Data) -> int:
    """All of `data`, in as many calls as the kernel wants; each part is recorded as it went out."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    done = 0
    while done < len(view):
        start = time.monotonic_ns()
        count = os.write(fd, view[done:])
        _record("write", path, start, offset + done, view[done : done + count])
        done += count
    return done


@dataclass(frozen=True, slots=True)
class Operation:
    """One recorded operation. What it did is not certain before `start`, and is before `end`."""

    start: int
    end: int
    process: int
    kind: str
    """create, write, truncate, sync, rename, remove, mkdir, sync_directory"""
    path: str
    offset: int = 0
    """Of a write; the new length of a truncate; 1 for a create that empties what is there."""
    data: bytes = b""
    to: str = ""


_LENGTHS: Final = struct.Struct("<II")
_recording: tuple[int, int] | None = None
_lock = threading.Lock()


@contextmanager
def _noted(kind: str, path: Path, offset: int = 0, to: str = "", empties: bool = False) -> Iterator[None]:
    start = time.monotonic_ns()
    yield
    if kind:
        _record(kind, path, start, int(empties) or offset, b"", to)


def _record(kind: str, path: Path, start: int, offset: int = 0, data: Data = b"", to: str = "") -> None:
    folder = os.environ.get("GOSSAMER_RECORD")
    if not folder:
        return
    end = time.monotonic_ns()
    fields = [start, end, os.getpid(), kind, os.path.abspath(path), offset, os.path.abspath(to) if to else ""]
    head = json.dumps(fields).encode()
    with _lock:
        os.write(_recording_file(folder), _LENGTHS.pack(len(head), len(data)) + head + data)


def _recording_file(folder: str) -> int:
    """The process's own file; a folder of another name begins another one, as a forked process does."""
    global _recording
    key = hash((folder, os.getpid()))
    if _recording is None or _recording[0] != key:
        name = f"{os.getpid()}-{time.monotonic_ns()}.rec"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        _recording = (key, os.open(os.path.join(folder, name), flags, 0o666))
    return _recording[1]


def read_recordings(folder: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> list[Operation]:
    """All operations recorded in `folder`, in the order of their ends; with `root`, only those below it, with paths
    relative to it. The last one of a process that was killed may be torn, and is left out."""
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
    while at + _LENGTHS.size <= len(raw):
        head, size = _LENGTHS.unpack_from(raw, at)
        at += _LENGTHS.size
        if at + head + size > len(raw):
            return
        start, end, process, kind, path, offset, to = json.loads(raw[at : at + head])
        yield Operation(start, end, process, kind, path, offset, raw[at + head : at + head + size], to)
        at += head + size


def _relative(o: Operation, base: str) -> Operation:
    def short(path: str) -> str:
        return path[len(base) :] if path.startswith(base) else ""

    return Operation(o.start, o.end, o.process, o.kind, short(o.path), o.offset, o.data, short(o.to))
