"""A worker process: fetches, decodes, gathers, archives.

    python -m gossamer.crawl.worker WIRE SLOT PAYLOADS LINE NUMBER        four descriptors (or -1), and its number

It decides what follows from URL and settings alone; all that needs state is the desk's. It lives until it is told to
stop or the desk is gone: the wire ends, or the kernel kills it with its parent.

One loop in one thread, and beside it a thread that reads large pages (`beside.py`), so that they do not hold up the
transfers of others. Only the loop writes, to the archive and to the wire: results leave in the order in which their
records lie in the archive file.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest

from gossamer.base.disk import Appender
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, Ask, Assignment, Outcome, VisitFlag
from gossamer.base.screen import guard
from gossamer.config import Settings, from_json
from gossamer.gatherer.challenge import challenged
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.gather import Gathered, charset_of, gather, redirected
from gossamer.gatherer.links import Link
from gossamer.gatherer.preferences import lines, of_headers
from gossamer.gatherer.sitemaps import MOST_BYTES, further, listed, read
from gossamer.robots import Rules
from gossamer.robots.parse import LIMIT
from gossamer.urls import Scope, canonical, fingerprint, host, origin
from gossamer.web.archive.archive import Archive, Exchange, Place
from gossamer.web.archive.bodies import Payloads
from gossamer.web.background import Beside
from gossamer.web.fetch.decode import Decoded, decode, salvaged
from gossamer.web.fetch.fetch import Fetched, Fetcher
from gossamer.web.fetch.magic import kind_of, lie
from gossamer.web.fetch.response import mime, outcome_of, retry_after
from gossamer.web.limit.bucket import Share
from gossamer.web.message import Type, decode_assignment, frame, pack_link, pack_visit
from gossamer.web.pool.wire import Slot, Wire

_PR_SET_PDEATHSIG: Final = 1
_LONGEST_TEXT: Final = 300
"""Bytes of a header field that the desk gets."""
LARGE: Final = 300_000
"""Bytes of a body, decoded, above which it is read beside the loop: some 20 ms."""
SWITCH: Final = 0.0005
"""Seconds after which the thread beside the loop makes way for it: the loop gives way at every system call."""
TURN: Final = 0.25
"""Seconds between turns of the loop while nothing but a page beside it is waited for."""
MEMORY: Final = 2 << 30
"""Bytes that a worker may use, and 32 times the longest page: one page rather costs a worker than the crawl."""
GARBAGE: Final = 20_000
"""Objects after which those that hold one another are looked for: a page makes some thousand, and next to none such."""
_ORIGINS: Final = 1 << 16
_NOWHERE: Final = "http://localhost/"
_NOTHING: Final = Gathered()
_EMPTY: Final = Decoded(b"", True, True)
_LIKE_PAGES: Final = (Ask.PAGE, Ask.PROBE)
_NO_PAYLOAD: Final = bytes(20)
_GZIP: Final = b"\x1f\x8b"
_CUT, _STORED, _REUSED = int(VisitFlag.CUT), int(VisitFlag.STORED), int(VisitFlag.REUSED)
_REPEATED, _TEXT = int(VisitFlag.REPEATED), int(VisitFlag.TEXT)
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_UNVERIFIED, _HELD = int(VisitFlag.UNVERIFIED), int(VisitFlag.HELD)
_NOINDEX, _PRIVATE = int(VisitFlag.NOINDEX), int(VisitFlag.NOINDEX | VisitFlag.NOARCHIVE)


class Read(NamedTuple):
    """What was fetched, and what it says: all of a result but its place in the archive."""

    fetched: Fetched
    outcome: Outcome
    flags: int
    decoded: Decoded
    gathered: Gathered
    rules: Rules
    sitemaps: tuple[str, ...]
    target: str
    links: bytes
    """Those of `gathered`, as they cross."""
    kept: bool


class Reader:
    """Turns what was fetched into a result: the heavy part of a page. `read` may run in two threads at a time."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._scope = Scope.of(settings.seeder)
        self._own = self._scope.joiner(_NOWHERE)
        """The canonical form of a URL that is asked for, which may have `www.`; quicker than `canonical`."""
        self._origins: dict[str, int] = {}
        self.archive: Archive | None = None
        self.max_stored = int(settings.gatherer.max_stored)
        self.markup = bool(settings.gatherer.keep)

    def result(self, fetched: Fetched) -> bytes:
        """A RESULT frame."""
        return self.finish(self.read(fetched))

    def finish(self, read: Read) -> bytes:
        """A RESULT frame. Request and response are in the archive before it exists, if they are kept."""
        return self._encode(read, self._store(read.fetched, read.decoded, read.gathered.text) if read.kept else None)

    def read_at_once(self, fetched: Fetched) -> Read | None:
        """None if there are more than `LARGE` bytes to be read, or it is a sitemap, which may be of 50 MB."""
        if fetched.failure is not None:
            return self.read(fetched)
        if fetched.assignment.ask == Ask.SITEMAP or len(fetched.body) > LARGE:
            return None
        most = self._most_decoded(fetched)
        decoded = self._decoded(fetched, min(most, LARGE))
        return self.read(fetched, decoded) if decoded.ok or most <= LARGE else None

    @staticmethod
    def _decoded(fetched: Fetched, most: int) -> Decoded:
        return decode(fetched.body, fetched.headers.get("content-encoding", ""), most)

    def read(self, fetched: Fetched, decoded: Decoded | None = None) -> Read:
        """`decoded`: its body, if that is done already."""
        if decoded is None:
            most = self._most_decoded(fetched)
            decoded = self._decoded(fetched, most) if fetched.failure is None else _EMPTY
        outcome, gathered, rules, target = fetched.failure, _NOTHING, Rules(), ""
        sitemaps: tuple[str, ...] = ()
        ask, flags, body = fetched.assignment.ask, 0, b""
        if outcome is None:
            outcome, body = self._outcome(fetched, decoded), decoded.data
            if outcome is Outcome.BAD_ENCODING and (body := self._salvaged(fetched, decoded)):
                outcome = Outcome.OK
            elif outcome is Outcome.OK and ask in _LIKE_PAGES and (found := kind_of(body)):
                outcome = fetched.failure = Outcome.OTHER_TYPE
                fetched.detail, fetched.body, decoded = lie(mime(fetched.headers), found), b"", _EMPTY
        if outcome is Outcome.REDIRECT:
            target, gathered, flags = self._redirected(fetched)
        elif outcome is Outcome.OK and ask == Ask.ROBOTS:
            rules = Rules.parse(body, self._settings.harvester.agent)
            sitemaps = rules.sitemaps
        elif outcome is Outcome.OK and ask == Ask.SITEMAP:
            gathered, sitemaps = self._listed(fetched, body)
        elif outcome is Outcome.OK:
            gathered = self._gather(fetched, body)
            if ask == Ask.PROBE:
                gathered = replace(gathered, links=[], counted=_NOTHING.counted, seen=b"")
        if ask in _LIKE_PAGES:
            flags |= gathered.flags
            if outcome is not Outcome.OK and (tags := _robots_tags(fetched)):
                flags |= of_header(tags, self._settings.harvester.agent, time.time())
        kept = not flags & _PRIVATE or self._settings.gatherer.keep_noindex
        if flags & _NOINDEX and not kept:
            gathered = gathered.withheld()
        links = self._links(gathered.links)
        return Read(fetched, outcome, flags, decoded, gathered, rules, sitemaps, target, links, kept)

    def _most_decoded(self, fetched: Fetched) -> int:
        ask, most = fetched.assignment.ask, int(self._settings.gatherer.max_decoded)
        if ask not in _LIKE_PAGES:
            most = MOST_BYTES if ask == Ask.SITEMAP else max(most, LIMIT + 1)
        return max(most, len(fetched.body))

    @staticmethod
    def _salvaged(fetched: Fetched, decoded: Decoded) -> bytes:
        """Of a sitemap that is damaged or too large, what comes before that; of robots.txt too, if it is all that is
        ever looked at. Nothing of a page."""
        ask, encoding = fetched.assignment.ask, fetched.headers.get("content-encoding", "")
        if ask in _LIKE_PAGES:
            return b""
        if decoded.data is not fetched.body and "," not in encoding:
            return decoded.data  # too large, and nothing else: it is at hand
        found = salvaged(fetched.body, encoding, MOST_BYTES if ask == Ask.SITEMAP else LIMIT + 1)
        return found if ask == Ask.SITEMAP or len(found) > LIMIT else b""

    @staticmethod
    def _outcome(fetched: Fetched, decoded: Decoded) -> Outcome:
        outcome = outcome_of(fetched.status, fetched.headers, fetched.body)
        if fetched.assignment.ask == Ask.ROBOTS:
            if outcome is Outcome.NO_CONTENT and fetched.status == 200:
                outcome = Outcome.OK
            asks = challenged(fetched.status, fetched.headers, decoded.data) if fetched.status < 300 else None
            if asks is not None and asks.outcome is Outcome.CHALLENGED:
                fetched.detail = asks.detail
                return asks.outcome
        elif outcome is Outcome.NO_CONTENT and 300 <= fetched.status < 400 and fetched.status != 304:
            fetched.detail = "a redirect without a target"
        elif asks := challenged(fetched.status, fetched.headers, decoded.data):
            fetched.detail = asks.detail
            return asks.outcome
        return Outcome.BAD_ENCODING if outcome is Outcome.OK and not decoded.ok else outcome

    def _gather(self, fetched: Fetched, body: bytes) -> Gathered:
        own = self._own(fetched.assignment.url.decode()) or ""
        return gather(
            own,
            fetched.headers.get("content-type", ""),
            _robots_tags(fetched),
            body,
            self._settings.gatherer,
            self._scope,
            self._settings.harvester.agent,
            fetched.headers.get("content-language", ""),
            time.time(),
        )

    def _listed(self, fetched: Fetched, body: bytes) -> tuple[Gathered, tuple[str, ...]]:
        """The pages that a sitemap lists, and the sitemaps that it names; it may be a gzip file."""
        if body.startswith(_GZIP):
            decoded = decode(body, "gzip", MOST_BYTES)
            body = decoded.data if decoded.ok else salvaged(body, "gzip", MOST_BYTES)
        asked = fetched.assignment.url.decode()
        sitemap = read(body, charset_of(fetched.headers.get("content-type", "")), time.time())
        own = self._scope.canonical(asked) or asked
        return listed(sitemap, own, self._scope), further(sitemap, asked, self._settings.seeder.sitemaps_per_site)

    def _redirected(self, fetched: Fetched) -> tuple[str, Gathered, int]:
        """Where a redirect leads, the one link that it is, and whether it goes to the site's other name (OTHER_NAME),
        and does nothing else (RESPELLED).

        Such a target, and that of robots.txt and of a sitemap, is named as the server has it.
        """
        asked, raw = fetched.assignment.url.decode(), _location(fetched)
        as_said = canonical(raw, asked) or ""
        own, target = self._scope.canonical(asked) or asked, self._scope.canonical(raw, asked) or ""
        flags, no_page = 0, fetched.assignment.ask != Ask.PAGE
        if self._scope.www and as_said and _are_twins(host(as_said), host(asked)):
            flags = _OTHER_NAME | (_RESPELLED if target == own else 0)
        if flags or no_page:
            target = as_said
        if len(target) > self._scope.url_length:
            target = ""
        if no_page or flags & _RESPELLED:
            return target, _NOTHING, flags
        if not as_said:
            fetched.detail = "a redirect to no page of the Web"
        elif target == own:
            fetched.detail = "a redirect to the page itself" + (", with a cookie" if _sets_cookie(fetched) else "")
        return target, redirected(raw, own, self._scope), flags

    def _store(self, fetched: Fetched, decoded: Decoded, text: bytes | None) -> Place | None:
        """Archived is what came to its end, and what we broke off ourselves.

        robots.txt is archived whatever its X-Robots-Tag says: it is no page, but our permission.
        """
        if self.archive is None or fetched.failure not in (None, Outcome.OTHER_TYPE):
            return None
        assignment = fetched.assignment
        cut = fetched.cut or fetched.failure is not None
        wall = time.time() - (time.monotonic() - fetched.start)
        return self.archive.write(
            Exchange(
                assignment.url,
                assignment.address,
                wall,
                fetched.request,
                fetched.line,
                fetched.fields,
                fetched.body,
                decoded,
                cut,
            ),
            text,
        )

    def _encode(self, read: Read, place: Place | None) -> bytes:
        fetched, outcome, decoded, gathered, rules = read.fetched, read.outcome, read.decoded, read.gathered, read.rules
        assignment, headers = fetched.assignment, fetched.headers
        flags = read.flags | (_CUT if fetched.cut else 0) | (_REUSED if fetched.reused else 0)
        flags |= (_UNVERIFIED if fetched.unverified else 0) | (_HELD if fetched.held else 0)
        file, offset, end, payload = 0, 0, 0, _NO_PAYLOAD
        if place is not None and self.archive is not None:
            file, offset, end, payload = self.archive.number, place.offset, place.end, place.payload
            flags |= (_STORED if fetched.body else 0) | (_TEXT if place.text else 0)
            flags |= _REPEATED if place.repeated else 0
        wait = -1.0
        if "retry-after" in headers:  # without a Date, a date counts from the end of the answer, like seconds
            ended = time.time() - (time.monotonic() - fetched.end)
            wait = retry_after(headers["retry-after"], ended, headers.get("date", ""))
        texts = (
            mime(headers).encode(),
            gathered.charset.encode(),
            _field(headers, "etag"),
            _field(headers, "last-modified"),
            read.target.encode(),
            _title(assignment, gathered),
            assignment.address.encode(),
            _detail(fetched, outcome)[:_LONGEST_TEXT],
            rules.compiled(),
            "\n".join(read.sitemaps).encode(errors="replace"),
            gathered.language.encode(),
            gathered.description.encode(errors="replace"),
            lines([*of_headers(headers), *gathered.preferences, *_pairs(rules.preferences)]).encode(errors="replace"),
        )
        visit = pack_visit(
            assignment.number,
            assignment.page,
            assignment.origin,
            assignment.site,
            assignment.ask,
            outcome,
            fetched.status,
            flags,
            0.0,
            fetched.start,
            fetched.connect,
            fetched.first,
            fetched.end,
            fetched.received,
            fetched.sent,
            len(decoded.data),
            gathered.text_length,
            gathered.digest,
            gathered.sketch,
            payload,
            NONE,
            gathered.out_degree,
            len(gathered.links),
            wait,
            -1.0 if rules.delay is None else rules.delay,
            file,
            offset,
            end,
            *[min(n, 0xFFFF) for n in gathered.counted],
            len(gathered.seen),
            *map(len, texts),
        )
        return frame(Type.RESULT, visit, *texts, read.links, gathered.seen)

    def _links(self, links: list[Link]) -> bytes:
        """Their records, URLs and texts. (The canonical form is ASCII: characters are bytes.)"""
        if not links:
            return b""
        seed, known, root, number = self._seed, self._origins, "-", 0
        targets, kinds, flags, texts, positions, tags = zip(*links, strict=True)
        origins = []
        for url in targets:
            if not url.startswith(root):
                root = url[: url.index("/", 8) + 1]
                if root not in known:
                    if len(known) >= _ORIGINS:
                        known.clear()
                    known[root] = fingerprint(origin(root), seed)
                number = known[root]
            origins.append(number)
        urls, anchors = [url.encode() for url in targets], "".join(texts).encode(errors="replace")
        lengths = list(map(len, texts))
        if sum(lengths) != len(anchors):
            lengths = [len(text.encode(errors="replace")) for text in texts]
        records = map(
            pack_link,
            [xxh3_64_intdigest(url, seed) for url in urls],
            origins,
            kinds,
            flags,
            tags,
            [min(position, 0xFFFF) for position in positions] if max(positions) > 0xFFFF else positions,
            map(len, urls),
            lengths,
        )
        return b"".join((*records, *urls, anchors))


def _pairs(preferences: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for line in preferences:
        name, _, value = line.partition(":")
        yield name, value


def _title(assignment: Assignment, gathered: Gathered) -> bytes:
    """What is no page is known by its URL."""
    title = gathered.title.encode(errors="replace")
    if assignment.ask == Ask.PROBE:
        return assignment.url + b" " + title
    return assignment.url if assignment.ask == Ask.SITEMAP else title


def _are_twins(a: str, b: str) -> bool:
    return a == f"www.{b}" or b == f"www.{a}"


def _location(fetched: Fetched) -> str:
    """Servers send UTF-8 where only ASCII is allowed; octets that are not even that are meant as they are."""
    raw = fetched.headers["location"].encode("latin-1")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join([chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in raw])


def _sets_cookie(fetched: Fetched) -> bool:
    """Cookies are not kept: a server that goes on only with one sends us round and round."""
    return "set-cookie" in fetched.headers


def _robots_tags(fetched: Fetched) -> list[str]:
    """Each header by itself: what it says may be addressed to a name."""
    if "x-robots-tag" not in fetched.headers:
        return []
    return [value.decode("latin-1") for name, value in fetched.fields if name.lower() == b"x-robots-tag"]


def _detail(fetched: Fetched, outcome: Outcome) -> bytes:
    """What went wrong, or what is asked for, in words."""
    price = fetched.headers.get("crawler-price") if outcome is Outcome.PAYMENT_REQUIRED else None
    detail = fetched.detail if price is None else f"crawler-price: {price}"
    return " ".join(detail.split()).encode(errors="replace")


def _field(headers: dict[str, str], name: str) -> bytes:
    """Whole or not at all: half a validator is none."""
    value = headers.get(name, "").encode("latin-1")
    return value if len(value) <= _LONGEST_TEXT else b""


class Worker:
    """The loop: frames of the desk, events of libcurl."""

    def __init__(self, wire: Wire, slot: Slot, payloads: Payloads | None, line: Share | None = None) -> None:
        self._wire = wire
        self._line = line
        self._slot = slot
        self._payloads = payloads
        self._epoll = select.epoll()
        self._mask = select.EPOLLIN
        self._epoll.register(wire.fileno(), self._mask)
        self._stopping = False
        self._later: list[tuple[float, int, Assignment]] = []
        """Handed out ahead of their time: when that is, and their numbers."""

    def run(self) -> None:
        reader, fetcher = self._prepared()
        beside: Beside[Fetched, Read] = Beside(lambda fetched: self._read_beside(reader, fetched))
        self._epoll.register(beside.bell, select.EPOLLIN)
        others = (self._wire.fileno(), beside.bell)
        while not self._is_done(beside, fetcher):
            self._slot.turn()
            timeout = self._timeout(fetcher)
            events = self._epoll.poll(TURN if timeout < 0 and beside.open else timeout)
            ready = {fd for fd, _ in events}
            if others[0] in ready:
                self._wire.flush()
                self._obey(reader, fetcher)
                if self._wire.ended:
                    return
            self._begin_those_due(fetcher)
            if others[1] in ready:
                for page in beside.done():
                    self._send(reader, page)
            for fetched in fetcher.act([event for event in events if event[0] not in others]):
                self._slot.name(fetched.assignment.number)
                if (small := reader.read_at_once(fetched)) is not None:
                    self._send(reader, small)
                else:
                    self._slot.clear()
                    beside.give(fetched)
            self._watch()

    def _is_done(self, beside: Beside[Fetched, Read], fetcher: Fetcher) -> bool:
        busy = beside.open or self._later or fetcher.timeout() >= 0 or self._wire.unsent
        return self._stopping and not busy

    def _timeout(self, fetcher: Fetcher) -> float:
        """Seconds that the loop may sleep; -1: for ever. epoll rounds them up: nothing begins before its time."""
        timeout = fetcher.timeout()
        if not self._later:
            return timeout
        due = max(0.0, self._later[0][0] - time.monotonic())
        return due if timeout < 0 else min(timeout, due)

    def _begin_those_due(self, fetcher: Fetcher) -> None:
        while self._later and self._later[0][0] <= time.monotonic():
            fetcher.start(heappop(self._later)[2])

    def _read_beside(self, reader: Reader, fetched: Fetched) -> Read:
        self._slot.name(fetched.assignment.number, beside=True)
        page = reader.read(fetched)
        self._slot.clear(beside=True)
        return page

    def _send(self, reader: Reader, page: Read) -> None:
        self._slot.name(page.fetched.assignment.number)
        self._wire.send(reader.finish(page))
        self._slot.clear()

    def _prepared(self) -> tuple[Reader, Fetcher]:
        """The first frame has the settings; it is waited for."""
        while True:
            self._epoll.poll()
            frames = self._wire.receive()
            if self._wire.ended and not frames:
                raise SystemExit(0)
            if frames:
                break
        tree = json.loads(frames[0][1])
        settings = from_json(json.dumps(tree["settings"]))
        _limit_memory(MEMORY + 32 * int(settings.gatherer.max_decoded))
        reader, fetcher = Reader(settings, tree["seed"]), self._fetcher(settings)
        gc.freeze()  # what is loaded by now stays
        gc.set_threshold(GARBAGE)
        self._wire.send(frame(Type.READY))
        for kind, body in frames[1:]:
            self._follow(kind, body, reader, fetcher)
        return reader, fetcher

    def _fetcher(self, settings: Settings) -> Fetcher:
        if self._line is None:
            return Fetcher(settings.harvester, self._epoll)
        from gossamer.web.limit.limited_fetch import MeteredFetcher

        return MeteredFetcher(settings.harvester, self._epoll, self._line)

    def _obey(self, reader: Reader, fetcher: Fetcher) -> None:
        for kind, body in self._wire.receive():
            self._follow(kind, body, reader, fetcher)

    def _follow(self, kind: Type, body: bytes, reader: Reader, fetcher: Fetcher) -> None:
        if kind is Type.ASSIGN:
            assignment = decode_assignment(body)
            if assignment.not_before > time.monotonic():
                heappush(self._later, (assignment.not_before, assignment.number, assignment))
            else:
                fetcher.start(assignment)
        elif kind is Type.ARCHIVE:
            if reader.archive is not None:
                reader.archive.close()
            (number,) = struct.unpack_from("<H", body)
            reader.archive = Archive(
                number, Appender(body[2:].decode()), reader.max_stored, self._payloads, reader.markup
            )
        elif kind is Type.STOP:
            self._stopping = True

    def _watch(self) -> None:
        mask = select.EPOLLIN | (select.EPOLLOUT if self._wire.unsent else 0)
        if mask != self._mask:
            self._mask = mask
            self._epoll.modify(self._wire.fileno(), mask)


def _limit_memory(most: int) -> None:
    """Of what it writes to; files that it maps do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def main(wire_fd: int, slot_fd: int, payloads_fd: int = -1, line_fd: int = -1, number: int = 0) -> int:
    guard()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    end = socket.socket(fileno=wire_fd)
    wire = Wire(end)
    try:
        payloads = Payloads(payloads_fd) if payloads_fd >= 0 else None
        Worker(wire, Slot(slot_fd), payloads, Share(line_fd, number) if line_fd >= 0 else None).run()
    except GossamerError as error:
        end.setblocking(True)
        wire.send(frame(Type.FAULT, bytes([error.exit_code]), f"{error.message}\0{error.cure}".encode()))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
