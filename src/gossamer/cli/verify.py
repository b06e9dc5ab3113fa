"""`gossamer verify`: checks that a collection is complete and consistent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.base.escape import for_json

SHOWN: Final = 50
"""Maximum number of errors that are printed."""


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection; it may be running.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Do not read the records of the archive.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="First cut off damage that prevents a resume.")] = False,
) -> None:
    """Check every checksum, reference and sum in DIR, and report what is wrong; exit code 1 if anything is."""
    from gossamer.base.units import human_size, plural, thousands
    from gossamer.cli.progress import Steps
    from gossamer.read.verify.verify import repaired
    from gossamer.read.verify.verify import verify as check

    if repair:
        for line in repaired(folder):
            print(f"Repaired: {line}.", file=sys.stderr)
    with Steps(sys.stderr) as steps:
        report = check(folder, quick, steps.show)
    if as_json:
        print(for_json(report.as_json()))
    else:
        for fault in report.findings[:SHOWN]:
            print(fault)
        if report.wrong > SHOWN:
            print(f"… and {thousands(report.wrong - SHOWN)} more (--json prints up to a thousand).")
        for note in report.notes:
            print(f"Note: {note}")
        what = ", ".join(
            f"{human_size(n)} of {name.removesuffix(' bytes')}"
            if name.endswith(" bytes")
            else plural(n, name.removesuffix("s"))
            for name, n in report.checked.items()
        )
        verdict = "no errors" if report.good else plural(report.wrong, "error")
        print(f"{folder}: {verdict}. Checked {what}.")
    if not report.good:
        raise typer.Exit(1)
