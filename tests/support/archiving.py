"""Helpers for tests of the archive: exchanges as a worker makes them, a shard's files, and both readers."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import brotli
import numpy as np
import zstandard
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.disk import Appender
from gossamer.web.archive.archive import Archive, Exchange, Place, warcinfo
from gossamer.web.archive.bodies import LEAST, Payloads, keys_of
from gossamer.web.fetch.decode import decode
from gossamer.web.fetch.response import read_head
from tests.support.server import PAGE

REQUEST = b"GET /x HTTP/1.1\r\nHost: site.test\r\nUser-Agent: Gossamer\r\n\r\n"
STORED = 300_000
LONG = PAGE * (1 + LEAST // len(PAGE))
"""A body that is long enough for a revisit record."""
TEXT = "Überschrift\nund ein Absatz, \N{SNOWMAN}".encode()
URL = b"http://site.test/x"


def exchange(
    body: bytes, *fields: tuple[bytes, bytes], cut: bool = False, url: bytes = URL, status: bytes = b"200 OK"
) -> Exchange:
    encoding = next((value.decode("latin-1") for name, value in fields if name.lower() == b"content-encoding"), "")
    decoded = decode(body, encoding, 4_000_000)
    lines = [b"HTTP/1.1 " + status, *(name + b": " + value for name, value in fields), b""]
    head = read_head([line + b"\r\n" for line in lines])
    when = 1_700_000_000.123456
    return Exchange(url, "127.0.0.1", when, REQUEST, head, body, decoded, "length" if cut else "")


def encoded(name: str, data: bytes) -> bytes:
    coders = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
    for part in filter(None, name.split(", ")):
        data = coders[part](data)
    return data


@dataclass
class Record:
    """A record, as warcio read it; fastwarc read the same."""

    kind: str
    warc: dict[str, str]
    body: bytes
    offset: int


def records(path: Path) -> list[Record]:
    """All records but the first; asserts that both readers agree, and that all digests are right."""
    with path.open("rb") as stream:
        iterator = ArchiveIterator(stream, check_digests="raise")
        found = [
            Record(r.rec_type, dict(r.rec_headers.headers), r.content_stream().read(), iterator.get_record_offset())
            for r in iterator
        ]
    fast = []
    for record in FastIterator(str(path), parse_http=True, auto_decode="all"):
        body = record.reader.read()
        fast.append((record.headers["WARC-Type"], record.headers["WARC-Record-ID"], body, record.stream_pos))
    assert [(r.kind, r.warc["WARC-Record-ID"], r.body, r.offset) for r in found] == fast
    assert all(record.verify_block_digest() for record in FastIterator(str(path), parse_http=False))
    return found[1:]


class Shard:
    """Two archive files and the index of bodies; a test publishes what was written."""

    def __init__(self, folder: Path) -> None:
        self.payloads = Payloads()
        self.paths = [folder / "warc" / f"{number:06d}.warc.gz" for number in range(2)]
        self.paths[0].parent.mkdir(parents=True)
        self.archives = []
        for number, path in enumerate(self.paths):
            file = Appender(path)
            file.append(warcinfo(path.name, "Gossamer/0", {}))
            self.archives.append(Archive(number, file, STORED, self.payloads))

    def publish(self, place: Place, number: int = 0, offset: int | None = None) -> None:
        keys = keys_of(np.frombuffer(place.payload, np.uint8).reshape(1, 20))
        self.payloads.publish(keys, np.array([number]), np.array([place.offset if offset is None else offset]))

    def records(self) -> list[Record]:
        return records(self.paths[0]) + records(self.paths[1])
