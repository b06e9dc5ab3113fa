"""Files with a bad sector: a file system of our own (FUSE) fails with EIO where a disk would, and the kernel does the
rest, for every reader and every library.

`python -m tests.support.bad_sectors PLACE FILE OFFSET` mounts PLACE, in which the file `bad` has the bytes of FILE, and
no read of the sector at OFFSET succeeds. It ends when PLACE is unmounted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT

SECTOR: Final = 512
_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _RELEASE, _FLUSH, _INIT, _OPENDIR, _READDIR = (
    1,
    2,
    3,
    14,
    15,
    18,
    25,
    26,
    27,
    28,
)
_RELEASEDIR, _ACCESS, _INTERRUPT, _DESTROY, _BATCH_FORGET = 29, 34, 36, 38, 42
_SILENT: Final = (_FORGET, _BATCH_FORGET, _INTERRUPT)
"""Requests that have no answer."""
_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_ATTRIBUTES: Final = struct.Struct("<6Q10I")
_ENTRY: Final = struct.Struct("<4Q2I")
_ROOT, _FILE = 1, 2
_READ_ONLY: Final = 1
_FOR_EVER: Final = 1 << 20
NAME: Final = "bad"


class _Disk:
    def __init__(self, raw: bytes, offset: int) -> None:
        self._raw = raw
        self._bad = range(offset // SECTOR * SECTOR, offset // SECTOR * SECTOR + SECTOR)

    def answer(self, kind: int, node: int, body: bytes) -> bytes | int:
        """What a request is answered with, or the number of an error."""
        if kind == _INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 1 << 16, 1, 1, 0, *[0] * 8)
        if kind == _LOOKUP:
            if body.rstrip(b"\0") != NAME.encode():
                return errno.ENOENT
            return _ENTRY.pack(_FILE, 0, _FOR_EVER, _FOR_EVER, 0, 0) + self._attributes(_FILE)
        if kind == _GETATTR:
            return struct.pack("<QII", _FOR_EVER, 0, 0) + self._attributes(node)
        if kind in (_OPEN, _OPENDIR):
            return bytes(16)
        if kind == _READ:
            _, at, size = struct.unpack_from("<QQI", body)
            end = min(at + size, len(self._raw))
            return errno.EIO if at < self._bad.stop and self._bad.start < end else self._raw[at:end]
        return b"" if kind in (_READDIR, _RELEASE, _RELEASEDIR, _FLUSH, _ACCESS, _DESTROY) else errno.ENOSYS

    def _attributes(self, node: int) -> bytes:
        mode, size = (stat.S_IFREG | 0o444, len(self._raw)) if node == _FILE else (stat.S_IFDIR | 0o555, 0)
        return _ATTRIBUTES.pack(node, size, size // SECTOR + 1, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def serve(place: str, raw: bytes, offset: int) -> None:
    disk, fd = _Disk(raw, offset), os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"bad", place.encode(), b"fuse", _READ_ONLY, options):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    print("ready", flush=True)
    while True:
        try:
            request = os.read(fd, 1 << 18)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT):
                continue
            return  # ENODEV: it was unmounted
        _, kind, number, node, *_ = _IN.unpack_from(request)
        if kind in _SILENT:
            continue
        told = disk.answer(kind, node, request[_IN.size :])
        body, wrong = (b"", -told) if isinstance(told, int) else (told, 0)
        os.write(fd, _OUT.pack(_OUT.size + len(body), wrong, number) + body)


@contextmanager
def bad_sector(path: Path, offset: int, work: Path) -> Iterator[None]:
    """While in it, the sector of the file at `offset` cannot be read; skips the test where nothing may be mounted.
    `work`: an empty folder."""
    command = [sys.executable, "-m", __name__, str(work), str(path), str(offset)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    assert server.stdout is not None
    try:
        if server.stdout.readline() != "ready\n":
            import pytest  # the server needs none

            pytest.skip(f"no file system can be mounted here: {server.communicate()[1].strip().splitlines()[-1]}")
        subprocess.run(["mount", "--bind", work / NAME, path], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", path], check=True)
    finally:
        subprocess.run(["umount", "--lazy", work], check=False, capture_output=True)
        server.communicate(timeout=60)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]).read_bytes(), int(sys.argv[3]))
