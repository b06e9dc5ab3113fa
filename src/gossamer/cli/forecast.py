"""`gossamer forecast`: what a budget of re-visits gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, unchecked

if TYPE_CHECKING:
    from gossamer.laboratory.findings.finding import Finding
    from gossamer.read.forecast import Found, Row


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@click.option("--requests", metavar="RATE", help="Budget of requests for pages, like 2/s, 100/min or 5000/d.")
@click.option("--bandwidth", metavar="SPEED", help="Instead, a budget of bytes, like 1MB/s.")
@flag("--json", "as_json", help="Print one JSON object.")
@click.option("--html", type=PATH, metavar="FILE", help="Write a page with the table and two plots.")
@unchecked
def forecast(
    folder: Path, requests: str | None, bandwidth: str | None, as_json: bool, html: Path | None, unchecked: bool
) -> None:
    """Forecast how fresh the copies in DIR will be if the crawl continues as it is, and within other budgets."""
    from gossamer.cli.options import rate_of, speed_of
    from gossamer.laboratory.findings import folder as files
    from gossamer.laboratory.findings import page, plot, table
    from gossamer.read import forecast as reading

    if requests and bandwidth:
        raise UsageError("--requests and --bandwidth cannot be combined", "Leave one of them out.")
    budget = reading.Budget(rate_of("--requests", requests)) if requests else None
    budget = reading.Budget(speed_of("--bandwidth", bandwidth), in_bytes=True) if bandwidth else budget
    if html is not None:
        plot.check()
    found = reading.forecast(folder, budget, html is not None, unchecked)
    shown = _finding(found)
    if as_json:
        print(for_json(found.as_json()))
    else:
        print(shown.setting, end="\n\n")
        print(table.as_text(shown.tables[0]))
        for sentence in shown.sentences:
            print(sentence.text)
    if html is not None:
        pictures = {each.name: plot.as_svg(each) for each in shown.plots}
        files.write(html, page.as_html(shown.title, [shown], pictures.get))
        print(html, file=sys.stderr)


def _finding(found: Found) -> Finding:
    from gossamer.base.units import human_size, plural, thousands
    from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table
    from gossamer.read.forecast import DAY

    def budget_of(row: Row) -> str:
        amount = row.factor * found.budget.amount
        return f"{human_size(amount)}/s" if found.budget.in_bytes else f"{thousands(round(DAY * amount))}/d"

    columns = tuple(
        Column(*each)
        for each in (
            ("budget",),
            ("",),
            ("re-visits a day", ",.0f"),
            ("new a day", ",.0f"),
            ("bytes a day",),
            ("freshness", ".3f"),
            ("age in days", ".2f"),
            ("not again", ".3f"),
        )
    )
    rows = tuple(
        (
            budget_of(row),
            f"x{row.factor:g}",
            DAY * row.outlook.again,
            DAY * row.outlook.new,
            human_size(DAY * row.outlook.bytes),
            row.outlook.freshness,
            row.outlook.age / DAY,
            row.outlook.never,
        )
        for row in found.rows
    )
    lately, now = found.lately, found.now
    setting = (
        f"{found.folder.resolve().name}: {plural(found.copies, 'copy', 'copies')}, {thousands(found.compared)} visited "
        f"again; {now['freshness']:.1%} of the copies are expected to be up to date now, and copies have been outdated "
        f"for {now['days_behind']:.2f} days on average. Lately {plural(lately.revisits, 're-visit')}, "
        f"{human_size(lately.bytes)} each, {lately.not_modified / max(1, lately.revisits):.0%} not modified."
    )
    x = [DAY * row.outlook.again for row in found.curve]
    plots = tuple(
        Plot(f"forecast-{name}", title, "re-visits a day", y, (Series(found.policy, x, values),), x_log=True)
        for name, title, y, values in (
            ("freshness", "Copies up to date", "freshness", [row.outlook.freshness for row in found.curve]),
            ("age", "Age of copies", "days outdated", [row.outlook.age / DAY for row in found.curve]),
        )
    )
    bound = max(row.outlook.bound for row in found.rows)
    said = [f"Dates of sitemaps are believed for {plural(found.dated, 'copy', 'copies')}."] if found.dated else []
    said += [f"Waits of {plural(bound, 'site')} bind within the largest of these budgets."] if bound else []
    title = f"Forecast for {found.folder.resolve().name}"
    made = tuple(Sentence(text) for text in said)
    return Finding("forecast", title, "", setting, (Table("forecast", "", columns, rows),), plots, made)
