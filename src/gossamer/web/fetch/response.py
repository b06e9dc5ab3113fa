"""An HTTP answer read: its head, what it means, and libcurl's errors in our words.

Everything that can go wrong on the wire becomes an `Outcome` here and nowhere else. All but `ERRORS` is pure: lines and
texts in, values out; nothing that a server sends makes it fail (`any_head_is_read`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from math import ceil
from typing import Final

import pycurl

from gossamer.base.dates import http_date
from gossamer.base.model import Outcome

GATHERED: Final = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
"""Types whose bodies are read; without a type the body decides."""

Fields = list[tuple[bytes, bytes]]
Head = tuple[bytes, Fields, dict[str, str]]
"""Status line, fields as sent, fields by name."""

_TLS_ERRORS: Final = (
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_PEER_FAILED_VERIFICATION,
    pycurl.E_SSL_CERTPROBLEM,
    pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_ENGINE_NOTFOUND,
    pycurl.E_SSL_ENGINE_SETFAILED,
    pycurl.E_SSL_ENGINE_INITFAILED,
    pycurl.E_SSL_SHUTDOWN_FAILED,
    pycurl.E_SSL_CRL_BADFILE,
    pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_PINNEDPUBKEYNOTMATCH,
    pycurl.E_SSL_INVALIDCERTSTATUS,
    pycurl.E_USE_SSL_FAILED,
)
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
"""By libcurl's code; any other: PROTOCOL_ERROR."""
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] [1-9][0-9][0-9](?:[ \t]|$)")
_PART: Final = re.compile(r"bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)\s*", re.ASCII)
_CERTIFICATES: Final = {
    9: "not valid yet",
    10: "expired",
    18: "self-signed",
    19: "self-signed",
    20: "unknown issuer",
    21: "unknown issuer",
    23: "revoked",
    62: "wrong name",
}
"""What is wrong with a certificate, by OpenSSL's number."""
_HANDSHAKES: Final = (
    ("subject name", "wrong name"),
    ("protocol version", "old version"),
    ("unsupported protocol", "old version"),
    ("wrong version number", "no TLS"),
    ("packet length too long", "no TLS"),
    ("reset", "broken off"),
    ("eof", "broken off"),
    ("timed out", "stuck"),
    ("certificate", "not valid"),
)
"""What is wrong with a handshake, by libcurl's words."""


def parse_head(lines: Sequence[bytes]) -> tuple[bytes, Fields]:
    """Status line and fields of the last answer among the header lines (1xx answers come before it, trailers after).

    Line ends may be bare LF; folded lines are joined (RFC 9112, 5.2). The status line of HTTP/2 becomes one of
    HTTP/1.1: archives know no other.
    """
    status, fields, ended = b"", Fields(), False
    for line in lines:
        if (ended or not status) and line[:5].upper() == b"HTTP/":
            status, fields, ended = b"HTTP/" + line[5:].rstrip(), [], False
            if status[:7] == b"HTTP/2 ":
                status = b"HTTP/1.1" + status[6:]
        elif ended:
            continue
        elif line[:1] in (b" ", b"\t") and fields and line.strip():
            name, value = fields[-1]
            fields[-1] = (name, value + b" " + line.strip())
        else:
            name, colon, value = line.partition(b":")
            if colon:
                fields.append((name.strip(), value.strip()))
            else:
                ended = not line.strip()
    return status, fields


def read_head(lines: Sequence[bytes]) -> Head:
    line, fields = parse_head(lines)
    return line, fields, named(fields)


def broken(line: bytes) -> str:
    """Why an answer with this status line is none; "" if it is one. (libcurl takes 2000 for 200, and 101 unasked.)"""
    if not _STATUS_LINE.match(line):
        return "the status line is broken"
    return "the server changes the protocol, unasked" if line[9:10] == b"1" else ""


def part(value: str) -> tuple[int, int, int] | None:
    """First and last byte and length of the whole of a Content-Range, -1 for an unknown one; None if it is none."""
    found = _PART.fullmatch(value.strip())
    if found is None:
        return None
    first, last, whole = int(found[1]), int(found[2]), -1 if found[3] == "*" else int(found[3])
    return (first, last, whole) if first <= last and (whole < 0 or last < whole) else None


def tls_fault(text: str, verified: int) -> str:
    """What is wrong with a secure connection: a word of a small set, then libcurl's own. `verified`: what OpenSSL finds
    about the certificate."""
    said = text.lower()
    word = _CERTIFICATES.get(verified) or next((word for mark, word in _HANDSHAKES if mark in said), "not agreed on")
    return f"{word}: {text}" if text else word


def named(fields: Fields) -> dict[str, str]:
    """Fields by lower-case name; repeated ones are joined by commas, but Location and the types: the first counts."""
    found: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name not in found:
            found[name] = value
        elif name not in _SINGLE:
            found[name] += ", " + value
    return found


_SINGLE: Final = frozenset({"location", "content-type", "content-length", "last-modified", "etag", "retry-after"})


def mime(headers: dict[str, str]) -> str:
    """Of Content-Type, in lower case, without parameters; empty if it is missing or no type."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind if "/" in kind and len(kind) <= 100 else ""


def outcome_of(status: int, headers: dict[str, str], body: bytes) -> Outcome:
    """What a complete answer means."""
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
    """Numbers that other words follow, or that are no whole seconds, as one that is: of a list the largest."""
    found = [] if ":" in value else _NUMBERS.findall(value)
    return str(ceil(min(max(map(float, found)), 1e9))) if found else value


_NUMBERS: Final = re.compile(r"(?:^|,)\s*\+?(\d+(?:\.\d+)?(?:e\+?\d+)?)", re.ASCII)


def retry_after(value: str, now: float | None = None, date: str = "") -> float:
    """Seconds to wait from Retry-After, in seconds or as a date (RFC 9110, 10.2.3); negative if it says neither.

    A date counts from the answer's own Date, so it does not matter whose clock is wrong; without one, from now.
    """
    value = _in_seconds(value.strip())
    if value.isascii() and value.isdecimal():
        return min(float(value), 1e9)
    until = http_date(value) if value else None
    if until is None:
        return -1.0
    said = http_date(date) if date else None
    since = said if said is not None else time.time() if now is None else now
    return min(max(0.0, until - since), 1e9)
