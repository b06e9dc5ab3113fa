"""A server on loopback that sends raw bytes, always the same way: for tests of how answers are read."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from tests.support.timing import WITHIN

Answer = Callable[[bytes], Iterable[bytes]]
"""From a request to the pieces of its answer; after the last piece the connection is closed."""
MOST = 64_000_000
"""Bytes of an endless answer after which the server gives up."""


class Listening:
    """A server on a free port, while it is used as a context manager; `_run` accepts and answers, in a thread."""

    scheme = "http"

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True, name=type(self).__name__)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def url(self, path: str = "/x") -> bytes:
        return f"{self.scheme}://site.test:{self.port}{path}".encode()

    def _run(self) -> None:
        raise NotImplementedError


class Raw(Listening):
    def __init__(self, answer: Answer | bytes, tls: ssl.SSLContext | None = None, reset: bool = False) -> None:
        super().__init__()
        self._answer: Answer = (lambda _: [answer]) if isinstance(answer, bytes) else answer
        self._tls, self._reset = tls, reset
        self.scheme = "https" if tls else "http"
        self.requests: list[bytes] = []
        self.sent = 0

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.settimeout(WITHIN)
                with suppress(OSError), connection:
                    self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            request = connection.recv(65_536)
            if not request:
                return
            self.requests.append(request)
            for piece in self._answer(request):
                connection.sendall(piece)
                self.sent += len(piece)
                if self.sent > MOST:
                    break
            if self._reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def endless(first: bytes, piece: bytes) -> Answer:
    def answer(_: bytes) -> Iterator[bytes]:
        yield first
        while True:
            yield piece

    return answer


@contextmanager
def mute() -> Iterator[int]:
    """The port of a server that accepts connections and never sends anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]
