"""A crawl of pages served by a real nginx, configured as such servers usually are, and judged by nginx's own access
log."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from gossamer.base.model import State, VisitFlag
from gossamer.config import Settings, override
from gossamer.webs.checker import LOG_FORMAT, Fault, Request, check, read, robots_in
from gossamer.webs.demo.certificates import make_certificate
from tests.support.crawling import Ended, gossamer
from tests.support.needed import needed
from tests.support.reading import Archived, Found, archived, rows
from tests.support.server import free_port
from tests.support.timing import WITHIN

NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
pytestmark = [
    pytest.mark.nginx,
    pytest.mark.slow,
    needed("nginx", NGINX is not None, "Debian: apt-get install nginx-light"),
]

ADDRESSES: Final = {
    "garden.test": "127.44.0.1",
    "hut.test": "127.44.0.1",
    "slow.test": "127.44.0.2",
    "busy.test": "127.44.0.3",
    "closed.test": "127.44.0.4",
    "shop.test": "127.44.0.5",
    "www.shop.test": "127.44.0.5",
    "vault.test": "127.44.0.6",
}
"""garden and hut share an address; shop answers only as www.shop.test; vault speaks only https."""
DELAY: Final = 1.0
PATIENCE: Final = 2
"""Retry-After of busy.test, in seconds."""
BEDS: Final = 20
WAIT: Final = 0.03

CONFIG: Final = """
{user}
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/tmp-body; proxy_temp_path {folder}/tmp-proxy; fastcgi_temp_path {folder}/tmp-fast;
    scgi_temp_path {folder}/tmp-scgi; uwsgi_temp_path {folder}/tmp-uwsgi;
    log_format gossamer '{log_format}';
    access_log {folder}/access.log gossamer;
    types {{ text/html html; text/plain txt; application/pdf pdf; image/png png; }}
    default_type application/octet-stream;
    sendfile on;
    keepalive_timeout 20;
    port_in_redirect off;
    gzip on; gzip_min_length 200; gzip_types text/plain;
    limit_req_zone $binary_remote_addr zone=calm:1m rate=60r/m;
    map $status $patience {{ 429 {patience}; 503 1; default ""; }}

    server {{
        listen {garden}:{port} default_server;
        server_name garden.test;
        root {folder}/sites/garden.test;
        error_page 404 /missing.html;
        rewrite ^/old-(\\d+)\\.html$ /bed-$1.html permanent;
        location /shed/ {{ autoindex on; }}
        location = /latin.html {{ charset iso-8859-1; }}
        location = /hidden.html {{ add_header X-Robots-Tag "gossamer: nofollow, noarchive"; }}
        location = /locked.html {{ deny all; }}
        location = /big.html {{ gzip off; }}
        location = /typeless {{ default_type ""; }}
    }}
    server {{ listen {garden}:{port}; server_name hut.test; root {folder}/sites/hut.test; }}
    server {{ listen {slow}:{port}; server_name slow.test; root {folder}/sites/slow.test; }}
    server {{
        listen {busy}:{port};
        server_name busy.test;
        root {folder}/sites/busy.test;
        location / {{ limit_req zone=calm; limit_req_status 429; add_header Retry-After $patience always; }}
        location = /robots.txt {{ }}
        location = /repairs.html {{ add_header Retry-After $patience always; return 503; }}
    }}
    server {{
        listen {closed}:{port};
        server_name closed.test;
        location / {{ add_header Retry-After 3600 always; return 503; }}
    }}
    server {{ listen {shop}:{port}; server_name shop.test; return 301 $scheme://www.shop.test$request_uri; }}
    server {{ listen {shop}:{port}; server_name www.shop.test; root {folder}/sites/www.shop.test; }}
    server {{
        listen {vault}:{port} ssl;
        server_name vault.test;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        root {folder}/sites/vault.test;
    }}
}}
"""


def page(title: str, *links: str, filling: int = 400) -> str:
    text = " ".join(f"{title.lower()} word{n}" for n in range(filling // 10))
    return f"<html><head><title>{title}</title></head><body><p>{text}</p>{''.join(links)}</body></html>"


def link(url: str, attributes: str = "") -> str:
    return f'<a href="{url}" {attributes}>{url}</a>\n'


def write_sites(folder: Path) -> None:
    files: dict[str, str | bytes] = {
        "garden.test/robots.txt": "User-agent: *\nDisallow: /private/\nAllow: /private/gate\n",
        "garden.test/index.html": page(
            "The garden",
            *(link(f"/bed-{n}.html") for n in range(BEDS // 2)),
            link("/shed"),
            link("/twin.html"),
            link("private/diary.html"),
            link("/private/gate.html"),
            link("http://hut.test/"),
            link("http://slow.test/"),
            link("http://busy.test/"),
            link("http://closed.test/"),
            link("http://shop.test/"),
            link("https://vault.test/"),
            link("/nobody.html"),
            link("/old-3.html"),
            link("/latin.html"),
            link("/big.html"),
            link("/hidden.html"),
            link("/locked.html"),
            link("/typeless"),
            link("/seeds"),
            link("/whisper.html", 'rel="nofollow"'),
            link("/pot.png"),
        ),
        "garden.test/missing.html": page("Nothing grows here"),
        "garden.test/private/diary.html": page("Not for you"),
        "garden.test/private/gate.html": page("The gate"),
        "garden.test/latin.html": page("Jardín").encode("latin-1"),
        "garden.test/big.html": page("Big", filling=3_000_000),
        "garden.test/hidden.html": page("Hidden", link("/behind.html")),
        "garden.test/behind.html": page("Behind"),
        "garden.test/locked.html": page("Locked"),
        "garden.test/typeless": page("Typeless"),
        "garden.test/seeds": page("Seeds"),
        "garden.test/whisper.html": page("Whisper"),
        "garden.test/twin.html": page("Bed 5", link("/bed-15.html")),
        "garden.test/shed/spade.html": page("Spade"),
        "garden.test/shed/a rake & hoe.html": page("Rake"),
        "garden.test/shed/plan.pdf": b"%PDF-1.4 not a page",
        "hut.test/index.html": page("The hut", *(link(f"/corner-{n}.html") for n in range(8))),
        "slow.test/robots.txt": f"User-agent: gossamer\nCrawl-delay: {DELAY:g}\nDisallow:\n\n"
        "User-agent: *\nDisallow: /\n",
        "slow.test/index.html": page("Slow", *(link(f"/step-{n}.html") for n in range(4))),
        "busy.test/index.html": page("Busy", *(link(f"/desk-{n}.html") for n in range(3)), link("/repairs.html")),
        "www.shop.test/robots.txt": "User-agent: *\nDisallow: /till\n",
        "www.shop.test/index.html": page("Shop", link("/till"), link("//shop.test/bread.html")),
        "www.shop.test/bread.html": page("Bread"),
        "vault.test/index.html": page("Vault", link("/gold.html")),
        "vault.test/gold.html": page("Gold"),
    }
    for n in range(BEDS):
        files[f"garden.test/bed-{n}.html"] = page(f"Bed {n}", link(f"/bed-{(n + BEDS // 2) % BEDS}.html"))
    files |= {f"hut.test/corner-{n}.html": page(f"Corner {n}") for n in range(8)}
    files |= {f"slow.test/step-{n}.html": page(f"Step {n}") for n in range(4)}
    files |= {f"busy.test/desk-{n}.html": page(f"Desk {n}") for n in range(3)}
    for name, content in files.items():
        path = folder / "sites" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Runs nginx on the addresses of the sites and yields its port. Afterwards it is gone, and its log is complete."""
    assert NGINX is not None
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(
        CONFIG.format(
            user="user root;" if os.getuid() == 0 else "",
            folder=folder,
            log_format=LOG_FORMAT,
            port=port,
            patience=PATIENCE,
            **{name.partition(".")[0]: to for name, to in ADDRESSES.items() if name[:4] != "www."},
        )
    )
    server = subprocess.Popen([NGINX, "-p", folder, "-c", config], stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + WITHIN
        while not all(answers(address, port) for address in set(ADDRESSES.values())):
            assert server.poll() is None, f"nginx does not start: {server.stderr.read() if server.stderr else ''}"
            assert time.monotonic() < until, "nginx does not answer"
            time.sleep(0.02)
        yield port
    finally:
        server.terminate()
        server.communicate(timeout=WITHIN)


def answers(address: str, port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex((address, port)) == 0


def settings(folder: Path, port: int) -> Path:
    places = "".join(f'"{name}" = "{address}:{port}"\n' for name, address in ADDRESSES.items())
    path = folder / "settings.toml"
    path.write_text(
        f"""
[collection]
max_pages = 100000
max_sites = 1000
[seeder]
domains = ["test"]
[harvester]
allow_private = true
trusted = "{folder}/trusted.pem"
wait = "{WAIT * 1000:g}ms"
wait_large = "{WAIT * 1000:g}ms"
address_wait = "{WAIT * 500:g}ms"
retry = "2s"
tries = 5
[harvester.resolve]
{places}"*.test" = "none"
"""
    )
    return path


@dataclass
class Crawled:
    folder: Path
    ended: Ended
    log: Path
    sites: Path

    @cached_property
    def requests(self) -> list[Request]:
        return sorted(read(self.log), key=lambda r: r.start)

    @cached_property
    def urls(self) -> dict[int, str]:
        return {row["page"]: row["url"] for row in rows(self.folder, "pages")}

    @cached_property
    def visits(self) -> dict[str, list[dict[str, Any]]]:
        """All visits of each page, in order."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in sorted(rows(self.folder, "visits"), key=lambda row: row["time"]):
            if row["ask"] == "page":
                found.setdefault(self.urls[row["page"]], []).append(row)
        return found

    def last(self, url: str) -> dict[str, Any]:
        return self.visits[url][-1]

    @cached_property
    def archive(self) -> dict[tuple[str, int], Archived]:
        return {(record.file, record.offset): record for record in archived(self.folder)}

    def asked(self, host: str) -> list[Request]:
        return [r for r in self.requests if r.site == host]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("nginx")
    if make_certificate(["vault.test"], folder) is None:
        pytest.skip("no certificate can be made: there is neither the openssl program nor the cryptography package")
    write_sites(folder)
    with serving(folder) as port:
        ended = gossamer(
            "crawl",
            folder / "crawl",
            "--config",
            settings(folder, port),
            "--seed",
            "http://garden.test/",
            "--patience",
            "3s",
            "--workers",
            "2",
            "--json",
        )
    assert ended.code == 0, ended.errors
    return Crawled(folder / "crawl", ended, folder / "access.log", folder / "sites")


def test_every_allowed_page_is_found_and_stored(crawled: Crawled) -> None:
    good = {url for url, visits in crawled.visits.items() if visits[-1]["outcome"] in ("ok", "duplicate")}
    assert good == {
        "http://garden.test/",
        "http://garden.test/private/gate.html",
        "http://garden.test/shed/",
        "http://garden.test/shed/spade.html",
        "http://garden.test/shed/a%20rake%20%26%20hoe.html",
        "http://garden.test/latin.html",
        "http://garden.test/big.html",
        "http://garden.test/hidden.html",
        "http://garden.test/typeless",
        "http://garden.test/twin.html",
        *(f"http://garden.test/bed-{n}.html" for n in range(BEDS)),
        "http://hut.test/",
        *(f"http://hut.test/corner-{n}.html" for n in range(8)),
        "http://slow.test/",
        *(f"http://slow.test/step-{n}.html" for n in range(4)),
        "http://busy.test/",
        *(f"http://busy.test/desk-{n}.html" for n in range(3)),
        "http://shop.test/",
        "http://shop.test/bread.html",
        "https://vault.test/",
        "https://vault.test/gold.html",
    }


def test_every_other_answer_of_nginx_has_its_outcome(crawled: Crawled) -> None:
    expected = {
        "http://garden.test/nobody.html": ("not_found", 404),
        "http://garden.test/old-3.html": ("redirect", 301),
        "http://garden.test/shed": ("redirect", 301),
        "http://garden.test/locked.html": ("refused", 403),
        "http://garden.test/seeds": ("other_type", 200),
        "http://busy.test/repairs.html": ("server_error", 503),
    }
    assert {url: (crawled.last(url)["outcome"], crawled.last(url)["status"]) for url in expected} == expected
    assert {v["outcome"] for v in crawled.visits["http://busy.test/repairs.html"]} == {"server_error"}
    assert len(crawled.visits["http://busy.test/repairs.html"]) > 1, "it is retried"


def test_one_of_two_equal_pages_is_a_duplicate(crawled: Crawled) -> None:
    alike = [crawled.last(f"http://garden.test/{name}.html")["outcome"] for name in ("bed-5", "twin")]
    assert sorted(alike) == ["duplicate", "ok"]


def test_answers_of_nginx_are_read_correctly(crawled: Crawled) -> None:
    assert crawled.last("http://garden.test/latin.html")["title"] == "Jardín"
    assert crawled.last("http://garden.test/latin.html")["charset"] == "cp1252"
    big = crawled.last("http://garden.test/big.html")
    assert big["flags"] & VisitFlag.CUT
    assert big["length"] == 400_000
    assert crawled.last("http://garden.test/old-3.html")["redirect"] == "http://garden.test/bed-3.html"
    assert crawled.last("http://garden.test/shed")["redirect"] == "http://garden.test/shed/"
    assert crawled.last("http://garden.test/")["etag"].endswith('"')
    seen = {row["class"]: row["number"] for row in rows(crawled.folder, "counts") if row["extension"] in ("pdf", "png")}
    assert seen == {"document": 1, "image": 1}


def test_robots_txt_nofollow_and_robots_tags_are_obeyed(crawled: Crawled) -> None:
    targets = {(r.site, r.target) for r in crawled.requests}
    assert ("garden.test", "/private/gate.html") in targets
    for never in ("/private/diary.html", "/whisper.html", "/behind.html", "/pot.png", "/shed/plan.pdf"):
        assert ("garden.test", never) not in targets
    assert {r.target for r in crawled.asked("closed.test")} == {"/robots.txt"}, (
        "a failing robots.txt forbids everything"
    )
    assert ("www.shop.test", "/till") not in targets
    excluded = {url for url, (state, _) in Found(crawled.folder).states.items() if state is State.EXCLUDED}
    assert excluded == {"http://garden.test/private/diary.html", "http://shop.test/till"}


def test_a_site_is_requested_by_the_name_that_answers(crawled: Crawled) -> None:
    assert [r.status for r in crawled.asked("shop.test")] == [301]
    assert [r.target for r in crawled.asked("www.shop.test")] == ["/robots.txt", "/sitemap.xml", "/", "/bread.html"]


def test_crawl_delay_and_retry_after_are_kept(crawled: Crawled) -> None:
    slow = crawled.asked("slow.test")
    assert len(slow) == 7
    assert all(b.start - a.end >= DELAY - 0.002 for a, b in pairwise(slow))
    busy = crawled.asked("busy.test")
    asked_to_wait = [(a, b) for a, b in pairwise(busy) if a.retry_after]
    assert {a.status for a, _ in asked_to_wait} == {429, 503}
    assert all(b.start - a.end >= (a.retry_after or 0) - 0.002 for a, b in asked_to_wait)
    assert Counter(v["outcome"] for visits in crawled.visits.values() for v in visits)["too_many_requests"] == sum(
        r.status == 429 for r in busy
    )


def test_the_log_of_nginx_agrees_with_the_visits(crawled: Crawled) -> None:
    figures = crawled.ended.figures
    assert len(crawled.requests) == figures["visits"] + figures["robots_visits"] + figures["sitemap_visits"]
    assert {r.agent.partition("/")[0] for r in crawled.requests} == {"Gossamer"}
    assert {r.scheme for r in crawled.asked("vault.test")} == {"https"}
    assert {r.address for r in crawled.requests} == set(ADDRESSES.values())


def test_connections_are_kept_open(crawled: Crawled) -> None:
    hut = crawled.asked("hut.test")
    assert len({r.connection for r in hut}) < len(hut) / 2
    assert sum(bool(v["flags"] & VisitFlag.REUSED) for visits in crawled.visits.values() for v in visits) > BEDS / 2


def test_gossamer_check_finds_the_crawl_polite(crawled: Crawled) -> None:
    toml = crawled.folder / "crawl.toml"
    judged = gossamer("check", crawled.log, "--config", toml, "--robots", crawled.sites)
    assert (judged.code, judged.output.startswith("Polite: ")) == (0, True), judged.output


def test_gossamer_check_would_find_violations(crawled: Crawled, tmp_path: Path) -> None:
    """The same log, judged by settings and rules other than those of the crawl."""
    (tmp_path / "strict.toml").write_text('[harvester]\nwait = "500ms"\nwait_large = "500ms"\naddress_wait = "400ms"\n')
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /bed-\nCrawl-delay: 2\n")
    judged = gossamer("check", crawled.log, "--config", tmp_path / "strict.toml", "--robots", tmp_path, "--json")
    assert judged.code == 1
    counts = judged.figures["counts"]
    assert counts["forbidden"] == sum(r.target.startswith("/bed-") for r in crawled.requests)
    assert counts["site_early"] > BEDS
    assert counts["address_early"] > 0


def hit(address: str, port: int, host: str, target: str, method: str = "GET", **fields: str) -> None:
    """Sends one request, in another millisecond than the one before: the log tells no more."""
    time.sleep(0.005)
    line = HTTPConnection(address, port, timeout=WITHIN)
    line.request(method, target, headers={"Host": host, "User-Agent": "Gossamer/0.1 (+me@us.test)", **fields})
    line.getresponse().read()
    line.close()


def test_the_checker_reads_each_fault_from_the_log_of_nginx(tmp_path: Path) -> None:
    """Manual requests, each of which breaks a rule, and the verdict on nginx's log of them."""
    if make_certificate(["vault.test"], tmp_path) is None:
        pytest.skip("no certificate can be made: there is neither the openssl program nor the cryptography package")
    write_sites(tmp_path)
    garden, busy, closed = (ADDRESSES[f"{name}.test"] for name in ("garden", "busy", "closed"))
    with serving(tmp_path) as port:
        hit(garden, port, "garden.test", "/robots.txt")
        hit(garden, port, "garden.test", "/private/diary.html")
        hit(garden, port, "hut.test", "/robots.txt", "HEAD")
        hit(garden, port, "garden.test", "/old-3.html", **{"User-Agent": "Mozilla/5.0", "From": "me@us.test"})
        hit(busy, port, "busy.test", "/robots.txt")
        hit(busy, port, "busy.test", "/repairs.html")
        hit(busy, port, "busy.test", "/")
        hit(closed, port, "closed.test", "/robots.txt")
        hit(closed, port, "closed.test", "/")
    limits = override(Settings(), [f"harvester.{name}=0s" for name in ("wait", "wait_large", "address_wait")])
    report = check(read(tmp_path / "access.log"), limits, robots_in(tmp_path / "sites"))
    assert [(v.kind, v.request.site, v.request.target) for v in report.violations] == [
        (Fault.FORBIDDEN, "garden.test", "/private/diary.html"),
        (Fault.METHOD, "hut.test", "/robots.txt"),
        (Fault.NAMELESS, "garden.test", "/old-3.html"),
        (Fault.SLOWED_EARLY, "busy.test", "/"),
        (Fault.RETRY_AFTER, "busy.test", "/"),
        (Fault.SLOWED_EARLY, "closed.test", "/"),
        (Fault.RETRY_AFTER, "closed.test", "/"),
        (Fault.FORBIDDEN, "closed.test", "/"),
    ]
    (moved,) = [r for r in read(tmp_path / "access.log") if r.status == 301]
    assert (moved.location, moved.sender) == ("http://garden.test/bed-3.html", "me@us.test")


def test_the_archive_has_the_files_of_nginx(crawled: Crawled) -> None:
    checked = 0
    for url, visits in crawled.visits.items():
        path = crawled.sites / url.partition("://")[2].replace("%20", " ").replace("%26", "&")
        kept = visits[-1]
        if kept["flags"] & VisitFlag.NOARCHIVE:
            assert (url, kept["warc_file"]) == ("http://garden.test/hidden.html", None)
        elif kept["outcome"] == "ok" and path.is_file() and not kept["flags"] & (VisitFlag.CUT | VisitFlag.REPEATED):
            record = crawled.archive[kept["warc_file"], kept["warc_offset"]]
            assert (record.uri, record.status) == (url, 200)
            body = path.read_bytes()
            assert record.body == body[: len(record.body)]
            assert len(record.body) in (len(body), 300_000)
            checked += 1
    assert checked > BEDS
