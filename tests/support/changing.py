"""A small site whose pages change, move, vanish and return, served over real sockets, and crawls of it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.crawling import gossamer

HOST: Final = "site.example"
ROOT: Final = f"http://{HOST}/"
FILLING: Final = "".join(f"<p>This is paragraph {n} of the page, and it stays as it is.</p>" for n in range(40))
SETTINGS: Final = (
    "harvester.allow_private=true",
    "harvester.pause=0ms",
    "harvester.wait=5ms",
    "harvester.wait_large=5ms",
    "harvester.address_wait=5ms",
    "harvester.workers=1",
    "harvester.robots_valid=1min",
    "manager.min_period=1s",
    "collection.max_pages=10000",
    "collection.max_sites=100",
    "seeder.sitemaps=false",
)


def page(title: str, *paragraphs: str, links: str = "") -> bytes:
    anchors = "".join(f'<a href="/{link}">{link}</a> ' for link in links.split())
    text = "".join(f"<p>{each}</p>" for each in paragraphs)
    body = f"<title>{title}</title>{text}{FILLING.replace('page', title)}{anchors}".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


MISSING: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def moved(to: str) -> bytes:
    return b"HTTP/1.1 301 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % to.encode()


@dataclass
class Site:
    """A site that is being served."""

    port: int = 0
    pages: dict[str, bytes] = field(default_factory=dict)

    def crawl(self, folder: Path, *more: str | Path) -> None:
        """Starts a crawl of the site, or resumes it."""
        changes = (*SETTINGS, f'harvester.resolve={{"*.example"="127.0.0.1:{self.port}"}}')
        given = [word for each in changes for word in ("--set", each)]
        ended = gossamer(
            "crawl",
            folder,
            "--seed",
            ROOT,
            "--contact",
            "a@b.example",
            "--patience",
            "0s",
            "--for",
            "8s",
            *given,
            *more,
        )
        assert ended.code == 0, ended.errors


@contextmanager
def served() -> Iterator[Site]:
    site = Site()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(site.pages.get(line.split(b" ")[1].decode().lstrip("/"), MISSING))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        site.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


BEFORE: Final = {
    "": page("Start", links="news about old away"),
    "news": page("News", "Opening hours: Monday to Friday.", "The library is closed in winter."),
    "about": page("About"),
    "old": page("Old"),
    "away": page("Away"),
}
AFTER: Final = BEFORE | {
    "": page("Start", links="news about old away fresh"),
    "news": page(
        "News", "Opening hours: Monday to Saturday.", "The library is closed in winter.", "A new reading room."
    ),
    "fresh": page("Fresh"),
    "old": MISSING,
    "away": moved("/fresh"),
}
"""What is served in the second crawl: news changed, fresh is new, old is gone, away moved."""
