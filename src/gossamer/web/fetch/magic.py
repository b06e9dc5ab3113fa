"""The format of a body by its first bytes, whatever its header says: large binary files are called HTML (A.3.1).

Only marks that no text begins with are used; in doubt, the body is a page. Sources: WHATWG MIME Sniffing, 6, and the
specifications of the formats.
"""

from __future__ import annotations

from typing import Final

LOOKED_AT: Final = 16
"""First bytes of a body that decide."""
_MARKS: Final = (
    (b"PK\x03\x04", "ZIP"),
    (b"PK\x05\x06", "ZIP"),
    (b"%PDF-", "PDF"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\xfd7zXZ\0", "XZ"),
    (b"BZh91AY&SY", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"OggS\0", "Ogg"),
    (b"ID3\x02", "MP3"),
    (b"ID3\x03", "MP3"),
    (b"ID3\x04", "MP3"),
    (b"\x1a\x45\xdf\xa3", "Matroska"),
    (b"FLV\x01", "FLV"),
    (b"wOFF\0\x01", "WOFF"),
    (b"wOFFOTTO", "WOFF"),
    (b"wOF2\0\x01", "WOFF"),
    (b"wOF2OTTO", "WOFF"),
    (b"\0\x01\0\0", "TrueType"),
    (b"\0\0\x01\0", "icon"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\x7fELF", "ELF"),
    (b"\xca\xfe\xba\xbe", "Java class"),
    (b"SQLite format 3\0", "SQLite"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office document"),
    (b"%!PS-Adobe-", "PostScript"),
    (b"{\\rtf1", "RTF"),
)
_STARTS: Final = tuple(mark for mark, _ in _MARKS)
_FIRST: Final = frozenset({b"M", b"R", *(mark[:1] for mark in _STARTS)})
_RIFF: Final = {b"WEBP": "WebP", b"WAVE": "WAVE", b"AVI ": "AVI"}


def kind_of(body: bytes) -> str:
    """The name of the format of a body; "" if it may be text."""
    if body[:1] not in _FIRST:
        return ""
    if body.startswith(_STARTS):
        return next(name for mark, name in _MARKS if body.startswith(mark))
    if body[:3] == b"\0\0\0" and body[4:8] == b"ftyp":
        return "MP4"
    if body[:4] == b"RIFF":
        return _RIFF.get(bytes(body[8:12]), "")
    return "program" if body[:2] == b"MZ" and b"\0" in body[:LOOKED_AT] else ""


def lie(called: str, kind: str) -> str:
    """A body that is not of the type it is called, in words."""
    return f"called {called or 'nothing'}, but {kind} by its first bytes"
