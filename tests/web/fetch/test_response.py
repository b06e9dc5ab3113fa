"""Answers of servers that break the rules: the outcome of each fault, its detail, and its cost."""

from __future__ import annotations

import gzip
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import brotli
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.dates import DAY, believed, http_date
from gossamer.base.model import Ask, Assignment, Counted, Outcome, Texts, VisitFlag
from gossamer.base.units import Duration, Size
from gossamer.collection.tables.segments import _modified
from gossamer.config import Settings, override
from gossamer.gatherer.charset import _codec, codec, decode
from gossamer.gatherer.reader import Reader
from gossamer.web.fetch.decode import decode as undo
from gossamer.web.fetch.decode import salvaged
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.response import broken, kind_of, mime, named, part, read_head, retry_after, tls_fault
from gossamer.web.message import decode_results
from tests.support.faults import Answer, Raw, endless, mute
from tests.support.paths import DATA
from tests.support.server import PAGE
from tests.support.timing import WITHIN, grows_less, takes_less
from tests.web.fetch.test_fetch import SETTINGS, Loop, certificate

__all__ = ["certificate"]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ONE_CHUNK = b"%x\r\n%s\r\n" % (len(PAGE), PAGE)
QUARTER = b"y" * (1 << 18)
HASTY = replace(
    SETTINGS,
    first_byte_timeout=Duration(1),
    slow_time=Duration(0.5),
    connect_timeout=Duration(1),
    whole_timeout=Duration(WITHIN),
)


def answer(*fields: bytes, body: bytes = PAGE, status: bytes = b"HTTP/1.1 200 OK", kind: bytes = b"text/html") -> bytes:
    lines = [status, b"Content-Type: " + kind, *fields, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


READ: dict[str, bytes] = {
    "longer than its length": answer() + b"and more",
    "bare line feeds": answer().replace(b"\r\n", b"\n"),
    "no reason": answer(status=b"HTTP/1.1 200"),
    "small letters": answer(status=b"http/1.1 200 OK"),
    "HTTP/1.0 until close": b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE,
    "folded": answer(b"X-Long: one\r\n  two"),
    "folded type": answer(kind=b"\r\n text/html"),
    "doubled type": answer(b"Content-Type: application/zip"),
    "doubled length, the same": answer(b"Content-Length: %d" % len(PAGE)),
    "length and chunks": CHUNKED.replace(b"Transfer", b"Content-Length: 5\r\nTransfer") + ONE_CHUNK + b"0\r\n\r\n",
    "a length of 26 digits": HEAD + b"Content-Length: " + b"9" * 26 + b"\r\n\r\n" + PAGE,
    "control characters in a field": answer(b"X-Odd: a\x01\x1b[31mb"),
    "a field without a name": answer(b": b"),
    "three answers before the answer": b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + answer(),
}

PROTOCOL: dict[str, tuple[bytes | Answer, str]] = {
    "no status line": (PAGE, "HTTP/0.9"),
    "nothing but a body, endless": (endless(b"", QUARTER), ""),  # the fault depends on how much came at once
    "another protocol": (b"SSH-2.0-OpenSSH_9.9\r\n", "HTTP/0.9"),
    "abc as a status": (answer(status=b"HTTP/1.1 abc"), ""),
    "HTTP/9.9": (answer(status=b"HTTP/9.9 200 OK"), "version"),
    "no version": (answer(status=b"200 OK"), "HTTP/0.9"),
    "status 0": (answer(status=b"HTTP/1.1 0 OK"), ""),
    "status 000": (answer(status=b"HTTP/1.1 000 OK"), ""),
    "status 1000": (answer(status=b"HTTP/1.1 1000 OK"), ""),
    "status 2000": (answer(status=b"HTTP/1.1 2000 OK"), "status line"),
    "a status line without end": (endless(b"HTTP/1.1 200 ", QUARTER), "too long"),
    "leading blank lines": (b"\r\n\r\n" + answer(), ""),
    "bare carriage returns": (answer().replace(b"\r\n", b"\r"), "Carriage return"),
    "endless headers": (endless(HEAD, b"X-More: %s\r\n" % (b"y" * 1000)), "head too long"),
    "endless empty headers": (endless(HEAD, b"a:\r\n" * 1000), "Too many"),
    "a header line of megabytes": (lambda _: [HEAD, b"X-Long: ", *[QUARTER] * 40, b"\r\n\r\n"], "too long"),
    "a location of megabytes": (
        lambda _: [b"HTTP/1.1 302 Found\r\nLocation: /", *[QUARTER] * 8, b"\r\n\r\n"],
        "too long",
    ),
    "an endless header line": (endless(HEAD + b"X-Long: ", QUARTER), "too long"),
    "endless answers before the answer": (endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 99), ""),
    "another protocol from now on": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + PAGE, "protocol"),
    "a header without colon": (answer(b"nonsense"), "colon"),
    "NUL in a value": (answer(b"X-Odd: a\0b"), "NUL"),
    "NUL in a name": (answer(b"X\0Odd: ab"), "NUL"),
    "NUL in a location": (answer(b"Location: /a\0b", status=b"HTTP/1.1 302 Found"), "NUL"),
    "a folded line that follows nothing": (answer(status=b"HTTP/1.1 200 OK\r\n folded"), "colon"),
    "two lengths": (answer(b"Content-Length: 5"), "Content-Length"),
    "a negative length": (HEAD + b"Content-Length: -5\r\n\r\n" + PAGE, "Content-Length"),
    "a length of letters": (HEAD + b"Content-Length: abc\r\n\r\n" + PAGE, "Content-Length"),
    "an unknown transfer encoding": (HEAD + b"Transfer-Encoding: foo\r\n\r\n" + PAGE, "Transfer-Encoding"),
    "no chunks though it says so": (CHUNKED + PAGE, "chunk"),
    "a size of letters": (CHUNKED + b"5\r\nhello\r\nzz\r\n", "chunk"),
    "a size of twenty digits": (CHUNKED + b"f" * 20 + b"\r\n" + PAGE, "chunk"),
    "a negative size": (CHUNKED + b"-5\r\n" + PAGE, "chunk"),
    "a chunk longer than its size": (CHUNKED + b"5\r\n" + PAGE, "chunk"),
    "endless trailers": (endless(CHUNKED + b"5\r\nhello\r\n0\r\n", b"X: %s\r\n" % (b"z" * 1000)), "head too long"),
    "a part from the middle": (
        answer(b"Content-Range: bytes 500-1549/9000", status=b"HTTP/1.1 206 Partial Content"),
        "not asked for",
    ),
}

BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "within the status line": b"HTTP/1.1 2",
    "within the head": HEAD + b"X-",
    "behind the head's last line": HEAD,
    "before the body": HEAD + b"Content-Length: 5\r\n\r\n",
    "within the body": HEAD + b"Content-Length: 99999\r\n\r\n" + PAGE,
    "within a chunk": CHUNKED + ONE_CHUNK[:-100],
    "between chunks": CHUNKED + ONE_CHUNK,
    "a size of sixteen digits": CHUNKED + b"7fffffffffffffff\r\n" + PAGE,
}


@pytest.mark.parametrize("case", READ)
def test_odd_but_readable_answers_are_read(case: str) -> None:
    with Raw(READ[case]) as server:
        fetched = Loop().get(server.url())
    assert (fetched.failure, fetched.status, fetched.body) == (None, 200, PAGE), fetched.detail
    assert fetched.head.line.startswith(b"HTTP/1.")
    assert mime(fetched.headers) == "text/html"


@pytest.mark.parametrize("case", PROTOCOL)
def test_a_broken_answer_is_a_protocol_error(case: str) -> None:
    sent, words = PROTOCOL[case]
    with Raw(sent) as server:
        fetched = Loop().get(server.url())
        assert fetched.failure is Outcome.PROTOCOL_ERROR
        assert fetched.detail
        assert words in fetched.detail
        assert fetched.end - fetched.start < WITHIN
        assert len(server.requests) == 1
    assert server.sent < 20_000_000


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("case", BROKEN)
def test_wherever_a_connection_ends_or_is_reset_the_answer_is_broken_off(case: str, reset: bool) -> None:
    with Raw(BROKEN[case], reset=reset) as server:
        fetched = Loop().get(server.url())
        assert (fetched.failure, len(server.requests)) == (Outcome.BROKEN_OFF, 1)
        assert fetched.detail


def dripping(first: bytes, piece: bytes) -> Answer:
    def drip(request: bytes) -> Iterator[bytes]:
        yield first
        for _ in range(600):
            time.sleep(0.05)
            yield piece

    return drip


@pytest.mark.parametrize(
    ("sent", "outcome", "words"),
    [
        (dripping(b"HTTP/1.1 200 ", b"O"), Outcome.TIMED_OUT, "no status line in time"),
        (dripping(HEAD, b"a"), Outcome.TOO_SLOW, "lowest speed"),
        (dripping(HEAD + b"\r\n", b"a"), Outcome.TOO_SLOW, "lowest speed"),
        (dripping(CHUNKED, b"1\r\na\r\n"), Outcome.TOO_SLOW, "lowest speed"),
        (dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), Outcome.TOO_SLOW, "lowest speed"),
        (dripping(CHUNKED + b"5;", QUARTER), Outcome.PROTOCOL_ERROR, "no body"),
    ],
    ids=["status line", "head", "body", "chunks", "answers before the answer", "an endless chunk extension"],
)
def test_a_server_that_sends_single_bytes_is_too_slow_in_head_and_body(
    sent: Answer, outcome: Outcome, words: str
) -> None:
    with Raw(sent) as server:
        fetched = Loop(HASTY).get(server.url())
        assert fetched.failure is outcome
        assert words in fetched.detail
        assert fetched.end - fetched.start < WITHIN


def test_a_firewall_that_accepts_and_drops_times_out_when_the_first_byte_is_due() -> None:
    with mute() as port:
        fetched = Loop(HASTY).get(b"http://site.test:%d/" % port)
    assert (fetched.failure, fetched.status) == (Outcome.TIMED_OUT, 0)
    assert 0.9 <= fetched.end - fetched.start < WITHIN


def test_what_a_server_sends_takes_no_more_memory_than_the_bounds_of_head_and_body() -> None:
    tiny = [b"2\r\nxy\r\n" * 10_000] * 100
    sent: list[bytes | Answer] = [
        endless(HEAD + b"\r\n", QUARTER),
        endless(HEAD, b"a:\r\n" * 1000),
        endless(HEAD + b"X-Long: ", QUARTER),
        lambda _: [CHUNKED, *tiny, b"0\r\n\r\n"],
    ]
    for each in sent:
        with Raw(each) as server:
            loop = Loop()
            tracemalloc.start()
            fetched = loop.get(server.url())
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2_500_000, (fetched.failure, peak)
            assert len(fetched.body) <= 400_000


# --- heads, as pure functions ---------------------------------------------------------------------------------------

_line = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK\r\n",
            b"\r\n",
            b"\n",
            b" folded\r\n",
            b"Content-Type: text/html\r\n",
            b"a:\r\n",
            b"Location: /x\r\n",
            b"http/1.1 404\r\n",
            b"HTTP/2 200 \r\n",
            b"Content-Range: bytes 0-1/2\r\n",
        ]
    ),
)


@given(st.lists(_line, max_size=20))
def test_any_head_is_read(lines: list[bytes]) -> None:
    line, fields, headers, raw, trailers, whole = read_head(lines)
    assert len(raw) + len(trailers) + whole <= len(lines)
    assert not line or line.startswith(b"HTTP/")
    assert headers == named(fields)
    assert all(name == name.lower() for name in headers)
    assert broken(line) or 200 <= int(line[9:12]) <= 999
    assert part(headers.get("content-range", "")) in (None, (0, 1, 2))
    assert len(mime(headers)) <= 100


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("bytes 0-9/100", (0, 9, 100)),
        ("bytes 0-9/*", (0, 9, -1)),
        ("bytes  5-9/10 ", (5, 9, 10)),
        ("", None),
        ("bytes */100", None),
        ("bytes 9-0/100", None),
        ("bytes 0-100/100", None),
        ("lines 0-9/100", None),
        ("bytes 0-" + "9" * 5000 + "/*", None),
        ("bytes ٠-٩/*", None),
    ],
)
def test_content_range_is_read_whole_or_not_at_all(value: str, found: tuple[int, int, int] | None) -> None:
    assert part(value) == found


# --- parts: Range ---------------------------------------------------------------------------------------------------

RANGED = replace(SETTINGS, range=True, max_download=Size(500))


def test_by_default_no_part_is_requested() -> None:
    with Raw(answer()) as server:
        fetched = Loop().get(server.url())
        assert b"Range" not in fetched.request
        assert fetched.request == server.requests[0]


def test_a_part_is_requested_without_compression_and_cut_if_there_is_more() -> None:
    def parts(request: bytes) -> list[bytes]:
        assert b"\r\nRange: bytes=0-499\r\n" in request
        assert b"\r\nAccept-Encoding: identity\r\n" in request
        return [answer(b"Content-Range: bytes 0-499/%d" % len(PAGE), body=PAGE[:500], status=b"HTTP/1.1 206 Part")]

    with Raw(parts) as server:
        fetched = Loop(RANGED).get(server.url())
        assert (fetched.failure, fetched.status, fetched.body, fetched.cut) == (None, 206, PAGE[:500], True)
        assert fetched.request == server.requests[0]
        assert fetched.traffic.sent == len(fetched.request)


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        (b"bytes 0-499/500", False),
        (b"bytes 0-499/501", True),
        (b"bytes 0-499/*", True),
        (b"bytes 0-99/*", False),
        (b"nonsense", False),
    ],
)
def test_a_206_is_ok_and_cut_if_it_says_that_there_is_more(said: bytes, cut: bool) -> None:
    with Raw(answer(b"Content-Range: " + said, body=b"x" * 500, status=b"HTTP/1.1 206 Partial Content")) as server:
        fetched = Loop(RANGED).get(server.url())
        assert (fetched.failure, fetched.cut, len(fetched.body)) == (None, cut, 500)


def test_a_server_that_ignores_range_is_cut_all_the_same() -> None:
    with Raw(answer()) as server:
        fetched = Loop(RANGED).get(server.url())
    assert (fetched.failure, fetched.status, fetched.body, fetched.cut) == (None, 200, PAGE[:500], True)


def test_a_page_with_416_goes_back_once_and_is_then_requested_without_range() -> None:
    def picky(request: bytes) -> list[bytes]:
        close = b"Connection: close"
        return [answer(close, status=b"HTTP/1.1 416 No") if b"Range:" in request else answer(close)]

    with Raw(picky) as server:
        loop = Loop(replace(RANGED, max_download=Size(400_000)))
        first, second, third = (loop.get(server.url(path)) for path in ("/a", "/a", "/b"))
        assert (first.failure, first.status) == (Outcome.RETURNED, 416)
        assert (second.failure, second.body) == (None, PAGE)
        assert (third.failure, third.body) == (None, PAGE), "the server is known"
        assert len(server.requests) == 3, "nothing is repeated without the queue"
        assert [b"Range:" in request for request in server.requests] == [True, False, False]
        assert b"Accept-Encoding: gzip" in server.requests[1]
        assert loop.get(server.url("/robots.txt"), Ask.ROBOTS).failure is None


def test_a_server_that_answers_416_to_everything_refuses() -> None:
    with Raw(answer(b"Connection: close", status=b"HTTP/1.1 416 No")) as server:
        loop = Loop(RANGED)
        fetched = [loop.get(server.url()) for _ in range(2)]
        assert [(f.failure, f.status) for f in fetched] == [(Outcome.RETURNED, 416), (None, 416)]
        assert Reading().outcome(fetched[1]) is Outcome.REFUSED


def test_robots_txt_is_never_requested_in_parts() -> None:
    with Raw(answer(kind=b"text/plain")) as server:
        Loop(RANGED).get(server.url("/robots.txt"), Ask.ROBOTS)
        assert b"Range:" not in server.requests[0]


# --- TLS ------------------------------------------------------------------------------------------------------------

EXPIRED = DATA / "expired.pem"


def context(chain: Path, key: Path | None = None) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(chain, key)
    return made


def old(made: ssl.SSLContext) -> ssl.SSLContext:
    made.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        made.minimum_version, made.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    return made


Tls = Callable[[tuple[Path, Path]], tuple[ssl.SSLContext, str, str]]
"""From a good certificate: that of the server, the trusted file, and the host that is requested."""
TLS: dict[str, Tls] = {
    "expired": lambda good: (context(EXPIRED), str(EXPIRED), "site.test"),
    "self-signed": lambda good: (context(good[1], good[0]), str(EXPIRED), "site.test"),
    "wrong name": lambda good: (context(good[1], good[0]), str(good[1]), "other.test"),
    "old version": lambda good: (old(context(good[1], good[0])), str(good[1]), "site.test"),
}


@pytest.mark.parametrize("word", TLS)
def test_the_detail_says_what_is_wrong_with_a_secure_connection(certificate: tuple[Path, Path], word: str) -> None:
    tls, trusted, host = TLS[word](certificate)
    with Raw(answer(), tls) as server:
        fetched = Loop(replace(SETTINGS, trusted=trusted)).get(server.url().replace(b"site.test", host.encode()))
    assert (fetched.failure, fetched.detail.partition(":")[0]) == (Outcome.TLS_FAILED, word)
    assert (fetched.status, fetched.unverified) == (0, False)
    assert server.requests == []


def test_a_handshake_that_is_stuck_ends_with_the_time_for_connecting() -> None:
    with mute() as port:
        fetched = Loop(HASTY).get(b"https://site.test:%d/" % port)
    assert (fetched.failure, fetched.detail.partition(":")[0]) == (Outcome.TLS_FAILED, "stuck")
    assert 0.3 <= fetched.end - fetched.start < WITHIN


@pytest.mark.parametrize(("sent", "word"), [(b"", "broken off"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no TLS")])
@pytest.mark.parametrize("reset", [False, True])
def test_the_detail_says_that_a_handshake_is_broken_off_or_answered_in_plain(
    sent: bytes, word: str, reset: bool
) -> None:
    with Raw(sent, reset=reset) as server:
        fetched = Loop().get(server.url().replace(b"http:", b"https:"))
    assert fetched.failure is Outcome.TLS_FAILED
    assert fetched.detail.partition(":")[0] in (word, "broken off")


def test_the_fault_of_one_server_is_not_reported_for_the_next() -> None:
    loop = Loop(replace(HASTY, trusted=str(EXPIRED)))
    with Raw(answer(), context(EXPIRED)) as server, Raw(b"", reset=True) as rude, mute() as port:
        urls = [server.url(), rude.url().replace(b"http:", b"https:"), b"https://site.test:%d/" % port]
        words = [loop.get(url).detail.partition(":")[0] for url in urls]
    assert words == ["expired", "broken off", "stuck"]


def test_the_detail_about_a_certificate_has_our_word_and_libcurls_message() -> None:
    assert tls_fault("SSL certificate problem: certificate has expired", 10).startswith("expired: SSL certificate")
    assert tls_fault("", 20) == "unknown issuer"
    assert tls_fault("something new", 1) == "not agreed on: something new"


@pytest.mark.parametrize("word", ["expired", "self-signed", "wrong name"])
def test_pages_behind_an_invalid_certificate_are_fetched_on_request_and_marked(
    certificate: tuple[Path, Path], word: str
) -> None:
    tls, trusted, host = TLS[word](certificate)
    with Raw(answer(b"Connection: close"), tls) as server:
        url = server.url().replace(b"site.test", host.encode())
        loop = Loop(replace(SETTINGS, trusted=trusted, invalid_certificates=True))
        first, second, third = (loop.get(url) for _ in range(3))
        assert (first.failure, first.status, len(server.requests)) == (Outcome.RETURNED, 0, 2)
        for fetched in (second, third):
            assert (fetched.failure, fetched.body, fetched.unverified) == (None, PAGE, True)
            assert fetched.detail.startswith(f"certificate {word}: ")
        visit, texts, _ = Reading().visit(second)
        assert visit["flags"] & VisitFlag.UNVERIFIED
        assert texts["detail"].startswith(b"certificate " + word.encode())


def test_with_that_setting_valid_certificates_are_still_verified(certificate: tuple[Path, Path]) -> None:
    key, cert = certificate
    with Raw(answer(b"Connection: close"), context(cert, key)) as server:
        fetched = Loop(replace(SETTINGS, trusted=str(cert), invalid_certificates=True)).get(server.url())
    assert (fetched.failure, fetched.unverified, fetched.detail) == (None, False, "")


# --- what a worker makes of it --------------------------------------------------------------------------------------


class Reading:
    """A reader of answers without a network: takes fields and a body, returns a visit."""

    def __init__(self, *changes: str) -> None:
        self.reader = Reader(override(Settings(), ('seeder.domains=["*"]', *changes)), 7)

    def visit(self, fetched: Fetched) -> tuple[np.void, dict[str, bytes], list[bytes]]:
        results = decode_results([self.reader.result(fetched)[5:]])
        return results.visits[0], results.visit_texts().all()[0], results.links.texts.split()

    def outcome(self, fetched: Fetched) -> Outcome:
        return Outcome(self.visit(fetched)[0]["outcome"])


def fetched(
    *fields: bytes, body: bytes = PAGE, status: int = 200, ask: Ask = Ask.PAGE, url: bytes = b"http://site.test/x"
) -> Fetched:
    head = read_head([b"HTTP/1.1 %d X\r\n" % status, *(field + b"\r\n" for field in fields), b"\r\n"])
    assignment = Assignment(1, ask, 1, 1, 1, url, "127.0.0.1", 80)
    return Fetched(assignment, None, "", 1.0, 2.0, status=status, head=head, headers=head.headers, body=body)


FORMATS = {
    "ZIP": b"PK\x03\x04",
    "PDF": b"%PDF-1.7\n",
    "PNG": b"\x89PNG\r\n\x1a\n",
    "GIF": b"GIF89a",
    "JPEG": b"\xff\xd8\xff\xe0",
    "gzip": b"\x1f\x8b\x08\0",
    "MP4": b"\0\0\0\x18ftypmp42",
    "WebP": b"RIFF\x10\0\0\0WEBP",
    "program": b"MZ\x90\0\3",
    "Office document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_body_that_is_no_page_by_its_first_bytes_is_of_another_type(name: str) -> None:
    body = FORMATS[name] + bytes(2000)
    with Raw(lambda request: [answer(body=body, kind=b"" if b"/untyped" in request else b"text/html")]) as server:
        loop = Loop()
        for path in ("/typed", "/untyped"):
            found = loop.get(server.url(path))
            assert (found.failure, found.body) == (Outcome.OTHER_TYPE, b"")
            assert f"but {name} by" in found.detail
        assert loop.get(server.url("/sitemap.xml.gz"), Ask.SITEMAP).body == body
    visit, texts, links = Reading().visit(
        fetched(b"Content-Type: text/html", b"Content-Encoding: br", body=brotli.compress(body))
    )
    assert (visit["outcome"], visit["length"], visit["digest"], links) == (Outcome.OTHER_TYPE, 0, 0, [])
    assert texts["detail"].startswith(b"called text/html, but " + name.encode())


@given(st.text(min_size=1, max_size=200))
def test_no_page_is_taken_for_another_type(text: str) -> None:
    assert kind_of(b"<!doctype html>" + text.encode()) == ""
    assert kind_of(b"MZ is the mark of the Mazda works") == kind_of(b"RIFFRAFF of the town") == kind_of(b"") == ""


REDIRECTS = {
    b"Location: javascript:alert(1)": ("", "not a Web page"),
    b"Location: data:text/html,x": ("", "not a Web page"),
    b"Location: mailto:a@example.org": ("", "not a Web page"),
    b"Location: http://": ("", "not a Web page"),
    b"Location: /x": ("http://site.test/x", "the page itself"),
    b"Location: /x#part": ("http://site.test/x", "the page itself"),
    b"Location: http://site.test:80/x": ("http://site.test/x", "the page itself"),
    b"Location: /x\r\nSet-Cookie: a=b": ("http://site.test/x", "the page itself, with a cookie"),
    b"Location: y": ("http://site.test/y", ""),
    b"Location: ../../y/./z": ("http://site.test/y/z", ""),
    b"Location: //other.test/y": ("http://other.test/y", ""),
    b"Location: http://10.0.0.1/": ("http://10.0.0.1/", ""),
    "Location: /grün".encode(): ("http://site.test/gr%C3%BCn", ""),
    "Location: /grün".encode("latin-1"): ("http://site.test/gr%FCn", ""),
    b"Location: /a\x01\x1b[31mb": ("http://site.test/a%01%1B[31mb", ""),
    b"Location: /a\tb": ("http://site.test/ab", ""),
    b"Location: /first\r\nLocation: /second": ("http://site.test/first", ""),
    b"Location: /" + b"a" * 5000: ("", ""),
}


@pytest.mark.parametrize("field", REDIRECTS)
def test_every_redirect_has_a_target_or_a_detail(field: bytes) -> None:
    target, words = REDIRECTS[field]
    visit, texts, links = Reading().visit(fetched(*field.split(b"\r\n"), body=b"", status=302))
    assert Outcome(visit["outcome"]) is Outcome.REDIRECT
    assert (texts["redirect"].decode(), words in texts["detail"].decode()) == (target, True)
    followed = bool(target) and "itself" not in words
    assert [link.decode() for link in links] == ([target] if followed else [])
    if b"a" * 5000 in field:
        assert visit["counted"][Counted.TOO_LONG] == 1


@pytest.mark.parametrize("field", [b"X: y", b"Location:", b"Location:   "])
def test_a_redirect_without_a_target_is_no_content_with_a_detail(field: bytes) -> None:
    visit, texts, _ = Reading().visit(fetched(field, body=b"", status=301))
    assert (Outcome(visit["outcome"]), texts["detail"]) == (Outcome.NO_CONTENT, b"a redirect without a target")


@given(st.binary(max_size=300))
def test_any_location_is_read(location: bytes) -> None:
    location = location.replace(b"\0", b"").replace(b"\r", b"").replace(b"\n", b"")
    _, texts, links = Reading().visit(fetched(b"Location: " + location, body=b"", status=302))
    assert len(links) <= 1
    assert len(texts["redirect"]) <= 2000
    assert texts["redirect"].isascii()


# --- encodings ------------------------------------------------------------------------------------------------------


def test_many_gzip_members_take_time_in_proportion_to_their_number() -> None:
    """A sitemap of ten megabytes may have half a million members. Copying the rest for each takes 60 times as long."""
    member = gzip.compress(b"x", mtime=0)

    def undoing(members: int) -> Callable[[], object]:
        body = member * members + gzip.compress(b"end", mtime=0) + b"garbage"
        decoded = undo(body, "gzip", 100_000)
        assert (decoded.data, decoded.ok, decoded.common) == (b"x" * members + b"end", True, False)
        return lambda: undo(body, "gzip", 100_000)

    assert grows_less(undoing, (5_000, 80_000), than=80)


def bombs() -> dict[str, bytes]:
    """As many zeros as a page of 400 KB can hold: 0.4 GB in gzip, 1 GB in zstd, 2 GB in two layers of gzip."""
    zeros = bytes(1 << 20)
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    packed = b"".join([packer.compress(zeros) for _ in range(1024)]) + packer.flush()
    member = gzip.compress(bytes(1 << 23), 9, mtime=0)
    stream = brotli.Compressor(quality=1)
    wrapped = b"".join([stream.process(zeros) for _ in range(256)]) + stream.finish()
    return {"zstd": packed, "gzip": member * 48, "br": wrapped, "gzip, gzip": gzip.compress(member * 256, 1, mtime=0)}


@pytest.fixture(scope="module")
def packed() -> dict[str, bytes]:
    return bombs()


@pytest.mark.parametrize("name", ["zstd", "gzip", "br", "gzip, gzip"])
def test_a_bomb_in_a_page_in_robots_txt_or_in_a_sitemap_is_bounded(packed: dict[str, bytes], name: str) -> None:
    reading = Reading("gatherer.max_decoded=1MB")
    encoding = b"Content-Encoding: " + name.encode()
    for ask, most in ((Ask.PAGE, 6e6), (Ask.ROBOTS, 8e6), (Ask.SITEMAP, 165e6)):
        answered = fetched(encoding, b"Content-Type: text/html", body=packed[name], ask=ask)
        tracemalloc.start()
        visit, _, _ = reading.visit(answered)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most, (ask, peak)
        assert takes_less(partial(reading.visit, answered), than=5)
        assert ask != Ask.PAGE or visit["outcome"] == Outcome.BAD_ENCODING


def test_a_body_that_is_too_large_is_not_decoded_twice(
    packed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr("gossamer.gatherer.reader.salvaged", never)
    body = gzip.compress(b"User-agent: *\nDisallow: /a\n" + b"# more\n" * 1_000_000, mtime=0)
    visit, texts, _ = Reading("gatherer.max_decoded=1MB").visit(
        fetched(b"Content-Encoding: gzip", body=body, ask=Ask.ROBOTS, url=b"http://site.test/robots.txt")
    )
    assert (Outcome(visit["outcome"]), bool(texts["rules"])) == (Outcome.OK, True)
    assert salvaged(body, "gzip", 10) == b"User-agent"


# --- charsets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("utf-7", ""),
        ("x-user-defined", "cp1252"),
        ("iso-2022-kr", "replacement"),
        ("HZ-GB-2312", "replacement"),
        ("iso-2022-cn", "replacement"),
        ("unicode", "utf-16-le"),
        ("unicodefffe", "utf-16-be"),
        ("x-sjis", "cp932"),
        ("windows-31j", "cp932"),
        ("x-gbk", "gb18030"),
        ("gb_2312-80", "gb18030"),
        ("korean", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("windows-874", "cp874"),
        ("tis-620", "cp874"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("macintosh", "mac-roman"),
        ("visual", "iso8859-8"),
        ("iso-8859-8-i", "iso8859-8"),
        ("latin1", "cp1252"),
        ("us-ascii", "cp1252"),
        ("l5", "cp1254"),
        ("koi8-ru", "koi8-u"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("x-cp1251", "cp1251"),
        ("cn-big5", "big5hkscs"),
        ("\tUTF-8 \n", "utf-8"),
        ("iso-2022-jp", "iso2022_jp"),
        ("utf-32", ""),
        ("ebcdic-cp-us", ""),
    ],
)
def test_charset_labels_mean_what_the_encoding_standard_says(label: str, name: str) -> None:
    assert codec(label) == name


def test_long_charset_labels_are_not_cached() -> None:
    _codec.cache_clear()
    assert [codec("utf-8" + " " * n) for n in (0, 59, 60, 100_000)] == ["utf-8", "utf-8", "", ""]
    assert _codec.cache_info().currsize == 2


TEXT = "<html><meta charset=utf-16><p>grün"


@pytest.mark.parametrize(
    ("body", "declared", "charset"),
    [
        (TEXT.encode("utf-16-le"), "", "utf-16-le"),
        (TEXT.encode("utf-16-be"), "", "utf-16-be"),
        (TEXT.encode("utf-16-be"), "utf-8", "utf-16-be"),
        (TEXT.encode("utf-16-le"), "utf-16", "utf-16-le"),
        (TEXT.encode(), "utf-16", "utf-8"),
        (TEXT.encode(), "utf-16be", "utf-8"),
        (TEXT.encode(), "utf-7", "utf-8"),
        (b"<meta charset=windows-1252><p>gr\xfcn", "klingon", "cp1252"),
        (b"<meta charset=utf-8><p>gr\xfcn", "windows-1252", "cp1252"),
        (b"<meta charset=x-user-defined><p>gr\xfcn", "", "cp1252"),
    ],
)
def test_header_meta_and_bytes_that_contradict_each_other_give_text(body: bytes, declared: str, charset: str) -> None:
    text, name = decode(body, declared)
    assert (name, "grün" in text) == (charset, True)


def test_encodings_that_no_browser_reads_give_one_replacement_character() -> None:
    assert decode(b"~{<:Ky2;VS{#,NpJ)l6HK!#~}<a href=/x>", "hz-gb-2312") == ("\ufffd", "replacement")
    visit, texts, links = Reading().visit(fetched(b"Content-Type: text/html; charset=iso-2022-kr"))
    assert (Outcome(visit["outcome"]), texts["charset"], links) == (Outcome.OK, b"replacement", [])
    assert visit["flags"] & VisitFlag.EMPTY


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_bytes_with_any_charset_label_give_text(body: bytes, label: str) -> None:
    text, name = decode(body, label)
    assert isinstance(text, str)
    assert name


# --- dates ----------------------------------------------------------------------------------------------------------

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("Fri, 01 Jan 2021 00:00:00 GMT", 1_609_459_200.0),
        ("Friday, 01-Jan-21 00:00:00 GMT", 1_609_459_200.0),
        ("Fri Jan  1 00:00:00 2021", 1_609_459_200.0),
        ("Fri, 15 Jan 2027 08:00:00 GMT", NOW),
        ("Fri, 15 Jan 2027 09:00:00 GMT", NOW),
        ("Sat, 16 Jan 2027 08:00:00 GMT", NOW),
        ("Sat, 16 Jan 2027 08:00:01 GMT", None),
        ("Mon, 18 Jan 2038 03:14:07 GMT", None),
        ("Thu, 31 Dec 1992 23:59:59 GMT", None),
        ("Fri, 01 Jan 1993 00:00:00 GMT", 725_846_400.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("0", None),
        ("-1", None),
        ("yesterday", None),
        ("", None),
        ("Fri, 31 Feb 2021 00:00:00 GMT", None),
        ("Fri, 01 Foo 2021 00:00:00 GMT", None),
        ("\xff\xfe", None),
    ],
)
def test_dates_are_accepted_within_sensible_bounds(said: str, means: float | None) -> None:
    found = _modified(Texts.join([said.encode("latin-1")]), np.array([NOW]))
    assert found.tolist() == ([means] if means is not None else pytest.approx([np.nan], nan_ok=True))


_dated = st.from_regex(r"[A-Z][a-z]{2}, \d\d [JFMAS][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z+0-9]+", fullmatch=True)


@given(st.one_of(st.text(max_size=120), _dated))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = http_date(text)
    assert found is None or abs(found) < 1e12
    said = believed(np.array([np.nan if found is None else found]), np.array([NOW]))[0]
    assert np.isnan(said) or 725_846_400.0 <= said <= NOW
    assert -1.0 <= retry_after(text, NOW, text) <= 1e9


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("Fri, 15 Jan 2027 08:01:00 GMT", "", 60.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", "", 0.0),
        ("Fri, 01 Jan 2021 00:02:00 GMT", "Fri, 01 Jan 2021 00:00:00 GMT", 120.0),
        ("Fri, 15 Jan 2027 08:01:00 GMT", "nonsense", 60.0),
        ("9" * 5000, "", 1e9),
        ("1e9", "", 1e9),
        ("٣", "", -1.0),
        ("5 minutes", "", 300.0),
        ("5min", "", 300.0),
        ("1.5 Hours", "", 5400.0),
        ("2 days, 3", "", 172_800.0),
        ("1500 ms", "", 2.0),
        ("30 delay", "", 30.0),
        ("30 seconds", "", 30.0),
        ("2027-01-15T08:01:00Z", "", 60.0),
        ("2027-01-15 08:02:00", "", 120.0),
        ("2027-01-16", "", 57_600.0),
    ],
)
def test_retry_after_counts_from_the_answers_own_date(value: str, date: str, seconds: float) -> None:
    assert retry_after(value, NOW, date) == seconds
    assert DAY == 86_400


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-06T07:08:09Z",
        "2024-05-06 07:08:09 UTC",
        "2024-05-06T09:08:09+02:00",
        "2024/05/06 07:08:09",
        "20240506T070809Z",
    ],
)
def test_dates_by_iso_8601_are_dates_of_headers(text: str) -> None:
    assert http_date(text) == http_date("Mon, 06 May 2024 07:08:09 GMT")


@pytest.mark.parametrize(
    "text", ["2024", "2024-05", "2024-13-01", "2024-05-06T25:00Z", "2024-05-06T07:08+99:99", "20240230"]
)
def test_what_is_no_whole_date_is_no_date_of_a_header(text: str) -> None:
    assert http_date(text) is None


def test_no_thread_of_a_server_is_left() -> None:
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("Raw")] == []
