"""What desk and worker share: a wire of frames, and a heartbeat that outlives the worker."""

from __future__ import annotations

import mmap
import select
import socket
import struct
from typing import Final

from gossamer.web.message import HEAD, Type

OUT_OF_MEMORY: Final = 71
"""Exit code of a worker that has used up the memory that a worker may use."""
_NUMBER: Final = struct.Struct("<Q")
_TYPES: Final = {int(kind): kind for kind in Type}
_READ: Final = 1 << 18
_MOST: Final = 1 << 24
"""Bytes that one `receive` takes at most, so that one busy wire does not starve the others."""


class Wire:
    """One end of a socket pair that never blocks."""

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
        """Sends all of `data` in order, now or when `flush` is called with room in the socket."""
        self.add(data)
        self.flush()

    def add(self, data: bytes) -> None:
        """Keeps `data` until the next `flush` or `send`: many small frames go out in one call of the kernel."""
        self._unsent += data

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

        What there is of a long frame stays in its buffer while the rest arrives: time is in proportion to its size.
        """
        self._read()
        frames, at = [], 0
        with memoryview(self._rest) as data:
            while at + HEAD.size <= len(data):
                size, kind = HEAD.unpack_from(data, at)
                end = at + HEAD.size - 1 + size
                if end > len(data):
                    break
                frames.append((_TYPES[kind], bytes(data[at + HEAD.size : end])))
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
        """Waits until something can be received, or the other side is gone."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.poll()

    def close(self) -> None:
        self._socket.close()


class Heartbeat:
    """Memory in which a worker shows that it lives: the assignments whose pages it is gathering, in its loop and in its
    background thread, and how often the loop has turned.

    It outlives the worker, which is its purpose. Numbers are stored plus one, so that zero is none.
    """

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, mmap.PAGESIZE)
        self._turns = 0

    def name(self, number: int, background: bool = False) -> None:
        """The page of this assignment is being gathered from now on."""
        _NUMBER.pack_into(self._memory, 8 * background, number + 1)

    def clear(self, background: bool = False) -> None:
        """No page is being gathered any more."""
        _NUMBER.pack_into(self._memory, 8 * background, 0)

    def read(self, background: bool = False) -> int | None:
        """The assignment whose page is being gathered; None: no page is."""
        stored: int = _NUMBER.unpack_from(self._memory, 8 * background)[0]
        return stored - 1 if stored else None

    def turn(self) -> None:
        """The worker's loop has turned once more."""
        self._turns += 1
        _NUMBER.pack_into(self._memory, 16, self._turns)

    def turns(self) -> int:
        count: int = _NUMBER.unpack_from(self._memory, 16)[0]
        return count

    def close(self) -> None:
        self._memory.close()
