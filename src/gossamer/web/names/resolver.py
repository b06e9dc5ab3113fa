"""Names to addresses, without holding up the desk's loop: c-ares works in threads of its own, the desk collects.

Invariants, each a test of the same name: every `ask` gets exactly one `Answer`; no more names are looked up at a time
than the settings allow; forbidden addresses are refused unless allowed. All state belongs to the thread that asks and
collects: c-ares' threads only append to a queue and notify `fileno()`. Names beyond `harvester.lookups` per server wait
in order.

Several name servers work at the same time: the least busy is asked. Where one fails (no answer, an answer of which
nothing can be read, "I could not", "I will not"), another is asked once; that there is no such name is an answer.

IPv4 and IPv6 are looked up one at a time: the families in the order of `harvester.families`, those that this machine
has a route to first, and the second only if the name has no address of the first. Of several addresses the first that
may be visited is given. A site that asks again while the answer is kept could not use it, and is given the next.

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
from gossamer.config.accepted import endpoint
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden, literal
from gossamer.web.names.nameserver import ARES, EventFd, NameServer, Reply, system_servers
from gossamer.web.seam import Answer

SHORTEST: Final = 60.0
LONGEST: Final = 24 * 3600.0
"""Bounds of the seconds for which an address holds, whatever its record says."""
FAILURE: Final = 60.0
"""Seconds for which a failure is remembered."""
CHECK_EVERY: Final = 60.0
"""Seconds, at least, between checks which name servers the system has."""
MOST_ADDRESSES: Final = 32
"""Addresses of a name that are used; more are ignored."""
AT_ONCE: Final = 100
"""Answers that are handed over at a time: more would keep the desk from polling for too long."""
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
"""Results of a name server that works; any other is a failure of the server."""
_FAMILIES: Final = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}
_FAR_AWAY: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses to find a route to. Nothing is sent there."""


@dataclass(slots=True)
class _Lookup:
    """A name that is being looked up, or waits for it."""

    host: str
    sites: list[int] = field(default_factory=list)
    """The sites that asked for it."""
    server: NameServer | None = None
    """The server that is being asked; while this waits for a second server, the first."""
    again: bool = False
    """Whether a second server is being asked."""
    alone: bool = False
    """In a channel of its own: it keeps no answers, and after a malformed answer c-ares gives up all other lookups of a
    channel."""
    leniently: bool = False
    """Its answer was malformed there, too: what can be read of it is used."""
    family: int = 0
    """Index in the order of families."""
    error: int = 0
    """What the server that failed reported."""
    deadline: float = 0.0


class _Servers:
    """The name servers: given by the settings for good, or those of the system, which may change during a crawl."""

    def __init__(self, settings: HarvesterSettings, replies: deque[Reply], eventfd: EventFd) -> None:
        self._settings, self._replies, self._eventfd = settings, replies, eventfd
        self.now: list[NameServer] = []
        self._former: list[NameServer] = []
        self._next_check = -inf
        self.patience = 0.0
        """Seconds for which one server is waited for."""

    def check(self, now: float) -> None:
        """Finds out which servers there are, if that may have changed."""
        if now < self._next_check:
            return
        named = list(dict.fromkeys(map(_server, self._settings.resolvers)))
        self._next_check = inf if named else now + CHECK_EVERY
        named = named or system_servers()
        self.patience = self._settings.name_timeout / min(2, len(named))  # two are asked at most
        known = {server.address: server for server in self.now}
        self._former += [server for server in self.now if server.address not in named]
        options = (self._settings.lookups, self.patience, self._replies, self._eventfd)
        self.now = [known.get(text) or NameServer(text, *options) for text in named]

    def free(self, now: float, lookup: _Lookup) -> NameServer | None:
        """The least busy server that has room. When all servers fail, as if none did: there is no other to ask."""
        others = [server for server in self.now if not (lookup.again and server is lookup.server)]
        able = [server for server in others if server.room(now)]
        if not able and all(server.resting for server in self.now):
            able = [server for server in others if server.open < server.most]
        return min(able, key=lambda server: (server.open, server.asked), default=None)

    def others_work(self, server: NameServer | None) -> bool:
        return any(not other.resting for other in self.now if other is not server)

    def forget(self) -> None:
        for server in self.now:
            server.forget()

    def close(self) -> None:
        for server in self.now + self._former:
            server.close()


class _Cache:
    """Answers, until they expire by the wall clock, which also counts while the machine sleeps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: dict[str, tuple[float, Answer]] = {}

    def get(self, host: str) -> Answer | None:
        """The answer, with the next of its addresses each time."""
        until, answer = self._answers.get(host, (0.0, None))
        now = self._clock.wall()
        if answer is None or until <= now:
            return None
        if answer.address is not None:
            following = (answer.addresses.index(answer.address) + 1) % len(answer.addresses)
            answer = replace(answer, address=answer.addresses[following])
            self._answers[host] = until, answer
        return replace(answer, ttl=until - now, server="")

    def put(self, host: str, answer: Answer) -> None:
        now = self._clock.wall()
        if len(self._answers) >= _CACHED:
            self._answers = {host: entry for host, entry in self._answers.items() if entry[0] > now}
        self._answers[host] = (now + answer.ttl, answer)

    def clear(self) -> None:
        self._answers.clear()


class Resolver:
    """Looks up names for sites: `ask`, and later `answers`."""

    def __init__(
        self, settings: HarvesterSettings, clock: Clock | None = None, routes: Sequence[int] | None = None
    ) -> None:
        """`routes`: families that this machine has a route to; found out if not given."""
        self._clock = clock or RealClock()
        self._forbidden = Forbidden(settings.allow_private, settings.forbidden)
        self._patterns = {pattern.lower(): _target(pattern, to) for pattern, to in settings.resolve.items()}
        self._families = families(settings.families, routes)
        self._eventfd = EventFd()
        self._replies: deque[Reply] = deque()
        self._ready: list[Answer] = []
        self._lookups: dict[str, _Lookup] = {}
        """By host: lookups that wait for a server, and lookups under way."""
        self._waiting: deque[_Lookup] = deque()
        self._under_way: dict[int, _Lookup] = {}
        self._cache = _Cache(self._clock)
        self._number = 0
        self._servers = _Servers(settings, self._replies, self._eventfd)
        self._servers.check(self._clock.monotonic())

    @property
    def servers(self) -> list[NameServer]:
        return self._servers.now

    @property
    def open(self) -> int:
        """Questions without an answer yet."""
        return sum(len(lookup.sites) for lookup in self._lookups.values()) + len(self._ready)

    def fileno(self) -> int:
        """Readable when `answers` may have something."""
        return self._eventfd.fd

    def ask(self, site: int, host: str, fresh: bool = False) -> None:
        """Asks for the address of `host`, spelled as in a canonical URL, for a site."""
        answer = None if fresh else self._at_once(host)
        if answer is not None:
            self._answer(replace(answer, site=site))
        elif host in self._lookups:
            self._lookups[host].sites.append(site)
        else:
            self._lookups[host] = lookup = _Lookup(host, [site], alone=fresh)
            self._waiting.append(lookup)
            self._start()

    def answers(self) -> list[Answer]:
        """The answers since the last call; never waits. At most `AT_ONCE`; the rest waits for the next call."""
        self._eventfd.clear()
        while self._replies:
            reply = self._replies.popleft()
            reply.server.ended(reply)
            lookup = self._under_way.pop(reply.number, None)
            if lookup is not None:
                self._hear(lookup, reply)
        now = self._clock.monotonic()
        for number, lookup in [entry for entry in self._under_way.items() if entry[1].deadline <= now]:
            del self._under_way[number]
            self._failed(lookup, _TIMED_OUT)
        self._start()
        ready, self._ready = self._ready[:AT_ONCE], self._ready[AT_ONCE:]
        if self._ready:
            self._eventfd.notify()
        return ready

    def forget(self) -> None:
        self._cache.clear()
        self._servers.forget()

    def close(self) -> None:
        self._servers.close()
        self._eventfd.close()

    def _at_once(self, host: str) -> Answer | None:
        """The answer by the settings, by the spelling of the host, or from the cache; None: it must be looked up."""
        for pattern in _patterns(host) if self._patterns else ():
            if pattern in self._patterns:
                target, port = self._patterns[pattern]
                return self._checked(host, [target], LONGEST, port) if target else _failure(host, "no such name")
        address = literal(host)
        if address is not None:
            return self._checked(host, [address], LONGEST)
        return self._cache.get(host)

    # --- lookups ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Begins the lookups that wait, in order, as far as the servers have room.

        A lookup that waits for a second server does not hold up others, and is given up when that server rests.
        """
        held = list[_Lookup]()
        while self._waiting:
            lookup = self._waiting.popleft()
            server = self._servers.free(self._clock.monotonic(), lookup)
            if server is not None:
                lookup.server = server
                lookup.deadline = self._clock.monotonic() + self._servers.patience
                self._query(lookup, server)
            elif lookup.again and not self._servers.others_work(lookup.server):
                self._give_up(lookup)
            else:
                held.append(lookup)
                if not lookup.again:
                    break
        self._waiting.extendleft(reversed(held))

    def _give_up(self, lookup: _Lookup) -> None:
        server = lookup.server
        self._end(lookup, _failure(lookup.host, _words(lookup.error), server.address if server is not None else ""))

    def _query(self, lookup: _Lookup, server: NameServer) -> None:
        self._number += 1
        family = self._families[lookup.family]
        try:
            if lookup.leniently:
                server.query_leniently(self._number, lookup.host, family)
            else:
                server.query(self._number, lookup.host, family, lookup.alone)
        except ValueError:
            self._end(lookup, _failure(lookup.host, "malformed name"))
        else:
            self._under_way[self._number] = lookup

    def _hear(self, lookup: _Lookup, reply: Reply) -> None:
        """Takes the reply of a server: an answer, a failure of the server, or a reason to ask once more."""
        server = reply.server
        nodes = reply.result.nodes[:MOST_ADDRESSES] if reply.result is not None else []
        addresses = [(_text(node.addr[0]), float(node.ttl)) for node in nodes]
        if not addresses and reply.error == ARES.ARES_EBADRESP and not lookup.leniently:
            lookup.alone, lookup.leniently = True, lookup.alone
            lookup.deadline = self._clock.monotonic() + self._servers.patience
            self._query(lookup, server)
            return
        if not addresses and reply.error not in _ANSWERS:
            self._failed(lookup, int(reply.error or 0))
            return
        server.fared(True, self._clock.monotonic())
        if addresses:
            ttl = min(max(min(ttl for _, ttl in addresses), SHORTEST), LONGEST)
            answer = self._checked(lookup.host, [address for address, _ in addresses], ttl)
            self._end(lookup, replace(answer, server=server.address))
        elif reply.error in (None, ARES.ARES_ENODATA) and lookup.family + 1 < len(self._families):
            lookup.family += 1
            self._query(lookup, server)
        else:
            self._end(lookup, _failure(lookup.host, _words(reply.error or ARES.ARES_ENODATA), server.address))

    def _failed(self, lookup: _Lookup, error: int) -> None:
        """The server has failed: another one is asked, once."""
        server = lookup.server
        if server is not None:
            server.fared(False, self._clock.monotonic())
            if server.resting:
                self._servers.check(self._clock.monotonic())
        lookup.error = error
        if not lookup.again and self._servers.others_work(server):
            lookup.again, lookup.leniently, lookup.family = True, False, 0
            self._waiting.appendleft(lookup)
        else:
            self._give_up(lookup)

    def _checked(self, host: str, addresses: list[str], ttl: float, port: int = 0) -> Answer:
        """An answer with the addresses that may be visited, or "forbidden"."""
        allowed = tuple(dict.fromkeys(address for address in addresses if not self._forbidden(address)))
        if not allowed:
            return Answer(-1, host, None, 0, ttl, "forbidden")
        return Answer(-1, host, allowed[0], port, ttl, addresses=allowed)

    def _end(self, lookup: _Lookup, answer: Answer) -> None:
        del self._lookups[lookup.host]
        self._cache.put(lookup.host, answer)
        for site in lookup.sites:
            self._answer(replace(answer, site=site))

    def _answer(self, answer: Answer) -> None:
        self._ready.append(answer)
        self._eventfd.notify()


def families(wanted: Sequence[str], routes: Sequence[int] | None = None) -> list[socket.AddressFamily]:
    """The families in the order of the settings; those without a route from here come last."""
    given = [_FAMILIES[word] for word in wanted]
    routed = [family for family in given if (_has_route(family) if routes is None else family in routes)]
    return routed + [family for family in given if family not in routed]


def _has_route(family: socket.AddressFamily) -> bool:
    """Whether a packet to a distant address would leave this machine. None is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((_FAR_AWAY[family], 53))
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
    """All patterns that match a host, the closest first: itself, below each suffix (`*.example`), any name (`*`)."""
    yield host
    dot = host.find(".")
    while dot >= 0:
        yield "*" + host[dot:]
        dot = host.find(".", dot + 1)
    yield "*"


def _target(pattern: str, text: str) -> tuple[str, int]:
    """Address and port (0: none given) of "127.0.0.1:8080", "[::1]:8080", "127.0.0.1", "::1"; "none" has neither."""
    if text == "none":
        return "", 0
    target = endpoint(text)
    if target is None:
        raise UsageError(
            f"harvester.resolve: {pattern!r} leads to {text!r}, which is not an address with a port",
            "Write it like '*.example' = '127.0.0.1:8080'.",
        )
    return literal(target[0]) or target[0], target[1]


def _server(text: str) -> str:
    """A name server in the form that c-ares reads, whatever its family."""
    server = endpoint(text)
    if server is None:
        raise UsageError(
            f"harvester.resolvers: {text!r} is not the address of a name server", "Write it like 192.0.2.53."
        )
    address, port = server
    return f"[{address}]:{port or 53}" if ":" in address else f"{address}:{port or 53}"
