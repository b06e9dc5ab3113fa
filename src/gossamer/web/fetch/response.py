"""Reads an HTTP answer: its head, its meaning, the format of its body, and libcurl's errors in our words.

Everything that can go wrong on the wire becomes an `Outcome` here and nowhere else. All functions are pure: lines and
texts in, values out; nothing that a server sends makes them fail (`test_any_head_is_read`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from math import ceil
from typing import Final, NamedTuple

import pycurl

from gossamer.base.dates import http_date
from gossamer.base.model import Outcome

GATHERED: Final = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
"""Types whose bodies are read; without a type, the body decides."""

Fields = list[tuple[bytes, bytes]]


class Head(NamedTuple):
    """The head of an answer."""

    line: bytes
    """Status line, without white space at its end; of HTTP/2 as HTTP/1.1 would write it."""
    fields: Fields
    """Names and values, in order, folded lines joined."""
    headers: dict[str, str]
    """Values by lower-case name."""
    raw: Sequence[bytes]
    """Status line and fields as they came, with their line ends and without the empty line after them."""
    trailers: Sequence[bytes]
    """Lines that came after the body, as they came."""
    whole: bool
    """The empty line at its end has come."""

    @property
    def http2(self) -> bool:
        return bool(self.raw) and self.raw[0][:7] == b"HTTP/2 "


# fmt: off
_TLS_ERRORS: Final = (
    pycurl.E_SSL_CONNECT_ERROR, pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CERTPROBLEM, pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CACERT_BADFILE, pycurl.E_SSL_ENGINE_NOTFOUND, pycurl.E_SSL_ENGINE_SETFAILED,
    pycurl.E_SSL_ENGINE_INITFAILED, pycurl.E_SSL_SHUTDOWN_FAILED, pycurl.E_SSL_CRL_BADFILE, pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_PINNEDPUBKEYNOTMATCH, pycurl.E_SSL_INVALIDCERTSTATUS, pycurl.E_USE_SSL_FAILED,
)
# fmt: on
ERRORS: Final = {
    pycurl.E_COULDNT_RESOLVE_HOST: Outcome.CONNECT_FAILED,
    pycurl.E_COULDNT_CONNECT: Outcome.CONNECT_FAILED,
    pycurl.E_OPERATION_TIMEDOUT: Outcome.TIMED_OUT,
    pycurl.E_PARTIAL_FILE: Outcome.BROKEN_OFF,
    pycurl.E_GOT_NOTHING: Outcome.BROKEN_OFF,
    pycurl.E_SEND_ERROR: Outcome.BROKEN_OFF,
    pycurl.E_RECV_ERROR: Outcome.BROKEN_OFF,
    pycurl.E_OUT_OF_MEMORY: Outcome.RETURNED,
    pycurl.E_FAILED_INIT: Outcome.RETURNED,
    **dict.fromkeys(_TLS_ERRORS, Outcome.TLS_FAILED),
}
"""Outcomes by libcurl's code; any other code: PROTOCOL_ERROR."""
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] [1-9][0-9][0-9](?:[ \t]|$)")
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1[0-9][0-9](?:[ \t]|$)")
_PART: Final = re.compile(r"bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)\s*", re.ASCII)
# fmt: off
_CERTIFICATES: Final = {
    9: "not valid yet", 10: "expired", 18: "self-signed", 19: "self-signed", 20: "unknown issuer", 21: "unknown issuer",
    23: "revoked", 62: "wrong name",
}
"""What is wrong with a certificate, by OpenSSL's code."""
_HANDSHAKES: Final = (
    ("subject name", "wrong name"), ("protocol version", "old version"), ("unsupported protocol", "old version"),
    ("wrong version number", "no TLS"), ("packet length too long", "no TLS"), ("reset", "broken off"),
    ("eof", "broken off"), ("timed out", "stuck"), ("certificate", "not valid"),
)
"""What is wrong with a handshake, by words in libcurl's message."""
_CONNECTED: Final = re.compile(rb"SSL connection using TLSv(\d)(\.\d)?\b")
LOOKED_AT: Final = 16
"""First bytes of a body that decide about its format."""
_MARKS: Final = (
    (b"PK\x03\x04", "ZIP"), (b"PK\x05\x06", "ZIP"), (b"%PDF-", "PDF"), (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"), (b"GIF89a", "GIF"), (b"\xff\xd8\xff", "JPEG"), (b"\x1f\x8b\x08", "gzip"),
    (b"Rar!\x1a\x07", "RAR"), (b"7z\xbc\xaf\x27\x1c", "7z"), (b"\xfd7zXZ\0", "XZ"), (b"BZh91AY&SY", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"), (b"OggS\0", "Ogg"), (b"ID3\x02", "MP3"), (b"ID3\x03", "MP3"), (b"ID3\x04", "MP3"),
    (b"\x1a\x45\xdf\xa3", "Matroska"), (b"FLV\x01", "FLV"), (b"wOFF\0\x01", "WOFF"), (b"wOFFOTTO", "WOFF"),
    (b"wOF2\0\x01", "WOFF"), (b"wOF2OTTO", "WOFF"), (b"\0\x01\0\0", "TrueType"), (b"\0\0\x01\0", "icon"),
    (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"\x7fELF", "ELF"), (b"\xca\xfe\xba\xbe", "Java class"),
    (b"SQLite format 3\0", "SQLite"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office document"),
    (b"%!PS-Adobe-", "PostScript"), (b"{\\rtf1", "RTF"),
)
# fmt: on
"""Formats by first bytes with which no text begins (WHATWG MIME Sniffing, 6, and the specifications of the formats)."""
_SINGLE: Final = frozenset({"location", "content-type", "content-length", "last-modified", "etag", "retry-after"})
_NUMBERS: Final = re.compile(r"(?:^|,)\s*\+?(\d+(?:\.\d+)?(?:e\+?\d+)?)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_UNITS: Final = {
    word: seconds
    for seconds, words in {
        0.001: "ms msec msecs millisecond milliseconds",
        60.0: "m min mins minute minutes",
        3600.0: "h hr hrs hour hours",
        86_400.0: "d day days",
        604_800.0: "w week weeks",
    }.items()
    for word in words.split()
}
"""Seconds of a unit of time; any other word is no unit."""
_DATED: Final = re.compile(r"[A-Za-z]|\d{4}[-/]\d")
"""How a date begins."""
_STARTS: Final = tuple(mark for mark, _ in _MARKS)
_FIRST: Final = frozenset({b"M", b"R", *(mark[:1] for mark in _STARTS)})
_RIFF: Final = {b"WEBP": "WebP", b"WAVE": "WAVE", b"AVI ": "AVI"}


def read_head(lines: Sequence[bytes]) -> Head:
    """The head of the last answer among the header lines: interim answers (1xx) come before it, trailers after.

    Line ends may be bare LF; folded lines are joined (RFC 9112, 5.2). A status line of HTTP/2 is written as HTTP/1.1:
    archives know no other.
    """
    status, fields, first, end = b"", Fields(), 0, -1
    for at, line in enumerate(lines):
        if end >= 0 and status and not _INTERIM.match(status):
            break
        if (end >= 0 or not status) and line[:5].upper() == b"HTTP/":
            status, fields, first, end = b"HTTP/" + line[5:].rstrip(), [], at, -1
            if status[:7] == b"HTTP/2 ":
                status = b"HTTP/1.1" + status[6:]
        elif end >= 0:
            continue
        elif line[:1] in (b" ", b"\t") and fields and line.strip():
            name, value = fields[-1]
            fields[-1] = (name, value + b" " + line.strip())
        else:
            name, colon, value = line.partition(b":")
            if colon:
                fields.append((name.strip(), value.strip()))
            elif not line.strip():
                end = at
    whole = end >= 0
    stop = end if whole else len(lines)
    return Head(status, fields, named(fields), lines[first:stop], lines[stop + 1 :], whole)


def broken(line: bytes) -> str:
    """Why this status line is not valid; "" if it is. (libcurl takes 2000 for 200, and accepts 101 unasked.)"""
    if not _STATUS_LINE.match(line):
        return "the status line is broken"
    return "the server changes the protocol, unasked" if line[9:10] == b"1" else ""


def part(value: str) -> tuple[int, int, int] | None:
    """First byte, last byte and whole length (-1 if unknown) of a Content-Range; None if it is malformed."""
    match = _PART.fullmatch(value.strip())
    if match is None:
        return None
    first, last, whole = int(match[1]), int(match[2]), -1 if match[3] == "*" else int(match[3])
    return (first, last, whole) if first <= last and (whole < 0 or last < whole) else None


def tls_fault(text: str, verified: int) -> str:
    """What is wrong with a secure connection: a word of a small set, then libcurl's message (`text`). `verified`:
    OpenSSL's code about the certificate."""
    lower = text.lower()
    word = _CERTIFICATES.get(verified) or next((word for mark, word in _HANDSHAKES if mark in lower), "not agreed on")
    return f"{word}: {text}" if text else word


def tls_version(line: bytes) -> str:
    """The version of TLS that a line of libcurl's debug log names, such as "1.3"; "" if it names none."""
    found = _CONNECTED.match(line)
    return found[1].decode() + (found[2] or b".0").decode() if found else ""


def named(fields: Fields) -> dict[str, str]:
    """Fields by lower-case name. Repeated fields are joined by commas; of those in `_SINGLE` the first counts."""
    fields_by_name: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name not in fields_by_name:
            fields_by_name[name] = value
        elif name not in _SINGLE:
            fields_by_name[name] += ", " + value
    return fields_by_name


def mime(headers: dict[str, str]) -> str:
    """The type of a Content-Type, in lower case, without parameters; "" if it is missing or no type."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind if "/" in kind and len(kind) <= 100 else ""


def outcome_of(status: int, headers: dict[str, str], body: bytes) -> Outcome:
    """The outcome of a complete answer."""
    if 200 <= status < 300:
        return Outcome.OK if body else Outcome.NO_CONTENT
    if 300 <= status < 400:
        return Outcome.REDIRECT if status != 304 and headers.get("location") else Outcome.NO_CONTENT
    if status in (404, 410):
        return Outcome.NOT_FOUND
    if status == 402:
        return Outcome.PAYMENT_REQUIRED
    if status == 429:
        return Outcome.TOO_MANY_REQUESTS
    if 400 <= status < 500:
        return Outcome.REFUSED
    return Outcome.SERVER_ERROR if 500 <= status < 600 else Outcome.NO_CONTENT


def _in_seconds(value: str) -> str:
    """Whole seconds of a value that has fractions, units, a list of numbers (the largest counts) or other words."""
    numbers = [] if ":" in value or _DATED.match(value) else _NUMBERS.findall(value)
    seconds = [float(number) * _UNITS.get(word.lower(), 1.0) for number, word in numbers]
    return str(ceil(min(max(seconds), 1e9))) if seconds else value


def retry_after(value: str, now: float | None = None, date: str = "") -> float:
    """Seconds to wait by Retry-After, which has seconds or a date (RFC 9110, 10.2.3); negative if it has neither.

    Other units of time, and dates by ISO 8601, are understood, too.

    A date counts from the answer's own Date, so that it does not matter whose clock is wrong; without Date, from now.
    """
    value = _in_seconds(value.strip())
    if value.isascii() and value.isdecimal():
        return min(float(value), 1e9)
    until = http_date(value) if value else None
    if until is None:
        return -1.0
    sent = http_date(date) if date else None
    since = sent if sent is not None else time.time() if now is None else now
    return min(max(0.0, until - since), 1e9)


def kind_of(body: bytes) -> str:
    """The name of the format of a body by its first bytes; "" if it may be text. In doubt, the body is a page.

    Large binary files are called HTML by their headers (A.3.1).
    """
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
