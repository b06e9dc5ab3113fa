"""WARC files: warcio and fastwarc read every record to its end, and read the same."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.disk import Appender
from gossamer.web.archive.archive import Archive, Exchange, Place, _spelled, warcinfo
from gossamer.web.fetch.response import read_head
from gossamer.webs.hostile.saying import chunked
from tests.support.archiving import REQUEST, STORED, encoded, exchange
from tests.support.server import ANSWERS, PAGE


@dataclass
class Read:
    """A response record, as both readers saw it."""

    uri: str
    status: str
    headers: dict[str, str]
    warc: dict[str, str]
    body: bytes
    offset: int


def of_answer(raw: bytes, body: bytes) -> Exchange:
    """An exchange from the bytes of an answer, and its body after the transfer coding."""
    head = raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    found = read_head(head.splitlines(keepends=True))
    made = exchange(body, *found.fields)
    return Exchange(made.url, made.address, made.time, REQUEST, found, body, made.decoded)


def write(path: Path, *exchanges: Exchange, most: int = STORED) -> list[Place]:
    file = Appender(path)
    if not file.length:
        file.append(
            warcinfo(path.name, "Gossamer/0", {"operator": "you@example.org\r\nrobots: none", "robots": "obey"})
        )
    archive = Archive(1, file, most)
    places = [archive.write(each) for each in exchanges]
    archive.close()
    return places


def read(path: Path) -> list[Read]:
    """All responses of a file; asserts that both readers agree on every record, and that all digests are right."""
    by_warcio = []
    with path.open("rb") as stream:
        records = ArchiveIterator(stream, check_digests="raise")
        for record in records:
            body = record.content_stream().read()
            if record.rec_type == "response":
                http = dict(record.http_headers.headers)
                warc = dict(record.rec_headers.headers)
                uri = warc["WARC-Target-URI"]
                status = record.http_headers.get_statuscode()
                by_warcio.append(Read(uri, status, http, warc, body, records.get_record_offset()))
    by_fastwarc = []
    for record in FastIterator(str(path), parse_http=True, auto_decode="all"):
        body = record.reader.read()
        if record.record_type == WarcRecordType.response:
            by_fastwarc.append((record.headers["WARC-Target-URI"], body, record.stream_pos))
    for record in FastIterator(str(path), parse_http=False):
        assert record.verify_block_digest()
    assert [(r.uri, r.body, r.offset) for r in by_warcio] == by_fastwarc
    return by_warcio


@pytest.mark.parametrize("name", ["", "gzip", "deflate", "br", "zstd", "gzip, br"])
def test_bodies_in_every_encoding_are_read_decoded(tmp_path: Path, name: str) -> None:
    body = encoded(name, PAGE)
    fields = [(b"Content-Type", b"text/html"), (b"Content-Length", b"%d" % len(body))]
    if name:
        fields.append((b"Content-Encoding", name.encode()))
    write(tmp_path / "a.warc.gz", exchange(body, *fields))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == PAGE
    assert (found.uri, found.status) == ("http://site.test/x", "200")


def test_a_body_that_every_reader_can_decode_is_stored_as_it_came(tmp_path: Path) -> None:
    body = gzip.compress(PAGE)
    fields = [(b"Content-Encoding", b"gzip"), (b"Content-Length", b"%d" % len(body))]
    write(tmp_path / "a.warc.gz", exchange(body, *fields))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.headers == {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    assert found.warc["WARC-Payload-Digest"] == "sha1:" + digest


@pytest.mark.parametrize("path", sorted(set(ANSWERS) - {"/not-http", "/lf", "/early-hints", "/bomb", "/bad-encoding"}))
def test_all_kinds_of_answers_are_read_to_the_end(tmp_path: Path, path: str) -> None:
    body = ANSWERS[path].partition(b"\r\n\r\n")[2]
    if path.startswith("/chunked"):
        body = PAGE if path == "/chunked" else gzip.compress(PAGE)
    made = of_answer(ANSWERS[path], body)
    write(tmp_path / "a.warc.gz", made, made)
    first, second = read(tmp_path / "a.warc.gz")
    kept = made.decoded.common and len(body) <= STORED
    assert first.body == second.body == (made.decoded.data if kept else made.decoded.data[:STORED])


def test_a_dechunked_body_gets_a_true_length_and_the_old_fields_another_name(tmp_path: Path) -> None:
    made = of_answer(chunked(PAGE, "Content-Length: 7"), PAGE)
    write(tmp_path / "a.warc.gz", made)
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.headers["Content-Length"] == str(len(PAGE))
    assert found.headers["X-Crawler-Transfer-Encoding"] == "chunked"
    assert found.headers["X-Crawler-Content-Length"] == "7"
    assert "Transfer-Encoding" not in found.headers
    assert found.body == PAGE


def block_of(path: Path) -> bytes:
    """The first response record of a file, byte by byte."""
    for record in FastIterator(str(path), record_types=WarcRecordType.response, parse_http=False):
        return bytes(record.reader.read())
    raise AssertionError


HEADS = {
    "spaces": b"HTTP/1.0 200   OK  fine \r\nX-Empty:\r\nX-E2: \t \r\nContent-Length:9\r\nx-low:HIGH\r\n\r\n",
    "other bytes": b"HTTP/1.1 200 \xe9\r\nX-Acc: Jos\xe9\r\nX-\x01: \x1b[31m\r\nContent-Length: 9\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nA: 1\r\nA: 2\r\na:1\r\nContent-Length:  9\r\n\r\n",
}


@pytest.mark.parametrize("case", HEADS)
def test_a_head_is_stored_as_it_came_byte_by_byte(tmp_path: Path, case: str) -> None:
    body, raw = b"<p>it</p>", HEADS[case]
    head = read_head(raw.splitlines(keepends=True))
    made = exchange(body)
    write(tmp_path / "a.warc.gz", Exchange(made.url, made.address, made.time, REQUEST, head, body, made.decoded))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == body
    assert block_of(tmp_path / "a.warc.gz") == b"".join(raw.splitlines(keepends=True)[:-1]) + b"\r\n" + body


def test_line_ends_that_are_no_crlf_are_changed_and_marked(tmp_path: Path) -> None:
    head = read_head([b"HTTP/1.1 200 OK\n", b"Content-Type:text/html \n", b"X-B :  b\rc \r\n", b"\n"])
    made = exchange(PAGE)
    write(tmp_path / "a.warc.gz", Exchange(made.url, made.address, made.time, REQUEST, head, PAGE, made.decoded))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == PAGE
    assert block_of(tmp_path / "a.warc.gz").partition(b"\r\n\r\n")[0].split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"Content-Type:text/html ",
        b"X-B :  b c ",
        b"Content-Length: %d" % len(PAGE),
        b"X-Crawler-Line-Ends: LF or CR",
    ]


def test_what_is_changed_in_a_head_keeps_its_bytes_behind_another_name(tmp_path: Path) -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", b"transfer-Encoding:chunked \r\n", b"Content-Length :5\r\n", b"\r\n"]
    head = read_head([*lines, b"X-Sum:  9 \r\n", b"nonsense\r\n"])
    made = exchange(PAGE)
    write(tmp_path / "a.warc.gz", Exchange(made.url, made.address, made.time, REQUEST, head, PAGE, made.decoded))
    (found,) = read(tmp_path / "a.warc.gz")
    assert block_of(tmp_path / "a.warc.gz").partition(b"\r\n\r\n")[0].split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"X-Crawler-transfer-Encoding:chunked ",
        b"X-Crawler-Content-Length :5",
        b"X-Crawler-Trailer-X-Sum:  9 ",
        b"Content-Length: %d" % len(PAGE),
    ]
    assert found.body == PAGE
    assert "WARC-Protocol" not in found.warc


def test_an_exchange_by_http_2_is_marked_and_written_as_http_1_1(tmp_path: Path) -> None:
    head = read_head([b"HTTP/2 200 \r\n", b"content-type: text/html\r\n", b"\r\n"])
    made = exchange(PAGE)
    write(tmp_path / "a.warc.gz", Exchange(made.url, made.address, made.time, REQUEST, head, PAGE, made.decoded))
    (found,) = read(tmp_path / "a.warc.gz")
    assert (found.status, found.body, found.warc["WARC-Protocol"]) == ("200", PAGE, "h2")
    with (tmp_path / "a.warc.gz").open("rb") as stream:
        marks = [r.rec_headers.get_header("WARC-Protocol") for r in ArchiveIterator(stream)]
    assert marks == [None, "h2", "h2"]


def test_the_version_of_tls_stands_in_the_record(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", replace(exchange(PAGE), tls="1.3"))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.warc["WARC-Protocol"] == "tls/1.3"


@pytest.mark.parametrize("why", ["length", "unspecified"])
def test_a_record_says_why_its_body_has_no_end(tmp_path: Path, why: str) -> None:
    made = exchange(PAGE)
    write(tmp_path / "a.warc.gz", replace(made, cut=why))
    assert read(tmp_path / "a.warc.gz")[0].warc["WARC-Truncated"] == why


@pytest.mark.parametrize("name", ["", "gzip", "br", "zstd"])
def test_a_body_that_is_too_long_is_stored_cut_and_marked(tmp_path: Path, name: str) -> None:
    body = encoded(name, PAGE)
    fields = [(b"Content-Encoding", name.encode())] if name else []
    write(tmp_path / "a.warc.gz", exchange(body, *fields, (b"Content-Length", b"%d" % len(body))), most=50)
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == PAGE[:50]
    assert found.warc["WARC-Truncated"] == "length"
    assert found.headers["Content-Length"] == "50"


@pytest.mark.parametrize("name", ["", "gzip", "deflate", "br", "zstd"])
def test_a_body_that_was_not_read_to_its_end_is_stored_as_far_as_it_goes(tmp_path: Path, name: str) -> None:
    body = encoded(name, PAGE)[:60]
    fields = [(b"Content-Encoding", name.encode())] if name else []
    made = exchange(body, *fields, (b"Content-Length", b"99999"), cut=True)
    write(tmp_path / "a.warc.gz", made)
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == made.decoded.data
    assert PAGE.startswith(found.body)
    assert found.warc["WARC-Truncated"] == "length"
    assert "Content-Encoding" not in found.headers


@pytest.mark.parametrize("body", [b"plain <p>text", bytes(range(256))])
def test_a_body_with_a_false_encoding_is_stored_as_it_came(tmp_path: Path, body: bytes) -> None:
    write(tmp_path / "a.warc.gz", exchange(body, (b"Content-Encoding", b"gzip")))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == body
    assert found.headers["X-Crawler-Content-Encoding"] == "gzip"


def test_a_bomb_is_stored_as_it_came(tmp_path: Path) -> None:
    body = gzip.compress(bytes(8_000_000))
    made = exchange(body, (b"Content-Encoding", b"gzip"))
    assert not made.decoded.ok
    write(tmp_path / "a.warc.gz", made)
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.body == body


def test_request_and_response_name_each_other_and_the_address(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", exchange(PAGE))
    with (tmp_path / "a.warc.gz").open("rb") as stream:
        records = [(r.rec_type, dict(r.rec_headers.headers), r.raw_stream.read()) for r in ArchiveIterator(stream)]
    assert [kind for kind, _, _ in records] == ["warcinfo", "request", "response"]
    info, request, response = (headers for _, headers, _ in records)
    assert info["WARC-Filename"] == "a.warc.gz"
    assert b"\r\noperator: you@example.org robots: none\r\nrobots: obey\r\n" in records[0][2]
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"] != request["WARC-Record-ID"]
    assert {h["WARC-IP-Address"] for h in (request, response)} == {"127.0.0.1"}
    assert {h["WARC-Date"] for h in (request, response)} == {"2023-11-14T22:13:20.123456Z"}


def test_an_offset_leads_to_its_response_and_the_end_to_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    urls = [b"http://site.test/%d" % i for i in range(5)]
    places = write(path, *[exchange(PAGE, url=url) for url in urls])
    assert [found.offset for found in read(path)] == [place.offset for place in places]
    for place, url in zip(places, urls, strict=True):
        with path.open("rb") as stream:
            stream.seek(place.offset)
            record = next(iter(ArchiveIterator(stream)))
            assert record.rec_headers["WARC-Target-URI"] == url.decode()
    assert places[-1].end == path.stat().st_size


def test_a_file_cut_at_the_end_of_a_result_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    places = write(path, *[exchange(PAGE) for _ in range(4)])
    with path.open("r+b") as stream:
        stream.truncate(places[1].end)
    assert len(read(path)) == 2
    write(path, exchange(PAGE))
    assert len(read(path)) == 3


def test_a_file_with_only_its_first_record_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz")
    assert read(tmp_path / "a.warc.gz") == []


TOKEN = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ-_0123456789", min_size=1, max_size=12).map(str.encode)
VALUE = st.binary(max_size=30).map(lambda v: v.translate(None, b"\r\n\0").strip())


@given(
    st.lists(st.tuples(TOKEN, VALUE), max_size=6),
    st.binary(max_size=300),
    st.sampled_from(["", "gzip", "deflate", "br", "zstd", "x-gzip", "nonsense"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_both_readers_read_the_same_whatever_is_written(
    tmp_path_factory: pytest.TempPathFactory,
    odd: list[tuple[bytes, bytes]],
    body: bytes,
    name: str,
    true: bool,
    cut: bool,
) -> None:
    special = {b"content-encoding", b"transfer-encoding", b"content-length"}
    fields = [(n, v) for n, v in odd if n.lower() not in special]
    coded = encoded(name, body) if true and name not in ("x-gzip", "nonsense") else body
    fields.append((b"Content-Encoding", name.encode()))
    path = tmp_path_factory.mktemp("warc") / "a.warc.gz"
    made = exchange(coded, *fields, cut=cut)
    write(path, made, made)
    found = read(path)
    assert [each.body for each in found] == [made.decoded.data if made.decoded.ok else coded] * 2


def test_urls_cannot_add_fields(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", exchange(PAGE, url=b"http://site.test/\r\nWARC-Type:metadata"))
    (found,) = read(tmp_path / "a.warc.gz")
    assert found.warc["WARC-Type"] == "response"


@given(st.binary(min_size=20, max_size=20))
def test_digests_are_written_in_base_32(sha1: bytes) -> None:
    assert _spelled(sha1) == b"sha1:" + base64.b32encode(sha1)
