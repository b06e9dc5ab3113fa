"""Requests that read no more than was granted: the bandwidth limit of a `Fetcher`. Used only where there is a limit.

Every connection is a throttled socket (`web/limit/throttle.py`), through which a worker lets in what it has taken from
the rate limiter (`web/limit/bucket.py`), a piece of each connection in turn. The connections are in an epoll of their
own, the *gate*. While nothing may be taken, nobody polls the gate: data waits in the kernel, whose receive buffers are
bounded, and the servers wait with it. libcurl gets each piece at once, and behaves as if that were all there is. All
that is received counts: heads, TLS, handshakes.

A server is not blamed for what we do: the time in which its data lay unread counts for none of the limits of time and
speed, and such a visit is marked as held back. Two limits count all the same, so that no server can go on for ever:
that of the bytes of a request (`web/fetch/meter.py`), and `longest`.

Refused: libcurl's own limit per transfer as the hard limit (it counts whole seconds, and lets each transfer read all
of its share at once; it does cap single transfers, `Assignment.cap`); pausing transfers when the grant is used up
(what libcurl reads in one action is too much by some buffers, of TLS by a whole record, which is a second's worth of a
small grant); a slow proxy (another process, which would have to care for names and addresses).
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

import pycurl

from gossamer.base.model import Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.fetch.fetch import SWEEP, Driver, Fetcher
from gossamer.web.fetch.meter import Meter
from gossamer.web.fetch.response import tls_fault
from gossamer.web.fetch.transfer import Transfer
from gossamer.web.limit.bucket import Share, window_of
from gossamer.web.limit.throttle import ThrottledSocket, connected

PIECES: Final = 64
"""Pieces after which the worker returns to its other work."""
NOTABLE: Final = 0.25
"""Share of the time of a visit: a shorter last wait made no difference."""
LEAST_SPEED: Final = 100
"""Bytes per second that count as the lowest speed if the settings accept less."""
_NEVER: Final = 2**31 - 1
"""Milliseconds."""


def longest(settings: HarvesterSettings) -> float:
    """Seconds after which a transfer ends whatever held it back: the time of a whole request, and the time that the
    largest download takes at the lowest speed that a server may have."""
    return settings.whole_timeout + settings.max_download / max(LEAST_SPEED, settings.lowest_speed)


def limited_fetcher(settings: HarvesterSettings, epoll: select.epoll, share: Share) -> Fetcher:
    """A fetcher that reads no more than `share` gives it."""
    return Fetcher(settings, epoll, lambda driver, transfers: BandwidthLimit(settings, share, driver, transfers))


class BandwidthLimit:
    """Implements the hooks of `Limit` (`web/fetch/transfer.py`)."""

    def __init__(
        self, settings: HarvesterSettings, share: Share, driver: Driver, transfers: Mapping[pycurl.Curl, Transfer]
    ) -> None:
        """`transfers`: the open ones of the fetcher, which keeps the mapping up to date."""
        self._settings, self._share = settings, share
        self._longest = longest(settings)
        self._driver, self._transfers = driver, transfers
        self._gate = select.epoll()
        driver.epoll.register(self._gate.fileno(), select.EPOLLIN)
        self.sockets: dict[int, ThrottledSocket] = {}
        """By libcurl's descriptor."""
        self.ends: dict[int, ThrottledSocket] = {}
        """By our descriptors, of which each socket has two."""
        self._connecting = set[int]()
        self._makers: dict[int, Transfer] = {}
        """By libcurl's descriptor: the transfer for which it makes the connection."""
        self._dry: tuple[float, float] | None = None
        """Since when nothing may be read, and until when at least; None: something may be read."""
        self._last_dry = (0.0, 0.0)
        self._dry_spells = 0
        """How often it has happened that nothing might be read."""
        self.holding = False

    @property
    def _window(self) -> int:
        """Bytes of a new connection's receive buffer; 0: as many as the kernel likes."""
        granted = self._share.granted
        return window_of(granted) if granted else 0

    # --- transfers ------------------------------------------------------------------------------------------------

    def configure(self, transfer: Transfer) -> None:
        """libcurl's timeouts are off: `overdue` replaces them."""

        def made(fd: int, purpose: int) -> int:
            """libcurl has opened a socket: what had this descriptor before is closed, which will be noticed."""
            transfer.made = fd
            self._makers[fd] = transfer
            self.sockets.pop(fd, None)
            return int(pycurl.SOCKOPT_OK)

        transfer.curl.setopt(pycurl.TIMEOUT_MS, 0)
        transfer.curl.setopt(pycurl.CONNECTTIMEOUT_MS, _NEVER)
        transfer.curl.setopt(pycurl.SOCKOPTFUNCTION, made)

    def prepare(self, transfer: Transfer) -> None:
        cap = transfer.assignment.cap
        transfer.slowed, transfer.made = cap > 0, -1
        if cap != transfer.cap:
            transfer.cap = cap
            transfer.curl.setopt(pycurl.MAX_RECV_SPEED_LARGE, cap)

    def opened(self, new: socket.socket) -> None:
        if window := self._window:
            new.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)

    def timeout(self, wait: float) -> float:
        return wait if self._dry is None else min(wait, max(0.0, self._dry[1] - time.monotonic()))

    def act(self, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        theirs = []
        for fd, event in events:
            if (throttled := self.ends.get(fd)) is not None:
                self._handle(throttled, fd, event)
            elif fd != self._gate.fileno():
                theirs.append((fd, event))
        self._let_in()
        timer = self._driver.timer
        due = timer is not None and timer <= time.monotonic()
        for fd in tuple(self._connecting) if due else [fd for fd, _ in theirs if fd in self._connecting]:
            self._interpose(fd)
        return theirs

    # --- throttled sockets ----------------------------------------------------------------------------------------

    def watched(self, fd: int, removed: bool) -> None:
        if removed:
            self._connecting.discard(fd)
        elif fd not in self.sockets:
            self._connecting.add(fd)
        if fd in self._connecting:
            self._interpose(fd)

    def _interpose(self, fd: int) -> None:
        """Throttles a connection once it is made, and before anything is read from it. Called whenever libcurl might
        continue with it."""
        if not connected(fd):
            return
        epoll = self._driver.epoll
        self._connecting.remove(fd)
        with suppress(OSError):
            epoll.unregister(fd)  # while it is what was registered
        try:
            throttled = ThrottledSocket(fd, self._window)
        except OSError:
            self._lack(fd)
            return
        finally:
            with suppress(FileExistsError):
                epoll.register(fd, self._driver.masks[fd])
        if (maker := self._makers.pop(fd, None)) is not None and maker.made == fd:
            maker.meter = throttled
        throttled.noted.dry_spells = self._dry_spells
        self.sockets[fd] = self.ends[throttled.ends[0]] = self.ends[throttled.ends[1]] = throttled
        epoll.register(throttled.far, 0)
        epoll.register(throttled.near, 0)
        self._settle(throttled)

    def _lack(self, fd: int) -> None:
        """Gives the page back, with nothing read, because there are no descriptors for a throttled socket."""
        if (maker := self._makers.pop(fd, None)) is not None and maker.made == fd:
            maker.lacking = True
        connection = socket.socket(fileno=fd)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.detach()

    def _handle(self, throttled: ThrottledSocket, fd: int, event: int) -> None:
        """The epoll has reported an event of one of our descriptors."""
        if fd == throttled.ends[0]:
            throttled.far_event(event)
        else:
            throttled.near_event(event)
        self._settle(throttled)

    def _settle(self, throttled: ThrottledSocket) -> None:
        """Pays for what came, and brings gate and epoll up to date: the gate has the sockets through which something
        may be let in."""
        if unpaid := throttled.pay():
            self._share.spend(unpaid)
        if throttled.closed:
            for end in throttled.ends:
                del self.ends[end]
            if self.sockets.get(throttled.fd) is throttled:
                del self.sockets[throttled.fd]
            return
        noted, events = throttled.noted, (throttled.events, throttled.far_events)
        (opened, *masks), opens = noted.settled, throttled.opens
        if opens and not opened:
            self._gate.register(throttled.far, select.EPOLLIN)
        elif opened and not opens:
            self._gate.unregister(throttled.far)
        for connection, before, now in zip((throttled.near, throttled.far), masks, events, strict=True):
            if now != before:
                self._driver.epoll.modify(connection, now)
        noted.settled = opens, *events

    # --- the rate limiter -----------------------------------------------------------------------------------------

    def _let_in(self) -> None:
        """Lets in a piece through each socket in turn, until there is nothing to read, or nothing may be read."""
        if self._dry is not None and (now := time.monotonic()) >= self._dry[1]:
            self._last_dry, self._dry, self._dry_spells = (self._dry[0], now), None, self._dry_spells + 1
            self._driver.epoll.modify(self._gate.fileno(), select.EPOLLIN)
        pieces = 0
        while self._dry is None and pieces < PIECES and (ready := self._gate.poll(0, 1)):
            pieces += 1
            if self._take():
                self._let_through(self.ends[ready[0][0]])

    def _take(self) -> bool:
        """Takes from the rate limiter. If there is nothing, a dry spell begins, the gate is shut, and this is False."""
        now = time.monotonic()
        if wait := self._share.take(now):
            self._dry = now, now + wait
            self._driver.epoll.modify(self._gate.fileno(), 0)
        return wait <= 0

    def _let_through(self, throttled: ThrottledSocket) -> None:
        late, throttled.noted.dry_spells = throttled.noted.dry_spells != self._dry_spells, self._dry_spells
        throttled.let_in(int(self._share.balance), late)
        self._settle(throttled)
        fd = throttled.fd
        if fd in self._driver.masks and self.sockets.get(fd) is throttled:
            self.holding = throttled.held
            self._driver.readable(fd)
            self.holding = False

    # --- what is not the server's fault ---------------------------------------------------------------------------

    def overdue(self, now: float, passed: float) -> Iterator[tuple[Transfer, Outcome, str]]:
        for transfer in list(self._transfers.values()):
            fd = transfer.curl.getinfo(pycurl.ACTIVESOCKET) if transfer.asked else transfer.made
            throttled = self.sockets.get(fd)
            if passed > 4 * SWEEP or (throttled is not None and throttled.waits):  # nobody read, or nobody might
                waited = min(passed, now - transfer.start - transfer.held)
                transfer.held += waited
                if transfer.mark_time:
                    transfer.mark_time += waited
            took = now - transfer.start - transfer.held
            if now - transfer.start > self._longest:
                yield transfer, Outcome.TIMED_OUT, "not within the longest time, whoever was slow"
            elif took > self._settings.whole_timeout:
                yield transfer, Outcome.TIMED_OUT, "not within the time limit of a whole request"
            elif not transfer.asked and took > self._settings.connect_timeout:
                yield transfer, *_unconnected(transfer, throttled is not None, took)

    def meter(self, fd: int) -> Meter | None:
        return self.sockets.get(fd)

    def ending(self, transfer: Transfer) -> None:
        """Finds out whether the last dry spell made the transfer slower."""
        now, (begun, ended) = time.monotonic(), self._last_dry
        waited = ended - max(begun, transfer.start) if now - ended < NOTABLE * (ended - begun) else 0.0
        transfer.slowed |= waited > NOTABLE * (now - transfer.start)

    def ended(self, transfer: Transfer, fd: int) -> None:
        if (throttled := self.sockets.get(fd)) is not None and not transfer.http2:
            throttled.rest()
            self._settle(throttled)


def _unconnected(transfer: Transfer, connected: bool, took: float) -> tuple[Outcome, str]:
    """Why there is no connection in time, or no secure one."""
    text = f"connection timed out after {1000 * took:.0f} milliseconds"
    handshake = connected and transfer.assignment.url.startswith(b"https:")
    return (Outcome.TLS_FAILED, tls_fault(text, 0)) if handshake else (Outcome.TIMED_OUT, text)
