"""What desk and worker share: a wire of frames, and a slot that outlives the worker."""

from __future__ import annotations

import mmap
import select
import socket
import struct
from typing import Final

from gossamer.web.message import HEAD, Type

_NUMBER: Final = struct.Struct("<Q")
_READ: Final = 1 << 18
_MOST: Final = 1 << 24
"""Bytes that one `receive` takes at most, so that one busy line does not starve the others."""


class Wire:
    """One end of a socket that never blocks."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unsent = bytearray()
        self._rest = b""
        self.ended = False
        """The other side is gone, and all that it sent has been received."""

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def unsent(self) -> int:
        return len(self._unsent)

    def send(self, data: bytes) -> None:
        """All of it in order, now or when `flush` is called with room in the socket."""
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        while self._unsent and not self.ended:
            try:
                del self._unsent[: self._socket.send(self._unsent)]
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self._unsent.clear()

    def receive(self) -> list[tuple[Type, bytes]]:
        """All whole frames that have arrived. A frame that its sender did not finish is never seen."""
        data = self._rest + self._read()
        frames, at = [], 0
        while at + HEAD.size <= len(data):
            size, kind = HEAD.unpack_from(data, at)
            end = at + HEAD.size - 1 + size
            if end > len(data):
                break
            frames.append((Type(kind), data[at + HEAD.size : end]))
            at = end
        self._rest = data[at:]
        return frames

    def _read(self) -> bytes:
        parts, taken = [], 0
        while taken < _MOST:
            try:
                part = self._socket.recv(_READ)
            except BlockingIOError:
                break
            except ConnectionResetError:
                part = b""
            if not part:
                self.ended = True
                break
            parts.append(part)
            taken += len(part)
        return b"".join(parts)

    def wait(self) -> None:
        """Until something can be received, or the other side is gone."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.poll()

    def close(self) -> None:
        self._socket.close()


class Slot:
    """Eight bytes that desk and worker share: the assignment whose page is being gathered.

    It outlives the worker, which is its purpose. Stored plus one, so that zero is none.
    """

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, mmap.PAGESIZE)

    def name(self, number: int) -> None:
        _NUMBER.pack_into(self._memory, 0, number + 1)

    def clear(self) -> None:
        _NUMBER.pack_into(self._memory, 0, 0)

    def read(self) -> int | None:
        stored: int = _NUMBER.unpack_from(self._memory)[0]
        return stored - 1 if stored else None

    def close(self) -> None:
        self._memory.close()
