"""Archive files on the desk's side: when they are full, and what marks say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.disk import Appender
from gossamer.base.units import Duration, Size
from gossamer.collection.layout import archive_name
from gossamer.config.settings import CollectionSettings
from gossamer.web.pool.warcs import Warcs

DAY = 86_400.0
SIZE = 10_000


class Work:
    """Workers that append to their files, and a day that passes."""

    def __init__(self, folder: Path, every: float = DAY) -> None:
        self.wall = 1.6e9
        limits = CollectionSettings(warc_size=Size(SIZE), warc_every=Duration(every))
        self.warcs = Warcs(folder, 7, {"operator": "me@a.test"}, limits, lambda: self.wall)
        self.file, self.path = self.warcs.create()
        self.lengths: dict[str, int] = {}
        self.named: list[set[str]] = []

    def result(self, size: int, handed_over: bool = True) -> None:
        """A worker has written a result; it gets another file if its own is full."""
        appender = Appender(self.path)
        appender.append(bytes(size))
        end = appender.length
        appender.close()
        self.warcs.came(self.file, end)
        if handed_over:
            self.warcs.grew(self.file, end)

    def next(self) -> None:
        """The first result of the next file ends the one before."""
        before = self.file
        self.file, self.path = self.warcs.create()
        self.result(1)
        self.warcs.finish(before)

    def commit(self) -> None:
        found = self.warcs.lengths()
        self.named.append(set(found))
        self.lengths |= found
        self.warcs.sync()


@given(st.integers(0, 2 * SIZE), st.floats(0, 3 * DAY), st.sampled_from([0.0, 3600.0, DAY]))
@settings(max_examples=40, deadline=None)
def test_a_file_is_full_by_size_or_by_day_and_never_empty(
    tmp_path_factory: pytest.TempPathFactory, size: int, passed: float, every: float
) -> None:
    work = Work(tmp_path_factory.mktemp("w"), every)
    begun, head = work.wall, work.path.stat().st_size
    work.wall += passed
    assert not work.warcs.is_full(work.file)
    if size:
        work.result(size)
        next_day = every > 0 and int(work.wall // every) > int(begun // every)
        assert work.warcs.is_full(work.file) == (head + size >= SIZE or next_day)


@given(st.lists(st.sampled_from(["result", "waits", "next", "commit"]), max_size=40))
@settings(max_examples=40, deadline=None)
def test_every_length_becomes_known_once_and_only_files_in_use_are_named_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("w")
    work = Work(folder)
    waits: list[tuple[int, int]] = []
    for step in steps:
        if step == "result":
            work.result(10)
        elif step == "waits":
            work.result(10, handed_over=False)
            waits.append((work.file, work.path.stat().st_size))
        elif step == "next":
            work.next()
        else:
            work.commit()
    for file, end in waits:  # handed over in the end
        work.warcs.grew(file, end)
    for _ in range(3):
        work.commit()
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in (folder / "warc").iterdir()}
    assert work.lengths == sizes
    assert work.named[-1] == {archive_name(work.file)}
