"""What comes off the wire (`web/fetch/meter.py`): all of it counts, and no server goes on for ever."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pycurl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import Ask, Outcome
from gossamer.base.units import Duration, Size
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.meter import FRAMING, PER_BYTE, Meters, most_off_wire, received_of
from gossamer.web.fetch.transfer import Transfer
from gossamer.web.limit.limited_fetch import BandwidthLimit, longest
from gossamer.webs.hostile.saying import answer, chunked
from tests.support.faults import MOST, Raw, endless
from tests.support.server import PAGE
from tests.web.fetch.test_fetch import SETTINGS, Loop, certificate, granted

__all__ = ["certificate", "granted"]

CHUNKED = answer(b"", "200 OK", "text/html", "Transfer-Encoding: chunked", length=False)
EXTENSION = b";" + b"x" * 9_999
LAST = b"0;" + b"e" * 300 + b"\r\nX-Trailer: 1\r\n\r\n"


@contextmanager
def talker(*answers: bytes, close_after: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """A server that gives these answers, one after the other, to the requests of each connection; its port, and what it
    was sent. `close_after`: closes each connection after so many answers."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                for number, each in enumerate(answers, 1):
                    if not (request := connection.recv(65_536)):
                        return
                    heard.append(request)
                    connection.sendall(each)
                    if number == close_after:
                        return

        def run() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        yield listening.getsockname()[1], heard
        listening.shutdown(socket.SHUT_RDWR)


def settle(loop: Loop) -> None:
    """Lets the connections that libcurl has closed be closed: within a bandwidth that takes some turns of the loop."""
    limit = loop.fetcher._limit
    while isinstance(limit, BandwidthLimit) and limit.ends:
        loop.fetcher.act(loop.epoll.poll(0.5))


def framed(body: bytes, extension: bytes = b"") -> bytes:
    """One chunk with an extension."""
    return CHUNKED + b"%x%s\r\n%s\r\n" % (len(body), extension, body) + LAST


ANSWERS = (
    answer(PAGE),
    chunked(PAGE, size=7),
    framed(PAGE, b";a=" + b"y" * 3_000),
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(PAGE),
    answer(b"", "404 Not Found"),
    framed(PAGE),
)


@pytest.mark.parametrize("close_after", [0, 1, len(ANSWERS)])
def test_every_byte_off_the_wire_counts_once_for_the_request_that_it_came_for(close_after: int) -> None:
    """Over one connection, over a new one each time, and over one that is closed with the last answer."""
    loop = Loop()
    with talker(*ANSWERS, close_after=close_after) as (port, _):
        expected = [len(ANSWERS[0 if close_after == 1 else number]) for number in range(len(ANSWERS))]
        found = []
        for number in range(len(ANSWERS)):
            loop = Loop() if close_after == 1 else loop
            found.append(loop.get(f"http://site.test:{port}/{number}".encode()))
    assert [f.failure for f in found] == [None] * len(ANSWERS)
    assert [f.traffic.received for f in found] == expected


def test_every_byte_counts_for_its_request_however_many_are_open() -> None:
    loop = Loop()
    expected = {}
    with talker(*ANSWERS) as (port, _):
        for turn in range(len(ANSWERS)):
            for site in range(12):
                loop.start(f"http://s{site}.test:{port}/".encode())
                expected[loop.number] = len(ANSWERS[turn])
            for fetched in loop.run():
                assert fetched.traffic.received == expected.pop(fetched.assignment.number)
    assert not expected


def test_every_byte_of_tls_counts(certificate: tuple[Path, Path]) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    loop = Loop(replace(SETTINGS, trusted=str(cert)))
    with Raw(lambda _: [bytes([octet]) for octet in answer(PAGE)], context) as server:
        fetched = loop.get(server.url())
    assert (fetched.failure, fetched.body) == (None, PAGE)
    each = fetched.traffic.received / len(answer(PAGE))
    assert each > 20, "a record for each byte"


def test_the_connection_of_a_request_is_the_one_that_libcurl_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `Meters.asks` expects: checked with what libcurl says once a request is over."""
    found: dict[Transfer, int] = {}
    watched, ended = Meters.watched, Meters.ended

    def note(self: Meters[Transfer], fd: int) -> None:
        if self._asking is not None:
            found[self._asking] = fd
        watched(self, fd)

    def compare(self: Meters[Transfer], transfer: Transfer, fd: int) -> int | None:
        if transfer in found and fd >= 0:
            assert found.pop(transfer) == fd == transfer.curl.getinfo(pycurl.ACTIVESOCKET)
            compared.append(fd)
        return ended(self, transfer, fd)

    compared: list[int] = []
    monkeypatch.setattr(Meters, "watched", note)
    monkeypatch.setattr(Meters, "ended", compare)
    loop = Loop()
    with talker(*[answer(PAGE)] * 5) as (port, _):
        for _ in range(5):
            for site in range(20):
                loop.start(f"http://s{site}.test:{port}/".encode())
            assert all(fetched.failure is None for fetched in loop.run())
    assert len(compared) >= 20, "at least those that made their connections"


EXCESS = {
    "a chunk extension": (CHUNKED + b"5\r\nhello\r\n3", EXTENSION, None),
    "a chunk extension, and no body": (CHUNKED + b"3", EXTENSION, Outcome.PROTOCOL_ERROR),
    "chunks of one byte with long extensions": (CHUNKED, b"1;" + b"y" * 500 + b"\r\nz\r\n", None),
    "the extension of the last chunk": (CHUNKED + b"5\r\nhello\r\n0", EXTENSION, None),
}


@pytest.mark.parametrize("ask", [Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP])
@pytest.mark.parametrize("case", EXCESS)
def test_a_server_that_sends_more_than_the_framing_of_a_body_takes_is_ended_whatever_it_sends(
    case: str, ask: Ask
) -> None:
    """Within a bandwidth, too, where its data always waits: time held back is none of the server's."""
    first, piece, failure = EXCESS[case]
    loop = Loop()
    with Raw(endless(first, piece)) as server:
        fetched = loop.get(server.url(), ask)
        settle(loop)
    assert (fetched.failure, fetched.cut) == (failure, failure is None), fetched.detail
    body = len(fetched.body)
    assert fetched.traffic.received > FRAMING + PER_BYTE * body
    assert fetched.body == b"hello" or set(fetched.body) <= set(b"z")
    if Loop.granted:
        most = most_off_wire(len(first), max(body, 1), 400_000) + Loop.granted  # a sweep comes every quarter second
        assert fetched.traffic.received <= most


def test_a_worker_that_is_late_ends_it_after_its_first_action_too() -> None:
    """libcurl reads all that has come meanwhile, megabytes with thousands of bytes of body among them."""
    first, piece, _ = EXCESS["chunks of one byte with long extensions"]
    loop = Loop()
    act = loop.fetcher.act

    def late(events: Iterable[tuple[int, int]]) -> list[Fetched]:
        time.sleep(0.02)
        return act(events)

    with Raw(endless(first, piece * 200)) as server:
        loop.fetcher.act = late  # type: ignore[method-assign]
        fetched = loop.get(server.url())
        settle(loop)
    assert (fetched.failure, fetched.cut) == (None, True), fetched.detail
    assert server.sent < MOST // 2


def test_what_is_never_read_is_paid_for_all_the_same() -> None:
    """A body of another type is broken off after its first bytes; more has come by then."""
    if not Loop.granted:
        pytest.skip("nothing is paid for")
    loop = Loop()
    with Raw(answer(bytes(300_000), kind="image/png")) as server:
        fetched = loop.get(server.url())
        assert fetched.failure is Outcome.OTHER_TYPE
        settle(loop)
        assert loop.limiter.read() >= fetched.traffic.received > 1_000


@pytest.mark.parametrize("size", [10, 30, 1_000])
def test_a_page_in_small_chunks_and_small_records_is_read_to_its_end(certificate: tuple[Path, Path], size: int) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    body = PAGE * (40_000 // len(PAGE))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    sent = [CHUNKED, *(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces), b"0\r\n\r\n"]
    with Raw(lambda _: sent, context) as server:
        fetched = Loop(replace(SETTINGS, trusted=str(cert))).get(server.url())
    assert (fetched.failure, fetched.cut, fetched.body == body) == (None, False, True)


@given(st.integers(0, 1 << 18), st.integers(0, 10_000_000), st.integers(1, 10_000_000))
def test_no_body_allows_more_than_its_limit_and_a_quarter(head: int, body: int, limit: int) -> None:
    body = min(body, limit)
    assert head + body + FRAMING <= most_off_wire(head, body, limit) <= head + limit + limit // 4 + FRAMING


def test_no_transfer_outlives_the_longest_time() -> None:
    """A server whose data always waits, and whose bytes all are body: only the clock can end it."""
    if not Loop.granted:
        pytest.skip("libcurl ends it after the time of a whole request")
    hasty = replace(SETTINGS, whole_timeout=Duration(0.5), max_download=Size(400_000), lowest_speed=Size(1_000_000))
    assert longest(hasty) == 0.9
    assert longest(SETTINGS) == 180 + 800
    assert longest(replace(SETTINGS, lowest_speed=Size(0))) == 180 + 4_000
    loop = Loop(hasty)
    loop.limiter.grant(20_000)
    with Raw(answer(bytes(1_000_000), kind="text/html")) as server:
        fetched = loop.get(server.url())
        settle(loop)
    assert fetched.failure is Outcome.TIMED_OUT
    assert "longest" in fetched.detail
    assert fetched.held


def test_an_empty_chunked_answer_with_trailers_is_whole() -> None:
    for last in (b"0\r\nX-T: 1\r\n\r\n", b"0;ext\r\nX-T: 1\r\nHTTP/1.1: 2\r\n\r\n", b"0\r\n\r\n"):
        with Raw(CHUNKED + last) as server:
            fetched = Loop().get(server.url())
        assert (fetched.failure, fetched.status, fetched.body) == (None, 200, b""), fetched.detail
        assert [line.split(b":")[0] for line in fetched.head.trailers] == [b"X-T", b"HTTP/1.1"][: last.count(b": ")]
    for cut in (CHUNKED, CHUNKED + b"0\r\nX-T: 1\r\n", CHUNKED[:-2]):
        with Raw(cut) as server:
            assert Loop().get(server.url()).failure is Outcome.BROKEN_OFF


def test_the_end_of_a_connection_is_no_byte() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as ours, listening.accept()[0] as theirs:
            theirs.sendall(b"12345")
            theirs.shutdown(socket.SHUT_WR)
            assert ours.recv(5, socket.MSG_WAITALL) == b"12345"
            assert ours.recv(1) == b""
            assert received_of(ours) == 5
        assert received_of(ours) == 0, "closed"
