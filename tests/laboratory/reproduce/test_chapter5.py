"""Chapter 5: statements are computed from a log, from models, and from a crawl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.laboratory import Bench
from gossamer.laboratory.findings.finding import as_json
from gossamer.laboratory.reproduce import chapter5
from gossamer.laboratory.reproduce.chapter5 import NO_LOG, ROWS, TABLE_5_1, shown
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.names import CHAPTER_5, NAMES, named
from gossamer.laboratory.sessions import made
from gossamer.rank.surfers import MODELS
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.national import SHAPE


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    path = tmp_path_factory.mktemp("chapter5") / "made.log"
    made.write(path, MODELS["B"], (0.6,), 4_000)
    with Bench(1) as bench:
        yield Lab(bench, [], Crawls(), logs=(path,))


def test_the_chapter_has_all_its_tables_and_figures() -> None:
    digits = [6, 8, *range(10, 20)]
    wanted = {f"fig-5.{n}" for n in digits} | {f"table-5.{n}" for n in (1, 2, 3, 4)} | {"models-5"}
    assert set(named(CHAPTER_5)) == wanted
    assert wanted <= set(NAMES)


@pytest.mark.parametrize("name", ROWS)
def test_every_table_and_figure_is_made_of_a_log(name: str, lab: Lab) -> None:
    found = shown(name, lab)
    assert found.name == name
    assert found.tables or found.plots
    assert any(sentence.agrees is not None for sentence in found.sentences)
    assert "nan" not in str(as_json(found))


def test_what_was_made_is_found_again(lab: Lab) -> None:
    said = {name: shown(name, lab).sentences for name in ("table-5.3", "fig-5.18", "table-5.1", "fig-5.8")}
    assert [s.agrees for s in said["table-5.3"]] == [True, True, True, True]
    assert all(s.agrees for sentences in said.values() for s in sentences)


def test_without_a_log_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOSSAMER_DATA", str(tmp_path))
    with Bench(1) as bench:
        found = shown("table-5.4", Lab(bench, [], Crawls()))
        assert [(s.text, s.agrees) for s in found.sentences] == [(NO_LOG, None)]
        assert shown("table-5.1", Lab(bench, [], Crawls())).tables


def test_the_figures_of_the_thesis_are_consistent() -> None:
    for name, row in TABLE_5_1.items():
        assert list(row) == sorted(row), name


@pytest.mark.slow
def test_models_and_logs_that_they_make(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    monkeypatch.setattr(chapter5, "STEPS", 30_000_000)
    monkeypatch.setattr(chapter5, "SESSIONS", 40_000)
    monkeypatch.setattr(chapter5, "MADE", {"A": (0.3,), "B": (0.5,), "C": (0.4,)})
    found = chapter5.simulated(lab)
    assert [s.agrees for s in found.sentences] == [True, True]
    assert [len(table.rows) for table in found.tables] == [3, 3]


@pytest.mark.slow
def test_figure_5_17_is_of_a_crawl(lab: Lab, tmp_path: Path) -> None:
    crawls = Crawls(folder=tmp_path, settings=("harvester.workers=1",))
    crawls.collection(0, DemoWeb(**(SHAPE | {"sites": 30, "pages": 300, "errors": 0})))
    found = chapter5.ranked(Lab(lab.bench, [], crawls))
    assert [plot.name for plot in found.plots] == ["fig-5.17"]
    assert found.sentences[0].agrees is not None
