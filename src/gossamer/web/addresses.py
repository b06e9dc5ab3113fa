"""IP addresses: one 16-byte form, and which of them must never be visited.

A crawler that follows links may be led by them, or by a name server, to machines that trust it only because of where it
runs: loopback, the local network, a cloud's metadata service. `forbidden` names these (IANA special-purpose registries,
RFC 6890). It is asked twice: when a name is resolved, and again when the socket opens.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache
from typing import Final

_MAPPED: Final = bytes(10) + b"\xff\xff"
"""IPv4 inside IPv6 (RFC 4291, 2.5.5.2)."""

_FORBIDDEN_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        ),
    )
)  # fmt: skip
_UNICAST_6: Final = ipaddress.IPv6Network("2000::/3")
"""All that is given out for use between networks; whatever lies outside is special."""
_FORBIDDEN_6: Final = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20", "2620:4f:8000::/48"))
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_6TO4: Final = ipaddress.IPv6Network("2002::/16")


def pack(text: str) -> bytes:
    """16 bytes: IPv6, or IPv4 in its mapped form; two spellings of one address give the same bytes."""
    try:
        return _MAPPED + socket.inet_pton(socket.AF_INET, text)
    except OSError:
        pass
    try:
        return socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
    except OSError:
        raise ValueError(f"not an IP address: {text!r}") from None


def unpack(packed: bytes) -> str:
    """The usual text of what `pack` made: `unpack(pack(text))` is canonical, and `pack` of it gives the same bytes."""
    if len(packed) != 16:
        raise ValueError(f"an address has 16 bytes, not {len(packed)}")
    if packed.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def literal(host: str) -> str | None:
    """The address that a URL's host spells out (`127.0.0.1`, `[::1]`), or None for a name."""
    try:
        return unpack(pack(host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def forbidden(address: str | bytes) -> bool:
    """Whether an address must not be visited; what is no address at all must not be, either.

    An IPv6 address that carries an IPv4 address (mapped, NAT64, 6to4) is judged by what it carries, Teredo and the
    IPv4-compatible form are refused as a whole: a packet to them may end at the address inside.
    """
    try:
        packed = address if isinstance(address, bytes) else pack(address)
    except ValueError:
        return True
    if len(packed) == 4:
        return _forbidden_4(packed)
    if len(packed) != 16:
        return True
    return _forbidden_4(packed[12:]) if packed.startswith(_MAPPED) else _forbidden_6(packed)


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
