"""Chapter 8: statements are computed from the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.laboratory import Bench
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table
from gossamer.laboratory.reproduce import chapter8
from gossamer.laboratory.reproduce.chapter8 import POINTS, ROWS, View, close, distance, made
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.names import CHAPTER_8, named
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.national import SHAPE

SMALL = SHAPE | {"sites": 40, "pages": 400, "errors": 0}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """With two Webs that are small enough to be crawled in a test."""
    crawls = Crawls(folder=tmp_path_factory.mktemp("chapter8"), settings=("harvester.workers=1",))
    for number in range(2):
        crawls.collection(number, DemoWeb(**(SMALL | {"seed": number + 1})))
    with Bench(1) as bench:
        yield Lab(bench, [], crawls)


@pytest.mark.parametrize("name", ROWS)
def test_every_table_and_figure_is_made_of_a_collection(name: str, lab: Lab) -> None:
    found = made(name, lab)
    assert found.name == name
    assert found.tables or found.plots
    assert found.sentences
    assert [plot.name for plot in found.plots][:1] in ([name], [])
    assert all(len(series.x) <= POINTS for plot in found.plots for series in plot.series if series.kind == "points")
    assert all(table.name.startswith(name) for table in found.tables)


def test_a_small_web_has_its_bow_tie_and_its_languages(lab: Lab) -> None:
    said = {name: made(name, lab).sentences for name in ("fig-8.22", "fig-8.5", "table-8.2")}
    assert [s.agrees for s in said["fig-8.22"]].count(True) >= 8
    assert all(s.agrees is not None for sentences in said.values() for s in sentences)


def test_a_collection_that_was_given_is_read(lab: Lab) -> None:
    given = lab.crawls.collection(0, DemoWeb(**SMALL))
    assert Crawls([given]).collection(0, DemoWeb()) == Crawls([given]).collection(1, DemoWeb()) == given


def test_a_section_without_data_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    empty = Finding("summary", "Summary", sentences=(Sentence("There is no page."),))
    monkeypatch.setattr(chapter8, "_section", lambda *_: empty)
    found = made("table-8.1", lab)
    assert [(s.text, s.agrees) for s in found.sentences] == [("There is no page.", None)]


def test_values_are_close_within_a_point_or_a_tenth() -> None:
    assert close(0.735, 0.71)
    assert close(0.012, 0.0033)
    assert not close(0.1, 0.0612)
    assert not close(0.79, 0.71)


def test_the_distance_of_two_distributions_is_that_of_their_sums() -> None:
    one, two = Series("one", [1, 2, 4], [0.5, 0.25, 0.25]), Series("two", [2, 3], [0.5, 0.5])
    assert distance(Plot("", "", "", "", (one, two))) == pytest.approx(0.5)


def test_a_view_reads_facts_and_shares() -> None:
    columns = (Column(""), Column("pages"), Column("share"), Column("pages"), Column("share"))
    kinds = Table("kinds", "", columns, (("a", 3, 0.75, 1, 1.0), ("b", 1, 0.25, 0, 0.0)))
    facts = Table("x-facts", "", columns[:3], (("mean", 2.5, None),))
    view = View(Finding("x", "", tables=(kinds, facts)))
    assert view.fact("mean") == 2.5
    assert view.shares("kinds") == {"a": 0.75, "b": 0.25}
    assert View(view.finding, 2).shares("kinds") == {"a": 1.0, "b": 0.0}
    assert view.counts("none") == {}


def test_the_chapter_can_be_asked_for_as_a_whole() -> None:
    assert named(CHAPTER_8) == [*ROWS]
