"""IP addresses: one 16-byte form, and which of them must never be visited.

Links, or a name server, may lead a crawler to machines that trust it only because of where it runs: loopback, the local
network, a cloud's metadata service. `forbidden` knows these (IANA special-purpose registries, RFC 6890; and
168.63.129.16, where Azure's host answers its guests), `Forbidden` also those of the settings. It is checked twice: when
a name is resolved, and when the socket opens.
"""

from __future__ import annotations

import ipaddress
import socket
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

_MAPPED: Final = bytes(10) + b"\xff\xff"
"""IPv4 inside IPv6 (RFC 4291, 2.5.5.2)."""

# fmt: off
_FORBIDDEN_4: Final = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
)))
# fmt: on
_UNICAST_6: Final = ipaddress.IPv6Network("2000::/3")
"""All addresses that are assigned for use between networks; any other is special."""
_FORBIDDEN_6: Final = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20", "2620:4f:8000::/48"))
)
_MAPPED_6: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_6TO4: Final = ipaddress.IPv6Network("2002::/16")


def pack(text: str) -> bytes:
    """An address as 16 bytes: IPv6, or IPv4 in its mapped form. All spellings of an address give the same bytes."""
    try:
        return _MAPPED + socket.inet_pton(socket.AF_INET, text)
    except OSError:
        pass
    try:
        return socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
    except OSError:
        raise ValueError(f"not an IP address: {text!r}") from None


@lru_cache(maxsize=4096)
def unpack(packed: bytes) -> str:
    """The usual text of an address of 16 bytes: `unpack(pack(text))` is canonical, and packs to the same bytes."""
    if len(packed) != 16:
        raise ValueError(f"an address has 16 bytes, not {len(packed)}")
    if packed.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def literal(host: str) -> str | None:
    """The address that a URL's host spells out (`127.0.0.1`, `[::1]`); None if it is a name."""
    try:
        return unpack(pack(host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def forbidden(address: str | bytes) -> bool:
    """Whether an address must not be visited, because it is special or no address at all.

    An IPv6 address that carries an IPv4 address (mapped, NAT64, 6to4) is judged by the address inside. Teredo and the
    IPv4-compatible form are refused as a whole: a packet to them may end at the address inside.
    """
    packed = _packed(address)
    if packed is None:
        return True
    return _forbidden_4(packed[12:]) if packed.startswith(_MAPPED) else _forbidden_6(packed)


def _packed(address: str | bytes) -> bytes | None:
    """The 16 bytes of an address; None if it is no address."""
    try:
        packed = address if isinstance(address, bytes) else pack(address)
    except ValueError:
        return None
    packed = _MAPPED + packed if len(packed) == 4 else packed
    return packed if len(packed) == 16 else None


def _forbidden_4(packed: bytes) -> bool:
    ip = ipaddress.IPv4Address(packed)
    return not ip.is_global or any(ip in network for network in _FORBIDDEN_4)


def _forbidden_6(packed: bytes) -> bool:
    ip = ipaddress.IPv6Address(packed)
    if ip in _NAT64:
        return _forbidden_4(packed[12:])
    if ip in _6TO4:
        return _forbidden_4(packed[2:6])
    return ip not in _UNICAST_6 or not ip.is_global or any(ip in network for network in _FORBIDDEN_6)


class Forbidden:
    """The addresses that a crawl must not visit: special ones, unless they are allowed, and those of the settings.

    An IPv6 address that carries an IPv4 address lies in the networks of both. A check costs a bisection, however many
    networks there are.
    """

    __slots__ = ("_ends", "_private", "_starts")

    def __init__(self, allow_private: bool, networks: Iterable[str] = ()) -> None:
        """`networks`: like "192.0.2.0/24", or single addresses; ValueError if one is neither."""
        self._private = allow_private
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(span for text in networks for span in _spans(text)):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __call__(self, address: str | bytes) -> bool:
        """Whether `address` must not be visited. What is no address must not be visited, either."""
        if not self._private and forbidden(address):
            return True
        if not self._starts:
            return False
        packed = _packed(address)
        return packed is None or any(self._listed(carried) for carried in _carried(packed))

    def _listed(self, packed: bytes) -> bool:
        number = int.from_bytes(packed)
        i = bisect_right(self._starts, number) - 1
        return i >= 0 and number <= self._ends[i]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """First and last address of a network, as 16-byte numbers. A network of IPv6 has no IPv4 addresses."""
    network = ipaddress.ip_network(text)
    parts: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network] = (network,)
    if isinstance(network, ipaddress.IPv6Network) and network.supernet_of(_MAPPED_6):
        parts = network.address_exclude(_MAPPED_6)
    for part in parts:
        yield int.from_bytes(pack(str(part[0]))), int.from_bytes(pack(str(part[-1])))


def _carried(packed: bytes) -> Iterator[bytes]:
    """The address itself, and the IPv4 address inside it (RFC 6052, RFC 3056)."""
    yield packed
    ip = ipaddress.IPv6Address(packed)
    if ip in _NAT64:
        yield _MAPPED + packed[12:]
    elif ip in _6TO4:
        yield _MAPPED + packed[2:6]
