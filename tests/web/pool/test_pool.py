"""The pool: shares, order, deaths, archive files, the end. With real worker processes."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gossamer.base.bell import Bell
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import Outcome, VisitFlag
from gossamer.base.units import Size
from gossamer.web.pool.blame import MOST_DEATHS, WITNESSED
from tests.support.pooling import Start, archived, ask, collect, outcomes, server, start
from tests.support.server import Server
from tests.support.timing import WITHIN, wait_for

__all__ = ["server", "start"]


def test_no_worker_holds_more_than_its_share(start: Start, server: Server) -> None:
    pool = start("harvester.connections=5", "harvester.first_byte_timeout=500ms")
    assert (pool.free(), pool.open) == (5, 0)
    pool.assign([ask(i, server.url("/silent"), server) for i in range(5)])
    assert (pool.free(), pool.open) == (0, 5)
    assert sorted(len(w.open) for w in pool._workers.living) == [2, 3]
    assert set(outcomes(collect(pool, 5)).values()) == {Outcome.TIMED_OUT}
    assert (pool.free(), pool.open) == (5, 0)


def test_a_site_stays_on_its_worker_while_that_has_room(start: Start, server: Server) -> None:
    pool = start("harvester.connections=4")
    files = set()
    for i in range(6):
        pool.assign([ask(i, server.url(f"/page/{i}"), server, site=9)])
        ((visit, _),) = collect(pool, 1).values()
        files.add(int(visit["warc_file"]))
        assert bool(visit["flags"] & VisitFlag.REUSED) == (i > 0)
    assert len(files) == 1
    pool.assign([ask(10, server.url("/silent"), server, site=9), ask(11, server.url("/silent"), server, site=9)])
    pool.assign([ask(12, server.url("/ok"), server, site=9)])
    assert int(collect(pool, 1)[12][0]["warc_file"]) not in files


def test_every_assignment_comes_back_in_exactly_one_result_whatever_dies(start: Start, server: Server) -> None:
    pool = start("harvester.connections=200")
    silent = [ask(i, server.url(f"/silent?{i}"), server) for i in range(10)]
    pool.assign(silent + [ask(i, server.url(f"/page/{i}"), server) for i in range(10, 60)])
    found = collect(pool, 50)
    victim = pool._workers.living[0]
    lost = set(victim.open)
    assert lost
    file, length = next((n, n_bytes) for n, n_bytes in pool.warc_lengths().items() if f"{victim.file:06d}" in n)
    path = pool._warcs._shard / file
    with path.open("ab") as stream:
        stream.write(b"half a record that no result names")
    os.kill(victim.pid, signal.SIGKILL)
    before = time.monotonic()
    back = collect(pool, len(lost))
    assert set(back) == lost
    assert set(outcomes(back).values()) == {Outcome.RETURNED}
    for visit, _ in back.values():
        assert before - 1 < visit["end"] <= time.monotonic()
        assert (visit["site"], visit["origin"], visit["retry_after"]) == (visit["number"], 5, -1)
    assert path.stat().st_size == length
    assert len(archived(path)) > 0
    assert pool.open == 10 - len(lost)
    pool.assign([ask(i, server.url("/ok"), server) for i in range(100, 110)])
    assert set(outcomes(collect(pool, 10)).values()) == {Outcome.OK}
    assert len(set(pool.pids())) == 2
    assert victim.pid not in pool.pids()
    assert set(found).isdisjoint(lost)


def test_results_come_by_worker_number_and_then_in_order_of_arrival(start: Start, server: Server) -> None:
    """Batches are requested until results of both workers have come in one call."""
    pool = start("harvester.connections=200")
    worker_of = {worker.file: worker.number for worker in pool._workers.living}
    asked, seen, mixed, until = 0, 0, False, time.monotonic() + WITHIN
    while (not mixed or seen < asked) and time.monotonic() < until:
        if seen == asked:
            pool.assign([ask(asked + i, server.url(f"/page/{i}"), server) for i in range(1, 101)])
            asked += 100
        visits = pool.results(0.2, gather=0.1).visits
        order = [(worker_of[int(visit["warc_file"])], int(visit["warc_end"])) for visit in visits]
        assert order == sorted(order), "a worker archives in the order in which its results arrive"
        seen += len(visits)
        mixed |= len({number for number, _ in order}) == 2
    assert seen == asked
    assert mixed, "results of both workers came in one call"


def test_a_page_that_kills_is_tried_alone_and_then_has_its_own_outcome(start: Start, server: Server) -> None:
    pool = start()
    pool.assign([ask(1, server.url("/silent"), server), ask(2, server.url("/silent?2"), server)])
    victim = next(w for w in pool._workers.living if 1 in w.open)
    victim.heartbeat.name(1)
    os.kill(victim.pid, signal.SIGKILL)
    assert outcomes(collect(pool, 1)) == {1: Outcome.RETURNED}
    pool.assign([ask(3, server.url("/silent"), server)])
    (holder,) = [w for w in pool._workers.living if w.reserved is not None]
    assert holder.open[3].alone
    pool.assign([ask(4, server.url("/ok"), server)])
    assert list(holder.open) == [3]
    assert outcomes(collect(pool, 1)) == {4: Outcome.OK}
    holder.heartbeat.name(3)
    os.kill(holder.pid, signal.SIGKILL)
    assert outcomes(collect(pool, 1)) == {3: Outcome.WORKER_DIED}
    pool.assign([ask(5, server.url("/silent"), server)])
    assert all(w.reserved is None for w in pool._workers.living)


def test_a_page_under_way_at_three_deaths_without_a_culprit_is_lost(start: Start, server: Server) -> None:
    """Nothing was being gathered, so the page to blame is not known. A page that is always there is not requested again
    and again; a page that was there by chance goes back each time."""
    pool = start(workers=1)
    for death in range(1, WITNESSED + 1):
        asked = [(death, "/silent"), (10 + death, f"/silent?{death}")]
        pool.assign([ask(number, server.url(path), server) for number, path in asked])
        (victim,) = pool._workers.living
        assert victim.heartbeat.read() is None
        os.kill(victim.pid, signal.SIGKILL)
        back = collect(pool, 2)
        last = Outcome.WORKER_LOST if death == WITNESSED else Outcome.RETURNED
        assert outcomes(back) == {death: last, 10 + death: Outcome.RETURNED}
        assert not any(w.reserved for w in pool._workers.living), "no page is suspected"
    pool.assign([ask(20, server.url("/silent"), server)])
    os.kill(pool.pids()[0], signal.SIGKILL)
    assert outcomes(collect(pool, 1)) == {20: Outcome.RETURNED}, "its count starts again"


def test_a_page_that_must_run_alone_does(start: Start, server: Server) -> None:
    pool = start("harvester.first_byte_timeout=2s", workers=1)
    pool.assign([ask(1, server.url("/silent"), server), ask(2, server.url("/ok"), server, alone=True)])
    assert (pool.open, pool.free()) == (2, 0)
    found = collect(pool, 2)
    assert found[2][0]["start"] >= found[1][0]["end"]
    assert outcomes(found) == {1: Outcome.TIMED_OUT, 2: Outcome.OK}
    assert pool.free() > 0


def test_no_request_begins_before_its_time(start: Start, server: Server) -> None:
    pool = start(workers=1)
    now = time.monotonic()
    times = {1: now + 0.4, 2: now + 0.2, 3: 0.0, 4: now + 0.2, 5: now - 1}
    pool.assign([ask(i, server.url("/ok"), server, not_before=at) for i, at in times.items()])
    found = collect(pool, len(times))
    for number, at in times.items():
        assert found[number][0]["start"] >= at
    assert outcomes(found) == dict.fromkeys(times, Outcome.OK)


def test_an_assignment_ahead_of_its_time_comes_back_when_its_worker_dies_and_at_a_stop(
    start: Start, server: Server
) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {1: Outcome.OK}
    pool.assign([ask(2, server.url("/ok"), server, not_before=time.monotonic() + 600)])
    os.kill(pool.pids()[0], signal.SIGKILL)
    assert outcomes(collect(pool, 1)) == {2: Outcome.RETURNED}
    pool.assign([ask(3, server.url("/ok"), server, not_before=time.monotonic() + 600)])
    (visit,) = pool.stop(600).visits
    assert (visit["number"], visit["outcome"]) == (3, Outcome.RETURNED)


def test_a_suspected_page_that_does_not_kill_is_acquitted(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool._blame._suspects.add(server.url("/ok"))
    pool.assign([ask(1, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {1: Outcome.OK}
    assert not pool._blame._suspects
    assert pool._workers.living[0].reserved is None


def test_too_many_deaths_end_the_crawl(start: Start) -> None:
    pool = start(workers=1)

    def die() -> None:
        while True:
            pid = pool.pids()[0]
            os.kill(pid, signal.SIGKILL)
            while pool.pids()[0] == pid:
                pool.results(1.0)
            deaths.append(pid)

    deaths: list[int] = []
    with pytest.raises(GossamerError, match="within a minute"):
        die()
    assert len(deaths) >= MOST_DEATHS


def test_a_worker_that_cannot_be_replaced_ends_the_crawl_and_leaves_none(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: no archive file can be made for the next worker."""

    def full() -> None:
        raise StorageError("cannot write: No space left on device")

    pool = start()
    monkeypatch.setattr(pool._warcs, "create", full)
    os.kill(pool.pids()[0], signal.SIGKILL)
    with pytest.raises(StorageError, match="No space left"):
        collect(pool, 1)
    pool.close()
    assert pool.pids() == []


def test_archive_files_are_closed_when_full_and_all_of_them_are_whole(
    start: Start, server: Server, tmp_path: Path
) -> None:
    pool = start(workers=1)
    pool._warcs.size = Size(5000)
    for i in range(1, 31):
        pool.assign([ask(i, server.url(f"/page/{i}"), server)])
        collect(pool, 1)
    lengths = pool.warc_lengths()
    assert len(lengths) > 3
    pool.sync_warc(list(lengths))
    open_files = [number for number, file in pool._warcs._files.items() if file.appender is not None]
    assert len(open_files) <= 2
    assert open_files[-1] == pool._workers.living[0].file
    pool.stop(2.0)
    urls = [url for name in lengths for url, _ in archived(tmp_path / name)]
    assert urls == [server.url(f"/page/{i}").decode() for i in range(1, 31)]
    assert {name: (tmp_path / name).stat().st_size for name in lengths} == lengths | pool.warc_lengths()


def test_a_stop_waits_for_open_transfers_within_its_grace(start: Start, server: Server) -> None:
    pool = start()
    pool.assign([ask(i, server.url("/ok"), server) for i in range(1, 9)])
    results = pool.stop(WITHIN)
    assert sorted(results.visits["number"]) == list(range(1, 9))
    assert (results.visits["outcome"] == Outcome.OK).all()
    assert pool.open == 0
    assert pool.pids() == []


def test_a_stop_returns_assignments_that_do_not_end_in_time(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/silent"), server), ask(2, server.url("/ok"), server, alone=True)])
    began = time.monotonic()
    results = pool.stop(0.3)
    assert time.monotonic() - began < WITHIN
    assert sorted(results.visits["number"]) == [1, 2]
    assert (results.visits["outcome"] == Outcome.RETURNED).all()


def test_the_number_of_results_per_call_is_bounded(
    start: Start, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.web.pool.pool.RESULTS_AT_ONCE", 3)
    pool = start(workers=1)
    pool.assign([ask(i, server.url("/ok"), server) for i in range(1, 11)])
    sizes, end = list[int](), time.monotonic() + WITHIN
    while sum(sizes) < 10 and time.monotonic() < end:
        time.sleep(0.1)
        sizes.append(len(pool.results(0.2)))
        assert pool.open == 10 - sum(sizes), "results that wait to be handed over still count as open"
    assert sum(sizes) == 10
    assert max(sizes) == 3


def test_another_descriptor_wakes_the_pool(start: Start) -> None:
    pool = start()
    eventfd = os.eventfd(0)
    pool.register(eventfd)
    while pool._workers.living[0].wire.fileno() in {fd for fd, _ in pool._epoll.poll(1.0)}:
        pool.results(0.0)
    os.eventfd_write(eventfd, 1)
    began = time.monotonic()
    assert len(pool.results(2 * WITHIN)) == 0
    assert time.monotonic() - began < WITHIN
    os.close(eventfd)


def test_workers_ignore_sigint(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/ok"), server)])
    collect(pool, 1)
    pid = pool.pids()[0]
    os.kill(pid, signal.SIGINT)
    pool.assign([ask(2, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {2: Outcome.OK}
    assert pool.pids() == [pid]


def test_a_worker_that_cannot_write_reports_it(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/ok"), server)])
    collect(pool, 1)
    resource.prlimit(pool.pids()[0], resource.RLIMIT_FSIZE, (2000, 2000))
    pool.assign([ask(i, server.url("/ok"), server) for i in range(2, 6)])

    def wait() -> None:
        end = time.monotonic() + WITHIN
        while time.monotonic() < end:
            pool.results(0.5)

    with pytest.raises(StorageError, match="cannot write") as caught:
        wait()
    assert caught.value.cure


def test_workers_inherit_the_lock_and_die_with_the_desk(tmp_path: Path) -> None:
    program = (
        "import fcntl, sys, time; from pathlib import Path; from gossamer.base.clock import RealClock;"
        "from gossamer.config import Settings; from gossamer.web.pool.pool import Pool;"
        "lock = open(sys.argv[1] + '/lock', 'w'); fcntl.flock(lock, fcntl.LOCK_EX);"
        "pool = Pool(Settings(), 1, lock.fileno(), Path(sys.argv[1]), 1, RealClock());"
        "print(*pool.pids(), flush=True); time.sleep(600)"
    )
    desk = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert desk.stdout is not None
    pids = [int(pid) for pid in desk.stdout.readline().split()]
    assert pids
    for pid in pids:
        held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert str(tmp_path / "lock") in held
    desk.kill()
    desk.communicate()
    with (tmp_path / "lock").open("w") as lock:

        def taken() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        wait_for(taken, "the workers end with their desk")


def test_the_cpu_time_of_living_workers_is_known(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/ok"), server)])
    assert len(collect(pool, 1)) == 1
    assert pool.cpu_seconds() > 0


def test_what_is_urgent_ends_the_gathering_of_results(start: Start, server: Server) -> None:
    """Without it, this would take as long as results may be gathered."""
    pool, bell = start("harvester.connections=4"), Bell()
    pool.register(bell.fileno())
    pool.assign([ask(1, server.url("/page/1"), server)])
    assert outcomes(collect(pool, 1)) == {1: Outcome.OK}
    bell.ring()
    assert len(pool.results(2 * WITHIN, gather=2 * WITHIN)) == 0


def test_a_request_that_waits_for_its_time_is_not_made_after_a_stop(start: Start, server: Server) -> None:
    pool = start("harvester.connections=4")
    later = ask(1, server.url("/page/1"), server)._replace(not_before=time.monotonic() + 2 * WITHIN)
    pool.assign([later])
    (visit,) = pool.stop(2 * WITHIN).visits
    assert (visit["number"], visit["outcome"]) == (1, Outcome.RETURNED)
    assert pool.open == 0
