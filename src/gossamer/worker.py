"""A worker process: fetches, decodes, gathers, archives. `python -m gossamer.worker WIRE SLOT PAYLOADS` (descriptors).

It decides what follows from URL and settings alone; all that needs state is the desk's. It lives until it is told to
stop or the desk is gone: the wire ends, or the kernel kills it with its parent.
"""

from __future__ import annotations

import ctypes
import json
import select
import signal
import socket
import struct
import sys
import time
from array import array
from typing import Final

import numpy as np
from xxhash import xxh3_64_intdigest

from gossamer.config import Settings, from_json
from gossamer.disk import Appender
from gossamer.errors import GossamerError
from gossamer.gatherer.gather import Gathered, gather, redirected
from gossamer.gatherer.links import Link
from gossamer.model import NONE, VISIT, Ask, Outcome, Texts, VisitFlag
from gossamer.robots import Rules
from gossamer.urls import Scope, canonical, fingerprint, host, origin
from gossamer.web.answer import mime, outcome_of, retry_after
from gossamer.web.archive import Archive, Exchange, Place
from gossamer.web.decode import Decoded, decode
from gossamer.web.fetch import Fetched, Fetcher
from gossamer.web.message import Links, Type, decode_assignment, encode_result, frame
from gossamer.web.payloads import Payloads
from gossamer.web.wire import Slot, Wire

_PR_SET_PDEATHSIG: Final = 1
_LONGEST_TEXT: Final = 300
"""Bytes of a header field that the desk gets."""
_ORIGINS: Final = 1 << 16
_NOTHING: Final = Gathered()
_NO_PAYLOAD: Final = bytes(20)
_CUT, _STORED, _REUSED = int(VisitFlag.CUT), int(VisitFlag.STORED), int(VisitFlag.REUSED)
_REPEATED, _TEXT = int(VisitFlag.REPEATED), int(VisitFlag.TEXT)
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)


class Reader:
    """Turns what was fetched into a result: the heavy part of a page."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._scope = Scope.of(settings.seeder)
        self._origins: dict[str, int] = {}
        self.archive: Archive | None = None
        self.max_stored = int(settings.gatherer.max_stored)
        self.markup = bool(settings.gatherer.keep)

    def result(self, fetched: Fetched) -> bytes:
        """A RESULT frame. Request and response are in the archive before it exists."""
        decoded = Decoded(b"", True, True)
        outcome, gathered, rules, target = fetched.failure, _NOTHING, Rules(), ""
        if outcome is None:
            decoded = decode(fetched.body, fetched.headers.get("content-encoding", ""), self._most_decoded(fetched))
            outcome = self._outcome(fetched, decoded)
        robots, flags = fetched.assignment.ask == Ask.ROBOTS, 0
        if outcome is Outcome.REDIRECT:
            target, gathered, flags = self._redirected(fetched)
        elif outcome is Outcome.OK and robots:
            rules = Rules.parse(decoded.data, self._settings.harvester.agent)
        elif outcome is Outcome.OK:
            gathered = self._gather(fetched, decoded.data)
        place = self._store(fetched, decoded, gathered.text)
        return self._encode(fetched, outcome, flags, decoded, gathered, rules, target, place)

    def _most_decoded(self, fetched: Fetched) -> int:
        return max(self._settings.gatherer.max_decoded, len(fetched.body))

    @staticmethod
    def _outcome(fetched: Fetched, decoded: Decoded) -> Outcome:
        outcome = outcome_of(fetched.status, fetched.headers, fetched.body)
        if outcome is Outcome.NO_CONTENT and fetched.assignment.ask == Ask.ROBOTS and fetched.status == 200:
            outcome = Outcome.OK
        return Outcome.BAD_ENCODING if outcome is Outcome.OK and not decoded.ok else outcome

    def _gather(self, fetched: Fetched, body: bytes) -> Gathered:
        tags = []
        if "x-robots-tag" in fetched.headers:
            tags = [value.decode("latin-1") for name, value in fetched.fields if name.lower() == b"x-robots-tag"]
        own = self._scope.canonical(fetched.assignment.url.decode()) or ""
        return gather(
            own, fetched.headers.get("content-type", ""), tags, body, self._settings.gatherer, self._scope,
            self._settings.harvester.agent, fetched.headers.get("content-language", ""),
        )  # fmt: skip

    def _redirected(self, fetched: Fetched) -> tuple[str, Gathered, int]:
        """Where a redirect leads, the one link that it is, and whether it goes to the site's other name (OTHER_NAME),
        and does nothing else (RESPELLED).

        Such a target, and that of robots.txt, is named as the server has it.
        """
        asked, raw = fetched.assignment.url.decode(), _location(fetched)
        as_said = canonical(raw, asked) or ""
        own, target = self._scope.canonical(asked) or asked, self._scope.canonical(raw, asked) or ""
        flags, robots = 0, fetched.assignment.ask == Ask.ROBOTS
        if self._scope.www and as_said and _are_twins(host(as_said), host(asked)):
            flags = _OTHER_NAME | (_RESPELLED if target == own else 0)
        if flags or robots:
            target = as_said
        if robots or flags & _RESPELLED:
            return target, _NOTHING, flags
        return target, redirected(raw, own, self._scope), flags

    def _store(self, fetched: Fetched, decoded: Decoded, text: bytes | None) -> Place | None:
        """Archived is what came to its end, and what we broke off ourselves."""
        if self.archive is None or fetched.failure not in (None, Outcome.OTHER_TYPE):
            return None
        assignment = fetched.assignment
        cut = fetched.cut or fetched.failure is not None
        wall = time.time() - (time.monotonic() - fetched.start)
        return self.archive.write(
            Exchange(
                assignment.url, assignment.address, wall, fetched.request, fetched.line, fetched.fields, fetched.body,
                decoded, cut,
            ),
            text,
        )  # fmt: skip

    def _encode(
        self, fetched: Fetched, outcome: Outcome, flags: int, decoded: Decoded, gathered: Gathered, rules: Rules,
        target: str, place: Place | None,
    ) -> bytes:  # fmt: skip
        assignment, headers = fetched.assignment, fetched.headers
        flags |= gathered.flags | (_CUT if fetched.cut else 0) | (_REUSED if fetched.reused else 0)
        file, offset, end, payload = 0, 0, 0, _NO_PAYLOAD
        if place is not None and self.archive is not None:
            file, offset, end, payload = self.archive.number, place.offset, place.end, place.payload
            flags |= (_STORED if fetched.body else 0) | (_TEXT if place.text else 0)
            flags |= _REPEATED if place.repeated else 0
        wait = retry_after(headers["retry-after"]) if "retry-after" in headers else -1.0
        visit = np.array(
            (
                assignment.number, assignment.page, assignment.origin, assignment.site, assignment.ask, outcome,
                fetched.status, flags, 0.0, fetched.start, fetched.connect, fetched.first, fetched.end,
                fetched.received, fetched.sent, len(decoded.data), gathered.text_length, gathered.digest,
                gathered.sketch, list(payload), NONE, gathered.out_degree, 0, wait,
                -1.0 if rules.delay is None else rules.delay, file, offset, end,
                [min(n, 0xFFFF) for n in gathered.counted], 0, 0,
            ),
            VISIT,
        )  # fmt: skip
        texts = (
            mime(headers).encode(), gathered.charset.encode(), _field(headers, "etag"),
            _field(headers, "last-modified"), target.encode(), gathered.title.encode(errors="replace"),
            assignment.address.encode(), fetched.detail.encode(errors="replace")[:_LONGEST_TEXT], rules.compiled(),
            "\n".join(rules.sitemaps).encode(errors="replace"), gathered.language.encode(),
            gathered.description.encode(errors="replace"),
        )  # fmt: skip
        return encode_result(visit, texts, self._links(gathered.links), gathered.seen)

    def _links(self, links: list[Link]) -> Links:
        """The canonical form is ASCII: characters are bytes."""
        if not links:
            return Links.none()
        seed, known = self._seed, self._origins
        targets = [link[0] for link in links]
        origins = []
        for url in targets:
            start = url[: url.index("/", 8)]
            number = known.get(start)
            if number is None:
                if len(known) >= _ORIGINS:
                    known.clear()
                number = known[start] = fingerprint(origin(url), seed)
            origins.append(number)
        anchors = [link[3].encode(errors="replace") for link in links]
        return Links(
            np.frombuffer(array("Q", [xxh3_64_intdigest(url.encode(), seed) for url in targets]), np.uint64),
            np.frombuffer(array("Q", origins), np.uint64),
            np.frombuffer(bytes([link[1] for link in links]), np.uint8),
            np.frombuffer(bytes([link[2] for link in links]), np.uint8),
            Texts(np.frombuffer(array("H", map(len, targets)), np.uint16), "".join(targets).encode("ascii")),
            np.frombuffer(bytes([link[5] for link in links]), np.uint8),
            np.frombuffer(array("H", [min(link[4], 0xFFFF) for link in links]), np.uint16),
            Texts(np.frombuffer(array("H", map(len, anchors)), np.uint16), b"".join(anchors)),
        )


def _are_twins(a: str, b: str) -> bool:
    return a == f"www.{b}" or b == f"www.{a}"


def _location(fetched: Fetched) -> str:
    """Servers send UTF-8 where only ASCII is allowed."""
    raw = fetched.headers["location"].encode("latin-1")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _field(headers: dict[str, str], name: str) -> bytes:
    """Whole or not at all: half a validator is none."""
    value = headers.get(name, "").encode("latin-1")
    return value if len(value) <= _LONGEST_TEXT else b""


class Worker:
    """The loop: frames of the desk, events of libcurl."""

    def __init__(self, wire: Wire, slot: Slot, payloads: Payloads | None) -> None:
        self._wire = wire
        self._slot = slot
        self._payloads = payloads
        self._epoll = select.epoll()
        self._mask = select.EPOLLIN
        self._epoll.register(wire.fileno(), self._mask)
        self._stopping = False

    def run(self) -> None:
        reader, fetcher = self._prepared()
        wire = self._wire.fileno()
        while not (self._stopping and not len(fetcher) and fetcher.timeout() < 0 and not self._wire.unsent):
            events = self._epoll.poll(fetcher.timeout())
            if any(fd == wire for fd, _ in events):
                self._wire.flush()
                self._obey(reader, fetcher)
                if self._wire.ended:
                    return
            for fetched in fetcher.act([event for event in events if event[0] != wire]):
                self._slot.name(fetched.assignment.number)
                self._wire.send(reader.result(fetched))
                self._slot.clear()
            self._watch()

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
        reader, fetcher = Reader(settings, tree["seed"]), Fetcher(settings.harvester, self._epoll)
        self._wire.send(frame(Type.READY))
        for kind, body in frames[1:]:
            self._follow(kind, body, reader, fetcher)
        return reader, fetcher

    def _obey(self, reader: Reader, fetcher: Fetcher) -> None:
        for kind, body in self._wire.receive():
            self._follow(kind, body, reader, fetcher)

    def _follow(self, kind: Type, body: bytes, reader: Reader, fetcher: Fetcher) -> None:
        if kind is Type.ASSIGN:
            fetcher.start(decode_assignment(body))
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


def main(wire_fd: int, slot_fd: int, payloads_fd: int = -1) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    end = socket.socket(fileno=wire_fd)
    wire = Wire(end)
    try:
        Worker(wire, Slot(slot_fd), Payloads(payloads_fd) if payloads_fd >= 0 else None).run()
    except GossamerError as error:
        end.setblocking(True)
        wire.send(frame(Type.FAULT, bytes([error.exit_code]), f"{error.message}\0{error.cure}".encode()))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
