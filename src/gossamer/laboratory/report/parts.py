"""What a section of the report is made of: numbers only. `present` turns them into tables, plots and sentences.

A section is computed for one collection and knows nothing of others. So one collection, or several side by side, are
shown by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gossamer.base.arrays import F64, I64, Array
from gossamer.laboratory.findings.finding import Cell, Plot, Table
from gossamer.laboratory.report.fits import Law


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with a name. `cl` and `gr`: what the thesis found for the Web of Chile, and of Greece."""

    label: str
    value: Cell
    form: str = ",.0f"
    cl: Cell = None
    gr: Cell = None


@dataclass(frozen=True, slots=True)
class Shares:
    """How many things are of each kind."""

    name: str
    title: str
    what: str
    """What is counted, in the plural; the head of the column."""
    rows: Mapping[str, float]
    """The number of each kind, in the order to show."""
    cl: Mapping[str, float] = field(default_factory=dict)
    """Shares that the thesis found for the Web of Chile."""
    gr: Mapping[str, float] = field(default_factory=dict)
    """The same for the Web of Greece."""
    most: int = 25
    """Rows to show; the others are added up."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How often each value occurs."""

    name: str
    title: str
    what: str
    """What has the values, in the plural."""
    x: str
    """What the value is, with its unit."""
    values: F64
    """The distinct values, ascending."""
    counts: I64
    laws: tuple[Law, ...] = ()
    """Power laws to be fitted."""
    logarithmic: bool = True
    cl: Mapping[float, int] = field(default_factory=dict)
    """How often the thesis found each value in the Web of Chile."""
    cumulative: bool = False
    """Whether to draw the share of things with at least this value, instead of the number with this value."""

    @property
    def number(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Named:
    """A number or a word for each thing, by its name: collections side by side are compared thing by thing."""

    name: str
    title: str
    what: str
    """What the things are, in the plural."""
    rows: Mapping[str, float | str]
    kinds: tuple[str, ...] = ()
    """All words, in the order to show."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report, for one collection."""

    stands_on: str
    """What it is computed from, in words."""
    facts: tuple[Fact, ...] = ()
    shares: tuple[Shares, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    plots: tuple[Plot, ...] = ()
    """Plots that show no distribution."""
    tables: tuple[Table, ...] = ()
    """Lists, such as the sites with the most links."""
    named: tuple[Named, ...] = ()
    """What is shown only beside another collection."""
    parts: Mapping[str, float] | None = None
    """Shares of the parts of the bow-tie, to be drawn."""
    missing: str = ""
    """Why there is nothing to show."""


def absent(why: str) -> Section:
    """A section without data."""
    return Section("", missing=why)


def distribution(name: str, title: str, what: str, x: str, sample: Array, **more: object) -> Distribution:
    """The distribution of a sample."""
    values, counts = np.unique(np.asarray(sample), return_counts=True)
    return Distribution(name, title, what, x, values.astype(np.float64), counts.astype(np.int64), **more)  # type: ignore[arg-type]


def share(part: float, whole: float) -> float | None:
    """The part as a share of the whole; None of nothing."""
    return part / whole if whole else None
