"""Preferences of a response for the use of its content. They are stored with the page verbatim and not interpreted.

They come from the header fields `Content-Usage` (IETF aipref), `Content-Signal`, `TDM-Reservation` and `TDM-Policy`
(W3C TDMRep), from the licence in a `Link` header, and from meta elements with the TDM names. They become distinct lines
`name: value`, with the name in lower case and white space folded. The lines of a robots.txt are stored with its own
visit. If there are too many lines, the last line says so (`robots.preferences.bounded`).

Invariant: `preferences_are_bounded_lines`: at most `LIMIT` bytes, none with a control character, each line a name, a
colon, a space and a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gossamer.gatherer.link_field import link_targets
from gossamer.robots.preferences import bounded

HEADERS: Final = ("content-usage", "content-signal", "tdm-reservation", "tdm-policy")
METAS: Final = frozenset(("tdm-reservation", "tdm-policy"))
LIMIT: Final = 8_000
"""Maximum bytes of all lines. Lines that do not fit are left out whole: half a preference may mean the opposite."""


def of_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values of the preferences in the header fields of a response. `headers`: by lower-case name."""
    found = [(name, headers[name]) for name in HEADERS if name in headers]
    if "link" in headers and "license" in headers["link"].lower():
        linked = ((url, given.get("rel", "").lower().split()) for url, given in link_targets(headers["link"]))
        found += [("license", url) for url, rel in linked if "license" in rel]
    return found


def lines(preferences: Iterable[tuple[str, str]]) -> str:
    """The lines that are stored for names and values."""
    written = (f"{name.lower()}: {' '.join(value.split())}" for name, value in preferences if value.strip())
    return "\n".join(bounded(map(_shown, written), LIMIT))


def _shown(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in line)
