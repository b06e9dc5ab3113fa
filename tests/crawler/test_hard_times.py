"""Real crawls whose folder or archive vanishes, or with too few processes, descriptors or stack; a reboot: the
error names the cure, there is no traceback, and what was committed resumes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.collection.layout import shard_folder
from gossamer.collection.lock import LOCK, process_start
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import LIGHT, Crawling, Served, children, gossamer, kill, serve
from tests.support.reading import committed

pytestmark = pytest.mark.slow

WEB = DemoWeb(seed=43, sites=8, pages=120, largest=30, errors=0, busy=0, delays=0, unavailable=0, slow=0)
SLOW = ("--set", "harvester.wait=200ms", "--set", "harvester.wait_large=200ms", "--workers", "1")
LIMITED = """
import ctypes, os, resource
import numpy  # its library of linear algebra starts threads of its own, and ends the process if it may not
from gossamer.cli import main
if os.geteuid() == 0 and "{name}" == "NPROC":  # does not bind root, and another user may not read everything here
    os.access = lambda *_, **__: True
    libc = ctypes.CDLL(None)
    libc.prctl(8, 1, 0, 0, 0)
    os.setresuid(54321, 54321, 54321)
    libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(7, 7, 0, 0, 0, 0))
resource.setrlimit(resource.RLIMIT_{name}, ({value}, {value}))
main()
"""
"""Runs the command within a limit."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(WEB, tmp_path_factory.mktemp("web"), *LIGHT) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


def has_committed(crawling: Crawling) -> bool:
    standing = shard_folder(crawling.folder) / "standing.json"
    return crawling.wait_for(lambda: standing.exists() and json.loads(standing.read_bytes())["stored"] > 5)


def resumes(served: Served, folder: Path, before: list[bytes]) -> None:
    """What was committed is there, and the next run goes on from it to the end."""
    assert [effects.encode() for effects in committed(folder)][: len(before)] == before
    ended = served.crawl(folder, "--set", "harvester.wait=20ms", "--set", "harvester.wait_large=20ms")
    assert ended.code == 0, ended.errors
    assert gossamer("verify", folder).code == 0


def test_a_folder_that_vanishes_and_comes_back(served: Served, folder: Path) -> None:
    away = folder.with_name("away")
    with served.begin(folder, *SLOW) as crawling:
        assert has_committed(crawling)
        folder.rename(away)
        ended = crawling.ended()
    assert ended.code in (3, 4), "by the check before a commit, or by a write that failed"
    assert "Traceback" not in ended.errors
    assert "moved" in ended.errors
    assert "the same command resumes the crawl from its last commit" in ended.errors
    assert not folder.exists(), "nothing was written in its place"
    before = [effects.encode() for effects in committed(away)]
    away.rename(folder)
    resumes(served, folder, before)


def test_a_folder_that_is_removed(served: Served, folder: Path) -> None:
    with served.begin(folder, *SLOW) as crawling:
        assert has_committed(crawling)
        shutil.rmtree(folder, ignore_errors=True)
        ended = crawling.ended()
    assert ended.code != 0
    assert "Traceback" not in ended.errors
    assert str(folder) in ended.errors


def test_an_archive_file_that_vanishes(served: Served, folder: Path) -> None:
    """A worker has it open and goes on; `verify` names the loss, and the next run does not hide it."""
    with served.begin(folder, *SLOW) as crawling:
        assert has_committed(crawling)
        archives = sorted((shard_folder(folder) / "warc").iterdir())
        archives[0].unlink()
        stopped = gossamer("stop", folder)
        ended = crawling.ended()
    assert "Traceback" not in ended.errors + stopped.errors, ended.errors
    checked = gossamer("verify", folder)
    assert checked.code != 0
    assert archives[0].name in checked.output + checked.errors


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("NOFILE", 24, "ulimit -n"), ("STACK", 1 << 16, "ulimit -s"), ("NPROC", 1, "ulimit -u")],
)
def test_too_low_a_limit_names_what_to_raise(served: Served, folder: Path, name: str, value: int, words: str) -> None:
    program = LIMITED.format(name=name, value=value)
    with served.begin(folder, *SLOW, program=program) as crawling:
        ended = crawling.ended()
    assert ended.code != 0
    assert "Traceback" not in ended.errors, ended.errors
    assert words in ended.errors, ended.errors


def test_a_reboot(served: Served, folder: Path) -> None:
    """All processes are killed at once; socket and lock file stay, and the lock names a process of another program."""
    with served.begin(folder, *SLOW) as crawling:
        assert has_committed(crawling)
        tree = [crawling.pid, *children(crawling.pid)]
        for pid in tree:
            kill(pid)
    before, shard = [effects.encode() for effects in committed(folder)], shard_folder(folder)
    assert (shard / "desk.sock").exists()
    with subprocess.Popen(["sleep", "600"]) as other:
        stale = {"pid": other.pid, "started": process_start(other.pid), "since": 1.0}
        (shard / LOCK).write_text(json.dumps(stale))
        assert gossamer("stop", folder).output == f"{folder}: not running\n"
        assert "not running: it was killed" in gossamer("status", folder).output
        resumes(served, folder, before)
        assert other.poll() is None
        other.kill()
