"""The rate limiter that workers share (`web/limit/bucket.py`), and requests under it (`web/limit/limited_fetch.py`).

Bytes are counted, never timed.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.config import Settings, override
from gossamer.web.fetch.fetch import Fetched, Fetcher
from gossamer.web.fetch.meter import unread_of
from gossamer.web.limit.bucket import SHARE, RateLimiter, Share, locked, window_of
from gossamer.web.limit.limited_fetch import BandwidthLimit, limited_fetcher
from gossamer.web.limit.throttle import read_of
from gossamer.web.message import decode_assignment, encode_assignment
from gossamer.webs.demo.certificates import Certificate, make_certificate
from tests.support.pooling import Start, ask, collect, server, start  # noqa: F401
from tests.support.server import Server
from tests.support.timing import WITHIN

GRANTS = st.sampled_from([1_000, 20_000, 200_000, 2_000_000, 10_000_000])


@contextmanager
def limited(workers: int) -> Iterator[tuple[RateLimiter, list[Share]]]:
    limiter = RateLimiter(workers)
    shares = [Share(os.dup(limiter.fileno()), number) for number in range(workers)]
    yield limiter, shares
    limiter.close()
    for share in shares:
        share.close()


@given(
    GRANTS,
    st.integers(1, 4),
    st.lists(st.tuples(st.floats(0, 0.2), st.integers(0, 3), st.floats(0, 3)), min_size=1, max_size=200),
)
@settings(max_examples=50, deadline=None)
def test_what_is_taken_never_exceeds_the_rate_by_more_than_the_burst(
    grant: int, workers: int, steps: list[tuple[float, int, float]]
) -> None:
    """Including what workers have taken and not read: 1 % above the rate in any ten seconds, and 5 % in any second."""
    with limited(workers) as (limiter, shares):
        limiter.grant(grant)
        now, log = 100.0, [(100.0, 0)]
        for seconds, who, eagerness in steps:
            now += seconds
            share = shares[who % workers]
            share.take(now)
            if share.balance >= 1:
                share.spend(int(min(share.balance, eagerness * grant)))
            log.append((now, limiter.read()))
        times, read = map(np.array, zip(*log, strict=True))
        for i in range(len(times)):
            passed, most = times[i:] - times[i], read[i:] - read[i]
            assert (most <= grant * passed + 0.045 * grant + 4 * (workers + 1)).all()
            assert (most[passed <= 10] <= 1.01 * 10 * grant).all()
            assert (most[passed <= 1] <= max(1.05 * grant, grant + 65_536)).all()


def test_nothing_is_there_at_the_start() -> None:
    with limited(1) as (limiter, (share,)):
        limiter.grant(1_000_000)
        assert share.take(5.0) > 0
        assert share.balance == 0
        assert share.take(5.005) > 0, "less than a quantum is not taken"
        assert share.take(5.011) == 0.0
        assert 0 < share.balance <= SHARE * 11_000


def test_debts_are_paid_before_anything_is_read() -> None:
    with limited(1) as (limiter, (share,)):
        limiter.grant(100_000)
        share.take(1.0)
        share.spend(50_000)
        now, dry = 1.0, 0
        while share.take(now) > 0:
            now += 0.01
            dry += 1
        assert now - 1.0 == pytest.approx(0.5, abs=0.03)


def test_before_the_first_grant_nothing_may_be_read() -> None:
    with limited(1) as (limiter, (share,)):
        assert share.take(1.0) > 0
        assert share.take(100.0) > 0
        assert share.balance == 0
        limiter.grant(1_000_000)
        assert share.take(101.0) > 0, "nothing has accumulated meanwhile"


def test_a_grant_of_0_is_no_limit() -> None:
    with limited(1) as (limiter, (share,)):
        limiter.grant(0)
        assert share.take(1.0) == 0.0
        assert share.balance > 1_000_000
        limiter.grant(10_000)
        assert share.take(2.0) == 0.0
        assert share.balance <= 100, "with a limit again, the rest of the unlimited take is gone"
        share.spend(100)
        assert share.take(2.0) > 0, "the bucket is empty"


def test_a_limit_that_ends_while_a_worker_takes_its_share_does_no_harm() -> None:
    """The rate is 0 already, and the grant not yet: the desk may be stopped in between."""
    with limited(1) as (limiter, (share,)):
        limiter.grant(10_000)
        assert share.take(1.0) > 0
        with locked(limiter.fileno()):
            limiter.grant(0)
            share._whole[3] = 10_000  # as it was
        seen, share._whole = share._whole, _Late(share._whole)  # type: ignore[assignment]
        assert share.take(1.001) > 0
        share._whole = seen
        assert share.take(1.002) == 0.0


class _Late:
    """A page of memory whose grant is first read as it was, and then as it is."""

    def __init__(self, words: memoryview) -> None:
        self._words, self._first = words, True

    def __getitem__(self, at: int) -> int:
        word: int = self._words[at]
        if at == 3 and not self._first:
            self._words[3] = word = 0
        self._first = False
        return word


def test_what_workers_read_is_added_up_those_that_died_included() -> None:
    with limited(2) as (limiter, shares):
        shares[0].spend(10)
        shares[1].spend(300)
        successor = Share(os.dup(limiter.fileno()), 1)
        successor.spend(7)
        assert limiter.read() == 317
        limiter.close()
        assert limiter.read() == 317


def test_windows_follow_the_grant() -> None:
    assert [window_of(grant) for grant in (1_000, 2_000_000, 10**9)] == [2_048, 20_000, 1 << 20]


def test_a_cap_crosses_to_the_worker() -> None:
    assignment = Assignment(1, Ask.PAGE, 2, 3, 4, b"http://a.test/", "127.0.0.1", 80, False, 12_345)
    assert decode_assignment(encode_assignment(assignment)[5:]) == assignment


# --- requests -----------------------------------------------------------------------------------------------


@contextmanager
def bytes_server(size: int, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a server that answers every request with `size` bytes, as fast as it can."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)

        def answer(plain: socket.socket) -> None:
            with suppress(OSError), tls.wrap_socket(plain, server_side=True) if tls else plain as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n")
                connection.sendall(b"Content-Length: %d\r\n\r\n" % size + b"x" * size)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def fetched_by(
    share: Share, assignments: list[Assignment], *changes: str, until: float = WITHIN
) -> tuple[list[Fetched], list[tuple[float, int]]]:
    """Fetches all assignments; returns what became of them, and what was read after every action."""
    epoll = select.epoll()
    harvester = override(Settings(), ["harvester.allow_private=true", *changes]).harvester
    fetcher, done, log = limited_fetcher(harvester, epoll, share), list[Fetched](), list[tuple[float, int]]()
    for assignment in assignments:
        fetcher.start(assignment)
    end = time.monotonic() + until
    while len(done) < len(assignments) and time.monotonic() < end:
        events = epoll.poll(max(0.0, fetcher.timeout()))
        done += fetcher.act(events)
        log.append((time.monotonic(), share.read))
    return done, log


def limit_of(fetcher: Fetcher) -> BandwidthLimit:
    assert isinstance(fetcher._limit, BandwidthLimit)
    return fetcher._limit


def to(port: int, number: int, cap: int = 0, scheme: bytes = b"http") -> Assignment:
    url = b"%s://a%d.test/" % (scheme, number)
    return Assignment(number, Ask.PAGE, number, 5, number, url, "127.0.0.1", port, cap=cap)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    made = make_certificate([f"a{number}.test" for number in range(1, 6)], tmp_path_factory.mktemp("certificate"))
    return made or pytest.skip("needs openssl to make a certificate")


@pytest.fixture
def tls(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.own, certificate.key)
    return context


def test_workers_read_no_more_than_was_granted_and_count_every_byte() -> None:
    with bytes_server(60_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(200_000)
        done, log = fetched_by(share, [to(port, number) for number in range(1, 6)])
        assert [page.failure for page in done] == [None] * 5
        assert all(len(page.body) == 60_000 and page.held for page in done)
        assert limiter.read() == sum(page.traffic.received for page in done)
        times, read = map(np.array, zip(*log, strict=True))
        for i in range(0, len(times), 7):
            assert (read[i:] - read[i] <= 200_000 * (times[i:] - times[i]) + 4_000).all()


def test_workers_read_no_more_than_was_granted_of_tls_either(certificate: Certificate, tls: ssl.SSLContext) -> None:
    """Although TLS records have 16 KB, and libcurl cannot use a part of one."""
    with bytes_server(40_000, tls) as port, limited(1) as (limiter, (share,)):
        limiter.grant(100_000)
        pages = [to(port, number, scheme=b"https") for number in range(1, 4)]
        done, log = fetched_by(share, pages, f'harvester.trusted="{certificate.trusted}"')
        assert [(page.failure, len(page.body), page.held) for page in done] == [(None, 40_000, True)] * 3
        assert 120_000 < limiter.read() < 140_000, "records and handshakes count"
        times, read = map(np.array, zip(*log, strict=True))
        for i in range(0, len(times), 7):
            assert (read[i:] - read[i] <= 100_000 * (times[i:] - times[i]) + 2_000).all()


def test_a_server_is_not_blamed_for_a_handshake_that_we_read_slowly(
    certificate: Certificate, tls: ssl.SSLContext
) -> None:
    """The server sends some 800 bytes of the handshake, at 500 bytes per second."""
    with bytes_server(100, tls) as port, limited(1) as (limiter, (share,)):
        limiter.grant(500)
        limits = (f'harvester.trusted="{certificate.trusted}"', "harvester.connect_timeout=500ms")
        done, _ = fetched_by(share, [to(port, 1, scheme=b"https")], *limits)
        assert (done[0].failure, len(done[0].body)) == (None, 100)
        assert done[0].traffic.connect > 1


def test_a_handshake_that_a_server_does_not_answer_is_still_its_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, limited(1) as (limiter, (share,)):
        limiter.grant(1_000)
        stuck = to(silent.getsockname()[1], 1, scheme=b"https")
        done, _ = fetched_by(share, [stuck], "harvester.connect_timeout=500ms")
        assert (done[0].failure, done[0].detail.partition(":")[0]) == (Outcome.TLS_FAILED, "stuck")


@pytest.mark.parametrize("most", [1, 1_000, 5_000, 20_000])
def test_a_page_that_was_held_back_is_cut_at_the_right_byte(most: int) -> None:
    with bytes_server(60_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(50_000)
        done, _ = fetched_by(share, [to(port, number) for number in range(1, 4)], f"harvester.max_download={most}B")
        assert [page.failure for page in done] == [None] * 3
        assert all(page.cut and len(page.body) == most for page in done)


def test_without_a_limit_nothing_is_held_back() -> None:
    with bytes_server(300_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(0)
        done, _ = fetched_by(share, [to(port, number) for number in range(1, 6)])
        assert all(page.failure is None and not page.held for page in done)
        assert limiter.read() == sum(page.traffic.received for page in done)


def test_a_server_is_not_blamed_for_what_waits_in_our_buffers() -> None:
    """At this rate its page takes three seconds, although the limits ask for 20 KB in one second, and all in two."""
    with bytes_server(30_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(10_000)
        limits = ("harvester.slow_time=1s", "harvester.lowest_speed=20KB", "harvester.whole_timeout=2s")
        done, _ = fetched_by(share, [to(port, 1)], *limits)
        assert done[0].failure is None
        assert done[0].end - done[0].start > 2


def test_a_transfer_that_is_broken_off_while_its_data_waits_leaves_nothing() -> None:
    epoll = select.epoll()
    harvester = override(Settings(), ["harvester.allow_private=true"]).harvester
    with bytes_server(300_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(50_000)
        fetcher = limited_fetcher(harvester, epoll, share)
        for number in range(1, 12):
            fetcher.start(to(port, number))
        while limiter.read() < 5_000:
            fetcher.act(epoll.poll(max(0.0, fetcher.timeout())))
        limit = limit_of(fetcher)
        assert all(throttled.waits for throttled in limit.sockets.values())
        for transfer in list(fetcher._open.values()):
            fetcher._end(transfer, Outcome.TIMED_OUT, "as when its time is over")
        done = fetcher.act([])
        assert len(done) == 11
        while limit.ends:
            fetcher.act(epoll.poll(5.0))
        assert limit.sockets == {}


def test_a_server_that_sends_nothing_is_still_blamed() -> None:
    with socket.socket() as silent, limited(1) as (limiter, (share,)):
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        limiter.grant(10_000)
        done, _ = fetched_by(share, [to(silent.getsockname()[1], 1)], "harvester.first_byte_timeout=500ms")
        assert done[0].failure is Outcome.TIMED_OUT
        assert not done[0].held


@pytest.mark.parametrize("granted", [2_000, 200_000])
def test_what_a_server_sends_beyond_its_answer_is_no_answer_to_the_next_request(granted: int) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>it</p>"
    epoll = select.epoll()
    harvester = override(Settings(), ["harvester.allow_private=true"]).harvester
    with socket.create_server(("127.0.0.1", 0)) as listening, limited(1) as (limiter, (share,)):
        limiter.grant(granted)

        def serve() -> None:
            with suppress(OSError), ExitStack() as connections:
                while True:
                    connection, _ = listening.accept()
                    connections.enter_context(connection)
                    connection.recv(4096)
                    connection.sendall(whole + b"<p>and more</p>" * 100)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        fetcher, outcomes = limited_fetcher(harvester, epoll, share), set[Outcome | None]()
        for number in range(1, 9):
            fetcher.start(to(listening.getsockname()[1], 1)._replace(number=number))
            done = list[Fetched]()
            while not done:
                done += fetcher.act(epoll.poll(max(0.0, fetcher.timeout())))
            outcomes.add(done[0].failure)
        listening.shutdown(socket.SHUT_RDWR)
        serving.join(WITHIN)
    assert None in outcomes
    assert outcomes <= {None, Outcome.RETURNED}, "its next turn uses another connection"


def test_closed_connections_leave_nothing() -> None:
    epoll = select.epoll()
    harvester = override(Settings(), ["harvester.allow_private=true"]).harvester
    with bytes_server(500) as port, limited(1) as (limiter, (share,)):
        limiter.grant(100_000)
        fetcher = limited_fetcher(harvester, epoll, share)
        for _ in range(3):  # from the second round on, handles are reused
            for number in range(1, 20):
                fetcher.start(to(port, number))
            done = list[Fetched]()
            while len(done) < 19:
                done += fetcher.act(epoll.poll(max(0.0, fetcher.timeout())))
            assert [page.failure for page in done] == [None] * 19
        left = set(os.listdir("/proc/self/fd"))
        limit = limit_of(fetcher)
        while limit.ends:
            fetcher.act(epoll.poll(5.0))
        assert len(set(os.listdir("/proc/self/fd"))) <= len(left)
        assert limit.sockets == {}


def test_a_capped_transfer_is_not_idle_while_libcurl_does_not_read() -> None:
    """Its server sends the rest and closes while libcurl waits."""
    with socket.create_server(("127.0.0.1", 0)) as listening, limited(1) as (limiter, (share,)):
        limiter.grant(0)

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 46000\r\n\r\n")
                connection.sendall(b"x" * 26_000)
                time.sleep(0.5)
                connection.sendall(b"x" * 20_000)

        for _ in range(3):
            server = threading.Thread(target=answer)
            server.start()
            done, _ = fetched_by(share, [to(listening.getsockname()[1], 1, cap=20_000)])
            server.join()
            assert (done[0].failure, len(done[0].body)) == (None, 46_000)


@pytest.mark.parametrize(("granted", "held"), [(2_000_000, False), (50_000, True)])
def test_a_slow_server_was_not_held_back_if_the_grant_is_not_used_up(granted: int, held: bool) -> None:
    """Ten servers send 100 KB/s together."""
    with socket.create_server(("127.0.0.1", 0), backlog=20) as listening, limited(1) as (limiter, (share,)):
        limiter.grant(granted)

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10000\r\n\r\n")
                for _ in range(20):
                    connection.sendall(b"x" * 500)
                    time.sleep(0.05)

        def serve() -> None:
            for _ in range(10):
                threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        done, _ = fetched_by(share, [to(listening.getsockname()[1], number) for number in range(1, 11)])
        assert [page.failure for page in done] == [None] * 10
        counted = sum(page.held for page in done)
        assert counted >= 8 if held else counted == 0


def test_a_cap_holds_back_one_transfer_and_no_other() -> None:
    with bytes_server(40_000) as port, limited(1) as (limiter, (share,)):
        limiter.grant(0)
        done, _ = fetched_by(share, [to(port, 1, cap=20_000), to(port, 2)])
        assert [page.assignment.number for page in done] == [2, 1]
        assert done[1].held
        assert not done[0].held
        assert done[1].end - done[1].start > 0.9


def test_bytes_read_are_bytes_that_left_the_socket() -> None:
    ours, theirs = socket.socket(), socket.socket()
    with ours, theirs:
        theirs.bind(("127.0.0.1", 0))
        theirs.listen()
        ours.connect(theirs.getsockname())
        there, _ = theirs.accept()
        with there:
            there.sendall(b"x" * 5_000)
            assert ours.recv(1_000, socket.MSG_WAITALL)
            assert (read_of(ours), unread_of(ours)) == (1_000, 4_000)


def test_a_pool_reads_within_the_grant_and_continues_when_a_worker_dies(start: Start, server: Server) -> None:  # noqa: F811
    pool = start(workers=2, limited=True)
    pool.grant(1_000_000)
    pool.assign([ask(number, b"http://site.test/ok", server) for number in range(1, 30)])
    found = collect(pool, 29)
    assert all(visit["outcome"] == Outcome.OK for visit, _ in found.values())
    before = pool.received()
    assert before == sum(int(visit["received"]) for visit, _ in found.values())
    os.kill(pool.pids()[0], 9)
    pool.results(1.0)
    pool.assign([ask(number, b"http://site.test/ok", server) for number in range(50, 60)])
    found = collect(pool, 10)
    assert pool.received() == before + sum(int(visit["received"]) for visit, _ in found.values())
