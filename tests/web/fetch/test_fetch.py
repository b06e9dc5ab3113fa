"""Requests by libcurl, to a server with every kind of fault."""

from __future__ import annotations

import os
import select
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, Assignment, Outcome
from gossamer.base.units import Duration, Size
from gossamer.collection.versions import HEAD
from gossamer.config.settings import HarvesterSettings
from gossamer.web.addresses import Forbidden, pack
from gossamer.web.fetch.fetch import MAX_ROBOTS, Fetched, Fetcher
from gossamer.web.fetch.request import Trusted, request_fields
from gossamer.web.fetch.response import outcome_of, read_head, retry_after, tls_version
from gossamer.web.limit.bucket import RateLimiter, Share
from gossamer.web.limit.limited_fetch import limited_fetcher
from tests.support.server import ANSWERS, PAGE, Server, free_port
from tests.support.timing import WITHIN, wait_for

SETTINGS = HarvesterSettings(contact="crawl@example.org", allow_private=True)
HASTY = replace(SETTINGS, first_byte_timeout=Duration(1.5), slow_time=Duration(1))


class Loop:
    """A worker's loop around a `Fetcher`, and nothing else."""

    granted: int | None = None
    """Bytes per second that the rate limiter grants, 0 for any number; None: there is no rate limiter."""

    def __init__(self, settings: HarvesterSettings = SETTINGS) -> None:
        self.epoll = select.epoll()
        self.number = 0
        if self.granted is None:
            self.fetcher = Fetcher(settings, self.epoll)
        else:
            self.limiter = RateLimiter(1)
            self.limiter.grant(self.granted)
            self.fetcher = limited_fetcher(settings, self.epoll, Share(os.dup(self.limiter.fileno()), 0))

    def start(self, url: bytes, ask: Ask = Ask.PAGE, address: str = "127.0.0.1", port: int = 0) -> None:
        self.number += 1
        port = port or int(url.rpartition(b":")[2].partition(b"/")[0])
        self.fetcher.start(Assignment(self.number, ask, 1, 1, 1, url, address, port))

    def run(self, seconds: float = WITHIN) -> list[Fetched]:
        done: list[Fetched] = []
        end = time.monotonic() + seconds
        while (len(self.fetcher) or self.fetcher.timeout() == 0.0) and time.monotonic() < end:
            done += self.fetcher.act(self.epoll.poll(min(self.fetcher.timeout(), 0.5)))
        assert not len(self.fetcher)
        return done

    def get(self, url: bytes, ask: Ask = Ask.PAGE, address: str = "127.0.0.1", port: int = 0) -> Fetched:
        self.start(url, ask, address, port)
        (fetched,) = self.run()
        return fetched


@pytest.fixture(autouse=True, params=[None, 0, 2_000_000], ids=["", "counted", "limited"])
def granted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has the same result without a rate limiter, with one, and with a limit."""
    monkeypatch.setattr(Loop, "granted", request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def test_a_page_is_fetched_with_its_times_and_sizes(server: Server) -> None:
    before = time.monotonic()
    fetched = Loop().get(server.url("/ok"))
    assert (fetched.failure, fetched.status, fetched.body, fetched.cut) == (None, 200, PAGE, False)
    assert before <= fetched.start <= fetched.end <= time.monotonic()
    assert 0 < fetched.traffic.connect <= fetched.traffic.first <= fetched.end - fetched.start
    assert fetched.traffic.received == len(ANSWERS["/ok"])
    assert fetched.headers["content-type"] == "text/html"


def test_the_recorded_request_is_the_one_that_was_sent(server: Server) -> None:
    fetched = Loop().get(server.url("/ok?a=b&c=%20d"))
    assert fetched.request == server.requests[-1]
    assert fetched.traffic.sent == len(fetched.request)
    lines = fetched.request.decode().split("\r\n")
    assert lines[0] == "GET /ok?a=b&c=%20d HTTP/1.1"
    assert f"User-Agent: Gossamer/{__version__} (+crawl@example.org)" in lines
    assert "From: crawl@example.org" in lines
    assert "Accept-Encoding: gzip, deflate, br, zstd" in lines
    assert f"Host: site.test:{server.port}" in lines


@pytest.mark.parametrize("ranged", [False, True])
def test_a_condition_is_sent_as_it_is_recorded_and_only_with_its_request(server: Server, ranged: bool) -> None:
    loop, url = Loop(replace(SETTINGS, range=ranged)), server.url("/ok")
    etag = b'W/"caf\xe9-1"'
    version = bytes(HEAD.itemsize - 2) + bytes([len(etag), 0]) + etag + b"Wed, 18 Nov 2026 10:00:00 GMT"
    for conditions in (3, 0, 1):
        loop.number += 1
        place = (loop.number, Ask.PAGE, 1, 1, 1, url, "127.0.0.1", server.port)
        loop.fetcher.start(Assignment(*place, version=version, conditions=conditions))
        (fetched,) = loop.run()
        assert fetched.request == server.requests[-1]
        assert fetched.traffic.sent == len(fetched.request)
        assert (b"\r\nIf-None-Match: " + etag + b"\r\n" in fetched.request) == bool(conditions)
        assert (b"\r\nIf-Modified-Since: Wed, 18 Nov 2026 10:00:00 GMT\r\n" in fetched.request) == (conditions == 3)
        assert fetched.request.endswith(b"\r\n\r\n")
        assert (b"\r\nRange:" in fetched.request) == ranged


@pytest.mark.parametrize(
    "path",
    [
        "/%7eu/%c3%a9",
        "/a%2fb?q=%2f%7e|x^{y}`\"'",
        "/?",
        "/x?",
        "//a//./b/../c;p=1",
        "/..%2e/%2E",
        "/%",
        "/%zz%4",
        "/a+b,c~d!$&'()*:@",
        "/?http://other.test/%7e",
        "/" + "x" * 2_000,
    ],
)
def test_what_is_recorded_as_request_was_sent_byte_by_byte(server: Server, path: str) -> None:
    """libcurl would write escapes in capitals, if it might."""
    for ask in (Ask.PAGE, Ask.ROBOTS):
        fetched = Loop().get(server.url(path), ask, port=server.port)
        assert fetched.request == server.requests[-1]
        assert fetched.request.startswith(f"GET {path} HTTP/1.1\r\n".encode())
        assert fetched.traffic.sent == len(fetched.request)


def test_every_request_has_token_version_page_and_mail_address(server: Server) -> None:
    settings = replace(SETTINGS, agent="Example_Bot", about="https://example.org/crawler?x=[1]")
    Loop(settings).get(server.url("/ok"))
    assert (
        server.requests[-1]
        == (
            f"GET /ok HTTP/1.1\r\nHost: site.test:{server.port}\r\n"
            f"User-Agent: Example_Bot/{__version__} (+https://example.org/crawler?x=[1])\r\n"
            "From: crawl@example.org\r\n"
            "Accept: text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1\r\n"
            "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
        ).encode()
    )


@pytest.mark.parametrize("ending", ["\r\nX-Evil: 1", "\nX-Evil: 1", "\x0bX-Evil: 1", "\u2028X-Evil: 1"])
def test_nothing_in_the_settings_ends_a_line_of_the_request(server: Server, ending: str) -> None:
    """The settings refuse such values when they are read (test_config); here they are folded into one line as well."""
    for fields in (
        request_fields(replace(SETTINGS, contact="a@example.org" + ending)),
        request_fields(replace(SETTINGS, about="https://example.org/" + ending)),
    ):
        assert all(len(field.splitlines()) == 1 for field in fields)
        assert not any(field.startswith("X-Evil") for field in fields)


def test_a_contact_that_is_a_web_page_is_no_mail_address(server: Server) -> None:
    settings = HarvesterSettings(contact="https://example.org/@us", allow_private=True)
    fetched = Loop(settings).get(server.url("/ok"))
    assert b"From:" not in fetched.request
    assert b"(+https://example.org/@us)" in fetched.request


@pytest.mark.parametrize(
    ("about", "contact", "shown"),
    [
        ("https://example.org/bot", "https://example.org/us", "(+https://example.org/bot; https://example.org/us)"),
        ("https://example.org/bot", "Web team, +1 555 0100", "(+https://example.org/bot; Web team, +1 555 0100)"),
        ("https://example.org/bot", "https://example.org/bot", "(+https://example.org/bot)"),
        ("https://example.org/bot", "", "(+https://example.org/bot)"),
        ("", "Web team, +1 555 0100", "(+Web team, +1 555 0100)"),
    ],
)
def test_a_contact_that_is_no_mail_address_follows_the_page(
    server: Server, about: str, contact: str, shown: str
) -> None:
    Loop(replace(SETTINGS, about=about, contact=contact)).get(server.url("/ok"))
    assert (
        server.requests[-1]
        == (
            f"GET /ok HTTP/1.1\r\nHost: site.test:{server.port}\r\nUser-Agent: Gossamer/{__version__} {shown}\r\n"
            "Accept: text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1\r\n"
            "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
        ).encode()
    )


def test_bodies_come_dechunked_and_undecoded(server: Server) -> None:
    loop = Loop()
    assert loop.get(server.url("/chunked")).body == PAGE
    for path in ("/gzip", "/br", "/zstd", "/lie"):
        fetched = loop.get(server.url(path))
        assert fetched.failure is None
        assert fetched.body == ANSWERS[path].partition(b"\r\n\r\n")[2]


def test_connections_are_used_again(server: Server) -> None:
    loop = Loop()
    before = server.connections
    first, *more = [loop.get(server.url("/ok")) for _ in range(5)]
    assert server.connections == before + 1
    assert not first.traffic.reused
    assert all(page.traffic.reused for page in more)


def test_a_changed_address_forces_a_new_connection(server: Server) -> None:
    loop = Loop()
    loop.get(server.url("/ok"))
    fetched = loop.get(server.url("/ok"), address="127.0.0.9")
    assert fetched.failure is Outcome.CONNECT_FAILED


def test_a_request_is_sent_once(server: Server) -> None:
    loop = Loop()
    loop.get(server.url("/ok"))
    before = len(server.requests)
    fetched = loop.get(server.url("/nothing"))
    assert len(server.requests) == before + 1
    assert (fetched.failure, fetched.traffic.reused) == (Outcome.RETURNED, True)
    assert loop.get(server.url("/nothing")).failure is Outcome.BROKEN_OFF
    assert loop.get(server.url("/ok")).failure is None


def test_redirects_are_not_followed(server: Server) -> None:
    before = len(server.requests)
    fetched = Loop().get(server.url("/redirect"))
    assert (fetched.status, fetched.headers["location"]) == (302, "/ok?from=redirect#part")
    assert len(server.requests) == before + 1


def test_of_a_body_no_more_than_its_limit_is_kept(server: Server) -> None:
    loop = Loop()
    for path in ("/big", "/endless"):
        fetched = loop.get(server.url(path))
        assert (fetched.failure, fetched.cut, len(fetched.body)) == (None, True, 400_000)
        assert fetched.traffic.received < 3_000_000
    fetched = loop.get(server.url("/long-robots.txt"), Ask.ROBOTS)
    assert (fetched.cut, len(fetched.body)) == (True, MAX_ROBOTS)


def test_a_body_of_exactly_the_limit_is_not_cut(server: Server) -> None:
    settings = HarvesterSettings(allow_private=True, max_download=Size(len(PAGE)))
    fetched = Loop(settings).get(server.url("/ok"))
    assert (fetched.cut, fetched.body) == (False, PAGE)


def test_nothing_of_a_type_that_is_not_gathered_is_kept(server: Server) -> None:
    loop = Loop()
    fetched = loop.get(server.url("/other-type"))
    assert (fetched.failure, fetched.status, fetched.body) == (Outcome.OTHER_TYPE, 200, b"")
    assert loop.get(server.url("/no-type")).body == PAGE
    assert loop.get(server.url("/other-type"), Ask.ROBOTS).failure is None


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/silent", Outcome.TIMED_OUT),
        ("/slow", Outcome.TOO_SLOW),
        ("/broken", Outcome.BROKEN_OFF),
        ("/broken-chunks", Outcome.BROKEN_OFF),
        ("/broken-head", Outcome.BROKEN_OFF),
        ("/nothing", Outcome.BROKEN_OFF),
        ("/not-http", Outcome.PROTOCOL_ERROR),
        ("/long-head", Outcome.PROTOCOL_ERROR),
        ("/endless-head", Outcome.PROTOCOL_ERROR),
    ],
)
def test_every_fault_has_its_outcome(server: Server, path: str, outcome: Outcome) -> None:
    settings = HASTY if path in ("/silent", "/slow") else SETTINGS
    fetched = Loop(settings).get(server.url(path))
    assert fetched.failure is outcome
    assert fetched.detail


@pytest.mark.parametrize("path", ["/until-close", "/lf", "/folded", "/accents", "/early-hints"])
def test_odd_answers_are_read(server: Server, path: str) -> None:
    fetched = Loop().get(server.url(path))
    assert (fetched.failure, fetched.status, fetched.body) == (None, 200, PAGE)
    assert fetched.head.line.startswith(b"HTTP/1.1 200")


def test_folded_and_accented_fields_are_read_whole(server: Server) -> None:
    loop = Loop()
    assert loop.get(server.url("/folded")).headers["x-long"] == "one two three"
    assert loop.get(server.url("/accents")).headers["x-name"] == "Jos\xe9 \xa9"


def test_the_whole_time_is_bounded(server: Server) -> None:
    settings = HarvesterSettings(allow_private=True, whole_timeout=Duration(0.5))
    fetched = Loop(settings).get(server.url("/slow"))
    assert fetched.failure is Outcome.TIMED_OUT
    assert fetched.end - fetched.start < WITHIN


def test_a_closed_port_is_a_failed_connection() -> None:
    assert Loop().get(b"http://site.test:1/ok").failure is Outcome.CONNECT_FAILED


def test_a_socket_opens_only_to_the_pinned_address_and_to_no_forbidden_one(server: Server) -> None:
    public = HarvesterSettings()
    before = server.connections
    fetched = Loop(public).get(server.url("/ok"))
    assert fetched.failure is Outcome.FORBIDDEN_ADDRESS
    loop = Loop()
    assert loop.get(server.url("/ok", "127.0.0.1"), address="127.0.0.2").failure is Outcome.CONNECT_FAILED
    assert loop.get(server.url("/ok", "[::1]"), address="127.0.0.1").failure is None
    assert server.connections == before + 1


def test_the_socket_hook_refuses_any_other_address(server: Server) -> None:
    import pycurl

    loop = Loop()
    loop.start(server.url("/ok"))
    (transfer,) = loop.fetcher._open.values()
    transfer.pinned = pack("127.0.0.77")
    (fetched,) = loop.run()
    assert fetched.failure is Outcome.FORBIDDEN_ADDRESS
    transfer.forbidden = Forbidden(allow_private=False)
    transfer.pinned = pack("10.0.0.1")
    assert transfer._open(0, (2, 1, 6, ("10.0.0.1", transfer.assignment.port))) == pycurl.SOCKET_BAD


def test_addresses_that_the_settings_forbid_are_not_visited_even_if_private_ones_are_allowed(server: Server) -> None:
    before = server.connections
    settings = HarvesterSettings(allow_private=True, forbidden=("127.0.0.0/30",))
    assert Loop(settings).get(server.url("/ok")).failure is Outcome.FORBIDDEN_ADDRESS
    loop = Loop()
    loop.start(server.url("/ok"))
    (transfer,) = loop.fetcher._open.values()
    transfer.forbidden = Forbidden(True, ("127.0.0.1",))
    (fetched,) = loop.run()
    assert fetched.failure is Outcome.FORBIDDEN_ADDRESS
    assert server.connections == before


def test_the_port_of_the_assignment_wins_over_the_url(server: Server) -> None:
    fetched = Loop().get(b"http://site.test/ok", port=server.port)
    assert fetched.body == PAGE
    assert b"Host: site.test\r\n" in fetched.request


def test_proxies_of_the_environment_are_ignored(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    assert Loop().get(server.url("/ok")).failure is None


def test_every_assignment_ends_in_exactly_one_fetched(server: Server) -> None:
    loop = Loop()
    paths = ["/ok", "/gzip", "/nothing", "/broken", "/not-found", "/redirect", "/big", "/other-type"] * 15
    for path in paths:
        loop.start(server.url(path))
    assert sorted(f.assignment.number for f in loop.run()) == list(range(1, len(paths) + 1))
    assert [f.body for f in [loop.get(server.url("/ok")) for _ in range(3)]] == [PAGE] * 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if not shutil.which("openssl"):
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        str(key),
        "-out",
        str(cert),
        "-days",
        "2",
        "-subj",
        "/CN=site.test",
        "-addext",
        "subjectAltName=DNS:site.test",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


def test_certificates_are_verified_for_the_name_in_the_url(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Server(context) as server:
        assert Loop().get(server.url("/ok")).failure is Outcome.TLS_FAILED
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        fetched = Loop().get(server.url("/ok"))
        assert (fetched.failure, fetched.body) == (None, PAGE)
        assert Loop().get(server.url("/ok", "other.test")).failure is Outcome.TLS_FAILED


def test_certificates_of_the_settings_are_trusted_in_addition_to_the_systems(
    certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    own = HarvesterSettings(allow_private=True, trusted=str(cert))
    with Server(context) as server:
        loop = Loop(own)
        assert [loop.get(server.url("/ok")).failure for _ in range(3)] == [None] * 3
        assert Loop(own).get(server.url("/ok", "other.test")).failure is Outcome.TLS_FAILED
        other = tmp_path / "other.pem"
        other.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        joined = Trusted(str(other))
        assert Path(joined.path).read_bytes().count(b"BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize("text", [None, b"", b"no certificate"])
def test_an_error_names_the_file_without_certificates(tmp_path: Path, text: bytes | None) -> None:
    path = tmp_path / "own.pem"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(UsageError, match=r"own\.pem.*\n.*harvester\.trusted"):
        Trusted(str(path))


@pytest.fixture(scope="module")
def nginx(certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """An nginx that speaks HTTP/2: its port, and its log of protocols and paths."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if not program:
        pytest.skip("needs nginx")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    key, cert = certificate
    (folder / "index.html").write_bytes(PAGE)
    (folder / "nginx.conf").write_text(
        f"""{"user root;" if os.getuid() == 0 else ""} daemon off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    scgi_temp_path {folder}/d; uwsgi_temp_path {folder}/e;
    log_format short '$server_protocol $connection $uri'; access_log {folder}/log short;
    types {{ text/html html; }}
    server {{
        listen 127.0.0.1:{port} ssl http2; server_name site.test; root {folder};
        ssl_certificate {cert}; ssl_certificate_key {key};
        location = /misdirected {{ if ($server_protocol = HTTP/2.0) {{ return 421; }} try_files /index.html =404; }}
        location = /always {{ return 421; }}
    }}
}}"""
    )
    server = subprocess.Popen([program, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: server.poll() is not None or listens(port), "nginx")
        assert server.poll() is None, (folder / "errors").read_text()
        yield port, folder / "log"
    finally:
        server.terminate()
        server.wait(WITHIN)


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return not asking.connect_ex(("127.0.0.1", port))


def _protocols(log: Path, since: int, count: int) -> list[list[str]]:
    """The log from line `since` on; nginx writes it when the answer is sent, which may be after we have it."""
    wait_for(lambda: len(log.read_text().splitlines()) >= since + count)
    return [line.split() for line in log.read_text().splitlines()[since:]]


def test_http_2_is_spoken_on_request_only(nginx: tuple[int, Path], certificate: tuple[Path, Path]) -> None:
    port, log = nginx
    usual = replace(SETTINGS, trusted=str(certificate[1]))
    url, seen = f"https://site.test:{port}/index.html".encode(), []
    for settings in (usual, replace(usual, http2=True)):
        since = len(log.read_text().splitlines())
        loop = Loop(settings)
        fetched = [loop.get(url) for _ in range(3)]
        assert [(f.failure, f.status, f.body) for f in fetched] == [(None, 200, PAGE)] * 3
        assert {f.head.line for f in fetched} <= {b"HTTP/1.1 200 OK", b"HTTP/1.1 200"}
        assert fetched[0].request.startswith(b"GET /index.html HTTP/1.1\r\n")
        assert fetched[0].headers["content-type"] == "text/html"
        lines = _protocols(log, since, 3)
        seen.append({protocol for protocol, _, _ in lines})
        assert len({connection for _, connection, _ in lines}) == 1, "one after the other, over one connection"
    assert seen == [{"HTTP/1.1"}, {"HTTP/2.0"}]


def test_the_version_of_tls_is_known_where_robots_txt_opens_the_connection(
    nginx: tuple[int, Path], certificate: tuple[Path, Path]
) -> None:
    port, _ = nginx
    url, settings = f"https://site.test:{port}/index.html".encode(), replace(SETTINGS, trusted=str(certificate[1]))
    loop = Loop(settings)
    first, *others = [loop.get(url, ask).tls for ask in (Ask.ROBOTS, Ask.ROBOTS, Ask.PAGE)]
    assert (first in ("1.2", "1.3"), others) == (True, ["", ""])
    assert Loop(settings).get(url).tls == ""


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (b"SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384 / x25519 / RSASSA-PSS\n", "1.3"),
        (b"SSL connection using TLSv1 / x", "1.0"),
        (b"SSL connection using TLSv1.2", "1.2"),
        (b"Server certificate: SSL connection using TLSv1.2", ""),
        (b"SSL connection using what", ""),
    ],
)
def test_the_debug_log_names_the_version_of_tls(line: bytes, version: str) -> None:
    assert tls_version(line) == version


def test_two_requests_never_share_a_connection_at_once(nginx: tuple[int, Path], certificate: tuple[Path, Path]) -> None:
    port, log = nginx
    loop = Loop(replace(SETTINGS, http2=True, trusted=str(certificate[1])))
    since = len(log.read_text().splitlines())
    for _ in range(4):
        loop.start(f"https://site.test:{port}/index.html".encode())
    assert [f.failure for f in loop.run()] == [None] * 4
    assert len({connection for _, connection, _ in _protocols(log, since, 4)}) == 4


def test_a_server_that_does_not_want_http_2_is_asked_by_http_1_1_next_time(
    nginx: tuple[int, Path], certificate: tuple[Path, Path]
) -> None:
    port, log = nginx
    loop = Loop(replace(SETTINGS, http2=True, trusted=str(certificate[1])))
    since = len(log.read_text().splitlines())
    fetched = [loop.get(f"https://site.test:{port}{path}".encode()) for path in ("/misdirected", "/misdirected")]
    assert [(f.failure, f.status) for f in fetched] == [(Outcome.RETURNED, 421), (None, 200)]
    assert fetched[1].body == PAGE
    assert (loop.get(f"https://site.test:{port}/always".encode()).status) == 421
    assert [line[0] for line in _protocols(log, since, 3)] == ["HTTP/2.0", "HTTP/1.1", "HTTP/1.1"]


def test_plain_http_where_tls_is_expected_is_a_tls_failure(server: Server) -> None:
    url = server.url("/ok").replace(b"http:", b"https:")
    assert Loop().get(url).failure is Outcome.TLS_FAILED


def test_heads_are_parsed_with_any_line_ends() -> None:
    lines = [b"HTTP/1.1 100 Continue\r\n", b"\r\n", b"HTTP/1.1 200 OK\n", b"A: 1\n", b"a:2\n", b"\n", b"Trailer: x\r\n"]
    head = read_head(lines)
    assert (head.line, head.fields) == (b"HTTP/1.1 200 OK", [(b"A", b"1"), (b"a", b"2")])
    assert head.headers == {"a": "1, 2"}
    assert (head.raw, head.trailers, head.whole) == (lines[2:5], lines[6:], True)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.OK),
        (204, Outcome.NO_CONTENT),
        (206, Outcome.OK),
        (301, Outcome.REDIRECT),
        (304, Outcome.NO_CONTENT),
        (404, Outcome.NOT_FOUND),
        (410, Outcome.NOT_FOUND),
        (401, Outcome.REFUSED),
        (402, Outcome.PAYMENT_REQUIRED),
        (403, Outcome.REFUSED),
        (421, Outcome.REFUSED),
        (429, Outcome.TOO_MANY_REQUESTS),
        (500, Outcome.SERVER_ERROR),
        (503, Outcome.SERVER_ERROR),
        (799, Outcome.NO_CONTENT),
    ],
)
def test_every_status_has_one_outcome(status: int, outcome: Outcome) -> None:
    assert outcome_of(status, {"location": "/x"}, b"" if status == 204 else b"x") is outcome


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("", -1.0),
        ("soon", -1.0),
        ("-5", -1.0),
        ("1.5", 2.0),
        ("99999999999999", 1e9),
        ("120s", 120.0),
        ("120 seconds", 120.0),
        ("+60", 60.0),
        ("120, 300", 300.0),
        ("300 s,120 s", 300.0),
        ("9" * 5_000, 1e9),
        ("١٢٠", -1.0),
        ("1970-01-01T00:02:00Z", 20.0),
        ("01 Jan 1970 00:02:00 GMT", 20.0),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, seconds: float) -> None:
    assert retry_after(value, now=100.0) == seconds
