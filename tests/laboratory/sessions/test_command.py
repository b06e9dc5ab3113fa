"""`gossamer sessions`: what it prints and writes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.cli import app
from gossamer.laboratory.sessions import made, present
from gossamer.laboratory.sessions.gather import gather
from gossamer.rank.surfers import MODELS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "blog.log"
    made.write(path, MODELS["B"], (0.5,), 800)
    return path


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["sessions", *map(str, arguments)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def test_the_tables_of_the_chapter_and_a_recommendation_are_printed(log: Path) -> None:
    said = run(log)
    for name in ("table 5.1", "table 5.2", "table 5.3", "table 5.4"):
        assert name in said
    assert "blog: crawl to depth 3 for 90% of the visits" in said
    assert run(log, "--share", "50").count("for 50%")


def test_a_folder_has_page_plots_numbers_and_json(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = json.loads(run(log, log, "--each", "--out", out, "--json"))
    assert json.loads((out / "report.json").read_text()) == whole
    names = [plot["name"] for section in whole["sections"] for plot in section["plots"]]
    assert {
        "fig-5.11",
        "fig-5.12",
        "fig-5.13",
        "fig-5.14",
        "fig-5.15",
        "fig-5.16",
        "fig-5.6",
        "fig-5.8",
        "fig-5.10",
    } < set(names)
    assert sum(name.startswith("fig-5.18") for name in names) == 2
    page = (out / "index.html").read_text()
    assert page.count("<img") == len(names)
    for section in whole["sections"]:
        for table in section["tables"]:
            assert list(out.glob(f"{table['name'].partition(' ')[0]}*.csv"))


def test_standard_input_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gossamer.laboratory.sessions import lines

    monkeypatch.setattr(lines, "_standard", lambda: io.BufferedReader(io.FileIO(str(log))))
    assert gather([Path("-")], "x").counts.sessions == 800


def test_a_log_of_robots_only_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(f'1.2.3.4 - - [{made.stamp(made.START)}] "GET / HTTP/1.1" 200 5 "-" "Xbot"\n')
    assert "no session of a user is left" in run(tmp_path / "a.log")


def test_mistakes_name_the_cure(log: Path, tmp_path: Path) -> None:
    for arguments, cure in (
        ([tmp_path / "none.log"], "Name a readable access log"),
        ([log, "--collection", tmp_path], "collection"),
        ([log, "--timeout", "soon"], "soon"),
    ):
        done = CliRunner().invoke(app, ["sessions", *map(str, arguments)])
        assert done.exit_code != 0
        assert cure in f"{done.exception} {getattr(done.exception, 'cure', '')}"


def test_several_sites_stand_side_by_side(log: Path) -> None:
    found = [gather([log], name) for name in "ab"]
    shown = present.findings(found)
    (rules,) = (t for f in shown for t in f.tables if t.name == "rules")
    assert [c.name for c in rules.columns] == ["what", "a", "b"]
    assert all(row[1] == row[2] for row in rules.rows)
