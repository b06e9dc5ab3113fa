"""`gossamer report`: what the Web of a collection is like."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.base.escape import for_json
from gossamer.cli.command import PATH, argument, command, flag, unchecked

if TYPE_CHECKING:
    from gossamer.laboratory.findings.finding import Finding


@command
@argument("folder", "DIR", "Folder of the collection; it may be running.")
@click.option("--against", type=PATH, metavar="DIR", multiple=True, help="Another collection beside it; repeatable.")
@click.option(
    "--out", type=PATH, metavar="FOLDER", help="Where to write the page and its CSV files; default: DIR-report."
)
@click.option("--section", "sections", metavar="NAME", multiple=True, help="Only this section; repeatable.")
@click.option(
    "--by-country",
    type=PATH,
    metavar="FILE",
    help="CSV file with a top-level domain and a number in each line, such as exports: shown against links.",
)
@flag("--json", "as_json", help="Print one JSON object, and write files only with --out.")
@unchecked
def report(
    folder: Path,
    against: tuple[Path, ...],
    out: Path | None,
    sections: tuple[str, ...],
    by_country: Path | None,
    as_json: bool,
    unchecked: bool,
) -> None:
    """Describe the Web in DIR: pages, sites, links, servers, duplicates, with plots. One HTML page that needs no
    network, a CSV file for each table and plot, one JSON file."""
    from gossamer.cli.confirm import confirmed_in
    from gossamer.cli.options import compile_kernels
    from gossamer.cli.progress import Progress
    from gossamer.collection.layout import require_collection
    from gossamer.laboratory.report import make
    from gossamer.laboratory.report.countries import read

    for each in (folder, *against):
        require_collection(each)
    kinds = make.with_own(confirmed_in(folder, "report"))
    make.chosen(sections, kinds)
    figures = read(by_country) if by_country is not None else None
    folders = [folder, *against]
    target = out if out is not None or as_json else Path(f"{folder.resolve().name}-report")
    if target is not None:
        make.prepare(target)
    compile_kernels(sys.stderr)
    title = f"Report of {' and '.join(path.resolve().name for path in folders)}"
    with Progress(sys.stderr) as progress:
        findings = make.report(folders, sections, figures, unchecked, progress.doing, kinds)
        page = make.write(target, title, findings, progress.doing) if target is not None else None
    if as_json:
        print(for_json(make.plain(title, findings)))
    else:
        _show(findings)
    if page is not None:
        print(page, file=sys.stderr)


def _show(findings: Sequence[Finding]) -> None:
    """The numbers that have names, and what is missing; the rest is on the page."""
    from gossamer.laboratory.findings import table

    for finding in findings:
        facts = [each for each in finding.tables if each.name.endswith("-facts")]
        if facts or finding.sentences:
            print(f"{finding.title}\n")
        for sentence in finding.sentences:
            print(f"- {sentence.text}")
        for each in facts:
            print(f"{table.as_text(each)}\n")
