"""Decodes bodies by their Content-Encoding, with a bound on the output.

libcurl could decode, but drops the whole body when the encoding is unknown or false, has no zstd in its wheel, and
bounds nothing. Here the output never exceeds `limit` by more than a chunk: a bomb costs what its bound costs.
Sources: RFC 9110 8.4, RFC 1950–1952, RFC 7932, RFC 8878 and 9659 (a zstd window of at most 8 MB).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, NamedTuple

import brotli
import zstandard
from isal import isal_zlib

CHUNK: Final = 1 << 16
"""Bytes of output that are made at a time, about."""
PIECE: Final = 1 << 10
"""Bytes of input that are taken at a time from a body that may be damaged."""
MOST_LAYERS: Final = 3
MOST_EMPTY: Final = 1_000
"""Empty gzip members in a row that are read."""
_InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says instance
_WINDOW: Final = 8 << 20
_TEXT: Final = bytes(range(0x20, 0x100)).replace(b"\x7f", b"") + b"\t\n\f\r\x1b"


class Decoded(NamedTuple):
    data: bytes
    ok: bool
    """False: the body is not what its header says, or exceeds the bound."""
    common: bool
    """Every WARC reader can decode the body by its header: none, one whole gzip member, or one whole zlib stream.
    (warcio 1.8 fails on br, does not know zstd or chains and stops after a gzip stream's first member; fastwarc 1.1
    fails on bare deflate, `x-gzip`, a cut stream and on anything after the end.)"""


class _BadError(Exception):
    pass


def decode(body: bytes, encoding: str, limit: int) -> Decoded:
    """Decodes a body by its Content-Encoding header. A body that ends too early is decoded as far as it goes; a false
    header of a plain text is ignored; a body without encoding is returned as it is.

    Output: at most `limit` and a chunk of the last layer, `limit` of the layer before it.
    """
    layers = [name for name in (part.strip().lower() for part in encoding.split(",")) if name not in _IDENTITY]
    if not layers or not body:
        return Decoded(body, True, not layers)
    data, common = body, len(layers) == 1
    try:
        if len(layers) > MOST_LAYERS:
            raise _BadError
        for name in reversed(layers):
            if name not in _CODINGS:
                raise _BadError
            data, usual, grew = _CODINGS[name][0](data, limit)
            common = common and usual
            if grew:
                return Decoded(data[:limit], False, False)
    except (_BadError, _InflateError, brotli.error, zstandard.ZstdError):
        return Decoded(body, _plain(body), False)
    return Decoded(data, True, common and layers[0] in _COMMON)


def salvaged(body: bytes, encoding: str, limit: int) -> bytes:
    """The part before the damage of a body that `decode` finds damaged or too large, at most `limit` bytes. Slower than
    `decode`, and for one layer only."""
    parts: list[bytes] = []
    coding = encoding.strip().lower()
    try:
        for part in _CODINGS[coding][1](body) if coding in _CODINGS else ():
            parts.append(part[:limit])
            limit -= len(part)
            if limit <= 0:
                break
    except (_InflateError, brotli.error, zstandard.ZstdError):
        pass
    return b"".join(parts)


def _inflated(body: bytes) -> Iterator[bytes]:
    """Decodes gzip members, or a zlib stream. A bare deflate stream is not tried: too much could be one.

    Takes time in proportion to the body, however many members it has: of what follows a member, no more than a piece is
    copied. What follows `MOST_EMPTY` empty members is not read.
    """
    wbits = 31 if body.startswith(b"\x1f\x8b") else 15
    stream, at, empty = isal_zlib.decompressobj(wbits=wbits), 0, 0
    while at < len(body):
        data = body[at : at + PIECE]
        at += len(data)
        while data and not stream.eof:
            part = stream.decompress(data, CHUNK)
            empty = 0 if part else empty
            yield part
            data = stream.unconsumed_tail
        if stream.eof:
            at -= len(stream.unused_data)
            empty += 1
            if empty > MOST_EMPTY or not body.startswith(b"\x1f\x8b", at):
                return
            stream = isal_zlib.decompressobj(wbits=31)


def _unbrotlied(body: bytes, piece: int = PIECE) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for at in range(0, len(body), piece):
        part = stream.process(body[at : at + piece], output_buffer_limit=CHUNK)
        while part:
            yield part
            part = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=CHUNK)


def _unzstandard(body: bytes, piece: int = PIECE) -> Iterator[bytes]:
    with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(body, read_across_frames=True) as stream:
        while part := stream.read(piece):
            yield part


def _plain(body: bytes) -> bool:
    """Whether the first bytes are text: no control characters."""
    return not body[:1024].translate(None, _TEXT)


Layer = tuple[bytes, bool, bool]
"""Output; whether the input was one whole stream and nothing else; whether there was more than the bound allows."""


def _gzip(data: bytes, limit: int) -> Layer:
    """Decodes one member after the other; other bytes after the last member are ignored, as browsers do."""
    out, member = _inflate(data, 31, limit + 1)
    rest = member.unused_data
    if not rest:
        return out, member.eof, len(out) > limit
    more = _inflated(rest) if rest.startswith(b"\x1f\x8b") else ()
    return _gathered(chain((out,), more), limit)


def _deflate(data: bytes, limit: int) -> Layer:
    """Decodes `deflate`, which means the zlib format; many servers send the bare stream."""
    try:
        out, stream = _inflate(data, 15, limit + 1)
    except _InflateError:
        out, stream = _inflate(data, -15, limit + 1)
        return out, False, len(out) > limit
    return out, stream.eof and not stream.unused_data, len(out) > limit


def _inflate(data: bytes, wbits: int, room: int) -> tuple[bytes, isal_zlib.Decompress]:
    """Decodes at most `room` bytes. A piece shorter than it may be is the last: the stream ended, or the input did."""
    stream = isal_zlib.decompressobj(wbits=wbits)
    parts: list[bytes] = []
    while room > 0:
        most = min(room, 4 * CHUNK)
        part = stream.decompress(data, most)
        parts.append(part)
        if stream.eof or len(part) < most:
            break
        room -= most
        data = stream.unconsumed_tail
    return b"".join(parts), stream


def _brotli(data: bytes, limit: int) -> Layer:
    return _gathered(_unbrotlied(data, len(data) or 1), limit)


def _zstd(data: bytes, limit: int) -> Layer:
    return _gathered(_unzstandard(data, CHUNK), limit)


def _gathered(parts: Iterator[bytes], limit: int) -> Layer:
    """Joins parts until they exceed the bound; no common encoding is made of parts."""
    taken: list[bytes] = []
    made = 0
    for part in parts:
        taken.append(part)
        made += len(part)
        if made > limit:
            break
    return b"".join(taken), False, made > limit


_COMMON: Final = frozenset({"gzip", "deflate"})
_IDENTITY: Final = frozenset({"", "identity", "none"})
_CODINGS: Final[dict[str, tuple[Callable[[bytes, int], Layer], Callable[[bytes], Iterator[bytes]]]]] = {
    "gzip": (_gzip, _inflated),
    "x-gzip": (_gzip, _inflated),
    "deflate": (_deflate, _inflated),
    "x-deflate": (_deflate, _inflated),
    "br": (_brotli, _unbrotlied),
    "zstd": (_zstd, _unzstandard),
}
"""What decodes a whole body, and what decodes one that may be damaged, by Content-Encoding."""
