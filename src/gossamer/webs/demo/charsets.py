"""Charsets of the demonstration Web, and where pages declare them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Declared(StrEnum):
    """Where a page declares its charset."""

    MIXED = "in the header, in a meta element, in both or nowhere, page by page"
    HEADER = "in the header"
    META = "in a meta element (plain text: in the header)"
    NOWHERE = "nowhere: it has to be detected"


@dataclass(frozen=True, slots=True)
class Charset:
    """A charset as pages declare it and as it is encoded."""

    label: str
    """The name that pages use."""
    codec: str
    """Python's codec with which pages are encoded."""
    meant: str
    """Python's name of the charset that the label means on the Web, by the WHATWG Encoding standard."""
    declared: Declared
    mark: bytes = b""
    """The byte order mark at the beginning of a page."""


UTF_8: Final = Charset("utf-8", "utf-8", "utf-8", Declared.MIXED)
LATIN_1: Final = Charset("iso-8859-1", "cp1252", "cp1252", Declared.META)

FOREIGN: Final = (
    ("ru", Charset("windows-1251", "cp1251", "cp1251", Declared.HEADER)),
    ("ja", Charset("shift_jis", "shift_jis", "cp932", Declared.META)),
    ("el", Charset("iso-8859-7", "iso8859-7", "iso8859-7", Declared.HEADER)),
    ("de", Charset("iso-8859-1", "cp1252", "cp1252", Declared.HEADER)),
    ("zh", Charset("utf-8", "utf-8", "utf-8", Declared.META)),
    ("fr", Charset("utf-8", "utf-8", "utf-8", Declared.NOWHERE)),
    ("ja", Charset("utf-16", "utf-16-le", "utf-16-le", Declared.NOWHERE, b"\xff\xfe")),
    ("ru", Charset("koi8-r", "koi8-r", "koi8-r", Declared.META)),
    ("ja", Charset("euc-jp", "euc_jp", "euc_jp", Declared.HEADER)),
    ("ru", Charset("windows-1251", "cp1251", "cp1251", Declared.NOWHERE)),
    ("fr", Charset("iso-8859-1", "cp1252", "cp1252", Declared.META)),
    ("zh", Charset("gb18030", "gb18030", "gb18030", Declared.HEADER)),
)
"""Languages and charsets of the sites that are neither Spanish nor English, in the order in which sites get them."""
