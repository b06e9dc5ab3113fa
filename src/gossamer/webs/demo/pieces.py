"""Bodies composed of pieces that were compressed before.

Most of a page is text from a pool. A full flush ends the deflate blocks of a piece on a byte boundary, so that the gzip
form of a body is the concatenation of the blocks of its pieces; only the page's own text is compressed for it. CRC-32
runs over the plain form. Compressing whole bodies was the most expensive step of making one (48 µs per page, profiled).
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, Self

from isal import isal_zlib

_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST: Final = b"\x03\x00"
"""An empty final block."""


class BodyPiece(NamedTuple):
    """A part of a body, plain and compressed."""

    plain: bytes
    blocks: bytes

    @classmethod
    def make(cls, plain: bytes) -> Self:
        deflater = isal_zlib.compressobj(level=1, wbits=-15)
        return cls(plain, bytes(deflater.compress(plain) + deflater.flush(isal_zlib.Z_FULL_FLUSH)))


class Body(NamedTuple):
    """The body of an answer."""

    plain: bytes
    pieces: tuple[BodyPiece, ...]

    @classmethod
    def of(cls, *pieces: BodyPiece) -> Self:
        return cls(b"".join([piece.plain for piece in pieces]), pieces)

    def gzip(self) -> bytes:
        end = struct.pack("<II", isal_zlib.crc32(self.plain), len(self.plain))
        return b"".join([_HEAD, *[piece.blocks for piece in self.pieces], _LAST, end])
