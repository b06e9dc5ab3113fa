"""The lock of a collection: no mistake with its file lets a second crawl in, and a folder of another is not touched."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.base.errors import LockedError
from gossamer.collection import lock
from gossamer.collection.layout import shard_folder
from gossamer.webs.simulated import Reply
from tests.support.world import World

ROOT = "http://a.example/"


def earlier_version(shard: Path) -> int:
    """Takes the lock as earlier versions do: the file alone. BlockingIOError if it is held."""
    fd = os.open(shard / lock.LOCK, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise
    return fd


def test_removing_the_lock_file_lets_no_second_desk_in(tmp_path: Path) -> None:
    held = lock.take(tmp_path)
    (tmp_path / lock.LOCK).unlink()
    with pytest.raises(LockedError, match="in use by another process"):
        lock.take(tmp_path, orphans=0.0)
    held.check()
    assert lock.holder(tmp_path) is not None, "the file is back, and names its holder"
    with pytest.raises(LockedError, match=f"in use by process {os.getpid()}"):
        lock.take(tmp_path, orphans=0.0)
    held.release()
    lock.take(tmp_path).release()


HOLDING = """
import sys, time
from pathlib import Path
from gossamer.collection import lock
held = lock.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_signal_reaches_the_holder_and_nobody_else(tmp_path: Path) -> None:
    """Not the process of another program that has the holder's id and start, as after a reboot."""
    assert lock.signalled(tmp_path, signal.SIGTERM) is None
    with subprocess.Popen(["sleep", "600"]) as other:
        stale = {"pid": other.pid, "started": lock.process_start(other.pid), "since": 1.0}
        (tmp_path / lock.LOCK).write_text(json.dumps(stale))
        assert lock.signalled(tmp_path, signal.SIGTERM) is None
        found = lock.holder(tmp_path)
        assert found is not None
        assert not found.alive
        lock.refuse_if_held(tmp_path)
        lock.take(tmp_path, orphans=0.0).release()
        assert other.poll() is None
        other.kill()
    holding = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(holding, stdout=subprocess.PIPE, text=True) as desk:
        assert desk.stdout is not None
        assert desk.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"in use by process {desk.pid}"):
            lock.refuse_if_held(tmp_path)
        found = lock.signalled(tmp_path, signal.SIGTERM)
        assert found is not None
        assert (found.pid, desk.wait(60)) == (desk.pid, -signal.SIGTERM)
    assert lock.signalled(tmp_path, signal.SIGTERM) is None


def test_earlier_versions_and_this_one_keep_each_other_out(tmp_path: Path) -> None:
    held = lock.take(tmp_path)
    with pytest.raises(BlockingIOError):
        earlier_version(tmp_path)
    held.release()
    other = earlier_version(tmp_path)
    with pytest.raises(LockedError):
        lock.take(tmp_path, orphans=0.0)
    os.close(other)
    lock.take(tmp_path).release()


def test_an_earlier_version_that_took_a_removed_lock_file_is_noticed(tmp_path: Path) -> None:
    held = lock.take(tmp_path)
    (tmp_path / lock.LOCK).unlink()
    other = earlier_version(tmp_path)
    with pytest.raises(LockedError, match="another process has taken the lock"):
        held.check()
    os.close(other)
    held.release()


def test_where_folders_cannot_be_locked_the_file_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.flock

    def only_files(fd: int, how: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EBADF, "Bad file descriptor")
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", only_files)
    held = lock.take(tmp_path)
    with pytest.raises(LockedError):
        lock.take(tmp_path, orphans=0.0)
    held.check()
    held.release()
    lock.take(tmp_path).release()


@pytest.mark.parametrize("how", ["moved", "replaced", "lock taken"])
def test_a_folder_that_was_replaced_is_never_written_to(tmp_path: Path, how: str) -> None:
    """The crawl stops at its next commit; what lies at the path now stays as it is."""
    folder = tmp_path / "crawl"
    shard = shard_folder(folder)
    others: list[int] = []
    files: dict[str, bytes] = {}

    def reply(url: str) -> Reply:
        if url.endswith("/3"):
            if how == "lock taken":
                (shard / lock.LOCK).unlink()
                others.append(earlier_version(shard))
            else:
                folder.rename(tmp_path / "elsewhere")
            if how == "replaced":
                World(folder, {"http://b.example/": Reply()}).run(["http://b.example/"])
                files.update({str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
        return Reply(links=tuple(f"{ROOT}{n}" for n in range(20)))

    world = World(folder, reply)
    with pytest.raises(LockedError, match=r"was moved, removed or replaced|has taken the lock"):
        world.run([ROOT])
    assert len([a for a in world.asked if not a.url.endswith("robots.txt")]) < 8, "at the next commit, not at the end"
    if how == "moved":
        assert not folder.exists()
    if how == "replaced":
        assert {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == files
    if how != "lock taken":
        (tmp_path / "elsewhere").rename(tmp_path / "back")
        assert len(World(tmp_path / "back", lambda url: Reply()).run().pages) == 21, "and what was committed resumes"
    for fd in others:
        os.close(fd)
