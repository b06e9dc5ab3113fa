"""The reproduction of 003: its sentences follow from the samples, and a short run over real sockets.

No test depends on the speed of this machine: speeds are those of generated samples, or only their signs matter.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gossamer.harvester.bandwidth.admission import Admission
from gossamer.laboratory.findings.finding import as_json
from gossamer.laboratory.reproduce import bandwidth, paper, servers
from gossamer.laboratory.reproduce.bandwidth import DEEP, FETCHERS, OURS, SHALLOW
from gossamer.laboratory.reproduce.limited import Fetchers, Ran, queue_of, warmed
from tests.support.crawling import alive, children
from tests.support.timing import COMMAND

LIMIT = 140_000


def ran(speeds: list[float], predicted: float = LIMIT, inversions: int = 0) -> Ran:
    """A run that reads at these speeds, one second each."""
    times = np.arange(100 * len(speeds) + 1) / 100
    read = np.concatenate([[0.0], np.cumsum(np.repeat(speeds, 100) / 100)])
    return Ran(times, read, np.full(len(times), predicted), inversions, 10, 1)


def four(**other: Ran) -> dict[str, Ran]:
    names = {"ours": OURS, "deep": DEEP, "shallow": SHALLOW, "fetchers": FETCHERS}
    usual = {
        "ours": ran([139_000.0] * 6),
        "deep": ran([130_000.0, 120_000.0] * 3, inversions=20),
        "shallow": ran([110_000.0, 120_000.0] * 3, inversions=4),
        "fetchers": ran([60_000.0, 220_000.0] * 3),
    }
    return {names[name]: each for name, each in (usual | other).items()}


# --- computations --------------------------------------------------------------------------------------------


def test_seconds_means_and_windows_are_those_of_the_samples() -> None:
    run = ran([100.0, 300.0, 200.0])
    assert run.seconds == 3
    assert run.measured_by_second().tolist() == pytest.approx([100, 300, 200])
    assert run.predicted_by_second().tolist() == pytest.approx([LIMIT] * 3)
    assert run.mean == pytest.approx(200)
    assert run.most() == pytest.approx(300)
    assert run.most(2.0) == pytest.approx(250)
    assert ran([0.0, 400.0, 0.0]).most(0.5) == pytest.approx(400)


def test_a_window_may_begin_between_two_seconds() -> None:
    times = np.arange(401) / 100
    burst = np.clip(times - 1.5, 0, 1) * 1000
    assert Ran(times, burst, times, 0, 0, 0).most() == pytest.approx(1000)
    assert Ran(times, burst, times, 0, 0, 0).measured_by_second().max() == pytest.approx(500)


def test_agreement_follows_from_the_runs() -> None:
    said = [s.agrees for s in bandwidth.sentences(four(), LIMIT)]
    assert said == [True, True, True, True, True, True, True, None]
    other = four(
        deep=ran([150_000.0, 40_000.0] * 3, predicted=150_000.0, inversions=1),
        shallow=ran([99_000.0] * 6, 0, 2),
        fetchers=ran([140_000.0] * 6),
    )
    assert [s.agrees for s in bandwidth.sentences(other, LIMIT)] == [False] * 7 + [None]


def test_the_finding_has_a_row_for_each_way_and_the_papers_means_next_to_ours() -> None:
    found = bandwidth.finding(four(), LIMIT)
    ways, means = found.tables
    assert [row[0] for row in ways.rows] == [OURS, DEEP, SHALLOW, FETCHERS]
    assert all(len(row) == len(ways.columns) for row in ways.rows)
    assert [row[1] for row in means.rows] == [71_788, 64_562, pytest.approx(1.1119, abs=1e-4)]
    assert means.rows[2][2] == pytest.approx(125_000 / 115_000)
    names = [plot.name for plot in found.plots]
    assert names == ["fig-003-1", "fig-003-2", "fig-003-2-shallow", "fig-003-3", "fig-003-ours"]
    assert all(len(line.x) == len(line.y) for plot in found.plots for line in plot.series)
    as_json(found)


def test_the_runs_are_those_of_the_paper() -> None:
    assert (paper.BANDWIDTH_LIMIT, paper.BANDWIDTH_SECONDS) == (140_000, 40)
    by_label = {way.label: way for way in bandwidth.WAYS}
    assert by_label[OURS].changes == ()
    for label, depth in ((DEEP, 6), (SHALLOW, 2)):
        assert set(by_label[label].changes) == {
            "harvester.bandwidth_adapts=false",
            "harvester.bandwidth_enforced=false",
            f"harvester.bandwidth_depth={depth}",
        }
    assert [way.by_fetchers for way in bandwidth.WAYS] == [False, False, False, True]


# --- fetchers ------------------------------------------------------------------------------------------------


def offered(fetchers: Admission, sites: list[int]) -> list[int]:
    """The sites that were started."""
    search, taken = fetchers.search(0.0), 0
    while taken < len(sites) and (width := search.width):
        some = np.array(sites[taken : taken + width], np.uint32)
        started, caps = search.offer(some, np.full(len(some), 5_000.0))
        assert started.all()
        assert not caps.any()
        taken += len(some)
    return sites[:taken]


def test_a_fetcher_is_started_below_the_limit_and_stopped_above_it() -> None:
    fetchers = Fetchers(100)
    fetchers.limit = 10_000
    assert offered(fetchers, [1, 2, 3]) == [1]
    assert fetchers.observe(0, 0.0) is None
    assert fetchers.observe(100, 0.5) is None, "it is measured every second"
    assert fetchers.observe(5_000, 1.0) == 5_000
    assert fetchers.active == 2
    assert offered(fetchers, [2, 3]) == [2]
    assert fetchers.predicted == 10_000
    fetchers.observe(25_000, 2.0)
    assert fetchers.active == 1
    fetchers.close(np.array([1]))
    assert offered(fetchers, [3]) == [], "one is still busy, and one is allowed"
    fetchers.close(np.array([2]))
    assert (fetchers.busy, fetchers.predicted) == (0, 0)
    assert offered(fetchers, [3, 4]) == [3]


def test_idle_fetchers_do_not_increase_and_one_always_stays() -> None:
    fetchers = Fetchers(100)
    fetchers.limit = 10
    for second in range(10):
        fetchers.observe(0, float(second))
    assert fetchers.active == 1
    for second in range(10, 20):
        fetchers.observe(10_000 * second, float(second))
    assert fetchers.active == 1


# --- servers -------------------------------------------------------------------------------------------------


def test_a_third_of_the_servers_are_slow_some_are_too_fast_and_some_change() -> None:
    every = range(servers.SITES)
    usual = [servers.speed_of(site, 0.0) for site in every]
    assert sum(speed <= 13_000 for speed in usual) == servers.SITES // 3
    assert 0 < sum(speed > paper.BANDWIDTH_LIMIT for speed in usual) <= servers.SITES // 10
    assert sum(servers.speed_of(site, servers.CHANGE) != usual[site] for site in every) == servers.SITES // 6
    assert all(servers.speed_of(site, 2 * servers.CHANGE) == usual[site] for site in every)


def test_the_queue_is_the_same_for_all_and_longer_than_any_run() -> None:
    queue = queue_of(servers.SITES)
    assert queue == queue_of(servers.SITES)
    assert len(set(queue)) == len(queue)
    pages = [servers.page_of(site, f"/{number}") for site in range(0, servers.SITES, 10) for number in range(30)]
    assert len(set(pages)) == len(pages)
    whole = np.mean([len(page) for page in pages]) * len(queue)
    assert whole > 3 * paper.BANDWIDTH_LIMIT * (paper.BANDWIDTH_SECONDS + 8)


# --- over real sockets ---------------------------------------------------------------------------------------


def test_two_ways_over_real_sockets() -> None:
    """Fast servers, few of them, and a limit below their speed: judged by the counts."""
    shown: list[str] = []
    ways = {way.label: way for way in bandwidth.WAYS}
    with warmed(lambda what, part: shown.append(what), sites=12, hurry=10.0) as crawled:
        found = {label: crawled(ways[label], 200_000, 2.0, 0.5) for label in (OURS, FETCHERS)}
    assert {OURS, FETCHERS} <= set(shown)
    for each in found.values():
        assert (np.diff(each.read) >= 0).all()
        assert each.read[-1] > each.read[0]
        assert each.pages > 0
        assert each.left > 0, "the queue never runs out"
        assert each.predicted.max() > 0
    assert found[OURS].most() <= 200_000 + 65_536
    assert found[FETCHERS].inversions == 0


def test_an_interrupt_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "gossamer", "reproduce", "fig-003", "--seconds", "60"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until, started = time.monotonic() + COMMAND, set[int]()
    while time.monotonic() < until and process.poll() is None and len(started) < 2:
        started |= set(children(process.pid))
        time.sleep(0.02)
    assert len(started) >= 2, "the servers, and a worker"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=COMMAND)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert not [pid for pid in started if alive(pid)]
    assert list(tmp_path.iterdir()) == []
