"""A throttled socket: a connection of libcurl's through which passes what we let in, and not a byte more.

libcurl reads what is there: of plain HTTP 22 buffers per action, of TLS records to their end. So once a connection is
made, its descriptor gets another meaning (`dup2`): one end of a socket pair. The other end is ours, and so is the
connection itself from then on. What the server sends is read from it by the byte, as far as the rate limiter allows
(`web/limit/bucket.py`), and put into the pair; what libcurl sends is passed on at once. libcurl notices nothing,
whatever protocol it speaks: it has connected itself, so that times and errors of connecting are its own, and what
happens to the connection happens to the pair.

Invariants, each a test of the same name: no byte passes that was not let in, and none is lost or changes its place; the
end of a connection comes after its last byte; a reset is a reset; a connection that its server closes while it is idle
looks closed at once; a connection on which more comes than was asked for looks closed; when libcurl closes its end,
what it sent last passes, and nothing is left.

An idle connection that looks closed gets no further request, however little is let in.

That libcurl has closed its end is seen at ours. Refused: its callback for that, which pycurl can call only while the
handle that made the connection is in use; else it closes the descriptor itself, and says nothing.

Cost: two system calls and a copy per piece, and three descriptors per connection instead of one.
"""

from __future__ import annotations

import os
import select
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from gossamer.web.fetch.meter import received_of, unread_of

PIECE: Final = 1 << 16
"""Bytes that pass at a time, at most."""
_ALWAYS: Final = select.EPOLLRDHUP | select.EPOLLOUT | select.EPOLLET
"""Events of the connection that are polled whatever is let in: it may be written to again, or its server closed it."""
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_OVER: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_piece: Final = bytearray(PIECE)
_view: Final = memoryview(_piece)


def connected(fd: int) -> bool:
    """Whether a descriptor of libcurl's is an established connection. (libcurl waits for other descriptors, too.)"""
    try:
        connection = socket.socket(fileno=fd)
    except OSError:
        return False
    try:
        return connection.family in _INTERNET and bool(connection.getpeername())
    except OSError:
        return False
    finally:
        connection.detach()


def read_of(connection: socket.socket) -> int:
    """Bytes that were read from a connection since it was made."""
    unread = unread_of(connection)
    return max(0, received_of(connection) - unread)


@dataclass(slots=True)
class Noted:
    """What the owner of a throttled socket notes about it."""

    dry_spells: int = 0
    """The owner's count of dry spells when something was let in last."""
    settled: tuple[bool, int, int] = (False, 0, 0)
    """`opens`, `events` and `far_events`, as the owner has registered them."""


class ThrottledSocket:
    """`fd` is libcurl's descriptor, `far` the connection to the server, `near` our end of the pair between them."""

    def __init__(self, fd: int, window: int) -> None:
        """`fd` is connected. `window`: bytes that may wait on either side; 0: as many as the kernel holds. If there are
        no descriptors left (OSError), nothing has changed."""
        self.fd = fd
        self.near, end = socket.socketpair()
        try:
            self.far = socket.socket(fileno=os.dup(fd))
        except OSError:
            self.near.close()
            end.close()
            raise
        with end:
            for connection in (self.far, self.near, end):
                connection.setblocking(False)
            if window:
                self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, window)
            os.dup2(end.fileno(), fd, inheritable=False)
        self.ends = self.far.fileno(), self.near.fileno()
        self.held = False
        """Whether the server had to wait for us since the last request was sent."""
        self._idle = False
        """Whether no request is under way. None may begin once bytes have come: they would be taken for its answer."""
        self.counted = 0
        """Bytes that have counted for requests that are over."""
        self._let = read_of(self.far)
        """Bytes that were let in."""
        self._unpaid = self._let
        """Bytes, let in or left unread at the end, that its owner has not paid for."""
        self._much = window // 2
        self._failed = False
        self._down = self._up = b""
        self._ended = False
        self.noted = Noted()

    @property
    def closed(self) -> bool:
        """Whether nothing passes any more in either direction: libcurl has closed it, or the connection was reset."""
        return self.near.fileno() < 0

    @property
    def events(self) -> int:
        """The epoll events that our end of the pair waits for."""
        return (0 if self._up else select.EPOLLIN) | (select.EPOLLOUT if self._down else 0)

    @property
    def far_events(self) -> int:
        """The epoll events that the connection waits for, besides the gate's: if it is idle, any input."""
        return _ALWAYS | (select.EPOLLIN if self._idle else 0)

    @property
    def opens(self) -> bool:
        """Whether something may be let in."""
        return not (self._down or self._ended)

    @property
    def waits(self) -> bool:
        """Whether something has come that libcurl has not read yet."""
        return bool(self._down) or unread_of(self.fd) > 0 or (self.opens and unread_of(self.far) > 0)

    @property
    def received(self) -> int:
        """Bytes that came, let in or not."""
        return self._let + unread_of(self.far)

    @property
    def passed(self) -> int:
        """Bytes that libcurl has read."""
        return self._let - len(self._down) - unread_of(self.fd)

    def release(self) -> None:
        """The connection may be used again: nothing to release."""

    def pay(self) -> int:
        """Bytes that came off the wire and are not paid for yet."""
        unpaid, self._unpaid = self._unpaid, 0
        return unpaid

    def let_in(self, most: int, late: bool = False) -> int:
        """Lets in at most `most` bytes; returns how many. `late`: nothing could be let in for a while; if so
        much is there now that the server cannot send any more, the server had to wait."""
        if late and not self.held and self._much:
            self.held = unread_of(self.far) >= self._much
        try:
            count = self.far.recv_into(_view, min(most, PIECE))
        except BlockingIOError:
            return 0
        except OSError:
            self._reset()
            return 0
        self._let += count
        self._unpaid += count
        if count:
            self._pass(_view[:count])
        elif self._failed:
            self._reset()
        else:
            self.end()
        return count

    def _pass(self, data: bytes | memoryview) -> None:
        try:
            self._down = _send(self.near, data)
        except OSError:
            self.close()

    def let_out(self) -> None:
        """Passes on what libcurl sends; closes the connection when libcurl has closed its end."""
        if not self._up:
            try:
                self._up = self.near.recv(PIECE)
            except BlockingIOError:
                return
            except OSError:
                self._up = b""
            if not self._up or (self._idle and self._ended):
                self.close()  # libcurl is gone, or nobody would get the answer
                return
            self.held = self._idle = False
        try:
            self._up = _send(self.far, self._up)
        except OSError:
            self._up, self._failed = b"", True
            if self.opens and not unread_of(self.far):
                self._reset()  # otherwise what came before that passes first

    def near_event(self, event: int) -> None:
        """Handles an epoll event of our end of the pair."""
        if event & select.EPOLLOUT:
            self._pass(self._down)
        if event & ~select.EPOLLOUT and not self.closed:
            self.let_out()
        if event & select.EPOLLHUP and self._up:
            self.close()  # libcurl is gone, and nobody takes what it sent last

    def far_event(self, event: int) -> None:
        """Handles an epoll event of the connection, whether something may be let in or not."""
        if self._up:
            self.let_out()
        if not event & (_OVER | select.EPOLLIN) or not self.opens:
            return
        if self._idle and not event & select.EPOLLERR:
            self.end()  # what is unread is a TLS close notify, or more than was asked for
        elif event & _OVER and not unread_of(self.far):
            self.let_in(1)

    def rest(self) -> None:
        """The request on it has ended: it is idle from now on. If the server has sent more, nobody gets it."""
        self._idle = True
        if self.waits and not self._is_left():
            end = socket.socket(fileno=self.fd)
            with suppress(BlockingIOError):
                while end.recv(PIECE):
                    pass
            end.detach()
            self.end()

    def end(self) -> None:
        """To libcurl, the server has closed the connection."""
        if not self._ended:
            self._ended = True
            with suppress(OSError):  # libcurl may be gone
                self.near.shutdown(socket.SHUT_WR)

    def _reset(self) -> None:
        """Resets libcurl's end, which happens if ours is closed with something unread in it."""
        if not self._is_left():
            end = socket.socket(fileno=self.fd)
            with suppress(OSError):  # it may be full already
                end.send(b"\0")
            end.detach()
        self.close()

    def _is_left(self) -> bool:
        """Whether libcurl has closed its end: its descriptor may belong to another connection by now."""
        poll = select.poll()
        poll.register(self.near, 0)
        return bool(poll.poll(0))

    def close(self) -> None:
        left = unread_of(self.far)  # it came, although nobody reads it
        self._let += left
        self._unpaid += left
        self._ended, self._down, self._up = True, b"", b""
        self.near.close()
        self.far.close()


def _send(end: socket.socket, data: bytes | memoryview) -> bytes:
    """Sends what can be sent now; returns the rest."""
    try:
        sent = end.send(data)
    except BlockingIOError:
        sent = 0
    return bytes(data[sent:])
