"""Things that can be compared one by one at two dates, or in two collections: sites by their pages, and by their part
of the bow-tie.

Huberman and Adamic (2.1.2) explain sizes of sites by growth in proportion to size: the logarithm of growth is then
normal, and does not depend on the size. So its mean, its standard deviation and its correlation with the logarithm of
the size are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from gossamer.laboratory.findings.finding import Cell, Column, Plot, Sentence, Series, Table
from gossamer.laboratory.report.parts import Fact, Named
from gossamer.laboratory.report.sites import thinned

Values = Mapping[str, float | str]
GONE, NEW = "gone", "new"
CORRELATION: Final = "correlation of growth and size (logarithms)"
INDEPENDENT: Final = 0.2
"""A correlation that is nearer to zero is called none."""


def growth(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Fact, ...]:
    """How sites have grown."""
    both = [name for name in before if before[name] > 0 and after.get(name, 0) > 0]
    a, b = (np.array([of[name] for name in both], np.float64) for of in (before, after))
    grown = np.log(b / a) if len(both) else np.zeros(0)
    known = len(grown) > 0
    related = float(np.corrcoef(np.log(a), grown)[0, 1]) if len(grown) > 2 and np.log(a).std() and grown.std() else None
    return (
        Fact("sites at both dates", len(both)),
        Fact("of these, larger", int((grown > 0).sum())),
        Fact("of these, smaller", int((grown < 0).sum())),
        Fact("new sites", sum(number > 0 for name, number in after.items() if before.get(name, 0) <= 0)),
        Fact("sites that are gone", sum(number > 0 for name, number in before.items() if after.get(name, 0) <= 0)),
        Fact("growth of all pages", sum(after.values()) / max(1.0, sum(before.values())) - 1, "+.1%"),
        Fact("mean growth of a site (logarithm)", float(grown.mean()) if known else None, "+.3f"),
        Fact("its standard deviation", float(grown.std()) if known else None, ".3f"),
        Fact(CORRELATION, related, ".3f", "none, by the model"),
    )


def scatter(name: str, title: str, x: str, y: str, before: Mapping[str, float], after: Mapping[str, float]) -> Plot:
    """The sites by their pages at both dates."""
    both = [site for site in before if before[site] > 0 and after.get(site, 0) > 0]
    a, b = (np.array([of[site] for site in both], np.float64) for of in (before, after))
    return Plot(name, title, x, y, (Series("sites", *thinned(a, b), "points"),), x_log=True, y_log=True)


def compared(
    one: str, first: Named, other: str, second: Named
) -> tuple[tuple[Table, ...], tuple[Plot, ...], tuple[Sentence, ...]]:
    """Two collections, thing by thing; nothing if they have none in common."""
    if not first.rows.keys() & second.rows.keys():
        return (), (), ()
    if any(isinstance(value, str) for value in (*first.rows.values(), *second.rows.values())):
        table, said = _moved(one, first, other, second)
        return (table,), (), (said,)
    before, after = ({name: float(value) for name, value in each.rows.items()} for each in (first, second))
    facts = growth(before, after)
    name = f"{first.name}-{other}"
    rows: tuple[tuple[Cell, ...], ...] = tuple((fact.label, fact.value) for fact in facts)
    table = Table(name, f"{first.title}: from {one} to {other}", (Column(""), Column("")), rows,
                  tuple(fact.form for fact in facts))  # fmt: skip
    plot = scatter(name, f"{first.title}: {one} and {other}", f"pages, {one}", f"pages, {other}", before, after)
    return (table,), (plot,) if plot.series[0].x else (), (_said(one, other, facts),)


def _said(one: str, other: str, facts: tuple[Fact, ...]) -> Sentence:
    values = {fact.label: fact.value for fact in facts}
    related = values[CORRELATION]
    if not isinstance(related, float):
        return Sentence(f"From {one} to {other}, too few sites have changed for their growth to be compared with size.")
    which = "does not depend on" if abs(related) < INDEPENDENT else "grows with" if related > 0 else "falls with"
    return Sentence(f"From {one} to {other}, the growth of sites {which} their size (correlation {related:.2f}).")


def _moved(one: str, first: Named, other: str, second: Named) -> tuple[Table, Sentence]:
    """How many things of each kind became things of which kind."""
    pairs = Counter(
        (str(first.rows.get(name, NEW)), str(second.rows.get(name, GONE))) for name in {**first.rows, **second.rows}
    )
    kinds = [*first.kinds]
    ends = [kind for kind in (*kinds, GONE) if any(to == kind for _, to in pairs)]
    begins = [kind for kind in (*kinds, NEW) if any(at == kind for at, _ in pairs)]
    rows: tuple[tuple[Cell, ...], ...] = tuple((at, *(pairs[at, to] for to in ends)) for at in begins)
    columns = (Column(f"{one}, down; {other}, across"), *(Column(to, ",d") for to in ends))
    both = sum(number for (at, to), number in pairs.items() if at != NEW and to != GONE)
    same = sum(number for (at, to), number in pairs.items() if at == to)
    share = f"{same / both:.1%}" if both else "none"
    title = f"{first.title}: from {one} to {other}"
    text = (
        f"{first.title}: of {both:,} {first.what} in both collections, {same:,} ({share}) are where they were in {one}."
    )
    return Table(f"{first.name}-{other}", title, columns, rows), Sentence(text)
