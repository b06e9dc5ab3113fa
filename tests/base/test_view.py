"""A file as a row of bytes: what is read, and what happens when the file or the disk fails meanwhile."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base import view
from gossamer.base.errors import StorageError
from gossamer.base.view import viewed
from gossamer.collection.blocks import BlockFile, offsets_until
from gossamer.collection.journal import records

PLACES = st.integers(0, 90)


@given(st.binary(max_size=80), st.lists(st.tuples(PLACES, PLACES), max_size=8), st.integers(1, 100), st.data())
def test_the_view_equals_the_bytes_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, parts: list[tuple[int, int]], ahead: int, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "viewed"
    path.write_bytes(raw)
    length = data.draw(st.none() | st.integers(0, len(raw)))
    wanted = raw[:length]
    with pytest.MonkeyPatch.context() as patch, viewed(path, length) as seen:
        patch.setattr(view, "_AHEAD", ahead)
        assert len(seen) == len(wanted)
        for start, end in parts:
            assert seen[start:end] == wanted[start:end]
            what = data.draw(st.binary(min_size=1, max_size=3) | st.just(wanted[start : start + 3] or b"x"))
            assert seen.find(what, start) == wanted.find(what, start)
            assert seen.find(what, start, end) == wanted.find(what, start, end)


def test_a_file_that_is_cut_under_a_view_is_an_error_and_no_signal(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1_000_000))
    with viewed(path) as seen:
        assert seen[:10] == bytes(10)
        os.truncate(path, 500_000)
        assert len(seen[300_000:310_000]) == 10_000
        with pytest.raises(OSError, match="it was cut before byte 800000 while it was read"):
            seen[800_000:800_010]
    with pytest.raises(OSError, match="it has 500000 bytes, and should have 500001"), viewed(path, 500_001):
        pass


def test_readers_of_journal_and_blocks_name_the_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, blocks = tmp_path / "journal.log", tmp_path / "urls"
    journal.write_bytes(records.header(0, 1, 7) + records.encode(records.Kind.EFFECTS, bytes(8), 7))
    file = BlockFile(blocks)
    file.put(0, [b"%d" % n for n in range(640)])
    file.close()
    assert len(list(records.read(journal))) == 1
    length = blocks.stat().st_size
    assert len(offsets_until(blocks, None, length)) == 11

    def fails(*_: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fails)
    with pytest.raises(StorageError, match=f"cannot read {journal}: Input/output error"):
        list(records.read(journal))
    with pytest.raises(StorageError, match=f"cannot read {blocks}: Input/output error"):
        offsets_until(blocks, None, length)
