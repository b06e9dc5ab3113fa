"""A finding: what one experiment showed, as tables, plots and sentences; the value that everything here shows.

It holds numbers, not pictures: `table`, `plot`, `page` and `folder` turn it into text, CSV, SVG, PNG and HTML. As JSON
it is whole but for the points of its plots, which stand in CSV files beside it.
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
    name: str
    form: str = ""
    """How its numbers are written: a format as in ".3f"; texts stay as they are."""


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    """Of its file."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "line"
    paper: bool = False
    """A reading of the paper: drawn dashed, or as hollow marks, so that it is never taken for ours."""


@dataclass(frozen=True, slots=True)
class Plot:
    name: str
    """Of its files."""
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    diagonal: bool = False
    """With the line of a crawl in random order, from (0, 0) to (1, 1)."""


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    agrees: bool | None = None
    """With the paper; None: it says something else."""


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    title: str
    source: str = ""
    """Where the paper has it."""
    setting: str = ""
    """What was run."""
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    sentences: tuple[Sentence, ...] = ()


def beside(
    name: str, title: str, what: str, rows: Iterable[tuple[str, float | None, float | None]], form: str = ".3f"
) -> Table:
    """The paper's figures beside ours beside the difference."""
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
                "columns": [[c.name, c.form] for c in table.columns],
                "rows": [[plain(cell) for cell in row] for row in table.rows],
            }
            for table in finding.tables
        ],
        "plots": [{"name": plot.name, "title": plot.title} for plot in finding.plots],
    }


def from_json(raw: dict[str, Any]) -> Finding:
    """What `as_json` gave; plots come without their points. Of anything else: KeyError, TypeError or ValueError."""
    tables = tuple(
        Table(t["name"], t["title"], tuple(Column(*c) for c in t["columns"]), tuple(map(tuple, t["rows"])))
        for t in raw["tables"]
    )
    plots = tuple(Plot(p["name"], p["title"], "", "", ()) for p in raw["plots"])
    sentences = tuple(Sentence(s["text"], s["agrees"]) for s in raw["sentences"])
    return Finding(raw["finding"], raw["title"], raw["source"], raw["setting"], tables, plots, sentences)


def plain(cell: Cell) -> Cell:
    """As JSON has it: what is no number is null; numpy's numbers become Python's."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return int(cell)
    return float(cell) if math.isfinite(cell) else None
