"""What others say, made harmless for the place where it is shown: one function a place, used at the edge.

A title, a URL, a header, a robots.txt, the name of a server are kept as they were said, and never trusted: whoever
writes them to a screen, a line of JSON, a page, a statement or a file name does it through here. (A WARC field loses
its line ends in `web/archive/archive.py`, where it is written.)

Unprintable is what Unicode calls so: control characters (of C0 and C1, so escape sequences of terminals), line and
paragraph separators, marks that turn the direction of writing, what is invisible, unassigned or half of a character.

Invariants, each a test of the same name: a text for the screen is one line of printable characters; JSON is read again
as what it was made of; a page shows the text and nothing else; a statement has the text and nothing else; a file name
names a file in the folder that it is put into.
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
    """One line for a terminal, a log or a text file: what is unprintable is spelled out as in "\\x1b", "\\u202e".

    For people: --json has what was said.
    """
    return text if text.isprintable() else text.translate(_spelled(text))


def lines_for_screen(text: str) -> str:
    """Likewise for a text of our own that has several lines."""
    return text if text.isprintable() else "\n".join(map(for_screen, text.split("\n")))


def for_json(value: Any, *, indent: int | None = None, compact: bool = False, default: Any = None) -> str:
    """JSON whose text is printable; what is no number (infinite, undefined) is null."""
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
    """As text or as the value of an attribute in quotes; also in XML."""
    return _without_markup(for_screen(text))


def for_sql(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def for_file(text: str) -> str:
    """A name for a file: letters, digits, "_", "-" and inner dots; never empty, never of another folder."""
    return re.sub(r"[^\w.-]+", "-", text)[:_LONGEST_NAME].lstrip(".") or "unnamed"


def _spelled(text: str) -> dict[int, str]:
    """For each character that is not printable."""
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
