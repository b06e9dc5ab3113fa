"""Frames between desk and worker, whatever the socket does to them; and the heartbeat."""

from __future__ import annotations

import os
import socket
from contextlib import closing

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import VISIT
from gossamer.web.message import LINK, Type, frame, pack_link, pack_visit
from gossamer.web.pool.wire import Heartbeat, Wire
from tests.support.timing import takes_less


@given(st.lists(st.binary(max_size=3000), max_size=20), st.data())
@settings(max_examples=60, deadline=None)
def test_frames_survive_any_split(bodies: list[bytes], data: st.DataObject) -> None:
    near, far = socket.socketpair()
    with near, closing(Wire(far)) as wire:
        stream = b"".join(frame(Type.RESULT, body) for body in bodies)
        got: list[bytes] = []
        while stream:
            size = data.draw(st.integers(1, max(1, min(len(stream), 4000))))
            near.sendall(stream[:size])
            stream = stream[size:]
            got += [body for _, body in wire.receive()]
        assert got == bodies
        near.sendall(frame(Type.RESULT, b"never finished")[:-3])
        near.close()
        assert wire.receive() == []
        assert wire.ended


def test_what_a_full_socket_does_not_take_is_sent_later() -> None:
    near, far = socket.socketpair()
    sender, receiver = Wire(near), Wire(far)
    body = np.arange(500_000, dtype="<u4").tobytes()
    sender.send(frame(Type.RESULT, body))
    assert sender.unsent > 0
    got: list[tuple[Type, bytes]] = []
    while not got:
        got = receiver.receive()
        sender.flush()
    assert got == [(Type.RESULT, body)]
    far.close()
    sender.send(b"into the void" * 100_000)
    assert sender.unsent == 0
    sender.close()
    receiver.close()


def test_a_long_frame_takes_time_in_proportion_to_its_size() -> None:
    """Joining what has arrived with each piece would copy 18 GB here."""
    near, far = socket.socketpair()
    wire, body, piece = Wire(far), bytes(24_000_000), 16_000
    stream = memoryview(frame(Type.RESULT, body))
    got: list[tuple[Type, bytes]] = []

    def pass_on() -> None:
        for at in range(0, len(stream), piece):
            near.sendall(stream[at : at + piece])
            got.extend(wire.receive())

    assert takes_less(pass_on, than=0.8)
    assert got[0] == (Type.RESULT, body)
    near.close()
    wire.close()


def test_both_ends_see_the_same_heartbeat() -> None:
    fd = os.memfd_create("heartbeat")
    os.ftruncate(fd, 4096)
    ours, theirs = Heartbeat(fd), Heartbeat(fd)
    os.close(fd)
    assert ours.read() is None
    for number in (0, 7, 2**63):
        theirs.name(number)
        assert ours.read() == number
    theirs.clear()
    assert ours.read() is None


@given(st.data())
def test_records_are_packed_as_numpy_lays_them_out(data: st.DataObject) -> None:
    for dtype, pack in ((VISIT, pack_visit), (LINK, pack_link)):
        raw = data.draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize))
        record = np.frombuffer(raw, dtype)[0]
        assert dtype.names
        values = list[object]()
        for name in dtype.names:
            value = record[name]
            if value.dtype == np.uint8 and value.ndim:
                values.append(value.tobytes())
            elif value.ndim:
                values += value.tolist()
            else:
                values.append(value.item())
        unpacked = np.frombuffer(pack(*values), dtype)[0]
        for name in dtype.names:
            assert np.array_equal(unpacked[name], record[name]) or np.isnan(record[name])
