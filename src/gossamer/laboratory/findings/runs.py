"""The table and the plots of runs, as `simulate` and `compare` show them."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.base.arrays import F64
from gossamer.base.units import human_time
from gossamer.laboratory.findings.finding import Cell, Column, Kind, Plot, Series, Table
from gossamer.laboratory.measured import SHARES, Measured

_PAGERANK = "share of PageRank"


def scores(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Table:
    columns = (
        *(Column("strategy"), Column("average", ".4f"), Column("tau", ".4f")),
        *(Column(f"pages for {share:.0%}", ".3f") for share in SHARES),
        *(Column("pages", ",d"), Column("time"), Column("pages/s", ".2f")),
    )
    rows: list[tuple[Cell, ...]] = []
    for label, each in zip(labels, found, strict=True):
        reach, seconds = (each.reach[share] for share in SHARES), each.totals.seconds
        speed = each.speed if seconds > 0 else None
        rows.append((label, each.average, each.tau, *reach, each.pages, human_time(seconds), speed))
    return Table(name, "", columns, tuple(rows))


def by_pages(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = _series(labels, [(each.share_of_pages, each.curve) for each in found])
    return Plot(name, "Cumulative PageRank by pages", "share of pages", _PAGERANK, series, diagonal=True)


def by_time(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = _series(labels, [(each.clock, each.curve) for each in found])
    return Plot(name, "Cumulative PageRank by time", "seconds", _PAGERANK, series)


def active(name: str, labels: Sequence[str], found: Sequence[Measured]) -> Plot:
    series = _series(labels, [(each.active[:, 0], each.active[:, 1]) for each in found], "steps")
    return Plot(name, "Open connections by time", "seconds", "open connections", series)


def _series(labels: Sequence[str], curves: Sequence[tuple[F64, F64]], kind: Kind = "line") -> tuple[Series, ...]:
    return tuple(Series(label, x.tolist(), y.tolist(), kind) for label, (x, y) in zip(labels, curves, strict=True))
