"""A server on loopback that speaks HTTP/2 frame by frame (RFC 9113), as a test wants it: right, wrong or without end.

Its heads use literal fields alone (RFC 7541, 6.2.2): no table, no Huffman code. A client that does not offer HTTP/2
gets a page by HTTP/1.1.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

from tests.support.faults import MOST, Listening
from tests.support.timing import WITHIN

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1


class Type(IntEnum):
    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return size.to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def block(*fields: tuple[bytes, bytes]) -> bytes:
    """A block of literal fields."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields)


def _text(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, more = len(text) - 127, bytearray(b"\x7f")
    while rest >= 128:
        more.append(rest % 128 | 128)
        rest //= 128
    return bytes([*more, rest]) + text


Script = Callable[[int], Iterable[bytes]]
"""From the number of a stream to the pieces that are sent once its request has come."""


class Frames(Listening):
    """Use as a context manager; `port` is where it listens."""

    scheme = "https"

    def __init__(self, script: Script, certificate: tuple[Path, Path], page: bytes) -> None:
        super().__init__()
        key, cert = certificate
        self._script, self._page = script, page
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert, key)
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        self.protocols: list[str | None] = []

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._socket.accept()
                plain.settimeout(WITHIN)
                threading.Thread(target=self._connected, args=(plain,), daemon=True).start()

    def _connected(self, plain: socket.socket) -> None:
        with suppress(OSError), self._context.wrap_socket(plain, server_side=True) as connection:
            self.protocols.append(connection.selected_alpn_protocol())
            if self.protocols[-1] != "h2":
                while connection.recv(65_536):
                    length = b"Content-Length: %d\r\n\r\n" % len(self._page)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + length + self._page)
                return
            self._serve(connection)

    def _serve(self, connection: ssl.SSLSocket) -> None:
        read = connection.makefile("rb")
        assert read.read(len(PREFACE)) == PREFACE
        connection.sendall(frame(Type.SETTINGS))
        while head := read.read(9):
            read.read(int.from_bytes(head[:3]))
            if head[3] == Type.HEADERS:
                sent = 0
                for piece in self._script(int.from_bytes(head[5:])):
                    connection.sendall(piece)
                    sent += len(piece)
                    if sent > MOST:
                        break
                else:
                    continue
                return


def endless(first: bytes, piece: bytes) -> Iterator[bytes]:
    yield first
    while True:
        yield piece
