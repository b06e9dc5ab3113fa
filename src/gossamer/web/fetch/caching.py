"""HTTP's caching as a crawler uses it: requests on condition that a page has changed, and how long an answer is fresh.

A validator goes back as it came, weak or strong (RFC 9110, 13.1): an ETag if no control character is in it, also
without its quotes; a Last-Modified if it is a date. The lifetime is that of a shared cache (RFC 9111, 4.2). All
functions are pure; nothing that a server sends makes them fail (`test_any_head_has_a_lifetime`).
"""

from __future__ import annotations

import re
import time
from typing import Final

from gossamer.base.dates import http_date
from gossamer.base.model import Assignment, Change, Validators
from gossamer.collection.versions import Version

_SENDABLE: Final = re.compile(rb"[\x20-\x7e\x80-\xff]+")
_DIRECTIVE: Final = re.compile(r'([^\s=,;"]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,]*))?')
_FRESH: Final = ("s-maxage", "max-age")
_NEVER: Final = frozenset({"no-store", "no-cache"})
_LONGEST: Final = 1e9
_BY_ETAG, _BY_DATE = int(Validators.BY_ETAG), int(Validators.BY_DATE)


def conditions(assignment: Assignment) -> tuple[int, list[bytes]]:
    """The conditions on which a page is requested, as BY_ETAG and BY_DATE, and their header fields."""
    allowed, bits, fields = assignment.conditions, 0, list[bytes]()
    if allowed & (_BY_ETAG | _BY_DATE) and assignment.version:
        version = Version.read(assignment.version)
        if allowed & _BY_ETAG and _SENDABLE.fullmatch(version.etag):
            bits |= _BY_ETAG
            fields.append(b"If-None-Match: " + version.etag)
        if allowed & _BY_DATE and _is_date(version.modified):
            bits |= _BY_DATE
            fields.append(b"If-Modified-Since: " + version.modified)
    return bits, fields


def _is_date(text: bytes) -> bool:
    return bool(_SENDABLE.fullmatch(text)) and http_date(text.decode("latin-1")) is not None


def compared(assignment: Assignment, now: Version | None, unmodified: bool) -> tuple[int, int]:
    """How a page has changed since the version of its assignment, and what became of the validators: `Change` and
    `Validators`. `now`: the version that the answer brings, None if it brings none; `unmodified`: it is a 304."""
    before, found = Version.read(assignment.version), conditions(assignment)[0]
    if unmodified:
        return Change.NONE, found
    if before.etag or before.modified:
        found |= assignment.conditions & Validators.TESTED
    if now is None:
        return Change.UNKNOWN, found
    if before.etag and now.etag:
        found |= Validators.SAME_ETAG if before.etag == now.etag else Validators.OTHER_ETAG
    if before.modified and now.modified:
        found |= Validators.SAME_DATE if before.modified == now.modified else Validators.OTHER_DATE
    return before.change_to(now), found


def lifetime(headers: dict[str, str], now: float | None = None) -> float:
    """Seconds for which an answer is still fresh, as the server says (RFC 9111, 4.2.1 and 4.2.3); 0 if it says nothing,
    or that it never is. `now`: when the answer came, where it has no Date."""
    if "cache-control" not in headers and "expires" not in headers:
        return 0.0
    said: dict[str, str] = {}
    for name, value in _DIRECTIVE.findall(headers.get("cache-control", "")):
        said.setdefault(name.lower(), value.strip('"'))
    if not _NEVER.isdisjoint(said):
        return 0.0
    given = next((said[name] for name in _FRESH if name in said), None)
    if given is not None:
        fresh = _seconds(given)
    else:
        until, sent = http_date(headers.get("expires", "")), http_date(headers.get("date", ""))
        since = sent if sent is not None else time.time() if now is None else now
        fresh = 0.0 if until is None else until - since
    return min(max(0.0, fresh - _seconds(headers.get("age", ""))), _LONGEST)


def _seconds(text: str) -> float:
    """Delta-seconds (RFC 9111, 1.2.2); other text counts as 0: the answer is stale."""
    text = text.strip()
    return min(float(text), _LONGEST) if text.isascii() and text.isdecimal() else 0.0
