"""A disk that fails at any write, sync or rename: the crawl ends with an error, what was committed is complete, the
next run resumes it.

The first test lets the calls fail; the second fills a real, small disk. Archive files on one are in
test_command_line.py, those of a worker in test_pool.py; a log that cannot be written does not end the crawl
(tests/base/test_log.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gossamer.base import disk
from gossamer.base.errors import StorageError
from gossamer.base.model import State
from gossamer.collection import merging
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.recovery import recover
from gossamer.config import dump
from gossamer.read.compact import background
from gossamer.read.verify.verify import verify
from gossamer.webs.simulated import Reply
from tests.support.disks import mounted, remount
from tests.support.reading import committed
from tests.support.world import World, at_processor_speed, merge_here

PAGES = {f"http://s{site}.example/{page}": Reply(seconds=0.1) for site in range(3) for page in range(8)}
QUICK = ["harvester.wait=1s", "harvester.address_wait=0s", "collection.seal_visits=12"]


@contextmanager
def failing(at: int, code: int) -> Iterator[list[str]]:
    """From the operation with this number on, the disk fails; yields the names of the files for which it failed."""
    seen: list[str] = []
    count = 0

    def wrapped(real: Callable[..., Any], name: Callable[..., Path]) -> Callable[..., Any]:
        def work(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count >= at:
                seen.append(name(*arguments).name)
                raise OSError(code, os.strerror(code))
            return real(*arguments)

        return work

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "_write", wrapped(disk._write, lambda fd, path, *_: path))
        patch.setattr(os, "rename", wrapped(os.rename, lambda old, new: Path(new)))
        patch.setattr(os, "fdatasync", wrapped(lambda fd: None, lambda fd: Path("synced")))
        yield seen


def operations(folder: Path) -> int:
    """Number of disk operations of a whole run."""
    with at_processor_speed(), failing(1 << 30, 0):
        count = 0
        real = disk._write

        def counted(*arguments: Any) -> int:
            nonlocal count
            count += 1
            return real(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(disk, "_write", counted)
            World(folder, PAGES, QUICK).run(list(PAGES))
    return count


def test_whenever_the_disk_fails_the_crawl_ends_with_an_error_and_the_next_run_resumes_it(tmp_path: Path) -> None:
    most = operations(tmp_path / "counted")
    assert most > 40
    failed: set[str] = set()
    places = [1 + (i * most) // 6 for i in range(6)] + [most - 1]
    for at, code in zip(places, cycle((errno.ENOSPC, errno.EDQUOT, errno.EIO)), strict=False):
        folder = tmp_path / f"{at}"
        world = World(folder, PAGES, QUICK)
        with at_processor_speed():
            with failing(at, code) as seen, pytest.raises(StorageError) as error:
                world.run(list(PAGES))
            assert os.strerror(code) in error.value.message
            assert error.value.cure == disk._CURES[code]
            failed.update(seen)
            before = [e.encode() for e in recover(shard_folder(folder)).effects()] if _is_one(folder) else []
            assert world.run(list(PAGES)).in_state(State.DONE) == set(PAGES)
            after = [e.encode() for e in recover_all(folder)]
        assert after[: len(before)] == before
    assert len(failed) > 3, "journal, segments, image and other files"


def recover_all(folder: Path) -> list[Any]:
    return list(replace(recover(shard_folder(folder)), image=None).effects())


def _is_one(folder: Path) -> bool:
    return (shard_folder(folder) / "manifest.jsonl").exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_disk_that_fills_up_at_any_byte_loses_nothing_and_once_there_is_room_the_crawl_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The room grows by a random number of pages of memory, so that it ends in the journal, in blocks of URLs, in a
    segment, a merge, the image or the list of runs."""
    for module in (merging, background):
        monkeypatch.setattr(module, "FANOUT", 3)
    random, room, full = Random(seed), 40, dict[str, str]()
    with mounted(tmp_path / "disk", f"size={room}k"):
        folder = tmp_path / "disk" / "crawl"
        world, kept = World(folder, PAGES, QUICK, merger=merge_here), list[bytes]()
        while True:
            try:
                if not folder.exists():
                    folder.mkdir()
                    (folder / SETTINGS).write_text(dump(world.settings))
                done = world.run(list(PAGES)).in_state(State.DONE)
                break
            except StorageError as error:
                full[error.message.partition(": ")[0].rpartition("/")[2]] = error.cure
            now = [e.encode() for e in committed(folder)] if _is_one(folder) else []
            assert now[: len(kept)] == kept
            kept, room = now, room + 4 * random.randrange(1, 40)
            remount(tmp_path / "disk", f"size={room}k")
        assert done == set(PAGES)
        assert [e.encode() for e in committed(folder)][: len(kept)] == kept
        assert set(full.values()) == {disk._CURES[errno.ENOSPC]}
        assert all(any(kind in name for name in full) for kind in (".log", ".parquet.tmp", ".cells")), full
        assert verify(folder).findings == []
