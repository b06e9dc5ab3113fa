"""What is read of malformed answers of name servers."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.names import lenient
from tests.support.nameserver import CNAME, GOOD, A, labels, packed, reply

QUESTION = labels("a.test") + struct.pack(">HH", A, 1)
QUERY = b"\0\7" + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + QUESTION
ADDRESS = socket.inet_ntoa(GOOD[2])


def found(packet: bytes) -> list[str]:
    return [node.addr[0] for node in lenient.read(packet, QUESTION)]


@given(st.binary(max_size=200), st.booleans(), st.integers(0, 0xFFFF))
def test_any_bytes_give_addresses_or_none(noise: bytes, headed: bool, count: int) -> None:
    head = b"\0\7" + struct.pack(">HHHHH", 0x8180, 1, count, 0, 0) + QUESTION if headed else b""
    for address in found(head + noise):
        assert packed(address) in noise


@given(st.binary(max_size=80), st.integers(1, 0xFFFF))
def test_a_good_record_counts_whatever_follows_it(noise: bytes, count: int) -> None:
    packet = reply(QUERY, len(QUERY), [GOOD])
    packet = packet[:6] + struct.pack(">H", count) + packet[8:]
    assert found(packet + noise)[:1] == [ADDRESS]


def test_only_addresses_of_the_name_and_of_its_aliases_count() -> None:
    other = labels("other.test") + struct.pack(">HHIH", A, 1, 300, 4) + packed("192.0.2.1")
    aliased = labels("b.test") + struct.pack(">HHIH", A, 1, 300, 4) + packed("192.0.2.2")
    packet = reply(QUERY, len(QUERY), [(CNAME, 300, labels("b.test"))])
    packet = packet[:6] + struct.pack(">H", 3) + packet[8:] + other + aliased
    assert found(packet) == ["192.0.2.2"]
    assert found(packet.replace(b"\1a\4test", b"\1c\4test", 1)) == [], "the answer to another question"


def test_a_name_that_points_at_itself_is_skipped() -> None:
    at = len(QUERY)
    ring = struct.pack(">H", 0xC000 | at) + struct.pack(">HHIH", A, 1, 300, 4) + packed("192.0.2.1")
    good = reply(QUERY, len(QUERY), [GOOD])
    packet = good[:6] + struct.pack(">H", 2) + good[8:at] + ring + good[at:]
    assert found(packet) == [ADDRESS]


@pytest.mark.parametrize("tail", [b"", b"\xc0"], ids=["whole", "ends too early"])
def test_an_answer_that_is_cut_is_asked_for_by_tcp(tail: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(tcp.getsockname())
        for server in (tcp, udp):
            server.settimeout(60)

        def serve() -> None:
            query, sender = udp.recvfrom(4096)
            cut = reply(query, len(query), [])
            udp.sendto(cut[:2] + struct.pack(">H", 0x8380) + cut[4:], sender)
            connection, _ = tcp.accept()
            with connection:
                asked = connection.recv(4096)
                answer = reply(asked[2:], len(asked) - 2, [GOOD])
                answer = answer[:6] + struct.pack(">H", 2) + answer[8:] + tail
                connection.sendall((len(answer) + len(tail)).to_bytes(2) + answer[:5])
                connection.sendall(answer[5:])

        serving = threading.Thread(target=serve)
        serving.start()
        host, port = tcp.getsockname()
        nodes = lenient.ask(f"{host}:{port}", "a.test", socket.AF_INET, 30.0).nodes
        serving.join()
    assert [node.addr[0] for node in nodes] == [ADDRESS]
