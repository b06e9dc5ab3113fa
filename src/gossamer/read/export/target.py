"""The file of an export: it gets its name when it is complete, and is compressed according to that name."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

import zstandard

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.read.sql.sources import Sources, find, nothing_sealed, unsealed

STANDARD: Final = Path("-")
_LEVEL: Final = 6


def sources_of(folder: Path, fresh: bool, unchecked: bool = False) -> Sources:
    """The files to export. An empty export is refused."""
    sources = find(folder, fresh, unchecked)
    note = nothing_sealed(sources)
    if note:
        cure = "Add --fresh to read the journal too, or export after the crawl has stopped."
        raise UsageError(f"there is nothing to export: {note}", cure if not fresh else "Nothing was crawled yet.")
    return sources


def left_in_journal(sources: Sources, fresh: bool) -> bool:
    """Whether there is committed data that an export without `fresh` leaves out."""
    return not fresh and any(part.bodies for part in unsealed(sources.shard, sources.contents.segments) or ())


@contextmanager
def whole(path: Path, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, which gets its name only if nothing fails. `-` is standard output."""
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file", "Name a file; - writes to standard output, and so to a pipe.")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "Name another file, or overwrite it with --force.")
    temporary = path.with_name(path.name + disk.TEMPORARY)
    try:
        with disk.naming("write", path), open(temporary, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        disk.remove(temporary)
        raise
    disk.rename(temporary, path)
    disk.sync_directory(path.absolute().parent)


@contextmanager
def compressed(path: Path, force: bool) -> Iterator[IO[bytes]]:
    """The same as `whole`, through gzip (.gz) or zstd (.zst)."""
    with whole(path, force) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif path.suffix == ".zst":
            with zstandard.ZstdCompressor(level=_LEVEL).stream_writer(file, closefd=False) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield file
