"""The commands `gossamer simulate`, `compare` and `reproduce`."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.cli import app
from gossamer.cli.options import speed_of
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import load, save
from gossamer.laboratory.reproduce.names import NAMES
from gossamer.manager.strategies import STRATEGIES
from gossamer.tools.compile import warm
from tests.support.crawling import command
from tests.support.timing import COMMAND, wait_for


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "small.npz"
    save(path, make(pages=800, seed=1))
    return path


def said(*arguments: str | Path) -> str:
    ended = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def refused(*arguments: str | Path) -> GossamerError:
    with pytest.raises(GossamerError) as raised:
        CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    return raised.value


@pytest.mark.parametrize(
    "words",
    [
        "rank",
        "compare",
        "report",
        "graph show",
        "graph sample",
        "graph export --edges x.tsv",
        "simulate --strategy opic",
    ],
)
def test_a_place_that_is_not_there_is_told_before_kernels_are_compiled(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gossamer.cli.options.compile_kernels", lambda _: pytest.fail("it compiles first"))
    assert "nothere" in refused(*words.split(), tmp_path / "nothere").message


# --- simulate ------------------------------------------------------------------------------------------------


def test_simulate_prints_a_table_of_strategies(graph: Path) -> None:
    lines = said("simulate", graph, "--strategy", "opic", "--strategy", "breadth-first", "--wait", "15s").splitlines()
    assert lines[0].split()[:3] == ["strategy", "average", "tau"]
    assert [line.split()[0] for line in lines[2:]] == ["opic", "breadth-first"]


def test_the_json_output_is_one_object_with_every_measure(graph: Path) -> None:
    found = json.loads(said("simulate", graph, "--strategy", "opic", "--connections", "4", "--wait", "15s", "--json"))
    assert (found["graph"], found["pages"], found["sites"]) == ("small", 800, load(graph).sites)
    (run,) = found["runs"]
    assert run["strategy"] == "opic"
    assert 0 < run["average"] < 1
    assert set(run["pages_to_reach"]) == {"0.5", "0.8", "0.9"}
    assert run["seconds"] > 0


def test_the_order_file_has_every_page_once(graph: Path, tmp_path: Path) -> None:
    said("simulate", graph, "--strategy", "opic", "--order", tmp_path / "order.txt")
    pages = [int(line) for line in (tmp_path / "order.txt").read_text().splitlines()]
    assert sorted(pages) == list(range(800))


def test_order_files_of_several_strategies_have_their_names(graph: Path, tmp_path: Path) -> None:
    said("simulate", graph, "--strategy", "opic", "--strategy", "breadth-first", "--order", tmp_path / "order.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"order.opic.txt", "order.breadth-first.txt"}


def test_the_same_seed_gives_identical_files(graph: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        said(
            "simulate",
            graph,
            "--strategy",
            "random-frontier",
            "--servers",
            "measured",
            "--random-seed",
            "7",
            "--order",
            tmp_path / f"{name}.txt",
            "--out",
            tmp_path / name,
        )
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_out_writes_csv_plots_and_a_page(graph: Path, tmp_path: Path) -> None:
    said("simulate", graph, "--strategy", "opic", "--wait", "15s", "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "report.md", "simulate-scores.csv", "simulate-pages.svg", "simulate-time.png"} <= names


def test_a_simulation_starts_at_the_given_pages_and_ends_after_the_given_number(graph: Path, tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.write_text("# these\n0\n\n5\n5\n")
    found = json.loads(said("simulate", graph, "--strategy", "opic", "--start", start, "--pages", "2", "--json"))
    assert (found["start"], found["runs"][0]["pages"]) == (2, 2)


@pytest.mark.parametrize(
    ("text", "line"), [("0\nx\n", "line 2"), ("800\n", "line 1"), ("-1\n", "line 1"), ("", "no page")]
)
def test_the_error_for_an_invalid_start_file_names_the_line(text: str, line: str, graph: Path, tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.write_text(text)
    error = refused("simulate", graph, "--strategy", "opic", "--start", start)
    assert line in error.message
    assert error.exit_code == 2


def test_the_error_for_an_unknown_strategy_lists_all_and_suggests_the_nearest(graph: Path) -> None:
    error = refused("simulate", graph, "--strategy", "breath-first")
    assert error.exit_code == 2
    assert "Did you mean breadth-first?" in error.cure
    assert all(name in error.cure for name in STRATEGIES)


@pytest.mark.parametrize(
    "options",
    [("--wait", "soon"), ("--bandwidth", "2 horses"), ("--bandwidth", "0"), ("--pause", "-1s")],
)
def test_invalid_units_are_refused(options: tuple[str, str], graph: Path) -> None:
    error = refused("simulate", graph, "--strategy", "opic", *options)
    assert error.exit_code == 2
    assert options[0] in error.message


def test_speeds_have_units() -> None:
    assert speed_of("--bandwidth", "2MB/s") == 2_000_000
    assert speed_of("--bandwidth", "500B/s") == 500
    assert speed_of("--bandwidth", None) == float("inf")


def test_a_missing_graph_is_refused(tmp_path: Path) -> None:
    assert refused("simulate", tmp_path / "none.npz", "--strategy", "opic").exit_code == 2


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_written_file(tmp_path: Path) -> None:
    large, out = tmp_path / "large.npz", tmp_path / "out"
    save(large, make(pages=200_000, seed=1))
    process = subprocess.Popen(
        command(
            "simulate",
            large,
            "--strategy",
            "opic",
            "--strategy",
            "batch-pagerank",
            "--batch",
            "500",
            "--out",
            out,
            "--order",
            tmp_path / "order.txt",
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(lambda: out.exists() or process.poll() is not None, "the folder of the results", COMMAND)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=COMMAND)
    assert process.returncode in (0, 130)
    assert b"Traceback" not in errors
    left = [path.name for path in (*tmp_path.iterdir(), *out.iterdir())]
    assert not [name for name in left if name.endswith(disk.TEMPORARY)]
    if process.returncode:
        assert sorted(left) == ["large.npz", "out"]


# --- compare and reproduce -----------------------------------------------------------------------------------


def test_a_crawl_is_compared_with_its_simulation(tmp_path: Path) -> None:
    warm(tmp_path / "crawl", "opic")
    shown = said("compare", tmp_path / "crawl", "--out", tmp_path / "out")
    assert "opic (crawl)" in shown
    assert "opic (simulated)" in shown
    assert (tmp_path / "out" / "compare-time.svg").exists()
    found = json.loads(said("compare", tmp_path / "crawl", "--strategy", "breadth-first", "--json"))
    assert [row[0] for row in found["tables"][0]["rows"]] == ["opic (crawl)", "breadth-first (simulated)"]


def test_compare_refuses_a_folder_that_is_not_a_collection(tmp_path: Path) -> None:
    assert refused("compare", tmp_path).exit_code == 2


def test_reproduce_without_a_name_lists_all() -> None:
    listed = said("reproduce")
    assert all(name in listed for name in NAMES)


def test_an_unknown_reproduction_is_refused() -> None:
    error = refused("reproduce", "fig-4.44")
    assert error.exit_code == 2
    assert "Did you mean fig-4.4?" in error.cure


def test_a_reproduction_is_printed_and_written(graph: Path, tmp_path: Path) -> None:
    shown = said("reproduce", "fig-4.3", "--graph", graph, "--out", tmp_path)
    assert shown.startswith("Figure 4.3: the upper bound")
    assert "The paper: " in shown
    assert {"fig-4.3.svg", "fig-4.3.json", "index.html", "report.md"} <= {path.name for path in tmp_path.iterdir()}


def test_reproductions_can_be_printed_as_json(graph: Path) -> None:
    found = json.loads(said("reproduce", "fig-4.9", "--graph", graph, "--json"))
    (one,) = found["reproductions"]
    assert one["finding"] == "fig-4.9"
    assert all(isinstance(s["agrees"], bool) for s in one["sentences"])


def test_a_speed_of_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing would ever arrive"):
        speed_of("--bandwidth", "0B/s")


# --- simulate --revisit ----------------------------------------------------------------------------------------


def test_simulate_compares_policies_of_revisits() -> None:
    options = ("--revisit", "uniform", "--revisit", "expected", "--pages", "100", "--budget", "2")
    assert [line.split()[0] for line in said("simulate", "bursts", *options).splitlines()[2:]] == [
        "uniform",
        "expected",
    ]
    found = json.loads(said("simulate", "never", *options, "--json"))
    assert (found["pages"], found["budget"]) == (100, 2)
    assert [each["policy"] for each in found["runs"]] == ["uniform", "expected"]
    assert found["runs"][1]["calibration"][0]["visits"] > 0


def test_simulate_needs_a_strategy_or_a_policy_of_revisits(graph: Path) -> None:
    for options in ((), ("--strategy", "opic", "--revisit", "uniform")):
        assert "needs a --strategy for a graph" in str(refused("simulate", graph, *options))
