"""The one module that writes files. Every process of a crawl writes through it; nothing else opens a file to write.

So a single place turns an `OSError` into a sentence with a cure (`StorageError`), knows what has to be synced for a
name or a byte to survive a power cut, and can record every write:

If GOSSAMER_RECORD names a folder, each process appends every operation to its own file there: the time before and after
it (CLOCK_MONOTONIC in ns, which all processes share), its kind, the path, the data. A sync covers only operations that
had *ended* before it began, which is why both times are kept. A test plays back every prefix of a crawl's writes with
the unsynced ones lost (`tests/support/powercut.py`).

Rules of durability, kept here so that callers need not care: a new file's name is synced with its first sync; a file is
replaced by writing a temporary file (`.tmp`), syncing it, renaming it and syncing the folder; after a sync has failed,
the file is never trusted again (the kernel may have dropped the pages, and would report success the next time).

No file is written through a symbolic link: a link in place of a file, left by an accident or by another user, would
lead the write out of the collection. Folders may be links (an archive on another disk), and readers follow all links.
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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.base.errors import StorageError

TEMPORARY: Final = ".tmp"
"""Suffix of files that are being written; after a crash, files with it are removed."""

Data = bytes | bytearray | memoryview

_CURES: Final = {
    errno.ENOSPC: "The disk is full: make room, or move the collection to a larger one, and start again.",
    errno.EDQUOT: "Your quota on this disk is used up: make room or have the quota raised, and start again.",
    errno.EROFS: "The disk is mounted read-only: mount it for writing, or use a folder elsewhere.",
    errno.EACCES: "You may not write here: change the folder's owner or permissions, or use another folder.",
    errno.EPERM: "You may not write here: change the folder's owner or permissions, or use another folder.",
    errno.EMFILE: "Too many open files: raise the limit (`ulimit -n 4096`), or lower harvester.connections.",
    errno.ENFILE: "The system has too many open files: raise fs.file-max, or end other programs.",
    errno.EIO: "The disk reports an error: check the system log (`dmesg`), and copy the collection to another disk.",
    errno.EFBIG: "The file is larger than the disk's format or `ulimit -f` allows: raise the limit, and start again.",
    errno.ENOENT: "A folder of the path is missing: was the collection moved or removed while it was in use? If it is"
    " put back, the same command resumes the crawl from its last commit.",
    errno.EEXIST: "A file has the name of a folder that is needed: move it away, or name another folder.",
    errno.ENOTDIR: "A part of the path is a file, not a folder: name another folder.",
    errno.ELOOP: "The file is a symbolic link, and nothing is written through one: put the file itself in its place. A "
    "whole folder may be a link.",
    errno.ENOMEM: "Memory is used up: end other programs, or lower collection.max_pages.",
}

_OWN: Final = os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags of every file that is written."""


@contextmanager
def naming(doing: str, path: Path | str) -> Iterator[None]:
    """Turns an OSError into a StorageError that names the operation (`doing`, such as "write") and the path. Also for
    reading."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {doing} {path}: {error.strerror or error}", cure_of(error)) from error


def cure_of(error: OSError) -> str:
    """What to do about an error of the system."""
    return _CURES.get(
        error.errno or 0, "Start again when this is fixed; `gossamer verify DIR` checks what was committed."
    )


class Appender:
    """A file that only grows at its end (and is cut by `truncate`).

    An append is complete or leaves nothing: if it fails half-way, the file is cut back. `length` counts what this
    object wrote; a file that another process appends to (an archive) is only synced here.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._unnamed = not self.path.exists()
        self._failed = False
        with naming("open", path), _noted("create" if self._unnamed else "", self.path):
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _OWN, 0o666)
            self.length = os.fstat(self._fd).st_size

    def append(self, data: Data) -> int:
        """Hands `data` to the kernel and returns its offset in the file. It survives a kill, but not yet a power
        cut."""
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
        """Returns when everything appended, by any process, survives a power cut, and the name too."""
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
    """A file without a name, for data that can be made again: it vanishes when the process ends, in whatever way.

    It is meant to be mapped into memory. Space must be reserved with `take` before it is written through the map: then
    a full disk is an error here, not a signal there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with naming("open a file in", folder):
            try:
                self._fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError:  # not every file system has such files
                self._fd, name = tempfile.mkstemp(TEMPORARY, dir=folder)
                os.unlink(name)
        _scratches.append(weakref.finalize(self, os.close, self._fd))

    def take(self, start: int, size: int) -> None:
        with naming("write in", self.folder):
            os.posix_fallocate(self._fd, start, size)

    def cut(self, length: int) -> None:
        with naming("cut a file in", self.folder):
            os.ftruncate(self._fd, length)

    def fileno(self) -> int:
        return self._fd


_scratches: Final[list[weakref.finalize[..., Scratch]]] = []


def close_scratches() -> None:
    """Closes all files without a name, whoever still refers to them: at the end of a crawl its frozen objects do."""
    for close in _scratches:
        close()
    _scratches.clear()


def write_atomic(path: Path, *parts: Data, mode: int = 0o666) -> None:
    """Creates or replaces a file: a reader finds the old content or all of the new one, also after a power cut. `mode`:
    who may read and write it, less the umask."""
    temporary = path.with_name(path.name + TEMPORARY)
    write_synced(temporary, *parts, mode=mode)
    rename(temporary, path)
    sync_directory(path.parent)


def write_synced(path: Path, *parts: Data, mode: int = 0o666) -> None:
    """Writes a file and syncs its content, but not its name: for files whose folder is renamed and synced later."""
    with naming("open", path), _noted("create", path, empties=True):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OWN, mode)
    try:
        offset = 0
        with naming("write", path):
            for part in parts:
                offset += _write(fd, path, offset, part)
        with naming("sync", path), _noted("sync", path):
            os.fsync(fd)
    finally:
        os.close(fd)


def overwrite(path: Path, pieces: Iterable[tuple[int, Data]]) -> None:
    """Writes pieces over what is at their offsets, and syncs the file. Its length must not change. A kill may leave
    some of it written, so the caller must be able to do it again."""
    with naming("open", path):
        fd = os.open(path, os.O_WRONLY | _OWN)
    try:
        with naming("write", path):
            for offset, data in pieces:
                os.lseek(fd, offset, os.SEEK_SET)
                _write(fd, path, offset, data)
        with naming("sync", path), _noted("sync", path):
            os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(path: Path) -> None:
    """Makes the names created, renamed or removed in the folder survive a power cut."""
    with naming("sync", path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _noted("sync_directory", path):
                os.fsync(fd)
        finally:
            os.close(fd)


def make_directory(path: Path) -> None:
    """Creates the folder and its missing parents, and syncs their names."""
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    with naming("make folder", path), _noted("mkdir", path):
        os.mkdir(path)
    sync_directory(path.parent)


def rename(old: Path, new: Path) -> None:
    """Renames within one folder, which the caller syncs."""
    with naming("rename", old), _noted("rename", old, to=new):
        os.rename(old, new)


def remove(path: Path) -> None:
    """Removes a file, or a folder with its contents. A missing one is no error. The caller syncs the parent folder."""
    folder = path.is_dir() and not path.is_symlink()
    if not folder and not os.path.lexists(path):
        return
    with naming("remove", path), _noted("remove", path):
        if folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)


def truncate(path: Path, length: int) -> None:
    """Cuts a file and syncs it. A file that is already shorter has lost data: this is an error, it is never
    extended."""
    with naming("cut", path):
        fd = os.open(path, os.O_WRONLY | _OWN)
        try:
            size = os.fstat(fd).st_size
            if size < length:
                raise StorageError(
                    f"{path} has {size} bytes, but {length} were committed",
                    "The end of the file was lost: restore it from a backup, or try: gossamer verify DIR --repair",
                )
            if size > length:
                with _noted("truncate", path, length):
                    os.ftruncate(fd, length)
            with _noted("sync", path):
                os.fsync(fd)
        finally:
            os.close(fd)


def _write(fd: int, path: Path, offset: int, data: Data) -> int:
    """Writes all of `data`, in as many calls as the kernel needs; each call is recorded."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    done = 0
    while done < len(view):
        start = time.monotonic_ns()
        count = os.write(fd, view[done:])
        _record("write", path, start, offset + done, view[done : done + count])
        done += count
    return done


RECORDED: Final = struct.Struct("<II")
"""Head of each recorded operation: the lengths of its fields (JSON) and of its data."""
_recording: tuple[int, int] | None = None
_lock = threading.Lock()


@contextmanager
def _noted(kind: str, path: Path, offset: int = 0, to: Path | None = None, empties: bool = False) -> Iterator[None]:
    start = time.monotonic_ns()
    yield
    if kind:
        _record(kind, path, start, int(empties) or offset, b"", to)


def _record(kind: str, path: Path, start: int, offset: int = 0, data: Data = b"", to: Path | None = None) -> None:
    folder = os.environ.get("GOSSAMER_RECORD")
    if not folder:
        return
    end = time.monotonic_ns()
    fields = [start, end, os.getpid(), kind, os.path.abspath(path), offset, os.path.abspath(to) if to else ""]
    head = json.dumps(fields).encode()
    with _lock:
        os.write(_recording_file(folder), RECORDED.pack(len(head), len(data)) + head + data)


def _recording_file(folder: str) -> int:
    """The recording of this process; another folder, or a fork, begins another one."""
    global _recording
    key = hash((folder, os.getpid()))
    if _recording is None or _recording[0] != key:
        name = f"{os.getpid()}-{time.monotonic_ns()}.rec"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        _recording = (key, os.open(os.path.join(folder, name), flags, 0o666))
    return _recording[1]
