"""Counts what comes off the wire for each request, and says when it is too much.

libcurl counts heads and bodies. A server can send much more: chunk extensions, trailers, TLS records, frames of HTTP/2,
handshakes. The kernel counts all of it, by connection (`TCP_INFO`), and within a bandwidth the throttled socket does
(`web/limit/throttle.py`). Such a count is a *meter*; what a request got is the difference of two counts.

libcurl does not say over which connection a request goes, unless it is over and the connection still open. But when it
has opened a socket, or sent a request, it begins at once to wait for its descriptor: the next socket that it waits for
is that of the request (`Meters.watched`), unless the answer is there already. If libcurl has closed the connection
then, its own count must do.

Invariants, each a test of the same name: every byte off the wire counts once, for the request that it came for; a
server that sends more than the framing of a body takes is ended, whatever it sends.

Cost: one more descriptor per open request, and some 3 µs per request.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import termios
from array import array
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

FRAMING: Final = 64 * 1024
"""Bytes that may come for a request besides head and body, whatever its body is: mostly a handshake."""
PER_BYTE: Final = 4
"""The same for each byte of the body. Chunks of ten bytes, each in a TLS record of its own, take more than three."""
_PART: Final = 4
"""The same in all: a quarter of the largest download."""
_RECEIVED: Final = struct.Struct("<Q")
_RECEIVED_AT: Final = 128
"""Offset of tcpi_bytes_received in struct tcp_info (Linux 4.1); the state is its first byte."""
_INFO: Final = _RECEIVED_AT + _RECEIVED.size
_ENDED: Final = frozenset((8, 9, 11))
"""States CLOSE_WAIT, LAST_ACK and CLOSING: the end of the connection has come, and counts as a byte there."""
_unread: Final = array("i", [0])


def most_off_wire(head: int, body: int, limit: int) -> int:
    """Most bytes that may have come for a request, given the bytes of head and body so far. `limit`: the most that is
    read of a body."""
    return FRAMING + head + body + min(PER_BYTE * body, limit // _PART)


def unread_of(end: socket.socket | int) -> int:
    """Bytes that wait in a socket's receive buffer; 0 if it is closed."""
    try:
        fcntl.ioctl(end, termios.FIONREAD, _unread)
    except (OSError, ValueError):
        return 0
    return _unread[0]


def received_of(connection: socket.socket) -> int:
    """Bytes that the kernel has received for a connection since it was made; 0 if it is closed."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO)
    except OSError:
        return 0
    received = int(_RECEIVED.unpack_from(info, _RECEIVED_AT)[0])
    return received - 1 if received and info[0] in _ENDED else received


class Meter(Protocol):
    """Counts what one connection receives."""

    counted: int
    """Bytes that have counted for earlier requests."""

    @property
    def received(self) -> int:
        """Bytes received since the connection was made."""

    @property
    def passed(self) -> int:
        """Received bytes that libcurl has read."""

    def release(self) -> None:
        """The request is over."""


class Connection:
    """The meter of a connection that nothing throttles. It has a descriptor of its own, so that the count can be read
    after libcurl has closed the connection."""

    def __init__(self, own: socket.socket, counted: int = 0) -> None:
        self._own = own
        self.counted = counted

    @property
    def received(self) -> int:
        return received_of(self._own)

    @property
    def passed(self) -> int:
        return received_of(self._own) - unread_of(self._own)

    def release(self) -> None:
        self._own.close()


class Metered(Protocol):
    """A request, as far as it is known here."""

    meter: Meter | None
    fd: int
    """libcurl's descriptor; -1: not known."""


class Throttle(Protocol):
    """What throttles the connections, as far as it is known here."""

    def opened(self, new: socket.socket) -> None: ...

    def meter(self, fd: int) -> Meter | None: ...


Request = TypeVar("Request", bound=Metered)


class Meters(Generic[Request]):
    """Finds the meter of each request."""

    def __init__(self, limit: Throttle | None = None) -> None:
        """`limit`: what throttles the connections, and counts."""
        self._limit = limit
        self._asking: Request | None = None
        """The request for which libcurl has just opened a socket, or that it sends."""
        self.transfers: dict[int, Request] = {}
        """The open ones, by libcurl's descriptor, as far as it is known."""
        self._counted: dict[int, int] = {}
        """By libcurl's descriptor: bytes that have counted for requests that are over."""

    def opened(self, transfer: Request, new: socket.socket) -> None:
        """libcurl is about to connect this socket for the request. libcurl's descriptor is another one."""
        self._asking = transfer
        if self._limit is not None:
            self._limit.opened(new)
            return
        if transfer.meter is not None:
            transfer.meter.release()
        transfer.meter = Connection(new)

    def asks(self, transfer: Request) -> None:
        """libcurl is about to send the request."""
        self._asking = transfer if transfer.fd < 0 else None

    def watched(self, fd: int) -> None:
        """libcurl begins to wait for this descriptor, or waits for something else."""
        if (transfer := self._asking) is None or not stat.S_ISSOCK(os.fstat(fd).st_mode):
            return  # libcurl waits for other descriptors, too
        self._asking = None
        transfer.fd = fd
        self.transfers[fd] = transfer
        if transfer.meter is None:
            transfer.meter = self._found(fd)

    def _found(self, fd: int) -> Meter | None:
        """The meter of a connection that is used again."""
        if self._limit is not None:
            return self._limit.meter(fd)
        with suppress(OSError):  # no descriptor is left: libcurl's own count must do
            connection = Connection(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, os.dup(fd)))
            connection.counted = self._counted.get(fd, connection.received)
            return connection
        return None

    def ended(self, transfer: Request, fd: int) -> int | None:
        """The request is over. Returns the bytes that came for it; None: nobody counted. `fd`: libcurl's descriptor of
        its connection, -1 if that is closed."""
        if self._asking is transfer:
            self._asking = None
        if self.transfers.get(transfer.fd) is transfer:
            del self.transfers[transfer.fd]
        if transfer.meter is None and fd >= 0:
            transfer.meter = self._found(fd)
        if (meter := transfer.meter) is None:
            return None
        received = meter.received
        came, meter.counted = max(0, received - meter.counted), received
        if fd >= 0 and self._limit is None:
            self._counted[fd] = received
        return came
