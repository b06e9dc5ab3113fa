"""Benchmarks with a bound fail when it is missed, and `make bounds` runs them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench import answers, disk_sizes, page_cost, rank
from bench.bounds import Figure, judge
from bench.sql import make
from gossamer.base.log import EventLog, Level
from gossamer.observe.statistics import Statistics
from tests.support.crawling import gossamer
from tests.support.paths import ROOT


def test_a_figure_stands_beside_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    judge([Figure("time", 0.5, "s", 0.5), Figure("speed", 120.0, "MB/s", 100, at_least=True, aside="busy")])
    one, two = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"time +0.5 s \(bound: at most 0.5\)", one)
    assert re.fullmatch(r"speed +120 MB/s \(bound: at least 100\); busy", two)


def test_a_missed_bound_ends_the_program_when_all_figures_are_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="missed: speed, time") as raised:
        judge([Figure("speed", 99, "MB/s", 100, at_least=True), Figure("time", 0.6, "s", 0.5), Figure("x", 1, "", 2)])
    assert raised.value.code not in (0, None)
    assert [line.endswith("MISSED") for line in capsys.readouterr().out.splitlines()] == [True, True, False]


def test_page_cost_is_held_against_its_bounds() -> None:
    then = Statistics.from_json({"run_visits": 100, "cpu_seconds": 1.0, "desk_seconds": 0.1})
    end = Statistics.from_json({"run_visits": 1_100, "cpu_seconds": 2.9, "desk_seconds": 0.35})
    assert [f.is_good for f in page_cost.costs(then, end)] == [True, False]
    assert (page_cost.A_PAGE, page_cost.OF_THE_DESK) == (2.0, 0.2)


def test_the_cost_of_scores_is_held_against_its_bound() -> None:
    assert rank.Cost(100.0, [2.0, 2.9], 50_000).figure("scores").is_good
    assert not rank.Cost(100.0, [2.0, 3.1], 50_000).figure("scores").is_good
    with pytest.raises(SystemExit, match="never computed"):
        rank.Cost(100.0, [], 50_000).figure("scores")


def test_the_log_of_a_crawl_says_what_its_computations_took(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", Level.INFO, print)
    log.event("start", folder="scores")
    log.event("scores", cpu=1.5, pages=10)
    log.event("scores", cpu=0.25)
    log.close()
    assert list(rank.computations(tmp_path / "log")) == [1.5, 0.25]


@pytest.mark.slow
@pytest.mark.parametrize("missed", [None, *disk_sizes.BOUNDS])
def test_disk_sizes_fails_when_a_bound_is_missed(missed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["disk_sizes", "--visits", "300", "--texts", "1000"])
    if missed is None:
        disk_sizes.main()
        return
    monkeypatch.setitem(disk_sizes.BOUNDS, missed, 0.5)
    with pytest.raises(SystemExit, match=missed):
        disk_sizes.main()


@pytest.mark.slow
def test_answers_asks_a_collection_that_was_stopped_cleanly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "RUNS", 1)
    make(tmp_path, 10_000)
    answers.stop_cleanly(tmp_path)
    assert list((tmp_path / "shard-000" / "image").iterdir())
    assert gossamer("explain", tmp_path, answers.url_of(5_000), "--json").figures["visits"]
    figures = {figure.name: figure for figure in answers.measure(tmp_path, 10_000)}
    assert {f.bound for name, f in figures.items() if name.startswith("explain")} == {0.5}
    assert (figures["status"].bound, figures["--help"].bound, figures["sql: visits by outcome"].bound) == (0.5, 0.5, 1)


def test_make_bounds_runs_every_benchmark() -> None:
    (named,) = re.findall(r"^BENCHES := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    runnable = {path.stem for path in (ROOT / "bench").glob("*.py") if "__main__" in path.read_text()}
    assert runnable - set(named.split()) <= {"start", "orders"}, "start is run by scale; orders takes an hour"
    assert set(named.split()) <= runnable
