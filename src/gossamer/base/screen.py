"""Standard output and standard error, guarded: whatever is printed, by us, by a library or by a fault that nobody
caught, is escaped on its way (`escape.lines_for_screen`).

So a command needs no care of its own, and a new one has it at once. What must not be changed goes past the guard: the
control sequences of our own progress lines, and what is for programs unless a person is looking.
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
    """A stream that escapes what is written to it, and is in all else the stream that it guards."""

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
    """From now on, until the process ends."""
    codecs.register_error(_ERRORS, _spelled)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
        if stream is not None and not isinstance(stream, Screen):
            setattr(sys, name, cast(TextIO, Screen(stream)))


def unguarded(stream: TextIO) -> TextIO:
    """For our own control sequences; whoever writes others' words to it escapes them."""
    return stream.plain if isinstance(stream, Screen) else stream


def for_programs(stream: TextIO) -> TextIO:
    """As it is, unless it is a terminal: there a person is looking."""
    return stream if stream.isatty() else unguarded(stream)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Characters that the stream's charset does not have, as JSON and people can read them."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
