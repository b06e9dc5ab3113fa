"""URLs in header fields: the targets of a `Link` field (RFC 8288), and URLs as servers send them.

A field may have some hundred kilobytes: the patterns are possessive (`*+`), so that each character is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LINK: Final = re.compile(
    r"""<([^<>]*+)>((?:\s*+;\s*+(?:[\w*-]++\s*+(?:=\s*+(?:"[^"]*+"?+|[^\s",;]*+))?+)?+)*+)""", re.ASCII
)
_PARAMETER: Final = re.compile(r""";\s*+([\w*-]++)\s*+(?:=\s*+(?:"([^"]*+)"?+|([^\s",;]*+)))?+""", re.ASCII)


def link_targets(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The targets of a `Link` field, each with its parameters by lower-case name; of repeated ones the first counts."""
    for found in _LINK.finditer(value):
        parameters = dict[str, str]()
        for name, quoted, plain in _PARAMETER.findall(found[2]):
            parameters.setdefault(name.lower(), quoted or plain)
        yield found[1].strip(), parameters


def field_text(value: str) -> str:
    """A field with a URL, which HTTP reads as Latin-1. Servers send UTF-8 where only ASCII is allowed; bytes that are
    not UTF-8 become %XX."""
    if value.isascii():
        return value
    raw = value.encode("latin-1")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join([chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in raw])
