"""How pages change, end and come, as far as the crawl has seen (`read/sql/dynamics.py`), beside table 2.1."""

from __future__ import annotations

from math import isnan

from gossamer.laboratory.findings.finding import Column, Table
from gossamer.laboratory.report.data import Data
from gossamer.laboratory.report.parts import Fact, Section, Shares, absent
from gossamer.read.sql.clocks import clocks
from gossamer.read.sql.dynamics import PUBLISHED, Survival, dynamics

_ONCE = (
    "No page was visited twice, so nothing is known of changes: crawl with --continuous, or again later with"
    " manager.min_period."
)


def changes(data: Data) -> Section:
    found = dynamics(data.database)
    if not found.visited_again:
        return absent(_ONCE)
    stands = (
        f"{found.visited_again:,} of {found.pages:,} fetched pages: those that were visited again, within"
        f" {found.days:,.1f} days. Pages that still lived, or had not changed, at their last visit count as such"
        " (Kaplan and Meier); what ended or changed between two visits counts in the middle"
    )
    facts = (
        Fact("median age by Last-Modified, days", _known(found.age), ",.1f"),
        *_of("lifespan, from the first visit", found.life),
        *_of("time to the first major change (half-life)", found.version),
        Fact("minor changes, of all changes", _known(found.minor), ".1%"),
        Fact("new pages in a week", _known(found.new_a_week), ".1%"),
        Fact("pages gone in a week", _known(found.gone_a_week), ".1%"),
    )
    pages = {name: share * found.visited_again for name, share in found.intervals.items()}
    return Section(
        stands,
        facts,
        shares=(Shares("change-intervals", "Mean change interval of pages", "pages", pages),),
        tables=(
            *_hours(data),
            Table(
                "changes-published",
                "Results of others (table 2.1)",
                (Column("study"), Column("sample"), Column("result")),
                PUBLISHED,
            ),
        ),
    )


def _hours(data: Data) -> list[Table]:
    """Sites whose pages change at certain hours (2.1.2), if there are any."""
    names = data.site_names
    rows = tuple((names[each.site], str(each), each.visits) for each in clocks(data.database))
    columns = (Column("site"), Column("pages change"), Column("comparisons"))
    title = "Sites whose pages change at certain hours (thesis 2.1.2)"
    return [Table("changes-hours", title, columns, rows)] if rows else []


def _of(what: str, found: Survival) -> tuple[Fact, Fact]:
    how = "extrapolated" if found.extrapolated else "observed"
    return (
        Fact(f"median {what}, days, {how}", _known(found.median), ",.1f"),
        Fact(f"mean {what}, days, at a constant hazard", _known(found.mean), ",.1f"),
    )


def _known(value: float) -> float | None:
    return None if isnan(value) else value
