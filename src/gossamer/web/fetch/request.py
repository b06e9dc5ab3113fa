"""The request that is sent: header fields from the settings, and its head as bytes."""

from __future__ import annotations

from typing import Final

from gossamer import __version__
from gossamer.config.settings import HarvesterSettings

ACCEPT: Final = "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"
ENCODINGS: Final = "gzip, deflate, br, zstd"


class Requests:
    """The header fields of whole and of partial requests, and the heads that libcurl makes of them."""

    def __init__(self, settings: HarvesterSettings) -> None:
        self.fields = request_fields(settings)
        self.part_fields = part_fields(self.fields, settings.max_download)
        self._lines, self._part_lines = _lines(self.fields), _lines(self.part_fields)

    def head(self, url: bytes, partly: bool) -> bytes:
        """The bytes that libcurl sends for a canonical URL; `partly`: as a request for its first bytes."""
        return request_head(url, self._part_lines if partly else self._lines)


def request_fields(settings: HarvesterSettings) -> list[str]:
    """The header fields of every request: our name, the page that explains us, a contact, what we can read.

    The settings accept nothing that could end a line (`config/accepted.py`); white space is folded here once more.
    """
    contact, about = " ".join(settings.contact.split()), "".join(settings.about.split())
    is_mail = "@" in contact and "/" not in contact
    where = "; ".join(dict.fromkeys(filter(None, (about, "" if about and is_mail else contact))))
    fields = [f"User-Agent: {settings.agent}/{__version__}" + (f" (+{where})" if where else "")]
    if is_mail:
        fields.append(f"From: {contact}")
    return [*fields, f"Accept: {ACCEPT}", f"Accept-Encoding: {ENCODINGS}"]


def part_fields(fields: list[str], most: int) -> list[str]:
    """The fields of a request for the first `most` bytes: of the page itself, so without compression."""
    return [*fields[:-1], "Accept-Encoding: identity", f"Range: bytes=0-{most - 1}"]


def request_head(url: bytes, fields: bytes) -> bytes:
    """The bytes that libcurl sends for a canonical URL."""
    authority, _, path = url.partition(b"://")[2].partition(b"/")
    return b"GET /" + path + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + fields


def _lines(fields: list[str]) -> bytes:
    return ("\r\n".join(fields) + "\r\n\r\n").encode("latin-1", "replace")
