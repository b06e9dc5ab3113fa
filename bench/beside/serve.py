"""The sites served by nginx: each at an address of this machine's own (127.7.x.y), all at one port, plain or over TLS.

URLs name addresses, so that no crawler has to look up a name, and none does. `keep`: requests that a connection takes
before the server closes it, whoever asks.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.beside.pages import Site
from gossamer.checker.logs import LOG_FORMAT
from gossamer.demo.certificates import make_certificate

ROBOTS: Final = "User-agent: *\nDisallow: /private/\n"
LONGEST_START: Final = 10.0


@dataclass(frozen=True, slots=True)
class Served:
    """A Web that listens: whom to ask, and what it saw."""

    hosts: list[str]
    """Address and port, a site each."""
    seeds: list[str]
    log: Path
    robots: Path
    """Folder with robots.txt, as `gossamer check` wants it."""
    trusted: Path | None = None
    """Certificate to trust."""


def address(number: int) -> str:
    return f"127.7.{number // 250}.{number % 250 + 1}"


def program() -> str | None:
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@contextmanager
def serve(sites: Sequence[Site], pages: Path, folder: Path, tls: bool = False, keep: int = 1000) -> Iterator[Served]:
    """nginx from here to the end of the block; its files lie in `folder`."""
    found, port = program(), _free_port()
    if found is None:
        raise SystemExit("no nginx (on Debian: apt-get install nginx-light)")
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
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
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
        hosts = [f"{address(i)}:{port}" for i in range(len(sites))]
        seeds = [f"{scheme}://{host}{site.start}" for host, site in zip(hosts, sites, strict=True)]
        trusted = certificate.trusted if certificate else None
        yield Served(hosts, seeds, folder / "access.log", folder / "robots", trusted)
    finally:
        server.terminate()
        server.wait(30)


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
