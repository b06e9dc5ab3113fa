"""Heads and encodings of answers, without a socket: fast, and as broken as possible."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

import brotli
import zstandard

from fuzz.target import Target
from gossamer.web.fetch.decode import CHUNK, decode, salvaged
from gossamer.web.fetch.response import mime, outcome_of, read_head, retry_after

_LIMIT: Final = 1 << 18
_PAGE: Final = b"<p>A page of the Web</p>\n" * 40
_ENCODINGS: Final = {
    b"gzip": gzip.compress(_PAGE, mtime=0),
    b"deflate": zlib.compress(_PAGE),
    b"br": brotli.compress(_PAGE),
    b"zstd": zstandard.compress(_PAGE),
    b"gzip, gzip": gzip.compress(gzip.compress(_PAGE, mtime=0), mtime=0),
    b"br, gzip": gzip.compress(brotli.compress(bytes(1 << 20)), mtime=0),
    b"x-gzip": gzip.compress(_PAGE, mtime=0) + gzip.compress(_PAGE, mtime=0),
    b"identity": _PAGE,
}


class DecodeTarget(Target):
    """heads and encodings of answers: lines of a head, an empty line, an encoded body."""

    name = "decode"
    parts = ("web/fetch/response.py", "web/fetch/decode.py")
    words = (
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/2 200\r\n",
        b"Content-Encoding: ",
        b"gzip",
        b"deflate",
        b"br",
        b"zstd",
        b"identity",
        b", ",
        b"Retry-After: ",
        b"Content-Type: text/html",
        b"Location: ",
        b"\x1f\x8b\x08\0",
        b"\x28\xb5\x2f\xfd",
        b"\x78\x9c",
        b"Date: ",
        b"Wed, 21 Oct 2015 07:28:00 GMT",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b" folded\r\n",
        _ENCODINGS[b"gzip"],
        _ENCODINGS[b"zstd"],
        _ENCODINGS[b"br, gzip"],
    )
    longest = 1 << 16

    def seeds(self) -> list[bytes]:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nRetry-After: 120\r\nContent-Encoding: "
        dated = b"HTTP/1.1 503 No\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\nDate: Wed, 21 Oct 2015 07:27:00 GMT"
        return [head + name + b"\r\n\r\n" + body for name, body in _ENCODINGS.items()] + [dated + b"\r\n\r\n"]

    def check(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        line, fields, headers = read_head([*head.splitlines(keepends=True), b"\r\n"])[:3]
        assert not any(mark in part for part in (line, *sum(fields, ())) for mark in (b"\n", b"\r"))
        encoding = headers.get("content-encoding", "")
        found = decode(body, encoding, _LIMIT)
        assert len(found.data) <= max(_LIMIT + CHUNK, len(body))
        assert len(salvaged(body, encoding, _LIMIT)) <= _LIMIT
        assert -1.0 <= retry_after(headers.get("retry-after", ""), 1_445_412_480.0, headers.get("date", "")) <= 1e9
        assert len(mime(headers)) <= 100
        status = int(line[9:12]) if line[9:12].isdigit() else 0
        outcome_of(status, headers, body)
