"""Limits of a crawl: memory and descriptors; and nothing is left behind when it has ended."""

from __future__ import annotations

import gc
import mmap
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base import descriptors, memory
from gossamer.base.descriptors import OTHERS
from gossamer.base.errors import StorageError
from gossamer.base.model import Outcome
from gossamer.base.process import Process
from gossamer.collection.layout import journal_files, shard_folder
from gossamer.collection.recovery import recover
from gossamer.collection.sealing import Sealer, seal_in_process
from gossamer.crawler.run import CrawlRequest, run
from gossamer.urls import Scope
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import LIGHT, Served, children, serve
from tests.support.pooling import Start, ask, collect, outcomes, server, start
from tests.support.reading import Found, committed
from tests.support.server import Server
from tests.support.timing import wait_for
from tests.support.world import World, cannot_seal

__all__ = ["server", "start"]

WEB = DemoWeb(seed=43, sites=6, pages=60, largest=20, errors=0, busy=0, delays=0, unavailable=0, slow=0)
LIMITED = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}));from gossamer.cli import main; main()"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(WEB, tmp_path_factory.mktemp("web"), *LIGHT) as served:
        yield served


class Quiet:
    """A listener that shows nothing and keeps the lines."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def due(self) -> bool:
        return False

    def show(self, statistics: object) -> None:
        raise AssertionError

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        self.said.append(line)


# --- memory --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_crawl_out_of_memory_stops_cleanly_and_the_next_run_resumes_it(served: Served, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    slow = ("--set", "harvester.wait=1s", "--set", "harvester.wait_large=1s")
    ended = served.crawl(folder, *slow, "--set", "collection.max_memory=50MB")
    assert ended.code == StorageError.exit_code, ended.errors
    assert ended.figures["ending"] == "the memory limit is reached"
    assert "and may use 50.0 MB (collection.max_memory)" in ended.errors
    assert "Raise collection.max_memory" in ended.errors
    assert "Traceback" not in ended.errors
    found = recover(shard_folder(folder))
    assert found.stopped, "a clean stop: no site has to wait because of it"
    assert len(found.unsealed) == 1, "sealing takes memory, so the next run does it"
    before = [e.encode() for e in committed(folder)]
    again = served.crawl(folder, "--set", "collection.max_memory=0", "--set", "harvester.wait=50ms", "--pages", "20")
    assert again.code == 0, again.errors
    assert again.figures["run_visits"] >= 20
    assert [e.encode() for e in Found(folder).effects][: len(before)] == before
    assert not recover(shard_folder(folder)).unsealed
    assert len(journal_files(shard_folder(folder))) == 1


LARGE = """
import ctypes, os
from gossamer.gatherer import gather as module
gather = module.gather

def large(url, *arguments):
    if url == os.environ["LARGE_PAGE"]:
        held = bytes(range(256)) * (1 << 22)
        ctypes.CDLL(None).pause()
    return gather(url, *arguments)

module.gather = large
"""
"""Makes one page take a gigabyte."""


@pytest.mark.slow
def test_a_page_that_takes_all_memory_costs_itself_and_never_the_crawl(served: Served, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LARGE)
    paths = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    page = Scope(("*",)).canonical(WEB.seeds[1]) or ""
    memory_limit = ("--set", "collection.max_memory=1GB")
    ended = served.crawl(tmp_path / "crawl", *memory_limit, PYTHONPATH=paths, LARGE_PAGE=page)
    assert ended.code == 0, ended.errors
    assert "for one page, and is replaced" in ended.errors
    found = {url: outcome for url, (_, outcome) in Found(tmp_path / "crawl").states.items()}
    assert found[page] is Outcome.WORKER_DIED
    assert sum(outcome is Outcome.OK for outcome in found.values()) > 5


def system(folder: Path, meminfo: str, groups: str, **files: str) -> memory.System:
    """A machine with these files. `files`: by their paths below the mount, with "__" for "/" and "-" for "."."""
    memory._limited.cache_clear()
    (folder / "meminfo").write_text(meminfo)
    (folder / "groups").write_text(groups)
    for name, text in files.items():
        path = folder / "mounted" / name.replace("__", "/").replace("-", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return memory.System(folder / "meminfo", folder / "groups", folder / "mounted")


MEMINFO = "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:  4000000 kB\nSwapFree:  1000 kB\n"


def test_the_memory_left_is_the_minimum_of_machine_and_control_groups(tmp_path: Path) -> None:
    machine = system(tmp_path, MEMINFO, "0::/\n")
    assert (machine.total(), machine.left()) == (8_000_000 * 1024, 4_000_000 * 1024), "swap space does not count"
    second = {
        "a__memory-max": "2000000000\n",
        "a__memory-current": "1500000000\n",
        "a__memory-stat": "anon 5\ninactive_file 70000000\nactive_file 20000000\nslab_reclaimable 10000000\n",
        "a__b__memory-max": "max\n",
        "a__b__memory-current": "7\n",
    }
    found = system(tmp_path, MEMINFO, "0::/a/b\n", **second)
    assert (found.total(), found.left()) == (2_000_000_000, 600_000_000), "a parent group counts"
    first = {
        "memory__c__memory-limit_in_bytes": "900000000\n",
        "memory__c__memory-usage_in_bytes": "950000000\n",
        "memory__c__memory-stat": "inactive_file 1\ntotal_inactive_file 20000000\n",
    }
    found = system(tmp_path, MEMINFO, "5:cpu:/x\n4:memory,hugetlb:/c/gone\n", **first)
    assert (found.total(), found.left()) == (900_000_000, 0), "never negative"
    stat = tmp_path / "mounted/memory/c/memory.stat"
    stat.write_text("active_file 1\ntotal_inactive_file 20000000\ntotal_active_file 40000000\n")
    (tmp_path / "groups").unlink()
    assert found.left() == 10_000_000, "groups are looked up once, their values are read each time"
    assert memory.System(tmp_path / "none", tmp_path / "none", tmp_path).left() > 1 << 60, (
        "nothing is known, so there is no limit"
    )


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 41), st.integers(0, 1 << 41), st.integers(0, 1 << 41))
def test_a_limit_is_reached_by_memory_used_or_by_memory_left(limit: int, used: int, left: int, freed: int) -> None:
    class Machine(memory.System):
        def total(self) -> int:
            return 1 << 41

        def left(self) -> int:
            return left

    found = memory.Limit(limit, 0, Machine())
    reserve = int(memory.RESERVE * (1 << 41))
    assert bool(found.reached(used)) == (used >= limit or left < reserve)
    assert bool(found.reached(used, freed)) == (used - freed >= limit or left + freed < reserve)
    usual = memory.Limit(0, used, Machine())
    assert usual.bytes == int(memory.SHARE * (used + left))


def test_private_memory_of_living_processes_is_counted() -> None:
    before = memory.used([os.getpid(), 1 << 30])
    with mmap.mmap(-1, 30 << 20, flags=mmap.MAP_PRIVATE) as fresh:  # freed memory might be used again by the allocator
        fresh.write(bytes(30 << 20))
        assert 25 << 20 < memory.used([os.getpid()]) - before < 70 << 20


# --- processes that hang -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["ended", "wait"])
def test_a_background_process_that_hangs_is_killed_and_reports_it(how: str) -> None:
    process = Process("timeit", ["-n", "1", "import time; time.sleep(600)"], b"", -1, most=0.2)
    os.kill(process.pid, signal.SIGSTOP)
    if how == "wait":
        process.wait()
    while not process.ended:
        pass
    assert process.code == -signal.SIGKILL
    assert process.failure == "it took longer than 0.20 s, and was killed"


# --- descriptors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "each", "raised", "found"),
    [
        ((1024, 4096), 1, None, 300),
        ((256, 4096), 1, 400, 300),
        ((64, 250), 1, 250, 150),
        ((-1, -1), 1, None, 300),
        ((1024, 4096), 3, None, 300),
        ((256, 4096), 3, 1000, 300),
        ((64, 250), 3, 250, 50),
    ],
)
def test_the_descriptor_limit_is_raised_or_fewer_connections_are_used(
    limits: tuple[int, int], each: int, raised: int | None, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: made.append(new))
    assert descriptors.connections(300, each) == found
    assert made == ([] if raised is None else [(raised, limits[1])])


def test_a_limit_below_what_a_crawl_needs_is_an_error_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (OTHERS, OTHERS))
    with pytest.raises(StorageError, match=f"a process may have {OTHERS} files open here") as error:
        descriptors.connections(1)
    assert "ulimit -n" in error.value.cure


@pytest.mark.slow
def test_a_crawl_with_few_descriptors_runs_with_few_connections(served: Served, tmp_path: Path) -> None:
    with served.begin(tmp_path / "few", "--pages", "12", program=LIMITED.format(OTHERS + 6)) as crawling:
        ended = crawling.ended()
    assert ended.code == 0, ended.errors
    assert "warning: 3 connections at most, not 300" in ended.errors
    assert f"a process may have {OTHERS + 6} files open here" in ended.errors
    assert ended.figures["stored"] == 12
    assert set(ended.outcomes) <= {"ok", "duplicate", "redirect", "not_found"}


@pytest.mark.parametrize(("limited", "left"), [(False, 0), (False, 1), (True, 0), (True, 1), (True, 2), (True, 3)])
def test_a_worker_without_descriptors_returns_its_pages_and_continues(
    start: Start, server: Server, limited: bool, left: int
) -> None:
    """Also if there is a descriptor for the connection, but none for what lies between it and libcurl."""
    pool = start(workers=1, limited=limited)
    pool.grant(1_000_000 if limited else 0)
    pool.assign([ask(1, server.url("/ok"), server)])
    collect(pool, 1)
    (pid,) = pool.pids()
    taken, (soft, hard) = os.listdir(f"/proc/{pid}/fd"), resource.getrlimit(resource.RLIMIT_NOFILE)
    free = sorted({*range(len(taken) + 4)} - set(map(int, taken)))[left]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
    pool.assign([ask(i, server.url(f"/page/{i}").replace(b"site.test", b"b.site.test"), server) for i in (2, 3)])
    assert set(outcomes(collect(pool, 2)).values()) == {Outcome.RETURNED}, "the site is not blamed"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    pool.assign([ask(4, server.url("/page/4"), server)])
    assert outcomes(collect(pool, 1)) == {4: Outcome.OK}
    assert pool.pids() == [pid]
    assert len(os.listdir(f"/proc/{pid}/fd")) <= len(taken) + 3, "no descriptor is leaked"


def test_sealing_that_cannot_begin_is_retried(tmp_path: Path) -> None:
    world = World(tmp_path, lambda url: None)  # type: ignore[arg-type, return-value]
    from gossamer.crawler.open import open_collection

    sealer: Sealer = cannot_seal
    store, desk, _ = open_collection(
        tmp_path, world.settings, world.clock, sealer=lambda *arguments: sealer(*arguments)
    )
    store.append(desk.effects(1.0, 1.0))
    store.commit(rotate=True)
    store.turn()
    assert store.unsealed
    assert "will be tried again: Too many open files" in store.notes[0]
    with pytest.raises(StorageError, match="could not be sealed"):
        store.seal_all()
    sealer = seal_in_process
    world.clock.advance(20.0)
    store.turn()
    store.seal_all()
    assert store.segments == 1
    store.close()


# --- nothing is left -----------------------------------------------------------------------------------------


def opened() -> list[str]:
    found = []
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
    return sorted(found)


def test_a_run_leaves_no_file_connection_process_or_thread(served: Served, tmp_path: Path) -> None:
    seeds = tuple(Path(served.seeds).read_text().split())
    plea = CrawlRequest(tmp_path / "crawl", seeds, config=served.config, pages=8, patience=5.0, log=tmp_path / "log")
    gc.collect()  # garbage of other tests
    before, threads, born = opened(), set(threading.enumerate()), children(os.getpid())
    quiet = Quiet()
    report = run(plea, quiet)
    assert report.statistics.run.visits > 0
    wait_for(lambda: opened() == before)  # c-ares closes in a thread of its own, which stays
    assert not [t for t in set(threading.enumerate()) - threads if "shutdown_loop" not in t.name]
    assert children(os.getpid()) == born
    assert "warning" not in "".join(quiet.said), quiet.said
