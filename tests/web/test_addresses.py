"""Addresses: their 16-byte form, and which must never be visited."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.addresses import Forbidden, forbidden, literal, pack, unpack

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

FORBIDDEN_4 = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.9.9.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.9.9",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
]
FORBIDDEN_6 = [
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2001:20::1",
    "5f00::1",
    "64:ff9b:1::1",
    "4000::1",
    "::7f00:1",
    "2001:0:53aa:64c:0:fbfc:f5f5:fffe",
]
PUBLIC_4 = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "168.63.129.15",
    "168.63.129.17",
    "172.15.0.1",
    "172.32.0.1",
    "93.184.216.34",
]
PUBLIC_6 = ["2606:4700::1111", "2a00:1450:4001::8a", "2001:4860:4860::8888"]


def _carriers(address: str) -> list[str]:
    """The IPv6 forms that carry an IPv4 address."""
    inside = ipaddress.IPv4Address(address).packed.hex()
    high, low = inside[:4], inside[4:]
    return [f"::ffff:{address}", f"::ffff:{high}:{low}", f"64:ff9b::{address}", f"2002:{high}:{low}::1"]


@pytest.mark.parametrize("address", FORBIDDEN_4 + FORBIDDEN_6)
def test_special_addresses_are_forbidden(address: str) -> None:
    assert forbidden(address)
    assert forbidden(pack(address))


@pytest.mark.parametrize("address", PUBLIC_4 + PUBLIC_6)
def test_public_addresses_are_allowed(address: str) -> None:
    assert not forbidden(address)
    assert not forbidden(pack(address))


@pytest.mark.parametrize("address", FORBIDDEN_4)
def test_an_ipv6_address_that_carries_a_forbidden_one_is_forbidden(address: str) -> None:
    for carrier in _carriers(address):
        assert forbidden(carrier), carrier
    assert forbidden(f"::{address}")


@pytest.mark.parametrize("address", PUBLIC_4)
def test_an_ipv6_address_that_carries_a_public_one_is_public(address: str) -> None:
    for carrier in _carriers(address):
        assert not forbidden(carrier), carrier


@pytest.mark.parametrize("nonsense", ["", "localhost", "1.2.3", "0x7f000001", "2130706433", "127.1", b"", b"abc"])
def test_text_that_is_no_address_is_forbidden(nonsense: str | bytes) -> None:
    assert forbidden(nonsense)


@given(st.ip_addresses())
def test_pack_and_unpack_agree(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    packed = pack(str(address))
    assert len(packed) == 16
    assert pack(unpack(packed)) == packed
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    assert ipaddress.ip_address(unpack(packed)) == (mapped or address)


@given(st.ip_addresses())
def test_every_address_that_python_calls_private_is_forbidden(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_loopback or address.is_link_local:
        carried = getattr(address, "ipv4_mapped", None)
        assert forbidden(str(address)) or (carried is not None and not forbidden(str(carried)))


def test_a_mapped_address_has_the_bytes_of_the_address_inside() -> None:
    assert pack("::ffff:8.8.8.8") == pack("8.8.8.8")
    assert unpack(pack("::ffff:8.8.8.8")) == "8.8.8.8"


def test_literals_in_urls_are_recognised() -> None:
    assert literal("127.0.0.1") == "127.0.0.1"
    assert literal("[2606:4700:0::1]") == "2606:4700::1"
    assert literal("example.org") is None


def test_wrong_lengths_and_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        unpack(b"1234")
    with pytest.raises(ValueError, match="not an IP address"):
        pack("example.org")


def test_networks_of_the_settings_are_forbidden_with_and_without_private_addresses() -> None:
    networks = ("93.184.0.0/16", "93.184.216.34", "2606:4700::/32", "127.0.0.8/29")
    for private in (False, True):
        refuse = Forbidden(private, networks)
        for address in ("93.184.0.0", "93.184.255.255", "2606:4700::1", "127.0.0.9", "::ffff:93.184.1.1", "nonsense"):
            assert refuse(address), address
        for address in ("93.183.255.255", "93.185.0.0", "2606:4701::1"):
            assert not refuse(address), address
        assert refuse("127.0.0.1") is not private
    assert Forbidden(True, networks)(pack("93.184.1.1"))
    assert Forbidden(True, networks)(b"\x5d\xb8\x01\x01")
    assert Forbidden(True, networks)(b"short")


def test_an_address_lies_in_the_networks_of_the_address_it_carries() -> None:
    refuse = Forbidden(True, ("93.184.0.0/16",))
    assert refuse("64:ff9b::93.184.1.1")
    assert refuse("2002:5db8:0101::1")
    assert not refuse("64:ff9b::93.185.1.1")


def _network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, bits: int) -> Network:
    return ipaddress.ip_network(f"{address}/{bits}", strict=False)


_networks = st.builds(_network, st.ip_addresses(v=4), st.integers(0, 32)) | st.builds(
    _network, st.ip_addresses(v=6), st.integers(0, 64)
)


@given(st.lists(_networks, max_size=4), st.integers(0, 3), st.sampled_from((0, -1)), st.ip_addresses())
def test_many_networks_forbid_the_same_as_each_alone(
    networks: list[Network], number: int, end: int, other: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    address = networks[number][end] if number < len(networks) else other
    if isinstance(address, ipaddress.IPv6Address) and address in ipaddress.ip_network("64:ff9b::/96"):
        return
    of_four = getattr(address, "ipv4_mapped", None)
    judged = [of_four or address, getattr(address, "sixtofour", None)]
    expected = any(each in network for network in networks for each in judged if each is not None)
    assert Forbidden(True, map(str, networks))(str(address)) == expected


def test_a_network_of_ipv6_has_no_ipv4_addresses() -> None:
    refuse = Forbidden(True, ("::/0",))
    assert refuse("2606:4700::1")
    assert refuse("::1")
    assert not refuse("93.184.216.34")
    assert Forbidden(True, ("::ffff:93.184.216.0/120",))("93.184.216.34")
