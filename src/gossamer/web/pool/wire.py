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
        self._rest = bytearray()
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
        """All whole frames that have arrived. A frame that its sender did not finish is never seen.

        What there is of a long frame stays where it is while the rest arrives: time is in proportion to its size.
        """
        self._read()
        frames, at = [], 0
        with memoryview(self._rest) as data:
            while at + HEAD.size <= len(data):
                size, kind = HEAD.unpack_from(data, at)
                end = at + HEAD.size - 1 + size
                if end > len(data):
                    break
                frames.append((Type(kind), bytes(data[at + HEAD.size : end])))
                at = end
        del self._rest[:at]
        return frames

    def _read(self) -> None:
        taken = 0
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
            self._rest += part
            taken += len(part)

    def wait(self) -> None:
        """Until something can be received, or the other side is gone."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.poll()

    def close(self) -> None:
        self._socket.close()


class Slot:
    """What desk and worker share: the assignments whose pages are being gathered, in the worker's loop and in the
    thread beside it, and how often the loop has turned.

    It outlives the worker, which is its purpose. Numbers are stored plus one, so that zero is none.
    """

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, mmap.PAGESIZE)
        self._turns = 0

    def name(self, number: int, beside: bool = False) -> None:
        _NUMBER.pack_into(self._memory, 8 * beside, number + 1)

    def clear(self, beside: bool = False) -> None:
        _NUMBER.pack_into(self._memory, 8 * beside, 0)

    def read(self, beside: bool = False) -> int | None:
        stored: int = _NUMBER.unpack_from(self._memory, 8 * beside)[0]
        return stored - 1 if stored else None

    def turn(self) -> None:
        """The worker's loop has turned once more: its sign of life."""
        self._turns += 1
        _NUMBER.pack_into(self._memory, 16, self._turns)

    def turns(self) -> int:
        found: int = _NUMBER.unpack_from(self._memory, 16)[0]
        return found

    def close(self) -> None:
        self._memory.close()
