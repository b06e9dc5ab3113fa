"""Preferences of a response for the use of its content. They are stored with the page verbatim and not interpreted.

They come from the header fields `Content-Usage` (IETF aipref), `Content-Signal`, `TDM-Reservation` and `TDM-Policy`
(W3C TDMRep), from the licence in a `Link` header, and from meta elements with the TDM names. They become distinct lines
`name: value`, with the name in lower case and white space folded. The lines of a robots.txt are stored with its own
visit. If there are too many lines, the last line says so (`robots.preferences.bounded`).

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
"""Maximum bytes of all lines. Lines that do not fit are left out whole: half a preference may mean the opposite."""

_LICENCE: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s\",;]*))?)*)", re.ASCII)
_LICENCE_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"[^\"]*\blicense\b[^\"]*\"|license\b)", re.I)


def of_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values of the preferences in the header fields of a response. `headers`: by lower-case name."""
    found = [(name, headers[name]) for name in HEADERS if name in headers]
    if "link" in headers and "license" in headers["link"].lower():
        found += [("license", url) for url, rel in _LICENCE.findall(headers["link"]) if _LICENCE_REL.search(rel)]
    return found


def lines(preferences: Iterable[tuple[str, str]]) -> str:
    """The lines that are stored for names and values."""
    written = (f"{name.lower()}: {' '.join(value.split())}" for name, value in preferences if value.strip())
    return "\n".join(bounded(map(_shown, written), LIMIT))


def _shown(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)
