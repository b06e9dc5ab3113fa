"""How servers must be requested that do not want the usual way: without HTTP/2, without Range, without verification.

A server is first requested as the settings say. Where that fails for one of these reasons, its page goes back, and the
next turn of its site uses the other way. Nothing is learned, and nothing costs time, unless the settings use HTTP/2,
Range or invalid certificates.
"""

from __future__ import annotations

from typing import Final

import pycurl

from gossamer.base.model import Ask, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.fetch.request import Requests
from gossamer.web.fetch.transfer import Transfer

_NO_HTTP2: Final = "the server does not want HTTP/2 here: it is asked by HTTP/1.1 next time"
_NO_RANGES: Final = "the server does not want Range here: it is asked without it next time"
_MISDIRECTED, _NOT_IN_RANGE = 421, 416
_HTTP2_STREAM: Final = 92
"""CURLE_HTTP2_STREAM, which pycurl has no name for."""
_HTTP2_FAILED: Final = frozenset((pycurl.E_HTTP2, _HTTP2_STREAM))
_MOST_SERVERS: Final = 50_000
"""Servers remembered for each reason; the oldest is forgotten first."""

Reasons = dict[bytes, str]
"""By server (scheme and authority): why it is requested in another way."""


class Quirks:
    """What is remembered about single servers."""

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
