"""A receiver of webhooks on loopback, which keeps what it gets and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    url: str = ""
    status: int = 200
    more: dict[str, str] = field(default_factory=dict)
    """Further header fields of the answer."""
    answer: bytes = b""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    """Header fields and body of each request, also of those that were refused."""

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for _, body in self.got for event in json.loads(body)["events"]]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append((dict(self.headers.items()), body))
            self.send_response(receiver.status)
            for name, value in receiver.more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        server.shutdown()
