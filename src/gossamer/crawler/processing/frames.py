"""What a worker and the process beside it say to each other, over a pair of sockets.

    worker to process    one frame per page: `PAGE`, URL, headers, title, links, body
    process to worker    one frame per page: `REPLY`, then for each processor with rows or a fault: `PART`, its JSON,
                         and for the links that filters leave out: `PART`, their places; or, with the number
                         `NO_PAGE`, why the processors cannot be loaded

They also share a page of memory, the *marker*: the page and the processor that run now. It outlives the process.
"""

from __future__ import annotations

import mmap
import socket
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

PAGE: Final = struct.Struct("<IQQHIIIII")
"""Bytes of what follows these four, number, processors to skip (a bit each), status, number of links, then the lengths
of URL, headers, title and links."""
REPLY: Final = struct.Struct("<IQ")
"""Bytes of what follows the number, and the number of the page."""
PART: Final = struct.Struct("<BI")
"""Processor, and bytes of its JSON."""
UNSEEN: Final = 255
"""In place of a processor: it and those after it, whose number follows, have not seen the page."""
LEFT_OUT: Final = 254
"""In place of a processor: places of links, 4 bytes each, that a filter leaves out."""
NO_PAGE: Final = (1 << 64) - 1
MOST_PROCESSORS: Final = 64
RECYCLE: Final = 75
"""Exit code of a process that asks for a new one, since it has grown."""
_MARK: Final = struct.Struct("<QQ")
_LENGTH: Final = struct.Struct("<I")


class Marker:
    """The page that is processed now, and by which processor."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, mmap.PAGESIZE)

    def set(self, number: int, processor: int) -> None:
        _MARK.pack_into(self._memory, 0, number + 1, processor)

    def clear(self) -> None:
        _MARK.pack_into(self._memory, 0, 0, 0)

    def read(self) -> tuple[int, int] | None:
        """Page and processor; None between two pages."""
        number, processor = _MARK.unpack_from(self._memory)
        return (number - 1, processor) if number else None

    def close(self) -> None:
        self._memory.close()


class Given(NamedTuple):
    """A page as it arrives in the process."""

    number: int
    skip: int
    status: int
    url: bytes
    headers: bytes
    """Names and values, with a zero byte between."""
    title: bytes
    linked: int
    """Number of links."""
    links: bytes
    """As a result has them (`gatherer/result.py`)."""
    body: bytes


def page_frame(
    number: int, skip: int, status: int, count: int, texts: tuple[bytes, bytes, bytes, bytes], body: bytes
) -> bytes:
    """The frame of a page without its body, which follows. `texts`: URL, headers, title and its `count` links."""
    url, headers, title, links = texts
    size = PAGE.size - _LENGTH.size + len(url) + len(headers) + len(title) + len(links) + len(body)
    lengths = len(url), len(headers), len(title), len(links)
    return PAGE.pack(size, number, skip, status, count, *lengths) + b"".join(texts)


class Inbox:
    """Pages as they arrive. It reads into memory that it keeps: to take new memory for each read costs more."""

    def __init__(self, size: int = 1 << 20) -> None:
        self._buffer = bytearray(size)
        self._end = 0

    def receive(self, end: socket.socket) -> bool:
        """Waits for more; False: there is nobody who would send it."""
        if self._end == len(self._buffer):
            self._buffer += bytes(len(self._buffer))
        with memoryview(self._buffer) as data:
            count = end.recv_into(data[self._end :])
        self._end += count
        return count > 0

    def pages(self) -> Iterator[Given]:
        """The whole frames that have arrived. Take all of them before more is received."""
        at = 0
        with memoryview(self._buffer) as data:
            while at + _LENGTH.size <= self._end:
                end = at + _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
                if end > self._end:
                    break
                _, number, skip, status, linked, a, b, c, d = PAGE.unpack_from(data, at)
                a += at + PAGE.size
                b += a
                c += b
                d += c
                url, headers = bytes(data[at + PAGE.size : a]), bytes(data[a:b])
                title, links, body = bytes(data[b:c]), bytes(data[c:d]), bytes(data[d:end])
                yield Given(number, skip, status, url, headers, title, linked, links, body)
                at = end
            data[: self._end - at] = data[at : self._end]
        self._end -= at


def replies(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """The whole replies at the beginning of the buffer: page, and its `parts`. They are removed from it."""
    at = 0
    while at + REPLY.size <= len(buffer):
        size, number = REPLY.unpack_from(buffer, at)
        end = at + REPLY.size + size
        if end > len(buffer):
            break
        yield number, bytes(buffer[at + REPLY.size : end])
        at = end
    del buffer[:at]


def parts(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Processor and JSON of each part of a reply."""
    at = 0
    while at + PART.size <= len(body):
        processor, length = PART.unpack_from(body, at)
        at += PART.size + length
        yield processor, body[at - length : at]
