"""Requests that read no more than was granted: `Fetcher` on a metered line. Used only where there is a limit.

Every connection has a sluice (`web/limit/throttle.py`), through which a worker lets in what it has taken from the line
(`web/limit/bucket.py`), a piece of each connection in turn. The connections are in an epoll of their own, the *gate*:
while there is nothing to be taken nobody looks at it, data waits in the kernel, whose receive buffers are bounded, and
the servers wait with it. libcurl gets each piece at once, and goes about as if that were all there is. All that is
received counts: heads, TLS, handshakes.

A server is not blamed for what we do: time in which its data lay unread counts for none of the limits of time and
speed, and such a visit says that it was held back.

Refused: libcurl's own limit by transfer as the hard limit (it counts whole seconds, and lets each transfer read all of
its share at once; it does cap single transfers, `Assignment.cap`); pausing transfers when the line is used up (what
libcurl reads in one action is too much by some buffers, of TLS by a whole record, which is a second's worth of a thin
line); a proxy that is slow (another process, and names and addresses in its care).
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import pycurl

from gossamer.base.model import Assignment, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden
from gossamer.web.fetch.fetch import SWEEP, Fetched, Fetcher, Transfer
from gossamer.web.fetch.response import tls_fault
from gossamer.web.limit.bucket import Share, window_of
from gossamer.web.limit.throttle import Sluice, connected, read_of

TURNS: Final = 64
"""Pieces after which the worker looks at other things."""
NOTABLE: Final = 0.25
"""Of the time of a visit: a last wait that was shorter made no difference."""
_NEVER: Final = 2**31 - 1
"""Milliseconds."""


class MeteredTransfer(Transfer):
    __slots__ = ("_cap", "_fetcher", "made")

    def __init__(
        self,
        settings: HarvesterSettings,
        fields: list[str],
        forbidden: Forbidden,
        trusted: str,
        fetcher: MeteredFetcher,
    ) -> None:
        self._fetcher, self._cap = fetcher, 0
        self.made = -1
        """The descriptor of the connection that libcurl makes for this request, if it makes one."""
        super().__init__(settings, fields, forbidden, trusted)
        self.curl.setopt(pycurl.TIMEOUT_MS, 0)
        self.curl.setopt(pycurl.CONNECTTIMEOUT_MS, _NEVER)
        self.curl.setopt(pycurl.SOCKOPTFUNCTION, self._made)

    def prepare(self, assignment: Assignment, limit: int, now: float) -> None:
        super().prepare(assignment, limit, now)
        self.slowed, self.made = assignment.cap > 0, -1
        if assignment.cap != self._cap:
            self._cap = assignment.cap
            self.curl.setopt(pycurl.MAX_RECV_SPEED_LARGE, self._cap)

    def _open(self, purpose: int, address: Any) -> socket.socket | int:
        opened = super()._open(purpose, address)
        if isinstance(opened, socket.socket) and (window := self._fetcher.window):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        return opened

    def _made(self, fd: int, purpose: int) -> int:
        self.made = fd
        self._fetcher.made(fd)
        return int(pycurl.SOCKOPT_OK)

    def _body(self, data: bytes) -> int | None:
        self.slowed |= self._fetcher.holds
        return super()._body(data)


class MeteredFetcher(Fetcher):
    def __init__(self, settings: HarvesterSettings, epoll: select.epoll, share: Share) -> None:
        super().__init__(settings, epoll)
        self._gate = select.epoll()
        epoll.register(self._gate.fileno(), select.EPOLLIN)
        self._share = share
        self._sluices: dict[int, Sluice] = {}
        """By libcurl's descriptor."""
        self._ends: dict[int, Sluice] = {}
        """By ours, of which each has two."""
        self._connecting = set[int]()
        self._dry: tuple[float, float] | None = None
        """Since when nothing may be read, and until when at least."""
        self._last_dry = (0.0, 0.0)
        self._dries = 0
        """How often that has been so."""
        self.holds = False
        """The server of what libcurl gets at the moment had to wait."""

    @property
    def window(self) -> int:
        """Bytes of a new connection's receive buffer; 0: as many as the kernel likes."""
        granted = self._share.granted
        return window_of(granted) if granted else 0

    def _transfer(self) -> Transfer:
        return MeteredTransfer(self._settings, self._fields, self._forbidden, self._trusted.path, self)

    def timeout(self) -> float:
        wait = super().timeout()
        return wait if wait < 0 or self._dry is None else min(wait, max(0.0, self._dry[1] - time.monotonic()))

    def act(self, events: Iterable[tuple[int, int]]) -> list[Fetched]:
        theirs = []
        for fd, event in events:
            if (sluice := self._ends.get(fd)) is not None:
                self._look(sluice, fd, event)
            elif fd != self._gate.fileno():
                theirs.append((fd, event))
        self._let_in()
        due = self._timer is not None and self._timer <= time.monotonic()
        for fd in tuple(self._connecting) if due else [fd for fd, _ in theirs if fd in self._connecting]:
            self._interpose(fd)
        return super().act(theirs)

    # --- sluices --------------------------------------------------------------------------------------------------

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        if what == pycurl.POLL_REMOVE:
            self._connecting.discard(fd)
        elif fd not in self._sluices:
            self._connecting.add(fd)
        super()._watch(what, fd, multi, data)
        if fd in self._connecting:
            self._interpose(fd)

    def _interpose(self, fd: int) -> None:
        """Whenever libcurl might go on with a connection: once it is made, and before anything is read from it."""
        if not connected(fd):
            return
        self._connecting.remove(fd)
        with suppress(OSError):
            self._epoll.unregister(fd)  # while it is what was registered
        try:
            sluice = Sluice(fd, self.window)
        except OSError:
            self._lack(fd)
            return
        finally:
            with suppress(FileExistsError):
                self._epoll.register(fd, self._watched[fd])
        self._share.spend(read_of(sluice.far))
        sluice.dries = self._dries
        self._sluices[fd] = self._ends[sluice.ends[0]] = self._ends[sluice.ends[1]] = sluice
        self._epoll.register(sluice.far, 0)
        self._epoll.register(sluice.near, 0)
        self._settle(sluice)

    def _lack(self, fd: int) -> None:
        """There are no descriptors for a sluice: the page goes back, and nothing is read for it."""
        for transfer in self._open.values():
            if isinstance(transfer, MeteredTransfer) and transfer.made == fd:
                transfer.lacking = True
        connection = socket.socket(fileno=fd)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.detach()

    def made(self, fd: int) -> None:
        """libcurl has opened a socket: whatever had this descriptor before is closed, and will be seen to be."""
        self._sluices.pop(fd, None)

    def _look(self, sluice: Sluice, fd: int, event: int) -> None:
        if fd == sluice.ends[0]:
            sluice.look_far(event)
        else:
            sluice.look_near(event)
        self._settle(sluice)

    def _settle(self, sluice: Sluice) -> None:
        """The gate has those through which something may be let in."""
        if sluice.closed:
            for end in sluice.ends:
                del self._ends[end]
            if self._sluices.get(sluice.fd) is sluice:
                del self._sluices[sluice.fd]
            return
        (opened, *watched), opens, events = sluice.settled, sluice.opens, (sluice.events, sluice.far_events)
        if opens and not opened:
            self._gate.register(sluice.far, select.EPOLLIN)
        elif opened and not opens:
            self._gate.unregister(sluice.far)
        for own, before, now in zip((sluice.near, sluice.far), watched, events, strict=True):
            if now != before:
                self._epoll.modify(own, now)
        sluice.settled = opens, *events

    # --- the line -------------------------------------------------------------------------------------------------

    def _let_in(self) -> None:
        """A piece through each sluice in turn, until there is nothing to read, or nothing may be read."""
        if self._dry is not None and (now := time.monotonic()) >= self._dry[1]:
            self._last_dry, self._dry, self._dries = (self._dry[0], now), None, self._dries + 1
            self._epoll.modify(self._gate.fileno(), select.EPOLLIN)
        turns = 0
        while self._dry is None and turns < TURNS and (ready := self._gate.poll(0, 1)):
            turns += 1
            if not self._is_dry():
                self._let_through(self._ends[ready[0][0]])

    def _let_through(self, sluice: Sluice) -> None:
        late, sluice.dries = sluice.dries != self._dries, self._dries
        self._share.spend(sluice.let_in(int(self._share.balance), late))
        self._settle(sluice)
        if sluice.fd in self._watched and self._sluices.get(sluice.fd) is sluice:
            self.holds = sluice.held
            self._multi.socket_action(sluice.fd, pycurl.CSELECT_IN)
            self.holds = False

    def _is_dry(self) -> bool:
        """Whether nothing may be read for a while."""
        now = time.monotonic()
        if wait := self._share.take(now):
            self._dry = now, now + wait
            self._epoll.modify(self._gate.fileno(), 0)
        return wait > 0

    # --- what is not the server's fault ---------------------------------------------------------------------------

    def _sweep(self, now: float) -> None:
        passed = now - self._swept
        for transfer in list(self._open.values()):
            assert isinstance(transfer, MeteredTransfer)
            active = transfer.curl.getinfo(pycurl.ACTIVESOCKET) if transfer.asked else transfer.made
            sluice = self._sluices.get(active)
            if passed > 4 * SWEEP or (sluice is not None and sluice.waits):  # nobody looked, or nobody might
                waited = min(passed, now - transfer.start - transfer.held)
                transfer.held += waited
                if transfer.mark_time:
                    transfer.mark_time += waited
            took = now - transfer.start - transfer.held
            if took > self._settings.whole_timeout:
                self._end(transfer, Outcome.TIMED_OUT, "not within the time limit of a whole request")
            elif not transfer.asked and took > self._settings.connect_timeout:
                self._end(transfer, *_unconnected(transfer, sluice is not None, took))
        super()._sweep(now)

    def _end(self, transfer: Transfer, failure: Outcome | None, detail: str) -> None:
        now, (begun, ended) = time.monotonic(), self._last_dry
        waited = ended - max(begun, transfer.start) if now - ended < NOTABLE * (ended - begun) else 0.0
        transfer.slowed |= waited > NOTABLE * (now - transfer.start)
        active = transfer.curl.getinfo(pycurl.ACTIVESOCKET)
        super()._end(transfer, failure, detail)
        if (sluice := self._sluices.get(active)) is not None and not transfer.http2:
            sluice.rest()
            self._settle(sluice)


def _unconnected(transfer: Transfer, connected: bool, took: float) -> tuple[Outcome, str]:
    """Why there is no connection in time, or no secure one."""
    text = f"connection timed out after {1000 * took:.0f} milliseconds"
    handshake = connected and transfer.assignment.url.startswith(b"https:")
    return (Outcome.TLS_FAILED, tls_fault(text, 0)) if handshake else (Outcome.TIMED_OUT, text)
