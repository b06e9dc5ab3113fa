"""An HTTP answer read: its head, what it means, and libcurl's errors in our words.

Everything that can go wrong on the wire becomes an `Outcome` here and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import pycurl

from gossamer.model import Outcome

GATHERED: Final = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
"""Types whose bodies are read; without a type the body decides."""

Fields = list[tuple[bytes, bytes]]
Head = tuple[bytes, Fields, dict[str, str]]
"""Status line, fields as sent, fields by name."""

_TLS_ERRORS: Final = (
    pycurl.E_SSL_CONNECT_ERROR, pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CERTPROBLEM, pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CACERT_BADFILE, pycurl.E_SSL_ENGINE_NOTFOUND, pycurl.E_SSL_ENGINE_SETFAILED,
    pycurl.E_SSL_ENGINE_INITFAILED, pycurl.E_SSL_SHUTDOWN_FAILED, pycurl.E_SSL_CRL_BADFILE,
    pycurl.E_SSL_ISSUER_ERROR, pycurl.E_SSL_PINNEDPUBKEYNOTMATCH, pycurl.E_SSL_INVALIDCERTSTATUS,
    pycurl.E_USE_SSL_FAILED,
)  # fmt: skip
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


def parse_head(lines: Sequence[bytes]) -> tuple[bytes, Fields]:
    """Status line and fields of the last answer among the header lines (1xx answers come before it, trailers after).

    Line ends may be bare LF; folded lines are joined (RFC 9112, 5.2).
    """
    status, fields, ended = b"", Fields(), False
    for line in lines:
        if line[:5] == b"HTTP/" and (ended or not status):
            status, fields, ended = line.rstrip(), [], False
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
    if status == 429:
        return Outcome.TOO_MANY_REQUESTS
    if 400 <= status < 500:
        return Outcome.REFUSED
    return Outcome.SERVER_ERROR if 500 <= status < 600 else Outcome.NO_CONTENT


def retry_after(value: str, now: float | None = None) -> float:
    """Seconds to wait from Retry-After, in seconds or as a date (RFC 9110, 10.2.3); negative if it says neither."""
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return min(float(value), 1e9)
    if not value:
        return -1.0
    from email.utils import mktime_tz, parsedate_tz  # rarely needed, and 10 ms to import

    parsed = parsedate_tz(value)
    if parsed is None:
        return -1.0
    try:
        return min(max(0.0, mktime_tz(parsed) - (time.time() if now is None else now)), 1e9)
    except (ValueError, OverflowError):
        return -1.0
