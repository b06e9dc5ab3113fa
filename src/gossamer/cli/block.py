"""The block that a terminal shows of a command: drawn again in place, with messages above it.

`picture.py` makes the lines with rich; here they are placed. rich's own live display is not used: it cannot be told
that something else has written, and it would draw in the caller's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from gossamer.base.escape import lines_for_screen
from gossamer.cli.history import History
from gossamer.cli.view import View

if TYPE_CHECKING:
    from gossamer.cli.picture import Painter

EVERY: Final = 1.0
"""Seconds between two statistics."""
_LINE_END: Final = "\x1b[K\n"
"""Erases what an earlier, longer line has left."""


class Block:
    every, first = EVERY, 0.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._painter: Painter | None = None
        self._history = History()
        self._widths: list[int] = []
        """Widths of the lines that are on the terminal now."""

    def draw(self, view: View) -> None:
        if self._painter is None:
            from gossamer.cli.picture import Painter  # rich takes 0.1 s, which the thread takes while the crawl starts

            self._painter = Painter(self._stream)
        if view.statistics is not None:
            self._history.add(view.statistics)
        width, height = self._painter.size()
        lines = self._painter.lines(view, self._history, width, height)
        said = "".join(f"{lines_for_screen(line)}{_LINE_END}" for line in view.said)
        shown = "".join(f"{line}{_LINE_END}" for line in self._painter.painted(lines))
        self._stream.write(f"{self._back(width)}{said}{shown}\x1b[J")
        self._stream.flush()
        self._widths = [line.cell_len for line in lines]

    def clear(self) -> None:
        if self._widths and self._painter is not None:
            self._stream.write(f"{self._back(self._painter.size()[0])}\x1b[J")
            self._stream.flush()
            self._widths = []

    def _back(self, width: int) -> str:
        """Moves to the start of the block. A window that became narrower has folded its lines."""
        rows = sum(max(1, -(-each // max(1, width))) for each in self._widths)
        return f"\x1b[{rows}F" if rows else ""
