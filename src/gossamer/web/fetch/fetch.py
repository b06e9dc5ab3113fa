"""Requests by libcurl: all transfers of a worker, their time limits, and what becomes of each.

HTTP/2 is spoken only if the settings want it, over TLS, and never with two requests at once on a connection: libcurl
may not multiplex. It changes nothing else: a server that answers 421, or breaks such a request off, is requested by
HTTP/1.1 the next time (the page goes back), and heads are written as HTTP/1.1 has them, as is usual in archives.
In the same way a server that answers 416 is requested without Range the next time, and a server whose certificate is
not valid without verification, if the settings want its pages all the same (`web/fetch/request.py`).

Invariants, each a test of the same name: a socket opens only to the pinned address and to no forbidden one; a request
is sent once; redirects are not followed; of a body no more than its limit is kept; nothing of a type that is not
gathered is kept; every assignment ends in exactly one `Fetched`; what a server sends takes no more memory than the
bounds of head and body.

libcurl's low-speed limit is refused: it also runs before the first byte, where our limit is another.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pycurl

from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden
from gossamer.web.fetch.caching import conditions
from gossamer.web.fetch.meter import Meters
from gossamer.web.fetch.request import Quirks, Requests, Trusted
from gossamer.web.fetch.response import Head, broken, read_head
from gossamer.web.fetch.transfer import MAX_HEAD, Limit, Transfer, failure_of, misplaced

MAX_ROBOTS: Final = 512_001
"""RFC 9309, 2.5: at least 500 kibibytes. One byte more than is parsed as rules, so that a cut line is noticed."""
SWEEP: Final = 0.25
"""Seconds between checks of the limits that libcurl does not keep."""


class Driver:
    """libcurl's multi handle: tells libcurl what the epoll reports, and the epoll what libcurl waits for. The epoll is
    the worker's. Refused: `perform()`, which pays for every idle handle."""

    def __init__(self, epoll: select.epoll, connections: int) -> None:
        """`connections`: how many libcurl keeps open at most (but at least 8)."""
        self.epoll = epoll
        self.masks: dict[int, int] = {}
        """Descriptors that the epoll most likely has, and their event masks."""
        self.timer: float | None = None
        """When libcurl wants to act even if nothing happens; None: never."""
        self.limit: Limit | None = None
        self.meters: Meters[Transfer] = Meters()
        self.excessive: list[Transfer] = []
        """Open transfers that were found to send too much."""
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self.multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self.multi.setopt(pycurl.M_MAXCONNECTS, max(8, connections))
        self.multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_NOTHING)

    def act(self, events: Iterable[tuple[int, int]]) -> float:
        """Lets libcurl work on what the epoll reported, and on what its timer is due for; returns the time."""
        for fd, event in events:
            bits = 0
            if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                bits |= pycurl.CSELECT_IN
            if event & select.EPOLLOUT:
                bits |= pycurl.CSELECT_OUT
            if event & select.EPOLLERR:
                bits |= pycurl.CSELECT_ERR
            self._action(fd, bits)
        now = time.monotonic()
        if self.timer is not None and self.timer <= now:
            self.timer = None
            self.multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        return now

    def readable(self, fd: int) -> None:
        """Lets libcurl read from `fd`."""
        self._action(fd, pycurl.CSELECT_IN)

    def _action(self, fd: int, bits: int) -> None:
        """Notices a transfer that reads much, and little of it is body. One action reads up to 11 MB, so that no sweep
        would be soon enough."""
        transfer = self.meters.transfers.get(fd)
        self.multi.socket_action(fd, bits)
        if transfer is not None and transfer.overflows():
            self.excessive.append(transfer)

    def _watch(self, what: int, fd: int, multi: Any, data: Any) -> None:
        """Called by libcurl: it begins to wait for `fd`, waits for something else, or no longer waits."""
        if what == pycurl.POLL_REMOVE:
            self.masks.pop(fd, None)
            with suppress(OSError):
                self.epoll.unregister(fd)
        else:
            mask = select.EPOLLIN if what == pycurl.POLL_IN else select.EPOLLOUT
            if what == pycurl.POLL_INOUT:
                mask = select.EPOLLIN | select.EPOLLOUT
            self._register(fd, mask)
        if self.limit is not None:
            self.limit.watched(fd, what == pycurl.POLL_REMOVE)
        if what != pycurl.POLL_REMOVE:
            self.meters.watched(fd)

    def _register(self, fd: int, mask: int) -> None:
        """libcurl may close and open a descriptor without a word: the epoll then has it no longer, or another one."""
        known = fd in self.masks
        self.masks[fd] = mask
        try:
            (self.epoll.modify if known else self.epoll.register)(fd, mask)
        except FileNotFoundError:
            self.epoll.register(fd, mask)
        except FileExistsError:
            self.epoll.modify(fd, mask)

    def _set_timer(self, milliseconds: int) -> None:
        self.timer = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000


MakeLimit = Callable[[Driver, Mapping[pycurl.Curl, Transfer]], Limit]
"""Makes the bandwidth limit of a fetcher from its driver and its open transfers."""


class Traffic(NamedTuple):
    """What libcurl measured about a request."""

    connect: float = 0.0
    """Seconds until the connection was made, its TLS handshake included; 0 if there was one already."""
    first: float = 0.0
    """Seconds until the first byte of the answer."""
    received: int = 0
    """Bytes off the wire: head, body, and all that was around them (`web/fetch/meter.py`)."""
    sent: int = 0
    """Bytes of the request."""
    reused: bool = False
    """Whether the request went over a connection that had served another one."""


NO_TRAFFIC: Final = Traffic()
NO_HEAD: Final = read_head(())
_MOST: Final = 0xFFFFFFFF
"""Bytes that a visit can say it received."""


@dataclass(slots=True)
class Fetched:
    """What became of a request."""

    assignment: Assignment
    failure: Outcome | None
    """None: an answer came, and as much of its body as we wanted."""
    detail: str
    start: float
    end: float
    traffic: Traffic = NO_TRAFFIC
    cut: bool = False
    unverified: bool = False
    held: bool = False
    """We held it back: the server is as fast as this, or faster."""
    status: int = 0
    head: Head = NO_HEAD
    headers: dict[str, str] = field(default_factory=dict)
    """Header fields of the response."""
    body: bytes = b""
    request: bytes = b""
    tls: str = ""
    """The version of TLS, such as "1.3", if the request was for robots.txt and made the connection."""


class Fetcher:
    """All requests of a worker. `epoll` is the worker's: it passes on events of descriptors that are not its own."""

    def __init__(self, settings: HarvesterSettings, epoll: select.epoll, limit: MakeLimit | None = None) -> None:
        """`limit`: what holds the fetcher to a bandwidth, if anything does (`web/limit/limited_fetch.py`)."""
        self._settings = settings
        self._limits: Final = {Ask.ROBOTS: MAX_ROBOTS, Ask.SITEMAP: int(settings.max_sitemap)}
        """Bytes of a body that are kept, where it is not a page."""
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._trusted = Trusted(settings.trusted)
        self._requests = Requests(settings)
        self._quirks = Quirks(settings, self._requests)
        self._driver = Driver(epoll, settings.connections)
        self._idle: list[Transfer] = []
        self._open: dict[pycurl.Curl, Transfer] = {}
        self._limit = self._driver.limit = limit(self._driver, self._open) if limit is not None else None
        self._meters = self._driver.meters = Meters(self._limit)
        self._swept = 0.0
        self._done: list[Fetched] = []

    def __len__(self) -> int:
        return len(self._open)

    def start(self, assignment: Assignment) -> None:
        """Begins a request."""
        if self._forbidden(assignment.address):
            now = time.monotonic()
            detail = f"{assignment.address} may not be visited"
            self._done.append(Fetched(assignment, Outcome.FORBIDDEN_ADDRESS, detail, now, now))
            return
        transfer = self._idle.pop() if self._idle else self._transfer()
        limit = self._limits.get(assignment.ask, self._settings.max_download)
        transfer.prepare(assignment, limit, time.monotonic())
        if self._quirks.possible:
            self._quirks.adapt(transfer)
        fields = self._requests.part_fields if transfer.partly else self._requests.fields
        transfer.ask_if(fields, conditions(assignment)[1] if assignment.conditions else [])
        self._open[transfer.curl] = transfer
        self._driver.multi.add_handle(transfer.curl)

    def _transfer(self) -> Transfer:
        return Transfer(
            self._settings, self._requests.fields, self._forbidden, self._trusted.path, self._meters, self._limit
        )

    def timeout(self) -> float:
        """Seconds until `act` must be called, whatever happens on the sockets; -1: never."""
        if self._done:
            return 0.0
        if not self._open:
            return -1.0
        now, timer = time.monotonic(), self._driver.timer
        wait = self._swept + SWEEP - now
        if timer is not None:
            wait = min(wait, timer - now)
        wait = max(0.0, wait)
        return wait if self._limit is None else self._limit.timeout(wait)

    def act(self, events: Iterable[tuple[int, int]]) -> list[Fetched]:
        """Lets libcurl work on what the epoll reported; returns the requests that have ended since the last call."""
        if self._limit is not None:
            events = self._limit.act(events)
        now = self._driver.act(events)
        self._collect()
        self._end_excessive()
        if now - self._swept >= SWEEP:  # of those that have not ended
            self._sweep(now)
        done, self._done = self._done, []
        return done

    def _collect(self) -> None:
        """Ends the transfers that libcurl has finished."""
        queued = 1
        while queued:
            queued, ended, failed = self._driver.multi.info_read()
            for curl, code, text in [*((curl, pycurl.E_OK, "") for curl in ended), *failed]:
                transfer = self._open[curl]
                failure, detail = failure_of(transfer, code, text) if code else (None, "")
                if self._quirks.possible:
                    status = curl.getinfo(pycurl.RESPONSE_CODE)
                    why = self._quirks.reason(transfer, code, status, failure, detail)
                    if why is not None:
                        failure, detail = Outcome.RETURNED, why
                self._end(transfer, failure, detail)

    def _end_excessive(self) -> None:
        while self._driver.excessive:
            transfer = self._driver.excessive.pop()
            if transfer.curl in self._open and transfer.overflows():
                self._end(transfer, *transfer.overflowed())

    def _sweep(self, now: float) -> None:
        """Ends transfers that wait too long for their first byte, are slower than the lowest speed after it, or send
        more than an answer takes."""
        if self._limit is not None:
            for transfer, failure, detail in self._limit.overdue(now, now - self._swept):
                self._end(transfer, failure, detail)
        self._swept = now
        for transfer in list(self._open.values()):
            if transfer.overflows():
                self._end(transfer, *transfer.overflowed())
            elif not transfer.lines:
                since = now - transfer.start - transfer.held - self._settings.first_byte_timeout
                if since > 0 and 0 < transfer.curl.getinfo(pycurl.PRETRANSFER_TIME) < since:
                    self._end(transfer, Outcome.TIMED_OUT, "no status line in time")
            elif not transfer.mark_time:
                transfer.mark, transfer.mark_time = transfer.size, now
            elif now - transfer.mark_time >= self._settings.slow_time:
                if transfer.size - transfer.mark < self._settings.lowest_speed * (now - transfer.mark_time):
                    self._end(transfer, Outcome.TOO_SLOW, "slower than the lowest speed")
                else:
                    transfer.mark, transfer.mark_time = transfer.size, now

    def _end(self, transfer: Transfer, failure: Outcome | None, detail: str) -> None:
        """Makes the `Fetched` of a transfer, and frees its handle."""
        limit = self._limit
        if limit is not None:
            limit.ending(transfer)
        now = time.monotonic()
        curl = transfer.curl
        get = curl.getinfo
        size = sum(map(len, transfer.lines))
        head = transfer.whole_head()
        fd = get(pycurl.ACTIVESOCKET)
        received = self._meters.ended(transfer, fd)
        status = get(pycurl.RESPONSE_CODE)
        if size > MAX_HEAD:
            failure, detail = Outcome.PROTOCOL_ERROR, "head too long"
        elif failure is None and not transfer.size and not head.whole:
            failure, detail = Outcome.BROKEN_OFF, "ended within the head"
        elif failure is None and (fault := broken(head.line) or misplaced(transfer, status, head.headers)):
            failure, detail = Outcome.PROTOCOL_ERROR, fault
        url = transfer.assignment.url
        if transfer.unverified and failure is None:
            detail = self._quirks.certificate(url)
        sent = get(pycurl.REQUEST_SIZE)
        connect = get(pycurl.APPCONNECT_TIME) or get(pycurl.CONNECT_TIME)
        reused = get(pycurl.NUM_CONNECTS) == 0 and sent > 0
        received = min(_MOST, size + transfer.size if received is None else received)
        traffic = Traffic(connect, get(pycurl.STARTTRANSFER_TIME), received, sent, reused)
        self._done.append(
            Fetched(
                transfer.assignment,
                failure,
                detail,
                transfer.start,
                now,
                traffic,
                cut=transfer.cut,
                unverified=transfer.unverified,
                held=transfer.slowed,
                status=status,
                head=head,
                headers=head.headers,
                body=b"".join(transfer.chunks),
                request=self._requests.head(url, transfer.partly, transfer.conditions),
                tls=transfer.tls,
            )
        )
        self._driver.multi.remove_handle(curl)
        del self._open[curl]
        transfer.chunks = []
        if transfer.meter is not None:
            transfer.meter.release()
        self._idle.append(transfer)
        if limit is not None:
            limit.ended(transfer, fd)
