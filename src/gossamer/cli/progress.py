"""Progress for people: redrawn on a terminal, a line every ten seconds elsewhere.

Drawn by hand: five lines twice per second cost 0.02 % of a core; rich's live display would cost a hundred times that,
and 0.15 s to import.
"""

from __future__ import annotations

import shutil
import time
from typing import Final, TextIO

from gossamer.base.escape import for_screen, lines_for_screen, unguarded
from gossamer.cli.status_text import block, line_of
from gossamer.observe.statistics import Statistics

ON_TERMINAL: Final = 0.5
STEPS_ON_TERMINAL: Final = 0.2
ELSEWHERE: Final = 10.0
"""Seconds between two updates."""
FIRST: Final = 1.0
"""Seconds until the first line where there is no terminal."""


class Progress:
    """Shows the statistics and the messages of a crawl on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = unguarded(stream)
        self._terminal = stream.isatty()
        self._every = ON_TERMINAL if self._terminal else ELSEWHERE
        self._next = time.monotonic() + (0.0 if self._terminal else FIRST)
        self._lines = 0
        """Lines of the block that is on the terminal now."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines = 0

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def show(self, statistics: Statistics) -> None:
        self._next = time.monotonic() + self._every
        if self._terminal:
            width = shutil.get_terminal_size().columns
            lines = [for_screen(line)[: width - 1] for line in block(statistics)]
            self._stream.write(self._back() + "".join(f"\x1b[K{line}\n" for line in lines))
            self._lines = len(lines)
        else:
            self._stream.write(for_screen(line_of(statistics)) + "\n")
        self._stream.flush()

    def say(self, line: str) -> None:
        """A message that stays; the block is drawn again below it."""
        self._stream.write(self._back() + lines_for_screen(line) + "\n")
        self._lines = 0
        self._stream.flush()

    def _back(self) -> str:
        """Moves to the start of the block and erases it."""
        return f"\x1b[{self._lines}F\x1b[J" if self._lines else ""


class Steps:
    """Shows the progress of a long command: on one line of a terminal, else as a line every ten seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = unguarded(stream)
        self._terminal = stream.isatty()
        self._every = STEPS_ON_TERMINAL if self._terminal else ELSEWHERE
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
