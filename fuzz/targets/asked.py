"""Requests to the dashboard: whatever is asked, an answer that is no failure, and nothing without the token."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from bench.verify import Maker
from fuzz.target import Target
from gossamer.collection.layout import SETTINGS
from gossamer.library.collection import Collection
from gossamer.serve import run
from gossamer.serve.routes import FILES, ORDERS, QUESTIONS
from gossamer.serve.safe import OPEN, Token
from gossamer.serve.server import Server

_SECRET: Final = "abc"
_HOST: Final = "127.0.0.1:8470"
_PATHS: Final = ("", "/live", "/copy", *(f"/{each.path}" for table in (QUESTIONS, FILES, ORDERS) for each in table))
_FIELDS: Final = (
    *sorted({each[0] for question in QUESTIONS for each in question.accepts}),
    *sorted({each[0] for order in ORDERS for each in order.accepts}),
    *("authorization", "cookie", "origin", "content-length", "content-type", "transfer-encoding", "accept", "host"),
)
_VALUES: Final = ("http://site1.example/p8", "site1.example", "Bearer abc", "gossamer=abc", "application/json", _HOST)


class AskedTarget(Target):
    """requests to the dashboard: a line with method and address, headers, an empty line, a body."""

    name = "asked"
    parts = ("serve", "library/collection.py", "read/explain", "read/steer")
    words = tuple(word.encode() for word in (*_PATHS, *_FIELDS, *_VALUES, "GET ", "POST ", "?", "&", "=", "%", "\n"))
    longest = 1 << 12
    seconds = 4.0
    megabytes = 200

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="fuzz-asked-"))
        folder = Maker(self._root / "crawl", words=5, text=True).make(12, 9, per_tick=3, unsealed=3).folder
        (folder / SETTINGS).write_text('[harvester]\ncontact = "fuzz@example.org"\n')
        self._web = Collection(folder)
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.close()
        self._web.close()
        shutil.rmtree(self._root)

    def seeds(self) -> list[bytes]:
        found = []
        for path in _PATHS:
            for before in ("/c/crawl", "/api/v1/collections/crawl"):
                asked = (
                    f"{before}{path or '/'}?url=http://site1.example/p8&name=site1.example&rows=3&q=a&query=select+1"
                )
                for method in ("GET", "POST"):
                    headers = f"host: {_HOST}\nauthorization: Bearer {_SECRET}\ncontent-length: 5"
                    found.append(f"{method} {asked}\n{headers}\n\nurl=x".encode())
        return found

    def check(self, data: bytes) -> None:
        head, _, body = data.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, address = first.partition(b" ")
        path, _, query = address.partition(b"?")
        pairs = [line.partition(b":") for line in lines]
        headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        scope = {
            "type": "http",
            "method": method.decode("latin-1").upper() or "GET",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "headers": headers,
            "http_version": "1.1",
            "scheme": "http",
            "root_path": "",
        }
        given = Token(_SECRET)
        server = Server({"crawl": self._web}, given, run.hosts("127.0.0.1", 8470, ()), closed=True)
        status = self._loop.run_until_complete(_status(server.application, scope, body))
        assert status < 500 or (scope["path"], status) == ("/ready", 503), status
        open_ = str(scope["path"]).startswith(OPEN[0]) or scope["path"] in OPEN
        if not open_ and _SECRET.encode() not in head:
            assert status in (400, 401, 403, 411, 413, 421), f"{status} without the token"


async def _status(application: Any, scope: dict[str, Any], body: bytes) -> int:
    """The status of the answer. The client is gone once its request was read."""
    statuses, parts = list[int](), [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(message["status"]))

    await application(scope, receive, send)
    return statuses[0]
