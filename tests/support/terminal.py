"""Terminals for tests: a screen that understands what `cli/block.py` writes, and a program in a pseudo terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from tests.support.timing import COMMAND

_PIECES: Final = re.compile(r"(\x1b\[[\d;?]*[A-Za-z]|\r|\n)")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Screen:
    """The rows of a terminal, with those that have left it at the top. Any other control sequence is an error."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.width, self.height = width, height
        self.rows: list[str] = [""]
        self._row = self._column = 0
        self.wrapped = 0
        """Lines that did not fit."""

    def feed(self, text: str) -> Self:
        for piece in filter(None, _PIECES.split(text)):
            if piece == "\n":
                self._down()
            elif piece == "\r":
                self._column = 0
            elif piece.startswith("\x1b"):
                self._control(piece[2:-1], piece[-1])
            else:
                self._write(piece)
        return self

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    def _down(self) -> None:
        self._row, self._column = self._row + 1, 0
        self.rows += [""] * (self._row + 1 - len(self.rows))

    def _write(self, text: str) -> None:
        while text:
            room = self.width - self._column
            here, text = text[:room], text[room:]
            row = self.rows[self._row].ljust(self._column)
            self.rows[self._row] = row[: self._column] + here + row[self._column + len(here) :]
            self._column += len(here)
            if text:
                self.wrapped += 1
                self._down()

    def _control(self, number: str, name: str) -> None:
        if name == "F":
            top = max(0, len(self.rows) - self.height)
            self._row, self._column = max(top, self._row - int(number)), 0
        elif name == "K" and not number:
            self.rows[self._row] = self.rows[self._row][: self._column]
        elif name == "J" and not number:
            self.rows[self._row] = self.rows[self._row][: self._column]
            del self.rows[self._row + 1 :]
        elif name != "m":
            raise AssertionError(f"unknown control sequence: {number}{name}")


def _take_terminal() -> None:
    """Makes standard input the terminal that controls this process: Ctrl-C is a signal then."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Session:
    """A program whose standard streams are a pseudo terminal of this size."""

    def __init__(self, command: Sequence[str], width: int = 80, height: int = 24, **environment: str) -> None:
        self._own, other = pty.openpty()
        self.resize(width, height)
        inherited = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            command,
            stdin=other,
            stdout=other,
            stderr=other,
            env=inherited | {"TERM": "xterm-256color"} | environment,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(other)
        self.written = ""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def read(self, until: Callable[[], bool] = lambda: False, within: float = COMMAND) -> str:
        """Reads until that is true, or until the program ends; returns all that was written."""
        last = time.monotonic() + within
        while not until():
            left = last - time.monotonic()
            assert left > 0, f"not within {within} s: {self.written[-2000:]}"
            if not select.select([self._own], [], [], min(left, 0.1))[0]:
                continue
            try:
                piece = os.read(self._own, 65536)
            except OSError:  # as Linux reports the end
                break
            self.written += piece.decode(errors="replace")
        return self.written

    def ended(self) -> int:
        self.read()
        return self.process.wait(COMMAND)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._own)
