"""Names to addresses, beside the desk's loop: c-ares works in threads of its own, the desk collects.

Invariants, each a test of the same name: every `ask` gets exactly one `Answer`; at most `harvester.lookups` names are
being looked up at any name server, the others wait in order; no answer carries an address that the settings forbid. All
state belongs to the thread that asks and collects: c-ares' threads only append to a queue and ring `fileno()`.

Several name servers work side by side: the least busy is asked. Where one fails (no answer, an answer that cannot be
read, "I could not", "I will not"), another is asked once; that there is no such name is an answer.

IPv4 and IPv6, one of them at a time: the families are asked for in the order of `harvester.families`, those that this
machine has a way to first, and the second only if the name has no address of the first. Of several addresses the first
that may be visited is given; who asks again while the answer is kept had no luck with it, and is given the next.

`/etc/hosts` is honoured, search domains are not: a host in a URL is a whole name.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from gossamer.base.clock import Clock, RealClock
from gossamer.base.errors import UsageError
from gossamer.config.endpoints import endpoint
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden, literal
from gossamer.web.names.nameserver import ARES, Bell, NameServer, Reply, system_servers
from gossamer.web.seam import Answer

SHORTEST: Final = 60.0
LONGEST: Final = 24 * 3600.0
"""Bounds of the time for which an address holds, whatever its record says."""
FAILURE: Final = 60.0
"""Seconds for which a failure is remembered."""
LOOK_EVERY: Final = 60.0
"""Seconds, at least, between looks at which name servers the system has."""
MOST_ADDRESSES: Final = 32
"""Of a name that has more, the first are looked at."""
AT_ONCE: Final = 100
"""Answers that are handed over at a time: more would make the desk deaf for too long."""
_CACHED: Final = 200_000
_ERRORS: Final = {
    ARES.ARES_ENODATA: "no address",
    ARES.ARES_ENOTFOUND: "no such name",
    ARES.ARES_ETIMEOUT: "timed out",
    ARES.ARES_EBADRESP: "malformed answer",
    ARES.ARES_EFORMERR: "malformed answer",
    ARES.ARES_EBADNAME: "malformed name",
    ARES.ARES_ESERVFAIL: "the name server failed",
    ARES.ARES_EREFUSED: "the name server refused",
    ARES.ARES_ENOTIMP: "the name server refused",
    ARES.ARES_ECONNREFUSED: "no name server there",
}
_TIMED_OUT: Final = ARES.ARES_ETIMEOUT
_ANSWERS: Final = (None, ARES.ARES_ENODATA, ARES.ARES_ENOTFOUND, ARES.ARES_EBADNAME)
"""What a name server says that works; anything else speaks against it."""
_FAMILIES: Final = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_FAR_AWAY: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Nothing is sent there."""


@dataclass(slots=True)
class _Lookup:
    host: str
    sites: list[int] = field(default_factory=list)
    server: NameServer | None = None
    """Who is being asked, or was when this waits for another."""
    again: bool = False
    """A second server is being asked."""
    alone: bool = False
    """In a channel of its own: when an answer cannot be read, c-ares gives up whatever else is under way beside it."""
    family: int = 0
    """Place in the order of families."""
    error: int = 0
    """Of the server that failed."""
    deadline: float = 0.0


class Resolver:
    def __init__(
        self, settings: HarvesterSettings, clock: Clock | None = None, routes: Sequence[int] | None = None
    ) -> None:
        """`routes`: families that this machine has a way to; found out if not given."""
        self._clock = clock or RealClock()
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._patterns = {pattern.lower(): _target(pattern, to) for pattern, to in settings.resolve.items()}
        self._families = families(settings.families, routes)
        self._bell = Bell()
        self._replies: deque[Reply] = deque()
        self._ready: list[Answer] = []
        self._lookups: dict[str, _Lookup] = {}
        """By host: those that wait for a server, and those under way."""
        self._waiting: deque[_Lookup] = deque()
        self._under_way: dict[int, _Lookup] = {}
        self._cache: dict[str, tuple[float, Answer]] = {}
        self._number = 0
        self._settings = settings
        self.servers: list[NameServer] = []
        self._former: list[NameServer] = []
        self._next_look = -inf
        self._look()

    def _look(self) -> None:
        """Which servers there are: by the settings for good; the system's may change while the crawl runs."""
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        named = list(dict.fromkeys(map(_server, self._settings.resolvers)))
        self._next_look = inf if named else now + LOOK_EVERY
        named = named or system_servers()
        self._patience = self._settings.name_timeout / min(2, len(named))  # two are asked at most
        known = {server.address: server for server in self.servers}
        self._former += [server for server in self.servers if server.address not in named]
        made = (self._settings.lookups, self._patience, self._replies, self._bell)
        self.servers = [known.get(text) or NameServer(text, *made) for text in named]

    @property
    def open(self) -> int:
        """Asked and not answered."""
        return sum(len(lookup.sites) for lookup in self._lookups.values()) + len(self._ready)

    def fileno(self) -> int:
        """Readable when `answers` may have something."""
        return self._bell.fd

    def ask(self, site: int, host: str) -> None:
        """`host` as in a canonical URL."""
        answer = self._at_once(host)
        if answer is not None:
            self._answer(replace(answer, site=site))
        elif host in self._lookups:
            self._lookups[host].sites.append(site)
        else:
            self._lookups[host] = lookup = _Lookup(host, [site])
            self._waiting.append(lookup)
            self._start()

    def answers(self) -> list[Answer]:
        """What is known since the last call; never waits. At most `AT_ONCE`; the rest waits for the next call."""
        self._bell.quiet()
        while self._replies:
            reply = self._replies.popleft()
            reply.server.ended(reply)
            lookup = self._under_way.pop(reply.number, None)
            if lookup is not None:
                self._hear(lookup, reply)
        now = self._clock.monotonic()
        for number, lookup in [each for each in self._under_way.items() if each[1].deadline <= now]:
            del self._under_way[number]
            self._failed(lookup, _TIMED_OUT)
        self._start()
        ready, self._ready = self._ready[:AT_ONCE], self._ready[AT_ONCE:]
        if self._ready:
            self._bell.ring()
        return ready

    def forget(self) -> None:
        """Nothing that was said so far is kept: whatever is asked from now on goes to a name server."""
        self._cache.clear()
        for server in self.servers:
            server.forget()

    def close(self) -> None:
        for server in self.servers + self._former:
            server.close()
        self._bell.close()

    def _at_once(self, host: str) -> Answer | None:
        """By the settings, by its spelling, or from the cache."""
        for pattern in _patterns(host) if self._patterns else ():
            if pattern in self._patterns:
                target, port = self._patterns[pattern]
                return self._checked(host, [target], LONGEST, port) if target else _failure(host, "no such name")
        address = literal(host)
        if address is not None:
            return self._checked(host, [address], LONGEST)
        until, answer = self._cache.get(host, (0.0, None))
        now = self._clock.wall()  # which goes on while the machine sleeps
        if answer is None or until <= now:
            return None
        if answer.address is not None:
            at = (answer.addresses.index(answer.address) + 1) % len(answer.addresses)
            answer = replace(answer, address=answer.addresses[at])
            self._cache[host] = until, answer
        return replace(answer, ttl=until - now, server="")

    # --- lookups ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Those that wait begin, in order, as far as the servers have room. One that waits for a second server holds up
        nobody, and is given up when that one rests."""
        held = list[_Lookup]()
        while self._waiting:
            lookup = self._waiting.popleft()
            server = self._free(lookup)
            if server is not None:
                lookup.server = server
                lookup.deadline = self._clock.monotonic() + self._patience
                self._query(lookup, server)
            elif lookup.again and not self._others_work(lookup.server):
                self._give_up(lookup)
            else:
                held.append(lookup)
                if not lookup.again:
                    break
        self._waiting.extendleft(reversed(held))

    def _others_work(self, server: NameServer | None) -> bool:
        return any(not other.resting for other in self.servers if other is not server)

    def _give_up(self, lookup: _Lookup) -> None:
        server = lookup.server
        self._end(lookup, _failure(lookup.host, _words(lookup.error), server.address if server is not None else ""))

    def _free(self, lookup: _Lookup) -> NameServer | None:
        """The least busy server that has room; when all of them fail, as if none did: there is nobody else to ask."""
        now = self._clock.monotonic()
        others = [server for server in self.servers if not (lookup.again and server is lookup.server)]
        able = [server for server in others if server.room(now)]
        if not able and all(server.resting for server in self.servers):
            able = [server for server in others if server.open < server.most]
        return min(able, key=lambda server: (server.open, server.asked), default=None)

    def _query(self, lookup: _Lookup, server: NameServer) -> None:
        self._number += 1
        try:
            server.query(self._number, lookup.host, self._families[lookup.family], lookup.alone)
        except ValueError:
            self._end(lookup, _failure(lookup.host, "malformed name"))
        else:
            self._under_way[self._number] = lookup

    def _hear(self, lookup: _Lookup, reply: Reply) -> None:
        server = reply.server
        nodes = reply.result.nodes[:MOST_ADDRESSES] if reply.result is not None else []
        found = [(_text(node.addr[0]), float(node.ttl)) for node in nodes]
        if not found and reply.error == ARES.ARES_EBADRESP and not lookup.alone:
            lookup.alone, lookup.deadline = True, self._clock.monotonic() + self._patience
            self._query(lookup, server)
            return
        if not found and reply.error not in _ANSWERS:
            self._failed(lookup, int(reply.error or 0))
            return
        server.fared(True, self._clock.monotonic())
        if found:
            ttl = min(max(min(ttl for _, ttl in found), SHORTEST), LONGEST)
            answer = self._checked(lookup.host, [address for address, _ in found], ttl)
            self._end(lookup, replace(answer, server=server.address))
        elif reply.error in (None, ARES.ARES_ENODATA) and lookup.family + 1 < len(self._families):
            lookup.family += 1
            self._query(lookup, server)
        else:
            self._end(lookup, _failure(lookup.host, _words(reply.error or ARES.ARES_ENODATA), server.address))

    def _failed(self, lookup: _Lookup, error: int) -> None:
        """The server's fault: another one is asked, once."""
        server = lookup.server
        if server is not None:
            server.fared(False, self._clock.monotonic())
            if server.resting:
                self._look()
        lookup.error = error
        if not lookup.again and self._others_work(server):
            lookup.again, lookup.family = True, 0
            self._waiting.appendleft(lookup)
        else:
            self._give_up(lookup)

    def _checked(self, host: str, addresses: list[str], ttl: float, port: int = 0) -> Answer:
        """The first address that may be visited."""
        allowed = tuple(dict.fromkeys(address for address in addresses if not self._forbidden(address)))
        if not allowed:
            return Answer(-1, host, None, 0, ttl, "forbidden")
        return Answer(-1, host, allowed[0], port, ttl, addresses=allowed)

    def _end(self, lookup: _Lookup, answer: Answer) -> None:
        del self._lookups[lookup.host]
        now = self._clock.wall()
        if len(self._cache) >= _CACHED:
            self._cache = {host: entry for host, entry in self._cache.items() if entry[0] > now}
        self._cache[lookup.host] = (now + answer.ttl, answer)
        for site in lookup.sites:
            self._answer(replace(answer, site=site))

    def _answer(self, answer: Answer) -> None:
        self._ready.append(answer)
        self._bell.ring()


def families(wanted: Sequence[str], routes: Sequence[int] | None = None) -> list[socket.AddressFamily]:
    """In order; those to which there is no way from here come last, whatever the settings say."""
    given = [_FAMILIES[word] for word in wanted]
    there = [family for family in given if (_has_route(family) if routes is None else family in routes)]
    return there + [family for family in given if family not in there]


def _has_route(family: socket.AddressFamily) -> bool:
    """Would a packet to somewhere far away leave this machine? None is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as line:
            line.connect((_FAR_AWAY[family], 53))
    except OSError:
        return False
    return True


def _words(error: int) -> str:
    return _ERRORS.get(error) or _text(ARES.strerror(error))


def _failure(host: str, error: str, server: str = "") -> Answer:
    return Answer(-1, host, None, 0, FAILURE, error, server=server)


def _text(address: str | bytes) -> str:
    return address.decode() if isinstance(address, bytes) else address


def _patterns(host: str) -> Iterator[str]:
    """All that match it, the closest first: itself, below each suffix (`*.example`), any name (`*`)."""
    yield host
    at = host.find(".")
    while at >= 0:
        yield "*" + host[at:]
        at = host.find(".", at + 1)
    yield "*"


def _target(pattern: str, text: str) -> tuple[str, int]:
    """Address and port (0: none given) of "127.0.0.1:8080", "[::1]:8080", "127.0.0.1", "::1"; "none" has neither."""
    if text == "none":
        return "", 0
    found = endpoint(text)
    if found is None:
        raise UsageError(
            f"harvester.resolve: {pattern!r} leads to {text!r}, which is no address and port",
            "Write it like '*.example' = '127.0.0.1:8080'.",
        )
    return literal(found[0]) or found[0], found[1]


def _server(text: str) -> str:
    """A name server in the form that c-ares reads, whatever its family."""
    found = endpoint(text)
    if found is None:
        raise UsageError(f"harvester.resolvers: {text!r} is no address of a name server", "Write it like 192.0.2.53.")
    address, port = found
    return f"[{address}]:{port or 53}" if ":" in address else f"{address}:{port or 53}"
