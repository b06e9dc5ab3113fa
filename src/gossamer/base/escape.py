"""Escaping of untrusted text, one function per destination: screen, JSON, HTML, SQL, file name.

Titles, URLs, headers, robots.txt files and server names are stored as they were received and never trusted. Code that
writes them to a screen, a line of JSON, an HTML page, an SQL statement or a file name uses these functions. (WARC
fields lose their line ends in `web/archive/archive.py`, where they are written.)

Unprintable is what Unicode calls unprintable: control characters (C0 and C1, and so the escape sequences of terminals),
line and paragraph separators, marks that change the writing direction, and invisible, unassigned or half characters.

Invariants, each a test of the same name: a text for the screen is one line of printable characters; JSON decodes to the
value it was made from; an HTML page shows the text and nothing else; an SQL literal evaluates to the text and nothing
else; a file name never leaves its folder.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from html import escape as _without_markup
from typing import Any, Final

_LONGEST_NAME: Final = 100


def for_screen(text: str) -> str:
    """One line for a terminal, a log or a text file; unprintable characters are written as "\\x1b", "\\u202e".

    For people; --json has the original text.
    """
    return text if text.isprintable() else text.translate(_spelled(text))


def lines_for_screen(text: str) -> str:
    """Like `for_screen`, for a text of our own with several lines."""
    return text if text.isprintable() else "\n".join(map(for_screen, text.split("\n")))


def for_json(value: Any, *, indent: int | None = None, compact: bool = False, default: Any = None) -> str:
    """JSON made of printable characters; infinite and undefined numbers become null."""
    between = (",", ":") if compact else None
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=indent, separators=between, default=default
        )
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=indent, separators=between, default=default)
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
