"""`gossamer verify`: checks that a collection is complete and consistent."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from gossamer.base.escape import for_json, for_screen, unguarded

SHOWN: Final = 50
"""Maximum number of errors that are printed."""
ON_TERMINAL: Final = 0.2
"""Seconds between two displays of progress on a terminal."""
ELSEWHERE: Final = 10.0
"""The same if the output is not a terminal."""


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the collection; it may be running.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Do not read the records of the archive.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="First cut off damage that prevents a resume.")] = False,
) -> None:
    """Check every checksum, reference and sum in DIR, and report what is wrong; exit code 1 if anything is."""
    from gossamer.base.units import human_size, plural, thousands
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


class Steps:
    """Shows the progress of a long command: on one line of a terminal, else as a line every ten seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = unguarded(stream)
        self._terminal = stream.isatty()
        self._every = ON_TERMINAL if self._terminal else ELSEWHERE
        self._next = time.monotonic() + self._every
        self._open_line = False

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Erases the progress line of the terminal, before something else is printed."""
        if self._open_line:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open_line = False

    def show(self, what: str, part: float) -> None:
        """`part` is the part done, from 0 to 1."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        line = f"{for_screen(what)}: {100 * part:.0f} %"
        self._stream.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()
        self._open_line = self._terminal
