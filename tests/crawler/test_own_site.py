"""One's own site over real sockets: proven by `gossamer mine`, crawled with `--mine`, judged by the server's log."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gossamer.webs.checker import read
from tests.support.crawling import gossamer

HOST, PAGES = "site.test", 30


@contextmanager
def serving(robots: bytes, log: Path) -> Iterator[int]:
    """A site that writes its log as nginx does."""

    class Site(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            begun, links = time.time(), b"".join(b'<a href="/%d">%d</a> ' % (n, n) for n in range(PAGES))
            page = b"<p>This is the page %s of a site with many pages.</p>%s" % (self.path.encode() * 9, links)
            body = robots if self.path == "/robots.txt" else page
            status = 200 if self.path in ("/robots.txt", "/") or self.path[1:].isdecimal() else 404
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            ended, agent, sender = time.time(), self.headers["User-Agent"], self.headers["From"] or "-"
            with log.open("a") as file:
                file.write(
                    f'127.0.0.1 - - [x] "GET {self.path} HTTP/1.1" {status} {len(body)} "-" "{agent}" {ended:.4f} '
                    f'{ended - begun:.4f} http {HOST}:80 127.0.0.1 1 "-" "-" "{sender}"\n'
                )

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_site_of_ones_own_is_crawled_in_seconds_and_its_log_is_judged(tmp_path: Path) -> None:
    key, log, folder = tmp_path / "mine.key", tmp_path / "access.log", tmp_path / "crawl"
    told = json.loads(gossamer("mine", "--key", key, f"https://www.{HOST}/", "--json").output)
    robots = f"User-agent: *\nDisallow: /private\n{told['sites'][HOST]['line']}\n".encode()
    (tmp_path / "served" / HOST).mkdir(parents=True)
    (tmp_path / "served" / HOST / "robots.txt").write_bytes(robots)
    with serving(robots, log) as port:
        changes = (f'harvester.resolve={{ "{HOST}" = "127.0.0.1:{port}" }}', "harvester.allow_private=true")
        small = ("collection.max_pages=1000", "collection.max_sites=10", f"harvester.mine_key={key}")
        sets = ["--patience", "1s", "--json", *(part for each in (*changes, *small) for part in ("--set", each))]
        ended = gossamer("crawl", folder, "--seed", f"http://{HOST}/", "--mine", "--contact", "me@site.test", *sets)
    assert ended.code == 0, ended.errors
    assert f"yours, if they prove it: {HOST}" in ended.errors
    assert ended.outcomes == {"ok": 1 + PAGES}
    starts = sorted(each.start for each in read(log))
    assert starts[-1] - starts[0] < 15.0 * 5, "at the usual wait, it takes more than seven minutes"
    judged = ("check", log, "--robots", tmp_path / "served")
    found = gossamer(*judged, "--config", folder)
    assert found.code == 0, found.output
    settings = tmp_path / "others.toml"
    settings.write_text((folder / "crawl.toml").read_text().replace("mine = true", "mine = false"))
    assert "too early at its site" in gossamer(*judged, "--config", settings).output
    said = gossamer("explain", folder, HOST).output
    assert "between turns, since it has proven to be yours" in said
