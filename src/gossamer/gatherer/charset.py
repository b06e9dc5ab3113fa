"""Decodes bytes to text. It tries in order: byte order mark, HTTP header, meta element, UTF-8, detection.

Labels have the meaning of the WHATWG Encoding standard: ISO-8859-1 means windows-1252, and a page with a label that
browsers no longer support becomes a single U+FFFD. Nothing else is refused. An unknown label is ignored, and invalid
bytes become U+FFFD, because a page with a few wrong letters still has its links. A UTF-16 label counts only if the body
has zero bytes, as all markup in UTF-16 has.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

import cchardet

from gossamer.gatherer.encodings import LABELS, REPLACEMENT

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UNMARKED: Final = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
"""First bytes of markup in UTF-16 without a byte order mark."""
_META: Final = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
_PRESCAN: Final = 2_048
_DETECT: Final = 100_000
"""Bytes of a body that are searched for a declaration (`_PRESCAN`) or used for detection (`_DETECT`)."""
_LONGEST: Final = 64
"""Maximum characters of a label."""

_MEANT: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
_SINGLE: Final = {f"iso8859-{n}" for n in range(2, 17)} | {f"cp125{n}" for n in range(9)}
# fmt: off
_KNOWN: Final = _SINGLE | {
    "utf-8", "utf-16-le", "utf-16-be", "gb18030", "cp932", "cp949", "big5hkscs", "euc_jp", "iso2022_jp", "cp866",
    "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "johab",
}
"""Codecs for text on the Web. Python has others, which a page must not be able to choose."""
# fmt: on


def decode(body: bytes, declared: str) -> tuple[str, str]:
    """The text without byte order mark, and the name of its charset. `declared`: the charset of the header, or ""."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    if body[:2] in _UNMARKED and b"\0" in body[2:4]:
        name = _UNMARKED[body[:2]]
        return body.decode(name, "replace"), name
    name = codec(declared)
    if not name or (name.startswith("utf-16") and b"\0" not in body[:_PRESCAN]):
        name = _from_meta(body)
    if name == REPLACEMENT:
        return "\N{REPLACEMENT CHARACTER}" if body else "", name
    if name:
        return body.decode(name, "replace"), name
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError as error:
        if error.end >= len(body) and len(body) - error.start < 4:  # the download limit cut the last character
            return body.decode(errors="replace"), "utf-8"
    name = codec(cchardet.detect(body[:_DETECT])["encoding"] or "")
    if name in ("", REPLACEMENT):
        name = "cp1252"
    return body.decode(name, "replace"), name


def codec(label: str) -> str:
    """The codec for a label; "" if there is none."""
    return _codec(label) if len(label) <= _LONGEST else ""  # bounds the memory of the cache


@lru_cache(maxsize=1024)
def _codec(label: str) -> str:
    label = label.strip("\t\n\f\r ").lower()
    if label in LABELS:
        return LABELS[label]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    name = _MEANT.get(name, name)
    return name if name in _KNOWN else ""


def _from_meta(body: bytes) -> str:
    """The codec that a meta element declares, or "". A meta element that can be read as ASCII is never in UTF-16."""
    found = _META.search(body, 0, _PRESCAN)
    name = codec(found[1].decode("ascii")) if found else ""
    return "utf-8" if name.startswith("utf-16") else name
