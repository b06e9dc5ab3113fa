"""A finding: the result of one experiment, as tables, plots and sentences.

It holds numbers, not pictures: `table`, `plot`, `page` and `folder` turn it into text, CSV, SVG, PNG and HTML. Its JSON
is complete except for the points of its plots, which are in CSV files in the same folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Cell = str | int | float | None
Kind = Literal["line", "steps", "points", "bars"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    form: str = ""
    """Format of its numbers, such as ".3f"; texts are shown unchanged."""
    paper: bool = False
    """Whether it holds values of the paper: a page can leave them out."""
    bar: bool = False
    """Whether its numbers are shares, which a page shows as bars too."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a finding."""

    name: str
    """Name of its file, without suffix."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    forms: tuple[str, ...] = ()
    """Formats by row, where rows differ and not columns."""
    below: str = ""
    """Name of the plot whose numbers these are: a page shows them below it."""


@dataclass(frozen=True, slots=True)
class Series:
    """A curve, a step function, points or bars of a plot."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "line"
    paper: bool = False
    """Whether these are values of the paper: drawn dashed, or as hollow marks, to distinguish them from ours."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a finding."""

    name: str
    """Name of its files, without suffix."""
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    diagonal: bool = False
    """Whether to draw the line of a crawl in random order, from (0, 0) to (1, 1)."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that is no plot."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A statement of a finding."""

    text: str
    agrees: bool | None = None
    """Whether our result agrees with the paper; None: it is not a comparison."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one experiment."""

    name: str
    title: str
    source: str = ""
    """Where the paper has it."""
    setting: str = ""
    """What was run."""
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    drawings: tuple[Drawing, ...] = ()


def compared(
    name: str, title: str, what: str, rows: Iterable[tuple[str, float | None, float | None]], form: str = ".3f"
) -> Table:
    """A table of the paper's values, our values and the difference."""
    columns = (Column(what), Column("paper", form), Column("ours", form), Column("difference", f"+{form}"))
    return Table(name, title, columns, tuple((label, paper, ours, _less(ours, paper)) for label, paper, ours in rows))


def _less(ours: float | None, paper: float | None) -> float | None:
    return None if ours is None or paper is None else ours - paper


def as_json(finding: Finding) -> dict[str, Any]:
    return {
        "finding": finding.name,
        "title": finding.title,
        "source": finding.source,
        "setting": finding.setting,
        "sentences": [{"text": s.text, "agrees": s.agrees} for s in finding.sentences],
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "columns": [[c.name, c.form, c.paper, c.bar] for c in table.columns],
                "rows": [[plain(cell) for cell in row] for row in table.rows],
                "forms": list(table.forms),
                "below": table.below,
            }
            for table in finding.tables
        ],
        "plots": [{"name": plot.name, "title": plot.title} for plot in finding.plots],
    }


def from_json(raw: dict[str, Any]) -> Finding:
    """Reads the output of `as_json`; plots have no points. KeyError, TypeError or ValueError for other input."""
    tables = tuple(
        Table(
            t["name"],
            t["title"],
            tuple(Column(*c) for c in t["columns"]),
            tuple(map(tuple, t["rows"])),
            tuple(t.get("forms", ())),
            t.get("below", ""),
        )
        for t in raw["tables"]
    )
    plots = tuple(Plot(p["name"], p["title"], "", "", ()) for p in raw["plots"])
    sentences = tuple(Sentence(s["text"], s["agrees"]) for s in raw["sentences"])
    return Finding(raw["finding"], raw["title"], raw["source"], raw["setting"], tables, plots, sentences)


def plain(cell: Cell) -> Cell:
    """The cell for JSON: infinite and undefined numbers become null, numpy's numbers become Python's."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return int(cell)
    return float(cell) if math.isfinite(cell) else None
