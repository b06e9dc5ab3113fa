"""`gossamer verify`: is everything there, and does it fit together?"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from gossamer.base.escape import for_json, for_screen
from gossamer.base.screen import unguarded

SHOWN: Final = 50
ON_TERMINAL: Final = 0.2
ELSEWHERE: Final = 10.0


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection; a crawl may run.")],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Without reading the records of the archive.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="First cut away what keeps a crawl from going on.")] = False,
) -> None:
    """Check every checksum, reference and sum in DIR, and say what is wrong; exit code 1 if anything is."""
    from gossamer.base.units import human_size, plural, thousands
    from gossamer.read.verify import whole

    if repair:
        for line in whole.repaired(folder):
            print(f"Repaired: {line}.", file=sys.stderr)
    with Steps(sys.stderr) as steps:
        report = whole.verify(folder, quick, steps.show)
    if as_json:
        print(for_json(report.as_json()))
    else:
        for finding in report.findings[:SHOWN]:
            print(finding)
        if report.wrong > SHOWN:
            print(f"… and {thousands(report.wrong - SHOWN)} more (--json has up to a thousand).")
        for note in report.notes:
            print(f"Note: {note}")
        what = ", ".join(
            f"{human_size(n)} of {name.removesuffix(' bytes')}"
            if name.endswith(" bytes")
            else plural(n, name.removesuffix("s"))
            for name, n in report.checked.items()
        )
        verdict = "nothing is wrong" if report.good else plural(report.wrong, "thing is wrong", "things are wrong")
        print(f"{folder}: {verdict}. Looked at {what}.")
    if not report.good:
        raise typer.Exit(1)


class Steps:
    """Progress of a long command: on one line of a terminal, elsewhere now and then."""

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
        """Makes room on the terminal for what is printed."""
        if self._open_line:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open_line = False

    def show(self, what: str, part: float) -> None:
        """`part`: from 0 to 1."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        line = f"{for_screen(what)}: {100 * part:.0f} %"
        self._stream.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()
        self._open_line = self._terminal
