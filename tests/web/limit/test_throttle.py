"""Throttled sockets (`web/limit/throttle.py`), over real sockets of this machine."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.fetch.meter import unread_of
from gossamer.web.limit.throttle import PIECE, ThrottledSocket, connected
from tests.support.timing import WITHIN


@dataclass
class Ends:
    """The server's end, the throttled socket, and libcurl's end."""

    server: socket.socket
    throttled: ThrottledSocket
    libcurl: socket.socket
    closed: bool = False

    def sends(self, data: bytes) -> None:
        """Sends from the server; the data has arrived when this returns."""
        before = unread_of(self.throttled.far)
        self.server.sendall(data)
        while unread_of(self.throttled.far) < before + len(data):
            assert select.select([self.throttled.far], [], [], WITHIN)[0]

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.libcurl.close()
            while not self.throttled.closed:
                self.throttled.near_event(select.EPOLLIN)

    @property
    def state(self) -> str:
        stuck = self.throttled.events & select.EPOLLOUT
        return "closed" if self.throttled.closed else "stuck" if stuck else "open" if self.throttled.opens else "ended"

    def reads(self) -> bytes:
        """All that libcurl can read now."""
        data = b""
        with suppress(BlockingIOError):
            while piece := self.libcurl.recv(PIECE):
                data += piece
        return data


@contextmanager
def connection(window: int = 0) -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = socket.create_connection(listening.getsockname())
        made.setblocking(False)
        server, _ = listening.accept()
    assert connected(made.fileno())
    ends = Ends(server, ThrottledSocket(made.fileno(), window), made)
    with server:
        yield ends
        ends.close()


def over(ends: Ends) -> int:
    """The epoll event of the connection when the server is gone."""
    with select.epoll() as epoll:
        epoll.register(ends.throttled.far, select.EPOLLRDHUP)
        ((_, event),) = epoll.poll(WITHIN)
    return event


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.binary(min_size=1, max_size=500)),
        st.tuples(st.just("let in"), st.integers(1, 300)),
        st.tuples(st.just("read"), st.none()),
        st.tuples(st.just("ask"), st.binary(min_size=1, max_size=100)),
    ),
    max_size=30,
)


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_no_byte_passes_that_was_not_let_in_and_none_is_lost_or_changes_its_place(
    steps: list[tuple[str, bytes | int | None]],
) -> None:
    sent = asked = got = heard = b""
    let_in = passed = 0
    with connection() as ends:
        for what, value in steps:
            if isinstance(value, int):
                passed += (count := ends.throttled.let_in(value))
                let_in += value
                assert count == min(value, len(sent) - passed + count)
            elif value is None:
                got += ends.reads()
                assert len(got) == passed <= let_in
            elif what == "send":
                ends.sends(value)
                sent += value
            else:
                ends.libcurl.send(value)
                ends.throttled.let_out()
                asked += value
        while ends.throttled.let_in(PIECE):
            pass
        got += ends.reads()
        while len(heard) < len(asked):
            heard += ends.server.recv(PIECE)
    assert (got, heard) == (sent, asked)


def test_data_that_libcurl_does_not_take_waits_and_nothing_more_is_let_in() -> None:
    with connection(window=4_096) as ends:
        data = os.urandom(60_000)
        ends.sends(data)
        passed = ends.throttled.let_in(PIECE)
        assert ends.state == "stuck"
        assert not ends.throttled.opens
        assert ends.throttled.waits
        got = b""
        while ends.state == "stuck":
            piece = ends.reads()
            assert piece
            got += piece
            ends.throttled.near_event(select.EPOLLOUT)
        assert ends.state == "open"
        assert got + ends.reads() == data[:passed]


def test_the_end_of_a_connection_comes_after_its_last_byte() -> None:
    with connection() as ends:
        ends.sends(b"12345678")
        ends.server.close()
        event = over(ends)
        ends.throttled.far_event(event)
        assert ends.state == "open", "there is still something to let in"
        assert ends.throttled.let_in(5) == 5
        assert ends.libcurl.recv(100) == b"12345"
        assert ends.throttled.let_in(5) == 3
        assert ends.throttled.let_in(5) == 0
        assert ends.state == "ended"
        assert ends.libcurl.recv(100) == b"678"
        assert ends.libcurl.recv(100) == b""


def test_a_reset_is_a_reset() -> None:
    with connection() as ends:
        ends.sends(b"1234")
        assert ends.throttled.let_in(100) == 4
        ends.libcurl.send(b"unread")
        ends.throttled.let_out()
        assert select.select([ends.server], [], [], WITHIN)[0]
        ends.server.close()
        event = over(ends)
        assert event & select.EPOLLERR
        ends.throttled.far_event(event)
        assert ends.state == "closed"
        assert ends.libcurl.recv(100) == b"1234"
        with pytest.raises(ConnectionResetError):
            ends.libcurl.recv(100)


@pytest.mark.parametrize("answer", [b"", b"an answer"])
def test_sending_to_a_server_that_is_gone_gives_a_reset_after_its_answer(answer: bytes) -> None:
    with connection() as ends:
        ends.sends(answer)
        ends.libcurl.send(b"unread")
        ends.throttled.let_out()
        assert select.select([ends.server], [], [], WITHIN)[0]
        ends.server.close()
        over(ends)
        ends.libcurl.send(b"more")
        ends.throttled.let_out()
        if answer:
            ends.throttled.let_in(100)
            assert ends.libcurl.recv(100) == answer
            ends.throttled.let_in(100)
        with pytest.raises(ConnectionResetError):
            ends.libcurl.recv(100)


@pytest.mark.parametrize("farewell", [b"", b"close notify"])
def test_a_connection_that_its_server_closes_while_it_is_idle_looks_closed_at_once(farewell: bytes) -> None:
    """Even if nothing is let in."""
    with connection() as ends:
        ends.throttled.rest()
        ends.sends(farewell)
        ends.server.close()
        ends.throttled.far_event(over(ends))
        assert ends.libcurl.recv(100) == b""
        assert ends.state == "ended"


@pytest.mark.parametrize("when", ["before", "passed", "after"])
def test_a_connection_on_which_more_comes_than_was_asked_for_looks_closed(when: str) -> None:
    """Otherwise the next request would take it for its answer."""
    with connection() as ends:
        if when != "after":
            ends.sends(b"and more")
        if when == "passed":
            ends.throttled.let_in(3)
        ends.throttled.rest()
        if when == "after":
            assert ends.state == "open"
            ends.sends(b"and more")
            ends.throttled.far_event(select.EPOLLIN | select.EPOLLOUT)
        assert ends.libcurl.recv(100) == b""
        assert ends.state == "ended"
        ends.libcurl.send(b"the next request")
        ends.throttled.near_event(select.EPOLLIN)
        assert ends.state == "closed"
        heard = b""
        with suppress(ConnectionResetError):  # it has sent data that was not read
            heard = ends.server.recv(100)
        assert heard == b"", "no request is sent whose answer would be lost"


def test_a_connection_is_no_longer_idle_when_something_is_sent() -> None:
    with connection() as ends:
        ends.throttled.rest()
        ends.libcurl.send(b"the next request")
        ends.throttled.let_out()
        ends.sends(b"its answer")
        ends.throttled.far_event(select.EPOLLIN | select.EPOLLOUT)
        ends.throttled.let_in(100)
        assert ends.libcurl.recv(100) == b"its answer"


def test_a_server_was_held_back_if_we_were_late_and_its_buffers_were_full() -> None:
    with connection(window=4_000) as ends:
        ends.sends(bytes(3_000))
        ends.throttled.let_in(100)
        held = [ends.throttled.held]  # we were not late
        ends.throttled.let_in(2_000, late=True)
        held.append(ends.throttled.held)
        ends.throttled.let_in(2_000, late=True)
        held.append(ends.throttled.held)  # this does not change with the rest
        ends.libcurl.send(b"the next request")
        ends.throttled.let_out()
        held.append(ends.throttled.held)
        ends.sends(bytes(500))
        ends.throttled.let_in(500, late=True)
        held.append(ends.throttled.held)  # the server does not wait for so little
    assert held == [False, True, True, False, False]


def test_only_established_connections_are_throttled() -> None:
    with socket.socket() as lonely:
        assert not connected(lonely.fileno())
    end, other = os.pipe()
    assert not connected(end)
    os.close(end)
    os.close(other)
    for each in socket.socketpair():
        with each:
            assert not connected(each.fileno())


def test_when_libcurl_closes_its_end_what_it_sent_last_passes_and_nothing_is_left() -> None:
    with connection() as ends:
        ends.libcurl.send(b"farewell")
        ends.close()
        assert ends.throttled.far.fileno() < 0
        assert ends.server.recv(100) == b"farewell"
        assert ends.server.recv(100) == b""


def test_data_for_an_end_that_libcurl_has_closed_closes_the_connection() -> None:
    with connection() as ends:
        ends.sends(b"an answer")
        ends.libcurl.close()
        with socket.socket() as another:
            assert another.fileno() == ends.throttled.fd, "its descriptor is used again"
            ends.throttled.let_in(100)
            assert ends.state == "closed"


def test_a_request_that_ended_with_its_connection_touches_no_reused_descriptor() -> None:
    """We broke it off, and libcurl has closed its end, while there was something to let in."""
    with connection() as ends:
        ends.sends(b"an answer")
        ends.libcurl.close()
        ends.throttled.rest()
        end, another = socket.socketpair()
        with end, another:
            assert ends.throttled.fd in (end.fileno(), another.fileno())
            another.send(b"for others")
            end.send(b"for others")
            ends.throttled.rest()
            assert (unread_of(end), unread_of(another)) == (10, 10)
        ends.throttled.near_event(select.EPOLLIN | select.EPOLLHUP)
        assert ends.state == "closed"


def test_a_reset_touches_no_reused_descriptor() -> None:
    with connection() as ends:
        ends.libcurl.send(b"unread")
        ends.throttled.let_out()
        assert select.select([ends.server], [], [], WITHIN)[0]
        ends.server.close()
        event = over(ends)
        ends.libcurl.close()
        end, another = socket.socketpair()
        with end, another:
            assert ends.throttled.fd in (end.fileno(), another.fileno())
            ends.throttled.far_event(event)
            assert ends.state == "closed"
            assert (unread_of(end), unread_of(another)) == (0, 0)


def test_data_that_a_server_does_not_take_waits_and_ends_with_libcurl() -> None:
    with connection() as ends:
        with suppress(BlockingIOError):
            while True:
                ends.libcurl.send(bytes(PIECE))
                ends.throttled.let_out()
        assert ends.throttled.events == 0, "otherwise the epoll would report it for ever"
        ends.libcurl.close()
        ends.throttled.near_event(select.EPOLLIN | select.EPOLLHUP)
        assert ends.state == "closed"
