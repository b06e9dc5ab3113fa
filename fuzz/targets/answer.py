"""Whole answers, from a socket to the frame that a worker sends and the records that it archives."""

from __future__ import annotations

import contextlib
import gzip
import select
import shutil
import socket
import tempfile
import time
import zlib
from pathlib import Path
from typing import Final

from fuzz.target import Target
from fuzz.targets.decode import DecodeTarget
from fuzz.targets.made import bodies
from gossamer.base.disk import Appender
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config.settings import HarvesterSettings, SeederSettings, Settings
from gossamer.gatherer.reader import Reader
from gossamer.web.archive.archive import Archive
from gossamer.web.fetch.fetch import Fetched, Fetcher
from gossamer.web.message import HEAD, Type, decode_results

_ASKS: Final = (Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP)
_FIELDS: Final = {
    b"WARC-Type",
    b"WARC-Record-ID",
    b"WARC-Date",
    b"WARC-Target-URI",
    b"WARC-IP-Address",
    b"WARC-Concurrent-To",
    b"WARC-Protocol",
    b"WARC-Payload-Digest",
    b"WARC-Block-Digest",
    b"WARC-Truncated",
    b"WARC-Refers-To",
    b"Content-Type",
    b"Content-Length",
}
_URL: Final = b"http://example.org/page"


class AnswerTarget(Target):
    """whole answers, over a socket: the first byte chooses what is requested, the rest is what the server sends."""

    name = "answer"
    parts = (
        "web/fetch/response.py",
        "web/fetch/decode.py",
        "web/fetch/fetch.py",
        "web/archive/archive.py",
        "worker.py",
        "gatherer/preferences.py",
    )
    words = (
        *DecodeTarget.words,
        b"Transfer-Encoding: chunked\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"ffffffff\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: ",
        b"HTTP/1.1 301 Moved\r\nLocation: ",
        b"HTTP/1.0 404 No\r\n",
        b"X-Robots-Tag: noindex\r\n",
        b"Link: </l>; rel=license\r\n",
        b"Content-Usage: train-ai=n\r\n",
        b'ETag: "x"\r\n',
        b"HTTP/0.9",
        b"WARC/1.1\r\n",
        b"Content-Type: text/html; charset=",
        b"User-agent: *\nDisallow: /\n",
        b"<urlset>",
        b"Connection: keep-alive\r\n",
        b"crawler-price: USD 1\r\n",
        b"HTTP/1.1 402 Pay\r\n",
        b"cf-mitigated: challenge\r\n",
    )
    seconds = 4.0
    megabytes = 400  # a sitemap may take 50 MB, and then becomes text with four bytes per character

    def __init__(self) -> None:
        harvester = HarvesterSettings(contact="a@example.org", allow_private=True)
        settings = Settings(seeder=SeederSettings(domains=("example.org",)), harvester=harvester)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._epoll = select.epoll()
        self._fetcher = Fetcher(settings.harvester, self._epoll)
        self._reader = Reader(settings, 7)
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._path = self._folder / "warc" / "000000.warc.gz"
        self._path.parent.mkdir()
        self._number = 0
        self._new_file()

    def close(self) -> None:
        self._listener.close()
        shutil.rmtree(self._folder)

    def seeds(self) -> list[bytes]:
        ok = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
        pages = [b"\0" + ok % (mime.encode(), len(body), body) for body, mime in bodies("text/html", 4)]
        robots = b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\nSitemap: http://example.org/s.xml\n"
        packed = gzip.compress(b"<urlset><url><loc>http://example.org/a</loc></url></urlset>", mtime=0)
        return [
            *pages,
            *(b"\0" + seed for seed in DecodeTarget().seeds()),
            b"\1" + ok % (b"text/plain", len(robots), robots),
            b"\2" + ok % (b"application/gzip", len(packed), packed),
            b"\0HTTP/1.1 302 Found\r\nLocation: http://www.example.org/page\r\nX-Robots-Tag: x: noindex\r\n\r\n",
            b"\0HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
            b"\0HTTP/1.1 402 Pay\r\ncrawler-price: USD 1\r\nContent-Length: 0\r\n\r\n",
        ]

    def check(self, data: bytes) -> None:
        ask = _ASKS[(data[0] if data else 0) % len(_ASKS)]
        fetched = self._fetched(ask, data[1:])
        before = self._appender.length
        frame = self._reader.result(fetched)
        size, kind = HEAD.unpack_from(frame)
        assert (size, kind) == (len(frame) - HEAD.size + 1, Type.RESULT)
        results = decode_results([frame[HEAD.size :]])
        (visit,) = results.visits
        Outcome(int(visit["outcome"]))
        (texts,) = results.visit_texts().all()
        assert sum(map(len, texts.values())) == len(results.texts)
        assert results.links.texts.buffer.isascii()
        _check_records(self._path.read_bytes()[before:])
        if self._appender.length > 1 << 20:
            self._new_file()

    def _new_file(self) -> None:
        if self._reader.archive is not None:
            self._reader.archive.close()
            self._path.unlink()
        self._appender = Appender(self._path)
        self._reader.archive = Archive(0, self._appender, self._reader.max_stored)

    def _fetched(self, ask: Ask, answer: bytes) -> Fetched:
        """Requests the answer over a socket with libcurl; the server runs in the same thread."""
        self._number += 1
        port = self._listener.getsockname()[1]
        self._fetcher.start(Assignment(self._number, ask, 1, 1, 1, _URL, "127.0.0.1", port))
        line, parts = None, [answer]
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            done = self._fetcher.act(self._epoll.poll(min(self._fetcher.timeout(), 0.001)))
            if done:
                if line is not None:
                    line.close()
                return done[0]
            line, parts = serve_to(self._listener, line, parts)
        raise TimeoutError("no answer was read in time")


def serve_to(
    listener: socket.socket, line: socket.socket | None, parts: list[bytes]
) -> tuple[socket.socket | None, list[bytes]]:
    """The server's turn: accepts a connection, or sends the next of the `parts` to it. Returns the connection and what
    is left to send. The connection is closed at the end, when the request has been read."""
    if line is None:
        with contextlib.suppress(BlockingIOError):
            line, _ = listener.accept()
            line.setblocking(False)
        return line, parts
    if line.fileno() < 0:
        return line, parts
    first, rest = parts[0], parts[1:]
    with contextlib.suppress(BlockingIOError):
        try:
            line.recv(1 << 16)
        except ConnectionResetError:
            line.close()
            return line, []
    try:
        while first:
            first = first[line.send(first) :]
    except BlockingIOError:
        return line, [first, *rest]
    except (BrokenPipeError, ConnectionResetError):
        line.close()
        return line, []
    if not rest:
        line.close()
    return line, rest


def _check_records(packed: bytes) -> None:
    """Checks for whole WARC records, with no text of the server among their own fields."""
    while packed:
        stream = zlib.decompressobj(wbits=31)
        record = stream.decompress(packed)
        assert stream.eof
        packed = stream.unused_data
        head, _, rest = record.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        assert first == b"WARC/1.1"
        fields = dict(line.split(b": ", 1) for line in lines)
        assert len(fields) == len(lines)
        assert set(fields) <= _FIELDS, set(fields) - _FIELDS
        assert len(rest) == int(fields[b"Content-Length"]) + 4
        assert rest.endswith(b"\r\n\r\n")
        if fields[b"WARC-Type"] == b"response":
            _check_http(rest[:-4])


def _check_http(block: bytes) -> None:
    """Checks that every reader separates head and body in the same way."""
    head, end, body = block.partition(b"\r\n\r\n")
    assert end
    lines = head.split(b"\r\n")[1:]
    assert all(b"\n" not in line and b"\r" not in line for line in lines)
    (length,) = [int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")]
    assert len(body) == length
