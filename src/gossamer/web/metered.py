"""Requests that read no more than was granted: `Fetcher` on a metered line. Used only where there is a limit.

libcurl's sockets are in an epoll of their own. While the worker owes bytes (`line.Share`), nobody looks at it and
libcurl is called for nothing: data waits in the kernel, whose receive buffers are bounded, and the server waits with
it. An action of libcurl would read up to 22 buffers; so when what was taken is used up, the next piece of a body is
refused (PAUSE), which ends it: it reads a buffer or two too much, and of TLS the record that is under way, and that is
paid before the next action.

What was read is counted at the socket (`TCP_INFO` less what is unread), so heads, TLS and handshakes count, after
each action, and when libcurl closes it.

A server is not blamed for what we do: time in which its data lay unread or its transfer was paused counts neither for
the lowest speed nor for the time limits, and such a visit says that it was held back.

Refused: libcurl's own limit by transfer as the hard limit (it counts whole seconds, and lets each transfer read all of
its share at once); a proxy that is slow (two copies more). It does cap single transfers (`Assignment.cap`).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import socket
import struct
import termios
import time
import warnings
from array import array
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import pycurl

from gossamer.config.settings import HarvesterSettings
from gossamer.model import Assignment, Outcome
from gossamer.web.addresses import Forbidden
from gossamer.web.fetch import SWEEP, Fetched, Fetcher, Transfer, failure_of
from gossamer.web.line import Share, buffer_of, window_of

warnings.filterwarnings("ignore", "closesocket_callback failed", RuntimeWarning)
"""When a process ends with idle connections, pycurl cannot call us, and says so. The kernel closes them."""
TURNS: Final = 64
"""Actions after which the worker looks at other things."""
NOTABLE: Final = 0.25
"""Of the time of a visit: a last wait that was shorter made no difference."""
_RECEIVED: Final = struct.Struct("<Q")
_RECEIVED_AT: Final = 128
"""Of tcpi_bytes_received in struct tcp_info (Linux 4.1)."""
_LENGTH: Final = _RECEIVED_AT + 8
_getsockopt: Final = ctypes.CDLL(None, use_errno=False).getsockopt
_info: Final = ctypes.create_string_buffer(_LENGTH)
_length: Final = ctypes.c_uint(_LENGTH)
_unread: Final = array("i", [0])


def read_of(fd: int) -> int:
    """Bytes that were read from a TCP socket since it was opened; -1 if it is none."""
    _length.value = _LENGTH
    if _getsockopt(fd, socket.IPPROTO_TCP, socket.TCP_INFO, _info, ctypes.byref(_length)) or _length.value < _LENGTH:
        return -1
    received: int = _RECEIVED.unpack_from(_info, _RECEIVED_AT)[0]
    return max(0, received - unread_of(fd))


def unread_of(fd: int) -> int:
    """Bytes that wait in a socket's receive buffer; 0 without one."""
    if fd < 0:
        return 0
    try:
        fcntl.ioctl(fd, termios.FIONREAD, _unread)
    except OSError:
        return 0
    return _unread[0]


class Meter:
    """What the present action of libcurl may still read, whom it touched, and who waits for the next."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.allowance = 0.0
        self.touched: list[MeteredTransfer] = []
        self.paused: deque[MeteredTransfer] = deque()
        self._known: dict[int, int] = {}
        """Descriptor to what was read from it, as far as it is paid."""

    def begin(self) -> None:
        self.allowance = self.share.balance
        self.touched.clear()

    def count(self, fd: int) -> None:
        now = read_of(fd)
        if now >= 0:
            before = self._known.get(fd, 0)
            if now > before:
                self.share.spend(now - before)
            self._known[fd] = max(now, before)

    def count_touched(self) -> None:
        for transfer in self.touched:
            fd = transfer.curl.getinfo(pycurl.ACTIVESOCKET)
            if fd >= 0:
                self.count(fd)

    def close(self, fd: int) -> int:
        self.count(fd)
        self._known.pop(fd, None)
        os.close(fd)
        return 0


class MeteredTransfer(Transfer):
    __slots__ = ("buffer", "cap", "meter", "paused")

    def __init__(
        self, settings: HarvesterSettings, fields: list[str], forbidden: Forbidden, trusted: str, meter: Meter
    ) -> None:
        self.meter, self.paused = meter, False
        self.buffer = self.cap = 0
        super().__init__(settings, fields, forbidden, trusted)
        self.curl.setopt(pycurl.TIMEOUT_MS, 0)
        self.curl.setopt(pycurl.CLOSESOCKETFUNCTION, meter.close)

    def prepare(self, assignment: Assignment, limit: int, now: float) -> None:
        super().prepare(assignment, limit, now)
        self.paused, self.slowed = False, assignment.cap > 0
        buffer = buffer_of(self.meter.share.granted)
        if buffer != self.buffer:
            self.buffer = buffer
            self.curl.setopt(pycurl.BUFFERSIZE, buffer)
        if assignment.cap != self.cap:
            self.cap = assignment.cap
            self.curl.setopt(pycurl.MAX_RECV_SPEED_LARGE, self.cap)

    def _open(self, purpose: int, address: Any) -> socket.socket | int:
        opened = super()._open(purpose, address)
        if isinstance(opened, socket.socket) and (granted := self.meter.share.granted):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window_of(granted))
        return opened

    def _body(self, data: bytes) -> int | None:
        meter = self.meter
        if meter.allowance <= 0:
            self.paused = self.slowed = True
            meter.paused.append(self)
            return int(pycurl.WRITEFUNC_PAUSE)
        meter.allowance -= len(data)
        if not meter.touched or meter.touched[-1] is not self:
            meter.touched.append(self)
        return super()._body(data)


class MeteredFetcher(Fetcher):
    def __init__(self, settings: HarvesterSettings, epoll: select.epoll, share: Share) -> None:
        """`epoll` is the worker's."""
        super().__init__(settings, select.epoll())
        self._outer = epoll
        self._outer.register(self._epoll.fileno(), select.EPOLLIN)
        self._share, self._meter = share, Meter(share)
        self._dry: tuple[float, float] | None = None
        """Since when nothing may be read, and until when at least."""
        self._last_dry = (0.0, 0.0)
        self._turn = False

    def _transfer(self) -> Transfer:
        return MeteredTransfer(self._settings, self._fields, self._forbidden, self._trusted.path, self._meter)

    def timeout(self) -> float:
        wait = super().timeout()
        if wait < 0 or self._done:
            return wait
        now = time.monotonic()
        if self._dry is not None:
            return max(0.0, min(self._dry[1], self._swept + SWEEP) - now)
        return 0.0 if self._meter.paused else wait

    def act(self, events: Iterable[tuple[int, int]]) -> list[Fetched]:
        now = time.monotonic()
        if self._dry is not None and now >= self._dry[1]:
            self._last_dry = self._dry[0], now
            self._dry = None
            self._outer.modify(self._epoll.fileno(), select.EPOLLIN)
        turns = 0
        while self._dry is None and turns < TURNS and self._step():
            turns += 1
        if now - self._swept >= SWEEP:
            self._sweep(now)
        self._collect()
        done, self._done = self._done, []
        return done

    def _step(self) -> bool:
        """One action of libcurl, if there is something to do and something left to read; False if not."""
        meter, now = self._meter, time.monotonic()
        due = self._timer is not None and self._timer <= now
        self._turn = not self._turn  # those that were paused, and all others
        events = [] if due or (meter.paused and self._turn) else self._epoll.poll(0, 1)
        if not (meter.paused or due or events):
            return False
        if self._is_dry(now):
            return False
        meter.begin()
        if due:
            self._timer = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        elif not events:
            self._resume(meter.paused.popleft())
        for fd, event in events:
            bits = pycurl.CSELECT_IN if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR) else 0
            bits |= pycurl.CSELECT_OUT if event & select.EPOLLOUT else 0
            bits |= pycurl.CSELECT_ERR if event & select.EPOLLERR else 0
            self._multi.socket_action(fd, bits)
            meter.count(fd)
        meter.count_touched()
        if self._share.balance <= 0:
            self._is_dry(time.monotonic())  # what is owed is paid at once: others must not read meanwhile
        return True

    def _is_dry(self, now: float) -> bool:
        """Whether nothing may be read for a while."""
        if wait := self._share.take(now):
            self._dry = now, now + wait
            self._outer.modify(self._epoll.fileno(), 0)
        return wait > 0

    def _resume(self, transfer: MeteredTransfer) -> None:
        """It gets the piece that it refused; then libcurl asks for a timer at once, and goes on when that is called. If
        it breaks off with that piece, libcurl says so here, and nowhere else."""
        if transfer.paused and transfer.curl in self._open:
            transfer.paused = False
            try:
                transfer.curl.pause(pycurl.PAUSE_CONT)
            except pycurl.error as error:
                self._end(transfer, *failure_of(transfer, *error.args[:2]))
                return
            if self._timer is not None and self._timer <= time.monotonic() + 0.001:
                self._timer = None
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        """A socket of a paused transfer is watched for nothing."""
        if what == pycurl.POLL_NONE:
            what = pycurl.POLL_REMOVE
        super()._watch(what, fd, multi, data)

    def _sweep(self, now: float) -> None:
        passed = min(now - self._swept, 4 * SWEEP)
        for transfer in list(self._open.values()):
            assert isinstance(transfer, MeteredTransfer)
            if transfer.paused or unread_of(transfer.curl.getinfo(pycurl.ACTIVESOCKET)) > 0:
                transfer.held += passed
                if transfer.mark_time:
                    transfer.mark_time += passed
            if now - transfer.start - transfer.held > self._settings.whole_timeout:
                self._end(transfer, Outcome.TIMED_OUT, "not within the time limit of a whole request")
        super()._sweep(now)

    def _end(self, transfer: Transfer, failure: Outcome | None, detail: str) -> None:
        assert isinstance(transfer, MeteredTransfer)
        begun, ended = self._last_dry
        waited = ended - max(begun, transfer.start) if time.monotonic() - ended < NOTABLE * (ended - begun) else 0.0
        transfer.slowed |= waited > NOTABLE * (time.monotonic() - transfer.start)
        if transfer.paused:
            transfer.paused = False
            self._meter.paused.remove(transfer)
        super()._end(transfer, failure, detail)
