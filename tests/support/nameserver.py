"""A name server on loopback with every kind of fault, for tests of the resolver."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

from gossamer.base.clock import VirtualClock
from gossamer.base.units import Duration
from gossamer.config.settings import HarvesterSettings
from gossamer.web.names.resolver import Resolver
from gossamer.web.seam import Answer
from tests.support.timing import WITHIN

A, CNAME, AAAA = 1, 5, 28
BOTH = (socket.AF_INET, socket.AF_INET6)
Record = tuple[int, int, bytes]


def packed(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


ZONE: dict[str, list[Record]] = {
    "public.test": [(A, 300, packed("93.184.216.34"))],
    "short.test": [(A, 1, packed("93.184.216.35"))],
    "zero.test": [(A, 0, packed("93.184.216.35"))],
    "long.test": [(A, 10**7, packed("93.184.216.36"))],
    "endless.test": [(A, 2**31, packed("93.184.216.36"))],
    "six.test": [(AAAA, 300, packed("2606:4700::1111"))],
    "both.test": [(AAAA, 300, packed("2606:4700::1111")), (A, 300, packed("93.184.216.37"))],
    "private.test": [(A, 300, packed("10.1.2.3"))],
    "metadata.test": [(A, 300, packed("169.254.169.254"))],
    "mapped.test": [(AAAA, 300, packed("::ffff:127.0.0.1"))],
    "mixed.test": [(A, 300, packed("127.0.0.1")), (A, 300, packed("93.184.216.38"))],
    "three.test": [(A, 300, packed(f"93.184.216.{n}")) for n in (51, 52, 53)],
    "nothing.test": [],
    "alias.test": [(CNAME, 300, labels("public.test"))],
}
Fault = Callable[[bytes, str, int, int], list[bytes]]
"""From query, name, type and end of the question to the packets that come back."""


def reply(query: bytes, end: int, records: list[Record], code: int = 0, truncated: bool = False) -> bytes:
    flags = 0x8180 | code | (0x0200 if truncated else 0)
    head = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
    body = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data for kind, ttl, data in records)
    return head + query[12:end] + body


GOOD: Record = (A, 300, packed("93.184.216.40"))


def _other_name(query: bytes, name: str, kind: int, end: int) -> list[bytes]:
    question = labels("other.test") + query[end - 4 : end]
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0)
    return [head + question + b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 300, 4) + GOOD[2]]


def _pointer_loop(query: bytes, name: str, kind: int, end: int) -> list[bytes]:
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0)
    at = end
    return [head + query[12:end] + struct.pack(">H", 0xC000 | at) + struct.pack(">HHIH", A, 1, 300, 4) + GOOD[2]]


def _chain(query: bytes, name: str, kind: int, end: int) -> list[bytes]:
    """An alias of an alias, 1,800 times, as many as fit into an answer; the last has an address."""
    names = [b"\xc0\x0c", *(labels(f"c{n}.test") for n in range(1_800))]
    body = b"".join(n + struct.pack(">HHIH", CNAME, 1, 300, len(to)) + to for n, to in pairwise(names))
    body += names[-1] + struct.pack(">HHIH", A, 1, 300, 4) + GOOD[2]
    return [query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(names), 0, 0) + query[12:end] + body]


FAULTS: dict[str, Fault] = {
    "silent": lambda query, name, kind, end: [],
    "malformed": lambda query, name, kind, end: [query[:2] + b"\x81\x80" + b"\xff" * 20],
    "failing": lambda query, name, kind, end: [reply(query, end, [], 2)],
    "refusing": lambda query, name, kind, end: [reply(query, end, [], 5)],
    "unable": lambda query, name, kind, end: [reply(query, end, [], 4)],
    "many": lambda query, name, kind, end: [reply(query, end, [GOOD])],
    "empty": lambda query, name, kind, end: [b""],
    "broken": lambda query, name, kind, end: [reply(query, end, [GOOD])[:-9]],
    "header": lambda query, name, kind, end: [query[:12]],
    "question": lambda query, name, kind, end: [query],
    "wrongid": lambda query, name, kind, end: [b"\0\0" + reply(query, end, [GOOD])[2:]],
    "othername": _other_name,
    "pointers": _pointer_loop,
    "circle": lambda query, name, kind, end: [reply(query, end, [(CNAME, 300, labels(name))])],
    "partly": lambda query, name, kind, end: [reply(query, end, [GOOD, (A, 300, b"\1\2\3")])],
    "rest": lambda query, name, kind, end: [
        reply(query, end, [(A, 300, b"\1\2\3\4\5"), (CNAME, 300, b"\xff"), GOOD]) + b"\xff" * 5
    ],
    "counted": lambda query, name, kind, end: [reply(query, end, [GOOD]).replace(b"\0\1\0\1\0\0", b"\0\1\0\7\0\0", 1)],
    "length": lambda query, name, kind, end: [reply(query, end, [(A, 300, b"\1\2\3")])],
    "garbage": lambda query, name, kind, end: [query[:2] + bytes(range(256)) * 2],
    "ones": lambda query, name, kind, end: [query[:2] + b"\xff" * 500],
    "cut": lambda query, name, kind, end: [reply(query, end, [], truncated=True)],
    "twice": lambda query, name, kind, end: [reply(query, end, [GOOD])] * 3,
    "trailing": lambda query, name, kind, end: [reply(query, end, [GOOD]) + b"\0" * 40],
    "chain": _chain,
    "thousands": lambda query, name, kind, end: [
        reply(query, end, [(A, 300, struct.pack(">I", 0x5DB80000 + n)) for n in range(3_000)])
    ],
}
"""Faults by the beginning of a name, up to a "-" or a digit."""


class NameServer:
    """A name server by UDP and TCP, a thread each. The beginning of a name may be a fault; other names that are not in
    the zone do not exist."""

    def __init__(self, address: str = "127.0.0.1", fault: str = "") -> None:
        """`fault`: that of every answer."""
        self.fault = fault
        self.tcp = socket.create_server((address, 0))
        port = self.tcp.getsockname()[1]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.address = f"{address}:{port}"
        self.asked: Counter[str] = Counter()
        self.kinds: dict[str, set[int]] = defaultdict(set)
        self.held: list[tuple[bytes, tuple[str, int]]] = []
        self.hold = False
        for serve in (self._serve, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                query, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            if self.hold:
                self._note(query)
                self.held.append((query, sender))
                continue
            self._note(query)
            for packet in self._packets(query):
                if len(packet) > 1200:
                    packet = query[:2] + struct.pack(">HHHHH", 0x8380, 1, 0, 0, 0) + query[12 : _question(query)[2]]
                self.socket.sendto(packet, sender)

    def _serve_tcp(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(WITHIN)
                try:
                    while size := connection.recv(2):
                        query = connection.recv(int.from_bytes(size))
                        self._note(query)
                        for packet in self._packets(query):
                            connection.sendall(len(packet).to_bytes(2) + packet)
                except OSError:
                    continue

    def _note(self, query: bytes) -> None:
        name, kind, _ = _question(query)
        self.asked[name] += 1
        self.kinds[name].add(kind)

    def _packets(self, query: bytes) -> list[bytes]:
        name, kind, end = _question(query)
        begins = name.partition(".")[0].partition("-")[0].rstrip("0123456789")
        fault = FAULTS.get(self.fault or begins) if self.fault or name not in ZONE else None
        if fault is not None:
            return fault(query, name, kind, end)
        records = ZONE.get(name)
        if records is None:
            return [reply(query, end, [], 3)]
        found = [record for record in records if record[0] in (kind, CNAME)]
        aliased = [(A, 300, GOOD[2])] if any(r[0] == CNAME for r in found) and kind == A else []
        packet = reply(query, end, found)
        if aliased:  # the address of the alias's target, under its own name
            extra = labels("public.test") + struct.pack(">HHIH", A, 1, 300, 4) + GOOD[2]
            packet = packet[:6] + struct.pack(">H", len(found) + 1) + packet[8:] + extra
        return [packet]

    def release(self) -> None:
        self.hold = False
        for query, sender in self.held:
            for packet in self._packets(query):
                self.socket.sendto(packet, sender)

    def close(self) -> None:
        self.socket.close()
        self.tcp.close()


def _question(query: bytes) -> tuple[str, int, int]:
    parts, at = [], 12
    while size := query[at]:
        parts.append(query[at + 1 : at + 1 + size].decode().lower())
        at += 1 + size
    return ".".join(parts), struct.unpack_from(">H", query, at + 1)[0], at + 5


def resolver_of(*servers: NameServer | str, clock: VirtualClock | None = None, **changes: object) -> Resolver:
    addresses = tuple(server if isinstance(server, str) else server.address for server in servers)
    settings = HarvesterSettings(resolvers=addresses, **{"name_timeout": Duration(1), **changes})  # type: ignore[arg-type]
    return Resolver(settings, clock, BOTH)


def collect(resolver: Resolver, count: int, seconds: float = WITHIN) -> list[Answer]:
    got: list[Answer] = []
    poll, end = select.poll(), time.monotonic() + seconds
    poll.register(resolver.fileno(), select.POLLIN)
    while len(got) < count and time.monotonic() < end:
        poll.poll(200)
        got += resolver.answers()
    assert len(got) == count
    assert resolver.open == 0
    return got


def one(resolver: Resolver, host: str) -> Answer:
    resolver.ask(7, host)
    (answer,) = collect(resolver, 1)
    assert (answer.site, answer.host) == (7, host)
    return answer
