"""Serves the sites with nginx: each at its own loopback address (127.7.x.y), all at one port, plain or over TLS.

URLs name addresses, so that no crawler has to resolve a name. `keep`: number of requests after which the server closes
a connection.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.beside.pages import PAGES, Site, file_of
from gossamer.base.errors import GossamerError
from gossamer.urls import canonical
from gossamer.webs import checker, demo
from gossamer.webs.checker.logs import LOG_FORMAT
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.certificates import make_certificate
from gossamer.webs.demo.layout import PAGES as READ

ROBOTS: Final = "User-agent: *\nDisallow: /private/\n"
LONGEST_START: Final = 10.0
_ANSWER: Final = re.compile(rb'"GET (\S+) HTTP/[^"]*" 200 ')


@dataclass(frozen=True, slots=True)
class Served:
    """A running Web: its sites, its pages and its log."""

    hosts: list[str]
    """One per site, without port."""
    seeds: list[str]
    log: Path
    is_page: Callable[[bytes], bool]
    """Whether a line of the log is an answer with a page."""
    page_of: Callable[[str, str], str]
    """The name of the page for a host and a target."""
    there: frozenset[str]
    """The names of all reachable pages."""
    robots_of: checker.RobotsOf
    trusted: Path | None = None
    """The certificate to trust."""
    names: Path | None = None
    """A file of names and addresses like /etc/hosts, for crawlers that have no such setting."""
    resolve: dict[str, str] = field(default_factory=dict)
    """The same for the setting `harvester.resolve`."""


def address(number: int) -> str:
    return f"127.7.{number // 250}.{number % 250 + 1}"


def program() -> str | None:
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@contextmanager
def serve(sites: Sequence[Site], pages: Path, folder: Path, tls: bool = False, keep: int = 1000) -> Iterator[Served]:
    """Runs nginx until the end of the block; its files are in `folder`."""
    found, port = program(), _free_port()
    if found is None:
        raise SystemExit("nginx is not installed (on Debian: apt-get install nginx-light)")
    (folder / "robots").mkdir(parents=True)
    (folder / "robots" / "robots.txt").write_text(ROBOTS)
    certificate = make_certificate([address(i) for i in range(len(sites))], folder) if tls else None
    if tls and certificate is None:
        raise SystemExit("no certificate: neither the openssl program nor the cryptography package is installed")
    own = f"ssl_certificate {certificate.own}; ssl_certificate_key {certificate.key};" if certificate else ""
    listen = [f"listen {address(i)}:{port}{' ssl' if tls else ''}" for i in range(len(sites))]
    robots = f"location = /robots.txt {{ root {folder / 'robots'}; }}"
    servers = "".join(
        f"server {{ {at}; server_name {address(i)}; root {pages.absolute() / site.root}; {robots} }}\n"
        for i, (at, site) in enumerate(zip(listen, sites, strict=True))
    )
    user = "user root; " if os.geteuid() == 0 else ""  # the folders of a run are readable by their owner only
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "events { worker_connections 8192; }\n"
        f"http {{ include /etc/nginx/mime.types; log_format gossamer '{LOG_FORMAT}';\n"
        f"access_log {folder}/access.log gossamer; keepalive_requests {keep}; keepalive_timeout 60s; {own}\n"
        "gzip_static on; index index.html index.htm; server_names_hash_max_size 4096; tcp_nodelay on; sendfile on;\n"
        f"{servers}}}\n"
    )
    server = subprocess.Popen([found, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        _wait(server, address(0), port)
        scheme = "https" if tls else "http"
        hosts = [address(i) for i in range(len(sites))]
        seeds = [f"{scheme}://{host}:{port}{site.start}" for host, site in zip(hosts, sites, strict=True)]
        there = frozenset(f"{host}:{port}{path}" for host, s in zip(hosts, sites, strict=True) for path in s.pages)
        yield Served(
            hosts,
            seeds,
            folder / "access.log",
            _is_page,
            lambda host, target: host + file_of(target),
            there,
            checker.robots_in(folder / "robots"),
            certificate.trusted if certificate else None,
        )
    finally:
        server.terminate()
        server.wait(30)


def _is_page(line: bytes) -> bool:
    found = _ANSWER.search(line)
    return found is not None and file_of(found[1].decode("ascii", "replace")).endswith(PAGES)


@contextmanager
def serve_demo(web: DemoWeb, folder: Path) -> Iterator[Served]:
    """Runs the demonstration Web at port 80 of its addresses, as URLs name no port. SystemExit if it cannot."""
    folder.mkdir(parents=True)
    try:
        running = demo.start(web, port=80, log=folder / "access.log")
    except GossamerError as error:
        raise SystemExit(f"the demonstration Web needs port 80 of 127.x.y.z here: {error}") from error
    with running:
        resolve = running.resolve
        names = folder / "hosts"
        at = {host: place.partition(":")[0] for host, place in resolve.items() if place != "none"}
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{place} {host}\n" for host, place in at.items()))
        truth = web.truth()
        there = frozenset(url for url in web.reachable() if url in truth and truth[url].kind in READ)
        yield Served(
            list(at),
            running.seeds,
            folder / "access.log",
            _is_demo_page,
            lambda host, target: canonical(f"http://{host.removeprefix('www.')}{target}") or "",
            there,
            checker.robots_of_web(web),
            None,
            names,
            resolve,
        )


def _is_demo_page(line: bytes) -> bool:
    fields = line.split(b"\t", 8)
    return len(fields) > 8 and fields[7] == b"200" and fields[6] not in (b"/robots.txt", b"/sitemap.xml")


def _wait(server: subprocess.Popen[bytes], host: str, port: int) -> None:
    until = time.monotonic() + LONGEST_START
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as s:
            if s.connect_ex((host, port)) == 0:
                return
        time.sleep(0.02)
    raise SystemExit("nginx does not start")


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        found: int = s.getsockname()[1]
    return found
