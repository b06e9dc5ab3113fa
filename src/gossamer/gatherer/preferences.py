"""What an answer says about the use of its content: kept with the page, word for word, and not interpreted.

Header fields `Content-Usage` (IETF aipref), `Content-Signal`, `TDM-Reservation` and `TDM-Policy` (W3C TDMRep), the
licence that a `Link` header names, and meta elements of the TDM names. They become lines `name: value`, the name in
small letters, white space folded, each once. Robots.txt has such lines too: they are kept with its own visit. If they
are too many, the last line says so (`robots.preferences.bounded`).

Invariant: `preferences_are_bounded_lines`: at most `LIMIT` bytes, none with a control character, each line a name, a
colon, a space and a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from gossamer.robots.preferences import bounded

HEADERS: Final = ("content-usage", "content-signal", "tdm-reservation", "tdm-policy")
METAS: Final = frozenset(("tdm-reservation", "tdm-policy"))
LIMIT: Final = 8_000
"""Bytes of all lines; those that do not fit are left out whole: half a preference may mean the opposite."""

_LICENCE: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s\",;]*))?)*)", re.ASCII)
_LICENCE_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"[^\"]*\blicense\b[^\"]*\"|license\b)", re.I)


def of_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values in the header fields of an answer, which are given by lower-case name."""
    found = [(name, headers[name]) for name in HEADERS if name in headers]
    if "link" in headers and "license" in headers["link"].lower():
        found += [("license", url) for url, rel in _LICENCE.findall(headers["link"]) if _LICENCE_REL.search(rel)]
    return found


def lines(said: Iterable[tuple[str, str]]) -> str:
    """What is kept."""
    found = (f"{name.lower()}: {' '.join(value.split())}" for name, value in said if value.strip())
    return "\n".join(bounded(map(_shown, found), LIMIT))


def _shown(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)
