"""Reads of a malformed answer of a name server what can be read (A.2.3).

c-ares refuses an answer as a whole if one of its records is malformed, so the question is asked once more, from here.
Records are read in order, until one has no end. Those that are malformed, of another type or about another name are
skipped: an address counts if it belongs to the name that was asked for, or to one that this is an alias of.

Invariants, each a test of the same name: any bytes give addresses or none; a good record counts whatever follows it.
"""

from __future__ import annotations

import secrets
import socket
import struct
import time
from contextlib import suppress
from typing import Final, NamedTuple

from gossamer.config.accepted import endpoint

_A, _CNAME, _AAAA = 1, 5, 28
_INTERNET: Final = 1
_HEAD: Final = struct.Struct(">HHHHHH")
_RECORD: Final = struct.Struct(">HHIH")
_WANTED: Final = 0x0100
"""Flags of a query: recursion is wanted."""
_ANSWER, _CUT, _CODE = 0x8000, 0x0200, 0x000F
_LONGEST: Final = 4096
_MOST_RECORDS: Final = 256
_MOST_STEPS: Final = 128
"""Maximum labels and pointers of a name."""


class Node(NamedTuple):
    """An address, in the form that c-ares gives."""

    addr: tuple[str, int]
    ttl: int


class Nodes(NamedTuple):
    """The addresses of a name."""

    nodes: list[Node]


def ask(server: str, host: str, family: socket.AddressFamily, timeout: float) -> Nodes:
    """Asks a name server for the addresses of a name, by UDP, and by TCP if the answer is cut; no addresses if there is
    no answer. It waits."""
    place = endpoint(server)
    if place is None:
        return Nodes([])
    kind = _A if family == socket.AF_INET else _AAAA
    number, until = secrets.randbits(16), time.monotonic() + timeout
    try:
        question, to = _question(host, kind), (place[0], place[1] or 53)
        query = _HEAD.pack(number, _WANTED, 1, 0, 0, 0) + question
        with socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.connect(to)
            asking.send(query)
            while (left := until - time.monotonic()) > 0:
                asking.settimeout(left)
                packet = asking.recv(_LONGEST)
                if packet[:2] == query[:2]:
                    if len(packet) >= _HEAD.size and _HEAD.unpack_from(packet)[1] & _CUT:
                        packet = _by_tcp(to, query, until) or packet
                    return Nodes(read(packet, question))
    except (OSError, ValueError):
        return Nodes([])
    return Nodes([])


def _by_tcp(to: tuple[str, int], query: bytes, until: float) -> bytes:
    """The answer by TCP, as much of it as comes in time; b"" if it is none to this query."""
    answer = b""
    with suppress(OSError), socket.create_connection(to, max(until - time.monotonic(), 0.01)) as asking:
        asking.sendall(len(query).to_bytes(2) + query)
        while (left := until - time.monotonic()) > 0 and len(answer) < 2 + int.from_bytes(answer[:2].ljust(2, b"\xff")):
            asking.settimeout(left)
            if not (more := asking.recv(1 << 16)):
                break
            answer += more
    return answer[2:] if answer[2:4] == query[:2] else b""


def read(packet: bytes, question: bytes) -> list[Node]:
    """The addresses in an answer to a question: the name and type that were asked for, as they were sent."""
    if len(packet) < _HEAD.size:
        return []
    _, flags, _, count, _, _ = _HEAD.unpack_from(packet)
    at = _HEAD.size + len(question)
    if not flags & _ANSWER or flags & _CODE or packet[_HEAD.size : at].lower() != question.lower():
        return []
    wanted, size, family = (_A, 4, socket.AF_INET) if question[-3] == _A else (_AAAA, 16, socket.AF_INET6)
    aliases, found = dict[bytes, bytes](), list[tuple[bytes, Node]]()
    for _ in range(min(count, _MOST_RECORDS)):
        owner, at = _name(packet, at)
        if at < 0 or at + _RECORD.size > len(packet):
            break
        kind, area, ttl, length = _RECORD.unpack_from(packet, at)
        at += _RECORD.size
        data = packet[at : at + length]
        if owner and area == _INTERNET and len(data) == length:
            if kind == _CNAME:
                aliases.setdefault(owner, _name(packet, at)[0])
            elif kind == wanted and length == size:
                node = Node((socket.inet_ntop(family, data), 0), ttl if ttl < 1 << 31 else 0)
                found.append((owner, node))
        at += length
    names = _followed(_name(packet, _HEAD.size)[0], aliases)
    return [node for owner, node in found if owner in names]


def _question(host: str, kind: int) -> bytes:
    labels = host.encode("ascii").rstrip(b".").split(b".")
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return name + struct.pack(">HH", kind, _INTERNET)


def _name(packet: bytes, at: int) -> tuple[bytes, int]:
    """The name at `at` in lower case, b"" if it is malformed, and where it ends, -1 if it does not."""
    parts, end, start = list[bytes](), -1, at
    for _ in range(_MOST_STEPS):
        if at >= len(packet):
            return b"", end
        size = packet[at]
        if size == 0:
            return b".".join(parts).lower() or b".", end if end >= 0 else at + 1
        if size < 64:
            parts.append(packet[at + 1 : at + 1 + size])
            at += 1 + size
        elif size >= 192 and at + 1 < len(packet):
            end = end if end >= 0 else at + 2
            at = (size & 63) << 8 | packet[at + 1]
            if at >= start:  # a pointer leads back, or the name may be endless
                return b"", end
            start = at
        else:
            return b"", end
    return b"", end


def _followed(name: bytes, aliases: dict[bytes, bytes]) -> set[bytes]:
    """A name and all that it is an alias of."""
    names = set[bytes]()
    while name and name not in names:
        names.add(name)
        name = aliases.get(name, b"")
    return names
