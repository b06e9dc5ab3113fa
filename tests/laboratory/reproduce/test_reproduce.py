"""Reproductions: the paper's figures are recorded correctly, and our statements are computed from the runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.laboratory import Bench, Job, Measured, Subject
from gossamer.laboratory.findings.finding import Finding, as_json
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import WebGraph, save
from gossamer.laboratory.measured import POINTS, perform
from gossamer.laboratory.reproduce import batches, curves, lab, orders, paper, robots
from gossamer.laboratory.reproduce.crawls import Crawls, order_of
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.names import ALL, NAMES, named
from gossamer.laboratory.simulate.scenario import Scenario
from gossamer.manager.strategies import STRATEGIES

ELSEWHERE = (
    "gossamer.laboratory.reproduce.freshness",
    "gossamer.laboratory.reproduce.real",
    "gossamer.laboratory.reproduce.bandwidth",
    "gossamer.laboratory.reproduce.chapter5",
    "gossamer.laboratory.reproduce.chapter8",
    "gossamer.laboratory.reproduce.scheduling.finding",
)
SIMULATED = [name for name, each in NAMES.items() if NAMES[each.same_as or name].function.__module__ not in ELSEWHERE]


@pytest.fixture(scope="module")
def small() -> Iterator[Lab]:
    with Bench(1) as bench:
        yield Lab(bench, [Subject(make(pages=1200, seed=1)), Subject(make(pages=800, seed=2))], Crawls())


# --- the paper -----------------------------------------------------------------------------------------------


def test_the_papers_strategies_are_known() -> None:
    assert len(paper.TABLE_4_1) == 11
    assert set(paper.TABLE_4_1) | {orders.OWN} <= set(STRATEGIES)
    assert set(paper.NAMES_OF_000) <= set(paper.TABLE_4_1)


def test_the_papers_figures_are_consistent() -> None:
    said = paper.TABLE_4_1
    assert max(said, key=lambda n: said[n].average) == "historical-pagerank-omniscient"
    assert max(said, key=lambda n: said[n].tau) == "omniscient"
    assert min(said, key=lambda n: said[n].average) == "backlink-count"
    rows = list(paper.TABLE_4_2.values())
    assert all(len(row) == len(paper.ROBOTS) and list(row) == sorted(row) for row in rows)
    assert all(a <= b for low, high in pairwise(rows) for a, b in zip(low, high, strict=True))
    assert rows[-1][0] == 1.0, "the base of all speed-ups"
    for bandwidth in (2_000, 20_000):
        assert paper.BATCH_HOURS[bandwidth, 100] < paper.BATCH_HOURS[bandwidth, 1]
        assert paper.BATCH_BYTES / bandwidth / 3600 <= paper.BATCH_HOURS[bandwidth, 100] + 0.1


# --- names ---------------------------------------------------------------------------------------------------


def test_every_table_and_figure_has_a_name() -> None:
    figures = {f"fig-4.{n}" for n in range(2, 17)} | {f"fig-000-6.{n}" for n in range(5, 14)}
    chapter8 = {f"fig-8.{n}" for n in range(1, 28)} - {"fig-8.18", "fig-8.21"} | {f"table-8.{n}" for n in range(1, 8)}
    chapter5 = {f"fig-5.{n}" for n in (6, 8, *range(10, 20))} | {f"table-5.{n}" for n in range(1, 5)} | {"models-5"}
    assert set(NAMES) == figures | chapter5 | chapter8 | {
        "table-4.1",
        "table-4.2",
        "table-000-6.1",
        "abstract",
        "fig-003",
        "table-001",
        "freshness",
    }


def test_all_leaves_out_repetitions() -> None:
    every = named(ALL)
    assert not [name for name in every if NAMES[name].same_as]
    assert {each.same_as for each in NAMES.values()} - {""} <= set(every)
    assert named("fig-000-6.6") == ["fig-000-6.6"]


def test_an_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        named("tabel-4.1")
    assert "Did you mean table-4.1?" in raised.value.cure
    assert all(name in raised.value.cure for name in NAMES)


@pytest.mark.parametrize("name", SIMULATED)
def test_a_reproduction_states_the_papers_result_and_ours(name: str, small: Lab) -> None:
    found = NAMES[name].function(small)
    assert found.name == name
    assert found.tables or found.plots
    assert "pages" in found.setting
    assert found.source.startswith(("Thesis", "000"))
    judged = [s for s in found.sentences if s.agrees is not None]
    assert judged
    assert all(re.fullmatch(r"The paper: .+\. Ours: .+\.", s.text, re.DOTALL) for s in judged)
    assert "nan" not in " ".join(s.text for s in found.sentences)
    as_json(found)


def test_no_two_reproductions_write_the_same_file(small: Lab) -> None:
    findings = [NAMES[name].function(small) for name in SIMULATED]
    files = [table.name for f in findings for table in f.tables] + [plot.name for f in findings for plot in f.plots]
    assert len(files) == len(set(files))
    assert not set(files) & {"index", "report"}


def test_the_same_seed_gives_the_same_finding() -> None:
    def once() -> Finding:
        with Bench(1) as bench:
            return orders.table_4_1(Lab(bench, [Subject(make(pages=600, seed=1))], Crawls()))

    assert once() == once()


# --- computations --------------------------------------------------------------------------------------------


def flat(curve: list[float], strategy: str = "x") -> Measured:
    """A run with this cumulative PageRank, linear between the points."""
    graph = make(pages=50, seed=1)
    run = perform(Job("breadth-first", Scenario()), graph, np.full(50, 0.02), None)
    values = np.interp(np.linspace(0, 1, POINTS + 1), np.linspace(0, 1, len(curve)), curve)
    return replace(run, strategy=strategy, curve=values, average=float(values.mean()))


def test_a_random_order_has_no_bend_and_the_best_first_has_one() -> None:
    x = np.linspace(0, 1, 1001)
    assert lab.bend(x, 0.8) == pytest.approx(0)
    assert lab.bend(np.sqrt(x), 0.0) == pytest.approx(2 / 3 - 1 / 2, abs=0.001)
    assert lab.bend(np.ones(1001), 0.8) == 0


def test_concordance_is_kendalls_tau() -> None:
    assert orders.concordance([1, 2, 3], [10, 20, 30]) == 1
    assert orders.concordance([1, 2, 3], [30, 20, 10]) == -1
    assert orders.concordance([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)


def test_optimal_is_overtaken_where_another_curve_crosses_it() -> None:
    optimal, other = flat([0, 0.6, 0.8, 0.9, 1.0]), flat([0, 0.3, 0.6, 0.95, 1.0])
    said = curves.overtaken(optimal, {"Length": other})
    assert said.agrees
    assert "Length is ahead of it from 70 %" in said.text
    assert "the largest lead is .050, by Length" in said.text
    assert not curves.overtaken(other, {"Length": flat([0, 0.2, 0.4, 0.6, 1.0])}).agrees


def test_agreement_follows_from_the_numbers() -> None:
    good = {name: flat([0, 0.7, 0.8, 0.9, 1.0], name) for name in orders.WITHOUT_HISTORY}
    bad = {name: flat([0, 0.1, 0.2, 0.3, 1.0], name) for name in orders.WITHOUT_HISTORY}
    worse = [s for s in curves._of_curves(good) if "worse than a random crawl" in s.text]
    assert [s.agrees for s in worse] == [False, False]
    worse = [s for s in curves._of_curves(bad) if "worse than a random crawl" in s.text]
    assert [s.agrees for s in worse] == [True, True]


def test_skew_in_closed_form() -> None:
    assert batches.gini(np.array([5.0, 5, 5, 5])) == pytest.approx(0)
    assert batches.gini(np.array([0.0, 0, 0, 1])) == pytest.approx(0.75)
    assert batches.top_tenth(np.array([91.0] + [1] * 9)) == pytest.approx(0.91)


def test_the_mean_of_a_step_function_is_weighted_by_time() -> None:
    steps = np.array([[0.0, 10], [1, 2], [10, 0]])
    assert batches.busy(steps) == pytest.approx((10 * 1 + 2 * 9) / 10)
    assert batches.restless(np.array([[0.0, 5], [10, 5]])) == 0


def test_a_batch_is_the_middle_of_the_crawl_within_its_bytes() -> None:
    web = make(pages=1000, seed=1)
    order = np.arange(1000, dtype=np.uint32)
    batch = batches.middle_batch(Subject(web), order, 1_000_000).graph
    assert 900_000 < int(batch.size.sum()) <= 1_000_000
    assert len(batch.links.targets) == 0
    assert batch.start.tolist() == list(range(batch.pages))
    everything = batches.middle_batch(Subject(web), order, 10**12).graph
    assert everything.pages == 1000


def test_speed_ups_are_relative_to_one_robot_at_the_highest_bandwidth() -> None:
    one = flat([0, 1])
    runs = {
        (b, r): replace(one, clock=np.linspace(0, 1000 / r, POINTS + 1)) for b in paper.TABLE_4_2 for r in paper.ROBOTS
    }
    assert robots.speedups(runs)[20_000_000, 256] == pytest.approx(256)
    assert robots.speedups(runs, 0.1)[200, 1] == 1


def test_the_two_batched_strategies_get_their_batch_and_no_other() -> None:
    assert orders.job("batch-pagerank", 3500, 1).scenario.batch == 100
    assert orders.job("partial-pagerank", 3500, 1, 350).scenario.rank_every == 10
    assert orders.job("partial-pagerank", 3500, 1).scenario.batch == 1
    assert orders.job("opic", 3500, 1).scenario.batch == 1
    for name in paper.TABLE_4_1:
        scenario = orders.job(name, 3500, 7).scenario
        assert (scenario.connections, scenario.wait, scenario.per_turn, scenario.random_seed) == (1, 15, 1, 7)


@pytest.mark.parametrize(("x", "said"), [(0.6824, ".682"), (1.0, "1.000"), (-0.0123, "-0.012"), (0.0, ".000")])
def test_numbers_are_written_as_in_the_tables(x: float, said: str) -> None:
    assert lab.number(x) == said


# --- graphs and crawls ---------------------------------------------------------------------------------------


def test_without_graphs_one_is_generated_and_described_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOSSAMER_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (made,) = lab.subjects([], 1, made=500)
    assert made.graph.pages == 500
    assert "generated, as no graph was named or found" in made.described


def test_graphs_are_found_in_the_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "debian-docs.npz", make(pages=300, seed=1))
    monkeypatch.setenv("GOSSAMER_DATA", str(tmp_path))
    assert lab.known() == [tmp_path / "debian-docs.npz"]
    (found,) = lab.subjects([], 1)
    assert (found.graph.pages, found.note) == (300, "")


def test_one_site_without_start_pages_gets_random_ones() -> None:
    web = make(pages=300, seed=1)
    one = WebGraph(web.links, np.zeros(300, np.uint32), web.size, np.zeros(1, np.uint32), "one")
    found = lab.subject(one, 1)
    assert len(set(found.graph.start.tolist())) == lab.STARTS
    assert "random start pages" in found.note
    assert "1 site, 50 start pages" in found.described
    assert lab.subject(one, 1).graph.start.tolist() == found.graph.start.tolist()


def test_a_crawl_can_use_only_strategies_that_it_has_the_data_for() -> None:
    assert order_of("breadth-first") == "manager.policy=breadth-first"
    assert order_of("larger-sites-first")
    with pytest.raises(UsageError, match="omniscient"):
        order_of("omniscient")
