"""Findings as text, CSV, HTML, SVG and PNG, and the folder to which they are written."""

from __future__ import annotations

import csv
import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gossamer.base import disk
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_file
from gossamer.laboratory.findings import folder, page, plot, table
from gossamer.laboratory.findings.finding import (
    Column,
    Finding,
    Plot,
    Sentence,
    Series,
    Table,
    as_json,
    compared,
    from_json,
)
from tests.support.paths import ROOT

NASTY = '<script>alert("x")</script> & $x_1$ | \'=1'
ROWS = [("opic", 0.6709, 0.6829), ("breadth-first", 0.6424, None), ("own", None, 0.7)]
TABLE = compared("t", "Averages", "strategy", ROWS)
CURVES = Plot(
    "curves",
    "Cumulative PageRank",
    "pages",
    "PageRank",
    (
        Series("opic", [0, 0.5, 1], [0, 0.7, 1]),
        Series("active", [0, 0.5, 1], [1, 0.5, 0], "steps"),
        Series("half", [0.5], [0.8], "points", paper=True),
        Series("bound", [0, 1], [0, 1], paper=True),
    ),
    diagonal=True,
)


def finding(name: str = "table-4.1") -> Finding:
    sentences = (Sentence("ours .682, the paper .671", True), Sentence("not so", False), Sentence(NASTY))
    return Finding(name, "Table 4.1", "page 64", "r = 1", (TABLE,), (CURVES,), sentences)


# --- tables --------------------------------------------------------------------------------------------------


def test_a_table_is_aligned_with_paper_ours_and_difference() -> None:
    assert table.as_text(TABLE).splitlines() == [
        "strategy       paper   ours  difference",
        "-------------  -----  -----  ----------",
        "opic           0.671  0.683      +0.012",
        "breadth-first  0.642      –           –",
        "own                –  0.700           –",
    ]


def test_csv_has_all_digits_and_empty_cells() -> None:
    rows = list(csv.reader(io.StringIO(table.as_csv(TABLE))))
    assert rows[1][:3] == ["opic", "0.6709", "0.6829"]
    assert rows[2] == ["breadth-first", "0.6424", "", ""]


def test_a_text_in_csv_is_never_a_formula() -> None:
    risky = Table("t", "", (Column("a"),), (("=1+1",), ("@x",), ("fine",)))
    assert table.as_csv(risky).splitlines() == ["a", "'=1+1", "'@x", "fine"]


def test_text_in_html_and_markdown_is_escaped() -> None:
    nasty = Table("t", NASTY, (Column(NASTY),), ((NASTY,),))
    for text in (table.as_html(nasty), table.as_markdown(nasty)):
        assert "<script" not in text
    assert table.as_markdown(nasty).splitlines()[2].count(" | ") == 0


def test_a_table_without_rows_is_a_table() -> None:
    empty = Table("t", "", (Column("a"), Column("b")), ())
    assert table.as_text(empty).splitlines() == ["a  b", "-  -"]
    assert "<tbody>" in table.as_html(empty)
    assert table.as_markdown(empty)


# --- plots ---------------------------------------------------------------------------------------------------


def test_the_same_plot_gives_the_same_bytes() -> None:
    assert plot.as_svg(CURVES) == plot.as_svg(CURVES)
    assert plot.as_png(CURVES) == plot.as_png(CURVES)
    assert plot.as_png(CURVES).startswith(b"\x89PNG")


def test_an_svg_is_xml_with_every_label_as_text() -> None:
    labels = [s.label for s in CURVES.series]
    text = "".join(ElementTree.fromstring(plot.as_svg(CURVES)).itertext())
    assert all(label in text for label in (*labels, "half (paper)", "random (diagonal)", CURVES.title, "pages"))


def test_labels_are_texts_not_formulas() -> None:
    nasty = Plot("p", NASTY, NASTY, NASTY, (Series(NASTY, [1], [1]), Series("$", [1], [1], "points")))
    text = "".join(ElementTree.fromstring(plot.as_svg(nasty)).itertext())
    assert NASTY in text


@pytest.mark.parametrize("kind", ["line", "steps", "points", "bars"])
def test_every_kind_of_series_is_drawn_for_us_and_for_the_paper(kind: str) -> None:
    series = [Series(f"s{n}", [1, 2, 3], [1, 10, 100], kind, n % 2 == 1) for n in range(20)]  # type: ignore[arg-type]
    drawn = Plot("p", "", "x", "y", tuple(series), x_log=True, y_log=True)
    assert ElementTree.fromstring(plot.as_svg(drawn)) is not None


@pytest.mark.parametrize(
    ("value", "said"), [(0.1, "0.1"), (1000, "1,000"), (20_000, "20,000"), (1e6, "10⁶"), (1e-5, "10⁻⁵")]
)
def test_powers_are_texts_too(value: float, said: str) -> None:
    assert plot.power(value) == said


def test_no_two_of_the_first_twenty_series_look_alike() -> None:
    looks = {(n % len(plot.COLOURS), n // len(plot.COLOURS) % len(plot.DASHES)) for n in range(20)}
    assert len(looks) == 20


def test_a_plot_has_all_its_points_in_csv() -> None:
    rows = list(csv.reader(io.StringIO(plot.as_csv(CURVES))))
    assert rows[0] == ["series", "pages", "PageRank"]
    assert len(rows) == 1 + 3 + 3 + 1 + 2
    assert ["half (paper)", "0.5", "0.8"] in rows


def test_without_matplotlib_the_error_names_the_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for ask in (plot.check, lambda: plot.as_svg(CURVES), lambda: folder.prepare(tmp_path / "new")):
        with pytest.raises(GossamerError) as raised:
            ask()
        assert raised.value.cure == f"{sys.executable} -m pip install '{ROOT}[lab]'"


# --- pages and folders ---------------------------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_self_contained_and_escapes_everything() -> None:
    nasty = Finding(
        NASTY,
        NASTY,
        NASTY,
        NASTY,
        (Table(NASTY, NASTY, (Column(NASTY),), ((NASTY,),)),),
        (CURVES,),
        (Sentence(NASTY, True),),
    )
    read = Tags()
    read.feed(page.as_html(NASTY, [nasty], lambda name: plot.as_svg(CURVES)))
    assert "script" not in {tag for tag, _ in read.tags}
    assert read.text.count(NASTY) == 10
    outside = [a.get("src") or a.get("href") or "" for tag, a in read.tags if tag in ("img", "link", "a", "iframe")]
    beside = f"{for_file(CURVES.name)}.csv"
    assert beside in outside
    assert all(address == beside or address.startswith(("data:image/svg+xml;base64,", "#")) for address in outside)
    assert sum(tag == "img" for tag, _ in read.tags) == 1


def test_a_finding_survives_json() -> None:
    again = from_json(json.loads(json.dumps(as_json(finding()))))
    assert (again.name, again.tables, again.sentences) == ("table-4.1", (TABLE,), finding().sentences)
    assert [p.name for p in again.plots] == ["curves"]


def test_infinite_and_undefined_numbers_are_null_in_json() -> None:
    odd = Finding("x", "", tables=(Table("t", "", (Column("a"),), ((float("nan"),), (float("inf"),), (None,))),))
    assert as_json(odd)["tables"][0]["rows"] == [[None], [None], [None]]


def test_the_folder_shows_all_findings_ever_added(tmp_path: Path) -> None:
    out = tmp_path / "a" / "out"
    folder.prepare(out)
    folder.add(out, finding("fig-4.3"))
    folder.finish(out, "One")
    folder.add(out, finding("table-4.1"))
    (out / "other.json").write_text("[1, 2]")
    (out / "broken.json").write_text("{")
    folder.finish(out, "Two", ["table-4.1", "fig-4.3"])
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "report.md", "fig-4.3.json", "table-4.1.json", "t.csv", "curves.svg", "curves.png"} <= names
    text = (out / "index.html").read_text()
    assert 0 < text.index('id="table-4.1"') < text.index('id="fig-4.3"')
    assert text.count("<img") == 2
    report = (out / "report.md").read_text()
    assert "2 of 4 statements agree with the paper." in report
    assert "(curves.svg)" in report
    assert not [name for name in names if name.endswith(disk.TEMPORARY)]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    folder.write(path, "old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(disk, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folder.write(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "old"


def test_a_file_is_refused_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        folder.prepare(tmp_path / "file")


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", ".hidden", "", "x\x00y", "ein Name"])
def test_file_names_stay_in_the_folder(name: str) -> None:
    made = for_file(name)
    assert made == Path(made).name
    assert not made.startswith(".")
