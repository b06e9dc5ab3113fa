"""Standard output and standard error when they cannot be written to: the reader of a pipe has ended, the terminal is
gone, the disk behind a redirection is full.

Standard output is what a command is for: the command ends, quietly if the reader had enough (`gossamer sql … | head`),
else with an error. Standard error only has messages: they are given up, and a crawl goes on. A stream that has failed
leads to /dev/null from then on, so that neither the end of the interpreter nor a library finds it broken again.

A descriptor below 3 that is closed (`2>&-`) would be given to the next file that is opened, and a library's message
would end up in the journal; `occupy` opens all three.

Invariants, each a test of the same name: a reader that ends early ends the command and nothing else; output that cannot
be written is an error with a cure; messages that cannot be written do not end a crawl; closed standard streams are
given to no other file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, TextIO, cast

from gossamer.base import disk
from gossamer.base.errors import Unread


class _Wrapped:
    """A stream; in every other way than writing it is the stream that it wraps."""

    def __init__(self, plain: IO[Any]) -> None:
        self._plain = plain

    def write(self, text: Any) -> int:
        try:
            self._plain.write(text)
        except OSError as error:
            self._failed(error)
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._plain.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """The stream leads nowhere from now on."""
        with suppress(OSError, ValueError):  # it has no descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._plain.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


class Output(_Wrapped):
    """Standard output, as text or as bytes."""

    @property
    def buffer(self) -> IO[bytes]:
        return cast(IO[bytes], Output(cast(TextIO, self._plain).buffer))

    def _failed(self, error: OSError) -> None:
        super()._failed(error)
        if isinstance(error, BrokenPipeError):
            raise Unread from None
        with disk.naming("write to", "standard output"):
            raise error


class Messages(_Wrapped):
    """Standard error."""


def occupy() -> None:
    """Opens the standard streams that are closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # `print` would write messages to standard output
            setattr(sys, name, cast(TextIO, open(os.devnull, "w")))  # noqa: SIM115
