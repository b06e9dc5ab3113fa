"""Guards for standard output and standard error: everything that is printed, by us, by a library or by an uncaught
exception, is escaped (`escape.lines_for_screen`).

So no command has to escape its own output, and no new command can forget to. Two things bypass the guard: the control
sequences of our own progress lines, and output for programs when it does not go to a terminal.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Iterable
from typing import Any, Final, TextIO, cast

from gossamer.base.escape import lines_for_screen

_ERRORS: Final = "gossamer.escaped"


class Screen:
    """A text stream that escapes what is written to it; in every other way it is the stream that it wraps."""

    def __init__(self, plain: TextIO) -> None:
        self.plain = plain

    def write(self, text: str) -> int:
        return self.plain.write(lines_for_screen(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


def guard() -> None:
    """Guards both streams from now on, until the process ends."""
    codecs.register_error(_ERRORS, _spelled)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
        if stream is not None and not isinstance(stream, Screen):
            setattr(sys, name, cast(TextIO, Screen(stream)))


def unguarded(stream: TextIO) -> TextIO:
    """The stream without its guard, for our own control sequences; the caller escapes all other text."""
    return stream.plain if isinstance(stream, Screen) else stream


def for_programs(stream: TextIO) -> TextIO:
    """The stream for output that programs read: unguarded, unless it is a terminal, where a person reads."""
    return stream if stream.isatty() else unguarded(stream)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Error handler: writes characters that the stream's charset does not have as JSON escapes."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
