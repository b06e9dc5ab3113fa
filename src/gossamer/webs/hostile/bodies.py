"""Behaviours with bodies: endless ones, broken chunks, and types, encodings or charsets other than declared."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from io import BytesIO
from typing import Final

import brotli
import zstandard

from gossamer.webs.hostile.behaviour import Behaviour, HostileRequest, endless, made, one, says, several
from gossamer.webs.hostile.saying import answer, bare_deflate, chunked, page

GIGABYTE: Final = 1 << 30
_PIECE: Final = 1 << 20
_KIND: Final = "text/html; charset="


def _encoded(body: bytes, *encodings: str) -> bytes:
    return answer(body, "200 OK", "text/html", f"Content-Encoding: {', '.join(encodings)}")


def _bare_zeros() -> bytes:
    """A deflate stream of a gigabyte of zeros. After a full flush a piece does not depend on the bytes before it, so
    one piece can be repeated."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = stream.compress(bytes(_PIECE)) + stream.flush(zlib.Z_FULL_FLUSH)
    return piece * (GIGABYTE // _PIECE) + b"\x03\x00"


@cache
def _bomb_gzip() -> bytes:
    return b"\x1f\x8b\x08" + bytes(6) + b"\x03" + _bare_zeros() + bytes(8)


@cache
def _bomb_deflate() -> bytes:
    return b"\x78\x9c" + _bare_zeros() + bytes(4)


@cache
def _bomb_br() -> bytes:
    """All pieces except the first are the same: they copy the byte before them."""
    stream = brotli.Compressor(quality=1)
    pieces: list[bytes] = [stream.process(bytes(16 * _PIECE)) + stream.flush() for _ in range(2)]
    return b"".join((pieces[0], *[pieces[1]] * (GIGABYTE // _PIECE // 16 - 1), stream.finish()))


@cache
def _bomb_zstd() -> bytes:
    """A sequence of equal frames."""
    return zstandard.compress(bytes(16 * _PIECE)) * (GIGABYTE // _PIECE // 16)


@cache
def _bomb_doubled() -> bytes:
    return gzip.compress(_bomb_gzip())


def _bombs() -> Iterator[Behaviour]:
    bombs: dict[str, tuple[str, Callable[[], bytes], tuple[str, ...]]] = {
        "bomb-gzip": ("gzip", _bomb_gzip, ("gzip",)),
        "bomb-deflate": ("deflate", _bomb_deflate, ("deflate",)),
        "bomb-br": ("br", _bomb_br, ("br",)),
        "bomb-zstd": ("zstd", _bomb_zstd, ("zstd",)),
        "bomb-doubled": ("gzip twice", _bomb_doubled, ("gzip", "gzip")),
        "bomb-mixed": ("gzip, then br", lambda: brotli.compress(_bomb_gzip(), quality=1), ("gzip", "br")),
    }
    for name, (what, bomb, encodings) in bombs.items():
        serve = says(cache(partial(_bomb, bomb, *encodings)))
        yield one(name, f"A gigabyte of zeros, compressed with {what}.", "bad_encoding", serve)


def _bomb(made: Callable[[], bytes], *encodings: str) -> bytes:
    return _encoded(made(), *encodings)


@cache
def _zip() -> bytes:
    """A ZIP file of incompressible bytes, like most archives."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("noise.bin", b"".join(zlib.crc32(b"%d" % n).to_bytes(4) for n in range(50_000)))
    return file.getvalue()


def _ranged(request: HostileRequest) -> bytes:
    """Answers a range beyond the end of the page with an error."""
    if "range" in request.fields:
        return answer(b"<p>no</p>", "416 Range Not Satisfiable", "text/html", "Content-Range: bytes */900")
    return answer(page("asked for without a range"))


def _partial() -> bytes:
    body = page("all of a page, as a part")
    return answer(body, "206 Partial Content", "text/html", f"Content-Range: bytes 0-{len(body) - 1}/{len(body)}")


def _latin(name: str, charset: str) -> bytes:
    return answer(b"<p>caf\xe9 \xff\xfe\x80</p>" + page(name), kind=_KIND + charset)


_MEMBERS: Final = [page(f"member {n} of a stream") for n in range(3)]
_GZIP: Final = gzip.compress(page("a stream that is cut", lines=200))

# fmt: off
BODIES: Final = (
    one("endless", "Its body never ends.", "ok",
        endless(answer(b"", length=False) + page("the body without end"), b"<p>more and more</p>\n" * 500)),
    one("endless-chunks", "Sends chunks without end.", "ok",
        endless(chunked(page("the chunks without end"))[:-5], b"2710\r\n" + b"<p>more and more</p>" * 500 + b"\r\n")),
    one("endless-extension", "Begins a chunked page, then sends a chunk extension without end.", "ok",
        endless(chunked(page("the extension without end"))[:-5] + b"2710", b";more=" + b"x" * 9_000)),
    one("only-extension", "Sends a chunk extension without end, and no body.", "protocol_error",
        endless(chunked(b"")[:-5] + b"2710", b";more=" + b"x" * 9_000)),
    one("empty", "A page without a body.", "no_content", says(answer())),
    one("empty-trailers", "A chunked page without a body, but with trailers.", "no_content",
        says(chunked(b"")[:-2] + b"X-Sum: 0\r\nX-End: yes\r\n\r\n")),
    *(
        one(f"chunk-{name}", what, end, says(chunked(page("chunks"))[:-5] + rest, close=True))
        for name, what, end, rest in (
            ("size", "The size of a chunk is not a number.", "protocol_error", b"zzzz\r\nno chunk\r\n0\r\n\r\n"),
            ("huge", "The size of a chunk has twenty digits.", "protocol_error", b"f" * 20 + b"\r\nshort\r\n0\r\n\r\n"),
            ("longer", "A chunk is longer than its size.", "protocol_error", b"5\r\nlonger than five\r\n0\r\n\r\n"),
            ("cut", "The connection ends in the middle of a chunk.", "broken_off", b"ffff\r\nshort"),
        )
    ),
    one("other-type", "Sends an image, whatever the crawler accepts.", "other_type",
        says(answer(b"\x89PNG\r\n\x1a\n" + bytes(5_000), kind="image/png")), "A.3.1"),
    one("not-acceptable", "Refuses the types that the crawler accepts (406).", "refused",
        says(answer(b"<p>no</p>", "406 Not Acceptable")), "A.3.1"),
    one("no-type", "No Content-Type.", "ok", says(answer(page("a page without a type"), kind=""))),
    one("zip", "A ZIP file with the content type of HTML.", "other_type", says(lambda: answer(_zip())), "A.3.1"),
    one("range-error", "Answers a request for a range with 416.", "ok", made(_ranged), "A.3.2"),
    one("always-416", "Answers 416 to every request.", "refused",
        says(answer(b"<p>no</p>", "416 Range Not Satisfiable")), "A.3.2"),
    one("partial", "Answers 206 to a request without a range.", "ok", says(_partial), "A.3.2"),
    one("encoding-unknown", "An unknown content encoding.", "bad_encoding",
        says(_encoded(bytes(range(256)) * 4, "snake"))),
    one("encoding-named", "An uncompressed page that claims to be in gzip, br and zstd.", "ok",
        says(_encoded(page("a plain page"), "gzip", "br", "zstd"))),
    one("encoding-false", "Bytes that claim to be br and are not.", "bad_encoding",
        says(_encoded(bytes(range(256)) * 4, "br"))),
    one("encoding-doubled", "A page compressed twice with gzip.", "ok",
        says(_encoded(gzip.compress(gzip.compress(page("in gzip in gzip"))), "gzip", "gzip"))),
    one("encoding-tenfold", "Ten nested encodings.", "bad_encoding",
        says(lambda: _encoded(_nested(page("in ten encodings"), 10), *["gzip"] * 10))),
    one("encoding-cut", "A truncated gzip stream.", "ok", says(_encoded(_GZIP[: len(_GZIP) * 2 // 3], "gzip"))),
    one("encoding-members", "A gzip stream of several members.", "ok",
        says(_encoded(b"".join(map(gzip.compress, _MEMBERS)), "gzip"))),
    one("encoding-bare", "A raw deflate stream, without the zlib header.", "ok",
        says(_encoded(bare_deflate(page("in bare deflate")), "deflate"))),
    *_bombs(),
    several("charsets", "A charset that is wrong, unknown or contradictory.", "ok", {
        "/wrong": _latin("latin-1 that is called utf-8", "utf-8"),
        "/unknown": _latin("in an unknown charset", "klingon-8"),
        "/lie": answer(page("says utf-16 within", head='<meta charset="utf-16">')),
        "/dispute": answer(page("header against meta", head='<meta charset="shift_jis">'), kind=f"{_KIND}koi8-r"),
        "/mark": answer(b"\xff\xfe" + page("a mark that lies"), kind=f"{_KIND}utf-8"),
        "/long": answer(page("a charset of a name too long"), kind=f"{_KIND}{'x' * 5_000}"),
    }),
)
# fmt: on


def _nested(data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = gzip.compress(data)
    return data
