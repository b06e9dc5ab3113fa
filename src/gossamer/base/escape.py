"""Escaping of untrusted text, one function per destination: screen, JSON, HTML, SQL, file name; and guards for standard
output and standard error.

Titles, URLs, headers, robots.txt files and server names are stored as they were received and never trusted. Code that
writes them to a screen, a line of JSON, an HTML page, an SQL statement or a file name uses these functions. (WARC
fields lose their line ends in `web/archive/archive.py`, where they are written.)

Unprintable is what Unicode calls unprintable: control characters (C0 and C1, and so the escape sequences of terminals),
line and paragraph separators, marks that change the writing direction, and invisible, unassigned or half characters.

`guard` escapes everything that is printed, by us, by a library or by an uncaught exception. So no command has to escape
its own output, and no new command can forget to. Two things bypass the guard: the control sequences of our own progress
lines, and output for programs when it does not go to a terminal.

Invariants, each a test of the same name: a text for the screen is one line of printable characters; JSON decodes to the
value it was made from; an HTML page shows the text and nothing else; an SQL literal evaluates to the text and nothing
else; a file name never leaves its folder.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterable
from html import escape as _without_markup
from typing import Any, Final, TextIO, cast

from gossamer.base.streams import Messages, Output, occupy

_LONGEST_NAME: Final = 100
_HANDLER: Final = "gossamer.escaped"


def for_screen(text: str) -> str:
    """One line for a terminal, a log or a text file; unprintable characters are written as "\\x1b", "\\u202e". For
    people; --json has the original text."""
    return text if text.isprintable() else text.translate(_spelled(text))


def lines_for_screen(text: str) -> str:
    """Like `for_screen`, for a text of our own with several lines."""
    return text if text.isprintable() else "\n".join(map(for_screen, text.split("\n")))


def for_spreadsheet(text: str) -> str:
    """A cell of a CSV file; what a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def for_json(value: Any, *, indent: int | None = None, compact: bool = False, default: Any = None) -> str:
    """JSON made of printable characters; infinite and undefined numbers become null."""
    separators = (",", ":") if compact else None
    options: dict[str, Any] = {"indent": indent, "separators": separators, "default": default}
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, **options)
    if text.isprintable():
        return text
    return text.translate({ord(c): json.dumps(c)[1:-1] for c in set(text) if not c.isprintable() and c != "\n"})


def for_html(text: str) -> str:
    """For HTML and XML: as text, or as a quoted attribute value."""
    return _without_markup(for_screen(text))


def for_sql(text: str) -> str:
    """An SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def for_file(text: str) -> str:
    """A file name: letters, digits, "_", "-" and inner dots; never empty, never in another folder."""
    return re.sub(r"[^\w.-]+", "-", text)[:_LONGEST_NAME].lstrip(".") or "unnamed"


def _spelled(text: str) -> dict[int, str]:
    """The replacement for each unprintable character."""
    return {
        ord(c): " " if unicodedata.category(c) == "Zs" else c.encode("unicode_escape").decode()
        for c in set(text)
        if not c.isprintable()
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


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
    """Guards both streams from now on, until the process ends; also against failures of the streams themselves."""
    occupy()
    codecs.register_error(_HANDLER, _json_escapes)
    for name, failing in (("stdout", Output), ("stderr", Messages)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)
        if not isinstance(stream, Screen):
            setattr(sys, name, cast(TextIO, Screen(cast(TextIO, failing(stream)))))


def unguarded(stream: TextIO) -> TextIO:
    """The stream without its guard, for our own control sequences; the caller escapes all other text."""
    return stream.plain if isinstance(stream, Screen) else stream


def for_programs(stream: TextIO) -> TextIO:
    """The stream for output that programs read: unguarded, unless it is a terminal, where a person reads."""
    return stream if stream.isatty() else unguarded(stream)


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    """Error handler: writes characters that the stream's charset does not have as JSON escapes."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
