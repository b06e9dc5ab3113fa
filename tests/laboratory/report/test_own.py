"""Sections of plug-ins in a report: what they show, and what becomes of those that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.collection.layout import SETTINGS
from gossamer.config import dump, load, override
from gossamer.laboratory.findings import table
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make, own
from gossamer.plugins import trust
from gossamer.plugins.find import digest_of, find
from tests.laboratory.report.test_report import SEEDS, crawled, made_links

CODE = '''
def page_sizes(web):
    """Sizes of pages.

    More about it."""
    rows = web.sql("select url, length from visits join pages using (page)"
                   " where visits.outcome = 'ok' and ask = 'page' order by 2, 1")
    table = web.arrow("select length from visits where outcome = 'ok' and ask = 'page' order by 1")
    return {
        "pages": len(rows),
        "mean": sum(row[1] for row in rows) / len(rows),
        "first": rows[0][0],
        "The smallest pages": [{"page": url, "bytes": length} for url, length in rows[:3]],
        "Sizes in order": {"place": range(len(rows)), "bytes": table.column("length").to_numpy()},
    }

def summary(web):
    return {}

def nothing(web):
    """Nothing to see"""

def raises(web):
    raise LookupError("no such table")
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = crawled(tmp_path_factory.mktemp("report") / "one", made_links(3, sites=4), SEEDS[:2])
    (place / "my.py").write_text(CODE)
    return place


def reported(folder: Path, *names: str) -> dict[str, Finding]:
    said = json.dumps([f"my.py:{name}" for name in names])
    plugins = find(override(load(folder / SETTINGS), [f"plugins.report={said}"]).plugins, folder, ("report",))
    kinds = make.with_own(plugins)
    wanted = ["status", *list(kinds)[len(make.SECTIONS) :]]
    return {each.name: each for each in make.report([folder], wanted, sections=kinds)}


def test_a_section_of_a_plug_in_shows_numbers_tables_and_plots(folder: Path) -> None:
    found = reported(folder, "page_sizes", "nothing")
    assert list(found) == ["status", "page-sizes", "nothing"]
    section = found["page-sizes"]
    assert section.title == "Sizes of pages."[:-1]
    assert section.setting.startswith("The plug-in my.py:page_sizes")
    facts, smallest = section.tables
    cells: dict[Any, Any] = {row[0]: row[1] for row in facts.rows}
    assert cells["pages"] > 3
    assert cells["mean"] > 1000
    assert cells["first"].startswith("http://")
    assert smallest.title == "The smallest pages"
    assert [column.name for column in smallest.columns] == ["page", "bytes"]
    sizes: list[Any] = [row[1] for row in smallest.rows]
    assert sizes == sorted(sizes)
    assert "bytes" in table.as_text(smallest)
    (plot,) = section.plots
    assert (plot.x, plot.y, len(plot.series[0].x)) == ("place", "bytes", cells["pages"])
    assert found["nothing"].sentences[0].text == "There is nothing to show."
    assert found["nothing"].title == "Nothing to see"


def test_a_section_that_fails_says_why_and_the_others_are_made(folder: Path) -> None:
    found = reported(folder, "raises")
    assert found["status"].tables
    (said,) = found["raises"].sentences
    assert "plugins.report: my.py:raises: LookupError: no such table (line 24)" in said.text
    with pytest.raises(UsageError, match="there is a section summary already"):
        reported(folder, "summary")


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (7, "it returned int"),
        ([1], "it returned list"),
        ({"rows": [(1, 2)]}, "the rows of 'rows' have no names"),
        ({"plot": {"x": [1]}}, "'plot' is no plot"),
        ({"plot": {"x": [1], "y": [1, 2]}}, "'plot' is no plot"),
        ({"plot": {"x": ["a"], "y": [1]}}, "values that are no numbers"),
        ({"odd": object()}, "'odd' is a object"),
    ],
)
def test_what_is_no_section_is_said_in_words(returned: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        own.made("own", "", returned)


def test_values_of_numpy_are_values_of_python() -> None:
    found = own.made("own", "", {"a": np.int64(3), "b": np.float32(0.5), "c": [{"x": np.int64(1)}, {"y": None}]})
    assert [fact.value for fact in found.facts] == [3, 0.5]
    assert found.tables[0].rows == ((1, None), (None, None))


@pytest.mark.slow
def test_the_command_shows_and_writes_sections_of_plug_ins(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    trust.confirm({digest_of(folder / "my.py"): str(folder / "my.py")})
    before = (folder / SETTINGS).read_text()
    (folder / SETTINGS).write_text(dump(override(load(folder / SETTINGS), ["plugins.report=my.py:page_sizes"])))
    arguments = ["report", str(folder), "--section", "page-sizes", "--out", str(tmp_path / "out")]
    try:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    finally:
        (folder / SETTINGS).write_text(before)
    assert done.exit_code == 0, done.output
    assert "mean" in done.stdout
    assert (tmp_path / "out" / "page-sizes-the-smallest-pages.csv").exists()
    assert (tmp_path / "out" / "page-sizes-sizes-in-order.svg").exists()
    assert "Sizes of pages" in (tmp_path / "out" / "index.html").read_text()
