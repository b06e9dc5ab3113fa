"""HTTP/2 at the level of frames, and TLS that is slow or changes its keys: every request ends, and soon."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.base.model import Outcome
from gossamer.base.units import Duration
from gossamer.web.fetch.meter import FRAMING
from tests.support.frames import END_HEADERS, END_STREAM, PADDED, Frames, Script, Type, block, endless, frame
from tests.support.server import PAGE, free_port
from tests.support.timing import WITHIN
from tests.web.fetch.test_fetch import SETTINGS, Loop, certificate, granted

__all__ = ["certificate", "granted"]

OK = (b":status", b"200")
TYPE = (b"content-type", b"text/html")
TEXT = b"x" * 16_000
HASTY = replace(
    SETTINGS,
    http2=True,
    first_byte_timeout=Duration(1.5),
    slow_time=Duration(1),
    connect_timeout=Duration(4),
    whole_timeout=Duration(WITHIN),
)


def head(stream: int, *fields: tuple[bytes, bytes], end: bool = False) -> bytes:
    flags = END_HEADERS | (END_STREAM if end else 0)
    return frame(Type.HEADERS, flags, stream, block(*(fields or (OK, TYPE))))


def data(stream: int, body: bytes = PAGE, end: bool = True) -> bytes:
    return frame(Type.DATA, END_STREAM if end else 0, stream, body)


def padded(stream: int, body: bytes, end: bool = False) -> bytes:
    return frame(Type.DATA, PADDED | (END_STREAM if end else 0), stream, b"\xff" + body + bytes(255))


def split(stream: int) -> Iterable[bytes]:
    whole = block(OK, TYPE, *((b"x-%d" % n, b"y" * 50) for n in range(20)))
    yield frame(Type.HEADERS, 0, stream, whole[:5])
    yield frame(Type.CONTINUATION, 0, stream, whole[5:600])
    yield frame(Type.CONTINUATION, END_HEADERS, stream, whole[600:])
    yield data(stream)


GOOD: dict[str, Script] = {
    "a page": lambda s: [head(s), data(s)],
    "a head in three frames": split,
    "interim answers": lambda s: [head(s, (b":status", b"103")) * 5, head(s), data(s)],
    "trailers": lambda s: [head(s), data(s, end=False), head(s, (b"x-trailer", b"1"), end=True)],
    "padding": lambda s: [
        head(s),
        *(padded(s, PAGE[n : n + 100]) for n in range(0, len(PAGE), 100)),
        padded(s, b"", True),
    ],
    "frames of unknown types": lambda s: [frame(77, 0, 0, b"?" * 50) * 20, head(s), frame(200, 0, s) * 9, data(s)],
    "pings and settings": lambda s: [frame(Type.PING, 0, 0, bytes(8)) * 9, frame(Type.SETTINGS) * 9, head(s), data(s)],
    "windows": lambda s: [frame(Type.WINDOW_UPDATE, 0, 0, (99).to_bytes(4)), head(s), data(s)],
    "priorities": lambda s: [frame(Type.PRIORITY, 0, s, bytes(5)) * 9, head(s), data(s)],
}
"""All give the page."""


@pytest.mark.parametrize("case", GOOD)
def test_frames_in_any_right_order_give_the_page(case: str, certificate: tuple[Path, Path]) -> None:
    with Frames(GOOD[case], certificate, PAGE) as server:
        loop = Loop(replace(HASTY, trusted=str(certificate[1])))
        found = [loop.get(server.url()) for _ in range(3)]
    assert [(f.failure, f.status, f.body) for f in found] == [(None, 200, PAGE)] * 3, found[0].detail
    assert set(server.protocols) == {"h2"}
    assert all(f.head.http2 and f.head.line == b"HTTP/1.1 200" for f in found)
    assert [f.traffic.received > len(PAGE) for f in found] == [True] * 3


BROKEN: dict[str, Script] = {
    "reset": lambda s: [frame(Type.RST_STREAM, 0, s, (2).to_bytes(4))],
    "reset within the body": lambda s: [head(s), data(s, end=False), frame(Type.RST_STREAM, 0, s, (2).to_bytes(4))],
    "HTTP/1.1 wanted": lambda s: [frame(Type.RST_STREAM, 0, s, (13).to_bytes(4))],
    "a farewell instead": lambda s: [frame(Type.GOAWAY, 0, 0, bytes(8))],
    "a farewell with an error": lambda s: [frame(Type.GOAWAY, 0, 0, s.to_bytes(4) + (11).to_bytes(4))],
    "a body before its head": lambda s: [data(s)],
    "a body on another stream": lambda s: [head(s), data(s + 2)],
    "a frame that is too large": lambda s: [head(s), frame(Type.DATA, 0, s, bytes(20_000), length=1 << 23)],
    "a window of nothing": lambda s: [frame(Type.WINDOW_UPDATE, 0, 0, bytes(4)), head(s), data(s)],
    "a window without end": lambda s: [frame(Type.WINDOW_UPDATE, 0, 0, (2**31 - 1).to_bytes(4)) * 2, head(s), data(s)],
    "a field of no table": lambda s: [frame(Type.HEADERS, END_HEADERS, s, b"\xff\xff\xff\x0f"), data(s)],
    "no status": lambda s: [head(s, TYPE), data(s)],
    "a status of letters": lambda s: [head(s, (b":status", b"abc")), data(s)],
    "capitals": lambda s: [head(s, OK, (b"Content-Type", b"text/html")), data(s)],
    "a field of connections": lambda s: [head(s, OK, TYPE, (b"transfer-encoding", b"chunked")), data(s)],
    "shorter than its length": lambda s: [head(s, OK, TYPE, (b"content-length", b"99999")), data(s)],
    "longer than its length": lambda s: [head(s, OK, TYPE, (b"content-length", b"5")), data(s)],
    "HTTP/1.1": lambda s: [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
    "settings of five bytes": lambda s: [frame(Type.SETTINGS, 0, 0, bytes(5)), head(s), data(s)],
    "a ping of seven bytes": lambda s: [frame(Type.PING, 0, 0, bytes(7)), head(s), data(s)],
    "a continuation of nothing": lambda s: [frame(Type.CONTINUATION, END_HEADERS, s, block(OK)), data(s)],
    "another frame within a head": lambda s: [frame(Type.HEADERS, 0, s, block(OK)), data(s)],
    "more padding than frame": lambda s: [head(s), frame(Type.DATA, PADDED, s, b"\xffab")],
}
"""Not HTTP/2: the page goes back, and is asked for by HTTP/1.1, or has failed."""


@pytest.mark.parametrize("case", BROKEN)
def test_frames_that_break_the_rules_end_a_request(case: str, certificate: tuple[Path, Path]) -> None:
    with Frames(BROKEN[case], certificate, PAGE) as server:
        loop = Loop(replace(HASTY, trusted=str(certificate[1])))
        found = loop.get(server.url())
        assert found.failure in _ENDS, (found.failure, found.detail)
        if found.failure is Outcome.RETURNED:
            again = loop.get(server.url())
            assert (again.failure, again.body) == (None, PAGE)
            assert server.protocols[-1] != "h2"


_ENDS = (Outcome.RETURNED, Outcome.PROTOCOL_ERROR, Outcome.BROKEN_OFF, Outcome.TIMED_OUT, Outcome.TOO_SLOW)


LAST: dict[str, Script] = {
    "a farewell": lambda s: [head(s), data(s), frame(Type.GOAWAY, 0, 0, s.to_bytes(4) + bytes(4))],
    "a promise": lambda s: [frame(Type.PUSH_PROMISE, END_HEADERS, s, (2).to_bytes(4) + block(OK)), head(s), data(s)],
}


@pytest.mark.parametrize("case", LAST)
def test_a_page_after_which_the_connection_is_over_is_read(case: str, certificate: tuple[Path, Path]) -> None:
    """The next page of the server goes back once, and comes over a new connection."""
    with Frames(LAST[case], certificate, PAGE) as server:
        loop = Loop(replace(HASTY, trusted=str(certificate[1])))
        found = [loop.get(server.url()).failure for _ in range(4)]
    assert found.count(None) >= 3
    assert set(found) <= {None, Outcome.RETURNED}


def bomb(stream: int) -> Iterator[bytes]:
    """A field of 4,000 bytes goes into the table, and is named by one byte again and again (62: the newest)."""
    first = block(OK) + b"\x40" + block((b"x-bomb", b"z" * 3_900))[1:]
    yield frame(Type.HEADERS, 0, stream, first + b"\xbe" * 10_000)
    while True:
        yield frame(Type.CONTINUATION, 0, stream, b"\xbe" * 16_000)


def unread(stream: int) -> Iterator[bytes]:
    """A body that no window of ours allows."""
    return endless(head(stream), data(stream, TEXT, end=False))


FLOODS: dict[str, Script] = {
    "pings": lambda s: endless(b"", frame(Type.PING, 0, 0, bytes(8)) * 500),
    "answers to pings": lambda s: endless(b"", frame(Type.PING, 1, 0, bytes(8)) * 500),
    "settings": lambda s: endless(b"", frame(Type.SETTINGS, 0, 0, b"\0\3\0\0\0\1" * 9) * 100),
    "priorities": lambda s: endless(b"", frame(Type.PRIORITY, 0, s, bytes(5)) * 500),
    "windows": lambda s: endless(b"", frame(Type.WINDOW_UPDATE, 0, s, bytes(3) + b"\1") * 500),
    "unknown frames": lambda s: endless(b"", frame(99, 0, 0, b"?" * 999) * 10),
    "unknown frames after the head": lambda s: endless(head(s), frame(99, 0, s, b"?" * 999) * 10),
    "pings after the head": lambda s: endless(head(s), frame(Type.PING, 1, 0, bytes(8)) * 500),
    "empty frames of a body": lambda s: endless(head(s), data(s, b"", end=False) * 500),
    "padding": lambda s: endless(head(s), padded(s, b"") * 50),
    "padding around single bytes": lambda s: endless(head(s), padded(s, b"x") * 50),
    "a head without end": lambda s: endless(
        frame(Type.HEADERS, 0, s, block(OK)), frame(Type.CONTINUATION, 0, s, block((b"x", b"y" * 9_000)))
    ),
    "empty continuations": lambda s: endless(
        frame(Type.HEADERS, 0, s, block(OK)), frame(Type.CONTINUATION, 0, s) * 500
    ),
    "a head that unpacks to gigabytes": bomb,
    "interim answers": lambda s: endless(b"", head(s, (b":status", b"103")) * 100),
    "a body without end": unread,
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FLOODS)
def test_floods_of_frames_are_ended(case: str, certificate: tuple[Path, Path]) -> None:
    """By nghttp2, if it knows the kind; else because more comes than an answer takes."""
    with Frames(FLOODS[case], certificate, PAGE) as server:
        found = Loop(replace(HASTY, trusted=str(certificate[1]))).get(server.url())
    assert found.failure in (*_ENDS, None), (found.failure, found.detail)
    assert found.failure is not None or found.cut
    if Loop.granted:
        assert found.traffic.received <= FRAMING + 500_000 + 2 * Loop.granted, "ended by what came, not by a clock"


def test_a_server_that_agrees_on_http_2_and_falls_silent_times_out(certificate: tuple[Path, Path]) -> None:
    with Frames(lambda s: [], certificate, PAGE) as server:
        assert Loop(replace(HASTY, trusted=str(certificate[1]))).get(server.url()).failure is Outcome.TIMED_OUT


# --- TLS ------------------------------------------------------------------------------------------------------


@contextmanager
def dripping(certificate: tuple[Path, Path], size: int, pause: float) -> Iterator[bytes]:
    """The URL of a server behind a relay that passes on what it sends in pieces of `size` bytes, `pause` seconds
    apart."""
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE)

    def secure(plain: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            connection.recv(65_536)
            connection.sendall(whole)
            connection.recv(65_536)

    def back(ours: socket.socket, theirs: socket.socket) -> None:
        with suppress(OSError):
            while piece := ours.recv(size):
                theirs.sendall(piece)
                time.sleep(pause)

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                theirs, _ = listening.accept()
                theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ours, inner = socket.socketpair()
                for target, arguments in ((secure, (inner,)), (back, (ours, theirs)), (_pipe, (theirs, ours))):
                    threading.Thread(target=target, args=arguments, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"https://site.test:{listening.getsockname()[1]}/x".encode()


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_RDWR)


def test_a_handshake_in_pieces_of_a_few_bytes_is_completed(certificate: tuple[Path, Path]) -> None:
    with dripping(certificate, 7, 0.001) as url:
        found = Loop(replace(SETTINGS, trusted=str(certificate[1]))).get(url)
    assert (found.failure, found.body) == (None, PAGE)


@pytest.mark.parametrize("http2", [False, True])
def test_a_handshake_of_a_byte_now_and_then_is_stuck(certificate: tuple[Path, Path], http2: bool) -> None:
    slow = replace(SETTINGS, trusted=str(certificate[1]), connect_timeout=Duration(1), http2=http2)
    with dripping(certificate, 1, 0.1) as url:
        found = Loop(slow).get(url)
    assert (found.failure, found.detail.partition(":")[0]) == (Outcome.TLS_FAILED, "stuck")


@contextmanager
def openssl(certificate: tuple[Path, Path], *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The test server of OpenSSL, which does what is written to it: R renegotiates, K asks for new keys."""
    program = shutil.which("openssl")
    assert program is not None
    port = free_port()
    command = [program, "s_server", "-accept", f"127.0.0.1:{port}", "-naccept", "1", *options]
    command += ["-key", str(certificate[0]), "-cert", str(certificate[1])]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if line.startswith(b"ACCEPT"):
                break
        yield port, server
    finally:
        server.kill()
        for pipe in (server.stdin, server.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        server.wait(WITHIN)


def _heard(server: subprocess.Popen[bytes]) -> None:
    """Waits until the server has got a request."""
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(b"GET "):
            return


@pytest.mark.parametrize(
    ("version", "command"),
    [("-tls1_2", b"R\n"), ("-tls1_3", b"K\n"), ("-tls1_3", b"k\n")],
    ids=["renegotiated", "K", "k"],
)
@pytest.mark.parametrize("times", [1, 3])
def test_keys_that_change_before_the_answer_do_no_harm(
    certificate: tuple[Path, Path], version: str, command: bytes, times: int
) -> None:
    """Whatever becomes of the request, it ends; what was answered is whole."""
    with openssl(certificate, version) as (port, server):

        def answer() -> None:
            _heard(server)
            assert server.stdin is not None
            with suppress(OSError):
                for _ in range(times):
                    server.stdin.write(command)
                    server.stdin.flush()
                    time.sleep(0.2)
                server.stdin.write(b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 9\n\n<p>it</p>\n")
                server.stdin.flush()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        settings = replace(HASTY, http2=False, first_byte_timeout=Duration(20), trusted=str(certificate[1]))
        found = Loop(settings).get(f"https://site.test:{port}/x".encode())
        thread.join(WITHIN)
    assert (found.failure, found.body) in ((None, b"<p>it</p>"), (Outcome.BROKEN_OFF, b"")), found.detail
