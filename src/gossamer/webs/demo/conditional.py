"""Conditional requests, answered by RFC 9110: If-None-Match takes precedence over If-Modified-Since (13.2.2), entity
tags are compared weakly (13.1.2), and a 304 has the fields that a cache needs (15.4.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')
_TAGS: Final = re.compile(rf"{_TAG.pattern}(?:[ \t]*,[ \t,]*{_TAG.pattern})*")
_KEPT: Final = (b"cache-control", b"content-location", b"etag", b"expires", b"vary")
"""Fields that a 304 must have if the 200 would have had them. Last-Modified follows if there is no ETag: a client may
need it to choose among its copies."""


def is_fresh(etag: str, modified: str, fields: Mapping[str, str]) -> bool:
    """Whether the copy of the client is as good as an answer with this ETag and Last-Modified."""
    tags = fields.get("if-none-match")
    if tags is not None:
        if tags == "*":
            return True
        opaque = _TAG.fullmatch(etag)
        return bool(opaque and _TAGS.fullmatch(tags) and opaque[1] in _TAG.findall(tags))
    since, last = _seconds(fields.get("if-modified-since", "")), _seconds(modified)
    return since is not None and last is not None and last <= since


def kept(fields: bytes, has_tag: bool) -> bytes:
    """The header lines of a 304, of those of the 200 in whose place it is."""
    names = (*_KEPT, *(() if has_tag else (b"last-modified",)))
    lines = (line for line in fields.splitlines(keepends=True) if line.partition(b":")[0].lower() in names)
    return b"".join(lines)


def _seconds(date: str) -> float | None:
    """An HTTP date in one of its three forms; None: it is none."""
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
