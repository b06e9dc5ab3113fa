"""The one module that writes files: what it guarantees to callers, and what it reports when the disk fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.base import disk
from gossamer.base.errors import StorageError
from tests.support.powercut import read_recordings


def test_append_returns_the_offset_and_length_follows(tmp_path: Path) -> None:
    file = disk.Appender(tmp_path / "a")
    assert [file.append(b"one"), file.append(b""), file.append(memoryview(b"four"))] == [0, 3, 3]
    assert file.length == 7
    file.close()
    again = disk.Appender(tmp_path / "a")
    assert again.append(b"!") == 7
    again.truncate(3)
    assert again.append(b"?") == 3
    assert (tmp_path / "a").read_bytes() == b"one?"
    again.close()


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, memoryview(data)[:3]))
    file = disk.Appender(tmp_path / "a")
    file.append(b"0123456789")
    disk.write_atomic(tmp_path / "b", b"abcdefg", b"hij")
    assert (tmp_path / "a").read_bytes() == b"0123456789"
    assert (tmp_path / "b").read_bytes() == b"abcdefghij"
    file.close()


def test_an_append_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.Appender(tmp_path / "a")
    file.append(b"kept")
    write, calls = os.write, []

    def full(fd: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, memoryview(data)[:2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError):
        file.append(b"lost")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"kept"
    assert file.append(b"more") == 4
    file.close()


def test_a_full_disk_is_a_storage_error_with_path_operation_and_cure() -> None:
    with pytest.raises(StorageError) as caught:
        disk.write_synced(Path("/dev/full"), b"x")
    assert "write /dev/full" in caught.value.message
    assert "make room" in caught.value.cure
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "EIO"])
def test_every_system_error_has_its_own_cure(code: str) -> None:
    with pytest.raises(StorageError) as caught, disk.naming("write", "some/file"):
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))
    assert caught.value.message.startswith("cannot write some/file: ")
    others = {disk._CURES[getattr(errno, c)] for c in ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "EIO")}
    assert caught.value.cure in others
    assert len(others) == 6


@pytest.mark.parametrize(
    "deed",
    [
        lambda p: disk.Appender(p / "missing" / "a"),
        lambda p: disk.write_atomic(p / "missing" / "a", b""),
        lambda p: disk.sync_directory(p / "missing"),
        lambda p: disk.make_directory(p / "file" / "below"),
        lambda p: disk.rename(p / "missing", p / "b"),
        lambda p: disk.remove(p / "file" / "below"),
        lambda p: disk.truncate(p / "missing", 1),
    ],
)
def test_every_function_turns_an_oserror_into_a_storage_error(tmp_path: Path, deed: Callable[[Path], None]) -> None:
    (tmp_path / "file").write_bytes(b"")
    if "remove" in (deed.__code__.co_names):
        deed(tmp_path)  # removing a missing file is no error
        return
    with pytest.raises(StorageError):
        deed(tmp_path)


def test_a_file_is_never_trusted_again_after_a_failed_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = disk.Appender(tmp_path / "a")
    file.append(b"x")

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StorageError):
        file.sync()
    monkeypatch.undo()
    with pytest.raises(StorageError):
        file.sync()
    file.close()


def test_write_atomic_replaces_the_whole_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    disk.write_atomic(tmp_path / "a", b"old and long")
    disk.write_atomic(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_truncate_cuts_but_never_extends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    disk.truncate(tmp_path / "a", 4)
    disk.truncate(tmp_path / "a", 4)
    assert (tmp_path / "a").read_bytes() == b"0123"
    with pytest.raises(StorageError, match="4 bytes, but 5 were committed"):
        disk.truncate(tmp_path / "a", 5)


@pytest.mark.parametrize(
    "deed",
    [
        lambda p: disk.Appender(p / "a"),
        lambda p: disk.write_synced(p / "a", b"new"),
        lambda p: disk.write_atomic(p / "b", b"new"),
        lambda p: disk.truncate(p / "a", 1),
    ],
    ids=["append", "write", "temporary", "truncate"],
)
@pytest.mark.parametrize("dangling", [False, True])
def test_nothing_is_written_through_a_symbolic_link(
    tmp_path: Path, deed: Callable[[Path], None], dangling: bool
) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    inside.mkdir()
    if not dangling:
        outside.write_bytes(b"another's")
    for name in ("a", "b.tmp"):
        (inside / name).symlink_to(outside)
    with pytest.raises(StorageError, match="symbolic link"):
        deed(inside)
    assert not outside.exists() if dangling else outside.read_bytes() == b"another's"


def test_folders_are_created_with_their_parents_and_removed_with_their_contents(tmp_path: Path) -> None:
    disk.make_directory(tmp_path / "a" / "b" / "c")
    disk.make_directory(tmp_path / "a" / "b" / "c")
    (tmp_path / "a" / "b" / "x").write_bytes(b"x")
    disk.remove(tmp_path / "a")
    disk.remove(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_recordings_have_every_operation_of_every_process_ordered_by_end_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, tape = tmp_path / "root", tmp_path / "tape"
    root.mkdir()
    tape.mkdir()
    monkeypatch.setenv("GOSSAMER_RECORD", str(tape))
    disk.make_directory(root / "f")
    file = disk.Appender(root / "f" / "a")
    file.append(b"mine")
    child = (
        "import sys; from gossamer.base import disk; f = disk.Appender(sys.argv[1]); "
        "f.append(b'theirs'); f.sync(); f.close()"
    )
    subprocess.run([sys.executable, "-c", child, str(root / "f" / "a")], check=True)
    file.truncate(2)
    file.sync()
    file.close()
    disk.write_atomic(root / "f" / "b", b"1", b"2")
    disk.remove(root / "f" / "b")
    disk.Appender(tmp_path / "elsewhere").close()

    found = read_recordings(tape, root)
    assert [(o.kind, o.path, o.offset, o.data, o.to) for o in found] == [
        ("mkdir", "f", 0, b"", ""),
        ("sync_directory", "", 0, b"", ""),
        ("create", "f/a", 0, b"", ""),
        ("write", "f/a", 0, b"mine", ""),
        ("write", "f/a", 4, b"theirs", ""),
        ("sync", "f/a", 0, b"", ""),
        ("truncate", "f/a", 2, b"", ""),
        ("sync", "f/a", 0, b"", ""),
        ("sync_directory", "f", 0, b"", ""),
        ("create", "f/b.tmp", 1, b"", ""),
        ("write", "f/b.tmp", 0, b"1", ""),
        ("write", "f/b.tmp", 1, b"2", ""),
        ("sync", "f/b.tmp", 0, b"", ""),
        ("rename", "f/b.tmp", 0, b"", "f/b"),
        ("sync_directory", "f", 0, b"", ""),
        ("remove", "f/b", 0, b"", ""),
    ]
    assert len({o.process for o in found}) == 2
    assert all(o.start <= o.end for o in found)
    assert [o.end for o in found] == sorted(o.end for o in found)
    assert read_recordings(tape)[-1].path == str(tmp_path / "elsewhere")


def test_a_torn_last_operation_of_a_recording_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_RECORD", str(tmp_path))
    file = disk.Appender(tmp_path / "a")
    file.append(b"x" * 50)
    file.close()
    (tape,) = tmp_path.glob("*.rec")
    whole = tape.read_bytes()
    for cut in (1, 10, 49):
        tape.write_bytes(whole[:-cut])
        assert [o.kind for o in read_recordings(tmp_path)] == ["create"]
