"""Answers of name servers: for any answer the resolver gives an address that may be visited, or a reason why not."""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Final

from fuzz.target import Target
from gossamer.base.units import Duration
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden
from gossamer.web.names.resolver import Resolver

_A, _CNAME, _AAAA = 1, 5, 28
_FORGOTTEN: Final = 5_000
"""Names after which the resolver's cache is emptied: it keeps 200,000, which is not a finding."""
_HEAD: Final = struct.Struct(">HHHHH")
_RECORD: Final = struct.Struct(">HHHIH")


def _reply(*records: tuple[int, bytes], flags: int = 0x8180) -> bytes:
    body = b"".join(_RECORD.pack(0xC00C, kind, 1, 300, len(data)) + data for kind, data in records)
    return _HEAD.pack(flags, 1, len(records), 0, 0) + body


class NamesTarget(Target):
    """answers of name servers: a message without its number and its question, which are copied from the query."""

    name = "names"
    parts = ("web/names/resolver.py", "web/names/nameserver.py", "web/names/lenient.py", "web/addresses.py")
    words = (
        b"\xc0\x0c",
        b"\xc0\x00",
        b"\0\1\0\1",
        b"\0\x1c\0\1",
        b"\0\5\0\1",
        b"\0\0\0\x3c",
        b"\0\4",
        b"\0\x10",
        b"\x5d\xb8\xd8\x22",
        b"\x0a\1\2\3",
        b"\x7f\0\0\1",
        b"\xa9\xfe\xa9\xfe",
        b"\3www\7example\3org\0",
        b"\x3f" + b"a" * 63,
        b"\xff\xff\xff\xff",
    )
    longest = 4096

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        settings = HarvesterSettings(
            resolvers=(f"127.0.0.1:{self._socket.getsockname()[1]}",), name_timeout=Duration(0.15), families=("ipv4",)
        )
        self._forbidden = Forbidden(False, settings.forbidden)
        self._resolver = Resolver(settings, routes=(socket.AF_INET,))
        self._number = 0

    def close(self) -> None:
        self._resolver.close()
        self._socket.close()

    def seeds(self) -> list[bytes]:
        good, private = socket.inet_aton("93.184.216.34"), socket.inet_aton("10.1.2.3")
        return [
            _reply((_A, good)),
            _reply((_A, private), (_A, good)),
            _reply(),
            _reply(flags=0x8183),
            _reply(flags=0x8182),
            _reply((_CNAME, b"\3www\7example\3org\0"), (_A, good)),
            _reply((_AAAA, bytes(15) + b"\1")),
            _reply((_A, good), flags=0x8380),
            _reply(*[(_A, good)] * 40),
        ]

    def check(self, data: bytes) -> None:
        self._number += 1
        if self._number % _FORGOTTEN == 0:
            self._resolver.forget()
        self._resolver.ask(self._number, f"name{self._number}.example")
        end = time.monotonic() + 10.0
        while time.monotonic() < end:
            own = self._socket.fileno()
            if own in select.select([own, self._resolver.fileno()], [], [], 0.05)[0]:
                query, who = self._socket.recvfrom(4096)
                self._socket.sendto(query[:2] + data[:10] + query[12 : _question_end(query)] + data[10:], who)
            for answer in self._resolver.answers():
                if answer.site == self._number:
                    assert (answer.address is None) == bool(answer.error)
                    assert answer.address is None or not self._forbidden(answer.address)
                    assert answer.error.isprintable()
                    assert answer.ttl >= 0
                    return
        raise TimeoutError("no answer in time")


def _question_end(query: bytes) -> int:
    return query.index(b"\0", 12) + 5
