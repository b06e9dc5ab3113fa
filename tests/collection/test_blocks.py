"""Block files: every text can be read by its number, at any time, from any thread, after any cut."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, StorageError
from gossamer.collection.blocks import CACHED, PER_BLOCK, BlockFile


def urls(count: int, start: int = 0) -> list[bytes]:
    return [b"http://www.site%d.example/path/%d.html" % (i % 7, i) for i in range(start, start + count)]


@given(st.lists(st.lists(st.binary(max_size=5) | st.just(b"\n"), max_size=90), max_size=5))
@settings(max_examples=60, deadline=None)
def test_every_text_is_read_as_it_was_appended(batches: list[list[bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = BlockFile(Path(folder) / "a.blocks")
        every: list[bytes] = []
        for batch in batches:
            assert file.append(batch) == len(every)
            every += batch
        assert file.count == len(every)
        assert [file.read(i) for i in range(len(every))] == every
        assert file.read_many(range(len(every) - 1, -1, -1)) == every[::-1]
        file.close()


def test_only_full_blocks_are_in_the_file_and_a_replay_restores_the_rest(tmp_path: Path) -> None:
    every = urls(1000)
    file = BlockFile(tmp_path / "a.blocks")
    file.append(every)
    tail = file.tail()
    file.close()
    again = BlockFile(tmp_path / "a.blocks")
    assert again.count == 1000 // PER_BLOCK * PER_BLOCK
    again.put(0, every[:300])
    again.put(300, every[300:990])
    again.put(950, every[950:])
    assert again.count == 1000
    assert again.tail() == tail
    assert again.read_many(range(1000)) == every
    with pytest.raises(GossamerError, match="has 1000 texts, so number 1002"):
        again.put(1002, [b"x"])
    again.close()


def test_a_replay_onto_a_file_cut_to_any_earlier_length_makes_the_same_file(tmp_path: Path) -> None:
    every = urls(500)
    file = BlockFile(tmp_path / "a.blocks")
    lengths = []
    for text in every:
        file.append([text])
        lengths.append(file.length)
    file.close()
    whole = (tmp_path / "a.blocks").read_bytes()
    assert len(set(lengths)) > 1
    for length in sorted(set(lengths)):
        (tmp_path / "b.blocks").write_bytes(whole[:length])
        again = BlockFile(tmp_path / "b.blocks")
        again.put(0, every)
        assert again.read_many(range(500)) == every
        again.close()
        assert (tmp_path / "b.blocks").read_bytes() == whole


def test_truncate_cuts_to_a_length_that_the_file_once_had(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "a.blocks")
    file.append(urls(100))
    length, tail = file.length, file.tail()
    file.append(urls(300, 100))
    file.truncate(length, tail)
    assert file.count == 100
    file.append(urls(50, 7000))
    assert file.read_many(range(150)) == urls(100) + urls(50, 7000)
    with pytest.raises(GossamerError, match="no block that ends"):
        file.truncate(length + 1)
    file.close()


def test_offsets_from_an_image_save_the_scan_and_need_not_be_the_newest(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "a.blocks")
    file.append(urls(640))
    early = file.offsets()
    file.append(urls(1280, 640))
    now = file.offsets()
    file.close()
    too_far = np.append(now, now[-1] + np.uint64(100))
    for offsets in (None, early, now, too_far):
        again = BlockFile(tmp_path / "a.blocks", offsets)
        assert np.array_equal(again.offsets(), now)
        assert again.read_many([0, 639, 640, 1919]) == [urls(1, i)[0] for i in (0, 639, 640, 1919)]
        again.close()


def test_damaged_and_torn_files_are_reported_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.blocks"
    file = BlockFile(path)
    file.append(urls(192))
    middle = int(file.offsets()[1])
    file.close()
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[middle + 20] ^= 1
    path.write_bytes(damaged)
    file = BlockFile(path)
    assert file.read(5) == urls(1, 5)[0]
    with pytest.raises(GossamerError, match=f"damaged at byte {middle}"):
        file.read(70)
    file.close()
    for torn in (whole[:-1], whole + b"\0\0\0"):
        path.write_bytes(torn)
        with pytest.raises(GossamerError, match="last block is incomplete"):
            BlockFile(path)
    path.write_bytes(b"something else than texts")
    with pytest.raises(GossamerError, match="not a block file"):
        BlockFile(path)


def test_a_disk_that_cannot_be_read_is_reported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BlockFile(tmp_path / "a.blocks")
    file.append(urls(PER_BLOCK))

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(StorageError, match=r"cannot read .*a\.blocks") as raised:
        file.read(1)
    assert "dmesg" in raised.value.cure
    file.close()


def test_an_unknown_number_is_refused(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "a.blocks")
    file.append(urls(70))
    for number in (70, 1000):
        with pytest.raises(GossamerError, match=f"no text {number}"):
            file.read(number)
    file.close()


def test_readers_in_other_threads_see_every_text(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "a.blocks")
    every = urls(20_000)
    wrong: list[int] = []
    done = threading.Event()

    def read() -> None:
        rng = np.random.default_rng(threading.get_ident())
        while not done.is_set():
            if known := file.count:
                number = int(rng.integers(max(0, known - 200), known))
                if file.read(number) != every[number] or file.read_many([number]) != [every[number]]:
                    wrong.append(number)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(0, len(every), 37):
        file.append(every[start : start + 37])
    done.set()
    for thread in threads:
        thread.join()
    file.close()
    assert wrong == []


def test_cached_blocks_equal_those_in_the_file(tmp_path: Path) -> None:
    """Also with more blocks than are cached, and after a cut that is followed by other texts."""
    file = BlockFile(tmp_path / "x")
    texts = [b"%d" % number for number in range((CACHED + 3) * PER_BLOCK)]
    file.append(texts)
    wanted = list(range(0, len(texts), 31))
    for _ in range(2):
        assert file.read_many(wanted) == [texts[number] for number in wanted]
    file.truncate(int(file.offsets()[1]))
    others = texts[:PER_BLOCK] + [b"other %d" % number for number in range(PER_BLOCK)]
    file.append(others[PER_BLOCK:])
    assert file.read_many(range(2 * PER_BLOCK)) == others
    file.close()
