"""Errors of the system that nothing else has translated name the limit to raise; faults keep their traceback."""

from __future__ import annotations

import errno
import os

import pytest

from gossamer.base.errors import StorageError
from gossamer.cli.limits import translated


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "ulimit -n"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/c/shard-000/warc"), "/c/shard-000/warc"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "ulimit -u"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (RecursionError("maximum recursion depth exceeded"), "ulimit -s"),
        (MemoryError(), "gossamer verify"),
    ],
)
def test_the_limit_to_raise_is_named(error: BaseException, words: str) -> None:
    told = translated(error)
    assert isinstance(told, StorageError)
    assert words in f"{told.message} {told.cure}"
    assert told.cure
    assert "intact" not in f"{told.message} {told.cure}"


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), RuntimeError("x"), AssertionError()])
def test_a_fault_of_gossamer_keeps_its_traceback(error: BaseException) -> None:
    assert translated(error) is None
