"""Addresses: one form, and those that must never be visited."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.addresses import forbidden, literal, pack, unpack

FORBIDDEN_4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.9.9",
    "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
]  # fmt: skip
FORBIDDEN_6 = [
    "::", "::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "3fff::1", "100::1", "2001::1", "2001:10::1", "2001:20::1", "5f00::1", "64:ff9b:1::1", "4000::1", "::7f00:1",
    "2001:0:53aa:64c:0:fbfc:f5f5:fffe",
]  # fmt: skip
PUBLIC_4 = ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "93.184.216.34"]
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
def test_public_addresses_are_not(address: str) -> None:
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
def test_what_is_no_address_is_forbidden(nonsense: str | bytes) -> None:
    assert forbidden(nonsense)


@given(st.ip_addresses())
def test_pack_and_unpack_agree(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    packed = pack(str(address))
    assert len(packed) == 16
    assert pack(unpack(packed)) == packed
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    assert ipaddress.ip_address(unpack(packed)) == (mapped or address)


@given(st.ip_addresses())
def test_nothing_that_python_holds_for_private_is_let_through(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_loopback or address.is_link_local:
        carried = getattr(address, "ipv4_mapped", None)
        assert forbidden(str(address)) or (carried is not None and not forbidden(str(carried)))


def test_a_mapped_address_has_the_bytes_of_the_one_inside() -> None:
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
