"""The socket of a running crawl: a Unix socket in the shard's folder, for `gossamer explain`, `add`, `again`,
`forget` and `steer`.

The client sends one JSON object in a line and gets one back, then the connection ends. Only the user who runs the crawl
may connect (mode 0600, and by the credentials of the peer). `listener.py` answers.

    {"page": URL}     canonical     {"page": number or null, "wall", "standing", "plan", …}
    {"site": NAME}                  {"site": number or null, "wall", "standing", "queue", …}
    {"aside": true}                 {"aside": [[site, why, until or null], …], "wall"}
    {"urls": [PAGE, …]}             {"urls": [URL, …], "wall"}
    {"clocks": [SITE, …]}           {"clocks": {site: {"next", "why", "planned", …}}, "wall"}
    {"pending": true}               {"pending": pages that wait for their turn, by site (`lists.packed`), "wall"}
    {"next": N}                     {"next": [{"url", "site", "time", …}, …], "planned", "left", …, "wall"}
    {"add": [URL, …]}               {"new": pages, "opened": pages, …}   (`crawler/orders.py`)
    {"again": [PAGE, …]}            the same
    {"forget": [tombstone, …]}      {"pages": pages, "sites": sites}   (`crawler/forgetting.py`)
    {"order": {"name", "words", …}} {"number", "holds", "words"}   (`crawler/steering.py`)
    {"commit": true}                {"committed": true}, once the orders before it would survive a power cut

The socket is bound under /proc/self/fd, because a path of more than 107 bytes does not fit into a socket's address.

Light to import: without numba.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Said = dict[str, Any]

SOCKET: Final = "desk.sock"
ENDING: Final = "the crawl ends"
"""The error for an order that is not carried out any more."""
_LONGEST: Final = 1 << 24
"""Bytes of an answer."""


@contextmanager
def path_of(shard: Path) -> Iterator[str]:
    """A short path to the socket, however long the path of the folder is."""
    fd = os.open(shard, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


def ask(shard: Path, question: Said, patience: float = 5.0) -> Said | None:
    """The answer of the desk of a running crawl; None if there is none, or it does not answer in time."""
    try:
        with path_of(shard) as path, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience)
            connection.connect(path)
            connection.sendall(json.dumps(question).encode() + b"\n")
            raw = read_line(connection, _LONGEST)
    except OSError:
        return None
    answer = json.loads(raw) if raw else None
    return answer if isinstance(answer, dict) else None


def read_line(connection: socket.socket, most: int) -> bytes:
    """A line of at most `most` bytes; OSError if it is longer."""
    parts, size = [], 0
    while part := connection.recv(1 << 16):
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError("the line is too long")
        if part.endswith(b"\n"):
            break
    return b"".join(parts)
