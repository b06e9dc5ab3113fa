"""How a request is made: its header fields, the certificates that are trusted, and servers that need another way.

A server is first requested as the settings say. Where that fails because it does not want HTTP/2 or Range, or its
certificate is not valid, its page goes back, and the next turn of its site uses the other way (`Quirks`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pycurl

from gossamer import __version__
from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.fetch.transfer import Transfer

ACCEPT: Final = "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"
ENCODINGS: Final = "gzip, deflate, br, zstd"
_NO_HTTP2: Final = "the server does not want HTTP/2 here: it is asked by HTTP/1.1 next time"
_NO_RANGES: Final = "the server does not want Range here: it is asked without it next time"
_MISDIRECTED, _NOT_IN_RANGE = 421, 416
_HTTP2_STREAM: Final = 92
"""CURLE_HTTP2_STREAM, which pycurl has no name for."""
_HTTP2_FAILED: Final = frozenset((pycurl.E_HTTP2, _HTTP2_STREAM))
_MOST_SERVERS: Final = 50_000
"""Servers remembered for each reason; the oldest is forgotten first."""
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)

Reasons = dict[bytes, str]
"""By server (scheme and authority): why it is requested in another way."""


class Requests:
    """The header fields of whole and of partial requests, and the heads that libcurl makes of them."""

    def __init__(self, settings: HarvesterSettings) -> None:
        self.fields = request_fields(settings)
        self.part_fields = [
            *self.fields[:-1],
            "Accept-Encoding: identity",
            f"Range: bytes=0-{settings.max_download - 1}",
        ]
        """For the first bytes of the page itself, so without compression."""
        self._lines, self._part_lines = _lines(self.fields), _lines(self.part_fields)

    def head(self, url: bytes, partly: bool, conditions: list[bytes]) -> bytes:
        """The bytes that libcurl sends for a canonical URL; `partly`: as a request for its first bytes. `conditions`:
        more header fields."""
        lines = self._part_lines if partly else self._lines
        return request_head(url, b"\r\n".join((lines[:-4], *conditions, b"\r\n")) if conditions else lines)


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


def request_head(url: bytes, fields: bytes) -> bytes:
    """The bytes that libcurl sends for a canonical URL."""
    authority, _, path = url.partition(b"://")[2].partition(b"/")
    return b"GET /" + path + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + fields


def _lines(fields: list[str]) -> bytes:
    return ("\r\n".join(fields) + "\r\n\r\n").encode("latin-1", "replace")


class Quirks:
    """What is remembered about single servers. Nothing is learned, and nothing costs time, unless the settings use
    HTTP/2, Range or invalid certificates."""

    def __init__(self, settings: HarvesterSettings, requests: Requests) -> None:
        self._settings, self._requests = settings, requests
        self.possible: Final = settings.http2 or settings.range or settings.invalid_certificates
        """Whether any request could need this. If not, `adapt` and `reason` need not be called."""
        self._no_http2: Reasons = {}
        self._no_range: Reasons = {}
        self._invalid: Reasons = {}
        """Servers whose certificate is not valid, and what is wrong with it."""

    def adapt(self, transfer: Transfer) -> None:
        """Sets the options of the next request by what is known about its server."""
        settings, server = self._settings, _server(transfer.assignment.url)
        if settings.http2:
            transfer.speak(server not in self._no_http2)
        if settings.range:
            partly = transfer.assignment.ask == Ask.PAGE and server not in self._no_range
            transfer.ask_partly(partly, self._requests.part_fields if partly else self._requests.fields)
        if settings.invalid_certificates:
            transfer.verify(server not in self._invalid)

    def reason(self, transfer: Transfer, code: int, status: int, failure: Outcome | None, detail: str) -> str | None:
        """Why this page goes back, its server being requested in another way from now on; None: it does not."""
        if transfer.http2 and (status == _MISDIRECTED or transfer.repeated or code in _HTTP2_FAILED):
            return _remember(self._no_http2, transfer, _NO_HTTP2)
        if transfer.partly and status == _NOT_IN_RANGE and failure is None:
            return _remember(self._no_range, transfer, _NO_RANGES)
        wanted = self._settings.invalid_certificates and not transfer.unverified
        if wanted and code == pycurl.E_PEER_FAILED_VERIFICATION:
            return _remember(self._invalid, transfer, detail)
        return None

    def certificate(self, url: bytes) -> str:
        """What is wrong with the certificate of this URL's server, in words."""
        return "certificate " + self._invalid.get(_server(url), "not valid")


def _remember(servers: Reasons, transfer: Transfer, why: str) -> str:
    if len(servers) >= _MOST_SERVERS:
        del servers[next(iter(servers))]
    servers[_server(transfer.assignment.url)] = why
    return why


def _server(url: bytes) -> bytes:
    """Scheme and authority of a canonical URL."""
    return url[: url.index(b"/", 8)]


class Trusted:
    """The certificates that are trusted: the system's, and those of `harvester.trusted`.

    `path` is the file that libcurl reads, "" for none. It exists as long as this object. libcurl takes one file, so the
    two are joined in an anonymous file in memory. Refused: a blob, which libcurl parses for every connection; it reads
    a file once per day.
    """

    def __init__(self, own: str = "") -> None:
        """`own`: a file of certificates in addition to the system's."""
        self._file: int | None = None
        system = system_bundle()
        self.path = system
        if own:
            certificates = read_certificates(Path(own)) + b"\n" + (Path(system).read_bytes() if system else b"")
            self._file = os.memfd_create("trusted")
            with open(self._file, "wb", closefd=False) as joined:
                joined.write(certificates)
            self.path = f"/proc/self/fd/{self._file}"

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


def system_bundle() -> str:
    """The system's file of certificates, which libcurl's wheel does not know; "": there is none."""
    named = os.environ.get("SSL_CERT_FILE")
    return next((path for path in (named, *_BUNDLES) if path and os.path.exists(path)), "")


def read_certificates(path: Path) -> bytes:
    cure = "harvester.trusted names a file of certificates in PEM form (BEGIN CERTIFICATE)."
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", cure) from error
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise UsageError(f"{path} holds no certificate", cure)
    return data
