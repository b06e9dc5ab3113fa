"""Addresses that must not be visited, end to end: no notation, redirect, name or change of a name leads to a
connection. A crawl in its own process, over sockets; a trap listens where it must not go.

Loopback must be allowed for the crawl to go anywhere at all: 127.66.0.0/16 stands for the private networks.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from gossamer.base.model import Outcome, State
from gossamer.base.outcomes import Aside
from gossamer.urls import Scope, canonical, host
from gossamer.web.addresses import Forbidden, forbidden, literal
from gossamer.webs.hostile.saying import answer
from gossamer.webs.simulated import Reply
from tests.support.crawling import Ended, gossamer
from tests.support.reading import rows
from tests.support.server import ANSWERS, Server
from tests.support.world import World

TRAP: Final = "127.66.0.1"

NOTATIONS: Final = {
    "dotted": "127.0.0.1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "octal whole": "017700000001",
    "hexadecimal": "0x7f.0x0.0x0.0x1",
    "hexadecimal whole": "0x7f000001",
    "short": "127.1",
    "shorter": "127.0.1",
    "mixed": "0x7f.0.1",
    "with a final dot": "127.0.0.1.",
    "full width": "１２７.０.０.１",
    "escaped": "%31%32%37.0.0.1",
    "zero": "0",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped, hexadecimal": "[::ffff:7f00:1]",
    "mapped, written out": "[0:0:0:0:0:ffff:7f00:0001]",
    "compatible": "[::127.0.0.1]",
    "NAT64": "[64:ff9b::127.0.0.1]",
    "6to4": "[2002:7f00:1::1]",
    "loopback of IPv6": "[::1]",
    "link-local": "[fe80::1]",
    "unique local": "[fd00::1]",
    "metadata": "169.254.169.254",
    "metadata, decimal": "2852039166",
    "private": "10.1.2.3",
    "carrier": "100.64.1.1",
}


@pytest.mark.parametrize("name", NOTATIONS)
def test_every_notation_of_a_forbidden_address_is_recognised(name: str) -> None:
    url = canonical(f"http://{NOTATIONS[name]}/")
    assert url is not None
    address = literal(host(url))
    assert address is not None, "it would be looked up as a name"
    assert forbidden(address)
    assert Forbidden(False)(address)


BROKEN: Final = ("[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%25lo]", "256.0.0.1", "0x7f.1.2.3.4", "127.0.0.1.1")


@pytest.mark.parametrize("name", BROKEN)
def test_zone_ids_and_broken_addresses_have_no_canonical_form(name: str) -> None:
    assert canonical(f"http://{name}/") is None


SCHEMES: Final = (
    "ftp://h/",
    "file:///etc/passwd",
    "gopher://h:70/_x",
    "dict://h/",
    "ws://h/",
    "data:,x",
    "jar:http://h/",
)


@pytest.mark.parametrize("url", SCHEMES)
def test_other_schemes_have_no_canonical_form(url: str) -> None:
    assert canonical(url) is None
    assert canonical(url, "http://example.org/") is None


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("http://a.test/", True),
        ("https://a.test/", True),
        ("http://a.test:80/", True),
        ("http://a.test:8080/", True),
        ("https://a.test:8443/x", True),
        ("http://a.test:22/", False),
        ("http://a.test:25/", False),
        ("http://a.test:6379/", False),
        ("https://a.test:5432/", False),
        ("http://a.test:0/", False),
        ("http://[2606:4700::1]/", True),
        ("http://[2606:4700::1]:22/", False),
        ("http://a.test:65535/", False),
    ],
)
def test_odd_ports_are_refused(url: str, accepted: bool) -> None:
    written = canonical(url)
    assert written is not None
    assert Scope(("*",)).accepts_port(written) is accepted
    assert Scope(("*",)).admits(written) is accepted
    assert Scope(("*",), ports=("*",)).accepts_port(written) is (":0/" not in url)
    assert not Scope(("b.test",), ports=("*",)).admits(written)


@pytest.mark.parametrize(
    "target", ["http://b.example:22/robots.txt", "http://b.example:0/robots.txt", "ftp://a.example/robots.txt"]
)
def test_robots_txt_that_moved_to_a_forbidden_place_cannot_be_read(tmp_path: Path, target: str) -> None:
    replies = {
        "http://a.example/robots.txt": Reply(outcome=Outcome.REDIRECT, status=301, redirect=target),
        "http://a.example/": Reply(),
    }
    world = World(tmp_path / "c", replies, ["seeder.domains=example"])
    result = world.run(["http://a.example/"])
    assert {a.url for a in world.asked} == {"http://a.example/robots.txt"}
    assert result.pages["http://a.example/"][0] is State.PENDING
    assert result.crawl.desk.columns.site.why[0] == Aside.ROBOTS_UNREADABLE


# --- end to end -----------------------------------------------------------------------------------------------


class Names:
    """A name server: every name below `test` leads to 127.0.0.1, `trap.test` to the trap, and `rebind.test` to the trap
    from the second lookup on."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.asked: Counter[str] = Counter()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                query, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            end = query.index(b"\0", 12) + 5
            labels = query[12 : end - 5].lower()
            name = b".".join(p for p in _labels(labels)).decode()
            (kind,) = struct.unpack_from(">H", query, end - 4)
            body = b""
            if kind == 1:
                self.asked[name] += 1
                trapped = name == "trap.test" or (name == "rebind.test" and self.asked[name] > 1)
                data = socket.inet_aton(TRAP if trapped else "127.0.0.1")
                body = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + data
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(body), 0, 0)
            self.socket.sendto(head + query[12:end] + body, sender)


def _labels(raw: bytes) -> Iterator[bytes]:
    while raw:
        yield raw[1 : 1 + raw[0]]
        raw = raw[1 + raw[0] :]


def notations_of(address: str) -> list[str]:
    number, (a, b, c, d) = int(ipaddress.IPv4Address(address)), map(int, address.split("."))
    packed = f"{a:02x}{b:02x}:{c:02x}{d:02x}"
    return [
        address,
        str(number),
        hex(number),
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a}.{b}.{c * 256 + d}",
        f"{address}.",
        f"[::ffff:{address}]",
        f"[::ffff:{packed}]",
        f"[64:ff9b::{packed}]",
        f"[2002:{packed}::1]",
    ]


CHANGES: Final = (
    "harvester.allow_private=true",
    "harvester.forbidden=127.66.0.0/16",
    "harvester.contact=a@example.org",
    "seeder.domains=*",
    "harvester.wait=20ms",
    "harvester.wait_large=20ms",
    "harvester.address_wait=10ms",
    "collection.max_pages=10000",
    "collection.max_sites=1000",
)


@dataclass
class Crawled:
    folder: Path
    ended: Ended
    trapped: int
    names: Names
    requests: list[bytes]
    port: int

    def visits(self) -> dict[str, dict[str, Any]]:
        urls = {row["page"]: row["url"] for row in rows(self.folder, "pages")}
        return {urls[row["page"]]: row for row in rows(self.folder, "visits") if row["ask"] == "page"}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder, names = tmp_path_factory.mktemp("places"), Names()
    with Server() as server, socket.socket() as trap, names.socket:
        trap.bind((TRAP, server.port))
        trap.listen()
        trap.settimeout(0)
        ways = [f"http://{way}:{server.port}/" for way in notations_of(TRAP)]
        ways += [
            f"http://trap.test:{server.port}/",
            "http://[fe80::1%25eth0]/",
            "http://open.test:22/",
            "ftp://open.test/",
        ]
        links = "".join(f'<a href="{way}linked">x</a>' for way in ways)
        links += "".join(f'<a href="/redirect/{n}">x</a>' for n in range(len(ways)))
        links += "".join(f'<a href="http://rebind.test:{server.port}/rebound/{n}">x</a>' for n in range(4))
        pages = {
            "/start": answer(f"<p>Many ways to a place where nobody may go</p>{links}".encode()),
            "/robots.txt": ANSWERS["/not-found"],
            **{f"/redirect/{n}": answer(b"", "302 Found", "", f"Location: {way}") for n, way in enumerate(ways)},
            **{f"/rebound/{n}": answer(f"<p>The page of a name that changes its mind, {n}".encode()) for n in range(4)},
        }
        for path, raw in pages.items():
            server.special[path] = writing(raw)
        changes = (*CHANGES, f"harvester.resolvers={names.address}")
        arguments = [part for change in changes for part in ("--set", change)]
        seed = f"http://open.test:{server.port}/start"
        ended = gossamer(
            "crawl", folder / "crawl", "--seed", seed, "--patience", "1s", "--workers", "1", "--json", *arguments
        )
        assert ended.code == 0, ended.errors
        yield Crawled(folder / "crawl", ended, connections_to(trap), names, server.requests, server.port)
    names.socket.close()


WAYS: Final = (TRAP, "2135031809", "[::ffff:127.66.0.1]", "trap.test")


@pytest.mark.slow
@pytest.mark.parametrize("robots", ["names sitemaps", *WAYS])
def test_no_robots_txt_or_sitemap_leads_to_a_connection(robots: str, tmp_path: Path) -> None:
    """Its robots.txt names sitemaps there, sitemaps that move there, an index and a list of what is there; or it has
    moved there itself."""
    names = Names()
    with Server() as server, socket.socket() as trap, names.socket:
        trap.bind((TRAP, server.port))
        trap.listen()
        trap.settimeout(0)
        ways = [f"http://{way}:{server.port}/" for way in WAYS]
        own = f"http://open.test:{server.port}"
        named = [f"{way}sitemap.xml" for way in ways] + [f"{own}/moved/{n}" for n in range(len(ways))]
        lines = "".join(f"Sitemap: {each}\n" for each in (*named, f"{own}/index.xml", f"{own}/list.xml"))
        index = "".join(f"<sitemap><loc>{way}1.xml</loc></sitemap>" for way in ways)
        listed = "".join(f"<url><loc>{way}listed</loc></url>" for way in ways)
        pages = {
            "/start": answer(b"<p>A page with words of its own</p>"),
            "/robots.txt": answer(lines.encode(), kind="text/plain")
            if robots == "names sitemaps"
            else answer(b"", "301 Moved Permanently", "", f"Location: http://{robots}:{server.port}/robots.txt"),
            "/index.xml": answer(f"<sitemapindex>{index}</sitemapindex>".encode(), kind="text/xml"),
            "/list.xml": answer(f"<urlset>{listed}</urlset>".encode(), kind="text/xml"),
            **{f"/moved/{n}": answer(b"", "302 Found", "", f"Location: {way}s.xml") for n, way in enumerate(ways)},
        }
        for path, raw in pages.items():
            server.special[path] = writing(raw)
        changes = (*CHANGES, f"harvester.resolvers={names.address}")
        arguments = [part for change in changes for part in ("--set", change)]
        usual = ("--patience", "1s", "--workers", "1", "--json", *arguments)
        ended = gossamer("crawl", tmp_path / "crawl", "--seed", f"{own}/start", *usual)
        assert ended.code == 0, ended.errors
        assert connections_to(trap) == 0
        asked = {raw.split(b" ")[1].decode() for raw in server.requests}
    if robots == "names sitemaps":
        assert {"/start", "/index.xml", "/list.xml", *(f"/moved/{n}" for n in range(len(ways)))} <= asked
    else:
        assert asked == {"/robots.txt"}, "its rules cannot be read, so nothing else is requested"


def writing(raw: bytes) -> Any:
    async def write(writer: Any) -> None:
        writer.write(raw)

    return write


def connections_to(trap: socket.socket) -> int:
    count = 0
    while True:
        try:
            trap.accept()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.slow
def test_no_notation_redirect_or_name_leads_to_a_connection(crawled: Crawled) -> None:
    assert crawled.trapped == 0
    visits = crawled.visits()
    redirects = [url for url in visits if "/redirect/" in url]
    assert len(redirects) == len(notations_of(TRAP)) + 4
    assert {visits[url]["outcome"] for url in redirects} == {"redirect"}
    assert not any("linked" in url for url in visits)


@pytest.mark.slow
def test_the_pages_are_known_and_their_sites_are_suspended(crawled: Crawled) -> None:
    known = {row["url"] for row in rows(crawled.folder, "pages") if "linked" in row["url"]}
    assert f"http://{TRAP}:{crawled.port}/linked" in known
    assert not any(url.startswith("http://open.test:22") for url in known)
    sites = {row["site"]: row["name"] for row in rows(crawled.folder, "sites") if row["name"]}
    refused = {sites[row["site"]] for row in rows(crawled.folder, "events") if row["event"] == "forbidden_address"}
    assert {TRAP, "trap.test"} <= refused
    counted = Counter[str]()
    for row in rows(crawled.folder, "counts"):
        counted[row["class"]] += row["number"]
    assert counted["out_of_scope"] == 2, "a link to port 22, and a redirect"
    assert counted["not_http"] == 4, "a zone id and another scheme, linked and as redirects"


@pytest.mark.slow
def test_a_name_whose_address_changes_is_requested_at_the_address_that_was_checked(crawled: Crawled) -> None:
    asked = [raw for raw in crawled.requests if b"Host: rebind.test" in raw]
    assert len(asked) == 6, "robots.txt, the sitemap and four pages"
    assert crawled.names.asked["rebind.test"] >= 1
    addresses = {row["address"] for url, row in crawled.visits().items() if "/rebound/" in url}
    assert addresses == {"127.0.0.1"}
