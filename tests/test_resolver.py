"""Names to addresses, against a name server of our own on loopback."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from gossamer.clock import VirtualClock
from gossamer.config.settings import HarvesterSettings
from gossamer.errors import UsageError
from gossamer.units import Duration
from gossamer.web.resolver import FAILURE, LONGEST, SHORTEST, Resolver
from gossamer.web.seam import Answer

A, CNAME, AAAA = 1, 5, 28
Zone = dict[str, list[tuple[int, int, bytes]]]


def _ip(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


ZONE: Zone = {
    "public.test": [(A, 300, _ip("93.184.216.34"))],
    "short.test": [(A, 1, _ip("93.184.216.35"))],
    "long.test": [(A, 10**7, _ip("93.184.216.36"))],
    "six.test": [(AAAA, 300, _ip("2606:4700::1111"))],
    "both.test": [(AAAA, 300, _ip("2606:4700::1111")), (A, 300, _ip("93.184.216.37"))],
    "private.test": [(A, 300, _ip("10.1.2.3"))],
    "metadata.test": [(A, 300, _ip("169.254.169.254"))],
    "mapped.test": [(AAAA, 300, _ip("::ffff:127.0.0.1"))],
    "mixed.test": [(A, 300, _ip("127.0.0.1")), (A, 300, _ip("93.184.216.38"))],
    "nothing.test": [],
}


class NameServer:
    """UDP, one thread. Names that start with "silent" get no answer, with "malformed" nonsense, with "failing" code 2;
    with "many" an address; those not in the zone do not exist."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.asked: Counter[str] = Counter()
        self.held: list[tuple[bytes, tuple[str, int]]] = []
        self.hold = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                query, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            name, kind, end = _question(query)
            self.asked[name] += 1
            if self.hold:
                self.held.append((query, sender))
            elif not name.startswith("silent"):
                self.socket.sendto(_reply(query, name, kind, end), sender)

    def release(self) -> None:
        self.hold = False
        for query, sender in self.held:
            self.socket.sendto(_reply(query, *_question(query)), sender)


def _question(query: bytes) -> tuple[str, int, int]:
    labels, at = [], 12
    while size := query[at]:
        labels.append(query[at + 1 : at + 1 + size].decode().lower())
        at += 1 + size
    return ".".join(labels), struct.unpack_from(">H", query, at + 1)[0], at + 5


def _reply(query: bytes, name: str, kind: int, end: int) -> bytes:
    if name.startswith("malformed"):
        return query[:2] + b"\x81\x80" + b"\xff" * 20
    records = [(A, 300, _ip("93.184.216.40"))] if name.startswith("many") else ZONE.get(name)
    code = 2 if name.startswith("failing") else 3 if records is None else 0
    answers = [r for r in records or [] if r[0] == kind]
    head = query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(answers), 0, 0)
    body = b"".join(
        b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, min(ttl, 2**31 - 1), len(data)) + data
        for kind, ttl, data in answers
    )
    return head + query[12:end] + body


@pytest.fixture
def server() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.socket.close()


def _resolver(server: NameServer, clock: VirtualClock | None = None, lookups: int = 64, **changes: object) -> Resolver:
    settings = HarvesterSettings(resolvers=(server.address,), **{"name_timeout": Duration(1), **changes})  # type: ignore[arg-type]
    return Resolver(settings, lookups, clock)


def _collect(resolver: Resolver, count: int, seconds: float = 8.0) -> list[Answer]:
    got: list[Answer] = []
    end = time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        select.select([resolver.fileno()], [], [], 0.2)
        got += resolver.answers()
    assert len(got) == count
    assert resolver.open == 0
    return got


def _one(resolver: Resolver, host: str) -> Answer:
    resolver.ask(7, host)
    (answer,) = _collect(resolver, 1)
    assert (answer.site, answer.host) == (7, host)
    return answer


def test_a_name_gets_its_address_and_its_time(server: NameServer) -> None:
    answer = _one(_resolver(server), "public.test")
    assert (answer.address, answer.port, answer.ttl, answer.error) == ("93.184.216.34", 0, 300.0, "")


def test_times_are_bounded_on_both_sides(server: NameServer) -> None:
    resolver = _resolver(server)
    assert _one(resolver, "short.test").ttl == SHORTEST
    assert _one(resolver, "long.test").ttl == LONGEST


def test_ipv6_is_used_when_there_is_no_ipv4_address(server: NameServer) -> None:
    resolver = _resolver(server)
    assert _one(resolver, "six.test").address == "2606:4700::1111"
    assert _one(resolver, "both.test").address == "93.184.216.37"


@pytest.mark.parametrize("host", ["private.test", "metadata.test", "mapped.test", "127.0.0.1", "[::1]", "localhost"])
def test_forbidden_addresses_are_refused_unless_allowed(server: NameServer, host: str) -> None:
    answer = _one(_resolver(server), host)
    assert (answer.address, answer.error) == (None, "forbidden")
    allowed = _one(_resolver(server, allow_private=True), host)
    assert allowed.address is not None
    assert not allowed.error


def test_networks_of_the_settings_are_refused(server: NameServer) -> None:
    answer = _one(_resolver(server, forbidden=("93.184.216.34", "2606:4700::/32")), "public.test")
    assert (answer.address, answer.error) == (None, "forbidden")
    assert _one(_resolver(server, forbidden=("2606:4700::/32",), allow_private=True), "six.test").error == "forbidden"
    assert _one(_resolver(server, forbidden=("93.184.216.35",)), "public.test").error == ""


def test_name_servers_are_written_with_or_without_a_port(server: NameServer) -> None:
    for text in ("::1", "[::1]:53", "127.0.0.1", server.address):
        Resolver(HarvesterSettings(resolvers=(text,))).close()
    with pytest.raises(UsageError, match=r"harvester\.resolvers"):
        Resolver(HarvesterSettings(resolvers=("ns.example.org",)))


def test_of_several_addresses_the_forbidden_ones_are_dropped(server: NameServer) -> None:
    assert _one(_resolver(server), "mixed.test").address == "93.184.216.38"


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("missing.test", "no such name"),
        ("nothing.test", "no address"),
        ("silent.test", "timed out"),
        ("malformed.test", ""),
        ("failing.test", ""),
        ("x" * 64 + ".test", ""),
        ("a..b", ""),
    ],
)
def test_every_failure_is_an_answer_that_says_why(server: NameServer, host: str, error: str) -> None:
    started = time.monotonic()
    answer = _one(_resolver(server), host)
    assert answer.address is None
    assert answer.error not in ("", "forbidden")
    assert not error or answer.error == error
    assert answer.ttl == FAILURE
    assert time.monotonic() - started < 4


def test_addresses_in_urls_need_no_server(server: NameServer) -> None:
    resolver = _resolver(server)
    assert _one(resolver, "93.184.216.99").address == "93.184.216.99"
    assert _one(resolver, "[2606:4700::1]").address == "2606:4700::1"
    assert not server.asked


def test_patterns_of_the_settings_come_first(server: NameServer) -> None:
    patterns = {"*": "127.0.0.3", "*.demo": "127.0.0.2:8002", "exact.demo": "127.0.0.1:8001", "six.test": "[::1]:8003"}
    resolver = _resolver(server, resolve=patterns, allow_private=True)
    found = {host: _one(resolver, host) for host in ("exact.demo", "a.b.demo", "demo", "six.test", "public.test")}
    assert {host: (a.address, a.port) for host, a in found.items()} == {
        "exact.demo": ("127.0.0.1", 8001),
        "a.b.demo": ("127.0.0.2", 8002),
        "demo": ("127.0.0.3", 0),
        "six.test": ("::1", 8003),
        "public.test": ("127.0.0.3", 0),
    }
    assert not server.asked


def test_a_pattern_may_lead_nowhere(server: NameServer) -> None:
    resolver = _resolver(server, resolve={"*.demo": "none", "a.demo": "127.0.0.1:80"}, allow_private=True)
    assert _one(resolver, "a.demo").address == "127.0.0.1"
    assert (_one(resolver, "b.demo").address, _one(resolver, "b.demo").error) == (None, "no such name")
    assert not server.asked


def test_patterns_do_not_open_private_addresses(server: NameServer) -> None:
    assert _one(_resolver(server, resolve={"*": "127.0.0.1:80"}), "any.test").error == "forbidden"


@pytest.mark.parametrize("target", ["localhost:80", "127.0.0.1:http", "127.0.0.1:70000", "", "[::1", "1.2.3:80"])
def test_a_pattern_that_leads_nowhere_is_refused(server: NameServer, target: str) -> None:
    with pytest.raises(UsageError, match="no address and port"):
        _resolver(server, resolve={"*.demo": target})


def test_answers_are_kept_for_their_time_and_failures_for_a_while(server: NameServer) -> None:
    clock = VirtualClock()
    resolver = _resolver(server, clock)
    for host, hold in (("public.test", 300), ("missing.test", FAILURE)):
        first = _one(resolver, host)
        clock.advance(hold - 1)
        again = _one(resolver, host)
        assert (again.address, again.error, again.ttl) == (first.address, first.error, 1.0)
        assert server.asked[host] == 1


def test_a_name_asked_for_twice_is_looked_up_once(server: NameServer) -> None:
    server.hold = True
    resolver = _resolver(server)
    resolver.ask(1, "public.test")
    resolver.ask(2, "public.test")
    assert resolver.open == 2
    server.release()
    assert sorted(answer.site for answer in _collect(resolver, 2)) == [1, 2]


def test_lookups_in_flight_are_bounded_and_every_ask_gets_exactly_one_answer(server: NameServer) -> None:
    server.hold = True
    resolver = _resolver(server, lookups=8, name_timeout=Duration(10))
    for site in range(100):
        resolver.ask(site, f"many{site}.test")
    assert resolver.open == 100
    end = time.monotonic() + 2
    while len(server.asked) < 8 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(server.asked) == 8
    server.release()
    answers = _collect(resolver, 100)
    assert sorted(answer.site for answer in answers) == list(range(100))
    assert all(answer.address == "93.184.216.40" for answer in answers)


def test_nothing_to_collect_is_an_empty_list(server: NameServer) -> None:
    assert _resolver(server).answers() == []
