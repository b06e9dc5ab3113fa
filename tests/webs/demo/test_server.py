"""The demonstration Web over real sockets: its server answers what the truth says, and its log has every request."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.config.settings import SeederSettings
from gossamer.robots import Rules
from gossamer.urls import UrlClass, canonical, classify
from gossamer.webs.demo import DemoWeb, RunningWeb, UrlKind, certificates, start
from gossamer.webs.demo.access import COLUMNS, HEADER
from gossamer.webs.demo.pace import factors
from gossamer.webs.demo.site import Down, Site, SiteNames
from tests.support.crawling import alive
from tests.support.paths import ROOT
from tests.support.timing import WITHIN, wait_for
from tests.webs.demo.test_demo import SMALL

DEPTH = 5
SESSIONS = SeederSettings().session_ids


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningWeb, Path]]:
    log = tmp_path_factory.mktemp("web") / "access.log"
    with start(SMALL, log=log) as running:
        yield running, log


@dataclass
class Got:
    status: int
    fields: dict[str, str]
    body: bytes
    line: str
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        self.whole = len(self.body) == int(self.fields.get("content-length", len(self.body)))


async def fetch(running: RunningWeb, url: str, method: str = "GET", **fields: str) -> Got:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    address, _, port = running.resolve[host].partition(":")
    context = ssl.create_default_context(cafile=running.trusted) if scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        address, int(port), ssl=context, server_hostname=host if context else None
    )
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    writer.write(f"{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n".encode())
    data = b""
    try:
        while more := await reader.read(65_536):
            data += more
    except ConnectionResetError:
        pass
    head, _, body = data.partition(b"\r\n\r\n")
    writer.close()
    first, *rows = head.decode().split("\r\n")
    named = {k.lower(): v for k, _, v in (line.partition(": ") for line in rows)}
    return Got(int(first.split()[1]), named, body, first)


def get(running: RunningWeb, url: str, method: str = "GET", **fields: str) -> Got:
    return asyncio.run(fetch(running, url, method, **fields))


def bare(url: str) -> str:
    return url.replace("://www.", "://", 1)


class Walker:
    """A minimal crawler that does not know how the Web is made; it takes www. for the bare name."""

    def __init__(self, running: RunningWeb) -> None:
        self.running = running
        self.rules: dict[str, Rules | None] = {}
        self.names: dict[str, str] = {}
        self.depth: dict[str, int] = {}
        self.found: dict[str, set[str]] = {}

    async def walk(self) -> None:
        todo = [bare(url) for url in self.running.seeds]
        self.depth = dict.fromkeys(todo, 0)
        while todo:
            some, todo = todo[:40], todo[40:]
            pages = await asyncio.gather(*(self.visit(url) for url in some))
            for source, targets in zip(some, pages, strict=True):
                for url, clicks in targets:
                    if url not in self.depth:
                        inside = url.split("/")[2] == source.split("/")[2]
                        self.depth[url] = self.depth[source] + clicks if inside else 0
                        todo.append(url)

    async def ask(self, url: str) -> Got | None:
        host = url.split("/")[2]
        name = self.names.get(host, host)
        if self.running.resolve[name] == "none":
            name = f"www.{host}"
        try:
            got = await fetch(self.running, url.replace(host, name, 1))
        except (ConnectionRefusedError, KeyError):
            return None
        moved = got.fields.get("location", "")
        if moved.startswith("http") and moved != url.replace(host, name, 1) and bare(moved) == url:
            self.names[host] = moved.split("/")[2]
            return await self.ask(url)
        return got

    async def visit(self, url: str) -> list[tuple[str, int]]:
        self.found[url] = set()
        if "?" in url and self.depth[url] > DEPTH:
            return []
        origin = url[: url.index("/", 8)]
        if origin not in self.rules:
            got = await self.ask(f"{origin}/robots.txt")
            text = b"" if got is None or got.status != 200 else got.body
            rules = self.rules[origin] = None if got is None or got.status >= 500 else Rules.parse(text, "Gossamer")
            listed = await self.listed(origin, rules.sitemaps) if rules else []
            return [(page, 1) for page in listed] + await self.visit(url)
        rules = self.rules[origin]
        if rules is None or not rules.allows(url):
            return []
        got = await self.ask(url)
        assert got
        self.found[url].add(str(got.status) if got.whole else "torn")
        if "location" in got.fields:
            return [(bare(canonical(got.fields["location"], url) or ""), 0)]
        if got.status != 200 or not got.whole or not got.fields["content-type"].startswith("text/html"):
            return []
        targets = anchors(got)
        base = next((b for b in targets if b.startswith("base:")), f"base:{url}")[5:]
        links = (canonical(t, base, SESSIONS) for t in targets if not t.startswith("base:"))
        return [(bare(u), 1) for u in links if u and ".gossamer.test/" in u and classify(u) >= UrlClass.PAGE]

    async def listed(self, origin: str, named: Sequence[str]) -> list[str]:
        """The pages that the sitemaps of an origin list."""
        pages, todo = [], list(named or [f"{origin}/sitemap.xml"])
        for sitemap in todo:
            got = await self.ask(bare(sitemap))
            if got and got.status == 200 and not got.fields["content-type"].startswith("text/html"):
                body = gzip.decompress(got.body) if got.body[:2] == b"\x1f\x8b" else got.body
                found = [canonical(unescape(u)) or "" for u in re.findall(r"https?://[^\s<\"]+", body.decode())]
                todo += [url for url in found if "/maps/" in url and url not in todo]
                pages += [bare(url) for url in found if ".gossamer.test/" in url and "/maps/" not in url]
        return pages


def anchors(got: Got) -> list[str]:
    codec = "utf-16" if got.body[:2] == b"\xff\xfe" else "latin-1"
    tree = LexborHTMLParser(got.body.decode(codec))
    if any("nofollow" in (m.attributes.get("content") or "") for m in tree.css('meta[name="robots"]')):
        return []
    out = [f"base:{b.attributes['href']}" for b in tree.css("base")]
    out += [a.attributes["href"] or "" for a in tree.css("a[href]") if a.attributes.get("rel") != "nofollow"]
    return out + [f.attributes["src"] or "" for f in tree.css("iframe[src]")]


def test_a_crawl_over_sockets_finds_exactly_what_is_reachable(served: tuple[RunningWeb, Path]) -> None:
    walker = Walker(served[0])
    asyncio.run(walker.walk())
    expected = SMALL.reachable(DEPTH)
    assert set(walker.found) == set(expected)
    truth = SMALL.truth()
    for url, statuses in walker.found.items():
        status = "torn" if truth[url].kind is UrlKind.TORN else str(truth[url].status)
        assert statuses == (set() if expected[url].excluded else {status}), url
    assert {e.kind for e in expected.values()} == set(UrlKind) - {UrlKind.HIDDEN}


def test_the_log_has_a_line_for_each_request_soon_after_it(served: tuple[RunningWeb, Path]) -> None:
    running, log = served
    site = next(s for s in SMALL.all_sites if s.timing.slow)
    url = f"{site.home}never-{os.urandom(4).hex()}.html"
    before = time.monotonic()
    get(running, url, user_agent="a\tb")
    after = time.monotonic()
    line = logged(log, url.rpartition("/")[2])
    assert log.read_text().splitlines(keepends=True)[1] == HEADER
    row = dict(zip(COLUMNS, line.split("\t"), strict=True))
    assert before <= float(row["start"]) <= float(row["end"]) <= after
    fastest = site.timing.latency * min(latency for latency, _ in factors(SMALL.seed))
    assert float(row["end"]) - float(row["start"]) >= fastest - 0.003
    assert abs(float(row["wall"]) - time.time()) < WITHIN
    assert (row["address"], row["host"], row["status"], row["agent"]) == (site.address, site.host, "404", "a?b")


def logged(log: Path, words: str) -> str:
    """The first line with these words in it, as soon as it is written."""
    wait_for(lambda: words in log.read_text(), "a line of the log")
    return next(line for line in log.read_text().splitlines() if words in line)


def test_conditional_and_head_requests_and_wrong_hosts_are_answered(served: tuple[RunningWeb, Path]) -> None:
    running, _ = served
    site = next(s for s in SMALL.all_sites if s.http.tagged and s.http.dated and usual(s))
    got = get(running, site.home)
    assert got.status == 200
    assert got.whole
    assert get(running, site.home, if_none_match=got.fields["etag"]).status == 304
    assert get(running, site.home, if_modified_since=got.fields["last-modified"]).status == 304
    assert get(running, site.home, if_none_match='"other"').status == 200
    assert get(running, site.home, method="HEAD").body == b""
    assert get(running, site.home, method="POST").status == 405
    other = next(s for s in SMALL.all_sites if s.address != site.address and usual(s))
    with socket.create_connection((other.address, running.port)) as s:
        s.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
        assert s.recv(100).startswith(b"HTTP/1.1 421")


def usual(s: Site) -> bool:
    speaks_plainly = not (s.features.session or s.http.old or s.http.secure)
    return speaks_plainly and s.ties.mirror_of < 0 and s.down is Down.NO and s.names is SiteNames.BARE


def test_busy_pages_send_retry_after_and_the_log_says_so(served: tuple[RunningWeb, Path]) -> None:
    running, _ = served
    url = next(t.url for t in SMALL.truth().values() if t.kind is UrlKind.BUSY and usual(SMALL.all_sites[t.site]))
    got = get(running, url)
    assert (got.status, got.fields["retry-after"]) == (429, "1")


def test_fragmented_and_pipelined_requests_are_answered_in_order(served: tuple[RunningWeb, Path]) -> None:
    running, _ = served
    site = next(s for s in SMALL.all_sites if usual(s) and not s.timing.slow and not s.features.soft)
    request = f"HEAD / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode()
    with socket.create_connection((site.address, running.port)) as s:
        for byte in request:
            s.sendall(bytes([byte]))
        s.sendall(request + request.replace(b"/ ", b"/nothing-there ") + request)
        got = b""
        while got.count(b"\r\n\r\n") < 4:
            got += s.recv(10_000)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"200", b"200", b"404", b"200"]


def test_the_log_survives_sigterm_and_has_requests_without_an_answer(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    slow = DemoWeb(seed=5, sites=10, pages=60, slow=1, latency=60.0, pace=0)
    site = next(s for s in slow.all_sites if s.timing.slow)
    running = start(slow, log=log)
    with socket.create_connection((site.address, running.port)) as s:
        s.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
        quick = next(s for s in slow.all_sites if not s.timing.slow and usual(s))
        assert get(running, quick.home).status == 200  # so the earlier request has been read, too
        running.process.send_signal(signal.SIGINT)
        running.stop()
    assert running.process.returncode == 0
    assert log.read_text().splitlines()[-1].split("\t")[6:8] == ["/", "499"]


def test_the_server_ends_with_its_parent_and_leaves_no_files(tmp_path: Path) -> None:
    code = (
        "import os, signal; from gossamer.webs.demo import *; "
        "r = start(DemoWeb(seed=7, sites=24, pages=900, largest=250));"
        "print(r.process.pid, r.trusted, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    source = ROOT / "src"
    got = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(source), "TMPDIR": str(tmp_path)},
    )
    assert got.returncode == -signal.SIGKILL
    pid, trusted = got.stdout.split()
    assert Path(trusted).is_relative_to(tmp_path)
    wait_for(lambda: not alive(int(pid)), "the server ends with its parent")
    assert list(tmp_path.iterdir()) == []


def test_a_moved_name_redirects_every_path_and_the_log_has_both_names(
    served: tuple[RunningWeb, Path],
) -> None:
    running, log = served
    web = DemoWeb(seed=7, sites=40, pages=1_400, largest=250)
    assert {s.names for s in web.all_sites} == set(SiteNames)
    site = next(s for s in SMALL.all_sites if s.names is SiteNames.TO_WWW)
    for path in ("robots.txt", "", "nothing.html"):
        got = get(running, site.home + path)
        assert (got.status, got.fields["location"]) == (301, f"http://www.{site.host}/{path}")
    assert get(running, f"http://www.{site.host}/").status == 200
    for name in (site.host, f"www.{site.host}"):
        assert logged(log, f"\t{name}\t")


def test_a_certificate_is_valid_only_for_clients_that_trust_the_authority(served: tuple[RunningWeb, Path]) -> None:
    running, log = served
    site = next(s for s in SMALL.all_sites if s.http.secure)
    assert get(running, site.home).status == 200
    assert logged(log, f"\t{site.host}\t").split("\t")[7] == "200"
    context = ssl.create_default_context()
    with socket.create_connection((site.address, running.port)) as s, pytest.raises(ssl.SSLCertVerificationError):
        context.wrap_socket(s, server_hostname=site.host)
    assert "PRIVATE KEY" not in Path(running.trusted).read_text()


def test_without_means_to_make_certificates_there_are_no_https_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "make_certificate", lambda names, folder: None)
    with certificates.certified(SMALL) as (web, certificate):
        assert certificate is None
        assert web.tls == 0
        assert not any(s.http.secure for s in web.all_sites)


def test_an_old_site_needs_no_host_and_ends_its_answers_with_the_connection(served: tuple[RunningWeb, Path]) -> None:
    running, log = served
    site = next(s for s in SMALL.all_sites if s.http.old)
    with_length = set()
    for target in SMALL.layout(site.number).target[: site.pages]:
        with socket.create_connection((site.address, running.port)) as s:
            s.sendall(f"GET {target} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n".encode())
            data = b""
            while more := s.recv(65_536):
                data += more
        assert data.startswith(b"HTTP/1.0 200 OK\r\n")
        assert b"Content-Encoding" not in data
        assert b"Connection" not in data
        with_length.add(b"Content-Length" in data)
    assert with_length == {True, False}
    assert logged(log, f"\t{site.host}\t")


def test_a_torn_page_ends_in_the_middle_of_its_body(served: tuple[RunningWeb, Path]) -> None:
    torn = [t.url for t in SMALL.truth().values() if t.kind is UrlKind.TORN]
    assert torn
    for url in torn:
        assert not get(served[0], url).whole


def test_the_links_of_a_session_site_are_new_in_every_answer(served: tuple[RunningWeb, Path]) -> None:
    running, _ = served
    site = next(s for s in SMALL.all_sites if s.features.session)
    first, again = get(running, site.home), get(running, site.home)
    assert first.fields["content-length"] == again.fields["content-length"]
    as_they_are, as_pages = (
        [{canonical(a, site.home, ids) for a in anchors(got) if a.startswith("/")} for got in (first, again)]
        for ids in ((), SESSIONS)
    )
    assert as_they_are[0]
    assert as_they_are[0].isdisjoint(as_they_are[1])
    assert as_pages[0] == as_pages[1]
    for url in as_they_are[0]:
        assert get(running, url or "").status == SMALL.truth()[canonical(url or "", None, SESSIONS) or ""].status


def test_nothing_listens_where_a_site_is_down_and_a_silent_site_never_answers(tmp_path: Path) -> None:
    web = DemoWeb(seed=5, sites=20, pages=100, down=2, silent=1)
    by_kind = {s.down: s for s in web.all_sites}
    with start(web, log=tmp_path / "access.log") as running:
        assert running.resolve[by_kind[Down.NAMELESS].host] == "none"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((by_kind[Down.REFUSED].address, running.port))
        with socket.create_connection((by_kind[Down.SILENT].address, running.port), 0.3) as s:
            s.sendall(f"GET /robots.txt HTTP/1.1\r\nHost: {by_kind[Down.SILENT].host}\r\n\r\n".encode())
            with pytest.raises(TimeoutError):
                s.recv(1)
        assert logged(tmp_path / "access.log", by_kind[Down.SILENT].host).split("\t")[7] == "499"


def test_a_body_arrives_no_faster_than_its_site_sends(served: tuple[RunningWeb, Path]) -> None:
    running, _ = served
    fastest = max(speed for _, speed in factors(SMALL.seed))
    site = min((s for s in SMALL.all_sites if usual(s) and s.timing.speed), key=lambda s: s.timing.speed)
    pages = [t.url for t in SMALL.truth().values() if t.site == site.number and t.kind is UrlKind.PAGE]
    assert pages
    for url in pages[:10]:
        begin = time.monotonic()
        got = get(running, url)
        assert time.monotonic() - begin >= len(got.body) / (site.timing.speed * fastest) - 0.003
