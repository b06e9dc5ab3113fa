"""Chunked bodies (RFC 9112, 7.1), against a plain reading of the bytes, with and without a bandwidth limit."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Mapping
from typing import Final

import pycurl

from fuzz.target import Target
from fuzz.targets.answer import serve_to
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.base.units import Size
from gossamer.config.settings import HarvesterSettings
from gossamer.web.fetch.fetch import Driver, Fetched, Fetcher
from gossamer.web.fetch.transfer import Transfer
from gossamer.web.limit.bucket import RateLimiter, Share
from gossamer.web.limit.limited_fetch import BandwidthLimit

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_MOST_DIGITS: Final = 17
_SPEED: Final = 50_000_000
_KEPT: Final = 40_000
"""Bytes of a body that are kept."""
_PAST_KEPT: Final = b"x" * 50_000


class ChunkedTarget(Target):
    """chunked bodies, compared with a plain reading; the first byte chooses where the answer is split."""

    name = "chunked"
    parts = ("web/fetch", "web/limit")
    words = (
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"5;name=value\r\nhello\r\n",
        b'5;n="a\r\nb"\r\nhello\r\n',
        b"a\nhello worl\n",
        b"00000000005\r\nhello\r\n",
        b"ffffffffffffffff\r\n",
        b"7fffffffffffffff\r\n",
        b"-1\r\n",
        b"0x5\r\n",
        b" 5\r\n",
        b"5 \r\n",
        b"0\r\nTrailer: value\r\n\r\n",
        b"0;" + b"x" * 5_000 + b"\r\n",
        b"1\r\na\r\n",
        b"\r\n",
        b"\n",
        b"c350\r\n" + _PAST_KEPT + b"\r\n",
    )
    longest = 1 << 17
    seconds = 4.0

    def __init__(self) -> None:
        settings = HarvesterSettings(contact="a@example.org", allow_private=True, max_download=Size(_KEPT))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._limiter = RateLimiter(1)
        self._limiter.grant(_SPEED)
        self._share = Share(os.dup(self._limiter.fileno()), 0)
        plain, limited = select.epoll(), select.epoll()
        made = list[BandwidthLimit]()

        def limit(driver: Driver, transfers: Mapping[pycurl.Curl, Transfer]) -> BandwidthLimit:
            made.append(BandwidthLimit(settings, self._share, driver, transfers))
            return made[0]

        self._fetchers = (Fetcher(settings, plain), plain), (Fetcher(settings, limited, limit), limited)
        (self._limit,) = made
        self._number = 0

    def close(self) -> None:
        self._listener.close()
        for throttled in set(self._limit.ends.values()):
            throttled.close()
        self._share.close()
        self._limiter.close()

    def seeds(self) -> list[bytes]:
        words = self.words
        whole = [b"".join((*words[i : i + 1], words[0], b"0\r\n\r\n")) for i in range(len(words))]
        return [bytes([i]) + answer for i, answer in enumerate([*whole, b"0\r\n\r\n", b"5\r\nhel", b""])]

    def check(self, data: bytes) -> None:
        split, raw = (data[0] if data else 0), data[1:]
        body, whole = _plainly(raw)
        for fetcher, epoll in self._fetchers:
            found = self._fetched(fetcher, epoll, raw, 1 + split * 7)
            while found.failure is Outcome.RETURNED:  # the last connection was kept open, and is closed now
                found = self._fetched(fetcher, epoll, raw, 1 + split * 7)
            assert len(found.body) <= _KEPT
            if whole:
                assert found.failure is None, (found.failure, found.detail)
                assert found.body == body[:_KEPT]
                assert found.cut == (len(body) > _KEPT)
            elif found.failure is None and not found.cut:
                assert found.body == body, "more than the server sent as a body, or less"
            else:
                assert body.startswith(found.body)

    def _fetched(self, fetcher: Fetcher, epoll: select.epoll, raw: bytes, split: int) -> Fetched:
        self._number += 1
        port = self._listener.getsockname()[1]
        url = b"http://example.org/%d" % self._number
        fetcher.start(Assignment(self._number, Ask.PAGE, 1, 1, 1, url, "127.0.0.1", port))
        line, parts = None, [_HEAD + raw[:split], raw[split:]]
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            done = fetcher.act(epoll.poll(min(fetcher.timeout(), 0.001)))
            if done:
                if line is not None:
                    line.close()
                return done[0]
            line, parts = serve_to(self._listener, line, parts)
        raise TimeoutError("no answer was read in time")


def _plainly(raw: bytes) -> tuple[bytes, bool]:
    """The payloads of the chunks up to the first fault, and whether the body is well-formed and complete.

    A line may end with LF alone, or have more than one CR; what follows the size on its line is skipped: servers send
    anything there.
    """
    body, at, well = b"", 0, True
    while True:
        start = at
        while at < len(raw) and raw[at] in _HEX and at - start <= _MOST_DIGITS:
            at += 1
        end = raw.find(b"\n", at)
        if at == start or at - start > _MOST_DIGITS or end < 0:
            return body, False
        size, strict = int(raw[start:at], 16), _is_strict(raw[at : end + 1])
        if size == 0:
            return body, well and strict and raw[end + 1 :] == b"\r\n"
        body += raw[end + 1 : end + 1 + size]
        at = end + 1 + size
        strict = strict and raw[at : at + 2] == b"\r\n"
        while raw[at : at + 1] == b"\r":
            at += 1
        if raw[at : at + 1] != b"\n":
            return body, False
        at, well = at + 1, well and strict


def _is_strict(rest: bytes) -> bool:
    """Whether the rest of a line with a size is one that every reader accepts."""
    return rest.endswith(b"\r\n") and rest[:-2].isascii() and (rest == b"\r\n" or rest.startswith(b";"))
