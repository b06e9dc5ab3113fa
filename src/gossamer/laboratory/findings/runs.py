"""The table and the plots of runs, as `simulate` and `compare` show them."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.base.units import human_time
from gossamer.laboratory.findings.finding import Cell, Column, Plot, Series, Table
from gossamer.laboratory.measured import SHARES, Measured

_PAGERANK = "share of PageRank"


def scores(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Table:
    columns = (
        Column("strategy"),
        Column("average", ".4f"),
        Column("tau", ".4f"),
        *(Column(f"pages for {share:.0%}", ".3f") for share in SHARES),
        Column("pages", ",d"),
        Column("time"),
        Column("pages/s", ".2f"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            label,
            each.average,
            each.tau,
            *(each.reach[share] for share in SHARES),
            each.pages,
            human_time(each.totals.seconds),
            each.speed if each.totals.seconds > 0 else None,
        )
        for label, each in zip(labels, found, strict=True)
    ]
    return Table(name, "", columns, tuple(rows))


def by_pages(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = tuple(
        Series(label, each.share_of_pages.tolist(), each.curve.tolist())
        for label, each in zip(labels, found, strict=True)
    )
    return Plot(name, "Cumulative PageRank by pages", "share of pages", _PAGERANK, series, diagonal=True)


def by_time(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = tuple(
        Series(label, each.clock.tolist(), each.curve.tolist()) for label, each in zip(labels, found, strict=True)
    )
    return Plot(name, "Cumulative PageRank by time", "seconds", _PAGERANK, series)


def active(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = tuple(
        Series(label, each.active[:, 0].tolist(), each.active[:, 1].tolist(), "steps")
        for label, each in zip(labels, found, strict=True)
    )
    return Plot(name, "Open connections by time", "seconds", "open connections", series)
