"""Errors of the system that no layer below has translated: what went wrong, and which limit to raise.

A library reports them where it stands, and there is one such place for every file, thread and process. So the command
line translates what is left over. Anything else is a fault of Gossamer, and its traceback is needed.
"""

from __future__ import annotations

import errno
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError

COMMITTED: Final = "What was committed stays on disk: `gossamer verify DIR` checks it."
_PROCESSES: Final = "Raise the limit of processes (`ulimit -u`), end other programs, or lower harvester.workers."
_STACK: Final = "Raise the limit of the stack (`ulimit -s 8192`), and start again."


def translated(error: BaseException) -> GossamerError | None:
    """The error to print; None if it is a fault of Gossamer."""
    if isinstance(error, MemoryError):
        cure = "Lower collection.max_pages or use a larger machine, then start again."
        return StorageError(f"out of memory. {COMMITTED}", cure)
    if isinstance(error, RecursionError):
        return StorageError("the stack is too small", _STACK)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return StorageError("no further thread can be started", _PROCESSES)
    if isinstance(error, BlockingIOError) or (isinstance(error, OSError) and error.errno == errno.EAGAIN):
        return StorageError(f"no further process can be started: {error.strerror or error}", _PROCESSES)
    if isinstance(error, OSError):
        what = f" {error.filename}" if error.filename else ""
        return StorageError(f"cannot use{what}: {error.strerror or error}", disk.cure_of(error))
    if isinstance(error, ImportError) and isinstance(error.__cause__ or error.__context__, OSError):
        return translated(error.__cause__ or error.__context__ or error)
    return None
