"""The access log of the demonstration Web: one line per request, with fields separated by tabs. The first line
describes the Web ("# gossamer web " and a JSON object: the arguments of `DemoWeb` or `HostileWeb`), the second names
the fields:

    start        monotonic clock (CLOCK_MONOTONIC, the same for all processes of the machine) when the first byte of the
                 request was read, in seconds
    wall         wall clock at the same moment, seconds since 1970
    end          monotonic clock when the last bytes of the answer were handed to the socket
    address      local address that received the request
    host         Host header in lower case, with its port if it has one
    method, target, status
    bytes        size of the answer, head included
    connection   number of the connection
    retry_after, location  as sent; "-": not sent
    from         From
    agent        User-Agent, to the end of the line

`end` is read just before the bytes go to the kernel, and `start` just after they came from it: the real pause of a
client between an answer and its next request is never longer than `start - end`, so the log accuses nobody wrongly.
(`end` is read after the last bytes only where the kernel does not take an answer at once.) A client that left before it
was answered has status 499, as in nginx.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_COLUMNS: Final = "start wall end address host method target status bytes connection retry_after location from agent"
COLUMNS: Final = tuple(_COLUMNS.split())
HEADER: Final = "\t".join(COLUMNS) + "\n"
ABOUT: Final = "# gossamer web "
CLIENT_LEFT: Final = 499


class LoggedRequest(NamedTuple):
    """What the log has of a request before it is answered; see above."""

    start: float
    wall: float
    address: str
    connection: int
    host: str
    method: str
    target: str
    sender: str
    agent: str


def clean(text: str) -> str:
    """A field for the log: without tabs and line ends, and never empty."""
    if text.isprintable():
        return text or "-"
    return "".join(c if c.isprintable() else "?" for c in text)


class AccessLog:
    """Collects lines. The owner calls `flush` often enough, and `close` at the end."""

    def __init__(self, path: Path | None, web: DataclassInstance) -> None:
        self._file = path.open("a", encoding="utf-8") if path else None
        self._lines: list[str] = []
        if self._file and self._file.tell() == 0:
            self._lines += (f"{ABOUT}{json.dumps(asdict(web))}\n", HEADER)
            self.flush()

    def add(
        self, asked: LoggedRequest, end: float, status: int, size: int, retry_after: str = "", location: str = ""
    ) -> None:
        if self._file:
            start, wall, address, connection, *texts = asked
            host, method, target, sender, agent = map(clean, texts)
            self._lines.append(
                f"{start:.6f}\t{wall:.6f}\t{end:.6f}\t{address}\t{host}\t{method}\t{target}\t{status}\t{size}\t"
                f"{connection}\t{retry_after or '-'}\t{clean(location)}\t{sender}\t{agent}\n"
            )

    def flush(self) -> None:
        if self._file and self._lines:
            self._file.write("".join(self._lines))
            self._file.flush()
            self._lines.clear()

    def close(self) -> None:
        self.flush()
        if self._file:
            self._file.close()
            self._file = None
