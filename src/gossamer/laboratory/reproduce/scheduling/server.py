"""`python -m gossamer.laboratory.reproduce.scheduling.server JSON`: serves a `Web`, until its standard input ends."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from gossamer.base.errors import GossamerError
from gossamer.base.process import die_with_parent
from gossamer.laboratory.reproduce.scheduling.web import Web
from gossamer.webs.demo.server import end_of_input, listen, unless_the_client_left

STOP_WITHIN: Final = 5.0


class Connection(asyncio.Protocol):
    """One GET after another; a dead site never answers."""

    def __init__(self, web: Web, sites: dict[str, int], loop: asyncio.AbstractEventLoop) -> None:
        self._web, self._sites, self._loop = web, sites, loop
        self._later: asyncio.TimerHandle | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\r\n\r\n" in self._buffer:
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            self._answer(head.decode("latin-1"))

    def _answer(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        host = next((line[5:].strip() for line in lines if line.lower().startswith("host:")), "")
        site = self._sites.get(host.partition(":")[0], -1)
        page = self._web.page_of(first.split(" ")[1]) if first.count(" ") == 2 else -1
        if site < 0 or not 0 <= page < self._web.sizes[site]:
            self._send(404, b"")
        elif site < self._web.alive:
            body = _body(self._web, site, page)
            self._later = self._loop.call_later(self._web.seconds(site, page), self._send, 200, body)

    def _send(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)

    def connection_lost(self, _: Exception | None) -> None:
        if self._later is not None:
            self._later.cancel()


@lru_cache(None)
def _body(web: Web, site: int, page: int) -> bytes:
    return web.body(site, page)


class Running:
    """The server in a process of its own."""

    def __init__(self, web: Web) -> None:
        asked = json.dumps({"web": web.as_json(), "parent": os.getpid()})
        source = str(Path(__file__).parents[4])
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))},
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise GossamerError("The server of the experiment did not start.", "Its own message stands above.")
        self.port = int(line)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()


async def serve(web: Web) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(unless_the_client_left)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(0, end_of_input, stop)
    sites = {web.host(site): site for site in range(web.sites)}
    sockets = listen([web.address(site) for site in range(web.sites)], 0)
    servers = [await loop.create_server(lambda: Connection(web, sites, loop), sock=each) for each in sockets]
    for site in range(web.alive):
        for page in range(web.sizes[site]):
            _body(web, site, page)
    print(sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    for server in servers:
        server.close()


def main() -> None:
    asked: dict[str, Any] = json.loads(sys.argv[1])
    die_with_parent()
    if os.getppid() != asked["parent"]:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    factory: Any = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(Web(**asked["web"])))


if __name__ == "__main__":
    main()
