"""Workers that hang, and large pages that are read in the background. With real worker processes.

The URL of a page can make a worker hang: `hang=loop` never returns from native code and lets no other thread run,
`hang=background` never returns either, but lets other threads run.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base import memory
from gossamer.base.model import Outcome
from gossamer.crawler.watch import LARGE_WORKER
from gossamer.gatherer.reader import LARGE
from gossamer.web.pool import blame, workers
from gossamer.web.pool.workers import Worker
from tests.support.pooling import Start, archived, ask, collect, outcomes, server, start
from tests.support.server import Server
from tests.support.timing import WITHIN, wait_for

__all__ = ["server", "start"]

HANGS = """
import ctypes
from gossamer.gatherer import gather as module
gather = module.gather

def hanging(url, *arguments):
    if "hang=loop" in url:
        ctypes.PyDLL(None).pause()
    if "hang=background" in url:
        ctypes.CDLL(None).pause()
    if "hang=memory" in url:
        bytearray(4 << 30)
    if "hang=large" in url:
        held = bytes(range(256)) * (1 << 20)
        ctypes.PyDLL(None).pause()
    return gather(url, *arguments)

module.gather = hanging
"""


@pytest.fixture(autouse=True)
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CHECK_EVERY", 0.1)


@pytest.fixture
def hanging(tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts pools whose workers can be made to hang."""
    (tmp_path / "sitecustomize.py").write_text(HANGS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    return start


@pytest.mark.parametrize("page", ["/ok?hang=loop", "/big?hang=background"])
def test_a_worker_that_hangs_is_replaced(hanging: Start, server: Server, page: str) -> None:
    """All it had in hand comes back, and the page is tried alone. If the worker hangs again, that is its outcome."""
    pool = hanging("gatherer.timeout=1500ms", workers=1)
    pool.assign([ask(1, server.url("/ok"), server)])
    collect(pool, 1)
    (before,) = pool.pids()
    pool.assign([ask(2, server.url("/silent"), server), ask(3, server.url(page), server)])
    found = collect(pool, 2)
    assert outcomes(found) == {2: Outcome.RETURNED, 3: Outcome.RETURNED}
    assert found[3][1]["detail"] == b"it hung"
    assert pool.pids() != [before]
    assert pool._blame._suspects == {server.url(page)}
    pool.assign([ask(4, server.url(page), server), ask(5, server.url("/ok"), server)])
    assert outcomes(collect(pool, 2)) == {4: Outcome.WORKER_DIED, 5: Outcome.OK}
    assert not pool._blame._suspects


def test_a_worker_that_is_stopped_is_replaced_and_no_page_is_blamed(start: Start, server: Server) -> None:
    pool = start("gatherer.timeout=1500ms", "harvester.first_byte_timeout=3s", workers=1)
    pool.assign([ask(1, server.url("/silent"), server)])
    assert outcomes(collect(pool, 1)) == {1: Outcome.TIMED_OUT}, "a slow network does not count as hanging"
    pool.assign([ask(2, server.url("/silent"), server)])
    os.kill(pool.pids()[0], signal.SIGSTOP)
    assert outcomes(collect(pool, 1)) == {2: Outcome.RETURNED}
    assert not pool._blame._suspects
    pool.assign([ask(3, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {3: Outcome.OK}


def test_other_pages_end_while_one_is_read_in_the_background(hanging: Start, server: Server, tmp_path: Path) -> None:
    pool = hanging("gatherer.timeout=6s", workers=1)
    pool.assign([ask(1, server.url("/big?hang=background"), server)])
    pool.assign([ask(i, server.url(f"/page/{i}"), server) for i in range(2, 12)])
    small = collect(pool, 10)
    assert set(outcomes(small).values()) == {Outcome.OK}
    (name,) = pool.warc_lengths()
    assert outcomes(collect(pool, 1)) == {1: Outcome.RETURNED}
    assert len(archived(tmp_path / name)) == 10, "nothing of the page that hung is in the archive"


def test_results_come_in_the_order_of_their_records_in_the_archive(
    start: Start, server: Server, tmp_path: Path
) -> None:
    pool = start(workers=1)
    pages = [server.url(f"/big?{i}" if i % 5 == 0 else f"/page/{i}") for i in range(1, 41)]
    pool.assign([ask(i, url, server) for i, url in enumerate(pages, 1)])
    numbers: list[int] = []
    ends: list[int] = []
    until = time.monotonic() + WITHIN
    while len(numbers) < len(pages) and time.monotonic() < until:
        visits = pool.results(0.2).visits
        numbers += visits["number"].tolist()
        ends += visits["warc_end"].tolist()
        assert all(size > LARGE for size in visits["length"][visits["number"] % 5 == 0])
    assert ends == sorted(ends)
    (name,) = pool.warc_lengths()
    assert [url.encode() for url, _ in archived(tmp_path / name)] == [pages[number - 1] for number in numbers]


CHECKS = st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.booleans()), min_size=1, max_size=40)


@given(checks=CHECKS)
def test_a_worker_hangs_exactly_if_it_is_still_for_too_long(
    checks: list[tuple[bool, int, bool]],
) -> None:
    """Compared with the plain definition: the last checks, one second apart, all saw the same."""
    turns = 1
    seen: list[tuple[int, int | None]] = []
    heartbeat = SimpleNamespace(turns=lambda: turns, read=lambda background: seen[-1][1] if background else None)
    worker = SimpleNamespace(
        heartbeat=heartbeat, open={}, hung=None, _still=[0.0, 0.0], _last=(0, None), named=lambda: [7]
    )
    for turned, background, busy in checks:
        turns += turned
        seen.append((turns, background or None))
        worker.open = {7: None} if busy else {}
        worker.hung = None
        Worker.check(worker, 1.0, 2.5)  # type: ignore[arg-type]
        same = [(a[0] == seen[-1][0], a[1] == seen[-1][1]) for a in seen[-4:]]
        handed = [in_hand for *_, in_hand in checks[: len(seen)]][-3:]
        still = len(same) == 4 and all(turn for turn, _ in same) and all(handed)
        over = len(same) == 4 and background and all(page for _, page in same)
        assert worker.hung == ([7] if still else [background] if over else None)


def test_deaths_for_which_a_page_is_blamed_do_not_end_the_crawl(
    hanging: Start, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blame, "MOST_DEATHS", 1)
    pool = hanging("gatherer.timeout=1500ms", workers=1)
    for number in range(1, 4):
        pool.assign([ask(number, server.url(f"/ok?hang=loop&{number}"), server)])
        assert outcomes(collect(pool, 1)) == {number: Outcome.RETURNED}
    pool.assign([ask(4, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {4: Outcome.OK}


@pytest.mark.parametrize("page", ["/ok?", "/big?"])
def test_a_page_that_takes_too_much_memory_costs_a_worker(
    hanging: Start, server: Server, page: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A small page is read in the loop of the worker, a large one in its background thread."""
    pool = hanging(workers=1)
    for number, outcome in enumerate((Outcome.RETURNED, Outcome.WORKER_DIED), 1):
        pool.assign([ask(number, server.url(f"{page}hang=memory"), server)])
        found = collect(pool, 1)
        assert outcomes(found) == {number: outcome}
        assert found[number][1]["detail"] == b"it used up the memory that a worker may use"
    pool.assign([ask(3, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {3: Outcome.OK}
    assert "Traceback" not in capfd.readouterr().err


def test_a_worker_that_the_desk_ends_costs_the_page_that_it_was_gathering(hanging: Start, server: Server) -> None:
    """The memory of the crawl runs out while one worker is large (`Watch`)."""
    pool = hanging(workers=1)
    for number, outcome in enumerate((Outcome.RETURNED, Outcome.WORKER_DIED), 1):
        (pid,) = pool.pids()
        pool.assign([ask(number, server.url("/ok?hang=large"), server)])
        wait_for(lambda pid=pid: memory.used([pid]) > LARGE_WORKER)  # type: ignore[misc]
        pool.end(pid, "it used much")
        found = collect(pool, 1)
        assert outcomes(found) == {number: outcome}
        assert found[number][1]["detail"] == b"it used much"
    assert pool.pids() != [pid]
    pool.assign([ask(3, server.url("/ok"), server)])
    assert outcomes(collect(pool, 1)) == {3: Outcome.OK}
