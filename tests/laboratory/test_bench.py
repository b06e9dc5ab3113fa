"""Runs in parallel processes, and the measures of each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import GossamerError
from gossamer.laboratory import Bench, Job, Measured, Subject
from gossamer.laboratory.bench import SMALL, with_start
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.measured import POINTS, STEPS, perform, sampled, thinned
from gossamer.laboratory.simulate.scenario import Scenario, Servers

POLITE = Scenario(connections=8, wait=15.0, servers=Servers.measured())


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject(make(pages=1500, seed=3))


def same(a: Measured, b: Measured) -> bool:
    return (a.strategy, a.average, a.tau, a.reach, a.totals.seconds) == (
        b.strategy,
        b.average,
        b.tau,
        b.reach,
        b.totals.seconds,
    ) and (np.array_equal(a.curve, b.curve) and np.array_equal(a.active, b.active) and np.array_equal(a.order, b.order))


def test_several_processes_give_the_results_of_one(subject: Subject) -> None:
    jobs = [Job("opic", POLITE, True), Job("breadth-first", POLITE), Job("historical-pagerank-zero", Scenario())]
    with Bench(2) as two, Bench(1) as one:
        assert all(map(same, two.run(subject, jobs), one.run(subject, jobs)))


def test_a_small_graph_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Subject(make(pages=SMALL, seed=3))
    jobs = [Job("opic", Scenario()), Job("breadth-first", Scenario())]
    monkeypatch.setattr("gossamer.laboratory.bench.Process", None)
    with Bench(2) as bench:
        assert [run.strategy for run in bench.run(small, jobs)] == ["opic", "breadth-first"]


def test_no_job_runs_twice(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    with Bench(1) as bench:
        first = bench.run(subject, [Job("opic", Scenario()), Job("opic", Scenario())])
        monkeypatch.setattr("gossamer.laboratory.bench.performed", None)
        assert bench.run(subject, [Job("opic", Scenario())])[0] is first[0] is first[1]


def test_another_graph_is_another_subject(subject: Subject) -> None:
    other = Subject(with_start(subject.graph, subject.graph.start[:1]))
    with Bench(1) as bench:
        runs = [bench.run(each, [Job("opic", Scenario())])[0] for each in (subject, other)]
    assert runs[0].pages > runs[1].pages


def test_an_error_in_a_process_is_raised_here(subject: Subject) -> None:
    with Bench(2) as bench, pytest.raises(GossamerError):
        bench.run(subject, [Job("no-such", Scenario()), Job("neither", Scenario())])


def test_an_interrupted_bench_leaves_no_process_and_no_file(subject: Subject) -> None:
    pids: list[int] = []

    def interrupt(what: str, part: float) -> None:
        pids.extend(process.pid for _, process in bench._running.values())
        raise KeyboardInterrupt

    with Bench(2, interrupt) as bench:
        place = Path(bench._folder.name)
        with pytest.raises(KeyboardInterrupt):
            bench.run(subject, [Job("opic", Scenario()), Job("breadth-first", Scenario())])
        assert not bench._running
    assert pids
    assert not place.exists()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_progress_is_shown_and_ends_at_1(subject: Subject) -> None:
    seen: list[tuple[str, float]] = []
    with Bench(2, lambda what, part: seen.append((what, part))) as bench:
        bench.run(subject, [Job("opic", Scenario()), Job("breadth-first", Scenario())])
    assert all(0 <= part <= 1 for _, part in seen)
    assert seen[-1][1] == 1
    assert "2 of 2 runs" in seen[-1][0]


def test_a_curve_begins_at_0_and_ends_at_1(subject: Subject) -> None:
    run = perform(Job("opic", POLITE), subject.graph, subject.worth, None)
    assert len(run.curve) == len(run.clock) == POINTS + 1
    assert (run.curve[0], run.clock[0]) == (0, 0)
    assert run.curve[-1] == pytest.approx(1)
    assert (np.diff(run.curve) >= 0).all()
    assert (np.diff(run.clock) >= 0).all()
    assert (run.curve <= run.bound + 1e-12).all()
    assert run.bound[POINTS // 2] == pytest.approx(np.sort(subject.worth)[::-1][: run.pages // 2].sum(), abs=0.002)
    assert run.at(0.5) == pytest.approx(run.curve[POINTS // 2])
    assert run.average == pytest.approx(run.curve.mean(), abs=0.002)
    assert run.speed == pytest.approx(run.pages / run.totals.seconds)
    assert len(run.order) == 0


def test_the_earlier_crawl_is_the_same_each_time(subject: Subject) -> None:
    again = Subject(subject.graph, seed=subject.seed)
    assert np.array_equal(again.history, subject.history, equal_nan=True)


@pytest.mark.parametrize("length", [1, 2, 999, 1000, 1001, 4567])
def test_sampling_keeps_the_ends(length: int) -> None:
    values = np.arange(1.0, length + 1)
    got = sampled(values)
    assert (got[0], got[-1], len(got)) == (0, length, POINTS + 1)


def test_thinning_keeps_the_ends() -> None:
    steps = np.stack([np.arange(10_000.0), np.ones(10_000)], 1)
    kept = thinned(steps)
    assert len(kept) <= STEPS
    assert (kept[0, 0], kept[-1, 0]) == (0, 9999)
    assert thinned(kept) is kept


def test_a_bench_starts_processes_at_once(subject: Subject) -> None:
    """A pool that waits for one process before it starts the next would take twice as long."""
    most = 0

    def look(what: str, part: float) -> None:
        nonlocal most
        most = max(most, len(bench._running))

    with Bench(3, look) as bench:
        bench.run(subject, [Job("opic", Scenario(random_seed=n)) for n in range(3)])
    assert most >= 2
