"""Writes WARC 1.1 records of requests and answers (ISO 28500:2017), one gzip member each.

Invariant: `both_readers_read_the_same_whatever_is_written`: warcio (`content_stream().read()`) and fastwarc
(`auto_decode='all'`) read every record to its end, and both get the same bytes. Requests are stored as sent, heads and
bodies of answers as received, unless that would break the invariant; then the old header fields are renamed to
`X-Crawler-…`, as other crawlers do:

    Transfer-Encoding    libcurl has decoded it: renamed, with a true Content-Length
    Content-Length       renamed when it is not the length of what is stored
    Content-Encoding     kept with the encoded bytes where every reader can decode it (`Decoded.common`) and all of it
                         is stored; otherwise the decoded body is stored and the field renamed
    line ends            CRLF, and `X-Crawler-Line-Ends` if there were others
    trailers             in the head, as `X-Crawler-Trailer-…`: a body with a Content-Length has none

libcurl joins folded lines before anybody sees them. Interim answers (1xx) are left out. An exchange by HTTP/2 has no
bytes that a reader could use: it is written as HTTP/1.1, and says so (`WARC-Protocol: h2`). The version of TLS is in
the same field, if it is known (`tls/1.3`; see `web/fetch/transfer.py`). Of a body that was not read to its end,
`WARC-Truncated` says whether its length was the reason.

A body that is in the archive already is not stored again: its `revisit` record has the head, and names the record that
has the body (WARC 1.1, 6.7.2, identical payload digest). The digest is of the body as stored, so that head and old body
belong together whatever the encoding. `web/archive/bodies.py` finds the record, which is used only if its head, read
from the file, has this very digest. An answer that the page has not changed (304) is such a record too, of the profile
server-not-modified (6.7.3): it names the record that the version before is in, and says where that is, for the index.
The cleaned text is a `conversion` record after its response (6.6).

Cost for a page of 25 KB that came as 9 KB of gzip: 0.08 ms. Records are formatted here and compressed by isal; a record
whose body is compressed already is only wrapped (5 µs, not 50, for 0.3 % more bytes). Refused: fastwarc's writer, which
takes 0.21 ms for such a record, and 0.34 ms for a plain text page, where isal takes 0.10 ms and makes it a fifth
smaller.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from isal import igzip_lib, isal_zlib

from gossamer.base.disk import Appender
from gossamer.base.errors import StorageError
from gossamer.collection.cdx import UNCHANGED, Replayed
from gossamer.collection.layout import archive_name
from gossamer.web.archive.bodies import LEAST, Payloads
from gossamer.web.fetch.decode import Decoded
from gossamer.web.fetch.response import Head

_LENGTH: Final = b"content-length"
_RENAMED: Final = b"X-Crawler-"
_TRAILER: Final = b"X-Crawler-Trailer-"
_CODINGS: Final = frozenset({_LENGTH, b"transfer-encoding", b"content-encoding"})
_HTTP2: Final = b"WARC-Protocol: h2"
_TLS: Final = b"WARC-Protocol: tls/"
_GZIP_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_GZIP_TAIL: Final = struct.Struct("<II")
_STORED: Final = struct.Struct("<BHH")
_BLOCK: Final = 0xFFFF
_NO_PAYLOAD: Final = bytes(20)
_RESPONSE: Final = b"Content-Type: application/http; msgtype=response"
_PROFILE: Final = b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_UNMODIFIED: Final = b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_TRUNCATED: Final = b"WARC-Truncated: "
_LONG: Final = "length"
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TWO_LETTERS: Final = [bytes((first, second)) for first in _LETTERS for second in _LETTERS]
_SHIFTS: Final = range(150, -10, -10)
_SPACED: Final = bytes.maketrans(b"\r\n", b"  ")
"""Keeps a line of a head from becoming two."""
_HEAD: Final = 1 << 12
"""Bytes of a gzip member within which the head of its record must end, so that a revisit record can name it."""
_MOSTLY: Final = 1 << 10
"""Bytes within which the head mostly ends: isal inflates all that it gets."""
_InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says instance


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, as they are archived."""

    url: bytes
    address: str
    time: float
    """Wall clock time of the request."""
    request: bytes
    """Head of the request, as sent."""
    head: Head
    body: bytes
    decoded: Decoded
    cut: str = ""
    """Why the body was not read to its end: "length" or "unspecified" (WARC 1.1, 5.13); "": it was."""
    tls: str = ""
    """The version of TLS, such as "1.3", if it is known."""


class Place(NamedTuple):
    """Where an exchange was stored."""

    offset: int
    """Where the response (or revisit) record starts."""
    end: int
    """Length of the file after all that was written."""
    payload: bytes
    """SHA-1 of the body as stored; zeros for an empty one."""
    repeated: bool
    """A revisit record: the body lies elsewhere in the archive."""
    text: int
    """Where the conversion record starts; 0: there is none."""


class Copy(NamedTuple):
    """Where the version is that a server calls unchanged."""

    payload: bytes
    file: int
    offset: int


class _Original(NamedTuple):
    """What a revisit record says of the response that has the body."""

    uri: bytes
    date: bytes
    record_id: bytes


def warcinfo(name: str, software: str, said: Mapping[str, str]) -> bytes:
    """The first record of an archive file. `said`: more fields, such as the operator; empty ones are left out."""
    fields = {"software": software, "format": "WARC File Format 1.1", **said}
    lines = (f"{field}: {' '.join(value.split())}\r\n" for field, value in fields.items() if value.strip())
    head = [b"WARC-Filename: " + name.encode(), b"Content-Type: application/warc-fields"]
    return _squeezed(_record(b"warcinfo", _record_id(), time.time(), head, "".join(lines).encode()))


class Archive:
    """The WARC file that a worker appends to; the desk has created it with its warcinfo record."""

    def __init__(
        self, number: int, file: Appender, max_stored: int, payloads: Payloads | None = None, markup: bool = False
    ) -> None:
        """`payloads`: where to find repeats; None: every body is stored. `markup`: cleaned texts have tags."""
        self.number = number
        self._file = file
        self._max_stored = max_stored
        self._payloads = payloads
        self._shard = file.path.parent.parent
        self._text_type = b"Content-Type: text/%s; charset=utf-8" % (b"html" if markup else b"plain")

    def write(self, exchange: Exchange, text: bytes | None = None, copy: Copy | None = None) -> Place:
        """Appends request, response and cleaned text in one write; they are whole in the file before this returns.

        A repeat has no text record: the text of its body follows the response that has the body. `copy`: the version
        that the server calls unchanged.
        """
        response_id = _record_id()
        named = [b"WARC-Target-URI: " + exchange.url, b"WARC-IP-Address: " + exchange.address.encode()]
        if exchange.head.http2:
            named.append(_HTTP2)
        if exchange.tls:
            named.append(_TLS + exchange.tls.encode())
        fields = [*named, b"WARC-Concurrent-To: " + response_id, b"Content-Type: application/http; msgtype=request"]
        members = [_squeezed(_record(b"request", _record_id(), exchange.time, fields, exchange.request))]
        head, body, compressed, truncated = self._stored(exchange)
        if copy is not None:
            payload = copy.payload
        else:
            payload = hashlib.sha1(body, usedforsecurity=False).digest() if body else _NO_PAYLOAD
        digest = _spelled(payload) if payload != _NO_PAYLOAD else _digest()
        original = self._original(payload, digest, copy) if len(body) >= LEAST or copy is not None else None
        fields = [*named, _RESPONSE, b"WARC-Payload-Digest: " + digest]
        if truncated or original is not None or copy is not None:
            fields.append(_TRUNCATED + (truncated or _LONG).encode())
        if copy is not None:
            fields.append(_UNMODIFIED)
        elif original is not None:
            fields.append(_PROFILE)
        if original is not None:
            fields += [
                b"WARC-Refers-To: " + original.record_id,
                b"WARC-Refers-To-Target-URI: " + original.uri,
                b"WARC-Refers-To-Date: " + original.date,
            ]
            if copy is not None:
                fields += self._replayed(copy)
        repeated = original is not None or copy is not None
        if repeated:
            members.append(_squeezed(_record(b"revisit", response_id, exchange.time, fields, head)))
        else:
            response = _record(b"response", response_id, exchange.time, fields, head, body)
            members.append((_wrapped if compressed else _squeezed)(response))
            if text is not None:
                fields = [named[0], b"WARC-Refers-To: " + response_id, self._text_type]
                members.append(_squeezed(_record(b"conversion", _record_id(), exchange.time, fields, text)))
        start = self._file.append(b"".join(members))
        offsets = list(accumulate(map(len, members), initial=start))
        return Place(offsets[1], offsets[-1], payload, repeated, offsets[2] if len(members) > 2 else 0)

    def close(self) -> None:
        self._file.close()

    def _path(self, number: int) -> Path:
        return self._shard / archive_name(number)

    def _original(self, payload: bytes, digest: bytes, copy: Copy | None) -> _Original | None:
        """The response record that has this body. If anything about it is wrong: None, and the body is stored again.

        The record of a copy may itself be a revisit record: then it is the record that this one refers to.
        """
        if copy is not None:
            place: tuple[int, int] | None = copy.file, copy.offset
        else:
            place = self._payloads.find(payload) if self._payloads is not None else None
        if place is None:
            return None
        try:
            fields = _fields_at(self._path(place[0]), place[1])
            if fields[b"WARC-Payload-Digest"] != digest:
                return None
            if copy is not None and fields[b"WARC-Type"] == b"revisit":
                return _Original(*(fields[b"WARC-Refers-To" + name] for name in (b"-Target-URI", b"-Date", b"")))
            if fields[b"WARC-Type"] != b"response":
                return None
            return _Original(fields[b"WARC-Target-URI"], fields[b"WARC-Date"], fields[b"WARC-Record-ID"])
        except (OSError, ValueError, KeyError, _InflateError):
            return None

    def _replayed(self, copy: Copy) -> list[bytes]:
        """The field that says what is replayed for a 304; none if the copy cannot be read to its end."""
        try:
            return [UNCHANGED + b": " + bytes(Replayed.at(self._path(copy.file), copy.offset))]
        except (OSError, StorageError):
            return []

    def _stored(self, exchange: Exchange) -> tuple[bytes, bytes, bool, str]:
        """Head and body as stored; whether the body is compressed; why its end is missing, "" if it is not."""
        most = self._max_stored
        body = exchange.body
        encoded = exchange.decoded.common and not exchange.cut and len(body) <= most
        compressed = False
        if not encoded and exchange.decoded.ok:
            body = exchange.decoded.data
        truncated = exchange.cut or (_LONG if len(body) > most else "")
        body = body[:most]
        lines = [_status_line(exchange.head)]
        true_length = False
        for line in exchange.head.raw[1:]:
            name, _, value = line.partition(b":")
            name = name.strip().lower()
            if name in _CODINGS:
                if name == _LENGTH and value.strip() == b"%d" % len(body) and not true_length:
                    true_length = True
                elif name != b"content-encoding" or not encoded:
                    line = _RENAMED + line.lstrip()
                else:
                    compressed = len(body) > 1000
            lines.append(line)
        lines += [_TRAILER + line.lstrip() for line in exchange.head.trailers if b":" in line]
        if not true_length:
            lines.append(b"Content-Length: %d\r\n" % len(body))
        return _as_lines(lines) + b"\r\n", body, compressed, truncated


def _status_line(head: Head) -> bytes:
    """The status line as it came, if a reader of archives knows it; else as HTTP/1.1 would write it."""
    return head.raw[0] if head.raw and head.raw[0].startswith(b"HTTP/1.") else head.line + b"\r\n"


def _as_lines(lines: list[bytes]) -> bytes:
    """The lines of a head. Readers need CRLF at the end of each, and nowhere else: if it came otherwise, a line of its
    own says so."""
    head = b"".join(lines)
    if head.count(b"\r") == head.count(b"\n") == head.count(b"\r\n") == len(lines):
        return head
    changed = [line.rstrip(b"\r\n").translate(_SPACED) + b"\r\n" for line in lines]
    return b"".join((*changed, b"X-Crawler-Line-Ends: LF or CR\r\n"))


def _fields_at(path: Path, offset: int) -> dict[bytes, bytes]:
    """The WARC header fields of the record whose gzip member starts at `offset`.

    Raises OSError, ValueError or an error of inflating.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        packed = os.pread(fd, _HEAD, offset)
    finally:
        os.close(fd)
    stream = isal_zlib.decompressobj(wbits=31)
    record: bytes = stream.decompress(packed[:_MOSTLY])
    if b"\r\n\r\n" not in record:
        record += stream.decompress(packed[_MOSTLY:])
    lines = record[: record.index(b"\r\n\r\n")].split(b"\r\n")
    return {name: value for name, _, value in (line.partition(b": ") for line in lines[1:])}


def _record(kind: bytes, record_id: bytes, when: float, fields: list[bytes], head: bytes, body: bytes = b"") -> bytes:
    lines = [
        b"WARC/1.1",
        b"WARC-Type: " + kind,
        b"WARC-Record-ID: " + record_id,
        b"WARC-Date: " + _date(when),
        *[field.translate(None, b"\r\n") for field in fields],
        b"WARC-Block-Digest: " + _digest(head, body),
        b"Content-Length: %d" % (len(head) + len(body)),
        b"\r\n",
    ]
    return b"".join((b"\r\n".join(lines), head, body, b"\r\n\r\n"))


def _squeezed(record: bytes) -> bytes:
    """A record as a gzip member."""
    member: bytes = igzip_lib.compress(record, 1, flag=igzip_lib.COMP_GZIP)
    return member


def _wrapped(record: bytes) -> bytes:
    """A record as a gzip member of stored blocks (RFC 1951, 3.2.4). zlib's level 0 writes the same, but clears 256 KB
    of memory first."""
    parts = [_GZIP_HEAD]
    for at in range(0, len(record), _BLOCK):
        size = min(_BLOCK, len(record) - at)
        parts += (_STORED.pack(at + size == len(record), size, size ^ 0xFFFF), record[at : at + size])
    parts.append(_GZIP_TAIL.pack(isal_zlib.crc32(record), len(record)))
    return b"".join(parts)


def _record_id() -> bytes:
    """A random UUID (RFC 9562, version 4)."""
    text = os.urandom(16).hex()
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}>".encode()


def _date(when: float) -> bytes:
    return b"%s.%06dZ" % (_second(int(when)), int(when % 1 * 1e6))


@lru_cache(maxsize=16)
def _second(when: int) -> bytes:
    """A second as text. Cached: a worker writes many records within one second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)).encode()


def _digest(*parts: bytes) -> bytes:
    sha1 = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        sha1.update(part)
    return _spelled(sha1.digest())


def _spelled(sha1: bytes) -> bytes:
    """A digest in base 32 (RFC 4648). The standard library takes three times as long."""
    number = int.from_bytes(sha1, "big")
    return b"sha1:" + b"".join([_TWO_LETTERS[number >> shift & 0x3FF] for shift in _SHIFTS])
