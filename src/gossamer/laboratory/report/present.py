"""Turns sections into findings: of one collection, or of several side by side.

Distributions of several collections are compared with the first one by the two-sample test of Kolmogorov and Smirnov,
said in words. With many pages the smallest difference is significant, so the difference itself is named first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gossamer.base.arrays import F64
from gossamer.laboratory.findings.finding import Cell, Column, Finding, Plot, Sentence, Series, Table
from gossamer.laboratory.report.bowtie import drawn
from gossamer.laboratory.report.fits import DOUBTFUL, fit
from gossamer.laboratory.report.paired import compared
from gossamer.laboratory.report.parts import Distribution, Fact, Section, Shares

_ROWS: Final = 24
"""Most rows of a table of a distribution: beyond, values are put together."""
_DIFFERS: Final = 0.01
"""Below this probability of chance, two distributions differ."""


@dataclass(frozen=True, slots=True)
class Of:
    """A section of one of the collections."""

    name: str
    section: Section


def present(name: str, title: str, source: str, sections: Sequence[Of], notes: Sequence[str] = ()) -> Finding:
    """The finding of a section, for collections in the order given."""
    alone = len(sections) == 1
    said = [Sentence(note) for note in notes]
    said += [Sentence(each.section.missing if alone else f"{each.name}: {each.section.missing}")
             for each in sections if each.section.missing]  # fmt: skip
    there = [each for each in sections if not each.section.missing]
    stands = [each.section.stands_on if alone else f"{each.name}: {each.section.stands_on}" for each in there]
    tables = [*_facts(name, there), *(t for same in _aligned(there, "shares") for t in _shares(same))]
    plots: list[Plot] = []
    for same in _aligned(there, "distributions"):
        plots.append(_plot(same, alone))
        tables += _numbers(same, alone)
        said += _compared(same)
    for same in _aligned(there, "plots"):
        plots.append(_overlaid(same))
        tables += _points(same, alone)
    for same in _aligned(there, "named"):
        for other, thing in same[1:]:
            found = compared(same[0][0], same[0][1], other, thing)
            tables, plots, said = [*tables, *found[0]], [*plots, *found[1]], [*said, *found[2]]
    tables += _lists(there, alone)
    drawings = [
        drawn("bow-tie" if alone else f"bow-tie-{number}", "The bow-tie" if alone else f"The bow-tie of {each.name}",
              each.section.parts)
        for number, each in enumerate(there) if each.section.parts
    ]  # fmt: skip
    return Finding(name, title, source, ". ".join(stands), tuple(tables), tuple(plots), tuple(said), tuple(drawings))


def _aligned(sections: Sequence[Of], kind: str) -> Iterator[list[tuple[str, Any]]]:
    """Things of the same name, each with the name of its collection, in the order of the first that has them."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for each in sections:
        for thing in getattr(each.section, kind):
            found.setdefault(thing.name, []).append((each.name, thing))
    yield from found.values()


def _facts(name: str, sections: Sequence[Of]) -> list[Table]:
    rows: dict[str, dict[str, Fact]] = {}
    for each in sections:
        for fact in each.section.facts:
            rows.setdefault(fact.label, {})[each.name] = fact
    if not rows:
        return []
    collections = [each.name for each in sections]
    facts = [next(iter(by.values())) for by in rows.values()]
    thesis = [(word, [getattr(f, word) for f in facts]) for word in ("cl", "gr")]
    shown = [(f".{word}, 2004", values) for word, values in thesis if any(v is not None for v in values)]
    columns = [Column(""), *(Column(c) for c in (collections if len(collections) > 1 else ["this collection"]))]
    if len(collections) == 2:
        columns.append(Column("difference"))
    columns += [Column(label, paper=True) for label, _ in shown]
    table = []
    for i, (label, by) in enumerate(rows.items()):
        values: list[Cell] = [by[c].value if c in by else None for c in collections]
        if len(collections) == 2:
            a, b = values
            values.append(b - a if isinstance(a, int | float) and isinstance(b, int | float) else None)
        table.append((label, *values, *(found[i] for _, found in shown)))
    return [Table(f"{name}-facts", "", tuple(columns), tuple(table), tuple(f.form for f in facts))]


def _shares(same: Sequence[tuple[str, Shares]]) -> list[Table]:
    first = same[0][1]
    words = dict.fromkeys(word for _, shares in same for word in shares.rows)
    totals = [sum(shares.rows.values()) or 1 for _, shares in same]
    if len(same) > 1:
        words = dict.fromkeys(
            sorted(words, key=lambda w: -sum(s.rows.get(w, 0) / t for (_, s), t in zip(same, totals, strict=True)))
        )
    kept, rest = list(words)[: first.most], list(words)[first.most :]
    columns = [Column("")]
    for name, shares in same:
        label = "" if len(same) == 1 else f", {name}"
        columns += [Column(f"{shares.what}{label}", ",.0f"), Column(f"share{label}", ".2%", bar=True)]
    if len(same) == 2:
        columns.append(Column("difference", "+.2%"))
    columns += [Column(f".{word}, 2004", ".2%", paper=True) for word in ("cl", "gr") if getattr(first, word)]
    rows = [_share_row(word, [word], same, totals) for word in kept]
    if rest:
        rows.append(_share_row(f"{len(rest)} others", rest, same, totals))
    return [Table(first.name, first.title, tuple(columns), tuple(rows))]


def _share_row(
    label: str, words: Sequence[str], same: Sequence[tuple[str, Shares]], totals: Sequence[float]
) -> tuple[Cell, ...]:
    cells: list[Cell] = [label]
    shares = []
    for (_, each), total in zip(same, totals, strict=True):
        number = sum(each.rows.get(word, 0) for word in words)
        shares.append(number / total)
        cells += [number, number / total]
    if len(same) == 2:
        cells.append(shares[1] - shares[0])
    cells += [paper.get(label) for paper in (same[0][1].cl, same[0][1].gr) if paper]
    return tuple(cells)


# --- distributions ----------------------------------------------------------------------------------------------------


def _plot(same: Sequence[tuple[str, Distribution]], alone: bool) -> Plot:
    first = same[0][1]
    series = []
    for name, each in same:
        label = each.what if alone else name
        keep = each.values > 0 if first.logarithmic else np.ones(len(each.values), bool)
        x, counts = each.values[keep], each.counts[keep]
        if first.cumulative and first.logarithmic:
            y: F64 = np.cumsum(counts[::-1])[::-1] / each.number
        elif first.cumulative:
            y = np.cumsum(counts) / each.number
        else:
            y = counts.astype(np.float64) if alone else counts / each.number
        kind = "steps" if first.cumulative else "points" if first.logarithmic else "line"
        series.append(Series(label, x.tolist(), y.tolist(), kind))  # type: ignore[arg-type]
    return Plot(
        first.name, first.title, first.x, _height(first, alone), tuple(series), first.logarithmic, first.logarithmic
    )


def _height(of: Distribution, alone: bool) -> str:
    """What the y axis shows."""
    if of.cumulative:
        return f"share of {of.what} {'with at least as many' if of.logarithmic else 'up to it'}"
    return of.what if alone else f"share of {of.what}"


def _numbers(same: Sequence[tuple[str, Distribution]], alone: bool) -> list[Table]:
    """The distributions in some rows, and the power laws."""
    first = same[0][1]
    values = [each.values for _, each in same] + [np.array([*first.cl], np.float64)]
    edges = _edges(np.unique(np.concatenate(values)), first.logarithmic)
    columns = [Column(first.x)]
    for name, each in same:
        label = "" if alone else f", {name}"
        columns += [Column(f"{each.what}{label}", ",.0f"), Column(f"share{label}", ".2%", bar=True)]
    if first.cl:
        columns.append(Column(f"{first.what}, .cl, 2004", ",.0f", paper=True))
    rows: list[tuple[Cell, ...]] = []
    for low, high in edges:
        cells: list[Cell] = [f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"]
        for _, each in same:
            number = int(each.counts[(each.values >= low) & (each.values <= high)].sum())
            cells += [number, number / max(1, each.number)]
        if first.cl:
            cells.append(sum(number for value, number in first.cl.items() if low <= value <= high))
        rows.append(tuple(cells))
    tables = [Table(f"{first.name}-numbers", "", tuple(columns), tuple(rows), below=first.name)]
    laws = [(name, law, fit(law, each.values, each.counts)) for name, each in same for law in each.laws]
    if laws:
        head = (
            "" if alone else "collection",
            "range",
            "values",
            "exponent",
            "error",
            "distance",
            "plausible",
            "regression",
        )
        forms = ("", "", ",.0f", ".3f", ".3f", ".3f", ".2f", ".2f")
        law_rows = tuple(
            (
                ("power law" if alone else name),
                law.range,
                *((f.number, f.exponent, f.error, f.distance, f.plausible, f.regression) if f else (None,) * 6),
                law.thesis or None,
            )
            for name, law, f in laws
        )
        made = (
            *(Column(h, form) for h, form in zip(head, forms, strict=True)),
            Column("thesis, by regression", paper=True),
        )
        doubtful = sum(f is not None and f.plausible < DOUBTFUL for _, _, f in laws)
        title = (
            "Power laws: exponent by maximum likelihood with its standard error; a law that is plausible for less than "
        )
        title += f"{DOUBTFUL:g} of samples is doubtful" + (f" ({doubtful} here)" if doubtful else "")
        tables.append(Table(f"{first.name}-laws", title, made, law_rows, below=first.name))
    return tables


def _edges(values: F64, logarithmic: bool) -> list[tuple[float, float]]:
    """Ranges of values: each value for itself if there are few; otherwise doubling, or of equal width."""
    if len(values) <= _ROWS:
        return [(v, v) for v in values.tolist()]
    if logarithmic:
        top = math.ceil(math.log2(max(values[-1], 1))) + 1
        ranges = [(0.0, 0.0), *((float(2**k), float(2 ** (k + 1) - 1)) for k in range(top))]
    else:
        width = math.ceil((values[-1] - values[0] + 1) / _ROWS)
        begins = np.arange(values[0], values[-1] + 1, width)
        ranges = [(float(b), float(b + width - 1)) for b in begins]
    return [(low, high) for low, high in ranges if ((values >= low) & (values <= high)).any()]


def _compared(same: Sequence[tuple[str, Distribution]]) -> list[Sentence]:
    (name, first), others = same[0], same[1:]
    said = []
    for other, each in others:
        distance, chance = kolmogorov_smirnov(first, each)
        verdict = "they differ" if chance < _DIFFERS else "the difference may be chance"
        how = "less than 0.001" if chance < 0.001 else f"{chance:.3f}"
        said.append(
            Sentence(
                f"{first.title}: the cumulated shares of {name} and {other} are at most {distance:.3f} apart; "
                f"{verdict} (test of Kolmogorov and Smirnov, probability of chance {how})."
            )
        )
    return said


def kolmogorov_smirnov(a: Distribution, b: Distribution) -> tuple[float, float]:
    """The greatest distance of the cumulated shares, and the probability of such a distance by chance (asymptotic)."""
    if not a.number or not b.number:
        return 0.0, 1.0
    values = np.union1d(a.values, b.values)
    at = [
        np.concatenate([[0.0], np.cumsum(d.counts) / d.number])[np.searchsorted(d.values, values, "right")]
        for d in (a, b)
    ]
    distance = float(np.abs(at[0] - at[1]).max())
    scaled = distance * math.sqrt(a.number * b.number / (a.number + b.number))
    if scaled < 0.2:
        return distance, 1.0
    chance = 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return distance, min(max(chance, 0.0), 1.0)


# --- plots and lists --------------------------------------------------------------------------------------------------


def _overlaid(same: Sequence[tuple[str, Plot]]) -> Plot:
    """One plot of those of several collections."""
    if len(same) == 1:
        return same[0][1]
    series = tuple(
        replace(each, label=name if len(plot.series) == 1 else f"{each.label}, {name}")
        for name, plot in same
        for each in plot.series
    )
    return replace(same[0][1], series=series)


def _points(same: Sequence[tuple[str, Plot]], alone: bool) -> list[Table]:
    """The numbers of a plot, if it has few; those of the others are in its CSV file."""
    curves = [(name, curve) for name, plot in same for curve in plot.series]
    at = sorted({x for _, curve in curves for x in curve.x})
    first = same[0][1]
    if len(at) > _ROWS + 16 or not at or any(curve.kind == "points" for _, curve in curves):
        return []
    whole = all(float(y).is_integer() for _, curve in curves for y in curve.y)
    form = ",.0f" if whole else ".1%"
    columns = (Column(first.x, "g"), *(Column(c.label if alone else f"{c.label}, {name}", form) for name, c in curves))
    found = [dict(zip(curve.x, curve.y, strict=True)) for _, curve in curves]
    rows = tuple((x, *(each.get(x) for each in found)) for x in at)
    return [Table(f"{first.name}-numbers", "", columns, rows, below=first.name)]


def _lists(sections: Sequence[Of], alone: bool) -> list[Table]:
    """The lists of all collections; one that is the same in all of them once."""
    every = [(each.name, table) for each in sections for table in each.section.tables]
    count = Counter(table for _, table in every)
    shared = {table: None for table in count if count[table] == len(sections)}
    return [_named(name, table, alone) for name, table in every if table not in shared] + [*shared]


def _named(name: str, table: Table, alone: bool) -> Table:
    """The table, with the name of its collection if there are several."""
    return table if alone else replace(table, name=f"{table.name}-{name}", title=f"{table.title}: {name}")
