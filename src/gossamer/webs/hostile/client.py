"""The connection to a client, as a behaviour sees it: to write to, to break, and to notice when the client leaves."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from contextlib import suppress
from time import monotonic
from typing import Final

_RESET: Final = struct.pack("ii", 1, 0)
_STATUS: Final = re.compile(rb"\s*HTTP/1\.[01] (\d{3})\b")
_FIELD: Final = re.compile(rb"^(Location|Retry-After): ([^\r\n]*)", re.MULTILINE)
NO_ANSWER: Final = 444
"""The status that nginx logs for it: nothing was sent, or something that is not HTTP."""


class Client:
    """The connection to one client; remembers what was sent of the current answer, for the log."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.begin()

    def begin(self) -> None:
        """Begins a new answer."""
        self.status, self.sent, self.last, self.broken = NO_ANSWER, 0, monotonic(), False
        self.first = self.last
        self.location = self.retry_after = ""

    @property
    def left(self) -> bool:
        """Whether the connection is over: `ClientProtocol` closes it when the client has closed its side."""
        return self.writer.is_closing()

    def write(self, data: bytes) -> None:
        self.last = monotonic()
        if not self.sent:
            self.first = self.last
            self._note(data[:2_000])
        self.sent += len(data)
        self.writer.write(data)

    async def drain(self) -> None:
        await self.writer.drain()

    async def gone(self) -> None:
        """Waits until the client leaves."""
        with suppress(OSError):
            await self.writer.drain()
            await self.writer.wait_closed()

    def reset(self) -> None:
        """Ends the connection as a crash does: with RST, not FIN."""
        self.last, self.broken = monotonic(), True
        own: socket.socket | None = self.writer.get_extra_info("socket")
        if own is not None:
            with suppress(OSError):
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()

    def _note(self, head: bytes) -> None:
        if found := _STATUS.match(head):
            self.status = int(found[1])
            fields = {name: value.decode("latin-1") for name, value in _FIELD.findall(head)}
            self.location, self.retry_after = fields.get(b"Location", ""), fields.get(b"Retry-After", "")


class ClientProtocol(asyncio.StreamReaderProtocol):
    """Closes the connection as soon as the client has closed its side."""

    def eof_received(self) -> bool:
        super().eof_received()
        return False
